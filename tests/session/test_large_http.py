"""Large results over HTTP are not read before somebody looks, whether they come as JSON or as an event."""

from __future__ import annotations

import json

import pytest

from mcp_studio.call.call import Succeeded
from mcp_studio.protocol.message import LargeObject
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_sse import SseServer
from tests.studio_support import call, http, opened
from tests.support import run

TEXT = "some words\n" * 400_000


class Large:
    """Answers with much."""

    def __init__(self, events: bool) -> None:
        self.events = events

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one request."""
        method = got.json.get("method") if got.method == "POST" else ""
        if method == "server/discover":
            offer = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
            await reply.result({"supportedVersions": ["2026-07-28"], **offer})
        elif method == "tools/list":
            tools = [{"name": "much", "inputSchema": {"type": "object"}}]
            await reply.result({"tools": tools, "resultType": "complete"})
        elif method != "tools/call":
            await reply.body("405 Method Not Allowed", b"")
        else:
            result = {"content": [{"type": "text", "text": TEXT}], "resultType": "complete"}
            if self.events:
                await reply.stream()
                await reply.event({"jsonrpc": "2.0", "id": got.json["id"], "result": result})
                reply.close()
            else:
                await reply.result(result)


async def older(server: SseServer, got: Request, reply: Reply) -> None:
    """The same on the stream of HTTP+SSE."""
    if got.json.get("method") == "tools/list":
        await server.answer(got, reply, tools=[{"name": "much", "inputSchema": {"type": "object"}}])
    else:
        await server.answer(got, reply, content=[{"type": "text", "text": TEXT}])


@pytest.mark.parametrize("kind", ["json", "events", "sse"])
def test_a_large_answer_stays_unread(kind: str) -> None:
    async def check() -> None:
        handler = SseServer(call=older) if kind == "sse" else Large(kind == "events")
        transport = "sse" if kind == "sse" else ""
        async with RawServer(handler) as server, opened(http(server.url, transport=transport)) as studio:
            outcome = await call(studio, "much")
            assert isinstance(outcome, Succeeded) and isinstance(outcome.result, LargeObject)
            span = outcome.result["content"][0].span("text")
            assert json.loads(span.text()) == TEXT and not outcome.problems

    run(check())
