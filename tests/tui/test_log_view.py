"""The log view: messages of all servers, found by level, server and words, and the level that is asked for."""

from __future__ import annotations

from typing import Any

from mcp_studio.tui.screens.log_view import LogView
from mcp_studio.tui.screens.trace_dialog import TraceDialog

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage


def changing(name: str = "s", *options: str) -> ServerConfig:
    return stdio(python_server("raw_changes", *options), name)


async def log(stage: Stage, server: str = "s", **said: Any) -> None:
    await stage.studio.call_tool(Ref("tool", server, "log"), said, approved=True).wait()


def rows(stage: Stage) -> list[str]:
    assert isinstance(stage.app.screen, LogView)
    return [row.text for row in stage.app.screen._list.rows]


async def test_levels_words_and_servers_filter() -> None:
    async with on_stage(changing("a"), changing("b")) as stage:
        for server in ("a", "b"):
            for level in ("debug", "info", "error"):
                await log(stage, server, level=level, data=f"{level} of {server}")
        await stage.press("alt+l")
        await stage.until(lambda: len(rows(stage)) == 6, "six")
        await stage.press("m", "down", "down", "down", "enter")
        await stage.until(lambda: rows(stage) == ["error of a", "error of b"], "errors")
        await stage.shows("warning and worse")
        await stage.press("s", "end", "enter")
        await stage.until(lambda: rows(stage) == ["error of b"], "of b")
        await stage.press("m", "home", "enter", "slash", *"debug", "enter")
        await stage.until(lambda: rows(stage) == ["debug of b"], "words")
        await stage.shows("/ Filter")
        await stage.press("slash")
        await stage.shows("enter To the list   esc End filter ─")
        await stage.press("escape")
        await stage.until(lambda: len(rows(stage)) == 3, "all of b")
        await stage.shows("/ Filter")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "closed")


async def test_another_level_is_asked_for_and_what_that_means_is_said() -> None:
    async with on_stage(changing()) as stage:
        await stage.press("1", "l", "a", "end", "enter")
        await stage.until(lambda: stage.studio.manager.log_level("s") == "emergency", "level")
        await stage.shows("s has taken the level.")
    async with on_stage(changing("s", "--refuse", "never")) as stage:
        await stage.press("1", "l", "a", "end", "enter")
        await stage.shows("It refused the level emergency: never")


async def test_enter_shows_the_message_in_the_trace_and_y_copies_it() -> None:
    async with on_stage(changing()) as stage:
        await log(stage, data="copy me")
        await stage.press("1", "l")
        await stage.until(lambda: rows(stage) == ["copy me"], "one")
        await stage.press("y")
        assert stage.app._clipboard == "copy me"
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, TraceDialog), "trace")
        await stage.shows("notifications/message")
