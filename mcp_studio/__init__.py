"""mcp-studio: the terminal studio for people who build, debug and use MCP servers."""

from __future__ import annotations

# Importing `typing` for this would cost `--version` a third of its time; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_studio.studio import Studio

__version__ = "0.1.0"
__all__ = ["Studio", "__version__"]


def __getattr__(name: str) -> object:
    """`Studio` is imported when it is first asked for (PEP 562), so that `--version` stays instant."""
    if name != "Studio":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module("mcp_studio.studio").Studio
