"""A month and a time of day, drawn by ourselves: what is chosen is told by the dialog around them."""

from __future__ import annotations

from datetime import datetime

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from mcp_studio.tui.aids import month
from mcp_studio.tui.aids.moment import Moment

_ABOVE = 2
"""Lines above the weeks."""
_WIDTH = 7 * month.CELL - 1
_PARTS = 3


class Calendar(Static, can_focus=True):
    """One month with a chosen day."""

    class Picked(Message):
        """A click: on a day, or (`day` 0) on what leads to another month."""

        def __init__(self, day: int, months: int, twice: bool) -> None:
            super().__init__()
            self.day = day
            self.months = months
            self.twice = twice

    _at = datetime(1970, 1, 1)

    def show(self, at: datetime, today: datetime) -> None:
        """Show the month of a day."""
        self._at = at
        head = f"<{month.title(at.date()):^{_WIDTH - 2}}>"
        parts: list[str | tuple[str, str]] = [(head, "b"), "\n", (month.HEAD, "$quiet")]
        for week in month.weeks(at.year, at.month):
            parts.append("\n")
            for index, day in enumerate(week):
                here = day and at.replace(day=day).date()
                look = "b reverse" if day == at.day else "b underline" if here == today.date() else ""
                parts += [(f"{day or '':>2}", look), " " if index < 6 else ""]
        self.update(Content.assemble(*parts))

    def on_click(self, event: Click) -> None:
        """Say what was clicked."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        if offset.y == 0:
            months = -1 if offset.x < month.CELL else 1 if _WIDTH - month.CELL <= offset.x < _WIDTH else 0
            self.post_message(self.Picked(0, months, False))
        elif day := month.day_at(self._at.year, self._at.month, offset.x, offset.y - _ABOVE):
            self.post_message(self.Picked(day, 0, event.chain > 1))


class Clock(Static, can_focus=True):
    """Hours, minutes and seconds, of which one is being stepped."""

    def __init__(self) -> None:
        super().__init__()
        self.part = 0
        self._moment: Moment | None = None
        self._key = ""

    def show(self, moment: Moment, key: str) -> None:
        """Show a time of day and its zone, and the key that changes that."""
        self._moment, self._key = moment, key
        at = moment.at
        parts: list[str | tuple[str, str]] = [("time ", "$quiet")]
        for index, number in enumerate((at.hour, at.minute, at.second)):
            look = "b reverse" if index == self.part and self.has_focus else "b"
            parts += [":" if index else "", (f"{number:02d}", look)]
        fraction = f".{at.microsecond:06d}".rstrip("0") if at.microsecond else ""
        parts += [fraction, ("   zone ", "$quiet"), moment.zone_words, (f"   {key} another", "$quiet")]
        self.update(Content.assemble(*parts))

    def turn(self, by: int) -> None:
        """Go to another part."""
        self.part = (self.part + by) % _PARTS

    def seconds(self, steps: int, *, large: bool = False) -> int:
        """How many seconds some steps of the part are."""
        return steps * ((6 * 3600, 15 * 60, 15) if large else (3600, 60, 1))[self.part]

    def on_click(self, event: Click) -> None:
        """A click on a part goes there."""
        offset = event.get_content_offset(self)
        if offset is not None and 5 <= offset.x < 5 + 3 * _PARTS:
            self.part = (offset.x - 5) // 3
            self.refocus()

    def on_focus(self) -> None:
        """The part is marked."""
        self.refocus()

    def on_blur(self) -> None:
        """It is no more."""
        self.refocus()

    def refocus(self) -> None:
        """Draw again."""
        if self._moment is not None:
            self.show(self._moment, self._key)
