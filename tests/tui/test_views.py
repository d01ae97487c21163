"""Lists, viewers and tables: what they show, find, fold and copy, of any size and whatever bytes come."""

from __future__ import annotations

import csv
import io
import json
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.color import Color
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.present.blocks import Block
from mcp_studio.safetext import is_live, safe
from mcp_studio.tui.app import SHEETS
from mcp_studio.tui.framework import PICTURE, PLACEHOLDER, WALL
from mcp_studio.tui.panes.result import table_in
from mcp_studio.tui.themes import complete
from mcp_studio.tui.views.content_view import is_markdown
from mcp_studio.tui.views.diff_view import DiffView
from mcp_studio.tui.views.image import draw
from mcp_studio.tui.views.json_view import JsonTree, JsonView, children_of, paint
from mcp_studio.tui.views.lines import TabLine
from mcp_studio.tui.views.rows import (
    ASCII,
    UNICODE,
    Findable,
    RowsView,
    TextView,
    VirtualList,
    break_rows,
    choose,
    cut,
    fit,
    glyphs,
    mark_matches,
    spread,
    width_of,
)
from mcp_studio.tui.views.table_view import ROWS_MOST, TableView, csv_of
from tests.support import wait_until


class Host(App[None]):
    """One view, focused, behind the wall; keeps the messages."""

    CSS_PATH = [*SHEETS]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, view: Widget) -> None:
        super().__init__()
        self.view = view
        self.seen: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def get_css_variables(self) -> dict[str, str]:
        return complete(super().get_css_variables())

    def get_line_filters(self) -> Any:
        return [*super().get_line_filters(), WALL]

    def lines(self, view: Widget | None = None) -> list[str]:
        """What is shown, without trailing spaces."""
        shown = view or self.view
        return [strip.text.rstrip() for strip in shown.render_lines(shown.size.region)][: shown.size.height]


@asynccontextmanager
async def hosted(view: Widget, size: tuple[int, int] = (40, 10)) -> AsyncGenerator[tuple[Host, Pilot[None]]]:
    host = Host(view)
    async with host.run_test(size=size, message_hook=host.seen.append) as pilot:
        next(widget for widget in view.walk_children(Widget, with_self=True) if widget.focusable).focus()
        await pilot.pause()
        yield host, pilot


# Tabs


async def test_tabs_are_walked_by_keys_and_opened_by_clicks_and_the_active_one_is_in_view() -> None:
    tabs = TabLine({"text": "Text", "raw": "Raw", "diff": "Diff"})
    async with hosted(tabs, (11, 3)) as (host, pilot):
        assert host.lines() == ["Text Raw Di"]
        await pilot.press("right", "right")
        assert tabs.active == "diff" and host.lines() == ["Raw Diff"]
        await pilot.press("right")
        assert tabs.active == "text" and host.lines() == ["Text Raw Di"]
        await pilot.click(tabs, offset=(6, 0))
        assert tabs.active == "raw"
        await pilot.press("left", "left")
        assert tabs.active == "diff"
    assert len({id(one) for one in host.seen if isinstance(one, TabLine.Activated)}) == 6
    async with hosted(TabLine(tabs.labels), (13, 3)) as (host, pilot):
        await pilot.press("left")
        assert host.lines() == ["Text Raw Diff"], "all of them fit"


async def test_without_its_tab_the_one_behind_it_is_active() -> None:
    tabs = TabLine({"form": "Form", "json": "JSON", "schema": "Schema"})
    async with hosted(tabs) as (host, pilot):
        await pilot.press("right")
        tabs.show({"form": "Form", "schema": "Schema 2"})
        assert tabs.active == "schema"
        tabs.show({"form": "Form"})
        await pilot.pause()
        assert tabs.active == "form" and host.lines() == ["Form"]


# Lines


