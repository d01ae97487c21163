"""For how long results may be kept, and what becomes of hints that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.protocol.versions import LONGEST, Hint, hint_of, narrowest


def test_a_hint_is_read_in_seconds() -> None:
    assert hint_of({"ttlMs": 1500, "cacheScope": "public"}) == Hint(1.5, "public")
    assert hint_of({"ttlMs": 60_000.0, "cacheScope": "private"}) == Hint(60, "private")


def test_a_server_that_says_nothing_gives_no_hint() -> None:
    assert hint_of({"tools": []}) is None
    assert hint_of("text") is None


@pytest.mark.parametrize(
    ("ttl", "seconds", "word"),
    [(-1, 0, "negative"), (1.5, 0, "integer"), ("9", 0, "integer"), (True, 0, "integer"), (10**12, LONGEST, "day")],
)
def test_a_lifetime_that_makes_no_sense_is_bounded_and_told(ttl: Any, seconds: float, word: str) -> None:
    hint = hint_of({"ttlMs": ttl, "cacheScope": "public"})
    assert hint is not None and hint.ttl == seconds and word in hint.problem


def test_an_unknown_scope_is_private_and_a_missing_lifetime_is_none_at_all() -> None:
    hint = hint_of({"cacheScope": "everybody"})
    assert hint is not None and (hint.ttl, hint.scope) == (0, "private")
    assert "cacheScope" in hint.problem and "missing" in hint.problem


def test_pages_together_are_as_fresh_as_the_one_that_ends_first() -> None:
    assert narrowest([Hint(60, "public"), Hint(5, "public")]) == Hint(5, "public")
    assert narrowest([Hint(60, "public"), Hint(90, "private")]) == Hint(60, "private")
    assert narrowest([Hint(60, "public"), None]) == Hint(0, "public")
    assert narrowest([None, None]) is None
    assert narrowest([]) is None
