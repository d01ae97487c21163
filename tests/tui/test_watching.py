"""Watching resources on the screen: the switch, marks, what is said, and reading again on request."""

from __future__ import annotations

from typing import Any

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw

NOTE = "raw://note"


def changing(*options: str, name: str = "s") -> ServerConfig:
    return stdio(python_server("raw_changes", *options), name)


async def tool(stage: Stage, name: str, **arguments: Any) -> None:
    await stage.studio.call_tool(Ref("tool", "s", name), arguments, approved=True).wait()


def state(stage: Stage, uri: str = NOTE) -> str:
    known = stage.studio.subscriptions.get("s", uri)
    return known.state if known else "off"


async def test_a_key_in_the_catalog_watches_the_resource_and_the_row_is_marked() -> None:
    async with on_stage(changing("--modern")) as stage:
        await stage.press("2", "right_square_bracket", "s")
        await stage.until(lambda: state(stage) == "active", "active")
        await stage.shows("◉ Note", "raw://note is watched.")
        await tool(stage, "updated", count=3)
        await stage.shows("◉ Note +3")
        await stage.until(lambda: any("raw://note was updated" in toast for toast in stage.toasts), "a toast")
        await tool(stage, "updated", count=2)
        await stage.shows("◉ Note +5")
        assert sum("was updated" in toast for toast in stage.toasts) <= 1
        await stage.press("s")
        await stage.shows("· Note", "not watched any more")


async def test_an_update_of_the_open_resource_is_said_beside_the_result_and_read_again_on_request() -> None:
    async with on_stage(changing()) as stage:
        await stage.open(NOTE, "resource")
        await stage.ran()
        await stage.press("f5", "s")
        await stage.until(lambda: state(stage) == "active", "active")
        await tool(stage, "updated")
        await stage.shows("s ago · r reads it again")
        assert not any("was updated" in toast for toast in stage.toasts)
        first, news = stage.main.watching.news(), stage.main.watching.news
        await stage.until(lambda: news() != first and news() in stage.screen_text(), "time passes")
        before = stage.main.calling.call
        await stage.press("f5", "r")
        await stage.until(lambda: stage.main.calling.call is not before and stage.main.calling.call.outcome, "read")
        await stage.until(lambda: "reads it again" not in stage.screen_text(), "no news")


async def test_a_template_is_watched_once_its_variables_are_filled_in() -> None:
    async with on_stage(raw("s")) as stage:
        await stage.press("2", "right_square_bracket", "right_square_bracket", "s")
        await stage.shows("Open the template")
        await stage.open("raw://notes/{name}", "template")
        await stage.press("alt+s")
        await stage.shows("not complete")
        await stage.press(*"abc")
        await stage.press("alt+s")
        await stage.until(lambda: state(stage, "raw://notes/abc") == "active", "active")
        await stage.shows("◉ Notes")