@pytest.mark.parametrize("text", ["", "short", "exactly 10", "longer than ten", "漢字漢字漢字漢字", "é" * 30])
def test_pieces_of_a_line_take_the_cells_that_they_are_given(text: str) -> None:
    assert cell_len(fit(text, 10)) == cell_len(fit(text, 10, right=True)) == 10
    assert cell_len(cut(text, 10)) == min(10, cell_len(text)) and fit(text, 0) == ""
    pieces = spread([(text, "x"), ("more", "y")], [("12ms", "dim")], 12)
    assert width_of(pieces) == 12 and pieces[-1] == ("12ms", "dim")


def test_matches_are_marked_whatever_their_case() -> None:
    assert mark_matches("Read a.b", ["re", "."]) == [("Re", "match"), ("ad a", ""), (".", "match"), ("b", "")]
    assert mark_matches("text", []) == [("text", "")]


def test_every_sign_is_one_cell_and_the_plain_set_is_ascii() -> None:
    names = [name for name in dir(UNICODE) if not name.startswith("_")]
    assert {cell_len(getattr(UNICODE, name)) for name in names} == {len(getattr(ASCII, name)) for name in names} == {1}
    assert all(getattr(ASCII, name).isascii() for name in names)
    try:
        assert choose(ascii=True) is glyphs() is ASCII
    finally:
        assert choose(ascii=False) is glyphs() is UNICODE


# Text as rows


def rows(text: str, width: int = 20) -> list[str]:
    whole = safe(text, len(text), lines=True)
    starts = [*break_rows(whole, width), len(whole)]
    return [whole[start:end].removesuffix("\n") for start, end in pairwise(starts)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", []), ("one\n\ntwo\n", ["one", "", "two"]), ("no line end", ["no line end"]), ("\n\n", ["", ""]),
        ("the quick brown fox jumps over the lazy dog", ["the quick brown fox ", "jumps over the lazy ", "dog"]),
        ("x" * 45, ["x" * 20, "x" * 20, "x" * 5]), ("x" * 20 + " ", ["x" * 20 + " "]),
        ("漢" * 25, ["漢" * 10, "漢" * 10, "漢" * 5]), ("e\u0301" * 25, ["e\u0301" * 20, "e\u0301" * 5]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("\x1b[31mred\u202e", ["␛[31mred⟦U+202E⟧"]),
    ],
)  # fmt: skip
def test_text_becomes_rows_that_fit_and_are_safe(text: str, shown: list[str]) -> None:
    assert rows(text) == shown


