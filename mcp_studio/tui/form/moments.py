"""Dates, times and durations from the words that people type, and as RFC 3339 and ISO 8601 have them. No widget."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

Kind = Literal["date", "time", "date-time", "duration"]
_FORMATS: dict[str, Kind] = {
    "date": "date", "full-date": "date", "time": "time", "full-time": "time", "partial-time": "time",
    "date-time": "date-time", "datetime": "date-time", "timestamp": "date-time", "duration": "duration",
}  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {
    **dict.fromkeys(("y", "year", "years"), "Y"), **dict.fromkeys(("mo", "month", "months"), "M"),
    **dict.fromkeys(("w", "week", "weeks"), "W"), **dict.fromkeys(("d", "day", "days"), "D"),
    **dict.fromkeys(("h", "hour", "hours"), "H"), **dict.fromkeys(("m", "min", "minute", "minutes"), "MIN"),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "S"),
}  # fmt: skip
_STEP = re.compile(r"([+-]?)(\d{1,7}) ?([a-z]+)")
_ISO_DURATION = re.compile(r"P(?=[\dT])(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d)(?::(\d\d))?)? ?(am|pm)?")


class NotUnderstood(ValueError):
    """The words mean nothing here; the message is a sentence."""


def kind_of(format: str) -> Kind | None:
    """Which of date, time, both and duration a format wants; None when it says nothing of that."""
    return _FORMATS.get(format.casefold())


def written(kind: Kind, at: datetime) -> str:
    """The text of a format: a date, a time with its zone, or both (RFC 3339, 5.6); without a zone `at` is local."""
    if kind == "date":
        return at.date().isoformat()
    text = (at if at.tzinfo else at.astimezone()).isoformat(timespec="seconds").replace("+00:00", "Z")
    return text if kind == "date-time" else text.split("T")[1]


def read(kind: Kind, text: str, now: datetime) -> datetime | None:
    """What a field holds already; None where that is none of its format."""
    whole = f"{now.date().isoformat()}T{text}" if kind == "time" else text
    if kind == "date" and not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return None
    try:
        found = datetime.fromisoformat(whole)
    except ValueError:
        return None
    return found if found.tzinfo or kind != "date-time" else None


def understand(text: str, now: datetime) -> datetime:
    """What is meant by words such as `tomorrow 9am`, `next monday`, `+3d`, `in 2 hours`, `2026-11-21 14:00 Z`.

    Args:
        now: in local time, without a zone.

    Raises:
        NotUnderstood: naming what was not understood, or that there is no such day.
    """
    at, rest = now.replace(microsecond=0), " ".join(text[:100].casefold().replace(",", " ").split())
    if not rest:
        raise NotUnderstood("nothing is typed")
    try:
        if iso := re.fullmatch(r"(\d{4}-\d\d-\d\d[t ]\d\d:\d\d.*)", rest):
            return datetime.fromisoformat(iso[1].upper().replace(" Z", "Z"))
        back = rest.endswith(" ago")
        words = rest.removesuffix(" ago")
        words = re.sub(r"(?<=\d) (?=[a-z])(?!am|pm)", "", words).split()
        for word in words:
            at = _applied(word, at, now, back)
    except (ValueError, OverflowError) as problem:
        raise problem if isinstance(problem, NotUnderstood) else NotUnderstood(f"there is no {rest}") from None
    if not 1 < at.year < 9999:
        raise NotUnderstood("that is beyond the years that can be written")
    return at


def _applied(word: str, at: datetime, now: datetime, back: bool) -> datetime:
    """The moment after one more word."""
    days = {"today": 0, "tomorrow": 1, "yesterday": -1}
    if word in ("now", "at", "in", "next", "on", "and"):
        return at
    if word in days:
        return at.replace(year=now.year, month=now.month, day=now.day) + timedelta(days=days[word])
    if word in ("utc", "z"):
        return at.astimezone(UTC)
    if word in ("noon", "midnight"):
        return _at_clock(at, 12 if word == "noon" else 0)
    if len(word) >= 3 and (day := next((day for day in _DAYS if day.startswith(word)), "")):
        return at + timedelta(days=(_DAYS.index(day) - at.weekday() - 1) % 7 + 1)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", word):
        return datetime.combine(date.fromisoformat(word), at.timetz())
    if clock := _CLOCK.fullmatch(word):
        if clock[2] or clock[4]:
            hour = int(clock[1]) % 12 + 12 * (clock[4] == "pm") if clock[4] else int(clock[1])
            return _at_clock(at, hour, int(clock[2] or 0), int(clock[3] or 0))
    steps = list(_STEP.finditer(word))
    if not steps or "".join(step[0] for step in steps) != word or any(step[3] not in _UNITS for step in steps):
        raise NotUnderstood(f"“{word}” is not understood")
    for step in steps:
        sign = -1 if back or (step[1] or steps[0][1]) == "-" else 1
        at = shifted(at, _UNITS[step[3]], sign * int(step[2]))
    return at


def _at_clock(at: datetime, hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime.combine(at.date(), time(hour, minute, second, tzinfo=at.tzinfo))


def shifted(at: datetime, unit: str, count: int) -> datetime:
    """Some units later; the 31st becomes the last day of a month that has none."""
    if unit in "YM":
        months = at.year * 12 + at.month - 1 + count * (12 if unit == "Y" else 1)
        year, month = months // 12, months % 12 + 1
        return at.replace(year=year, month=month, day=min(at.day, monthrange(year, month)[1]))
    seconds = {"W": 604_800, "D": 86_400, "H": 3_600, "MIN": 60, "S": 1}[unit]
    return at + timedelta(seconds=count * seconds)


def duration(text: str) -> str:
    """The ISO 8601 text of a duration: `90m`, `1h 30m`, `2 days`, `1:30`, `P1DT2H`; empty when it is none."""
    bare = text.strip()[:200]
    if _ISO_DURATION.fullmatch(bare.upper()):
        return bare.upper()
    if clock := re.fullmatch(r"(\d{1,4}):([0-5]\d)", bare):
        bare = f"{clock[1]}h{clock[2]}m"
    joined = re.sub(r"[\s,]|\band\b", "", bare.casefold())
    steps = list(_STEP.finditer(joined))
    if not steps or "".join(step[0] for step in steps) != joined:
        return ""
    found = {_UNITS.get(step[3], ""): int(step[2]) for step in steps}
    if "" in found or len(found) < len(steps) or "-" in joined:
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
