"""Choosing a date, a time or a duration: words such as `tomorrow 9am`, and a calendar."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from textual import on
from textual.content import Content
from textual.events import Click, Key
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog

Kind = Literal["date", "time", "date-time", "duration"]
_HINTS: dict[Kind, str] = {
    "date": "tomorrow, +3d, next monday, 2026-11-21",
    "time": "now, 9am, 14:30, in 2 hours",
    "date-time": "tomorrow 9am, in 2 hours, 2026-11-21 14:00 Z",
    "duration": "90m, 1h 30m, 2 days, 1:30, P1DT2H",
}
_MOVES = {"up": ("D", -7), "down": ("D", 7), "pageup": ("M", -1), "pagedown": ("M", 1)}
_CELL = 3
_WORDS = {"Y": "y year years", "M": "mo month months", "W": "w week weeks", "D": "d day days", "H": "h hour hours",
          "MIN": "m min minute minutes", "S": "s sec second seconds"}  # fmt: skip
_UNITS = {word: unit for unit, words in _WORDS.items() for word in words.split()}
_STEP = re.compile(r"([+-]?)(\d{1,7}) ?([a-z]+)")
_ISO_DURATION = re.compile(r"P(?=[\dT])(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d)(?::(\d\d))?)? ?(am|pm)?")


class When(Dialog[str]):
    """Answers the text of the format (RFC 3339; durations as in ISO 8601).

    Args:
        name: of the field.
        kind: what its format is.
        text: what the field holds.
    """

    DEFAULT_CLASSES = "-small"
    DEFAULT_CSS = "When { & #month { width: auto; height: auto; margin: 1 0; } & #meaning { height: auto; } }"
    choices = (
        Choice("submit", "Insert", "primary"),
        Choice("earlier", "Earlier"),
        Choice("later", "Later"),
        Choice("back", "Cancel"),
    )

    def __init__(self, name: str, kind: Kind, text: str) -> None:
        super().__init__()
        self._field_name = name
        self._kind: Kind = kind
        now = datetime.now()
        self._chosen = read(kind, text, now) or now.replace(microsecond=0)
        self._result = written(kind, self._chosen) if kind != "duration" else duration(text)
        self._problem = ""
        self._input = Input(placeholder=_HINTS[kind], compact=True)
        self._month = Static(id="month")
        self._meaning = Static(id="meaning")

    def heading(self) -> str:
        return f"Insert a {self._kind.replace('-', ' and ')} into {safe(self._field_name, 50)}"

    def body(self) -> Iterable[Widget]:
        return self._input, self._month, self._meaning

    def on_mount(self) -> None:
        with_days = self._kind in ("date", "date-time")
        for widget in (self._month, self.query_one("#earlier"), self.query_one("#later")):
            widget.display = with_days
        self._input.focus()
        self._show()

    def _show(self) -> None:
        self._month.update(self._calendar())
        if self._problem:
            self._meaning.update(Content.styled(safe(self._problem, 100), "$state-failed"))
            return
        words = f"   {self._chosen:%A}" if self._month.display else ""
        self._meaning.update(Content.assemble((self._result or "Type a duration.", "b"), (words, "$quiet")))

    def _calendar(self) -> Content:
        at, today = self._chosen, datetime.now()
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
        self._result = written(self._kind, at)
        self._show()

    @on(Input.Changed)
    def understand(self, event: Input.Changed) -> None:
        """What the words mean is chosen at once."""
        event.stop()
        typed = event.value.strip()
        self._problem = ""
        try:
            if typed and self._kind != "duration":
                self._choose(understood(typed, datetime.now()))
            elif typed:
                self._result = duration(typed)
                self._problem = "" if self._result else f"“{typed}” is no duration."
        except ValueError as problem:
            self._problem = f"{problem}."
        self._show()

    async def on_key(self, event: Key) -> None:
        if event.key in _MOVES and self._month.display:
            event.stop()
            self._shift(*_MOVES[event.key])
        else:
            await super().on_key(event)

    def _shift(self, unit: str, count: int) -> None:
        try:
            self._choose(shifted(self._chosen, unit, count))
        except (ValueError, OverflowError):
            pass  # the ends of the calendar

    def on_click(self, event: Click) -> None:
        """A click on a day chooses it."""
        offset = event.get_content_offset(self._month)
        weeks = calendar.monthcalendar(self._chosen.year, self._chosen.month)
        if offset is not None and 2 <= offset.y < 2 + len(weeks) and offset.x < 7 * _CELL:
            if day := weeks[offset.y - 2][offset.x // _CELL]:
                self._choose(self._chosen.replace(day=day))

    def action_earlier(self) -> None:
        self._shift("M", -1)

    def action_later(self) -> None:
        self._shift("M", 1)

    @on(Input.Submitted)
    def action_submit(self) -> None:
        if self._result and not self._problem:
            self.dismiss(self._result)


def kind_of(format: str) -> Kind | None:
    """Which of date, time, both and duration a format wants; None when it says nothing of that."""
    name = format.casefold().removeprefix("full-").removeprefix("partial-")
    known: dict[str, Kind] = {"datetime": "date-time", "timestamp": "date-time", **{kind: kind for kind in _HINTS}}
    return known.get(name)


def written(kind: Kind, at: datetime) -> str:
    """The text of a format: a date, a time with its zone, or both (RFC 3339, 5.6); without a zone `at` is local."""
    if kind == "date":
        return at.date().isoformat()
    text = (at if at.tzinfo else at.astimezone()).isoformat(timespec="seconds").replace("+00:00", "Z")
    return text if kind == "date-time" else text.split("T")[1]


def read(kind: Kind, text: str, now: datetime) -> datetime | None:
    """What a field holds already; None where that is none of its format."""
    if kind == "date" and not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        found = datetime.fromisoformat(f"{now.date().isoformat()}T{text}" if kind == "time" else text)
    except ValueError:
        return None
    return found if found.tzinfo or kind != "date-time" else None


def understood(text: str, now: datetime) -> datetime:
    """What is meant by words such as `tomorrow 9am`, `next monday`, `+3d`, `in 2 hours`, `2026-11-21 14:00 Z`.

    Args:
        now: in local time, without a zone.

    Raises:
        ValueError: names what was not understood, or that there is no such day.
    """
    at, rest = now.replace(microsecond=0), " ".join(text[:100].casefold().replace(",", " ").split())
    if re.fullmatch(r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d.*", rest):
        try:
            return datetime.fromisoformat(rest.upper().replace(" Z", "Z"))
        except ValueError:
            raise ValueError(f"there is no {rest}") from None
    back, rest = rest.endswith(" ago"), rest.removesuffix(" ago")
    for word in re.sub(r"(?<![\d:-])(\d{1,7}) (?=[a-z])(?!am|pm)", r"\1", rest).split():
        try:
            moved = _applied(word, at, now, back)
        except (ValueError, OverflowError):
            raise ValueError(f"there is no {rest}") from None
        if moved is None:
            raise ValueError(f"“{word}” is not understood")
        at = moved
    if not 1 < at.year < 9999:
        raise ValueError("that is beyond the years that can be written")
    return at


def _applied(word: str, at: datetime, now: datetime, back: bool) -> datetime | None:
    """The moment after one more word; None where it means nothing."""
    days = {"today": 0, "tomorrow": 1, "yesterday": -1}
    names = [day.casefold() for day in calendar.day_name]
    if word in ("now", "at", "in", "next", "on", "and"):
        return at
    if word in days:
        return at.replace(year=now.year, month=now.month, day=now.day) + timedelta(days=days[word])
    if word in ("utc", "z"):
        return at.astimezone(UTC)
    if word in ("noon", "midnight"):
        return at.replace(hour=12 if word == "noon" else 0, minute=0, second=0)
    if len(word) >= 3 and (day := next((day for day in names if day.startswith(word)), "")):
        return at + timedelta(days=(names.index(day) - at.weekday() - 1) % 7 + 1)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", word):
        return datetime.combine(date.fromisoformat(word), at.timetz())
    if (clock := _CLOCK.fullmatch(word)) and (clock[2] or clock[4]):
        hour = int(clock[1]) % 12 + 12 * (clock[4] == "pm") if clock[4] else int(clock[1])
        return datetime.combine(at, time(hour, int(clock[2] or 0), int(clock[3] or 0), tzinfo=at.tzinfo))
    steps = _steps(word)
    for sign, count, unit in steps:
        at = shifted(at, unit, -count if back or (sign or steps[0][0]) == "-" else count)
    return at if steps else None


def _steps(text: str) -> list[tuple[str, int, str]]:
    """Signs, counts and units, such as those of `+1h30m`; none where there is anything else."""
    found = list(_STEP.finditer(text))
    if "".join(step[0] for step in found) != text or any(step[3] not in _UNITS for step in found):
        return []
    return [(step[1], int(step[2]), _UNITS[step[3]]) for step in found]


def shifted(at: datetime, unit: str, count: int) -> datetime:
    """Some units later; the 31st becomes the last day of a month that has none."""
    if unit in "YM":
        months = at.year * 12 + at.month - 1 + count * (12 if unit == "Y" else 1)
        year, month = months // 12, months % 12 + 1
        return at.replace(year=year, month=month, day=min(at.day, calendar.monthrange(year, month)[1]))
    seconds = {"W": 604_800, "D": 86_400, "H": 3_600, "MIN": 60, "S": 1}[unit]
    return at + timedelta(seconds=count * seconds)


def duration(text: str) -> str:
    """The ISO 8601 text of a duration: `90m`, `1h 30m`, `2 days`, `1:30`, `P1DT2H`; empty when it is none."""
    bare = text.strip()[:200]
    if _ISO_DURATION.fullmatch(bare.upper()):
        return bare.upper()
    if clock := re.fullmatch(r"(\d{1,4}):([0-5]\d)", bare):
        bare = f"{clock[1]}h{clock[2]}m"
    steps = _steps(re.sub(r"[\s,]|\band\b", "", bare.casefold()))
    found = {unit: count for _, count, unit in steps}
    if not steps or len(found) < len(steps) or any(sign == "-" for sign, _, _ in steps):
        return ""
    if set(found) == {"W"}:
        return f"P{found['W']}W"
    found["D"] = found.get("D", 0) + 7 * found.pop("W", 0)  # weeks stand alone in the grammar
    days, clock_part = _units(found, ("Y", "M", "D")), _units(found, ("H", "MIN", "S"))
    return f"P{days}T{clock_part}" if clock_part else f"P{days}" if days else "PT0S"


def _units(found: dict[str, int], units: tuple[str, ...]) -> str:
    """From the first unit to the last that is not zero: the grammar has no gaps (`PT1H0M3S`)."""
    there = [at for at, unit in enumerate(units) if found.get(unit)]
    some = units[there[0] : there[-1] + 1] if there else ()
    return "".join(f"{found.get(unit, 0)}{unit[0]}" for unit in some)
