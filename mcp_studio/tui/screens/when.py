"""Choosing a date, a time or a duration: words such as `tomorrow 9am`, and a calendar."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable
from datetime import datetime

from textual import on
from textual.content import Content
from textual.events import Click, Key
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.form import moments
from mcp_studio.tui.form.moments import Kind, NotUnderstood
from mcp_studio.tui.screens.dialog import Choice, Dialog

_HINTS: dict[Kind, str] = {
    "date": "tomorrow, +3d, next monday, 2026-11-21",
    "time": "now, 9am, 14:30, in 2 hours",
    "date-time": "tomorrow 9am, in 2 hours, 2026-11-21 14:00 Z",
    "duration": "90m, 1h 30m, 2 days, 1:30, P1DT2H",
}
_MOVES = {"up": ("D", -7), "down": ("D", 7), "pageup": ("M", -1), "pagedown": ("M", 1)}
_CELL = 3


class When(Dialog[str]):
    """Answers the text of the format (RFC 3339; durations as in ISO 8601).

    Args:
        name: of the field.
        kind: what its format is.
        text: what the field holds.
    """

    DEFAULT_CSS = """
    When { & > #box { width: 60; } & #month { width: auto; height: auto; margin: 1 0; } & #meaning { height: auto; } }
    """
    choices = (
        Choice("submit", "Insert", "primary"),
        Choice("earlier", "Earlier"),
        Choice("later", "Later"),
        Choice("back", "Cancel"),
    )

    def __init__(self, name: str, kind: Kind, text: str, now: Callable[[], datetime] = datetime.now) -> None:
        super().__init__()
        self._field_name = name
        self._kind: Kind = kind
        self._now = now
        self._chosen = moments.read(kind, text, now()) or now().replace(microsecond=0)
        self._text = moments.written(kind, self._chosen) if kind != "duration" else moments.duration(text)
        self._problem = ""
        self._input = Input(placeholder=_HINTS[kind])
        self._month = Static(id="month")
        self._meaning = Static(id="meaning")

    def heading(self) -> str:
        return f"Insert a {self._kind.replace('-', ' and ')} into {safe(self._field_name, 50)}"

    def body(self) -> Iterable[Widget]:
        self._month.display = self._kind in ("date", "date-time")
        return self._input, self._month, self._meaning

    def on_mount(self) -> None:
        self._input.focus()
        self._show()

    def _show(self) -> None:
        self._month.update(self._calendar())
        if self._problem:
            self._meaning.update(Content.styled(self._problem, "$state-failed"))
            return
        words = f"   {self._chosen:%A}" if self._kind in ("date", "date-time") else ""
        self._meaning.update(Content.assemble((self._text or "—", "b"), (words, "$quiet")))

    def _calendar(self) -> Content:
        at, today = self._chosen, self._now().date()
        parts: list[str | tuple[str, str]] = [(f"{at:%B %Y}".center(7 * _CELL - 1), "b"), "\n"]
        parts.append(("Mo Tu We Th Fr Sa Su", "$quiet"))
        for week in calendar.monthcalendar(at.year, at.month):
            parts.append("\n")
            for day in week:
                is_today = day == today.day and (at.year, at.month) == (today.year, today.month)
                look = "b reverse" if day == at.day else "b underline" if is_today else ""
                parts += [(f"{day or '':>2}", look), " "]
        return Content.assemble(*parts)

    def _choose(self, at: datetime) -> None:
        self._chosen, self._problem = at, ""
        self._text = moments.written(self._kind, at)
        self._show()

    @on(Input.Changed)
    def _understand(self, event: Input.Changed) -> None:
        """What the words mean is chosen at once."""
        event.stop()
        if not event.value.strip():
            return
        if self._kind == "duration":
            self._text = moments.duration(event.value)
            self._problem = "" if self._text else f"“{safe(event.value.strip(), 60)}” is no duration."
            self._show()
            return
        try:
            self._choose(moments.understand(event.value, self._now()))
        except NotUnderstood as problem:
            self._problem = f"{safe(problem, 100)}."
            self._show()

    @on(Input.Submitted)
    async def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        await self.action_submit()

    async def on_key(self, event: Key) -> None:
        if event.key in _MOVES and self._month.display:
            event.stop()
            self._shift(*_MOVES[event.key])
        else:
            await super().on_key(event)

    def _shift(self, unit: str, count: int) -> None:
        try:
            self._choose(moments.shifted(self._chosen, unit, count))
        except (ValueError, OverflowError):
            pass  # the ends of the calendar

    def on_click(self, event: Click) -> None:
        """A click on a day chooses it."""
        offset = event.get_content_offset(self._month)
        weeks = calendar.monthcalendar(self._chosen.year, self._chosen.month)
        if offset is not None and 2 <= offset.y < 2 + len(weeks) and offset.x < 7 * _CELL:
            day = weeks[offset.y - 2][offset.x // _CELL]
            if day:
                self._choose(self._chosen.replace(day=day))

    def action_earlier(self) -> None:
        self._shift("M", -1)

    def action_later(self) -> None:
        self._shift("M", 1)

    async def action_submit(self) -> None:
        if self._problem or not self._text:
            self._problem = self._problem or "No duration is typed."
            self._show()
            return
        self.dismiss(self._text)
