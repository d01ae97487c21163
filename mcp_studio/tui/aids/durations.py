"""Durations as people say them, and as ISO 8601 has them (RFC 3339, appendix A)."""

from __future__ import annotations

import re

_ISO = re.compile(
    r"P(?=[\dT])(?:(\d+)W|(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,]\d+)?S)?)?)"
)
_PART = re.compile(r"(\d{1,9}|an?(?= ))\s*([a-z]+)[\s,]*(?:and\s+)?")
_CLOCK = re.compile(r"(\d{1,9}):([0-5]\d)(?::([0-5]\d))?")
UNITS = {
    "Y": ("y", "year", "years", "yr", "yrs"), "M": ("mo", "month", "months", "mon"),
    "W": ("w", "week", "weeks", "wk", "wks"), "D": ("d", "day", "days"),
    "H": ("h", "hour", "hours", "hr", "hrs"), "MIN": ("m", "min", "mins", "minute", "minutes"),
    "S": ("s", "sec", "secs", "second", "seconds"),
}  # fmt: skip
UNIT_OF = {word: unit for unit, words in UNITS.items() for word in words}
"""The unit that a word names: `MIN` for minutes, `M` for months, the others as ISO 8601 has them."""
_WORDS = ("year", "month", "week", "day", "hour", "minute", "second")


def duration(text: str) -> str:
    """The ISO 8601 text of a duration: `90m`, `1h 30m`, `2 days`, `1:30`, `P1DT2H`; empty when it is none."""
    bare = text.strip()
    if len(bare) > 200:
        return ""
    if _ISO.fullmatch(bare.upper()):
        return bare.upper()
    if clock := _CLOCK.fullmatch(bare):
        return _iso({"H": clock[1], "MIN": clock[2], "S": clock[3] or "0"})
    return _spoken(re.sub(r"(?<=\d)h ?(\d{1,2})\Z", r"h \1m", bare.casefold()))


def _spoken(text: str) -> str:
    found: dict[str, str] = {}
    at = 0
    while at < len(text) and (part := _PART.match(text, at)):
        unit = UNIT_OF.get(part[2])
        if unit is None or unit in found:
            return ""
        found[unit] = "1" if part[1] in ("a", "an") else part[1]
        at = part.end()
    return _iso(found) if found and at == len(text) else ""


def _iso(found: dict[str, str]) -> str:
    numbers = {unit: int(number) for unit, number in found.items()}
    if set(numbers) == {"W"}:
        return f"P{numbers['W']}W"
    # Weeks stand alone in the grammar.
    numbers["D"] = numbers.get("D", 0) + 7 * numbers.pop("W", 0)
    days = _run([(numbers.get(unit, 0), unit) for unit in "YMD"])
    clock = _run([(numbers.get(unit, 0), unit[:1]) for unit in ("H", "MIN", "S")])
    return f"P{days}T{clock}" if clock else f"P{days}" if days else "PT0S"


def _run(parts: list[tuple[int, str]]) -> str:
    """From the first part to the last that is not zero: the grammar has no gaps (`PT1H0M3S`)."""
    while parts and not parts[0][0]:
        parts = parts[1:]
    while parts and not parts[-1][0]:
        parts = parts[:-1]
    return "".join(f"{number}{letter}" for number, letter in parts)


def said(iso: str) -> str:
    """A duration in words: `1 day, 2 hours`; empty when it is none."""
    parts = _ISO.fullmatch(iso.strip().upper())
    if parts is None:
        return ""
    weeks, years, months, *rest = parts.groups()
    numbers = (years, months, weeks, *rest)
    words = [(int(n), word) for n, word in zip(numbers, _WORDS, strict=True) if n]
    told = [pair for pair in words if pair[0]] or words[-1:]
    return ", ".join(f"{number:,} {word}{'' if number == 1 else 's'}" for number, word in told)
