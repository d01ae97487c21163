"""The default method finds what is meant."""

from __future__ import annotations

import sys

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search import tokens
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Document, Query
from tests.search.recall import questions, tools


def filled(documents: list[Document], *, cjk: Cjk = "characters") -> Bm25:
    method = Bm25(cjk)
    method.index(documents)
    return method


def names(method: Bm25, text: str, **query: object) -> list[str]:
    return [hit.ref.name for hit in method.search(Query(text)._replace(**query)).hits]


def test_most_questions_find_their_tool_first_and_nearly_all_among_five() -> None:
    method = filled(tools())
    missed = {question: names(method, question)[:5] for question, _ in questions()}
    first = sum(missed[question][:1] == [name] for question, name in questions())
    among = [question for question, name in questions() if name not in missed[question]]
    assert not among, {question: missed[question] for question in among}
    assert first >= 0.9 * len(questions())


def test_what_is_found_is_counted_and_cut_to_the_limit() -> None:
    answer = filled(tools()).search(Query("list", limit=3))
    assert len(answer.hits) == 3
    assert answer.total > 3
    assert [hit.score for hit in answer.hits] == sorted((hit.score for hit in answer.hits), reverse=True)


def test_a_verb_of_looking_alone_answers_nothing_else() -> None:
    method = filled(tools())
    answer = method.search(Query("list the pods"))
    assert {hit.ref.server for hit in answer.hits} == {"k8s"}
    assert answer.total == len(answer.hits) < method.search(Query("list")).total


def test_tags_and_addresses_are_searched() -> None:
    tagged = Document(Ref("tool", "db", "run"), {}, ("payroll",))
    resource = Document(Ref("resource", "db", "file:///reports/salaries.csv"), {"name": "r"})
    method = filled([tagged, resource])
    assert names(method, "payroll") == ["run"]
    assert names(method, "salaries") == ["file:///reports/salaries.csv"]


@pytest.mark.parametrize("text", ["", " ", "???", "xyzzy", "\0", "the"])
def test_what_nothing_has_finds_nothing(text: str) -> None:
    answer = filled([tools()[0]._replace(raw={})]).search(Query(text))
    assert (list(answer.hits), answer.total) == ([], 0)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_tools_are_enough(count: int) -> None:
    assert names(filled(tools()[:count]), "read a file") == ["read_file", "write_file"][:count]


def test_a_name_can_be_typed_letter_by_letter() -> None:
    method = filled(tools())
    for length in range(4, len("screenshot") + 1):
        assert names(method, "screenshot"[:length], typing=True)[0] == "take_screenshot"
    assert names(method, "list ch", typing=True)[0] == "list_channels"


def test_two_things_that_are_asked_for_are_both_near_the_top() -> None:
    found = names(filled(tools()), "Get the weather forecast for Oslo. Then translate it to French.")
    assert set(found[:2]) == {"get_forecast", "translate_text"}


def test_words_of_a_dictionary_are_found() -> None:
    assert tokens.dictionary() is not None, "the extra cjk is part of the tests' own"
    raw = {"name": "a", "description": "管理数据库连接"}
    method = filled([Document(Ref("tool", "db", "a"), raw)], cjk="jieba")
    answer = method.search(Query("数据库"))
    assert [hit.ref.name for hit in answer.hits] == ["a"]
    assert answer.note == ""


def test_without_the_dictionary_characters_do_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    tokens.dictionary.cache_clear()
    try:
        method = filled([Document(Ref("tool", "db", "a"), {"description": "管理数据库"})], cjk="jieba")
        answer = method.search(Query("数据库"))
        assert [hit.ref.name for hit in answer.hits] == ["a"]
        assert "pip install 'mcp-studio[cjk]'" in answer.note
        assert method.search(Query("a")).note == ""
    finally:
        tokens.dictionary.cache_clear()
