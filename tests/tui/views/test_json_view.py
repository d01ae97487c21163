"""The JSON viewer: folding, finding, copying, and JSON of every size."""

from __future__ import annotations

import json
from typing import cast

from mcp_studio.tui.views.find import SearchView
from mcp_studio.tui.views.json_view import JsonView
from tests.support import wait_until
from tests.tui.views.stage import Stage, staged

RESULT = {
    "content": [{"type": "text", "text": "first line\nsecond " + "word " * 30}],
    "structured": {"number": 41, "a/b~c": [True, None, {"deep": [1, [2, [3, "x" * 60]]]}]},
    "isError": False,
}


def shown(view: JsonView) -> list[str]:
    """All rows, on screen or not."""
    return ["".join(text for text, _ in view.render_row(row, 39, False)).rstrip() for row in range(view.row_count)]


def go_to(view: JsonView, text: str) -> None:
    view.move_to(next(number for number, row in enumerate(shown(view)) if text in row))


def summary(stage: Stage) -> str:
    return cast("SearchView.Searched", stage.of(SearchView.Searched)[-1]).summary


async def test_small_json_opens_to_a_useful_depth() -> None:
    view = JsonView(json.dumps(RESULT))
    async with staged(view, (40, 30)) as (_, pilot):
        await pilot.pause()
        rows = shown(view)
        assert rows[0].startswith("▾ {  3 keys, ")
        assert '    "isError": false' in rows and rows[-1] == "  }"
        assert '      "number": 41' in rows
        assert [row for row in rows if '"text": "first line' in row and row.endswith(" B")]


async def test_keys_open_and_close_and_walk() -> None:
    view = JsonView('{"a": {"b": [1, 2]}, "c": 3}')
    async with staged(view) as (_, pilot):
        await pilot.pause()
        assert shown(view)[1:3] == ['  ▸ "a": {"b": [1, 2]}', '    "c": 3']
        await pilot.press("j", "space")
        assert shown(view)[2] == '    ▸ "b": [1, 2]' and view.cursor == 1
        await pilot.press("right", "right", "right")
        assert view.cursor == 3 and view.pointer == "/a/b/0"
        await pilot.press("left")
        assert view.cursor == 2 and view.pointer == "/a/b"
        await pilot.press("g", "left")
        assert view.row_count == 1 and view.pointer == ""
        await pilot.press("enter")
        assert view.row_count == 4, "what was open inside is closed again"
        await pilot.press("G", "left")
        assert view.row_count == 1 and view.cursor == 0, "the closing row closes, too"


async def test_a_long_string_opens_in_place_and_wraps_anew_with_the_width() -> None:
    view = JsonView(json.dumps(RESULT))
    async with staged(view, (40, 40)) as (_, pilot):
        await pilot.pause()
        go_to(view, '"text": "first')
        await pilot.press("enter")
        rows = shown(view)
        at = next(number for number, row in enumerate(rows) if row.endswith("│ first line"))
        assert "string, " in rows[at - 1] and rows[at + 1].endswith("│ second word word word word")
        before = view.row_count
        assert view.cursor == at - 1
        await pilot.resize_terminal(80, 40)
        await pilot.pause()
        assert view.row_count < before and view.pointer == "/content/0/text"
        await pilot.press("down", "down", "left")
        assert view.cursor == at - 1, "closed from one of its lines"


async def test_path_and_value_of_the_cursor_are_copied() -> None:
    view = JsonView(json.dumps(RESULT))
    async with staged(view, (60, 40)) as (stage, pilot):
        await pilot.pause()
        go_to(view, '"a/b~c"')
        await view.run_action("copy_path")
        assert stage.copied[-1] == "/structured/a~1b~0c"
        go_to(view, '"text": "first')
        view.copy()
        assert stage.copied[-1] == RESULT["content"][0]["text"]  # type: ignore[index]
        go_to(view, '"structured"')
        view.copy()
        assert json.loads(stage.copied[-1]) == RESULT["structured"]


