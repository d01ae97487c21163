"""Messages at the corner of the screen: for how long, and never for less than no time."""

from __future__ import annotations

import time

from mcp_studio.tui.panels.servers import ServersPanel
from mcp_studio.tui.saying import Saying

from mcp_studio.errors import UsageError
from tests.tui.stage import on_stage, raw


def test_a_message_is_over_when_its_time_is() -> None:
    assert Saying("now", timeout=60).time_left > 59 and not Saying("now", timeout=60).has_expired
    past = Saying("before", raised_at=time.time() - 60, timeout=5)
    assert past.has_expired and past.time_left > 0


async def test_what_is_asked_for_on_a_server_that_was_removed_a_moment_ago_is_told() -> None:
    async with on_stage(raw()) as stage:
        await stage.studio.manager.remove("raw")
        # The rows are drawn anew a little later.
        for what in ("edit", "toggle", "restart", "delete", "roots", "ending", "stray", "open"):
            stage.main.post_message(ServersPanel.Wanted(what, "raw"))
        await stage.told("There is no server 'raw'.")
        await stage.press("f12")
        await stage.shows("mcp-studio")


async def test_what_work_in_the_background_cannot_do_is_told() -> None:
    async def work() -> None:
        raise UsageError("It is gone.", hint="Choose another.")

    async with on_stage() as stage:
        stage.main.run_worker(work())
        await stage.told("It is gone. Choose another.")
        assert stage.app.failure is None
