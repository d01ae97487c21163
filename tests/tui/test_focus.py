"""The keys always go to something that is seen, whatever was hidden, removed or filled the screen before."""

from __future__ import annotations

from textual.events import MouseDown
from textual.widget import Widget

from tests.tui.stage import Stage, on_stage, raw


def seen(stage: Stage) -> bool:
    """Whether what has the focus is on the screen."""
    focused: Widget | None = stage.app.screen.focused
    return focused is not None and focused in stage.app.screen._compositor.visible_widgets


async def test_a_form_that_cannot_be_sent_is_shown_where_another_pane_fills_the_screen() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("echo")
        await stage.press("escape", "1", "f10")
        await stage.until(lambda: stage.main.servers.has_class("-zoomed"), "one pane")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.main.focused_pane is stage.main.call and seen(stage), "the form")


async def test_what_is_hidden_or_disabled_under_the_focus_does_not_swallow_the_keys() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        stage.main.set_focus(None)
        await stage.until(lambda: seen(stage), "a focus")
        await stage.press("1")
        stage.main.servers.list.display = False
        await stage.until(lambda: stage.main.focused_pane is stage.main.catalog and seen(stage), "another pane")


async def test_a_search_among_commands_that_finds_none_says_so() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.press("ctrl+p", *"zzz")
        await stage.shows("No command has these words.")


async def test_a_click_where_a_growing_terminal_has_nothing_yet_does_not_take_the_keys_from_a_dialog() -> None:
    async with on_stage(size=(80, 24)) as stage:
        await stage.press("f1")
        await stage.until(lambda: stage.app.screen is not stage.main and seen(stage), "help")
        had = stage.app.screen.focused
        stage.app.screen._forward_event(MouseDown(None, 100, 30, 0, 0, 1, False, False, False))
        await stage.until(lambda: stage.app.screen.focused is had, "the keys in it")


async def test_a_result_has_the_keys_where_its_place_had_them_before_it_came() -> None:
    async with on_stage(raw(), size=(120, 40)) as stage:
        await stage.open("echo")
        await stage.press("h", "i", "f5")
        before = stage.app.focused
        assert stage.main.focused_pane is stage.main.result
        await stage.ran()
        await stage.until(lambda: seen(stage) and stage.app.focused is not before, "the result")
        assert stage.main.focused_pane is stage.main.result
