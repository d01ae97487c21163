"""Narrowing a list that is shown, letter by letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.catalog.listing import Entry, EntryKind, Ref
from mcp_studio.protocol.views import ResourceView, ToolView
from mcp_studio.search.names import Matcher, row
from mcp_studio.tui.panes.catalog import NameFilter


def tool(name: str, description: str = "", server: str = "github", **more: str) -> Entry:
    return Entry(Ref("tool", server, name), ToolView({"name": name, "description": description, **more}))


TOOLS = (
    tool("list_issues", "Lists what was reported."),
    tool("issue_write", "Create or change an issue."),
    tool("search_code", "Find issues in code."),
    tool("getFileContents", "Reads a text."),
    tool("query", "Ask a database.", server="sqlite"),
    tool("", "Has no name, yet it reports issues."),
    tool("Straße", "A street."),
    tool("echo", title="Issue an echo"),
)


def found(text: str, entries: tuple[Entry, ...] = TOOLS) -> list[str]:
    return [entries[place].ref.name for place in NameFilter(entries).find(text).places]


def test_names_that_are_it_come_first_then_beginnings_then_parts_then_the_rest() -> None:
    names = ("reissued", "an_issue", "issue_write", "issues", "issue")
    assert found("issue", tuple(map(tool, names))) == ["issue", "issue_write", "issues", "an_issue", "reissued"]
    assert found("issue") == ["issue_write", "list_issues", "echo", "search_code", ""]


def test_every_word_must_stand_somewhere() -> None:
    assert found("issue change") == ["issue_write"]
    assert found("issue nowhere") == []
    assert found(" \n ") == [entry.ref.name for entry in TOOLS]


def test_other_forms_of_a_word_and_other_ways_to_write_a_name_are_the_same() -> None:
    assert found("writing issues") == ["issue_write"]
    assert found("queries") == ["query"]
    assert found("get_file") == found("gfc") == found("GETFILE") == ["getFileContents"]
    assert found("STRASSE") == ["Straße"]


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("wrk", "Workflows"), ("thm", "Change the theme"), ("sv cll", "Save the call"), ("svRes", "Save the result"),
        ("thmee", "Change the theme"), ("statsitics", "Statistics: how often"), ("palete", "Palette: all by name"),
        ("theme", "Change the theme"), ("change the", "Change the theme"), ("colours", "Change the theme"),
    ],
)  # fmt: skip
def test_letters_in_order_find_a_name_and_so_do_slips(typed: str, name: str) -> None:
    names = ["Save the call", "Save the result", "Mark or unmark the message", "Statistics: how often", "Workflows"]
    names += ["Palette: all by name", "Compare with another message", "Change the theme"]
    rows = [*map(row, names[:-1]), row(names[-1], "colours colors dark light")]
    assert list(Matcher(typed).nearest(rows).places)[:1] == [names.index(name)]
    slips = Matcher("chagne the theme").nearest(rows)
    assert slips.scores[0] < Matcher("thm").nearest(rows).scores[0] < Matcher("colours").nearest(rows).scores[0]


def test_what_only_looks_alike_is_not_shown_beside_what_has_the_words() -> None:
    rows = [row("echo"), row("export_channels_out"), row("a" * 200)]
    assert list(Matcher("echo").nearest(rows).places) == [0]
    assert list(Matcher("xyz").nearest(rows).places) == []
    assert list(Matcher("a" * 39 + "b").nearest(rows).places) == [2], "and that at once"


def test_servers_are_found_and_names_behind_them() -> None:
    assert found("sqlite") == found("sqlite.") == found("sqlite.que") == found("SQLITE.uery") == ["query"]
    assert found("github.issue") == ["issue_write", "list_issues", "echo", "search_code", ""]
    assert found("other.issue") == []


def test_duplicates_and_resources_are_rows_as_well() -> None:
    kind: EntryKind = "resource"
    notes = Entry(Ref(kind, "demo", "demo://notes/1"), ResourceView({"name": "note", "uri": "demo://notes/1"}))
    titled = Entry(notes.ref, ResourceView({"name": "x", "title": "My note", "uri": "demo://notes/1"}))
    same = (notes, titled, notes)
    assert list(NameFilter(same).find("note").places) == [0, 2, 1]
    assert list(NameFilter(same).find("demo://").places) == [0, 1, 2]


def test_marks_an_index_puts_between_parts_are_found_nowhere_in_foreign_text() -> None:
    hostile = tool("zzz", "\x1fissue\x1e\x1dissue\x1c")
    assert found("issue", (hostile, tool("an_issue")))[0] == "an_issue"


def test_the_pieces_of_a_name_that_were_asked_for_are_told() -> None:
    assert Matcher("file get_con").pieces("getFileContents") == ("File", "get", "Con")
    assert Matcher("issues").pieces("list_issue") == ("issue",)
    assert Matcher("nowhere").pieces("list_issue") == ()
    assert Matcher("a  a b").words == ["a", "b"]


TYPED = "abAB1s_."


@given(st.lists(st.tuples(st.text(TYPED, max_size=6), st.text("abs 1.", max_size=6))), st.text(TYPED + " ", max_size=6))
def test_typing_finds_what_asking_at_once_finds_and_all_that_has_the_words(
    texts: list[tuple[str, str]], asked: str
) -> None:
    entries = [tool(name, text, server="") for name, text in texts]
    typed = NameFilter(entries)
    places = [list(typed.find(asked[:end]).places) for end in range(len(asked) + 1)][-1]
    assert places == list(NameFilter(entries).find(asked).places) and len(set(places)) == len(places)
    words = Matcher(asked.lower()).words
    has = {at for at, (name, text) in enumerate(texts) if all(word in f"{name}\n{text}".lower() for word in words)}
    assert has <= set(places)
