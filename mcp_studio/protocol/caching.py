"""How long a result may be kept: `ttlMs` and `cacheScope` (specification 2026-07-28, server/utilities/caching)."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.jsontext import Json, mapping

LONGEST = 24 * 3600.0
"""Seconds; a result is kept no longer, whatever the server says."""


class Hint(NamedTuple):
    """What a server says about keeping a result."""

    ttl: float
    """Seconds for which it is fresh; 0 is stale at once."""
    scope: str
    """`public` or `private`: whether it may be given to others; anything else reads as `private`."""
    problem: str = ""
    """What is wrong with the hint, and how it is taken."""


class Cached(NamedTuple):
    """A result was answered without asking the server."""

    age: float
    """Seconds since it was read."""
    hint: Hint


def hint_of(result: Json) -> Hint | None:
    """The hint of a result; None where the server says nothing.

    A lifetime that is negative or no integer counts as 0, and one above a day as a day; an unknown scope as private.
    """
    known = mapping(result)
    if "ttlMs" not in known and "cacheScope" not in known:
        return None
    ttl, first = _ttl(known)
    scope, problems = known.get("cacheScope"), [first]
    if scope not in ("public", "private"):
        problems.append("cacheScope is neither public nor private and is taken as private")
        scope = "private"
    return Hint(ttl, str(scope), "; ".join(filter(None, problems)))


def narrowest(hints: list[Hint | None]) -> Hint | None:
    """The hint of a list that came in pages: as fresh as its page that ends first, private if one of them is."""
    said = [hint for hint in hints if hint is not None]
    if not said:
        return None
    ttl = 0.0 if len(said) < len(hints) else min(hint.ttl for hint in said)
    scope = "private" if any(hint.scope == "private" for hint in said) else "public"
    return Hint(ttl, scope, "; ".join(dict.fromkeys(hint.problem for hint in said if hint.problem)))


def _ttl(known: dict[str, Json]) -> tuple[float, str]:
    value = known.get("ttlMs")
    if "ttlMs" not in known:
        return 0.0, "ttlMs is missing and is taken as 0"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or value % 1:
        return 0.0, "ttlMs is not an integer and is taken as 0"
    if value < 0:
        return 0.0, "ttlMs is negative and is taken as 0"
    if value > LONGEST * 1000:
        return LONGEST, "ttlMs is longer than a day and is taken as a day"
    return value / 1000, ""
