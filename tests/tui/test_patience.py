"""One entry's calls can be waited for in another way than its server's entry says."""

from __future__ import annotations

from mcp_studio.call.call import TimedOut
from tests.tui.stage import on_stage, raw


async def test_a_call_has_a_deadline_of_its_own_until_that_is_taken_back() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("wait")
        await stage.press(*"30", "alt+w")
        await stage.shows("How long a call is waited for", "as the server's entry says", "1 second")
        await stage.press("down", "enter")
        await stage.until(lambda: any("1 second" in toast for toast in stage.toasts), "toast")
        outcome = await stage.ran()
        assert isinstance(outcome, TimedOut) and "1 s" in outcome.limit
        await stage.press("f2", "alt+w")
        await stage.shows("How long a call is waited for")
        await stage.press("home", "enter")
        await stage.until(lambda: any("of their server again" in toast for toast in stage.toasts), "toast")
