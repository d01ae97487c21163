"""Whatever is listed and whatever is asked: an answer in order or a sentence, in a bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from random import Random

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import StudioError
from mcp_studio.search import model, regex
from mcp_studio.search.bm25 import Bm25, Okapi
from mcp_studio.search.method import LONGEST, Answer, Document, Method, Query, Scope, SearchProblem, order
from mcp_studio.search.names import Substring
from mcp_studio.search.regex import Regexes
from mcp_studio.search.semantic import Semantic
from mcp_studio.search.why import reasons
from tests.search.bad import QUESTIONS, documents
from tests.search.index_kit import Index
from tests.search.meaning_kit import Both, learn

METHODS: dict[str, Callable[[], Method]] = {
    "substring": Substring,
    "regex": Regexes,
    "bm25": Bm25,
    "okapi": Okapi,
}
ALL = {document.ref: document for document in documents()}
_PATIENCE = 2.0
"""Seconds of this process for one question; a machine that is busy with other things may take several times as long."""


def filled(name: str, listed: Sequence[Document] = tuple(ALL.values())) -> Method:
    method = METHODS[name]()
    method.index(listed)
    return method


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex, "WITHIN", 0.3)


@pytest.fixture(scope="module", params=METHODS)
def method(request: pytest.FixtureRequest) -> Method:
    return filled(request.param)


def ask(method: Method, query: Query) -> Answer:
    """An answer, none where the question cannot be asked in this way; checked for what every answer has to be."""
    began = time.process_time()
    try:
        answer = method.search(query)
    except SearchProblem as problem:
        assert problem.message.strip().endswith((".", "?")), problem.message
        answer = Answer((), 0)
    assert time.process_time() - began < _PATIENCE, query.text[:20]
    assert list(answer.hits) == sorted(answer.hits, key=order), "in order"
    assert len({hit.ref for hit in answer.hits}) == len(answer.hits) <= min(answer.total, query.limit)
    assert all(query.scope.has(hit.ref) for hit in answer.hits)
    return answer


def test_every_question_has_an_ordered_answer_in_a_bounded_time(method: Method) -> None:
    for question in QUESTIONS:
        for hit in ask(method, Query(question, 500, typing=len(question) % 2 == 0)).hits:
            assert all(len(reason.text) < 2_000 and len(reason.words) < 100 for reason in hit.reasons)


def test_what_is_well_is_found_among_what_is_not(method: Method) -> None:
    found = {hit.ref for hit in ask(method, Query("find_same", 500)).hits}
    assert {ref for ref in ALL if ref.name == "find_same"} <= found
    only = Scope(frozenset({"two"}), frozenset({"prompt"}))
    assert [hit.ref for hit in ask(method, Query("find_same", scope=only)).hits] == [Ref("prompt", "two", "find_same")]


@pytest.mark.parametrize("name", METHODS)
def test_the_order_in_which_documents_come_makes_no_difference(name: str) -> None:
    other = list(ALL.values())
    Random(7).shuffle(other)
    one, two = filled(name), filled(name, other)
    for question in ("find", "find me", "f", "same", "schema", "wrong"):
        assert ask(one, Query(question, 500)).hits == ask(two, Query(question, 500)).hits


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_catalogue_may_have_hardly_anything_or_nothing(name: str, count: int) -> None:
    listed = [ref for ref in ALL if ref.name == "find_same"][:count]
    method = filled(name, [ALL[ref] for ref in listed])
    for question in ("find", "find_same", "", "zebra", *QUESTIONS[3:8]):
        ask(method, Query(question))
    assert ask(method, Query("find_same")).total == count
    method.remove(listed)
    assert ask(method, Query("find_same")).total == 0


@pytest.mark.parametrize("name", METHODS)
def test_all_can_go_and_come_back(name: str) -> None:
    method = filled(name)
    before = ask(method, Query("find", 500))
    method.remove(list(ALL))
    assert ask(method, Query("find", 500)).total == 0
    method.index(list(ALL.values()))
    assert ask(method, Query("find", 500)).hits == before.hits


def test_reasons_can_be_told_for_everything() -> None:
    words = Bm25()
    words.index(list(ALL.values()))
    for question in QUESTIONS:
        began = time.process_time()
        sources = words.sources(Query(question[:LONGEST], typing=True))
        for document in list(ALL.values())[::2]:
            for reason in reasons(document, sources):
                assert len(reason.text) < 2_000
        assert time.process_time() - began < _PATIENCE, question[:20]


def test_meaning_bears_the_same() -> None:
    if not model.available()[0]:
        pytest.skip("the extra `semantic` is not installed")
    meaning = Semantic()
    method = Both(meaning)
    try:
        method.index([one for number, one in enumerate(ALL.values()) if number % 12 == 0])
        learn(meaning)
        for question in QUESTIONS[:20]:
            ask(meaning, Query(question))
            method.search(Query(question))
    finally:
        meaning.close()


def test_the_index_answers_whatever_is_asked() -> None:
    index = Index(semantic=False)
    try:
        for ref in ALL:
            listed = [one for one in ALL.values() if (one.ref.server, one.ref.kind) == (ref.server, ref.kind)]
            index.list(ref.server, ref.kind, listed)
        for question in QUESTIONS:
            try:
                found = index.ask_now(question, limit=500)
            except StudioError as problem:
                pytest.fail(f"{question[:20]!r}: {problem}")
            assert found.of == len(ALL)
            scores = [hit.score for hit in found.hits]
            assert scores == sorted(scores, reverse=True)
        assert index.ask_now("one.find_same").hits[0].ref.server == "one"
    finally:
        index.close()
