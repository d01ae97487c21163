"""A small server of the handshake era with a session; tests decide how it answers calls and GET."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mcp_studio.limits import Limits
from tests.servers.http_raw import Reply, Request

Part = Callable[[Request, Reply], Awaitable[None]]
QUICK = Limits(retry_min=0.01, retry_max=0.05, reconnects=3, close=1)


async def no_get(got: Request, reply: Reply) -> None:
    """Answer 405, as servers without a stream for GET do."""
    await reply.body("405 Method Not Allowed", b"")


def session(get: Part = no_get, call: Part | None = None, ident: str = "s1") -> Part:
    """A server with a session; `get` and `call` answer GET and every request after the handshake."""

    async def handler(got: Request, reply: Reply) -> None:
        if got.method == "GET":
            await get(got, reply)
        elif got.method == "DELETE":
            await reply.body("200 OK", b"")
        elif got.json.get("method") == "initialize":
            await reply.result({"protocolVersion": "2025-11-25"}, *([f"Mcp-Session-Id: {ident}"] if ident else []))
        elif "id" not in got.json or "method" not in got.json:
            await reply.accepted()
        elif call is None:
            await reply.result()
        else:
            await call(got, reply)

    return handler


def result(ident: Any) -> dict[str, Any]:
    """An empty result."""
    return {"jsonrpc": "2.0", "id": ident, "result": {}}
