"""Mistakes of what is not there any more do not end the studio; all others do."""

from __future__ import annotations

import asyncio

import pytest
from mcp_studio.tui.screens.confirm import Confirm
from textual.css.query import NoMatches
from textual.widget import Widget
from textual.worker import WorkerFailed

from tests.tui.stage import Stage, on_stage


async def looks_for_parts(widget: Widget) -> None:
    """Work that is ended as its dialog goes, and looks for what has gone before."""
    try:
        await asyncio.Event().wait()
    finally:
        widget.query_one("#box")


async def dialog(stage: Stage) -> Confirm:
    shown = Confirm("Really", "Really?")
    await stage.app.push_screen(shown)
    return shown


async def test_work_of_a_dialog_that_was_left_does_not_end_the_studio(caplog: pytest.LogCaptureFixture) -> None:
    async with on_stage() as stage:
        shown = await dialog(stage)
        work = shown.run_worker(looks_for_parts(shown))
        await stage.pilot.pause()
        await shown.dismiss(False)
        await stage.until(lambda: work.is_finished, "its end")
        assert isinstance(work.error, NoMatches) and stage.app.failure is None
        assert "Confirm was taken away meanwhile" in caplog.text and "NoMatches" in caplog.text
        await stage.press("f12")
        await stage.until(lambda: stage.app.screen is not stage.main, "a living app")


async def test_a_view_that_goes_while_the_app_is_left_does_not_make_it_fail() -> None:
    async with on_stage() as stage:
        stage.main.run_worker(looks_for_parts(stage.main.keys))
        await stage.pilot.pause()
        await stage.press("ctrl+q")
    assert stage.app.failure is None and not stage.app.return_code


async def test_any_other_mistake_ends_the_studio() -> None:
    with pytest.raises(WorkerFailed):
        async with on_stage() as stage:
            shown = await dialog(stage)
            work = shown.run_worker(looks_for_parts(stage.main.keys))
            await stage.pilot.pause()
            work.cancel()
            await stage.until(lambda: stage.app.failure is not None, "the end")


async def test_a_mistake_of_the_app_itself_ends_the_studio() -> None:
    def fail() -> None:
        raise LookupError("of its own")

    with pytest.raises(LookupError, match="of its own"):
        async with on_stage() as stage:
            stage.app.call_later(fail)
            await stage.until(lambda: stage.app.failure is not None, "the end", 10)
