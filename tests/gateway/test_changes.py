"""Changes of lists and resources reach the clients that want to hear of them."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.gateway.kit import argv, configured, on_stdio
from tests.studio_support import call, opened, stdio
from tests.support import wait_until

ALL = 'mode = "all"'


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_of_our_own_sees_lists_and_resources_change(era: Any) -> None:
    """Our own client, on a gateway that is a server for it like any other."""
    words = argv(configured(ALL))
    async with opened(stdio(words, era=era, inherit_env=("PYTHONPATH", "MCP_STUDIO_HOME"))) as studio:
        names = lambda: {one.ref.name for one in studio.catalog.entries("tool")}  # noqa: E731
        await wait_until(lambda: "mcp__demo__invite_guest" in names())
        before = len(names())
        heard = list[str]()
        studio.manager.notified.connect(lambda one: heard.append(one[1]))
        await call(studio, "mcp__demo__invite_guest")
        await wait_until(lambda: len(names()) > before, what="the tools of the guest")

        uri = "shop://till"
        watched = studio.subscriptions.watch("s", uri)
        await wait_until(lambda: watched.state == "active", what="the subscription")
        await call(studio, "mcp__demo__sell_book", id="slow-trains-north")
        await wait_until(lambda: watched.updates > 0, what="the change of the till")
        studio.subscriptions.unwatch("s", uri)


async def test_what_is_not_there_cannot_be_watched() -> None:
    async with on_stdio(configured(ALL), era="legacy") as client:
        await client.list_resources()
        params = types.SubscribeRequestParams(uri="file:///etc/passwd")
        with pytest.raises(MCPError, match="no such resource"):
            await client.session.send_request(types.SubscribeRequest(params=params), types.EmptyResult)
