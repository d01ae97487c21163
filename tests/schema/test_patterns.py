"""Patterns of JSON Schema mean in Python what they mean in ECMA-262."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.schema.patterns import to_python


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("[$]", "$", True),
        (r"\$", "$", True),
        (r"[\]$]", "$", True),
        ("[[]", "[", True),
        (r"^(?<year>\d{4})-\k<year>$", "2027-2027", True),
        (r"^(?<!a)b", "b", True),
        (r"^a\/b$", "a/b", True),
        (r"^\u{1F600}$", "😀", True),
        (r"^\u0041$", "A", True),
        (r"^\cA$", "\x01", True),
        ("(?i)^abc$", "ABC", True),
        ("^x{e}$", "x{e}", True),
        ("^a{,2}$", "a{,2}", True),
        ("^a{2,}$", "aaa", True),
        ("^[{]{2}$", "{{", True),
    ],
)
def test_a_pattern_finds_what_it_finds_in_javascript(pattern: str, text: str, found: bool) -> None:
    for dialect in (re, regex):
        assert (dialect.search(to_python(pattern), text) is not None) is found


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\p{L}+$", "éÀ", True), (r"^[\p{L}\d]+$", "é3", True),
        (r"^\p{Script=Greek}\w$", "αa", True),
    ],
)  # fmt: skip
def test_properties_of_characters_are_those_of_all_characters(pattern: str, text: str, found: bool) -> None:
    assert (regex.search(to_python(pattern), text) is not None) is found


@given(st.text(max_size=30))
def test_any_text_is_translated(pattern: str) -> None:
    to_python(pattern)
