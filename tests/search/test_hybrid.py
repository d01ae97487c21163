"""Words and meaning as one order, and words alone where nothing is known of the meaning."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Query, Reason, Scored, SearchProblem
from mcp_studio.search.semantic import Nearness, Semantic, mix
from tests.search.index_kit import document
from tests.search.meaning_kit import DOCUMENTS, Both, Letters, learn, stand_in


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    return stand_in(monkeypatch)


@pytest.fixture
def hybrid(letters: Letters) -> Generator[tuple[Both, Semantic]]:
    meaning = Semantic()
    yield Both(meaning), meaning
    meaning.close()


def by_words(**scores: float) -> list[Scored]:
    return [Scored(Ref("tool", "s", name), score, (Reason("name", (name,)),)) for name, score in scores.items()]


def near(**cosines: float) -> Nearness:
    found = {Ref("tool", "s", name): cosine for name, cosine in cosines.items()}
    return Nearness(found, sorted(found.items(), key=lambda one: -one[1]), len(found))


def names(hits: list[Scored]) -> list[str]:
    return [hit.ref.name for hit in hits]


def test_what_is_best_by_both_is_first_and_each_side_adds_what_it_alone_finds() -> None:
    hits = mix(by_words(a=4, b=3, c=0.5), near(b=0.7, d=0.68, a=0.4))
    assert names(hits) == ["b", "a", "d", "c"]
    assert [hit.reasons[0].field for hit in hits] == ["name", "name", "meaning", "name"]
    assert hits[0].score <= 1


def test_without_vectors_the_order_is_that_of_the_words() -> None:
    words = by_words(b=4, a=3, c=3)
    hits = mix(words, Nearness({}, [], 0))
    assert [hit.ref for hit in hits] == [hit.ref for hit in words]
    assert (hits[0].score, hits[1].score) == (1, hits[2].score)
    assert mix([], Nearness({}, [], 0)) == []


def test_the_first_by_words_stays_so_where_others_are_hardly_nearer() -> None:
    assert names(mix(by_words(a=10, b=9.9), near(a=0.5, b=0.53))) == ["a", "b"]
    assert names(mix(by_words(a=10, b=9.9), near(a=0.5, b=0.8))) == ["b", "a"]


def test_what_does_another_thing_than_is_asked_for_is_behind() -> None:
    found = by_words(delete_book=10, get_book=9), near(delete_book=0.7, get_book=0.65)
    assert names(mix(*found, "books")) == names(mix(*found, "delete books")) == ["delete_book", "get_book"]
    assert names(mix(*found, "list books")) == ["get_book", "delete_book"]


def test_what_has_no_vector_yet_keeps_its_place_among_what_has_one() -> None:
    words = by_words(a=10, b=9, c=8, d=7, e=1)
    all_known = near(a=0.6, b=0.59, c=0.57, d=0.56, e=0.1)
    for unknown in "abcde":
        some = {name: cosine for (_, _, name), cosine in all_known.known.items() if name != unknown}
        assert names(mix(words, near(**some))) == names(mix(words, all_known)), unknown


def test_equal_ones_come_by_server_name_and_kind() -> None:
    refs = [Ref("tool", "b", "x"), Ref("prompt", "a", "y"), Ref("tool", "a", "x"), Ref("tool", "a", "y")]
    hits = mix([Scored(ref, 1.0) for ref in refs], Nearness({}, [], 0))
    assert [hit.ref for hit in hits] == [refs[2], refs[1], refs[3], refs[0]]


def test_who_types_never_waits_for_the_model(hybrid: tuple[Both, Semantic]) -> None:
    both, meaning = hybrid
    both.index(DOCUMENTS)
    answer = both.search(Query("delete a document", typing=True))
    assert answer.hits[0].ref.name == "delete_document"
    assert answer.note == "The meaning of 5 of 5 entries is not known yet."
    learn(meaning)
    answer = both.search(Query("delete a document", typing=True))
    assert answer.note == "" and answer.hits[0].ref.name == "delete_document"


def test_where_the_model_is_broken_words_serve_and_the_sentence_is_said(
    letters: Letters, hybrid: tuple[Both, Semantic], monkeypatch: pytest.MonkeyPatch
) -> None:
    both, meaning = hybrid

    def broken(text: str, most: int = 0) -> None:
        raise SearchProblem("It is broken.")

    monkeypatch.setattr(letters, "embed", broken)
    both.index(DOCUMENTS)
    learn(meaning)
    for _ in range(2):
        answer = both.search(Query("delete a document"))
        assert (answer.hits[0].ref.name, answer.note) == ("delete_document", "It is broken.")


def test_a_question_in_other_letters_is_answered_by_words(hybrid: tuple[Both, Semantic], letters: Letters) -> None:
    both, meaning = hybrid
    both.index(DOCUMENTS)
    learn(meaning)
    assert "by words alone" in both.search(Query("удалить старый document")).note
    letters.embedded.clear()
    answer = both.search(Query("删除文件"))
    assert answer.hits[0].ref.name == "delete_document" and answer.note == ""
    assert "delete" in next(iter(letters.embedded))


def test_what_is_described_in_the_letters_of_a_chinese_question_is_ranked_by_words(
    hybrid: tuple[Both, Semantic],
) -> None:
    both, meaning = hybrid
    both.index([document("s", "remove_thing", "删除一个文件"), document("s", "delete", "Gone for good.")])
    learn(meaning)
    words = Bm25()
    words.index([document("s", "remove_thing", "删除一个文件"), document("s", "delete", "Gone for good.")])
    hits = both.search(Query("请删除文件")).hits
    assert hits[0].ref.name == words.search(Query("请删除文件")).hits[0].ref.name == "remove_thing"
    assert hits[0].score == 1
    assert hits[1].ref.name == "delete"
