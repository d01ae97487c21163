"""A server of the handshake era. Tests decide how its calls fail, and can end its sessions."""

from __future__ import annotations

from typing import Any

from tests.servers.http_raw import Reply, Request
from tests.servers.http_session import no_get

OFFER = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}


class Server:
    """A server whose sessions have numbers as ids; tests can end them."""

    def __init__(self, on_call: Any = None) -> None:
        self.session = 0
        self.on_call = on_call

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one HTTP request."""
        method = got.json.get("method") if got.method == "POST" else ""
        if got.method == "GET":
            await no_get(got, reply)
        elif got.method == "DELETE":
            await reply.body("200 OK", b"")
        elif method == "initialize":
            self.session += 1
            await reply.result({"protocolVersion": "2025-11-25", **OFFER}, f"Mcp-Session-Id: {self.session}")
        elif got.headers.get("mcp-session-id") != str(self.session):
            await reply.body("404 Not Found", b"unknown session", kind="text/plain")
        elif "id" not in got.json:
            await reply.accepted()
        elif method == "tools/call" and self.on_call is not None:
            await self.on_call(got, reply)
        else:
            await reply.result(TOOLS if method == "tools/list" else {"content": []})
