"""What a server says cannot act on a terminal, and nothing of it is hidden."""

from __future__ import annotations

import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.safetext import SafeText, is_live, safe

LIVE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
NASTY = st.text(
    st.sampled_from("ab é漢⚠\n\r\t\x00\x1b\x7f\x9b\u0301\u200b\u202e\ufe0f\ud800\U000e0041\U000e0101"), max_size=60
)


@given(st.one_of(ANY_TEXT, NASTY))
def test_no_live_character_comes_out(text: str) -> None:
    assert not any(map(is_live, safe(text)))
    assert not any(is_live(char) for char in safe(text, lines=True) if char != "\n")


@given(st.one_of(ANY_TEXT, NASTY), st.booleans())
def test_doing_it_twice_changes_nothing(text: str, lines: bool) -> None:
    once = safe(text, lines=lines)
    assert safe(once, lines=lines) == once
    assert safe(str(once), limit=100_000, lines=lines) == once


@given(st.text(st.characters(categories=("L", "N", "P", "S")), max_size=100))
def test_visible_text_stays_as_it_is(text: str) -> None:
    visible = "".join(char for char in text if not is_live(char))
    assert safe(visible) == visible


@given(st.one_of(ANY_TEXT, NASTY))
def test_it_can_always_be_written_to_a_terminal(text: str) -> None:
    assert safe(text).encode().decode() == safe(text)


def test_every_character_of_a_live_category_is_live() -> None:
    missed = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in LIVE_CATEGORIES and not is_live(chr(code))
    ]
    assert not missed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("\x9b2J", r"\x9b2J"),
        ("\x7f", "␡"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("a\u200bb", "a⟦U+200B⟧b"),
        ("\U000e0041", "⟦U+E0041⟧"),
        ("\ud800", "⟦U+D800⟧"),
        ("a\u3164b", "a⟦U+3164⟧b"),
        ("one\r\ntwo\nthree\tfour", "one⏎two⏎three four"),
        ("naïve 漢字 ⚠\ufe0f 1\ufe0f\u20e3", "naïve 漢字 ⚠\ufe0f 1\ufe0f\u20e3"),
        ("hidden\ufe01\ufe02 data", "hidden⟦U+FE01⟧⟦U+FE02⟧ data"),
        ("⚠\ufe0f\ufe01", "⚠\ufe0f⟦U+FE01⟧"),
        ("z" + "\u0300" * 45, "z" + "\u0300" * 8 + "⟦37 marks⟧"),
    ],
)
def test_what_is_live_becomes_a_mark(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_lines_are_kept_on_request_and_tabs_expanded() -> None:
    assert safe("a\r\nb\tc\rd", lines=True) == "a\nb   c␍d"


def test_long_text_is_cut_and_says_by_how_much() -> None:
    assert safe("x" * 1_000, 10) == "xxxxxxxxxx… 990 B more"
    assert safe("é" * 1_010, 10).endswith("é… 2 KB more")
    assert safe("x" * 20_000_000, 10).endswith("… 19.1 MB more")
    assert safe("short", 5) == "short"


def test_text_already_safe_is_cut_for_a_smaller_place_and_flattened_for_one_line() -> None:
    assert safe(safe("x" * 500), 100) == "x" * 100 + "… 400 B more"
    assert safe(safe("a\nb", lines=True)) == "a⏎b"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (True, "true"),
        (3, "3"),
        ({"a": ["\x1b", None]}, r'{"a": ["\u001b", null]}'),
        (b"\xff\x1bok", r"\xff␛ok"),
        (ValueError("bad \x1b"), "bad ␛"),
        pytest.param(10**5_000, "…", id="a number of absurd length"),
    ],
)
def test_a_value_of_the_wrong_type_is_shown_all_the_same(value: object, shown: str) -> None:
    assert safe(value) == shown


def test_deep_and_large_values_cost_no_more_than_what_is_shown() -> None:
    deep: object = "x"
    for _ in range(5_000):
        deep = [deep]
    assert len(safe(deep)) < 2_100
    assert len(safe(["word"] * 100_000)) < 2_100


def test_the_result_is_marked_as_safe() -> None:
    assert isinstance(safe("plain"), SafeText)
    assert isinstance(safe("\x1b"), SafeText)


@pytest.mark.parametrize("unit", ["plain text ", "é漢", "\x1b", "e\u0301", "\u0300", "漢\ufe00", "\u202e"])
def test_a_megabyte_is_quick(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    safe(text, 2_000_000)
    assert time.process_time() - start < 2
