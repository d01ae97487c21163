"""A modern server's notices of change: listened to again when the stream ends, and what was missed is read."""

from __future__ import annotations

from dataclasses import replace

from mcp_studio.config.model import Settings
from mcp_studio.limits import DEFAULT
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import http, opened
from tests.support import wait_until


async def test_a_stream_that_ends_is_opened_again_and_all_lists_are_read_again() -> None:
    heard: list[str] = []

    async def handler(got: Request, reply: Reply) -> None:
        method = got.json["method"]
        heard.append(method)
        if method == "server/discover":
            capabilities = {"tools": {"listChanged": True}}
            await reply.result({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})
        elif method == "subscriptions/listen" and heard.count(method) > 1:
            await reply.stream()
            await reply.closed_by_peer()
        else:
            name = f"t{heard.count('tools/list')}"
            await reply.result({"resultType": "complete", "tools": [{"name": name, "inputSchema": {"type": "object"}}]})

    settings = Settings(limits=replace(DEFAULT, retry_min=0.01))
    async with RawServer(handler) as server, opened(http(server.url), settings=settings) as studio:
        await wait_until(lambda: heard.count("subscriptions/listen") == 2)
        await wait_until(lambda: [entry.ref.name for entry in studio.catalog.entries("tool")] == ["t2"])
