"""Serves an application over HTTP on this computer only; all bundled servers use it."""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Callable
from typing import Any

from mcp_studio.errors import StudioError


def serve(
    app: Any, port: int, path: str, on_start: Callable[[str], None] = lambda url: None, token: str | None = None,
    **more: Any,
) -> None:  # fmt: skip
    """Serve an ASGI application on 127.0.0.1; its URL is the first line on standard output.

    Args:
        port: 0 takes a free one.
        token: the bearer token that clients have to send; if it is empty, one is generated and printed as the second
            line.
        more: settings of uvicorn.

    Raises:
        StudioError: the port cannot be used.
    """
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
        url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
        sys.stdout.write(f"{url}\n")
        if token is not None:
            known, token = token, token or secrets.token_urlsafe(32)
            sys.stdout.write("" if known else f"token: {token}\n")
            app = _Guarded(app, token)
        sys.stdout.flush()
        on_start(url)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, **more)
        uvicorn.Server(config).run(sockets=[listening])


class _Guarded:
    """An application that requires a bearer token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._header = f"Bearer {token}".encode()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or secrets.compare_digest(shown, self._header):
            return await self._app(scope, receive, send)
        headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body"})
