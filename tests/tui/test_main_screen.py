"""The main screen: servers, catalog, arrangement, focus, keys."""

from __future__ import annotations

from mcp_studio.tui.panels.catalog import CatalogPanel
from mcp_studio.tui.panels.servers import ServersPanel

from mcp_studio.config.model import Settings
from mcp_studio.tui.views.glyphs import choose
from tests.tui.stage import on_stage, raw


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


async def test_brackets_turn_the_tabs_of_the_catalog() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "right_square_bracket")
        await stage.shows("A note")
        await stage.press("left_square_bracket")
        await stage.shows("echo")


async def test_zoom_makes_one_pane_fill_the_screen() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("2", "plus")
        await stage.until(lambda: stage.main.catalog.size.width > 100, "wide catalog")
        assert not stage.main.servers.display
        await stage.press("3")
        await stage.until(lambda: stage.main.call.size.width > 100, "wide call")
        await stage.press("escape")
        await stage.until(lambda: stage.main.servers.display and stage.main.call.size.width < 100, "all panes")


async def test_a_changed_key_acts_and_is_shown() -> None:
    async with on_stage(raw(), settings=Settings(keys={"zoom": "ctrl+g", "help": "f1,ctrl+k"})) as stage:
        await stage.press("2", "ctrl+g")
        await stage.until(lambda: stage.main.catalog.size.width > 100, "wide catalog")


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
