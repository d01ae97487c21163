"""The filter behind lists."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mcp_studio.tui.views.matcher import Matcher, words_of

TOOLS = [
    ("read_file", "Read a text file from disk"),
    ("write_file", "Write a text file"),
    ("list_directory", "List the files of a folder"),
    ("file_info", "Size and dates"),
    ("Straße", "German street"),
]


def found(query: str) -> list[str]:
    return [TOOLS[place][0] for place in Matcher(TOOLS).find(query)]


def test_all_words_must_occur_anywhere() -> None:
    assert found("text disk") == ["read_file"]
    assert found("disk nowhere") == []
    assert found("  ") == [name for name, _ in TOOLS]


def test_names_that_begin_with_it_come_first_then_names_then_descriptions() -> None:
    assert found("file") == ["file_info", "read_file", "write_file", "list_directory"]
    assert found("file list") == ["list_directory"]
    assert found("text file") == ["read_file", "write_file"]


def test_case_does_not_matter_in_any_language() -> None:
    assert found("READ") == ["read_file"]
    assert found("STRASSE") == ["Straße"]
    assert words_of("  Read  FILE ") == ("read", "file")


def test_a_shorter_query_after_a_longer_one_finds_all_again() -> None:
    matcher = Matcher(TOOLS)
    assert len(matcher.find("read_")) == 1
    assert len(matcher.find("r")) == 4
    assert len(matcher.find("")) == len(TOOLS)
    assert len(matcher.find("x")) == 2


@given(st.lists(st.tuples(st.text("abc d", max_size=6), st.text("abc d", max_size=6))), st.text("abc ", max_size=6))
def test_typing_a_query_finds_what_asking_for_it_at_once_finds(entries: list[tuple[str, str]], query: str) -> None:
    typed = Matcher(entries)
    for end in range(len(query) + 1):
        hits = list(typed.find(query[:end]))
    assert hits == list(Matcher(entries).find(query))
    words = words_of(query)
    expected = {i for i, (name, text) in enumerate(entries) if all(w in f"{name}\n{text}".casefold() for w in words)}
    assert set(hits) == expected and len(hits) == len(expected)
