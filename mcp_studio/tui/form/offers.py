"""The list of values that a server offers while a field is typed into. The form draws it; no widget of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from textual.suggester import Suggester
from textual.widget import Widget

from mcp_studio.safetext import safe
from mcp_studio.tui.form.offer import Complete

PAUSE = 0.15
"""Seconds without a key after which the server is asked."""
HEIGHT = 6
"""Values on screen at a time, at the most."""
Pressed = Literal["", "moved", "taken"]
"""What a key did: nothing, something else is shown, a value was taken (`value`)."""
_MOVES = {"down": 1, "up": -1}
_PAGES = {"pagedown": 1, "pageup": -1}


class Offers:
    """Asks after a pause in typing, one question at a time: typing on cancels it, and a late answer counts for nothing.

    Args:
        owner: the form, whose worker asks.
        changed: called when there is another list to draw.
    """

    def __init__(self, owner: Widget, changed: Callable[[], None]) -> None:
        self._owner = owner
        self._changed = changed
        self._wanted: tuple[str, str] | None = None
        self._first: asyncio.Future[str | None] | None = None
        self.values: tuple[str, ...] = ()
        self.count = ""
        self.left_out = 0
        """Values that cannot be shown as they are, and so are not offered."""
        self.at = -1
        """The value under the cursor; -1 while the cursor is in the text."""
        self._top = 0
        self.height = HEIGHT
        """Values on screen at a time."""

    @property
    def open(self) -> bool:
        """Whether there is a list."""
        return bool(self.values)

    @property
    def value(self) -> str:
        """The value under the cursor."""
        return self.values[self.at]

    def want(self, name: str, text: str, complete: Complete, *, pause: float = PAUSE) -> asyncio.Future[str | None]:
        """Ask for what goes on from a text; the future holds the first value that begins with it, or None."""
        if self._wanted == (name, text) and self._first is not None:
            return self._first
        self._settle(None)
        self._wanted = name, text
        first = self._first = asyncio.get_running_loop().create_future()
        self._show([value for value in self.values if text.casefold() in value.casefold()], self.count)
        self._owner.run_worker(self._ask(first, name, text, complete, pause), group="offers", exclusive=True)
        return first

    def close(self) -> None:
        """Nothing is offered any more, and no answer waited for."""
        self._settle(None)
        self._owner.workers.cancel_group(self._owner, "offers")
        self._wanted = None
        self._show([], "")

    def press(self, key: str) -> Pressed:
        """A key while the list is open."""
        if not self.open:
            return ""
        if key == "escape":
            self.hide()
            return "moved"
        if key in ("enter", "tab") and self.at >= 0:
            return "taken"
        by = _MOVES.get(key) or _PAGES.get(key, 0) * self.height
        if by and (self.at >= 0 or key == "down"):
            lowest = -1 if key == "up" else 0
            self.at = max(lowest, min(self.at + by, len(self.values) - 1))
            return "moved"
        return ""

    def hide(self) -> None:
        """Put the list away until something else is typed."""
        self.values, self.at, self._top = (), -1, 0

    def took(self, name: str, value: str) -> None:
        """A value was taken: it is not asked about."""
        self.close()
        self._wanted = name, value
        self._first = asyncio.get_running_loop().create_future()
        self._first.set_result(None)

    def window(self) -> range:
        """The part of the list that is on screen; it follows the cursor."""
        self._top = max(self.at - self.height + 1, min(self._top, self.at), 0)
        return range(self._top, min(self._top + self.height, len(self.values)))

    def footer(self) -> str:
        """What stands below the list."""
        left_out = f"{self.left_out} unsafe left out" if self.left_out else ""
        parts = [self.count, left_out, "↓ and enter take one" if self.at < 0 else "enter takes it"]
        return " · ".join(filter(None, parts))

    async def _ask(
        self, first: asyncio.Future[str | None], name: str, text: str, complete: Complete, pause: float
    ) -> None:
        await asyncio.sleep(pause)
        found = await complete(name, text)
        if first is not self._first:
            return
        usable = [value for value in found.values if safe(value) == value]
        self.left_out = len(found.values) - len(usable)
        self._settle(next((value for value in usable if value.startswith(text) and value != text), None))
        self._show([value for value in usable if value != text], found.count)

    def _show(self, values: list[str], count: str) -> None:
        before = self.values
        self.values, self.count = tuple(values), count
        self.at, self._top = -1, 0
        if before or values:
            self._changed()

    def _settle(self, value: str | None) -> None:
        if self._first is not None and not self._first.done():
            self._first.set_result(value)


class Completions(Suggester):
    """The first value of the list as the rest of the line, dimmed; the right arrow takes it."""

    def __init__(self, offers: Offers, name: str, complete: Complete) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._offers = offers
        self._name = name
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        """The first value that goes on from what is typed."""
        return await self._offers.want(self._name, value, self._complete)
