"""The plain method: what rank_bm25 says, without where it breaks."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.search.bm25 import MOST_WORDS, Okapi
from mcp_studio.search.method import Document, Query


def document(name: str, description: str = "", server: str = "s", kind: EntryKind = "tool") -> Document:
    return Document(Ref(kind, server, name), {"name": name, "description": description})


FILES = [
    document("read_file", "Reads a text file from the disk"),
    document("write_file", "Writes text into a file"),
    document("list_issues", "Lists the issues of a repository"),
    document("send_mail", "Sends a letter"),
    document("get_weather", "The weather of a town"),
]


def engine(*documents: Document) -> Okapi:
    made = Okapi()
    made.index(documents or FILES)
    return made


def names(okapi: Okapi, text: str, **how: object) -> list[str]:
    return [hit.ref.name for hit in okapi.search(Query(text, **how)).hits]  # type: ignore[arg-type]


def test_the_rarer_and_the_more_words_the_better() -> None:
    assert names(engine(), "read a file")[0] == "read_file"
    assert names(engine(), "issues")[0] == "list_issues"
    assert names(engine(), "nothing of this kind exists") == ["get_weather", "list_issues"]  # "of"


def test_what_rank_bm25_cannot_do_is_answered_all_the_same() -> None:
    assert Okapi().search(Query("a word")) == ((), 0, "")
    assert engine(document("___", "…")).search(Query("word")).total == 0
    assert names(engine(document("one", "word")), "word") == ["one"]
    assert names(engine(document("one", "word"), document("two", "other")), "word") == ["one"]
    assert engine().search(Query("")).total == 0


def test_more_of_common_words_is_never_worse() -> None:
    okapi = engine(
        document("a", "word twice"), document("b", "word"), document("c", "word twice"), document("d", "twice")
    )
    assert names(okapi, "word twice")[:2] == ["a", "c"]
    assert all(hit.score > 0 for hit in okapi.search(Query("word twice")).hits)


def test_equal_ones_come_by_server_name_and_kind() -> None:
    okapi = engine(*(document(name, "same", server, kind) for kind in KINDS for server in "ba" for name in "yx"))
    found = okapi.search(Query("same", limit=5))
    assert found.total == 16
    assert [hit.ref for hit in found.hits] == [Ref(kind, "a", "x") for kind in sorted(KINDS)] + [
        Ref("prompt", "a", "y")
    ]


def test_a_word_that_is_being_typed_finds_what_begins_so() -> None:
    assert names(engine(), "wea", typing=True) == ["get_weather"]
    assert names(engine(), "wea") == []


@pytest.mark.parametrize("text", ["file " * 20_000, "\0\ud800\u202e🙂", "f" * 100_000], ids=["words", "odd", "long"])
def test_questions_are_bounded(text: str) -> None:
    found = engine().search(Query(text))
    assert found.total in (0, 2)
    assert bool(found.note) == (len(text.split()) > MOST_WORDS or len(text) > 2_000)


WORDS = ["zorb", "quix", "flem", "gratt", "wumb", "plic", "drok", "spuv", "trem"]
K1, B = 1.5, 0.75
"""What rank_bm25 has."""
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=6, max_size=14)
