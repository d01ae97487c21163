"""The check against the whole schema while a person types: after each pause, off the loop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.timer import Timer

from mcp_studio.jsontext import Json

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen

PAUSE = 0.15
"""Seconds without a key after which the value is checked."""


class LiveCheck:
    """Tells at the fields what only the whole schema knows, such as patterns. A schema that takes too long is left."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._timer: Timer | None = None
        self._left = ""
        """The entry whose schema cannot be checked in time."""

    def later(self, opened: Opened) -> None:
        """The value is another one: check it once nothing has been typed for a moment."""
        if self._timer is not None:
            self._timer.stop()
        if opened.schema is not None and self._left != opened.key:
            self._timer = self._screen.set_timer(PAUSE, partial(self._start, opened, opened.value))

    def _start(self, opened: Opened, value: Json) -> None:
        self._screen.run_worker(self._check(opened, value), group="live-check", exclusive=True)

    async def _check(self, opened: Opened, value: Json) -> None:
        problems = await self._screen.studio.checker.check(opened.schema, value)
        if any(not problem.pointer and problem.message.startswith("unchecked") for problem in problems):
            self._left = opened.key  # it was given up, and would be again
        elif self._screen.calling.opened is opened and opened.value is value and not self._screen.call.unreadable():
            self._screen.call.show_problems(problems)