@pytest.mark.parametrize("unit", ["word ", "x", "漢", "é", "line\n", "a longer line of words\n", "🙂 "])
def test_no_character_is_lost_or_doubled(unit: str) -> None:
    source = unit * (200_000 // len(unit.encode()))
    shown = rows(source, 33)
    assert "".join(shown) == source.replace("\n", "")
    assert all(cell_len(row.removesuffix(" ")) <= 33 for row in shown)


@settings(max_examples=40)
@given(st.text(st.characters(codec="utf-8"), max_size=80), st.integers(4, 12))
def test_any_text_is_shown_whole_in_rows_that_fit(source: str, width: int) -> None:
    whole = safe(source, len(source), lines=True)
    starts = list(break_rows(whole, width))
    assert "".join(rows(source, width)) == whole.replace("\n", "")
    assert starts == sorted(set(starts))
    assert all(cell_len(row.rstrip(" ")) <= width or len(row) == 1 for row in rows(source, width))


# JSON as rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def unfold(tree: JsonTree, width: int = 60) -> None:
    """Open everything, learn everything."""
    row = 0
    while row < tree.rows:
        if not tree.is_line(row) and not tree.is_closing(row) and not tree.is_open(row):
            tree.open(row, width)
        row += 1


def value(tree: JsonTree, row: int) -> Any:
    """The value of a row, put together from what the tree shows."""
    start, end = tree.value_start(row), tree.value_end(row)
    if not tree.is_container(row):
        return json.loads(bytes(tree.data[start:end]))
    inner = [child for child in range(row + 1, tree.rows) if tree.owner(child) == child and tree.parent(child) == row]
    if bytes(tree.data[start : start + 1]) == b"[":
        return [value(tree, child) for child in inner]
    return {json.loads(tree.key(child) or b""): value(tree, child) for child in inner}


@settings(max_examples=25)
@given(VALUES, st.sampled_from([None, 0, 4]), st.booleans())
def test_any_json_unfolds_to_what_it_says_and_folds_again(source: Any, indent: int | None, ascii_only: bool) -> None:
    tree = JsonTree(json.dumps(source, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
    unfold(tree)
    assert value(tree, 0) == source
    if tree.is_open(0):
        tree.close(0)
    assert tree.rows == 1


@settings(max_examples=60)
@given(st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b" ", b"1", b"\xff", b"a", b"\n"])))
def test_bytes_that_are_no_json_are_borne(pieces: list[bytes]) -> None:
    tree = JsonTree(b"".join(pieces))
    unfold(tree, 8)
    for row in range(tree.rows):
        if tree.owner(row) == row:
            assert tree.pointer(row).count("/") == tree.levels[row]
            tree.text(row)


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"[]", 0), (b"[ ] ", 0), (b"[1]", 1), (b'{"a":1,"a":2}', 2),
        (b'["a,]","\\"]",[[[[[[1,2],3]]]]],{}]', 4), (b'{"a,}":{"b":{"c":{"d":{"e":{}}}}},"x":"\\\\"}', 2),
        (b'["' + b"x" * 200_000 + b'",2]', 2), (b"[" + b"[" * 50_000 + b"]" * 50_000 + b",2]", 2),
        (b"[" + b" " * 200_000 + b"1,2]", 2), (b'["' + b"\\\\" * 100_000 + b'",2]', 2),
        (b"[1,", -1), (b'["abc', -1), (b"[[[", -1), (b'{"a":', -1), (b'["' + b"x" * 100_000 + b"\\", -1),
    ],
    ids=lambda one: str(one)[:40],
)  # fmt: skip
def test_children_are_counted_at_every_size_and_what_ends_too_soon_says_so(data: bytes, count: int) -> None:
    """A count of -1 is one child in a text that ends too soon."""
    starts, closing = children_of(data, 0)
    assert len(starts) == abs(count)
    assert closing == len(data.rstrip()) - (count >= 0)


def test_parts_of_json_are_painted_by_kind() -> None:
    looks = {text: look for text, look in paint('{"key": "value", "n": -1.5e3, "t": true, "cut')}
    assert looks['"key"'] == "key" and looks['"value"'] == looks['"cut'] == "string"
    assert looks["-1.5e3"] == "number" and looks["true"] == "constant"


# JSON on screen

RESULT = {
    "content": [{"type": "text", "text": "first line\nsecond " + "word " * 30}],
    "structured": {"number": 41, "a/b~c": [True, None, {"deep": [1, [2, [3, "x" * 60]]]}]},
    "isError": False,
}


def all_rows(view: RowsView) -> list[str]:
    """All rows, on screen or not."""
    drawn = (view.render_row(row, view.row_width, False) for row in range(view.row_count))
    return ["".join(text for text, _ in line).rstrip() for line in drawn]


def go_to(view: JsonView, text: str) -> None:
    view.move_to(next(number for number, row in enumerate(all_rows(view)) if text in row))


