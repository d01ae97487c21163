"""Meaning in an index: mixed in once it is known, never waited for by somebody who types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Document
from tests.search.index_kit import Index, Make, document, names
from tests.search.meaning_kit import DOCUMENTS, many, stand_in
from tests.support import wait_until

QUESTION = "delete a document for good"


def fill(index: Index) -> None:
    for server in ("store", "weather", "mail", "calendar"):
        index.list(server, "tool", [one for one in DOCUMENTS if one.ref.server == server])


async def test_an_answer_never_waits_for_meaning_that_nobody_asked_for(
    indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = stand_in(monkeypatch)
    letters.gate.clear()

    index = indexes(semantic=True)
    fill(index)
    assert index.vectors == (0, 0), "nothing is computed before somebody asks"
    found = await index.ask(QUESTION)
    assert "hybrid" not in found.method and names(found)[0] == "store.delete_document" and found.note == ""
    await wait_until(letters.begun.is_set)
    letters.gate.set()
    await wait_until(lambda: index.vectors == (5, 5))
    assert "hybrid" in (await index.ask(QUESTION)).method
    index.forget("store")
    assert "store.delete_document" not in names(await index.ask(QUESTION))
    await wait_until(lambda: index.vectors == (3, 3))


def test_asked_once_only_what_is_kept_serves_and_nothing_else_is_begun(
    indexes: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    letters = stand_in(monkeypatch)
    folder = tmp_path / "cache"

    def made(more: int = 0) -> Index:
        index = indexes(semantic=True, cache=folder)
        fill(index)
        index.list("many", "tool", many(more))
        return index

    found = made().ask_now(QUESTION, once=True)
    assert "hybrid" not in found.method and names(found)[0] == "store.delete_document"
    assert letters.loaded == 0 and not folder.exists()
    learnt = made()
    assert learnt.ask_now(QUESTION, method="semantic", once=True).method == "semantic" and learnt.vectors == (5, 5)
    learnt.close()
    letters.embedded.clear()
    kept = made()
    assert "hybrid" in kept.ask_now(QUESTION, once=True).method and kept.vectors == (5, 5)
    assert list(letters.embedded) == [QUESTION]
    named = made().ask_now(QUESTION, method="hybrid", once=True)
    assert named.note == "" and "store.delete_document" in names(named), "the model is loaded though all is known"
    before = letters.loaded
    assert "hybrid" not in made(5).ask_now(QUESTION, once=True).method, "the meaning of half of it is not known"
    assert letters.loaded == before


def test_the_words_of_the_hybrid_are_complete_when_it_answers(indexes: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    index = indexes(semantic=False)
    index.list("many", "tool", many(200))
    given, really = list[int](), Bm25.index

    def slowly(own: Bm25, documents: Sequence[Document]) -> None:
        given.append(sum(range(150_000)) and len(documents))
        really(own, documents)

    monkeypatch.setattr(Bm25, "index", slowly)
    found = index.ask_now("number 199", method="hybrid", once=True)
    assert found.pending == 0 and sum(given) == 200 and names(found)[0] == "many.tool_199"


async def test_who_types_is_answered_by_words_until_meaning_is_known(
    indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = stand_in(monkeypatch)
    letters.gate.clear()

    index = indexes(semantic=True)
    fill(index)
    told: list[None] = []
    index.changed.connect(told.append)
    for _ in range(3):
        found = await index.ask(QUESTION, typing=True)
        assert "hybrid" not in found.method and names(found)[0] == "store.delete_document"
    await wait_until(lambda: index.vectors[1] == 5)
    seen = len(told)
    letters.gate.set()
    await wait_until(lambda: index.vectors == (5, 5) and len(told) > seen)
    assert "hybrid" in (await index.ask(QUESTION, typing=True)).method


def test_where_it_is_not_wished_it_serves_who_asks_for_it_by_name(
    indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch)
    index = indexes(semantic=False)
    fill(index)
    assert "hybrid" not in index.ask_now(QUESTION).method and index.vectors == (0, 0)
    assert index.ask_now(QUESTION, method="semantic").method == "semantic" and index.vectors == (5, 5)
    assert index.ask_now(QUESTION, method="hybrid").method == "hybrid"
    assert "hybrid" not in index.ask_now(QUESTION).method


def test_words_of_the_hybrid_are_asked_in_their_turn_and_kept_once(
    indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch)
    index = indexes(semantic=False)
    fill(index)
    assert names(index.ask_now("forecast", method="hybrid"))[0] == "weather.get_forecast"
    index.list("weather", "tool", [document("weather", "get_rain", "The forecast of rain.")])
    assert "weather.get_forecast" not in names(index.ask_now("forecast", method="hybrid"))
    assert names(index.ask_now("forecast", method="bm25")) == ["weather.get_rain"]
