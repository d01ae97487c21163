"""Which transport a configuration asks for."""

from __future__ import annotations

from mcp_studio.config.model import ServerConfig
from mcp_studio.limits import Limits
from mcp_studio.transport.base import Credentials, Tap, Transport


def make(
    config: ServerConfig, limits: Limits, tap: Tap, credentials: Credentials | None = None, spoken: str = ""
) -> Transport:
    """A transport, not opened yet.

    Args:
        credentials: used where it is one over HTTP.
        spoken: which of the two at a URL was spoken last time (`http` or `sse`), where the entry does not say.
    """
    if config.kind == "stdio":
        from mcp_studio.transport.stdio import StdioTransport

        return StdioTransport(config, limits, tap)
    # HTTP costs 70 ms to import, which a studio of child processes does not pay.
    from mcp_studio.transport.edge import Edge

    edge = Edge(config, limits, tap, credentials)
    if config.kind == "sse":
        from mcp_studio.transport.http_sse import SseTransport

        return SseTransport(config, limits, tap, edge)
    if config.kind == "websocket":
        from mcp_studio.transport.websocket import WebSocketTransport

        return WebSocketTransport(config, limits, tap, edge)
    if config.transport:
        from mcp_studio.transport.http import HttpTransport

        return HttpTransport(config, limits, tap, edge)
    from mcp_studio.transport.http_sse import FallbackTransport

    return FallbackTransport(config, limits, tap, edge, spoken)
