"""Run the demo server over stdio or HTTP."""

from __future__ import annotations

import socket
import sys

import anyio
from mcp.server.stdio import stdio_server

from mcp_studio.servers.demo.server import build


def stdio() -> None:
    """Serve one client on stdin and stdout, until it closes stdin."""

    async def run() -> None:
        server = build()
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def http(port: int) -> None:
    """Serve any number of clients on loopback; the URL is written as the first line on stdout.

    Raises:
        OSError: the port is taken.
    """
    import uvicorn

    server = build()
    # The protocol is named because only then asyncio switches Nagle's algorithm off (40 ms per answer otherwise).
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(64)
        app = server.streamable_http_app()
        config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=1)
        sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
        sys.stdout.flush()
        uvicorn.Server(config).run(sockets=[listening])
