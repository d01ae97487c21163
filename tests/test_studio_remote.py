"""The engine over HTTP+SSE and WebSocket: questions of the server, several calls at once, cancelling."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.call.call import Cancelled
from mcp_studio.catalog.listing import Ref
from tests.servers.bridge import bridged
from tests.studio_support import call, http, opened, text
from tests.support import python_server, wait_until

PLACES: Any = pytest.mark.parametrize(
    ("kind", "era"), [("sse", "auto"), ("websocket", "legacy"), ("websocket", "modern")]
)


@PLACES
async def test_a_question_of_the_server_is_put_and_its_answer_arrives(kind: Any, era: Any) -> None:
    async with (
        bridged(python_server("sdk_everything"), kind) as url,
        opened(http(url, transport=kind, era=era)) as studio,
    ):
        handle = studio.call_tool(Ref("tool", "s", "ask"), {})
        await wait_until(lambda: studio.inbox.pending or handle.outcome)
        studio.inbox.pending[0].answer("accept", {"name": "Ada", "age": 36})
        assert text(await handle.wait()).startswith("Ada, 36")


@PLACES
async def test_a_call_is_cancelled_at_the_server_and_the_others_go_on(kind: Any, era: Any) -> None:
    async with (
        bridged(python_server("sdk_everything"), kind) as url,
        opened(http(url, transport=kind, era=era)) as studio,
    ):
        short = studio.call_tool(Ref("tool", "s", "slow"), {"seconds": 0.5})
        long = studio.call_tool(Ref("tool", "s", "slow"), {"seconds": 30})
        await wait_until(lambda: long.progress)
        long.cancel()
        assert isinstance(await long.wait(), Cancelled)
        assert text(await short.wait()) == "done"
        assert text(await call(studio, "echo", text="on")) == "on"
        assert any(b"notifications/cancelled" in entry.body for entry in studio.trace if entry.direction == "out")
