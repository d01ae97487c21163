"""Watching resources over HTTP, and on servers that others wrote: the SDK's, the demo server, npm's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Settings
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.versions import META_SUBSCRIPTION
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import call, http, opened, stdio
from tests.support import npm_server, python_server, wait_until
from tests.support_servers import demo_http, demo_stdio, http_server

NOTE = "raw://note"
QUICK = Settings(limits=replace(DEFAULT, retry_min=0.01))


async def test_over_http_a_stream_that_breaks_off_is_opened_again_and_the_switch_closes_it() -> None:
    streams: list[Any] = []
    closed: list[int] = []

    async def handler(got: Request, reply: Reply) -> None:
        if got.json["method"] == "server/discover":
            await reply.result({"supportedVersions": ["2026-07-28"], "capabilities": {"resources": {}}})
        elif got.json["method"] != "subscriptions/listen":
            await reply.result({"resultType": "complete", "resources": [], "resourceTemplates": []})
        else:
            streams.append(got.json["params"]["notifications"])
            meta = {META_SUBSCRIPTION: got.json["id"]}
            await reply.stream()
            await reply.event(notice("subscriptions/acknowledged", notifications=streams[-1], _meta=meta))
            await reply.event(notice("resources/updated", uri=NOTE, _meta=meta))
            if len(streams) == 1:
                reply.reset()
                return
            await reply.closed_by_peer()
            closed.append(len(streams))

    async with RawServer(handler) as server, opened(http(server.url), settings=QUICK) as studio:
        known = studio.subscriptions.watch("s", NOTE)
        await wait_until(lambda: len(streams) == 2 and known.state == "active" and known.updates >= 1)
        assert streams == [{"resourceSubscriptions": [NOTE]}] * 2
        studio.subscriptions.unwatch("s", NOTE)
        await wait_until(lambda: closed == [2])


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_of_the_sdk_tells_of_changes_over_both_transports(era: Any) -> None:
    with http_server() as url:
        async with opened(stdio(python_server("sdk_everything"), era=era), http(url, "h", era=era)) as studio:
            for name in ("s", "h"):
                known = studio.subscriptions.watch(name, "note://today")
                await wait_until(lambda known=known: known.state == "active")
                await studio.call_tool(Ref("tool", name, "write_note"), {"text": "new"}).wait()
                await wait_until(lambda known=known: known.updates == 1)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_clock_of_the_demo_server_is_heard_over_both_transports(era: Any) -> None:
    with demo_http() as url:
        async with opened(stdio(demo_stdio(), era=era), http(url, "h", era=era)) as studio:
            known = [studio.subscriptions.watch(name, "shop://clock") for name in ("s", "h")]
            await wait_until(lambda: all(one.updates for one in known))
            assert [one.state for one in known] == ["active", "active"]


async def test_the_public_everything_server_tells_of_updates() -> None:
    async with opened(stdio(npm_server("everything"))) as studio:
        uri = next(entry.ref.name for entry in studio.catalog.entries("resource"))
        known = studio.subscriptions.watch("s", uri)
        await wait_until(lambda: known.state == "active")
        await call(studio, "toggle-subscriber-updates")
        await wait_until(lambda: known.updates)