async def test_json_folds_copies_and_is_walked_through() -> None:
    view = JsonView()
    view.show(json.dumps(RESULT))
    async with hosted(Findable(view), (40, 30)) as (host, pilot):
        shown = all_rows(view)
        assert shown[0].startswith("▾ {  3 keys, ") and shown[-1] == "  }"
        assert '    "isError": false' in shown and '      "number": 41' in shown

        go_to(view, '"text": "first')
        at, before = view.cursor, view.row_count
        await pilot.press("enter")
        assert "string, " in all_rows(view)[at] and all_rows(view)[at + 1].endswith("│ first line")
        opened = view.row_count
        await pilot.resize_terminal(80, 30)
        await pilot.pause()
        assert before < view.row_count < opened, "an open string is wrapped anew"
        await pilot.press("down", "y", "left")
        assert host.clipboard == RESULT["content"][0]["text"]  # type: ignore[index]
        assert view.cursor == at, "closed from one of its lines"

        go_to(view, '"structured"')
        await pilot.press("y")
        assert json.loads(host.clipboard) == RESULT["structured"]
        go_to(view, '"a/b~c"')
        await pilot.press("Y")
        assert host.clipboard == "/structured/a~1b~0c"
        await pilot.press("left", "left")
        go_to(view, '"structured"')
        await pilot.press("space", "left")
        assert view.cursor == 0
        await pilot.press("space")
        assert view.row_count == 1
        await pilot.click(view, offset=(0, 0))
        assert view.row_count >= 5, "a click on the sign opens"


async def test_json_that_is_wrong_odd_or_nothing_is_shown_as_it_came() -> None:
    view = JsonView()
    view.show(b'{"n": 1.0e400, "n": 007, oops, "evil": "\x1b[2J\xff"} trailing', {"/n": "✗ bad \x1b[0m"})
    async with hosted(Findable(view)) as (host, pilot):
        lines = "\n".join(host.lines(view))
        assert '"n": 1.0e400  ✗ bad ␛[0m' in lines and '"n": 007' in lines and "oops" in lines and "␛[2J" in lines
        view.show(b"[[1, ")
        await pilot.press("down", "enter")
        assert "its end is missing" in "\n".join(host.lines(view))
        view.show("")
        view.empty = "No result."
        await pilot.pause()
        assert host.lines(view)[0] == " No result."
        await pilot.press("enter", "left", "right", "y", "n", "G")
        view.show("42")
        await pilot.press("y")
        assert host.lines(view)[0] == "  42" and host.clipboard == "42"
        view.display = False
        await pilot.pause()
        view.show('{"a": [1, 2, 3], "b": "' + "x" * 100 + '"}')
        view.display = True
        await wait_until(lambda: host.lines(view)[1:2] == ['  ▸ "a": [1, 2, 3]'], what="set while hidden")


async def test_large_json_is_there_at_once_and_a_search_opens_what_it_finds() -> None:
    inner = ",".join(json.dumps({"number": number, "inner": {"word": f"needle {number}"}}) for number in range(60_000))
    words, view = "words " * 20, JsonView()
    async with hosted(Findable(view), (60, 10)) as (host, pilot):
        view.show(f'{{"rows": [{inner}], "last": "{words}\\nat the end"}}')
        await pilot.pause()
        assert host.lines(view)[0].startswith("▾ {")
        await pilot.press("slash", *"needle 59123", "enter")
        await wait_until(lambda: '"needle 59123"' in host.lines(view)[view.cursor - view.top], what="the hit")
        assert view.row_count > 60_000 and host.query_one("#count", Widget).render() is not None
        await pilot.press("escape", "slash", *"at the end", "enter")
        await wait_until(lambda: "│ at the end" in host.lines(view)[view.cursor - view.top], what="a line of a string")


# Text on screen


