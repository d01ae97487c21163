"""Patterns find what they match, ranked by where; none holds the interpreter, wrong ones say where they are wrong."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.catalog.listing import Ref
from mcp_studio.search import regex
from mcp_studio.search.method import Document, Query, SearchProblem
from mcp_studio.search.regex import Regexes

TOOLS = {
    "b.read_file": ("", "Read a file."),
    "a.read_file": ("", "Read a file."),
    "a.read": ("", "Read anything."),
    "a.thread_count": ("", "How many threads."),
    "a.status": ("Already read", "State of something."),
    "a.zoom": ("", "Come nearer.\nReads nothing."),
    "a.Delete_ALL": ("", "Everything goes."),
}


def made() -> Regexes:
    method = Regexes()
    for address, (title, description) in TOOLS.items():
        server, _, name = address.partition(".")
        raw = {"name": name, "title": title, "description": description, "inputSchema": {"properties": {"path_in": {}}}}
        method.index([Document(Ref("tool", server, name), dict(raw))])
    return method


def find(pattern: str) -> list[str]:
    return [str(hit.ref) for hit in made().search(Query(pattern)).hits]


def test_names_come_before_titles_and_titles_before_the_rest() -> None:
    every = ["a.read", "a.read_file", "b.read_file", "a.thread_count", "a.status", "a.zoom"]
    assert find("read") == every
    assert find("(re)(a)d") == every
    assert find("re.*?d") == every


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("^read_", ["a.read_file", "b.read_file"]),
        ("file$", ["a.read_file", "b.read_file"]),
        ("^come", ["a.zoom"]),
        ("nearer. reads", ["a.zoom"]),
        (r"^.{4}$", ["a.read", "a.zoom"]),
        ("delete_all|zoom", ["a.Delete_ALL", "a.zoom"]),
        ("delete_A", []),
        ("Delete_A", ["a.Delete_ALL"]),
        (r"(?P<Any>delete)_(?P<NAME>\S)", ["a.Delete_ALL"]),
        (r"\x44elete_\N{LATIN SMALL LETTER A}ll", ["a.Delete_ALL"]),
        (r"state of something\.\s*", ["a.status"]),
        (r"already read\s+a", []),
        (r"read[^x]+state", []),
        (r"(?s)path_in.+every", []),
        (r"(?s)^ev.+s", ["a.Delete_ALL"]),
        (r"(?<=read_)f", ["a.read_file", "b.read_file"]),
        (r"(?x) read _ f  # a comment", ["a.read_file", "b.read_file"]),
        (r"(e)a\1", []),
        (r"(.)\1m", ["a.zoom"]),
        (r"a{1,99999}d_c", ["a.thread_count"]),
        (r"\bpath_\w+", sorted(TOOLS, key=lambda one: (one.split(".")))),
        (r"^\p{Lu}.*\p{Ll}$", ["a.status"]),
        (r"^\p{L}{4}$", ["a.read", "a.zoom"]),
        ("(?<=re?)ad_f", ["a.read_file", "b.read_file"]),
        ("(a+)+b", []),
        ("zebra", []),
    ],
)  # fmt: skip
def test_patterns(pattern: str, found: list[str]) -> None:
    assert find(pattern) == found


@given(st.text(r"ab|[^]().*+?$ws\_ ", max_size=8), st.lists(st.text("abs_ \n", max_size=6), max_size=6, unique=True))
def test_looking_through_all_texts_at_once_finds_what_each_of_them_has(pattern: str, texts: list[str]) -> None:
    named = [f"n{at}{text}" for at, text in enumerate(texts)]
    method = Regexes()
    method.index([Document(Ref("tool", "s", name), {"description": name[::-1]}) for name in named])
    try:
        own = regex.compiled(pattern)
        found = {hit.ref.name for hit in method.search(Query(pattern)).hits}
    except SearchProblem:
        return
    until = time.thread_time() + 10
    spaced = [" ".join(name[::-1].split()) for name in named]
    assert found == {
        name for name, text in zip(named, spaced, strict=True)
        if own.find(name.replace("\n", " "), until) or own.find("s", until) or own.find(text, until)
        or own.find("", until)
    }  # fmt: skip


def test_an_empty_pattern_finds_everything_in_order() -> None:
    assert find("") == sorted(TOOLS)
    assert find("x*") == sorted(TOOLS, key=lambda one: one.split("."))


@pytest.mark.parametrize(
    ("pattern", "field", "words", "text"),
    [
        ("rea+d_f", "name", ("read_f",), ""),
        ("alr.ady", "title", ("Already",), "Already read"),
        ("goes", "description", ("goes",), "Everything goes."),
    ],
)
def test_the_matched_piece_is_said(pattern: str, field: str, words: tuple[str, ...], text: str) -> None:
    assert made().search(Query(pattern)).hits[0].reasons == ((field, words, text),)


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("read(", 5),
        ("a**", 2),
        ("[a-", 3),
        ("(?P<n>x)(?P=m)", 11),
        ("*", 0),
        ("x" * 201, 200),
        ("x" * 100_000, 200),
        ("中🙂é(", 4),
        ("中" * 201, 200),
        ("a{1,99999999999}", 2),
        ("((a{500}){500}){500}", 0),
    ],
)
def test_what_is_no_pattern_is_told_with_its_place(pattern: str, at: int) -> None:
    with pytest.raises(SearchProblem) as problem:
        made().search(Query(pattern, typing=True))
    assert problem.value.at == at
    assert problem.value.message.endswith(".")


def test_two_hundred_characters_are_a_pattern() -> None:
    assert find("x" * 200) == []


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(a|aa)+b", r"(\w|\w\w)+\s"])
def test_a_catastrophic_pattern_is_ended_while_others_go_on(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "WITHIN", 0.3)
    method = Regexes()
    method.index([Document(Ref("tool", "s", f"{number}" + "a" * 60 + "c"), {}) for number in range(50)])
    turns, ending = [time.monotonic()], threading.Event()

    def go_on() -> None:
        while not ending.wait(0.005):
            turns.append(time.monotonic())

    other = threading.Thread(target=go_on)
    other.start()
    try:
        with pytest.raises(SearchProblem, match="takes too long"):
            method.search(Query(pattern))
    finally:
        ending.set()
        other.join()
    assert len(turns) > 10, "the interpreter was let go of"
    assert [hit.ref.name for hit in method.search(Query("^7a")).hits] == ["7" + "a" * 60 + "c"]


def test_only_the_beginning_of_long_texts_is_looked_at() -> None:
    method = made()
    method.index([Document(Ref("tool", "a", "long"), {"description": "x" * 1_000_000 + "needle"})])
    assert method.search(Query("needle")).total == 0
