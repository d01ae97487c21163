"""The keys always go to something that is seen, whatever was hidden, removed or filled the screen before."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from textual.events import MouseDown
from textual.widget import Widget

from mcp_studio.session.inbox import InputRequest
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


async def test_the_exchange_beside_the_trace_fills_the_screen_and_gives_way_again() -> None:
    async with on_stage(raw(), size=(200, 60)) as stage:
        await stage.press("f8", "up")
        await stage.until(lambda: stage.main.detail.entry_point() is not stage.main.detail, "an exchange")
        stage.main.go_to(stage.main.detail)
        await stage.press("f10")
        await stage.until(lambda: stage.main.detail.size.width > 190 and seen(stage), "all of the screen")
        await stage.pilot.resize_terminal(80, 24)
        await stage.press("f10")
        await stage.until(lambda: stage.main.focused_pane is not stage.main.detail and seen(stage), "another pane")


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


async def test_what_has_the_focus_is_in_sight_after_the_terminal_became_smaller() -> None:
    question = InputRequest("sampling", "s", "", params={"messages": [], "maxTokens": 9})
    async with on_stage(size=(120, 60)) as stage:
        asked = asyncio.ensure_future(stage.studio.inbox.ask(question))
        await stage.until(lambda: stage.app.screen.query("BlockEditor TextArea"), "a reply")
        await stage.until(lambda: stage.app.focused is not None and seen(stage), "its text")
        await stage.pilot.resize_terminal(80, 10)
        await stage.until(lambda: seen(stage), "the text")
        await stage.press("f1")
        await stage.pilot.resize_terminal(80, 50)
        await stage.pilot.resize_terminal(80, 12)
        await stage.press("escape")
        await stage.until(lambda: seen(stage), "the text")
        await stage.press("alt+d")
        assert (await asked).action == "decline"


async def test_a_click_where_a_growing_terminal_has_nothing_yet_does_not_take_the_keys_from_a_dialog() -> None:
    async with on_stage(size=(80, 24)) as stage:
        await stage.press("f1")
        await stage.until(lambda: stage.app.screen is not stage.main and seen(stage), "help")
        had = stage.app.screen.focused
        stage.app.screen._forward_event(MouseDown(None, 100, 30, 0, 0, 1, False, False, False))
        await stage.until(lambda: stage.app.screen.focused is had, "the keys in it")


async def test_parts_of_an_exchange_that_follow_each_other_at_once_leave_the_keys_with_what_is_seen() -> None:
    async with on_stage(raw(), size=(200, 60)) as stage:
        await stage.press("f8", "up")
        await stage.until(lambda: stage.main.detail.entry_point() is not stage.main.detail, "an exchange")
        stage.main.go_to(stage.main.detail)
        await stage.until(lambda: seen(stage), "the exchange")
        detail = stage.main.detail._detail
        assert detail is not None
        detail.show_tab("headers")
        stage.main.set_focus(None)  # what was hidden loses it before the other has it
        detail.show_tab("request")
        await stage.pilot.pause()
        await stage.until(lambda: seen(stage), "the request")


async def test_a_result_has_the_keys_where_its_place_had_them_before_it_came() -> None:
    async with on_stage(raw(), size=(120, 40)) as stage:
        await stage.open("echo")
        await stage.press("h", "i", "f5")
        before = stage.app.focused
        assert stage.main.focused_pane is stage.main.result
        await stage.ran()
        await stage.until(lambda: seen(stage) and stage.app.focused is not before, "the result")
        assert stage.main.focused_pane is stage.main.result


async def test_a_result_whose_viewer_is_not_there_yet_has_the_keys_as_soon_as_it_is() -> None:
    class Coming:
        def __init__(self) -> None:
            self.there = asyncio.Event()

        def __await__(self) -> Generator[Any, None, Any]:
            return self.there.wait().__await__()

    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press("a")
        await stage.ran()
        result, coming = stage.main.result, Coming()
        stage.main.go_to(result)
        await stage.pilot.pause()
        result.mounting = coming
        views = [view for view in result._views.values() if view.display]
        for view in views:
            view.display = False
        await stage.until(lambda: stage.main.focused is None, "no focus")
        await stage.pilot.pause()
        for view in views:
            view.display = True
        coming.there.set()
        await stage.until(lambda: result.has_focus_within and seen(stage), "the result")
