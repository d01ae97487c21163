"""Which keys an object with free keys takes: `patternProperties`, `propertyNames`. A pattern has next to no time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache

from mcp_studio.jsontext import Json
from mcp_studio.patterns import Pattern, PatternError, TooSlow
from mcp_studio.schema import wording
from mcp_studio.schema.ecma import to_python

_LONGEST = 200
"""Characters of a key, or of a pattern, that is looked at."""
_WITHIN = 0.005
"""Seconds for one key; a pattern that needs more is tried no more, for a person is typing."""

Match = Callable[[str], bool | None]
"""Whether a key fits; None: not known here, the check of the whole schema will say."""


@lru_cache(1_000)
def matcher(pattern: str) -> Match:
    """Whether a pattern is found in a key, in a time that is next to nothing."""
    compiled: Pattern | None = None
    usable = len(pattern) <= _LONGEST

    def found(key: str) -> bool | None:
        nonlocal compiled, usable
        if not usable or len(key) > _LONGEST:
            return None
        try:
            compiled = compiled or Pattern(to_python(pattern))
            return compiled.find(key, time.thread_time() + _WITHIN) is not None
        except (PatternError, TooSlow):
            usable = False
            return None

    return found


def key_rule(names: Json, patterns: list[tuple[str, Match]], closed: bool) -> Callable[[str], str]:
    """Why a key is not allowed, as a sentence; empty when it is, or when that is not known here.

    The words are those of the check of the whole schema, so that nothing is told twice.

    Args:
        names: the schema of `propertyNames`, made flat.
        patterns: those of `patternProperties`.
        closed: keys that no pattern fits are not allowed.
    """
    named = names if isinstance(names, dict) else {}
    pattern = named.get("pattern")
    wanted = matcher(pattern) if isinstance(pattern, str) else None
    listed = named.get("enum")

    def wrong(key: str) -> str:
        if wanted and wanted(key) is False:
            return f"must match the pattern {pattern}, got {wording.got(key)}"
        if isinstance(listed, list) and key not in listed:
            return wording.not_among(listed, key)
        low, high = named.get("minLength"), named.get("maxLength")
        if isinstance(low, int) and len(key) < low:
            return wording.limit("minLength", low, key)
        if isinstance(high, int) and len(key) > high:
            return wording.limit("maxLength", high, key)
        return wording.NOT_ALLOWED if closed and all(fits(key) is False for _, fits in patterns) else ""

    return wrong
