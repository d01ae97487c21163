"""Dates and times of day as a calendar handles them, in and out of RFC 3339."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC as _UTC
from datetime import date, datetime, time, timedelta
from typing import Literal

from mcp_studio.record import record

Kind = Literal["date", "time", "date-time", "duration"]
KINDS: tuple[Kind, ...] = ("date-time", "date", "time", "duration")

LOCAL = "local"
UTC = "Z"
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,12}))?)? ?(Z|z|[+-]\d\d:?\d\d)?")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


@record(frozen=True)
class Moment:
    """A wall clock's date and time, and the zone that it is written in."""

    at: datetime
    """Without a zone of its own."""
    zone: str = LOCAL
    """`local`, `Z`, or an offset such as `+05:30`."""

    def written(self, kind: Kind) -> str:
        """The text of a format: a date, a time with its zone, or both (RFC 3339, 5.6)."""
        if kind == "date":
            return self.at.date().isoformat()
        at, offset = self.at, _offset(self)
        if offset.total_seconds() % 60:  # as clocks had it before there were zones: RFC 3339 has no seconds there
            at, offset = _shifted(at, -offset), timedelta()
        clock = at.time().isoformat("seconds") + (f".{at.microsecond:06d}".rstrip("0") if at.microsecond else "")
        clock += UTC if self.zone == UTC else offset_text(offset)
        return clock if kind == "time" else f"{at.date().isoformat()}T{clock}"

    def in_zone(self, zone: str) -> Moment:
        """The same instant, written in another zone."""
        instant = _shifted(self.at, -_offset(self))
        if zone == LOCAL:
            return replace(self, at=_shifted(instant, _local_offset(instant.replace(tzinfo=_UTC))), zone=zone)
        return replace(self, at=_shifted(instant, _fixed(zone)), zone=zone)

    def moved(self, days: int = 0, months: int = 0, seconds: int = 0) -> Moment:
        """Later, or earlier; the 31st becomes the last day of a month that has none. Stays at the ends of time."""
        return replace(self, at=_shifted(add_months(self.at, months), timedelta(days=days, seconds=seconds)))

    @property
    def zone_words(self) -> str:
        """The zone for people: `local, +02:00`."""
        if self.zone == UTC:
            return "Z (UTC)"
        return f"{LOCAL}, {offset_text(_offset(self))}" if self.zone == LOCAL else self.zone


def read(kind: Kind, text: str, now: datetime) -> Moment | None:
    """What a text of a format says; None when it says nothing, or nothing that exists. `now` is in local time."""
    text = text.strip()
    if not text:
        return None
    day = _DAY.match(text)
    rest = text[day.end() :] if day else text
    clock = None if kind == "date" else _CLOCK.fullmatch(rest[1:] if day and rest[:1] in "Tt " else rest)
    if (kind in ("date", "date-time") and not day) or (rest and not clock and kind != "date"):
        return None
    if kind == "date" and rest:
        return None
    try:
        at = date(*map(int, day.groups())) if day else now.date()
        return _moment(at, clock)
    except ValueError:
        return None


def _moment(day: date, clock: re.Match[str] | None) -> Moment:
    if clock is None:
        return Moment(datetime.combine(day, time()))
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
    fraction = int((clock[4] or "0")[:6].ljust(6, "0"))
    # A leap second is the end of its minute: clocks here have none.
    at = datetime.combine(day, time(hour, minute, min(second, 59), fraction))
    return Moment(at, _zone(clock[5]))


def _zone(text: str | None) -> str:
    if not text:
        return LOCAL
    if text in "Zz":
        return UTC
    zone = text if ":" in text else f"{text[:3]}:{text[3:]}"
    if int(zone[1:3]) > 23 or int(zone[4:]) > 59:
        raise ValueError(text)
    return zone


def start(now: datetime) -> Moment:
    """Where a calendar begins without a value: this minute."""
    return Moment(now.replace(second=0, microsecond=0, tzinfo=None))


def offset_text(offset: timedelta) -> str:
    """An offset from UTC as it is written: `+02:00`."""
    minutes = int(offset.total_seconds() // 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def add_months(at: datetime, months: int) -> datetime:
    """The same day of another month, or its last one."""
    if not months:
        return at
    number = at.year * 12 + at.month - 1 + months
    number = max(12, min(number, 9999 * 12 + 11))
    year, month = number // 12, number % 12 + 1
    return at.replace(year=year, month=month, day=min(at.day, days_of(year, month)))


def days_of(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _offset(moment: Moment) -> timedelta:
    return _local_offset(moment.at) if moment.zone == LOCAL else _fixed(moment.zone)


def _fixed(zone: str) -> timedelta:
    if zone == UTC:
        return timedelta()
    minutes = int(zone[1:3]) * 60 + int(zone[4:])
    return timedelta(minutes=-minutes if zone[0] == "-" else minutes)


def _local_offset(at: datetime) -> timedelta:
    try:
        return at.astimezone().utcoffset() or timedelta()
    except (OverflowError, ValueError, OSError):
        return timedelta()  # near the ends of time


def _shifted(at: datetime, by: timedelta) -> datetime:
    try:
        return at + by
    except OverflowError:
        return at
