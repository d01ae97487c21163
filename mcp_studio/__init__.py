"""mcp-studio: the terminal studio for people who build, debug and use MCP servers."""

from __future__ import annotations

# Importing `typing` for this would cost `--version` a third of its time; type checkers know the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.toolset.registry import Registry
    from mcp_studio.toolset.toolset import LocalToolset, RemoteToolset, StudioToolset

__version__ = "0.1.0"
__all__ = ["LocalToolset", "Registry", "RemoteToolset", "Studio", "StudioToolset", "__version__"]
_MODULES = {"Registry": "mcp_studio.toolset.registry", "Studio": "mcp_studio.studio"}


def __getattr__(name: str) -> object:
    """Import the module of a public name when somebody first asks for the name (PEP 562): `--version` stays instant."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES.get(name, "mcp_studio.toolset.toolset")), name)
