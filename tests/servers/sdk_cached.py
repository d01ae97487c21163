"""An MCPServer of the SDK that says how long its answers are fresh (2026-07-28)."""

from __future__ import annotations

from typing import Any

import sdk_serving
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer

reads = 0
server: MCPServer[Any] = MCPServer(
    "cached",
    log_level="WARNING",
    cache_hints={
        "server/discover": CacheHint(ttl_ms=5_000, scope="public"),
        "tools/list": CacheHint(ttl_ms=30_000, scope="public"),
        "resources/read": CacheHint(ttl_ms=60_000, scope="private"),
    },
)


@server.tool()
def echo(text: str) -> str:
    """Say it back."""
    return text


@server.resource("note://count")
def count() -> str:
    """The number of reads."""
    global reads
    reads += 1
    return f"read {reads}"


if __name__ == "__main__":
    sdk_serving.serve(server, sdk_serving.options().parse_args())
