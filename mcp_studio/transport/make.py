"""Which transport a configuration asks for."""

from __future__ import annotations

from mcp_studio.config.model import ServerConfig
from mcp_studio.limits import Limits
from mcp_studio.transport.base import Transport
from mcp_studio.transport.tap import Tap


def make(config: ServerConfig, limits: Limits, tap: Tap) -> Transport:
    """A transport, not opened yet."""
    if config.kind == "http":
        # HTTP costs 70 ms to import, which a studio of child processes does not pay.
        from mcp_studio.transport.http import HttpTransport

        return HttpTransport(config, limits, tap)
    from mcp_studio.transport.stdio import StdioTransport

    return StdioTransport(config, limits, tap)
