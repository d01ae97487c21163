"""What people type for a date or a time: `tomorrow 9am`, `next monday`, `+3d`, `in 2 hours`, `2026-11-21 14:00`."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from mcp_studio.record import record
from mcp_studio.tui.aids.durations import UNIT_OF
from mcp_studio.tui.aids.moment import LOCAL, UTC, Moment, add_months, days_of
from mcp_studio.tui.aids.month import DAYS, MONTHS

_DAYS, _MONTHS = (tuple(map(str.casefold, names)) for names in (DAYS, MONTHS))
_SHORTEST = 3
_LONGEST = 100
_UNIT = "|".join(sorted(UNIT_OF, key=len, reverse=True))
_COUNT = r"(?:\d{1,7}\s?|(?<![a-z])an?\s)"
_COUNTED = re.compile(rf"({_COUNT})({_UNIT})(?![a-z])")
_SECONDS = {"H": 3600, "MIN": 60, "S": 1}


class NotUnderstood(ValueError):
    """The words mean nothing here; the message is a sentence."""


@record()
class _Meaning:
    """What the words have said so far."""

    now: datetime
    dates_only: bool
    day: date | None = None
    clock: time | None = None
    zone: str = ""
    from_now: bool = False
    days: int = 0
    months: int = 0
    seconds: int = 0


def understand(text: str, current: Moment, now: datetime, *, dates_only: bool = False) -> Moment:
    """What is meant by words, seen from the moment that is chosen now.

    A day alone keeps the time of day, a time alone keeps the day; steps such as `+3d` count from now, or from the day
    that is named with them.

    Args:
        now: in local time, without a zone.
        dates_only: `m` is a month, for there are no minutes.

    Raises:
        NotUnderstood: naming what was not understood, or that there is no such day.
    """
    rest = " ".join(text[:_LONGEST].casefold().replace(",", " ").split())
    if not rest:
        raise NotUnderstood("nothing is typed")
    meaning = _Meaning(now, dates_only)
    while rest:
        for pattern, take in _PATTERNS:
            if found := pattern.match(rest):
                try:
                    take(meaning, found)
                except (ValueError, OverflowError):
                    raise NotUnderstood(f"there is no {found[0].strip()}") from None
                rest = rest[found.end() :].lstrip()
                break
        else:
            raise NotUnderstood(f"“{rest.split()[0]}” is not understood")
    return _moment(meaning, current)


def _moment(meaning: _Meaning, current: Moment) -> Moment:
    base = current
    if meaning.from_now and meaning.day is None:
        base = Moment(meaning.now.replace(microsecond=0)).in_zone(current.zone)
    elif meaning.zone == LOCAL or (meaning.zone and meaning.clock is None):
        base = current.in_zone(meaning.zone)
    at = datetime.combine(meaning.day or base.at.date(), base.at.time() if meaning.clock is None else meaning.clock)
    zone = meaning.zone or base.zone
    try:
        if not 12 <= at.year * 12 + at.month - 1 + meaning.months < 120_000:
            raise OverflowError
        at = add_months(at, meaning.months) + timedelta(days=meaning.days, seconds=meaning.seconds)
    except OverflowError:
        raise NotUnderstood("that is beyond the years that can be written") from None
    moment = replace(base, at=at, zone=zone)
    if meaning.from_now and meaning.day is None and meaning.zone and meaning.clock is None:
        return replace(base, at=at, zone=base.zone).in_zone(meaning.zone)
    return moment


# What each pattern means


def _today(meaning: _Meaning, found: re.Match[str]) -> None:
    by = {"today": 0, "tomorrow": 1, "yesterday": -1, "tonight": 0}[found[1]]
    meaning.day = meaning.now.date() + timedelta(days=by)
    if found[1] == "tonight":
        meaning.clock = time(20)


def _now(meaning: _Meaning, found: re.Match[str]) -> None:
    meaning.from_now = True


def _step(meaning: _Meaning, found: re.Match[str]) -> None:
    """`+3d`, `in 2 hours`, `3 days ago`, and more of them in a row."""
    back = found["sign"] == "-" or bool(found["ago"])
    meaning.from_now = True
    for number, word in _COUNTED.findall(found[0]):
        unit = UNIT_OF[word]
        if word == "m" and meaning.dates_only:
            unit = "M"
        count = (1 if number[0] == "a" else int(number)) * (-1 if back else 1)
        if unit in _SECONDS:
            meaning.seconds += count * _SECONDS[unit]
        elif unit in "WD":
            meaning.days += count * (7 if unit == "W" else 1)
        else:
            meaning.months += count * (12 if unit == "Y" else 1)


def _next(meaning: _Meaning, found: re.Match[str]) -> None:
    """`next week`, `last month`."""
    by = -1 if found[1] in ("last", "previous") else 1
    today = meaning.now
    if found[2] in ("day", "week"):
        meaning.day = (today + timedelta(days=by * (7 if found[2] == "week" else 1))).date()
    else:
        meaning.day = add_months(today, by * (12 if found[2] == "year" else 1)).date()


def _weekday(meaning: _Meaning, found: re.Match[str]) -> None:
    """The first such day after today; with `last` before it, with `this` in this week."""
    wanted = _named(found[2], _DAYS)
    today = meaning.now.date()
    ahead = wanted - today.weekday()
    if found[1] in ("last", "previous"):
        ahead = ahead - 7 if ahead >= 0 else ahead
    elif found[1] != "this":
        ahead = ahead + 7 if ahead <= 0 else ahead
    meaning.day = today + timedelta(days=ahead)


def _edge(meaning: _Meaning, found: re.Match[str]) -> None:
    """`end of month`, `start of next year`."""
    today = meaning.now
    by = {"next": 1, "last": -1}.get(found[2] or "", 0)
    first, last = found[1] != "end", found[1] == "end"
    if found[3] == "week":
        monday = today.date() - timedelta(days=today.weekday()) + timedelta(days=7 * by)
        meaning.day = monday + timedelta(days=6 * last)
        return
    there = add_months(today, by * (12 if found[3] == "year" else 1)).date()
    month = there.month if found[3] == "month" else 1 if first else 12
    meaning.day = date(there.year, month, 1 if first else days_of(there.year, month))


def _iso_day(meaning: _Meaning, found: re.Match[str]) -> None:
    meaning.day = date(int(found[1]), int(found[2]), int(found[3] or 1))


def _dotted(meaning: _Meaning, found: re.Match[str]) -> None:
    meaning.day = date(int(found[3] or meaning.now.year), int(found[2]), int(found[1]))


def _spelled(meaning: _Meaning, found: re.Match[str]) -> None:
    """`21 nov 2026`, `nov 21`."""
    parts = found.groupdict()
    day, month = parts["day"] or parts["day2"], parts["month"] or parts["month2"]
    meaning.day = date(int(parts["year"] or meaning.now.year), _named(month, _MONTHS) + 1, int(day))


def _stamp(meaning: _Meaning, found: re.Match[str]) -> None:
    """`@1700000000`: seconds since 1970."""
    there = datetime(1970, 1, 1) + timedelta(seconds=int(found[1]))
    meaning.day, meaning.clock, meaning.zone = there.date(), there.time(), UTC


def _clock(meaning: _Meaning, found: re.Match[str]) -> None:
    fraction = int((found[4] or "0")[:6].ljust(6, "0"))
    meaning.clock = time(_hour(int(found[1]), found[5]), int(found[2]), int(found[3] or 0), fraction)


def _hours(meaning: _Meaning, found: re.Match[str]) -> None:
    meaning.clock = time(_hour(int(found[1]), found[2]))


def _hour(hour: int, half: str | None) -> int:
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if half[0] == "p" else 0)


def _named_clock(meaning: _Meaning, found: re.Match[str]) -> None:
    meaning.clock = time(12 if found[1] == "noon" else 0)


def _zone(meaning: _Meaning, found: re.Match[str]) -> None:
    if found[1]:
        meaning.zone = LOCAL if found[1] == "local" else UTC
        return
    if int(found[3]) > 23 or int(found[4] or 0) > 59:
        raise ValueError(found[0])
    meaning.zone = f"{found[2]}{found[3]}:{found[4] or '00'}"


def _named(word: str, names: tuple[str, ...]) -> int:
    for index, name in enumerate(names):
        if name.startswith(word):
            return index
    if word == "sept":
        return 8
    raise ValueError(word)


def _names(names: tuple[str, ...]) -> str:
    """A pattern for each name, cut after its third letter or later."""
    return "|".join("|".join(name[:end] for end in range(len(name), _SHORTEST - 1, -1)) for name in names)


_DAY_NAME, _MONTH_NAME = _names(_DAYS), _names(_MONTHS)
_END = r"(?![a-z0-9])"
_PATTERNS = [
    (re.compile(pattern), take)
    for pattern, take in (
        (rf"(today|tomorrow|yesterday|tonight){_END}", _today),
        (rf"now{_END}", _now),
        (rf"@(\d{{1,11}}){_END}", _stamp),
        (r"(\d{4})-(\d\d)(?:-(\d\d))?(?:t(?=\d)|(?!\d))", _iso_day),
        (r"(\d{1,2})\.(\d{1,2})\.(\d{4})?(?!\d)", _dotted),
        (r"(?:at )?(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)? ?(am|pm)?(?![\d:])", _clock),
        (rf"(?:at )?(\d{{1,2}}) ?(am|pm){_END}", _hours),
        (rf"(?:at )?(noon|midnight){_END}", _named_clock),
        (rf"(z|utc|gmt|local){_END}|([+-])(\d\d):?(\d\d)?(?![a-z0-9])", _zone),
        (
            rf"(?P<sign>[+-]|in )?\s?(?:{_COUNT}(?:{_UNIT})(?![a-z])(?: and)?\s?)+(?P<ago>ago{_END})?",
            _step,
        ),
        (rf"(next|last|previous) (day|week|month|year){_END}", _next),
        (rf"(?:(next|last|previous|this|on) )?({_DAY_NAME}){_END}", _weekday),
        (rf"(start|begin|end) of (?:(?:the|this|(next|last)) )?(week|month|year){_END}", _edge),
        (
            rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?(?P<month>{_MONTH_NAME}|sept)\.?"
            rf"|(?P<month2>{_MONTH_NAME}|sept)\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?)(?: (?P<year>\d{{4}}))?(?![\d:])",
            _spelled,
        ),
    )
]
