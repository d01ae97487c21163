"""What is typed finds by letters: names before the rest, beginnings before middles, and never without an order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.search.method import Answer, Document, Query, Scope
from mcp_studio.search.names import Substring
from mcp_studio.search.why import literal_reasons

TOOLS = {
    "library.list_books": "All books of the library.",
    "library.lend_book": "Lend a book to a reader.",
    "library.books": "How many there are.",
    "library.old_books_list": "What was there once.",
    "github.get_file_contents": "Read a file or folder of a repository.",
    "github.listPullRequests": "Pull requests, open or closed.",
    "files.read_file": "Read a text file from disk.",
    "files.read": "Read anything.",
    "files.thread_count": "Count threads.",
    "notes.Übersicht": "Overview of notes.",
    "notes.文件搜索": "在文件中搜索",
}


def made(tools: dict[str, str] = TOOLS) -> Substring:
    method = Substring()
    for address, description in tools.items():
        server, _, name = address.partition(".")
        method.index([Document(Ref("tool", server, name), {"name": name, "description": description})])
    return method


def names(answer: Answer) -> list[str]:
    return [hit.ref.name for hit in answer.hits]


def find(text: str, limit: int = 50) -> list[str]:
    return names(made().search(Query(text, limit)))


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("read", ["read", "read_file", "thread_count"]),
        ("list", ["list_books", "listPullRequests", "old_books_list"]),
        ("list_b", ["list_books"]),
        ("list-books", ["list_books"]),
        ("listBooks", ["list_books"]),
        ("LIST books", ["list_books", "old_books_list"]),
        ("books list", ["list_books", "old_books_list"]),
        ("books", ["books", "list_books", "old_books_list"]),
        ("pull", ["listPullRequests"]),
        ("list_pull", ["listPullRequests"]),
        ("lb", ["lend_book", "list_books"]),
        ("gfc", ["get_file_contents"]),
        ("repository", ["get_file_contents"]),
        ("files read", ["read", "read_file"]),
        ("übers", ["Übersicht"]),
        ("文件", ["文件搜索"]),
    ],
)
def test_the_best_comes_first(typed: str, first: list[str]) -> None:
    found = find(typed)
    assert [name for name in found if name in first][: len(first)] == first
    assert found[0] == first[0]


@pytest.mark.parametrize("address", ["files.read", "mcp__files__read"])
def test_an_address_in_full_finds_exactly_that(address: str) -> None:
    answer = made().search(Query(address))
    assert [str(hit.ref) for hit in answer.hits] == ["files.read"]
    assert answer.total == 1


@pytest.mark.parametrize("address", ["github.get_f", "mcp__github__get_f"])
def test_the_beginning_of_an_address_finds_what_begins_so(address: str) -> None:
    assert find(address) == ["get_file_contents"]


@pytest.mark.parametrize("typed", ["lsit_boks", "lsit boks", "lstbooks", "lisbooks", "listboks", "list_bok"])
def test_letters_that_are_swapped_or_missing_find_names_that_are_similar(typed: str) -> None:
    assert find(typed)[0] == "list_books"


def test_every_word_must_stand_somewhere() -> None:
    assert find("read repository zebra") == []
    assert find("read repository") == ["get_file_contents"]


def test_where_only_similar_names_are_found_that_is_said() -> None:
    assert "similar" in made().search(Query("lsit_boks")).note
    assert made().search(Query("list_books")).note == ""


def test_an_empty_question_finds_everything_in_order() -> None:
    answer = made().search(Query("", 3))
    assert [str(hit.ref) for hit in answer.hits] == ["files.read", "files.read_file", "files.thread_count"]
    assert answer.total == len(TOOLS)


def test_letter_by_letter_finds_the_same_as_all_at_once() -> None:
    typing = made()
    for text in ("list books", "re f", "get con"):
        for end in range(len(text) + 1):
            assert typing.search(Query(text[:end])) == made().search(Query(text[:end]))


def test_coming_and_going_leaves_what_a_new_one_would_have() -> None:
    random = Random(4)
    every = {
        Ref(kind, f"s{number % 9}", f"read_{number}"): Document(Ref(kind, f"s{number % 9}", f"read_{number}"), {})
        for number in range(120)
        for kind in KINDS[: 1 + number % 2]
    }
    method, there = Substring(), set[Ref]()
    for _ in range(40):
        some = set(random.sample(sorted(every), random.choice([1, 5, 80])))
        method.remove(some & there)
        if random.random() < 0.6:
            method.index([every[ref] for ref in some])
            there |= some
        else:
            there -= some
        fresh = Substring()
        fresh.index([every[ref] for ref in there])
        for typed in ("", "read_1", "raed"):
            assert method.search(Query(typed, 1_000)) == fresh.search(Query(typed, 1_000))


def test_when_many_have_gone_the_rest_is_found_as_before() -> None:
    every = [Document(Ref("tool", "s", f"read_{number}"), {"description": f"no {number}"}) for number in range(3_000)]
    for gone in (1_100, 2_900):  # fewer and more than those that stay
        method, fresh = Substring(), Substring()
        method.index(every)
        method.search(Query("read"))
        method.remove([one.ref for one in every[:gone]])
        fresh.index(every[gone:])
        for typed in ("read_2950", "read 29", "no"):
            assert method.search(Query(typed)) == fresh.search(Query(typed))


def test_a_few_of_many_are_found_as_if_there_were_no_others() -> None:
    chance, kinds = Random(5), ("list", "book", "read", "Über", "文件")
    every = [
        Document(
            Ref("tool", f"s{number % 30}", "_".join(chance.choices(kinds, k=2)) + f".{number % 7}{chance.random()}"),
            {"title": chance.choice(kinds), "description": " ".join(chance.choices(kinds, k=3))},
        )
        for number in range(600)
    ]
    whole, alone, scope = Substring(), Substring(), Scope(frozenset({"s3", "s4"}))
    whole.index(every[:300])
    alone.index([one for one in every if one.ref.server in ("s3", "s4")])
    whole.search(Query("list", scope=scope))
    whole.index(every[300:])
    for typed in (
        "list",
        "list book",
        "read_l",
        "lb",
        "über 文件",
        "s3.list",
        "mcp__s4__read",
        ".3",
        "t",
        "raed",
        "zz",
        "",
    ):
        for _ in range(2):
            found = whole.search(Query(typed, 100, scope))
            assert found == alone.search(Query(typed, 100)), typed
            assert found.total or typed in ("lb", "zz")


def test_a_limit_keeps_the_best_and_the_total() -> None:
    answer = made().search(Query("o", 2))
    assert names(answer) == find("o")[:2]
    assert answer.total == len(find("o"))


def test_many_hits_are_cut_without_changing_what_comes_first() -> None:
    method = made({f"s{number % 7}.{'read' if number % 3 else 'thread'}_{number}": "" for number in range(2_000)})
    every, some = method.search(Query("read", 5_000)), method.search(Query("read", 20))
    assert some.total == every.total == 2_000
    assert list(some.hits) == list(every.hits)[:20]


def reasons(text: str) -> Sequence[tuple[str, tuple[str, ...]]]:
    hit = made().search(Query(text)).hits[0]
    found = Document(hit.ref, {"name": hit.ref.name, "description": TOOLS[str(hit.ref)]})
    return [(reason.field, reason.words) for reason in literal_reasons(found, Query(text), hit.reasons[0])]


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("LIST", [("name", ("list",))]),
        ("gfc", [("name", ("get", "file", "contents"))]),
        ("list_p", [("name", ("list", "P"))]),
        ("get repository", [("name", ("get",)), ("description", ("repository",))]),
        ("github contents", [("server", ("github",)), ("name", ("contents",))]),
        ("übers", [("name", ("Übers",))]),
        ("github.get_f", [("name", ("get_f",)), ("server", ("github",))]),
        ("mcp__notes__文件搜索", [("name", ("文件搜索",)), ("server", ("notes",))]),
        ("github.", [("server", ("github",))]),
        ("lsit_boks", [("name", ("list_books",))]),
    ],
)
def test_reasons_are_pieces_of_what_was_found(typed: str, why: list[tuple[str, tuple[str, ...]]]) -> None:
    assert list(reasons(typed)) == why


@pytest.mark.parametrize(
    "typed", ["read", "list_b", "lb", "listing books", "library.bo", "mcp__files__re", "files.", "e", "get repo"]
)
def test_where_only_names_are_wanted_all_that_have_it_there_are_found(typed: str) -> None:
    method = made()
    every, named = (method.search(Query(typed, named=only)).hits for only in (False, True))
    assert [hit for hit in named if hit.score > 1] == [hit for hit in every if hit.score > 1]
