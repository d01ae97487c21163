"""Running what is open many times: figures while it runs, one entry of the history, one question for all."""

from __future__ import annotations

import pytest
from mcp_studio.tui.screens.load_dialog import LoadDialog, figures

from mcp_studio.call.load import Load
from mcp_studio.catalog.listing import Ref
from mcp_studio.tui.views.line import width_of
from tests.tui.stage import on_stage, raw


async def test_a_tool_is_run_many_times_with_its_form() -> None:
    async with on_stage(raw()) as stage:
        await stage.press("alt+j")
        assert any("Open a tool" in text for text in stage.toasts)
        await stage.open("add")
        await stage.press("alt+j")
        await stage.until(lambda: any("Not begun" in text for text in stage.toasts), "required arguments are asked")
        stage.main.call.body.fill({"a": 2, "b": 3})
        await stage.press("alt+j")
        await stage.until(lambda: isinstance(stage.app.screen, LoadDialog))
        dialog = stage.app.screen
        dialog.total.value, dialog.at_once.value = "nonsense", "4"
        await stage.press("ctrl+j")
        await stage.shows("whole number from 1 to 1,000,000")
        dialog.total.value = "60"
        await stage.press("ctrl+j")
        await stage.shows("60 of 60", "60 ok", "p95")
        assert stage.main.calling.call is None, "the result pane has nothing of it"
        await stage.press("alt+c", "escape")
        await stage.until(lambda: stage.app.screen is stage.main)
        assert '"done": 60' in stage.app.clipboard
        past = await stage.studio.memory.history.of(Ref("tool", "raw", "add"))
        assert [(one.kind, one.said, one.arguments) for one in past] == [
            ("ok", "60 calls, 4 at once", {"a": 2, "b": 3})
        ]


def test_figures_fit_where_there_is_little_room() -> None:
    load = Load(lambda: pytest.fail("nothing is called"), 1_000_000, 8)
    for place in range(40):
        load.durations.add(place**4 / 10)
    for width, height in ((34, 12), (72, 12), (120, 30)):
        lines = figures(load, width, height)
        assert max(map(width_of, lines)) <= width and len(lines) <= height


async def test_escape_stops_it_and_a_destructive_tool_is_asked_about_once() -> None:
    async with on_stage(raw(), size=(80, 24)) as stage:
        await stage.open("wait")
        stage.main.call.body.fill({"seconds": 5})
        await stage.press("alt+j")
        await stage.until(lambda: isinstance(stage.app.screen, LoadDialog))
        dialog = stage.app.screen
        dialog.total.value, dialog.at_once.value = "1000", "3"
        await stage.press("ctrl+j")
        await stage.until(lambda: dialog.load and dialog.load.flying == 3)
        await stage.press("escape")
        await stage.until(lambda: not dialog.load.running)
        await stage.shows("3 stopped", "Ended early")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main)

        await stage.open("fail")
        await stage.press("alt+j")
        await stage.until(lambda: isinstance(stage.app.screen, LoadDialog))
        dialog = stage.app.screen
        dialog.total.value, dialog.at_once.value = "20", "2"
        await stage.press("ctrl+j")
        await stage.shows("20 times, 2 at once", "20 calls")
        stage.app.screen.action_deny()
        await stage.shows("Not begun: you said no")
        await stage.press("ctrl+j")
        await stage.shows("20 times, 2 at once")
        stage.app.screen.action_run()
        await stage.shows("20 of 20", "20 tool error", "20x")
