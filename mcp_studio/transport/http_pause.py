"""`Retry-After`: for how long a server wants to be left alone (RFC 9110 10.2.3)."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

_PASSING = frozenset({429, 503})
"""Statuses that say that nothing was done, and that it may be otherwise soon."""
_LONGEST = 400 * 86_400.0


class Said(Protocol):
    """The head of a response."""

    @property
    def status(self) -> int: ...

    def header(self, name: str) -> str: ...


def asked(answer: Said) -> float | None:
    """Seconds from now that a refusal asks to wait; None where it asks for nothing that can be understood.

    It comes as a number of seconds, or as a date, which is compared with the server's own clock where it tells that.
    """
    value = answer.header("retry-after").strip()
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return min(float(value[:12]), _LONGEST)
    until = _date(value)
    if until is None:
        return None
    now = _date(answer.header("date"))
    return min(max(until - (time.time() if now is None else now), 0.0), _LONGEST)


def pause_of(answer: Said, patience: float | None) -> float | None:
    """Seconds after which the same request may be sent once more; None where that is too long, or would not help."""
    wait = asked(answer) if answer.status in _PASSING and patience is not None else None
    return wait if wait is not None and patience is not None and wait <= patience else None


def in_words(seconds: float) -> str:
    """`7 seconds`; from a few minutes on with the time of day."""
    rounded = round(seconds)
    if rounded < 300:
        return f"{rounded} second{'' if rounded == 1 else 's'}"
    when = datetime.fromtimestamp(time.time() + seconds, UTC)
    return f"{rounded / 60:,.0f} minutes, until {when:%Y-%m-%d %H:%M} UTC"


def _date(value: str) -> float | None:
    try:
        found = parsedate_to_datetime(value) if value else None
        # Without a zone it is universal time (RFC 9110 5.6.7); Python would take it for ours.
        return found and (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
