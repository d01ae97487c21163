"""What a question wants done, what a name says that it does, and that one who lists is not offered to delete."""

from __future__ import annotations

import pytest

from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Query
from mcp_studio.search.question import deeds_of, deeds_wanted
from tests.search.index_kit import document


@pytest.mark.parametrize(
    ("question", "name", "agree"),
    [
        ("list all keys", "keys_get", True),
        ("which keys are there", "listKeys", True),
        ("list all keys", "keys_delete", False),
        ("Create a key", "keys_get", False),
        ("add a key", "createKey", True),
        ("set the key and show it", "get_key", True),
        ("erase the key", "key-remove", True),
        ("make a new key", "key_patch", False),
    ],
)
def test_questions_and_names_say_what_is_done(question: str, name: str, agree: bool) -> None:
    assert bool(deeds_wanted(question) & deeds_of(name)) is agree


def test_many_names_and_questions_do_not_say_it() -> None:
    assert deeds_wanted("the weather in Paris") == deeds_of("weather") == deeds_of("new_look") == deeds_wanted("") == 0


def test_of_names_that_fit_equally_the_one_that_does_another_thing_is_last() -> None:
    method = Bm25()
    method.index([document("s", name, "Works on books.") for name in ("delete_book", "get_book", "loan_book")])
    assert [hit.ref.name for hit in method.search(Query("list books")).hits] == ["get_book", "loan_book", "delete_book"]
    assert method.search(Query("books of mine")).hits[0].score == method.search(Query("books of mine")).hits[2].score


def test_it_holds_for_documents_that_came_later_where_others_were() -> None:
    method = Bm25()
    old = [document("s", f"delete_book_{number}", "Works on books.") for number in range(1_500)]
    method.index(old)
    method.remove([one.ref for one in old[:-1]])
    for _ in range(100):  # what is gone is tidied up in steps
        method.remove([old[0].ref])
        method.index([document("s", "get_book", "Works on books.")])
    assert [hit.ref.name for hit in method.search(Query("list books")).hits] == ["get_book", old[-1].ref.name]
