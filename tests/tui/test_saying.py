"""Messages at the corner of the screen: for how long, and never for less than no time."""

from __future__ import annotations

import time

from textual.widgets._toast import Toast

from mcp_studio.tui.saying import Saying
from tests.support import run
from tests.tui.stage import on_stage


def test_a_message_whose_time_ends_while_it_is_drawn_anew_does_not_stop_the_studio() -> None:
    """As when another screen comes up in that moment: a timer of less than no time would never give way."""

    async def go() -> None:
        async with on_stage() as stage:
            over = Saying("It was said.", raised_at=time.time() - 1, timeout=0.9)
            toast = Toast(over)
            await stage.app.screen.mount(toast)
            await stage.until(lambda: not toast.is_attached, "it is gone")
            stage.app.say("And now this.")
            await stage.told("And now this.")

    run(go())


def test_a_message_is_over_when_its_time_is() -> None:
    assert Saying("now", timeout=60).time_left > 59 and not Saying("now", timeout=60).has_expired
    past = Saying("before", raised_at=time.time() - 60, timeout=5)
    assert past.has_expired and past.time_left > 0
