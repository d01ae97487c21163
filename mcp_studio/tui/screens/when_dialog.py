"""Choosing a date, a time or a duration: a calendar, a clock, and words such as `tomorrow 9am`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.aids import durations, moment, month
from mcp_studio.tui.aids.moment import KINDS, LOCAL, UTC, Kind, Moment
from mcp_studio.tui.aids.words import NotUnderstood, understand
from mcp_studio.tui.bindings import key_for
from mcp_studio.tui.screens.calendar import Calendar, Clock
from mcp_studio.tui.screens.dialog import Dialog

_NAMES: dict[Kind, str] = {"date": "date", "time": "time", "date-time": "date and time", "duration": "duration"}
_HINTS: dict[Kind, str] = {
    "date": "tomorrow, +3d, next monday, 21 nov, or use the arrows",
    "time": "now, 9am, 14:30, in 2 hours, or use the arrows",
    "date-time": "tomorrow 9am, in 2 hours, 2026-11-21 14:00 Z, …",
    "duration": "90m, 1h 30m, 2 days, 1:30, P1DT2H",
}


class WhenDialog(Dialog[str], scope="when"):
    """Answers the text of the format (RFC 3339; durations as in ISO 8601).

    Args:
        name: of the field.
        kind: what its format is; None where the schema does not say, and the person may choose.
        text: what the field holds.
    """

    def __init__(self, name: str, kind: Kind | None, text: str, now: Callable[[], datetime] = datetime.now) -> None:
        super().__init__()
        self._name = name
        self._fixed = kind is not None
        self._now = now
        here = now()
        self._kind: Kind = kind or _guess(text, here)
        self._chosen = moment.read(self._kind, text, here) or moment.start(here)
        self._base = self._chosen  # what the words are seen from
        self._duration = text if durations.said(text) else ""
        self._problem = ""
        self._words = Input(compact=True, select_on_focus=False)
        self._calendar = Calendar(classes="gap")
        self._clock = Clock()
        self._preview = Static(classes="gap preview")

    def heading(self) -> Content:
        """What is chosen."""
        return Content(f"{safe(self._name, 50)}: {_NAMES[self._kind]}")

    def body(self) -> Iterable[Widget]:
        """Words, a month, a time, and what comes of them."""
        return self._words, self._calendar, self._clock, self._preview

    def on_mount(self) -> None:
        """What the field holds is chosen."""
        self._turn_out()

    def _turn_out(self) -> None:
        """Show what belongs to the kind, with the focus on it."""
        self.retitle(self.heading())
        self._words.placeholder = _HINTS[self._kind]
        self._calendar.display = self._kind in ("date", "date-time")
        self._clock.display = self._kind in ("time", "date-time")
        shown = [widget for widget in (self._calendar, self._clock, self._words) if widget.display]
        shown[0].focus()
        self._show()

    def _show(self) -> None:
        now = self._now()
        self._calendar.show(self._chosen.at, now)
        self._clock.show(self._chosen, key_for(self, "when-zone"))
        if self._problem:
            self._preview.update(Content.styled(self._problem, "$state-failed"))
            return
        parts: list[str | tuple[str, str]] = [(self._text() or "—", "b"), "\n", (self._told(now), "$quiet")]
        if not self._fixed:
            parts.append((f"\nThe schema names no format; {key_for(self, 'when-kind')} chooses another.", "$quiet"))
        self._preview.update(Content.assemble(*parts))

    def _text(self) -> str:
        return self._duration if self._kind == "duration" else self._chosen.written(self._kind)

    def _told(self, now: datetime) -> str:
        if self._kind == "duration":
            return durations.said(self._duration)
        if self._kind == "time":
            return ""
        local = self._chosen.in_zone(LOCAL).at
        words = month.told(self._chosen.at.date() if self._kind == "date" else local.date(), now.date())
        near = month.told_clock(local, now) if self._kind == "date-time" else ""
        return f"{words} · {near}" if near else words

    # Typing

    def on_key(self, event: Key) -> None:
        """Letters and digits go to the words, wherever the focus is."""
        if event.is_printable and event.character and not self._words.has_focus:
            event.stop()
            self._words.focus()
            self._words.insert_text_at_cursor(event.character)

    def on_input_changed(self, event: Input.Changed) -> None:
        """What the words mean is chosen at once."""
        event.stop()
        self._problem = ""
        self._chosen = self._base
        if event.value.strip():
            self._understand(event.value)
        self._show()

    def _understand(self, text: str) -> None:
        if self._kind == "duration":
            self._duration = durations.duration(text)
            self._problem = "" if self._duration else f"“{safe(text.strip(), 60)}” is no duration."
            return
        try:
            self._chosen = understand(text, self._base, self._now(), dates_only=self._kind == "date")
        except NotUnderstood as problem:
            self._problem = f"{safe(problem, 100)}."

    # Keys

    def _move(self, chosen: Moment) -> None:
        self._base = self._chosen = chosen
        self._problem = ""
        with self.prevent(Input.Changed):
            self._words.clear()
        self._show()

    def action_step(self, across: int, down: int) -> None:
        """The next day or week; of the time the next part, or one more or less."""
        if self._clock.has_focus or self._kind == "time":
            if across:
                self._clock.turn(across)
                self._show()
            else:
                self._move(self._chosen.moved(seconds=self._clock.seconds(-down)))
        elif self._kind != "duration":
            self._move(self._chosen.moved(days=across + 7 * down))

    def action_turn(self, months: int) -> None:
        """Another month or year; of the time a larger step."""
        if self._clock.has_focus or self._kind == "time":
            self._move(self._chosen.moved(seconds=self._clock.seconds(-1 if months > 0 else 1, large=True)))
        elif self._kind != "duration":
            self._move(self._chosen.moved(months=months))

    def action_edge(self, first: bool) -> None:
        """The first or last day of the month."""
        if self._calendar.display:
            at = self._chosen.at
            wanted = 1 if first else moment.days_of(at.year, at.month)
            self._move(self._chosen.moved(days=wanted - at.day))

    def on_calendar_picked(self, event: Calendar.Picked) -> None:
        """A click on a day; the second takes it."""
        event.stop()
        by = event.day - self._chosen.at.day if event.day else 0
        self._move(self._chosen.moved(days=by, months=event.months))
        if event.twice:
            self.action_take()

    def action_zone(self) -> None:
        """The same instant, written in local time or in UTC."""
        if self._clock.display:
            self._move(self._chosen.in_zone(LOCAL if self._chosen.zone == UTC else UTC))

    def action_kind(self) -> None:
        """Date, time, both or a duration."""
        if not self._fixed:
            self._kind = KINDS[(KINDS.index(self._kind) + 1) % len(KINDS)]
            self._problem = ""
            self._turn_out()

    def action_take(self) -> None:
        """Answer what is chosen."""
        text = self._text()
        if self._problem or not text:
            self._problem = self._problem or "No duration is typed."
            self._show()
            return
        self.dismiss(text)

    def action_close(self) -> None:
        """Leave it as it was."""
        self.dismiss(None)


def _guess(text: str, now: datetime) -> Kind:
    """What a text looks like; both where it looks like nothing."""
    order: tuple[Kind, ...] = ("date", "date-time", "time")
    for kind in order:
        if moment.read(kind, text, now):
            return kind
    return "duration" if durations.said(text) else "date-time"
