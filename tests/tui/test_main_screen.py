"""The main screen: panes, previews, what leads from one to another, arrangement, small terminals."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.widgets import Button, Input, Select

from mcp_studio.call.call import Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Settings
from mcp_studio.tui.screens.about import About
from mcp_studio.tui.screens.dialog import Confirm
from mcp_studio.tui.screens.help import Help
from mcp_studio.tui.screens.jump import Jump
from mcp_studio.tui.screens.search import Search
from mcp_studio.tui.screens.theme_picker import ThemePicker
from mcp_studio.tui.views.lines import KeyBar, TabLine
from mcp_studio.tui.views.rows import choose
from tests.support_servers import demo_stdio
from tests.tui.stage import Stage, on_stage, raw, stdio


def names(stage: Stage) -> list[str]:
    """What the rows of the catalog say, from the top."""
    return [getattr(row, "server", "") or row.entry.ref.name for row in stage.main.catalog.entries.rows]


async def test_two_servers_stand_under_headings_and_the_cursor_previews() -> None:
    async with on_stage(raw(), raw("other")) as stage:
        assert names(stage)[:3] == ["raw", "echo", "add"]
        await stage.press("2", "home", "down")
        await stage.shows("3 raw › echo", "Gives back what it gets", "No result yet")
        await stage.press("down")
        await stage.shows("3 raw › add")
        await stage.press("space")
        await stage.until(lambda: names(stage)[:2] == ["raw", "other"], "a folded server")
        await stage.press("slash", *"add")
        await stage.shows("3 raw › add")
        await stage.press("escape")
        await stage.until(lambda: names(stage)[:3] == ["raw", "echo", "add"], "the server of the hit, unfolded")
        assert (hit := stage.main.catalog.current) is not None and hit.ref.name == "add"
        await stage.press("slash", *"cnt")
        await stage.until(lambda: names(stage) == ["count", "count"], "names with these letters in order")
        await stage.press("ctrl+u", *"ech")
        await stage.until(lambda: names(stage)[:2] == ["echo", "echo"], "the filter")
        await stage.press("enter")
        await stage.shows("3 raw › echo")
        assert stage.main.focused_pane is stage.main.call
        await stage.type("hi there")
        assert isinstance(await stage.call(), Succeeded)
        await stage.shows("hi there", "✓ ok")
        await stage.press("escape", "escape", "escape", "escape")
        await stage.shows(r"echo .* 1x [\d.]+ ms")
        assert stage.main.focused_pane is stage.main.catalog
        await stage.until(lambda: "other" in names(stage), "no filter any more")
        await stage.press("right_square_bracket")
        await stage.shows("A note")
        await stage.press("left_square_bracket", "1", "down", "down")
        await stage.until(lambda: names(stage)[0] == "echo", "one server alone")
        await stage.press("2", "escape")
        await stage.until(lambda: names(stage)[0] == "raw", "all servers again")


async def test_the_cursor_is_on_the_first_tool_of_the_first_server_until_it_is_moved() -> None:
    async with on_stage(replace(raw("a"), enabled=False), raw("b")) as stage:

        def at() -> Ref | None:
            return entry.ref if (entry := stage.main.catalog.current) is not None else None

        assert at() == Ref("tool", "b", "echo")
        stage.studio.manager.start("a")
        await stage.until(lambda: at() == Ref("tool", "a", "echo"), "the first tool of the server above")
        await stage.press("2", "slash")
        await stage.type("qqqq")
        await stage.press("escape")
        assert at() == Ref("tool", "a", "echo")
        await stage.press("slash")
        await stage.type("add")
        await stage.press("escape")
        assert at() == Ref("tool", "a", "add")


async def test_the_heading_of_the_first_server_is_seen_when_another_server_comes() -> None:
    async with on_stage(raw("a"), replace(raw("b"), enabled=False), size=(80, 20)) as stage:
        await stage.hides("▾ a +6")
        stage.studio.manager.start("b")
        await stage.shows("▾ a +6")
        assert stage.main.catalog.entries.top == 0


async def test_keys_that_come_faster_than_the_screen_is_drawn_go_where_they_are_meant() -> None:
    async with on_stage(raw(), raw("other")) as stage:
        await stage.press("2", "home", "down")
        await stage.shows("3 raw › echo")
        await stage.burst("down", "down", "up", "down", "ctrl+j")
        await stage.until(lambda: stage.main.result.call, "a call")
        shown = stage.main.catalog.current
        assert stage.main.result.call and shown and stage.main.result.call.ref == shown.ref
        assert shown.ref.name == "wait"
        stage.main.call.action_cancel()
        await stage.shows("cancelled")
        await stage.burst("slash", *"wait", "ctrl+j")
        await stage.until(lambda: stage.main.call.running, "a call from the filter")
        assert stage.app.focused is stage.main.catalog.entries and stage.main.catalog.filter.value == "wait"
        await stage.press("escape")
        await stage.burst("2", *"/greet")
        await stage.until(lambda: stage.main.catalog.filter.value == "greet", "the filter")
        await stage.press("escape")
        await stage.burst("ctrl+p", *"help")
        await stage.until(lambda: stage.app.screen.query(Input), "the palette")
        await stage.until(lambda: stage.app.screen.query_one(Input).value == "help", "what was typed")
        await stage.press("escape")
        await stage.burst("ctrl+f", *"add")
        search = await stage.dialog(Search)
        await stage.until(lambda: search.field.value == "add", "what was typed")
        await stage.burst("ctrl+u", *"wait", "enter")
        await stage.shows("3 raw › wait")


async def test_what_does_not_fit_is_said_shorter_and_never_cut() -> None:
    async with on_stage(raw(), size=(160, 44)) as stage:
        await stage.shows("6 tools · 1 resource · 1 template · 1 prompt", "requests p50", "Templates 1", "Trace")
        about = re.compile("[rwd] (?:echo|add|wait|count|fail) +(?=Gives|Adds|Answers|Counts|Ends)")
        rows = [found.end() for line in stage.text.splitlines() if (found := about.search(line))]
        assert len(rows) == 5 and len({*rows}) == 1, "the descriptions are a column"
        await stage.pilot.resize_terminal(80, 24)
        await stage.shows("Tools 6 Res Tpl Pr Tasks", "d destroy", r"\^f Search *$")
        await stage.hides("Trace")
        assert len(max(stage.text.splitlines(), key=len)) <= 80
        await stage.pilot.resize_terminal(60, 20)
        await stage.shows("2 Catalog", "Tools 6 +Resources 1")
        await stage.press("3")
        await stage.shows("3 raw › echo")
        await stage.hides("2 Catalog")
        await stage.press("f8")
        await stage.shows("5 Trace")
        await stage.press("escape")
        await stage.shows("2 Catalog")
        for size in ((39, 20), (80, 9), (1, 1)):
            await stage.pilot.resize_terminal(*size)
            await stage.until(lambda: not stage.main.catalog.region, "nothing but a sentence")
        await stage.pilot.resize_terminal(80, 9)
        await stage.shows("The terminal is too small")
        await stage.pilot.resize_terminal(120, 36)
        await stage.shows("2 Catalog", "5 Trace", "Tools 6 +Res 1 +Tpl 1 +Prompts 1 +Tasks")


async def test_borders_are_dragged_and_the_arrangement_is_remembered(home: Path) -> None:
    file = home / "state" / "layout.json"
    async with on_stage(raw(), size=(140, 44)) as stage:
        side = stage.main.query_one("#side")
        await stage.pilot.mouse_down(offset=(side.region.right - 1, 20))
        await stage.pilot.hover(offset=(49, 20))
        await stage.pilot.mouse_up(offset=(49, 20))
        await stage.until(lambda: side.size.width == 50, "a wider side")
        trace = stage.main.trace
        await stage.pilot.mouse_down(offset=(70, trace.region.y))
        await stage.pilot.hover(offset=(70, 24))
        await stage.pilot.mouse_up(offset=(70, 24))
        await stage.until(lambda: trace.region.y == 24, "a higher trace")
        await stage.pilot.hover(offset=(70, 10))
        assert trace.region.y == 24
        await stage.press("5", "5")
        assert stage.main.focused_pane is trace, "beside the other panes there is nothing to close"
        await stage.press("2", "right_square_bracket", "1", "plus")
        await stage.until(lambda: stage.main.servers.size.width > 100, "one pane")
        await stage.until(lambda: file.exists() and json.loads(file.read_bytes())["zoom"] == "servers", "a file")
    async with on_stage(raw(), size=(140, 44)) as stage:
        await stage.until(lambda: stage.main.servers.size.width > 100, "the zoom of last time")
        await stage.press("escape")
        await stage.until(lambda: stage.main.query_one("#side").size.width == 50, "the width of last time")
        await stage.until(lambda: stage.main.trace.region.y == 24, "the height of last time")
        await stage.shows("A note")
        await stage.press("ctrl+p", *"first size", "enter")
        await stage.until(lambda: stage.main.query_one("#side").size.width != 50, "the first sizes")
        assert json.loads(file.read_bytes())["tabs"]["catalog"] == "resource"


async def test_keys_at_the_bottom_are_pressed_by_the_mouse_say_what_they_do_and_are_never_cut() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2")
        await stage.shows(r" ⏎ Open  / Filter  esc Back  \^q Quit  \^p Palette  \? Help  \^f Search *$")
        bar = stage.main.query_one(KeyBar)
        line = stage.text.splitlines()[-1]
        await stage.pilot.hover(bar, offset=(line.index("? Help"), 0))
        await stage.until(lambda: bar.tooltip == "Help for this pane", "what the key does")
        await stage.pilot.hover(bar, offset=(100, 0))
        await stage.until(lambda: bar.tooltip is None, "nothing where no key is")
        await stage.pilot.click(bar, offset=(line.index("Help"), 0))
        await stage.dialog(Help)
        await stage.shows(r"\^j Do it  esc Close ")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        await stage.pilot.click(stage.main.trace.table, button=3)
        await stage.shows("Help: trace", "In the trace pane")
        assert "Everywhere" not in stage.text, "a menu lists what can be done here"
        await stage.press("escape", "2")
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        await stage.press("plus")
        await stage.until(lambda: stage.main.catalog.size.width > 100, "a zoomed pane")
        await stage.shows(r" ⏎ Open  / Filter  esc Back  \^q Quit  \^p Palette  \? Help  \^f Search *$")
        await stage.press("plus")
        await stage.pilot.resize_terminal(50, 20)
        await stage.shows(r" ⏎ Open  / Filter  esc Back  \^q Quit  \^p Palette *$")


async def test_shift_tab_on_the_call_button_goes_to_the_form_where_no_task_switch_is_shown() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("wait")
        stage.main.set_focus(stage.main.call.button)
        await stage.press("shift+tab")
        await stage.until(lambda: stage.main.call.form.has_focus_within, "the form has the focus")


async def test_a_click_on_a_part_of_the_header_goes_where_it_is_about() -> None:
    async with on_stage(raw()) as stage:
        line = str(stage.main.header.content)
        await stage.pilot.click(stage.main.header, offset=(1 + line.index("tools"), 0))
        await stage.until(lambda: stage.main.focused_pane is stage.main.catalog, "the catalog")
        await stage.pilot.click(stage.main.header, offset=(1 + line.index("resource"), 0))
        await stage.shows("A note")
        await stage.pilot.click(stage.main.header, offset=(1 + line.index("mcp-studio"), 0))
        await stage.dialog(About)


async def test_jump_badges_lead_there() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("ctrl+o")
        jump = await stage.dialog(Jump)
        badge = next(b for b in jump.query("Static") if b.region.offset == stage.main.result.region.offset)
        await stage.press(str(badge.content))
        assert stage.main.focused_pane is stage.main.result
        await stage.press("ctrl+o")
        tabs = stage.main.catalog.query_one(TabLine)
        jump = await stage.dialog(Jump)
        await stage.shows("Tools 6 ?.Res 1 ?.Tpl 1 ?.Prompts 1 ?.Tasks")
        place = tabs.region.offset + Offset(tabs.places["resource"] - 1)
        badge = next(b for b in jump.query("Static") if b.region.offset == place)
        await stage.press(str(badge.content))
        await stage.shows("A note")


async def test_esc_ends_a_filter_that_was_left_for_another_pane() -> None:
    async with on_stage(raw(), raw("other")) as stage:
        for pane in (stage.main.servers, stage.main.catalog):
            await stage.press(str(pane.number), "home", "slash", "tab")
            await stage.until(lambda pane=pane: stage.main.focused_pane is not pane, "another pane")
            await stage.shows("filter: ")
            await stage.press(str(pane.number), "escape")
            await stage.hides("filter: ")


async def test_the_other_panes_follow_the_filter_of_the_servers() -> None:
    async with on_stage(raw(), raw("other")) as stage:
        await stage.press("1", "end", "home")
        await stage.shows("2 Catalog of raw", "3 raw ─")
        await stage.press("slash")
        await stage.type("other")
        await stage.shows("2 Catalog of other", "3 other ─")
        await stage.press("escape")
        await stage.shows("● raw")
        await stage.shows("2 Catalog of other", "3 other ─")


async def test_a_message_goes_when_a_dialog_opens_over_its_screen() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "r")
        await stage.shows("Refreshing the lists of 1 server.")
        await stage.press("question_mark")
        await stage.dialog(Help)
        await stage.hides("Refreshing the lists")


async def test_a_server_alone_is_shown_while_it_has_nothing_to_open() -> None:
    async with on_stage(stdio(["sleep", "60"], "s"), ready=False) as stage:
        assert stage.main.focused_pane is stage.main.catalog
        await stage.shows("3 s ─", "s is connecting", "Reconnect|Connect", "Details")


async def test_without_servers_it_says_how_to_add_one_and_quits_only_after_asking_while_calls_run() -> None:
    async with on_stage() as stage:
        await stage.shows("no servers", r"\^n")
    async with on_stage(raw()) as stage:
        await stage.open("wait")
        await stage.type("300")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.studio.caller.running, "a running call")
        await stage.press("ctrl+q")
        await stage.dialog(Confirm)
        await stage.shows("1 call still runs")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        assert stage.studio.caller.running
        await stage.press("ctrl+q", "q")
        await stage.until(lambda: stage.app.return_code == 0, "the end")


async def test_ascii_and_own_keys_are_taken_and_what_is_wrong_with_them_is_told() -> None:
    keys = {"zoom": "ctrl+t", "nothing": "f9", "change_theme": "f9"}
    try:
        async with on_stage(raw(), settings=Settings(ascii=True, keys=keys, theme="nosuch")) as stage:
            await stage.told("nothing: there is no such action")
            await stage.told("There is no theme `nosuch`")
            await stage.press("2", "ctrl+t")
            await stage.until(lambda: stage.main.catalog.size.width > 100, "a zoomed pane")
            await stage.press("ctrl+t")
            await stage.shows(r"\* raw")
            await stage.press("ctrl+c", "f9")
            await stage.dialog(ThemePicker)
            assert stage.app.return_code is None
    finally:
        choose(ascii=False)


async def test_a_form_stays_that_of_its_tool_when_its_server_goes() -> None:
    async with on_stage(raw("one"), raw("two")) as stage:
        await stage.open("echo", server="two")
        await stage.type("hi")
        await stage.studio.manager.remove("two")
        await stage.until(lambda: not stage.main.bridge.waiting, "what has changed")
        await stage.shows("3 two › echo", "hi")
        await stage.press("escape", "escape", "2")
        await stage.shows("3 one › ")


async def test_a_dialog_that_is_left_twice_or_while_it_works_ends_nothing() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("question_mark")
        close = (await stage.dialog(Help)).query_one("#back", Button)
        close.press()
        close.press()
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        for _ in range(5):
            await stage.press("ctrl+f", "e")
            stage.app.screen.dismiss(None)
            await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        await stage.open("echo")
        await stage.shows("3 raw › echo")


async def test_no_field_out_of_sight_takes_the_focus_as_a_dialog_goes() -> None:
    async with on_stage(raw()) as stage:
        await stage.shows("● raw")
        stage.main.set_focus(None)  # as where the button that had it went under the dialog
        await stage.press("f1")
        await stage.dialog(Help)
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "the help is gone")
        await stage.press("z", "z")
        await stage.shows("● raw")
        assert stage.main.focused is None


async def test_the_name_of_a_server_is_no_markup_where_one_is_chosen() -> None:
    async with on_stage(raw("[@click=app.quit]x[/]")) as stage:
        await stage.press("ctrl+f")
        (await stage.dialog(Search)).query_one("#server", Select).action_show_overlay()
        await stage.shows(r"Server: \[@click=app.quit\]x")


@pytest.mark.parametrize("pane", ["1", "2", "5"])
async def test_what_is_typed_behind_a_slash_belongs_to_the_field_that_it_opens(pane: str) -> None:
    async with on_stage(raw(), size=(120, 40)) as stage:
        await stage.shows("echo")
        await stage.press(pane)
        await stage.burst("/", *"error/d")
        await stage.until(lambda: isinstance(stage.app.focused, Input), "the field")
        await stage.until(lambda: isinstance(f := stage.app.focused, Input) and f.value == "error/d", "all of it")
        assert stage.app.screen is stage.main


async def test_the_filter_opens_where_its_key_comes_at_once_after_that_of_its_pane() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        stage.main.set_focus(stage.main.call.button)
        await stage.burst("2", "/")
        await stage.until(lambda: stage.main.catalog.filter.has_focus, "the filter has the focus")


async def test_a_tool_shows_its_calls_also_when_there_are_very_many_and_little_room() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        trace = stage.studio.trace
        await stage.press("2")
        for number in range(1_234):
            asked = trace.add(
                "raw", "out", "request", b'{"id":%d,"method":"tools/call","params":{"name":"echo"}}' % number
            )
            asked.method, asked.target, asked.id = "tools/call", "echo", number
            trace.settled(
                trace.opened(asked), trace.add("raw", "in", "result", b'{"id":%d,"result":{}}' % number), "ok"
            )
        await stage.shows(r"r echo +1\.2kx [\d.]+ ms")


async def test_a_form_is_whole_that_comes_after_the_page_of_a_server() -> None:
    async with on_stage(stdio(demo_stdio(), "demo"), size=(140, 40)) as stage:
        await stage.open("list_books")
        await stage.press("1")
        await stage.shows("demo is connected")
        await stage.press("colon", *"demo.form_text")
        await stage.shows("demo.form_text .*")
        await stage.press("enter")
        await stage.shows("3 demo › form_text", "plain", "hour ")
