"""Durations, sizes and moments as a person writes them."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta

_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-zµ]*)")
MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1_000.0, "sec": 1_000.0, "m": 60_000.0, "min": 60_000.0,
      "h": 3_600_000.0, "d": 86_400_000.0}  # fmt: skip
"""Unit of a duration -> its milliseconds."""
BYTES = {"b": 1.0, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2,
         "gib": 1024.0**3}  # fmt: skip
"""Unit of a size -> its bytes."""
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T_](.*))?")


def amount(text: str, units: dict[str, float], bare: str = "") -> float | None:
    """A number with a unit, in the smallest of these; None for anything else.

    Args:
        bare: the unit of a number without one; empty where it needs one.
    """
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > 30:
        return None
    factor = units.get(found[2].lower() or bare)
    return None if factor is None else float(found[1]) * factor


def moment(text: str, now: float) -> float | None:
    """`10m`, `12:01`, `12:01:30`, `2026-11-20`, `2026-11-20T12:01` as seconds since the epoch; None for anything else.

    A duration counts back from `now`; a time of day is the last such time before `now`.
    """
    ago = amount(text, MS)
    if ago is not None:
        return now - ago / 1000
    try:
        return _written(text, now)
    except (ValueError, OverflowError, OSError):
        return None


def _written(text: str, now: float) -> float | None:
    day = _DAY.fullmatch(text)
    clock = _CLOCK.fullmatch((day[4] or "0:00") if day else text)
    if clock is None:
        return None
    seconds = float(clock[3] or 0)
    at = int(clock[1]), int(clock[2]), int(seconds), int(seconds % 1 * 1_000_000)
    if day:
        return datetime(int(day[1]), int(day[2]), int(day[3]), *at).timestamp()
    today = time.localtime(now)
    found = datetime(today.tm_year, today.tm_mon, today.tm_mday, *at)
    return (found if found.timestamp() <= now else found - timedelta(days=1)).timestamp()
