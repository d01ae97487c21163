"""Frontmatter is read as YAML says, refused where it is dangerous, and compared field by field."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.catalog.skills import differences, parse

J = {"i": "j"}


def read(text: str) -> Any:
    return parse(f"---\n{text}\n---\nbody\n")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a: b # no\n# c\nd: e#f", {"a": "b", "d": "e#f"}),
        ("url: http://x.y/z#frag\ntime: 12:30:00", {"url": "http://x.y/z#frag", "time": "12:30:00"}),
        ("a: over\n  two lines\n\n  and a gap", {"a": "over two lines\nand a gap"}),
        ('a: "\\u00e9\\t\\"x\\"" # no\nb: \'it\'\'s\'', {"a": 'é\t"x"', "b": "it's"}),
        ('a: "over\n  lines \\\n  joined\n\n  gap"', {"a": "over lines joined\ngap"}),
        ("a: |\n  x\n    y\n\n  z\n\nb: c", {"a": "x\n  y\n\nz\n", "b": "c"}),
        ("a: |-\n  x\n\nb: |+\n  y\n\nc: d", {"a": "x", "b": "y\n\n", "c": "d"}),
        ("a: >-\n  x\n  y\n\n  z\n    deep\n  w", {"a": "x y\nz\n  deep\nw"}),
        ("a: |2\n   x\n  y", {"a": " x\ny\n"}),
        ("a:\n- b\n- c: d\n  e: f\n- - g\n  - h\n-\n  i: j", {"a": ["b", {"c": "d", "e": "f"}, ["g", "h"], J]}),
        ("a:\n    b:\n        c: d\n    e: f", {"a": {"b": {"c": "d"}, "e": "f"}}),
        ("a: [Read, \"Bash(git:*)\", {d: [e]},\n  f, # no\n  ]", {"a": ["Read", "Bash(git:*)", {"d": ["e"]}, "f"]}),
        ("a: {}\nb: []\nc:\n'd e': x", {"a": {}, "b": [], "c": "", "d e": "x"}),
        ("a: 1.10\nb: yes\nc: ~", {"a": "1.10", "b": "yes", "c": "~"}),
        ("", {}),
    ],
)  # fmt: skip
def test_what_people_write_is_read(text: str, meant: Any) -> None:
    assert read(text) == meant


def test_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    assert parse("\ufeff---\r\na: b\r\nc: |\r\n  d\r\n---\r\nbody") == {"a": "b", "c": "d\n"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &x b\nc: *x", "anchor"),
        ("a: *x", "alias"),
        ("a: !!python/object:os.system x", "tag"),
        ("? {a: c}\n: b", "unhashable key"),
        ("a: b\n\tc: d", "line 3"),
        ('a: "b', "line 3"),
        ("a: [b, c", "line 3"),
        ("a: [b] c", "line 2"),
        ('a: "b" c', "line 2"),
        ('a: "\\q"', "line 2"),
        ('a: "\\U00110000"', "line 2"),
        ("- a", "no mapping"),
        ("a:\n  b: c\n d: e", "line 4"),
        ("\n".join(" " * level + "a:" for level in range(40)), "deeper than 20"),
        ("a: " + "[" * 40 + "]" * 40, "deeper than 20"),
    ],
)
def test_what_is_ambiguous_or_dangerous_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(match=why):
        read(text)


@pytest.mark.parametrize("text", ["", "name: x", "--- \nname: x", "---\nname: x\n--", "x\n---\na: b\n---\n"])
def test_a_file_without_frontmatter_has_none(text: str) -> None:
    with pytest.raises(match="does not begin with frontmatter"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 60_000, "a" + " " * 60_000 + "b", "a:" * 30_000, "a:\n" + "- " * 30_000, 'a: "' + "\\" * 60_000,
        "a: [\n" + "x,\n" * 20_000 + "]", "\n".join(f'k{n}: "x\n y"' for n in range(4_000)),
        "a: >\n" + " x\n\n" * 15_000, "a:\n" + "- b: c\n" * 8_000, "x: y\n" * 1_000_000,
    ],
    ids=str.__len__,
)  # fmt: skip
def test_hostile_frontmatter_costs_little(text: str) -> None:
    began = time.process_time()
    try:
        read(text)
    except ValueError as problem:
        assert len(str(problem)) < 200
    assert time.process_time() - began < 2


@given(st.text(alphabet=" \n-:#ab'\"[]{},|>\\&*!?~\t", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert isinstance(read(text), dict)
    except ValueError:
        pass


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), max_size=30),
    )
)
def test_quoted_texts_come_back(values: dict[str, str]) -> None:
    def quote(text: str) -> str:
        return (
            '"'
            + "".join(f"\\U{ord(char):08x}" if char in '\\"' or not char.isprintable() else char for char in text)
            + '"'
        )

    assert read("\n".join(f"{name}: {quote(value)}" for name, value in values.items())) == values


@pytest.mark.parametrize(
    ("written", "listed", "same"),
    [
        ("a: b", {"a": "b"}, True),
        ("a: 1.10", {"a": "1.10"}, True),
        ("a: 1.10", {"a": 1.1}, True),
        ("a: 0x10", {"a": 16}, True),
        ("a: yes", {"a": True}, True),
        ("a: yes", {"a": "yes"}, True),
        ("a: true", {"a": False}, False),
        ("a: true", {"a": 1}, False),
        ("a:", {"a": None}, True),
        ("a: ~", {"a": None}, True),
        ("a: 1e400", {"a": 0}, False),
        ("a: [x, y]", {"a": ["x", "y"]}, True),
        ("a: [x, y]", {"a": ["y", "x"]}, False),
        ("a: [x]", {"a": ["x", "y"]}, False),
        ("a: {b: c}", {"a": {"b": "c", "d": "e"}}, False),
        ("a: b\nhooks: evil", {"a": "b"}, False),
        ("a: b", {"a": ["b"]}, False),
    ],
)
def test_fields_are_compared_by_what_they_mean(written: str, listed: Any, same: bool) -> None:
    assert (differences(read(written), listed) == []) is same


def test_differences_name_the_field() -> None:
    assert differences({"a": {"b": "c"}}, {"a": {"b": "d"}}) == ["a.b differs: 'c' in the file, 'd' listed"]
    assert differences({"a": []}, {}) == ["a is in the file, but not in the entry"]