async def test_a_search_opens_what_it_finds_in() -> None:
    deep = {"list": [{"number": number, "inner": {"word": f"needle {number}"}} for number in range(3_000)]}
    view = JsonView(json.dumps(deep))
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        view.find("needle 2500")
        await wait_until(lambda: view.pointer == "/list/2500/inner/word")
        await pilot.pause()
        assert summary(stage) == "1 of 1"
        assert '"needle 2500"' in stage.lines()[view.cursor - view.top]
        view.find("NEEDLE")
        await pilot.pause()
        assert summary(stage) == "not found"
        view.find("")
        view.find("needle 29")
        await wait_until(lambda: view.pointer == "/list/2900/inner/word", what="from the cursor on")
        view.find_next(1)
        await wait_until(lambda: view.pointer == "/list/2901/inner/word")
        view.find_next(-1)
        view.find_next(-1)
        await wait_until(lambda: view.pointer == "/list/299/inner/word")


async def test_a_hit_deep_in_a_string_shows_its_line() -> None:
    text = "\n".join(f"line {number} é" for number in range(5_000))
    for ascii_only in (True, False):
        view = JsonView(json.dumps({"text": text}, ensure_ascii=ascii_only))
        async with staged(view) as (stage, pilot):
            await pilot.pause()
            view.find("line 4321 é")
            await wait_until(lambda view=view, stage=stage: "line 4321 é" in stage.lines()[view.cursor - view.top])
            assert view.pointer == "/text"


async def test_big_json_is_on_screen_at_once_and_learned_on_the_way() -> None:
    rows = ",".join(json.dumps({"id": number, "name": f"row {number}", "tags": ["a"]}) for number in range(60_000))
    view = JsonView(f'{{"result": {{"rows": [{rows}]}}, "last": 1}}')
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        assert stage.lines()[0].startswith("▾ {")
        await wait_until(lambda: "2 keys" in stage.lines()[0])
        go_to(view, '"rows"')
        await pilot.press("enter", "G")
        await wait_until(lambda: view.row_count > 60_000, what="all rows are known")
        await pilot.press("G", "k", "k")
        assert view.pointer == "/result"


async def test_numbers_as_typed_double_keys_and_what_is_no_json() -> None:
    view = JsonView(b'{"n": 1.0e400, "n": 007, oops, "evil": "\x1b[2J\xff"} trailing')
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        lines = "\n".join(stage.lines())
        assert '"n": 1.0e400' in lines and '"n": 007' in lines and "oops" in lines and "␛[2J" in lines
        view.show("")
        view.empty = "No result."
        await pilot.pause()
        assert stage.lines()[0] == " No result."
        await pilot.press("enter", "left", "right", "space", "G")
        view.show("42")
        await pilot.pause()
        assert stage.lines()[0] == "  42" and view.value_text == "42" and view.pointer == ""


async def test_a_click_on_the_sign_folds_and_one_on_the_text_only_selects() -> None:
    view = JsonView('{"a": [1, 2], "b": 1}')
    async with staged(view) as (_, pilot):
        await pilot.pause()
        await pilot.click(view, offset=(10, 1))
        assert view.cursor == 1 and view.row_count == 4
        await pilot.click(view, offset=(2, 1))
        assert view.row_count == 7


async def test_json_set_while_hidden_is_there_when_shown() -> None:
    view = JsonView("1")
    async with staged(view) as (stage, pilot):
        await pilot.pause()
        view.display = False
        await pilot.pause()
        view.show('{"a": [1, 2, 3], "b": "' + "x" * 100 + '"}')
        view.display = True
        await wait_until(lambda: stage.lines()[1:2] == ['  ▸ "a": [1, 2, 3]'])
        assert view.row_count == 4 and view.complete


async def test_values_that_are_wrong_are_marked_where_they_are() -> None:
    view = JsonView()
    async with staged(view, (60, 12)) as (stage, pilot):
        view.show(
            '{"books": [{"title": 1}], "open": "yes"}', {"/open": "must be true or false", "": "since is required"}
        )
        await pilot.pause()
        lines = stage.lines()
        assert lines[0].endswith("✗ since is required") and '"open": "yes"  ✗ must be true or false' in lines[2]
