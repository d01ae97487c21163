"""The index: it follows what servers list, answers while it takes things up, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Listing
from mcp_studio.search.engine import Feed
from mcp_studio.search.method import LONGEST, Answer, Document, Found, Query, Scope, SearchProblem
from tests.search.index_kit import Make, document, listing, names, searching
from tests.support import wait_until

FILES = [
    document("disk", "read_file", "Read the contents of a file."),
    document("disk", "write_file", "Replace the contents of a file."),
    document("disk", "list_folder", "What is in a folder."),
]


def test_what_is_put_is_found_and_what_is_forgotten_is_not(indexes: Make) -> None:
    index = indexes()
    index.list("disk", "tool", FILES)
    index.list("mail", "tool", [document("mail", "send", "Send a file by mail.")])
    assert names(index.ask_now("read_file"))[0] == "disk.read_file"
    assert set(names(index.ask_now("file", method="bm25"))) == {"disk.read_file", "disk.write_file", "mail.send"}
    index.forget("disk")
    found = index.ask_now("file")
    assert names(found) == ["mail.send"] and (found.total, found.of, found.pending) == (1, 1, 0)


def test_an_entry_that_changed_is_found_by_what_it_is_now(indexes: Make) -> None:
    index = indexes()
    index.list("disk", "tool", FILES)
    assert names(index.ask_now("folder", method="bm25")) == ["disk.list_folder"]
    index.list("disk", "tool", [*FILES[:2], document("disk", "list_folder", "What is in a directory."), FILES[0]])
    assert names(index.ask_now("what directory", method="bm25")) == ["disk.list_folder"]
    assert names(index.ask_now("list_folder"))[:1] == ["disk.list_folder"]


def test_a_list_that_is_the_same_again_is_not_taken_up_again(indexes: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    index = indexes()
    index.list("disk", "tool", FILES)
    index.ask_now("file")
    given: list[object] = []
    monkeypatch.setattr(Feed, "change", lambda _, changes: given.append(changes))
    index.list("disk", "tool", [document(*one.ref[1:], one.raw["description"]) for one in FILES])
    assert len(names(index.ask_now("file"))) == 2 and given == []


def test_one_name_on_several_servers_is_several_hits_in_the_same_order_every_time(indexes: Make) -> None:
    answers: set[tuple[str, ...]] = set()
    for order in ("abc", "cab", "bca"):
        index = indexes()
        index.list("gone", "tool", [document("gone", "search", "Search.")])
        for server in order:
            index.list(server, "tool", [document(server, "search", "Search.")])
        index.forget("gone")
        answers.add(tuple(names(index.ask_now("search"))))
    assert answers == {("a.search", "b.search", "c.search")}


def test_a_search_can_be_limited_to_servers_and_kinds(indexes: Make) -> None:
    index = indexes()
    index.list("disk", "tool", FILES)
    index.list("disk", "resource", [document("disk", "file:///a", "A file.", "resource")])
    index.list("mail", "tool", [document("mail", "send_file", "Send a file.")])
    found = index.ask_now("file", scope=Scope(frozenset({"disk"}), frozenset({"tool"})))
    assert set(names(found)) == {"disk.read_file", "disk.write_file"} and found.of == 3
    found = index.ask_now("file", scope=Scope(kinds=frozenset({"resource"})))
    assert names(found) == ["disk.file:///a"] and found.of == 1
    assert index.ask_now("file", scope=Scope(frozenset({"none"}))).hits == ()


@pytest.mark.parametrize("method", ["auto", "substring", "regex", "bm25", "okapi"])
@pytest.mark.parametrize("text", ["", "file", " ", "\0", "😀", "文件", pytest.param("x" * (LONGEST + 5), id="long")])
def test_an_empty_index_and_one_with_a_single_entry_answer_anything(indexes: Make, method: str, text: str) -> None:
    index = indexes()
    if method == "regex":
        text = text[:200]
    assert index.ask_now(text, method=method).hits == ()
    index.list("disk", "tool", FILES[:1])
    found = index.ask_now(text, method=method)
    assert found.total == len(found.hits) <= 1
    assert ("Only the first 2,000 characters" in found.note) == (len(text) > LONGEST)


def test_a_limit_is_kept_and_the_total_says_how_many_there_are(indexes: Make) -> None:
    index = indexes()
    index.list("s", "tool", [document("s", f"read_{number}") for number in range(30)])
    for method in ("auto", "bm25", "substring"):
        found = index.ask_now("read", method=method, limit=7)
        assert len(found.hits) == 7 and found.total == 30
        assert len(index.ask_now("read", method=method, limit=-1).hits) == 1


def test_a_method_that_does_not_exist_is_told_with_those_that_do(indexes: Make) -> None:
    index = indexes()
    with pytest.raises(SearchProblem, match="no search method 'magic'") as told:
        index.ask_now("x", method="magic")
    assert "auto, substring, regex, bm25, okapi, semantic, hybrid" in told.value.hint


def test_a_question_that_cannot_be_asked_is_told_and_the_next_one_is_answered(indexes: Make) -> None:
    index = indexes()
    index.list("disk", "tool", FILES)
    with pytest.raises(SearchProblem):
        index.ask_now("re(ad", method="regex")
    assert len(names(index.ask_now("re.d_", method="regex"))) == 1


async def test_a_problem_is_told_once_and_to_nobody_else(indexes: Make) -> None:
    index = indexes()
    index.list("disk", "tool", FILES)
    elsewhere: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: elsewhere.append(what))
    with pytest.raises(SearchProblem):
        await index.ask("re(ad", method="regex")
    gc.collect()
    await asyncio.sleep(0)
    assert elsewhere == []


def test_documents_of_others_are_not_taken_for_those_of_a_server(indexes: Make) -> None:
    index = indexes()
    index.list("disk", "tool", [*FILES, document("mail", "read_mail"), document("disk", "read_me", kind="prompt")])
    assert names(index.ask_now("read")) == ["disk.read_file"]


def test_every_hit_says_why_and_carries_the_entry_of_the_catalog(indexes: Make) -> None:
    catalog = Catalog()
    index = indexes(catalog, tags=lambda server: (f"group of {server}",))
    catalog.put(listing("disk", {"read_file": "Read the contents of a file."}, remembered=True))
    (hit,) = index.ask_now("contents").hits
    assert [(reason.field, reason.words) for reason in hit.reasons] == [("description", ("contents",))]
    assert hit.entry is not None and hit.entry.remembered
    assert [reason.field for reason in index.ask_now("group", method="substring").hits[0].reasons] == ["tag"]
    catalog.put(listing("disk", {"read_file": "Read the contents of a file."}))
    (hit,) = index.ask_now("contents").hits
    assert hit.entry is not None and not hit.entry.remembered


def test_among_equal_hits_what_is_connected_comes_before_what_is_remembered(indexes: Make) -> None:
    catalog = Catalog()
    catalog.put(listing("off", {"greet": "Greet."}, remembered=True))
    catalog.put(listing("raw", {"greet": "Greet."}))
    assert names(indexes(catalog).ask_now("greet")) == ["raw.greet", "off.greet"]


def test_the_catalog_is_followed_whatever_it_had_before_and_gets_later(indexes: Make) -> None:
    catalog = Catalog()
    catalog.put(listing("early", {"read": "Read."}))
    index = indexes(catalog)
    assert names(index.ask_now("read")) == ["early.read"]
    catalog.put(listing("late", {"read": "Read.", "": "Nameless."}))
    catalog.put(listing("late", {"read-me": "Read."}, "prompt"))
    assert sorted(names(index.ask_now("read"))) == ["early.read", "late.read", "late.read-me"]
    catalog.put(Listing("late", "tool", (), "loading"))
    catalog.forget("early")
    assert names(index.ask_now("read")) == ["late.read-me"]


def test_what_a_catalog_has_after_the_end_is_nobody_s_business(indexes: Make) -> None:
    catalog = Catalog()
    indexes(catalog).close()
    catalog.put(listing("early", {"read": "Read."}))
    assert searching() == []


async def test_questions_are_answered_while_thousands_of_entries_are_taken_up(indexes: Make) -> None:
    many = [document(f"s{at % 40}", f"tool_{at}", "Counts something.") for at in range(4_000)]
    catalog = Catalog()

    index = indexes(catalog)
    told: list[None] = []
    index.changed.connect(told.append)
    await index.ask("warm")  # what has to be imported is
    lists = [listing(f"s{at}", {one.ref.name: "Counts." for one in many[at::40]}) for at in range(40)]
    began = time.thread_time()
    for one in lists:
        catalog.put(one)
    assert time.thread_time() - began < 0.1, "the loop waits for nothing"
    answers: list[Found] = []
    began = time.thread_time()
    while not answers or answers[-1].pending:
        answers.append(found := await index.ask("tool_77", typing=True))
        assert len(names(found)) == len(set(names(found))) <= 50
        assert all(hit.entry is not None for hit in found.hits)
        seen = len(told)
        await wait_until(lambda seen=seen, found=found: len(told) > seen or not found.pending)
    assert answers[0].pending, "an answer came meanwhile"
    assert (time.thread_time() - began) / len(answers) < 0.01, "an answer is found elsewhere"
    found = answers[-1]
    assert names(found)[0] == "s37.tool_77" and found.of == 4_000


async def test_a_server_that_goes_while_it_is_taken_up_is_found_no_more(indexes: Make) -> None:
    index = indexes()
    index.list("large", "tool", [document("large", f"read_{at}") for at in range(3_000)])
    index.list("small", "tool", [document("small", "read")])
    await index.ask("read", typing=True)
    index.forget("large")
    found = await index.ask("read")
    assert names(found) == ["small.read"] and found.of == 1 and found.pending == 0
    index.list("large", "tool", [document("large", "read")])
    assert names(await index.ask("read")) == ["large.read", "small.read"]


def test_what_lists_and_forgets_much_is_found_as_in_a_new_index(indexes: Make) -> None:
    index, alone = indexes(), indexes()
    last: list[Document] = []
    for round in range(5):
        last = [document("s", f"read_{round}_{at}") for at in range(300)]
        index.list("s", "tool", last)
        assert index.ask_now(f"read {round}", method="bm25").total == 300
    assert names(index.ask_now("read_4_7"))[0] == "s.read_4_7" and not index.ask_now("read_3_7", method="regex").hits
    alone.list("s", "tool", last)
    assert index.ask_now("read 4", method="bm25").hits == alone.ask_now("read 4", method="bm25").hits


async def test_questions_given_up_before_their_turn_are_not_answered(
    indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = indexes()
    index.list("disk", "tool", FILES)
    await index.ask("file")
    asked: list[str] = []
    inside, gate = Feed.ask, threading.Event()

    def ask(self: Feed, query: Query) -> Answer:
        asked.append(query.text)
        assert gate.wait(20)
        return inside(self, query)

    monkeypatch.setattr(Feed, "ask", ask)
    tasks = [asyncio.create_task(index.ask(f"file {number}", method="bm25")) for number in range(200)]
    await asyncio.sleep(0)
    for task in tasks[:-1]:
        task.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert names(await tasks[-1])
    assert len(asked) <= 2, "only what had begun"
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_closing_while_much_is_taken_up_ends_questions_and_threads(indexes: Make) -> None:
    index = indexes()
    index.list("s", "tool", [document("s", f"read_{at}", "Reads. " * 20) for at in range(5_000)])
    asking = [asyncio.create_task(index.ask("read")) for _ in range(5)]
    await index.ask("read", typing=True)
    index.close()
    index.close()
    assert searching() == []
    for answer in await asyncio.gather(*asking, return_exceptions=True):
        told = isinstance(answer, SearchProblem) and "closed" in str(answer)
        assert told or (isinstance(answer, Found) and answer.total == 5_000)
    with pytest.raises(SearchProblem, match="closed"):
        await index.ask("read")
    index.list("s", "tool", [])
    assert searching() == []


def test_who_waits_without_a_loop_is_told_of_the_end(indexes: Make) -> None:
    index = indexes()
    index.close()
    with ThreadPoolExecutor(1) as asking, pytest.raises(SearchProblem, match="no search method"):
        asking.submit(index.ask_now, "read", method="of-a-package").result(5)


def test_two_indexes_have_nothing_to_do_with_each_other(indexes: Make) -> None:
    one, other = indexes(), indexes()
    one.list("disk", "tool", FILES)
    assert one.ask_now("file").hits and not other.ask_now("file").hits
    one.close()
    other.list("disk", "tool", FILES)
    assert other.ask_now("file").hits


def test_nothing_is_begun_before_somebody_asks(indexes: Make) -> None:
    catalog = Catalog()
    catalog.put(listing("disk", {"read": "Read."}))
    index = indexes(catalog, semantic=True)
    assert searching() == []
    assert [info.name for info in index.methods][:2] == ["auto", "substring"] and index.vectors == (0, 0)
    assert index.ask_now("read").hits and searching() == ["search"]
