"""The way of searching that nobody has to choose: names, then words, then what is nearly right; meaning where it is."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.search import auto
from mcp_studio.search.auto import search
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Answer, Document, Query, Reason, Scored, SearchProblem
from mcp_studio.search.names import Matcher, Substring, row
from tests.search.index_kit import Make, document, names

TOOLS = [
    document("github", "create_issue", "Open a new issue in a repository."),
    document("github", "list_issues", "Issues of a repository, open or closed."),
    document("github", "get_file_contents", "Read a file of a repository."),
    document("jira", "createIssue", "Make a ticket."),
    document("jira", "issue", "One ticket."),
    document("files", "read_file", "Read the contents of a text file."),
    document("files", "read", "Read anything, such as an issue of a magazine."),
    document("files", "thread_count", "How many threads there are."),
    document("notes", "搜索笔记", "在笔记中搜索"),
]


class Engines:
    """Methods over some documents; `asked` says which were asked."""

    def __init__(self, tools: Sequence[Document] = TOOLS, hybrid: Sequence[Scored] = ()) -> None:
        self.methods = {"bm25": Bm25(), "substring": Substring()}
        self.hybrid = Answer(hybrid, len(hybrid))
        self.asked: list[str] = []
        for method in self.methods.values():
            method.index(tools)

    def ask(self, name: str, query: Query) -> Answer:
        self.asked.append(name)
        return self.hybrid if name == "hybrid" else self.methods[name].search(query)

    def search(self, text: str, *, meaning: bool = False, typing: bool = False, limit: int = 50) -> auto.Served:
        return auto.search(Query(text, limit, typing=typing), self.ask, meaning=lambda: meaning)


def found(text: str, tools: Sequence[Document] = TOOLS, *, typing: bool = False) -> list[str]:
    return [str(hit.ref) for hit in Engines(tools).search(text, typing=typing).answer.hits]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("issue", ["jira.issue", "github.create_issue", "jira.createIssue"]),
        ("create issue", ["github.create_issue", "jira.createIssue"]),
        ("createIssue", ["github.create_issue", "jira.createIssue"]),
        ("CREATE_ISSUE", ["github.create_issue", "jira.createIssue"]),
        ("read", ["files.read", "files.read_file"]),
        ("read fi", ["files.read_file"]),
        ("jira create", ["jira.createIssue"]),
        ("jira.createIssue", ["jira.createIssue"]),
        ("file contents", ["github.get_file_contents"]),
        ("搜索", ["notes.搜索笔记"]),
    ],
)
@pytest.mark.parametrize("typing", [False, True])
def test_a_name_with_all_that_was_typed_goes_before_the_rest(text: str, first: list[str], typing: bool) -> None:
    assert sorted(found(text, typing=typing)[: len(first)]) == sorted(first)
    assert found(text, typing=typing)[0] == first[0]


def test_what_stands_inside_of_a_name_comes_after_what_begins_so_and_before_the_rest() -> None:
    hits = found("read")
    assert hits.index("files.read_file") < hits.index("files.thread_count") < hits.index("github.get_file_contents")


def test_every_key_on_the_way_to_a_name_finds_it() -> None:
    for end in range(3, len("list_issues") + 1):
        assert found("list_issues"[:end], typing=True)[0] == "github.list_issues", "list_issues"[:end]


def test_what_is_nearly_right_is_shown_where_too_little_is_found() -> None:
    served = Engines().search("thraedcuont")
    assert [hit.ref.name for hit in served.answer.hits] == ["thread_count"]
    assert served.method == "substring" and "similar" in served.answer.note
    assert len(found("read a file of a repository")) == len(set(found("read a file of a repository")))


def test_a_sentence_is_ranked_by_its_words_alone() -> None:
    engines = Engines()
    sentence = "how can I read the contents of some text file from the repository"
    served = engines.search(sentence)
    assert engines.asked == ["bm25"] and served.method == "bm25"
    assert [hit.ref for hit in served.answer.hits] == [hit.ref for hit in engines.ask("bm25", Query(sentence)).hits]


def test_a_sentence_of_which_words_find_little_is_looked_for_in_names_as_well() -> None:
    engines = Engines(TOOLS[:2])
    engines.search("please show me all magazines in this place")
    assert engines.asked == ["bm25", "substring"]


def test_meaning_is_mixed_in_for_several_words_where_it_is_known() -> None:
    near = [Scored(TOOLS[4].ref, 0.9), Scored(TOOLS[0].ref, 0.5)]
    engines = Engines(hybrid=near)
    served = engines.search("a complaint of a customer who waits", meaning=True)
    assert [hit.ref for hit in served.answer.hits][:2] == [TOOLS[4].ref, TOOLS[0].ref]
    assert "hybrid" in served.method and "bm25" not in engines.asked
    assert engines.search("搜索", meaning=True) and engines.asked[-2:] == ["hybrid", "substring"]
    engines.search("complaint", meaning=True)
    assert engines.asked[-2:] == ["bm25", "substring"], "one word is a name, or the beginning of one"
    for word in ("müller", "🎉", "🎉 🎉", "файл"):
        engines.search(word, meaning=True)
        assert engines.asked[-2:] == ["bm25", "substring"], word
    assert [hit.ref for hit in engines.search("create issue", meaning=True).answer.hits][:1] == [TOOLS[0].ref]


def test_answers_are_the_same_whatever_came_first() -> None:
    for text in ("issue", "read", "repository", "a ticket"):
        assert found(text) == found(text, TOOLS[::-1])


def test_totals_count_what_there_is_and_limits_hold() -> None:
    many = [document("s", f"read_{at:03}", "Reads.") for at in range(120)]
    answer = Engines(many).search("read", limit=7).answer
    assert len(answer.hits) == 7 and answer.total == 120
    books = [document(f"s{at}", name, "Of books.") for at in range(6) for name in ("list_books", "book")]
    served = Engines(books).search("books?", limit=1)
    assert served.method == "bm25" and served.answer.note == "", "few are shown, but many were found"
    assert Engines().search("nothing of this kind").answer.total == len(found("nothing of this kind"))


def test_a_name_that_is_what_was_typed_goes_before_one_that_has_it_and_that_before_words() -> None:
    def of(text: str, name: str, server: str = "s") -> float:
        return Matcher(text).match(row(name, server=server)) or 0.0

    assert of("get user", "getUser") == of("getuser", "getUser") == 2
    assert 2 > of("get us", "getUserName") > of("name get", "getUserName") > of("ser", "getUserName") > 1
    assert 1 > of("se", "getUserName") > 0, "two letters stand everywhere"
    assert of("github get user", "getUser", "github") > 1 > of("github", "getUser", "github") > 0
    assert of("nowhere", "getUser") == 0


def test_what_is_missing_is_said_once(indexes: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_studio.search.engine.available", lambda: (False, "Do this to get it"))
    index = indexes(semantic=True)
    index.list("github", "tool", TOOLS[:3])
    said = "Only words were compared. Do this to get it."
    assert index.ask_now("issue").note == "", "one word needs no meaning"
    assert index.ask_now("open an issue", typing=True).note == said
    assert index.ask_now("open an issue", typing=True).note == "" and names(index.ask_now("open an issue"))
    asked = indexes(semantic=True)
    asked.list("github", "tool", TOOLS[:6])
    assert asked.ask_now("read an issue of a repository").note == "", "who found something was served"
    assert asked.ask_now("zebra crossing").note == said and asked.ask_now("zebra crossing").note == ""
    info = {info.name: info for info in index.methods}
    assert not info["semantic"].available and info["semantic"].why_not == "Do this to get it"
    unwished = indexes(semantic=False)
    unwished.list("github", "tool", TOOLS[:3])
    assert unwished.ask_now("open an issue").note == ""


def test_chinese_is_taken_apart_as_wished_and_what_is_missing_for_that_is_said_once(
    indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_studio.search.bm25.dictionary", lambda: None)
    index = indexes(cjk="jieba")
    index.list("notes", "tool", TOOLS[-1:])
    assert index.ask_now("搜索笔记").note.count("mcp-studio[cjk]") == 1
    assert index.ask_now("搜索笔记").note == "" and names(index.ask_now("搜索笔记")) == ["notes.搜索笔记"]
    nothing = indexes(cjk="jieba")
    nothing.list("github", "tool", TOOLS[:3])
    assert "mcp-studio[cjk]" in nothing.ask_now("天气预报", method="bm25").note, "also where nothing is found"
    plain = indexes()
    plain.list("notes", "tool", TOOLS[-1:])
    assert plain.ask_now("搜索笔记").note == ""


def test_how_many_are_wanted_changes_neither_the_order_nor_how_many_there_are() -> None:
    hits = [Scored(Ref("tool", "s", name), 1 / at) for at, name in enumerate((*"abcdefgh", "read"), 1)]

    def ask(name: str, query: Query) -> Answer:
        found = (
            hits
            if name == "bm25"
            else [Scored(hit.ref, 2.0 if hit.ref.name == "read" else 0.1) for hit in reversed(hits)]
        )
        return Answer(found[: query.limit], len(hits))

    whole = auto.search(Query("read", 50), ask, meaning=lambda: False).answer
    assert whole.hits[0].ref.name == "read"
    for limit in (1, 3, 8):
        assert auto.search(Query("read", limit), ask, meaning=lambda: False).answer == (whole.hits[:limit], 9, "")


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
