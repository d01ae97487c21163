"""Patterns of JSON Schema mean in Python what they mean in ECMA-262."""

from __future__ import annotations

import re
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.schema.ecma import to_python, translate


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("[$]", "$", True),
        (r"\$", "$", True),
        (r"[\]$]", "$", True),
        ("[[]", "[", True),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
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
        (r"^\p{L}+$", "éÀ", True), (r"^[\p{L}\d]+$", "é3", True), (r"^[\p{L}\d]+$", "é٣", False),
        (r"^\P{L}\d$", "-٣", False), (r"^\p{Script=Greek}\w$", "αa", True), (r"^\p{L}\w$", "aé", False),
    ],
)  # fmt: skip
def test_properties_of_characters_are_those_of_all_characters(pattern: str, text: str, found: bool) -> None:
    assert (regex.search(to_python(pattern), text) is not None) is found


def test_patterns_are_translated_where_they_are_patterns() -> None:
    schema: dict[str, Any] = {
        "pattern": "a$",
        "properties": {
            "pattern": {"pattern": "b$"},
            "default": {"pattern": "c$"},
            "enum": {"enum": [{"pattern": "d$"}]},
        },
        "patternProperties": {"e$": {"pattern": "f$"}},
        "const": {"pattern": "g$"},
        "items": [{"pattern": "h$"}],
    }
    translated, patterns = translate(schema)
    assert not patterns.lost
    assert patterns.written[r"(?a:b\Z)"] == "b$"
    assert translated == {
        "pattern": r"(?a:a\Z)",
        "properties": {
            "pattern": {"pattern": r"(?a:b\Z)"},
            "default": {"pattern": r"(?a:c\Z)"},
            "enum": {"enum": [{"pattern": "d$"}]},
        },
        "patternProperties": {r"(?a:e\Z)": {"pattern": r"(?a:f\Z)"}},
        "const": {"pattern": "g$"},
        "items": [{"pattern": r"(?a:h\Z)"}],
    }
    assert schema["pattern"] == "a$"


def test_patterns_that_python_cannot_say_are_left_out_and_told() -> None:
    translated, patterns = translate(
        {"pattern": r"^\p{Nonsense}+$", "patternProperties": {"(": {}, r"\p{L}": {}}, "additionalProperties": False}
    )
    assert set(patterns.lost) == {r"^\p{Nonsense}+$", "(", r"\p{L}"}
    assert translated == {"patternProperties": {}}


@given(st.text(max_size=30))
def test_any_text_is_translated_or_left_out(pattern: str) -> None:
    translate({"pattern": pattern})