async def test_text_scrolls_is_searched_and_copied_as_it_came() -> None:
    text = (
        "\x1b[31mred [bold]no markup[/bold]\n"
        + "word " * 20
        + "\nzwei äpfel\nÄPFEL\n"
        + "".join(f"line {number}\n" for number in range(1_000))
    )
    view = TextView(text)
    async with hosted(Findable(view), (40, 10)) as (host, pilot):
        view.show(b"ok \xff\xfe end")
        assert host.lines(view)[0] == "ok \\xff\\xfe end"
        view.show(text)
        await pilot.pause()
        assert host.lines(view)[:2] == ["␛[31mred [bold]no markup[/bold]", "word word word word word word word word"]
        await pilot.press("y")
        assert host.clipboard == text
        await pilot.press("G")
        assert host.lines(view)[-1] == "line 999"
        await pilot.press("k", "pageup", "g", "down")
        assert host.lines(view)[0].startswith("word")
        await pilot.press("slash", *"line 42")
        await wait_until(lambda: "line 42" in host.lines(view), what="the first hit")
        await pilot.press("enter", "n")
        assert str(host.query_one("#count").render()) == "2 of 11" and view.has_focus
        await pilot.press("N", "N")
        assert str(host.query_one("#count").render()) == "11 of 11", "round at the ends"
        for words, count in (("äpfel", "1 of 2"), ("ÄPFEL", "1 of 1"), ("pears", "not found")):
            host.query_one(Input).value = words
            await wait_until(lambda count=count: str(host.query_one("#count").render()) == count, what=count)
        await pilot.press("escape")
        assert view.has_focus and not view.needle and not host.query_one("#find").display
        view.show("the quick brown fox jumps over the lazy dog again\nsecond line\n")
        await pilot.pause()
        await pilot.mouse_down(view, offset=(4, 0))
        await pilot.hover(view, offset=(2, 1))
        await pilot.mouse_up(view, offset=(2, 1))
        await pilot.press("y")
        assert host.clipboard == "quick brown fox jumps over the lazy dog", "without the breaks of wrapping"


async def test_the_end_of_a_long_text_is_reached_and_a_new_width_keeps_the_place() -> None:
    view = TextView("".join(f"{number} {'word ' * 12}\n" for number in range(40_000)))
    async with hosted(view, (40, 10)) as (host, pilot):
        await pilot.press("G")
        await wait_until(lambda: host.lines()[-2].startswith("39999"), what="the end")
        await pilot.press("pageup", "pageup")
        first = next(line for line in host.lines() if line[0].isdigit()).split()[0]
        await pilot.resize_terminal(71, 10)
        await wait_until(lambda: view.row_count == 40_000)
        await pilot.pause()
        assert abs(int(host.lines()[0].split()[0]) - int(first)) <= 1


# Lists


async def test_a_list_draws_what_is_seen_and_its_cursor_stays_on_its_row() -> None:
    drawn: list[str] = []

    def draw_row(row: str, width: int, selected: bool) -> list[tuple[str, str]]:
        drawn.append(row)
        return [(row, "")]

    def names(count: int, start: int = 0) -> list[str]:
        return [f"row {number}" for number in range(start, start + count)]

    view = VirtualList[str](draw_row, key=str, empty="Nothing here.\nPress n to add one, it is quite really simple.")
    async with hosted(view) as (host, pilot):
        assert [line.strip() for line in host.lines()[:3]] == [
            "Nothing here.", "Press n to add one, it is quite", "really simple.",
        ]  # fmt: skip
        await pilot.press("down", "G", "pagedown", "enter")
        view.show(names(10_000))
        await pilot.pause()
        assert host.lines() == names(10) and len(set(drawn)) <= 12
        for key, place in [("j", 1), ("k", 0), ("G", 9_999), ("j", 9_999), ("g", 0), ("pagedown", 9), ("pageup", 0)]:
            await pilot.press(key)
            assert view.cursor == place, key
        await pilot.press(*["down"] * 30)
        at = host.lines().index("row 30")
        view.show(names(200, 10))
        await pilot.pause()
        assert view.row == "row 30" and host.lines().index("row 30") == at
        assert view.vertical_scrollbar.window_virtual_size == 200 and view.max_scroll_y == 190
        view.show([row for row in names(200, 10) if row != "row 30"])
        assert view.row == "row 31", "the row that came into its place"
        assert view.go_to("row 150") and not view.go_to("none")
        view.show(names(5), keep=False)
        await pilot.pause()
        assert not view.show_vertical_scrollbar
        await pilot.press("enter")
        await pilot.double_click(view, offset=(3, 2))
        await pilot.pause()
        # The hook sees a message once for every widget that it bubbles through.
        chosen = {id(message): message for message in host.seen if isinstance(message, VirtualList.Chosen)}
        assert [message.row for message in chosen.values()] == ["row 0", "row 2"]


