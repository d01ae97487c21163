"""Searching by meaning: what is known when, what is computed, and how it ends. The model is one of letters."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np
import pytest

from mcp_studio.search import semantic
from mcp_studio.search.method import EVERYWHERE, Query, Scope, SearchProblem
from mcp_studio.search.semantic import Semantic, gist, questions_of
from tests.search.index_kit import document
from tests.search.meaning_kit import DOCUMENTS, Letters, learn, many, stand_in

Make = Callable[..., Semantic]


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    return stand_in(monkeypatch)


@pytest.fixture
def semantics() -> Generator[Make]:
    """Makes methods, which are closed after the test."""
    made: list[Semantic] = []

    def make(folder: Path | None = None) -> Semantic:
        made.append(Semantic(folder))
        return made[-1]

    yield make
    for one in made:
        one.close()


def names(meaning: Semantic, question: str, scope: Scope = EVERYWHERE) -> list[str]:
    return [hit.ref.name for hit in meaning.search(Query(question, scope=scope)).hits]


def test_adding_embeds_nothing_in_place_and_the_answer_says_what_is_not_known(
    letters: Letters, semantics: Make
) -> None:
    meaning = semantics()
    meaning.index(DOCUMENTS)
    assert meaning.progress == (0, 5) and not letters.embedded
    assert meaning.note() == "The meaning of 5 of 5 entries is not known yet."
    learn(meaning)
    assert (meaning.progress, meaning.note()) == ((5, 5), "")


def test_what_was_removed_or_changed_is_not_found_as_it_was(letters: Letters, semantics: Make) -> None:
    meaning = semantics()
    meaning.index(DOCUMENTS)
    learn(meaning)
    assert names(meaning, "the weather of the next days")[0] == "get_forecast"
    gone = DOCUMENTS[2].ref
    meaning.remove([gone])
    assert "get_forecast" not in names(meaning, "the weather of the next days")
    assert meaning.progress == (4, 4)
    meaning.index([document("weather", "get_forecast", "Stones and gravel")])
    learn(meaning)
    assert names(meaning, "stones and gravel")[0] == "get_forecast"
    assert meaning.progress == (5, 5)


def test_a_question_is_asked_within_its_scope(letters: Letters, semantics: Make) -> None:
    meaning = semantics()
    meaning.index([document(server, "find", "Find text") for server in ("b", "a", "c")])
    learn(meaning)
    found = meaning.search(Query("find text", scope=Scope(servers=frozenset("ab"))))
    assert [hit.ref.server for hit in found.hits] == ["a", "b"]
    assert found.total == 2
    assert names(meaning, "find text", Scope(kinds=frozenset({"prompt"}))) == []


def test_each_sentence_of_a_question_finds_what_it_asks_for(letters: Letters, semantics: Make) -> None:
    meaning = semantics()
    meaning.index([*DOCUMENTS, *many(20)])
    learn(meaning)
    asked = "Put an appointment into the calendar for me. Then the weather of the next days! And send an email."
    assert set(names(meaning, asked)[:3]) == {"create_event", "get_forecast", "send_message"}


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("Delete my namespace <name> in my resource group <group>", "Delete my namespace"),
        ("Mark the task '1234' as done.", "Mark the task as done."),
        ("With what can I read a file in /tmp/a.txt?", "With what can I read a file"),
        ("Where is it?", "Where is it?"),
        ("'a' 'b'", "'a' 'b'"),
        ("", ""),
    ],
)
def test_what_a_sentence_wants_done_is_told_from_with_what(sentence: str, wanted: str) -> None:
    assert gist(sentence) == wanted


def test_a_sentence_is_asked_as_it_is_and_by_what_it_wants_done() -> None:
    assert [(said.text, round(said.share, 2)) for said in questions_of("read a file in 'x'")[0]] == [
        ("read a file in 'x'", 0.67),
        ("read a file", 0.33),
    ]
    assert [len(part) for part in questions_of("Read the file. Then send it by mail. Use 'x' as title")] == [1, 1, 1, 2]


def test_vectors_are_computed_once_and_found_again_by_another_instance(
    letters: Letters, semantics: Make, tmp_path: Path
) -> None:
    first = semantics(tmp_path)
    first.index(DOCUMENTS)
    learn(first)
    before = names(first, "find some text")
    first.close()
    letters.embedded.clear()
    loaded = letters.loaded
    second = semantics(tmp_path)
    second.index(DOCUMENTS)
    learn(second)
    assert second.progress == (5, 5)
    assert (letters.embedded.total(), letters.loaded) == (0, loaded), "the model is not even loaded"
    assert names(second, "find some text") == before


def test_vectors_of_another_model_are_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for ident in ("one", "another"):
        letters = stand_in(monkeypatch, ident)
        meaning = Semantic(tmp_path)
        meaning.index(DOCUMENTS)
        learn(meaning)
        meaning.close()
        assert letters.embedded.total() == 5


def test_the_same_text_is_embedded_once(letters: Letters, semantics: Make, tmp_path: Path) -> None:
    meaning = semantics(tmp_path)
    meaning.index([document("s", "same", "The same"), document("S", "same", "The same")])
    meaning.index([document("s", "same", "The same", kind="prompt")])
    learn(meaning)
    assert meaning.progress == (3, 3)
    assert letters.embedded.most_common(1)[0][1] == 1


def test_a_model_that_cannot_be_loaded_is_told_and_nothing_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, semantics: Make
) -> None:
    stand_in(monkeypatch)

    def broken() -> None:
        raise SearchProblem("It is broken.")

    monkeypatch.setattr(semantic, "Model", broken)
    meaning = semantics()
    meaning.index(DOCUMENTS)
    learn(meaning)
    assert meaning.note() == "It is broken."
    with pytest.raises(SearchProblem, match="broken"):
        meaning.search(Query("delete"))


def test_a_hundred_thousand_are_compared_in_blocks_with_a_small_error() -> None:
    from mcp_studio.search.semantic import Matrix, packed

    made = np.random.default_rng(7).normal(size=(1_300, 384)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    matrix = Matrix()
    matrix.grow(1_301)
    for row, vector in enumerate(made):
        matrix.put(row, packed(vector))
    near = matrix.cosines(made[:2], 1_301)
    assert np.abs(near[:, :1_300] - made[:2] @ made.T).max() < 0.003
    assert near[0, 1_300] == 0


def test_a_question_to_a_hundred_thousand_takes_few_milliseconds() -> None:
    from mcp_studio.search.semantic import Matrix

    matrix, vector = Matrix(), np.full((1, 384), 0.05, np.float32)
    matrix.grow(100_000)
    took: list[float] = []
    for _ in range(5):
        began = time.thread_time()
        matrix.cosines(vector, 100_000)
        took.append(time.thread_time() - began)
    assert min(took) < 0.06, "9 ms where it was measured; some machines are slower"
