"""A call whose headers no longer fit is sent again with those of the tool as it is now (2026-07-28, -32020)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_studio.call.call import Rejected, Succeeded
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import call, http, opened


class Moving:
    """Lists its tool without headers, and wants one when it is called; `mends` says whether it lists it afterwards."""

    def __init__(self, mends: bool) -> None:
        self.mends = mends
        self.lists = 0
        self.got: list[str | None] = []

    async def __call__(self, got: Request, reply: Reply) -> None:
        if got.method != "POST":
            await reply.body("405 Method Not Allowed", b"")
            return
        method = got.json["method"]
        if method == "server/discover":
            offer = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
            await reply.result({"supportedVersions": ["2026-07-28"], "resultType": "complete", **offer})
        elif method == "tools/list":
            self.lists += 1
            shape: dict[str, Any] = {"type": "string"}
            if self.mends and self.got:
                shape["x-mcp-header"] = "Region"
            tool = {"name": "where", "inputSchema": {"type": "object", "properties": {"region": shape}}}
            await reply.result({"tools": [tool], "resultType": "complete"})
        else:
            await self.answer(got, reply)

    async def answer(self, got: Request, reply: Reply) -> None:
        region = got.headers.get("mcp-param-region")
        self.got.append(region)
        if region is not None:
            await reply.result({"content": [{"type": "text", "text": region}], "resultType": "complete"})
            return
        error = {"code": -32020, "message": "Header mismatch"}
        body = json.dumps({"jsonrpc": "2.0", "id": got.json["id"], "error": error}).encode()
        await reply.body("400 Bad Request", body)


@pytest.mark.parametrize("mends", [True, False])
async def test_the_tool_is_listed_anew_and_the_call_sent_once_more_where_that_helps(mends: bool) -> None:
    moving = Moving(mends)
    async with RawServer(moving) as server, opened(http(server.url)) as studio:
        outcome = await call(studio, "where", region="north")
        if mends:
            assert isinstance(outcome, Succeeded) and moving.got == [None, "north"]
        else:
            assert isinstance(outcome, Rejected) and outcome.code == -32020 and moving.got == [None]
        assert moving.lists >= 2
