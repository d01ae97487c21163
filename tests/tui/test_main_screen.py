"""The main screen: servers, catalog, arrangement, focus, keys."""

from __future__ import annotations

from mcp_studio.config.model import Settings
from mcp_studio.tui.panels.catalog import CatalogPanel
from mcp_studio.tui.panels.servers import ServersPanel
from mcp_studio.tui.views.glyphs import choose
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage, raw


async def test_servers_show_state_transport_and_count() -> None:
    async with on_stage(raw("one"), stdio(["no-such-program-at-all"], "broken")) as stage:
        await stage.shows("● one    stdio 6t", "✗ broken stdio failed", "no-such-program")
        await stage.shows("1/2 servers", "6 tools")
        dim = stage.main.servers.list.look("dim").color
        assert dim and dim.name == stage.app.theme_variables["quiet"].lower(), "the theme says what can be read"


async def test_without_servers_the_screen_says_how_to_add_one() -> None:
    async with on_stage() as stage:
        await stage.shows("No servers yet.", "Press n and paste")
        assert stage.main.focused_pane is stage.main.servers


async def test_space_disconnects_and_connects() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("1", "space")
        await stage.until(lambda: stage.studio.manager.status("raw").state == "disabled", "disabled")
        await stage.shows("○ raw    stdio off")
        await stage.press("space")
        await stage.until(lambda: stage.studio.manager.status("raw").state == "ready", "ready")
        assert [m.what for m in stage.messages(ServersPanel.Wanted)] == ["toggle", "toggle"]


async def test_restart_gives_the_server_another_process() -> None:
    async with on_stage(raw()) as stage:
        before = stage.studio.manager.status("raw").pid
        await stage.press("1", "r")
        await stage.until(
            lambda: (status := stage.studio.manager.status("raw")).state == "ready" and status.pid != before,
            "another",
        )


async def test_typing_filters_and_enter_opens() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "slash", *"ech")
        await stage.until(lambda: [row.entry.ref.name for row in stage.main.catalog.list.rows] == ["echo"], "echo")
        await stage.press("enter")
        await stage.shows("3 raw.echo", "Gives back what it gets.")
        assert stage.messages(CatalogPanel.Opened)[0].entry.ref.name == "echo"


async def test_escape_ends_a_filter() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "slash", *"ech", "escape")
        await stage.until(lambda: len(stage.main.catalog.list.rows) == 6, "all rows")
        assert stage.main.catalog.list.has_focus


async def test_brackets_turn_the_tabs_of_the_catalog() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "right_square_bracket")
        await stage.shows("A note")
        await stage.press("left_square_bracket")
        await stage.shows("echo")


async def test_a_click_on_a_tab_in_the_border_turns_it() -> None:
    async with on_stage(raw()) as stage:
        line = stage.screen_text().splitlines()[stage.main.catalog.region.y]
        await stage.pilot.click(offset=(line.index("Pr"), stage.main.catalog.region.y))
        await stage.shows("greet")


async def test_numbers_go_to_panes_and_the_footer_shows_their_keys() -> None:
    async with on_stage(raw()) as stage:
        for key, name in zip("12345", ("servers", "catalog", "call", "result", "trace"), strict=True):
            await stage.press(key)
            assert stage.main.focused_pane is stage.main.pane(name)
        assert "f Follow" in stage.screen_text()


async def test_the_trace_lies_over_a_small_screen_and_escape_puts_it_away() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        assert stage.main.query_one("#bottom").display is False
        await stage.press("f8")
        await stage.until(lambda: stage.main.trace.region.height and stage.main.trace.has_focus_within, "trace")
        await stage.press("escape")
        await stage.until(lambda: stage.main.query_one("#bottom").display is False, "no trace")


async def test_zoom_makes_one_pane_fill_the_screen() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "plus")
        await stage.until(lambda: stage.main.catalog.size.width > 100, "wide catalog")
        assert not stage.main.servers.display
        await stage.press("3")
        await stage.until(lambda: stage.main.call.size.width > 100, "wide call")
        await stage.press("escape")
        await stage.until(lambda: stage.main.servers.display and stage.main.call.size.width < 100, "all panes")


async def test_the_sidebar_hides_and_comes_back() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("f9")
        await stage.until(lambda: stage.main.call.size.width > 100, "wide call")
        await stage.press("2")
        await stage.until(lambda: stage.main.catalog.has_focus_within, "catalog")


async def test_jump_mode_goes_to_the_pane_of_a_letter() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("ctrl+o", "a")
        await stage.until(lambda: stage.main.focused_pane is stage.main.servers, "servers")


async def test_a_changed_key_acts_and_is_shown() -> None:
    async with on_stage(raw(), settings=Settings(keys={"zoom": "ctrl+g", "help": "f1,ctrl+k"})) as stage:
        await stage.press("2", "ctrl+g")
        await stage.until(lambda: stage.main.catalog.size.width > 100, "wide catalog")


async def test_a_wrong_key_setting_is_told_and_the_rest_works() -> None:
    async with on_stage(settings=Settings(keys={"zom": "ctrl+g"}, theme="nothing")) as stage:
        await stage.until(lambda: any("did you mean zoom?" in text for text in stage.toasts), "toast")
        assert any("no theme called nothing" in text for text in stage.toasts)


async def test_duplicates_are_numbered_and_malformed_entries_tell_why() -> None:
    twice = stdio(python_server("raw_faults", "--fault", "duplicate-names"), "twice")
    bad = stdio(python_server("raw_faults", "--fault", "bad-tool"), "bad")
    async with on_stage(twice, bad, size=(120, 60)) as stage:
        await stage.shows("echo #1", "echo #2", "it has no name", "it has no inputSchema")


async def test_an_empty_list_says_why() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "slash", *"zzz")
        await stage.shows("Nothing here has all these words")
        await stage.press("escape")
        await stage.studio.manager.stop("raw")
        stage.studio.catalog.forget("raw")
        await stage.shows("raw is off.")


async def test_with_ascii_nothing_but_ascii_is_drawn() -> None:
    async with on_stage(raw(), settings=Settings(ascii=True)) as stage:
        await stage.open("echo")
        await stage.press(*"plain")
        await stage.ran()
        await stage.press("f8")
        filters = stage.app.get_line_filters()
        for strip in stage.app.screen._compositor.render_strips():
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, stage.app.screen.background_colors[1])
            assert strip.text.isascii(), strip.text
    choose(ascii=False)


async def test_a_tiny_terminal_and_changing_sizes_do_no_harm() -> None:
    async with on_stage(raw(), size=(24, 6)) as stage:
        await stage.open("echo")
        for size in ((200, 60), (80, 24), (1, 1), (120, 36)):
            await stage.pilot.resize_terminal(*size)
            await stage.press("ctrl+o", "escape", "f10", "f10", "f8", "f8")
        await stage.shows("raw.echo")
