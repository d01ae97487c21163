"""The pulse of the main screen: draws time and progress while something runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.timer import Timer

    from mcp_studio.tui.screens.main import MainScreen

PAUSE = 0.1
"""Seconds between two beats."""
COVERED = 10
"""Of so many beats one draws while a dialog lies over the screen: each draws all that is under the dialog anew."""


class Pulse:
    """Beats until nothing runs any more."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._timer: Timer | None = None
        self._count = 0

    def resume(self) -> None:
        """Something runs."""
        if self._timer is None:
            self._timer = self._screen.set_interval(PAUSE, self.beat)
        else:
            self._timer.resume()

    def beat(self) -> None:
        """Draw, unless it would hardly be seen."""
        self._count += 1
        if self._count % COVERED and self._screen.app.screen is not self._screen:
            return
        if not self._screen.calling.tick() and self._timer is not None:
            self._timer.pause()
