"""Pane 4: results in all their views, how calls ended, and what can be done with what came."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from mcp_studio.config.model import ServerConfig
from mcp_studio.paths import Paths
from mcp_studio.tui.screens import result_parts
from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.dialog import Choose, Confirm
from mcp_studio.tui.screens.exit_report import ExitReport
from mcp_studio.tui.screens.query import Query
from mcp_studio.tui.screens.result_parts import Picture, SaveFiles
from mcp_studio.tui.views.content_view import Cards, MarkdownText
from mcp_studio.tui.views.table_view import TableView
from tests.studio_support import stdio
from tests.support_servers import demo_stdio
from tests.tui.stage import Stage, on_stage


def demo() -> ServerConfig:
    return stdio(demo_stdio(), "demo")


async def called(stage: Stage, tool: str, **arguments: Any) -> None:
    """Call a tool, and go to what came."""
    await stage.open(tool)
    if arguments:
        stage.main.call.fill(arguments)
    await stage.call()
    stage.main.action_pane_result()
    await stage.until(lambda: stage.main.focused_pane is stage.main.result, "focus in the result")


async def test_a_narrow_result_shows_its_tabs_whole_and_of_its_status_what_fits() -> None:
    async with on_stage(demo(), size=(80, 24)) as stage:
        await called(stage, "fail_as_tool")
        await stage.shows(r"Text +Raw +✗ tool error · [0-9.]+ m?s ")
        await called(stage, "list_books")
        await stage.shows("Text +Structured +Table +Raw +✓ ok · [0-9.]+ m?s ")
        await called(stage, "list_books", genre="poetry")
        await stage.shows("Text +Structured +Table +Raw Diff +✓ ok ")
        await stage.press("equals_sign")
        await stage.shows(r"content\[0\].text  changed", r"- Salt and Starlight", "A Lamp in the Reeds")
        await stage.press("left_square_bracket", "left_square_bracket")
        table = stage.main.result.query_one(TableView)
        await stage.until(lambda: table.has_focus, "focus")
        await stage.shows(r"2 rows · space sorts · c copies as CSV ─*╯")
        await stage.press("c")
        assert stage.app.clipboard.startswith("id,title,author")
        call = stage.main.call.call
        await stage.press("slash", *"reeds", "enter")
        await stage.shows("Lamp in the Reeds", r"1 of 2 rows ─*╯")
        await stage.press("space", "c")
        assert stage.app.clipboard.count("\n") == 2, "the heading and the row that is shown"
        await stage.press("escape", "slash", "z", "escape")
        await stage.until(lambda: table.has_focus, "the focus is back in the table")
        await stage.press("left_square_bracket", "slash", *"Reeds", "enter")
        await stage.shows(r"1 of \d", "Lamp in the Reeds")
        assert stage.main.call.call is call, "letters typed after / belong to the search"
        stage.main.result.action_compare()
        await stage.shows("content")
        await stage.press("left_square_bracket", "left_square_bracket")
        await called(stage, "show_nothing")
        await stage.shows("Text +Raw .*✓ ok · .*round trip · ", "The result is empty.")
        await stage.open("list_books")
        await stage.shows("Table")
        assert stage.main.result.tab == "table", "the tab of the entry is remembered"


async def test_markdown_is_rendered_hostile_text_is_seen_and_what_is_wrong_is_marked() -> None:
    async with on_stage(demo(), size=(100, 45)) as stage:
        await called(stage, "show_markdown")
        await stage.shows("The Paper Lantern", "poetry +2", "small bookshop with slow trains")
        assert "**small**" not in stage.text
        text = stage.main.query_one(MarkdownText)
        row, line = next(pair for pair in enumerate(text.render().plain.splitlines()) if "small bookshop" in pair[1])
        begin = line.index("small bookshop")
        await stage.pilot.mouse_down(text, offset=(begin, row))
        await stage.pilot.hover(text, offset=(begin + 13, row))
        await stage.pilot.mouse_up(text, offset=(begin + 13, row))
        await stage.press("y")
        assert stage.app.clipboard == "small bookshop", "the mouse selects in rendered text, too"
        await stage.main.result.run_action("markdown")
        await stage.shows(r"\*\*small\*\* bookshop", "# The Paper Lantern")
        await called(stage, "show_nothing")
        await called(stage, "show_markdown")
        await stage.shows(r"\*\*small\*\* bookshop")
        await stage.main.result.run_action("markdown")
        await stage.shows("poetry +2")

        await called(stage, "show_wrong_structure")
        await stage.shows("▲ structuredContent/open must be true or false")
        await stage.press("right_square_bracket")
        await stage.shows('"open": "yes"  ✗ must be true or false', "✗ since is required", r"7  ✗ must be text")

        await called(stage, "show_hostile_text")
        await stage.shows(r"␛\[31mred", re.escape("⟦U+202E⟧"), re.escape("[@click=app.quit]"))
        await stage.press("y")
        await stage.told("control or invisible characters")
        await stage.pilot.click("#result-view", offset=(30, 8))
        await stage.press("right_square_bracket")
        await stage.shows("content")
        assert "\x1b" not in stage.text and stage.app.is_running


async def test_blocks_of_every_kind_are_cards_that_keys_go_through_and_act_on(tmp_path: Path) -> None:
    async with on_stage(demo(), size=(110, 70)) as stage:
        await called(stage, "show_every_block")
        await stage.shows("for user, priority 0.9", "poetry +2", "image · image/png", "▀▀▀")
        cards = stage.main.result.query_one(Cards)
        kinds = [cards.block.kind]
        for _ in range(7):
            await stage.press("G" if len(kinds) == 7 else "j")
            kinds.append(cards.block.kind)
        assert {"text", "image", "audio", "link"} <= set(kinds)
        await stage.shows("file · ", "enter reads it")
        await stage.press("s")
        dialog = await stage.dialog(SaveFiles)
        await stage.shows("the text", "image · image/png", "the whole result as JSON")
        dialog.query_one(Input).value = str(tmp_path / "none" / "\0")
        await stage.press("enter")
        await stage.shows("There is no folder")
        dialog.query_one(Input).value = str(tmp_path / "\0")
        await stage.press("enter")
        await stage.shows("Not saved: ")
        dialog.query_one(Input).value = str(tmp_path / "new")
        await stage.press("enter")
        await stage.told("Saved demo-show_every_block.txt")
        names = sorted(file.suffix for file in (tmp_path / "new").iterdir())
        assert ".png" in names and ".wav" in names and ".json" in names
        await stage.press("enter")
        await stage.until(lambda: (c := stage.main.result.call) and c.ref.name == "shop://welcome", "the link is read")
        await stage.shows("The Paper Lantern")
        await called(stage, "show_image")
        await stage.press("enter")
        await stage.dialog(Picture)
        await stage.shows("▀▀▀")
        await stage.press("escape")


async def test_a_page_is_read_as_source_and_opened_only_when_that_is_agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    async def open_page(url: str, browser: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(result_parts, "open_page", open_page)
    async with on_stage(demo(), size=(110, 50)) as stage:
        await called(stage, "show_page")
        await stage.press("j", "enter")
        await stage.shows("page of an MCP App", "connects to: https://example.com", "<title>")
        stage.main.action_pane_result()
        for answer in ("escape", "o"):
            assert not opened
            await stage.press("o")
            await stage.dialog(Confirm)
            await stage.shows(r"Open this page in the browser\?")
            await stage.press(answer)
            await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        await stage.told("is handed to the system's program")
        (file,) = (Paths.default().cache / "opened").iterdir()
        assert opened == [file.as_uri()] and "connect-src https://example.com;" in file.read_text()


async def test_every_end_of_a_call_says_what_it_was_once() -> None:
    async with on_stage(demo(), size=(100, 40)) as stage:
        await called(stage, "fail_as_tool")
        await stage.shows("✗ tool error · .*round trip", "closed on Sundays")
        await called(stage, "fail_as_request")
        await stage.shows("✗ error -31050 · ", "The server refused the request: Not today", '"opens": "9:00"')
        assert stage.text.count("Not today") == 2, "in the form, and in the result"
        await stage.open("fail_by_leaving")
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.press("d")
        await stage.shows("○ not sent", "It was not run: denied by you.")
        await stage.press("ctrl+j")
        await stage.dialog(Approval)
        await stage.press("r")
        await stage.shows("✗ no reply", "The connection was lost:.*exit code 3", "Whether the server", "Exit report")
        stage.main.action_pane_result()
        await stage.press("enter")
        await stage.dialog(ExitReport)
        await stage.press("escape")
        await stage.open("show_nothing")
        await stage.shows(r"No result yet. \^j calls it.")


async def test_while_it_runs_there_are_progress_elapsed_time_and_a_button_that_cancels() -> None:
    async with on_stage(demo(), size=(100, 40)) as stage:
        await stage.open("wait_for_parcel")
        await stage.press("ctrl+j")
        await stage.shows(r"◐ running · [1-9]?\d\.\d s", "Cancel")
        await stage.shows("streets closer", r"x Cancel +esc Back")
        stage.main.action_pane_result()
        await stage.press("enter")  # a second enter does not cancel what the first one has called
        running = stage.main.call.call
        assert running is not None and running.outcome is None
        await stage.press("tab", "enter")
        await stage.shows("○ cancelled", "r Re-run")
        await stage.hides("x Cancel")
        await stage.open("take_stock")
        await stage.press("ctrl+j")
        await stage.shows("━━")
        await stage.shows("✓ ok")


async def test_a_query_is_tried_while_it_is_typed_pinned_to_a_tool_and_taken_into_a_field() -> None:
    async with on_stage(demo(), size=(120, 40)) as stage:
        await called(stage, "list_books", genre="poetry")
        await stage.press("vertical_line")
        dialog = await stage.dialog(Query)
        await stage.type("books[].")
        await stage.shows("The expression is wrong at column 9")
        await stage.type("title")
        await stage.shows(r"▾ \[  2 items", '"A Lamp in the Reeds"')
        dialog.query_one("#pin").press()
        await stage.shows("Text +Structured +Table +Query +Raw", r"─ books\[\]\.title ─*╯")
        await called(stage, "list_books", genre="travel")
        await stage.shows(r"▾ \[  \d items", r"─ books\[\]\.title ─*╯")
        await stage.press("vertical_line")
        dialog = await stage.dialog(Query)
        assert dialog.field.value == "books[].title"
        await stage.type("books[0].id")
        await stage.press("enter")
        await stage.until(lambda: dialog.view.has_focus, "enter goes to the result")
        await stage.press("escape", "vertical_line")
        dialog = await stage.dialog(Query)
        await stage.until(lambda: dialog.found and isinstance(dialog.found[0], str), "an id")
        assert dialog.field.value == "books[0].id"
        dialog.query_one("#take").press()
        await stage.told("The menu of a field")
        await stage.open("order_book")
        await stage.press("ctrl+k")
        await stage.dialog(Choose)
        await stage.type("query found")
        await stage.press("enter")
        await stage.until(lambda: dialog.found[0] in stage.main.call.form.value.values(), "the id in the form")


async def test_lists_and_messages_can_be_queried_too() -> None:
    async with on_stage(demo(), size=(120, 40)) as stage:
        stage.main.action_pane_catalog()
        for pane, expression, found in (
            ("catalog", "[?name == 'list_books'].name | [0]", '"list_books"'),
            ("trace", "jsonrpc", '"2.0"'),
        ):
            await getattr(stage.main, f"{pane}").run_action("query")
            dialog = await stage.dialog(Query)
            dialog.field.value = expression
            await stage.shows(found)
            assert not dialog.query_one("#pin").display
            await stage.press("escape")


async def test_a_large_result_is_shown_in_pages_and_its_parts_are_opened_one_by_one(tmp_path: Path) -> None:
    large = Path(__file__).parents[1] / "bench" / "large_server.py"
    async with on_stage(stdio([sys.executable, str(large), "7000000"], "s"), size=(110, 30)) as stage:
        await called(stage, "lines")
        await stage.shows("page 1 of 7 · pgdn at its end turns it")
        await stage.press("G")
        await stage.shows("page 7 of 7", "the needle at the end")
        await stage.press("slash", *"needle", "enter")
        await stage.shows("1 of 1 on this page")
        await stage.press("g", "pageup")
        await stage.shows("page 1 of 7")
        await stage.press("equals_sign")
        await stage.told("too large to compare")
        await stage.press("s")
        dialog = await stage.dialog(SaveFiles)
        dialog.query_one(Input).value = str(tmp_path)
        await stage.press("enter")
        await stage.told("Saved s-lines.txt, s-lines.result.json")
        text = (tmp_path / "s-lines.txt").read_text()
        assert text.count("words in a line") > 100_000 and text.endswith("the needle at the end")
        assert json.loads((tmp_path / "s-lines.result.json").read_text())["content"][0]["text"] == text

        await called(stage, "structured")
        await stage.shows("Text +Structured +Table +Raw", "first 10,000 rows")
        await stage.press("left_square_bracket")
        await stage.shows(r"▾ \{  2 keys", r"▸ \"rows\": ", "needle at the end")
        await stage.press("j", "space")
        await stage.shows(r"▾ \"rows\": \[ .* items", r"▸ \{\"id\": 0")
        await stage.press("slash", *"at the end", "enter")
        await stage.shows("1 of 1", '"last": "the needle at the end"')
        await stage.press("right_square_bracket", "right_square_bracket")
        await stage.shows(r"▸ \"structuredContent\"")
        await stage.press("vertical_line")
        await stage.dialog(Query)
        await stage.type("rows[7].id")
        await stage.shows("1 B")
