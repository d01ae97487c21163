"""What is asked for is what the specification's order gives, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.auth import discovery

OFFERS = ("a", "offline_access")


@pytest.mark.parametrize(
    "challenge, supported, configured, offered, asked",
    [
        ("a b", ["c"], (), None, "a b"),
        ("", ["c", "d"], (), None, "c d"),
        ("", None, (), None, ""),
        ("", [], (), None, ""),
        ("", None, ("x",), None, "x"),
        ("a", ["c"], ("x", "a"), None, "a x"),
        # offline_access: only where the authorization server lists it, and beside something else.
        ("a", None, (), OFFERS, "a offline_access"),
        ("", ["a"], (), OFFERS, "a offline_access"),
        ("", None, (), OFFERS, ""),
        ("a", None, (), ["a"], "a"),
        ("a offline_access", None, (), ["a"], "a"),
        ("a offline_access", None, (), None, "a"),
        ("a offline_access", None, (), OFFERS, "a offline_access"),
        ("a", None, ("offline_access",), ["a"], "a offline_access"),
    ],
)
def test_scopes_are_selected(
    challenge: str,
    supported: Sequence[str] | None,
    configured: Sequence[str],
    offered: Sequence[str] | None,
    asked: str,
) -> None:
    assert " ".join(discovery.select(challenge, supported, configured=configured, offered=offered)) == asked


def test_offline_access_is_not_asked_for_where_nothing_can_be_renewed() -> None:
    assert discovery.select("a", None, offered=OFFERS, renewable=False) == ("a",)


def test_asking_for_more_keeps_what_there_was() -> None:
    assert discovery.union(("a", "b"), "c  b d") == ("a", "b", "c", "d")
    assert discovery.union((), ("x",)) == ("x",)
    assert discovery.missing(("a", "b"), ("b", "c")) == ("c",)


@pytest.mark.parametrize("word", ['a"b', "a\\b", "é", "a\nb", "\x7f", ""])
def test_what_can_be_no_scope_is_left_out(word: str) -> None:
    assert discovery.parse(["x", word, "y"]) == ("x", "y")


def test_there_is_an_end_to_scopes() -> None:
    assert len(discovery.parse(" ".join(f"s{n}" for n in range(10_000)))) == discovery.MOST_SCOPES
    assert len(" ".join(discovery.parse(["a" * 3000, "b" * 3000, "c"]))) <= discovery.LONGEST_SCOPES
    assert discovery.parse("x" * 1_000_000) == ()


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=10))
def test_any_text_gives_scopes_that_can_be_sent(text: str, more: list[str]) -> None:
    found = discovery.union(discovery.parse(text), more)
    assert discovery.parse(" ".join(found)) == found


def test_scopes_without_end_do_not_fill_a_sentence() -> None:
    assert discovery.brief(("a", "b")) == "a b"
    told = discovery.brief([f"scope{number}" for number in range(200)])
    assert len(told) < 350 and told.endswith("… (200 in all)")
