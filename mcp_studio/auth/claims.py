"""What stands in a token that is a JWT (RFC 7519), for people to read. Nobody checks its signature here."""

from __future__ import annotations

import base64
import binascii
import time
from typing import NamedTuple

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping

LONGEST = 65_536
"""Characters of a token that is looked into."""
_TIMES = {"exp": "expires", "iat": "issued", "nbf": "valid from", "auth_time": "signed in"}


class Moment(NamedTuple):
    """One claim that is a time."""

    claim: str
    what: str
    when: float
    """Epoch seconds."""
    words: str
    """`2026-11-22 05:00:00 UTC, in 59 minutes`."""


def payload(token: str) -> dict[str, Json]:
    """The claims of a JWT as they stand there, unchecked; empty where the token is none. Never raises."""
    parts = token.split(".", 3) if len(token) <= LONGEST else []
    if len(parts) != 3:
        return {}
    text = parts[1]
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return mapping(loads(data, most=32, values=2_000))
    except (binascii.Error, ValueError, JsonProblem, LimitExceeded):
        return {}


def moments(claims: dict[str, Json], now: float | None = None) -> tuple[Moment, ...]:
    """The claims that are times, in words."""
    found: list[Moment] = []
    for claim, what in _TIMES.items():
        value = claims.get(claim)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e11:
            found.append(Moment(claim, what, float(value), when(float(value), now)))
    return tuple(found)


def when(moment: float, now: float | None = None) -> str:
    """A time in words: `2026-11-22 05:00:00 UTC, in 59 minutes`."""
    gap = moment - (time.time() if now is None else now)
    stamp = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))
    return f"{stamp}, {'in ' if gap >= 0 else ''}{span(abs(gap))}{'' if gap >= 0 else ' ago'}"


def span(seconds: float) -> str:
    """A length of time in its largest unit: `59 minutes`."""
    for size, name in ((86_400 * 365, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size or (name == "minute" and seconds >= size):
            count = int(seconds // size)
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    count = int(seconds)
    return f"{count} second{'' if count == 1 else 's'}"
