"""Where nobody chose a method: addresses in full, and names that are nearly right."""

from __future__ import annotations

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.auto import search
from mcp_studio.search.method import Answer, Query, Reason, Scored, SearchProblem

MEANT = [Scored(Ref("tool", "a", f"other_{number}"), 0.9, (Reason("meaning"),)) for number in range(6)]
SIMILAR = [Scored(Ref("tool", "b", "list_books"), 0.8, (Reason("name", ("list", "books"), "similar"),))]
WORDED = [Scored(Ref("tool", "c", "boks"), 0.1, ())]


def asked(by_words: list[Scored]) -> list[str]:
    answers = {"hybrid": Answer(by_words, len(by_words)), "substring": Answer(SIMILAR, 1)}
    served = search(Query("lsit boks"), lambda name, _: answers[name], meaning=lambda: True)
    return [hit.ref.name for hit in served.answer.hits]


def test_a_name_that_is_nearly_right_goes_before_what_only_means_something_alike() -> None:
    assert asked(MEANT)[0] == "list_books"
    assert asked([])[0] == "list_books"


def test_an_address_in_full_finds_exactly_that() -> None:
    method = {"substring": Answer(SIMILAR, 1), "bm25": Answer(WORDED, 1)}
    for text, found in (("b.list_books", 1), ("mcp__b__list_books", 1), ("b.list_book", 2)):
        served = search(Query(text), lambda name, _: method[name], meaning=lambda: False)
        assert len(served.answer.hits) == found


def test_meaning_that_fails_costs_no_answer_and_is_told() -> None:
    def ask(name: str, _: Query) -> Answer:
        if name == "hybrid":
            raise SearchProblem("The model broke.")
        return Answer(WORDED, 1) if name == "bm25" else Answer((), 0)

    served = search(Query("two words"), ask, meaning=lambda: True)
    assert (served.method, served.answer.note, len(served.answer.hits)) == ("bm25", "The model broke.", 1)


def test_a_word_that_was_found_goes_before_it() -> None:
    assert asked([*MEANT, *WORDED]).index("boks") < asked([*MEANT, *WORDED]).index("list_books")
