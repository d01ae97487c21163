"""Serving an application over HTTP on this computer alone, which demo and mock do alike."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from typing import Any


def serve(app: Any, port: int, path: str, on_start: Callable[[str], None] = lambda url: None, **more: Any) -> None:
    """Serve an ASGI application on 127.0.0.1; its URL is the first line on standard output.

    Args:
        port: 0 takes a free one.
        more: settings of uvicorn.

    Raises:
        OSError: the port is taken.
    """
    import uvicorn

    # The protocol is named because only then asyncio switches Nagle's algorithm off (40 ms per answer otherwise).
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(256)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        on_start(url)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1, **more)
        uvicorn.Server(config).run(sockets=[listening])
