"""Runs an MCPServer of the SDK as a test needs it: stdio or HTTP, one era or both, JSON, stateless, with a token.

Over HTTP the first line on stdout is the URL, at which the server already listens.
"""

from __future__ import annotations

import argparse
import json
import socket
import time
from dataclasses import replace
from typing import Any

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.mcpserver import MCPServer
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp, Receive, Scope, Send

MODERN = "2026-07-28"
LISTS = {"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources"}


def options() -> argparse.ArgumentParser:
    """The options that every such server takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", action="store_true", help="Streamable HTTP on a free loopback port instead of stdio")
    parser.add_argument("--json", action="store_true", help="answer with JSON instead of event streams")
    parser.add_argument("--stateless", action="store_true", help="no sessions for older clients")
    parser.add_argument("--legacy-only", action="store_true", help="know nothing of 2026-07-28")
    parser.add_argument("--modern-only", action="store_true", help="refuse initialize")
    parser.add_argument("--token", default="", help="answer 401 without this bearer token")
    parser.add_argument("--page-size", type=int, default=0, help="entries per page of each list; 0 for all")
    parser.add_argument("--delay", type=float, default=0, help="seconds before it starts to answer")
    return parser


def serve(server: MCPServer[Any], given: argparse.Namespace) -> None:
    """Serve until stdin is closed (stdio) or the process ends (HTTP)."""
    server.middleware.append(_Manners(given.page_size, given.modern_only))
    lowlevel = server._lowlevel_server
    changes = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
    plain = lowlevel.create_initialization_options
    lowlevel.create_initialization_options = lambda *_: plain(changes)  # type: ignore[method-assign]
    time.sleep(given.delay)
    if given.http:
        _serve_http(server, given)
    elif given.legacy_only:
        anyio.run(_serve_handshake_only, lowlevel)
    else:
        server.run("stdio")


class _Manners:
    """Middleware: pages the lists, and refuses the handshake if the server speaks the stateless era only."""

    def __init__(self, page_size: int, modern_only: bool) -> None:
        self._page_size = page_size
        self._modern_only = modern_only

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if self._modern_only and ctx.method == "initialize":
            data = {"supported": [MODERN], "requested": (ctx.params or {}).get("protocolVersion")}
            raise MCPError(-32022, "Unsupported protocol version", data)
        member = LISTS.get(ctx.method, "")
        if not self._page_size or not member:
            return await call_next(ctx)
        params = dict(ctx.params or {})
        start = int(params.pop("cursor", "0"))
        result = await call_next(replace(ctx, params=params))
        assert isinstance(result, dict)
        entries = result[member]
        end = start + self._page_size
        more = {"nextCursor": str(end)} if end < len(entries) else {}
        return {**result, member: entries[start:end], **more}


async def _serve_handshake_only(lowlevel: Any) -> None:
    async with stdio_server() as (read, write), lowlevel.lifespan(lowlevel) as state:
        init = lowlevel.create_initialization_options()
        await serve_loop(lowlevel, read, write, lifespan_state=state, init_options=init)


def _serve_http(server: MCPServer[Any], given: argparse.Namespace) -> None:
    import uvicorn

    app: ASGIApp = server.streamable_http_app(json_response=given.json, stateless_http=given.stateless)
    if given.legacy_only:
        app = _NoModernVersion(app)
    if given.token:
        app = _TokenNeeded(app, given.token)
    # The protocol is named because only then asyncio switches Nagle's algorithm off (40 ms per answer otherwise).
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


class _NoModernVersion:
    """Answers as a server from before 2026-07-28, which does not know that version's header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers") or [])
        if headers.get(b"mcp-protocol-version") == MODERN.encode():
            error = {"code": -32600, "message": f"Bad Request: Unsupported protocol version: {MODERN}"}
            await _answer(send, 400, {"jsonrpc": "2.0", "id": "server-error", "error": error})
        else:
            await self._app(scope, receive, send)


class _TokenNeeded:
    """Answers 401 unless the request carries the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers") or [])
        if scope["type"] == "http" and headers.get(b"authorization") != self._wanted:
            challenge = (b"www-authenticate", b'Bearer realm="test", error="invalid_token"')
            await _answer(send, 401, {"error": "invalid_token"}, challenge)
        else:
            await self._app(scope, receive, send)


async def _answer(send: Send, status: int, body: Any, *headers: tuple[bytes, bytes]) -> None:
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": [(b"content-type", b"application/json"), *headers]})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