# Differences


async def test_differences_stand_by_their_place_and_n_goes_from_one_to_the_next() -> None:
    view = DiffView()
    async with hosted(view, (60, 20)) as (host, pilot):
        view.show({"a": 1, "same": 2, "text": "one\ntwo\nthree"}, {"a": 2, "same": 2, "text": "one\nTWO\x1b\nthree"})
        await wait_until(lambda: view.differences, what="differences")
        await pilot.pause()
        shown = [line.strip() for line in host.lines() if line]
        assert shown[0].endswith("changed") and shown[1:3] == ["- 1", "+ 2"]
        assert "- two" in shown and "+ TWO␛" in shown and not [line for line in shown if "same" in line]
        await pilot.press("n")
        assert view.cursor == 3
        view.show({"a": 1}, {"a": 1})
        await wait_until(lambda: "No differences." in "\n".join(host.lines()), what="a sentence")


# Tables

PEOPLE = [{"name": "Ada", "born": 1815, "tags": ["a"]}, {"name": "bob", "born": None}, {"name": "Cy\x1b", "born": 1.5}]


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (PEOPLE, 3), ({"n": 1, "people": PEOPLE}, 3), ({"a": {"b": PEOPLE}}, 3), ({"a": {"b": {"c": PEOPLE}}}, 0),
        ([1, 2], 0), ([{}, {}], 0), ([], 0), ([*PEOPLE, 1], 0), ("text", 0), (None, 0),
    ],
)  # fmt: skip
def test_arrays_of_objects_near_the_top_are_tables(value: Any, count: int) -> None:
    assert len(table_in(value) or ()) == count


async def test_a_table_sorts_copies_and_grows_as_one_scrolls() -> None:
    rows = [{"id": number, "name": f"row {number}", "odd": bool(number % 2)} for number in range(ROWS_MOST + 5)]
    view = TableView(rows)
    async with hosted(view, (60, 12)) as (host, pilot):
        assert view.summary == "first 10,000 of 10,005 rows" and view.row_count < 2_000
        await pilot.press("pagedown", "g", "y", "right", "y")
        assert host.clipboard == "row 0"
        await pilot.press("space", "space", "y")
        assert host.clipboard == "row 9999", "sorted by the text, the largest first"
        await pilot.press("c")
        copied = list(csv.reader(io.StringIO(host.clipboard)))
        assert len(copied) == len(rows) + 1 and copied[:2] == [["id", "name", "odd"], ["9999", "row 9999", "true"]]
        await pilot.press("G")
        await wait_until(lambda: view.cursor_row == ROWS_MOST - 1, what="the last row that is shown")
        view.filter("Row 99")
        assert view.summary == "111 of 10,005 rows" and view.row_count == 111
        view.filter("nowhere")
        await pilot.press("y", "space", "g", "G")
        assert view.row_count == 0 and view.summary == "0 of 10,005 rows"
    assert TableView([dict.fromkeys("abcdefghijklmnopqrst", 1)] * ROWS_MOST).summary == "10,000 rows"


async def test_a_small_table_shows_numbers_right_and_foreign_text_safe() -> None:
    async with hosted(TableView(PEOPLE), (60, 12)) as (host, pilot):
        shown = "\n".join(host.lines())
        assert "Cy␛" in shown and "null" in shown and "\x1b" not in shown
        await pilot.click(host.view, offset=(12, 0))
        assert [line.split()[0] for line in host.lines()[1:4]] == ["Cy␛", "Ada", "bob"], "what is null comes last"
    assert csv_of(PEOPLE).splitlines()[1:3] == ['Ada,1815,"[""a""]"', "bob,,"]


