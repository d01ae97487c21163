"""Meaning in an index: mixed in once it is known, never waited for by somebody who types."""

from __future__ import annotations

import pytest

from mcp_studio.search.index import SearchIndex
from tests.search.index_kit import Make, document, names
from tests.search.meaning_kit import DOCUMENTS, stand_in
from tests.support import run, wait_until

QUESTION = "delete a document for good"


def fill(index: SearchIndex) -> None:
    for server in ("store", "weather", "mail", "calendar"):
        index.put(server, "tool", [one for one in DOCUMENTS if one.ref.server == server])


def test_a_first_question_waits_for_the_meaning_of_a_few_entries(
    indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch)
    index = indexes(semantic=True)
    fill(index)
    assert index.vectors == (0, 0), "nothing is computed before somebody asks"
    found = index.ask_now(QUESTION)
    assert "hybrid" in found.method and names(found)[0] == "store.delete_document" and found.note == ""
    assert index.vectors == (5, 5)
    index.forget("store")
    assert "store.delete_document" not in names(index.ask_now(QUESTION)) and index.vectors == (3, 3)


def test_who_types_is_answered_by_words_until_meaning_is_known(indexes: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = stand_in(monkeypatch)
    letters.gate.clear()

    async def work() -> None:
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

    run(work())


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
    index.put("weather", "tool", [document("weather", "get_rain", "The forecast of rain.")])
    assert "weather.get_forecast" not in names(index.ask_now("forecast", method="hybrid"))
    assert names(index.ask_now("forecast", method="bm25")) == ["weather.get_rain"]
