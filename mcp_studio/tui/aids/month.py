"""One month as lines of a calendar, and how far a day is away."""

from __future__ import annotations

from datetime import date, datetime

from mcp_studio.tui.aids.moment import days_of

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HEAD = "Mo Tu We Th Fr Sa Su"
CELL = 3
"""Cells from one day to the next."""
WEEKS = 6


def title(day: date) -> str:
    """`November 2026`"""
    return f"{MONTHS[day.month - 1]} {day.year}"


def weeks(year: int, month: int) -> list[list[int]]:
    """The days of a month in six weeks that begin on Monday; 0 where a day is of another month."""
    before = date(year, month, 1).weekday()
    days = [0] * before + list(range(1, days_of(year, month) + 1))
    days += [0] * (7 * WEEKS - len(days))
    return [days[at : at + 7] for at in range(0, 7 * WEEKS, 7)]


def day_at(year: int, month: int, x: int, y: int) -> int:
    """The day at a cell and line of the weeks; 0 where there is none."""
    if not (0 <= y < WEEKS and 0 <= x < 7 * CELL):
        return 0
    return weeks(year, month)[y][x // CELL]


def told(day: date, today: date) -> str:
    """A day in words: `Saturday, in 3 days`."""
    away = (day - today).days
    near = {0: "today", 1: "tomorrow", -1: "yesterday"}
    count = abs(away)
    words = near.get(away) or (f"in {count:,} days" if away > 0 else f"{count:,} days ago")
    return f"{DAYS[day.weekday()]}, {words}"


def told_clock(at: datetime, now: datetime) -> str:
    """How far a moment of the next or last two days is away; empty beyond."""
    minutes = round((at - now).total_seconds() / 60)
    if not 0 < abs(minutes) < 48 * 60:
        return ""
    hours, rest = divmod(abs(minutes), 60)
    amount = " ".join(part for part in (f"{hours} h" if hours else "", f"{rest} min" if rest else "") if part)
    return f"in {amount}" if minutes > 0 else f"{amount} ago"