# Markdown and images


@pytest.mark.parametrize(
    ("text", "mime", "rendered"),
    [
        ("plain", "text/markdown", True), ("# Title\n\nsome **bold** words", "", True),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two\n", "", True), ("plain words, 2 * 3 * 4", "", False),
        ("# a comment\nimport os\n\ndef f(**kw): ...\n", "", False), ("# a comment\nkey:\n- one\n- two\n", "", False),
        ("# Title\n\nsome **bold** words", "text/x-python", False), ("# T\n\n**bold** " * 9_000, "", False),
    ],
    ids=lambda one: str(one)[:40],
)  # fmt: skip
def test_text_is_rendered_where_it_is_called_markdown_or_looks_so(text: str, mime: str, rendered: bool) -> None:
    block = Block("text", text, mime)
    assert is_markdown(block, None) is rendered
    assert not is_markdown(block, False) and is_markdown(block, True) is (len(text) < 32_000)


def png(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (10, 200, 30)).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("size", "room", "larger", "cells"),
    [
        ((4, 4), (80, 24), False, (4, 2)),
        ((4, 4), (80, 24), True, (32, 16)),
        ((40, 20), (80, 24), True, (80, 20)),
        ((800, 400), (40, 24), True, (40, 10)),
        ((10, 1000), (80, 20), False, (1, 20)),
    ],
)
def test_an_image_keeps_its_proportions_and_colours(
    size: tuple[int, int], room: tuple[int, int], larger: bool, cells: tuple[int, int]
) -> None:
    drawn = draw(png(*size), *room, larger=larger)
    assert (drawn[0].cell_length, len(drawn)) == cells
    style = next(iter(drawn[0])).style
    assert style and style.color and style.color.triplet == (10, 200, 30)
    assert {segment.text for strip in draw(png(*size), *room, ascii=True) for segment in strip} == {" "}


def bomb() -> bytes:
    """A head that promises 60,000 x 60,000 pixels."""
    head = png(8, 8)
    wide = b"IHDR" + (60_000).to_bytes(4, "big") * 2 + head[24:29]
    return head[:12] + wide + zlib.crc32(wide).to_bytes(4, "big") + head[33:]


@pytest.mark.parametrize("data", [b"", b"no image", png(8, 8)[:40], b"%!PS-Adobe-3.0 EPSF-3.0\n", bomb()])
def test_what_cannot_be_drawn_says_why(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"[a-z]{3}"):
        draw(data, 80, 24)


def test_only_cells_of_a_picture_keep_its_placeholders_and_nothing_else_that_is_live() -> None:
    cell = f"{PLACEHOLDER}\u0305\u030d"
    picture = Style(color="#010203", meta={PICTURE: True})

    def left(text: str, style: Style | None) -> str:
        return "".join(segment.text for segment in WALL.apply([Segment(text, style)], Color(0, 0, 0)))

    assert left(cell, picture) == cell
    assert left(f"\x1b_G{cell}\x1b\\\u202e", picture).rstrip() == f"_G{cell}\\"
    for style in (None, Style(color="#010203"), Style(color="#010203", link="http://x")):
        assert PLACEHOLDER not in left(cell, style)
    assert PLACEHOLDER not in safe(cell)


async def test_text_of_a_server_cannot_draw_a_picture() -> None:
    hostile = f"[$mcp_studio_picture]{PLACEHOLDER}\u0305[/]\x1b_Ga=p,i=1;\x1b\\"
    async with hosted(TextView(hostile), (80, 10)) as (host, _):
        shown = "\n".join(host.lines())
        assert "a=p,i=1" in shown and not [char for char in shown if char != "\n" and is_live(char)]


def test_nothing_live_is_left_in_rows_of_hostile_text() -> None:
    hostile = "\x1b]0;owned\x07 \u202e \u200b [@click=app.quit] \x9b31m\0"
    assert not [char for row in rows(hostile * 50) for char in row if is_live(char)]
