"""The main screen: panes, previews, keys that lead from one to another."""

from __future__ import annotations

from mcp_studio.call.call import Succeeded
from tests.tui.stage import on_stage, raw


async def test_the_cursor_previews_and_a_call_shows_its_result() -> None:
    async with on_stage(raw()) as stage:
        await stage.shows("echo", "3 ")
        await stage.open("echo")
        await stage.type("hi there")
        assert isinstance(await stage.call(), Succeeded)
        await stage.shows("hi there", "ok")
