"""Serves clients on standard input and output, or over HTTP on this computer only; all bundled servers use it."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
from collections.abc import Callable
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.servers import stdio
from mcp_studio.servers.http import PATH, HttpServer
from mcp_studio.servers.stdio import Peer

_CONNECTIONS = 200


def run(
    peer: Callable[[], Peer], port: int | None, *, token: str | None = None,
    on_start: Callable[[str], None] = lambda url: None,
) -> int:  # fmt: skip
    """Serve until the client leaves, or the process is interrupted; returns the exit code.

    Args:
        peer: makes the server for a client.
        port: the port of 127.0.0.1, 0 for a free one; None is standard input and output.
        token: the bearer token that clients over HTTP have to send; if it is empty, one is generated and printed.
        on_start: called with the URL, which is also the first line on standard output.

    Raises:
        StudioError: the port cannot be used.
    """
    try:
        if port is None:
            asyncio.run(stdio.serve(peer(), sys.stdin.buffer, sys.stdout.buffer))
        else:
            _listen(HttpServer(peer), port, token, on_start)
    except KeyboardInterrupt:
        return 130
    return 0


def _listen(app: Any, port: int, token: str | None, on_start: Callable[[str], None]) -> None:
    import uvicorn

    # asyncio only disables Nagle's algorithm if the protocol is named (40 ms per answer otherwise).
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else problem
            raise StudioError(f"Port {port} cannot be used: {reason}.") from None
        listening.listen(256)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}{PATH}"
        sys.stdout.write(f"{url}\n")
        if token is not None:
            known, token = token, token or secrets.token_urlsafe(32)
            sys.stdout.write("" if known else f"token: {token}\n")
            app = _Guarded(app, token)
        sys.stdout.flush()
        on_start(url)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, lifespan="off",
                                limit_concurrency=_CONNECTIONS)  # fmt: skip
        uvicorn.Server(config).run(sockets=[listening])


class _Guarded:
    """An application that requires a bearer token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._header = f"Bearer {token}".encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if secrets.compare_digest(shown, self._header):
            return await self._app(scope, receive, send)
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body"})
