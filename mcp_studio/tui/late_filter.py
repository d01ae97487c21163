"""What filtering the catalog needs, imported when a person first filters; see `late`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_studio.tui.panels.narrowing import Narrowing
    from mcp_studio.tui.screens.filtering import Filtering
    from mcp_studio.tui.screens.main import MainScreen


def narrowing() -> Narrowing:
    """What a filter leaves of the lists."""
    from mcp_studio.tui.panels.narrowing import Narrowing

    return Narrowing()


def filtering(screen: MainScreen) -> Filtering:
    """Asking the index what else there is."""
    from mcp_studio.tui.screens.filtering import Filtering

    return Filtering(screen)
