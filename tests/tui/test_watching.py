"""Watching resources on the screen: the switch, marks, what is said, and reading again on request."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import Stage, on_stage, raw

NOTE = "raw://note"
BOTH = pytest.mark.parametrize("options", [(), ("--modern",)], ids=["legacy", "modern"])


def changing(*options: str, name: str = "s") -> ServerConfig:
    return stdio(python_server("raw_changes", *options), name)


async def tool(stage: Stage, name: str, **arguments: Any) -> None:
    await stage.studio.call_tool(Ref("tool", "s", name), arguments, approved=True).wait()


def state(stage: Stage, uri: str = NOTE) -> str:
    known = stage.studio.subscriptions.get("s", uri)
    return known.state if known else "off"


@BOTH
async def test_a_key_in_the_catalog_watches_the_resource_and_the_row_is_marked(options: tuple[str, ...]) -> None:
    async with on_stage(changing(*options)) as stage:
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


async def test_the_call_pane_watches_what_is_open_and_before_it_is_read_the_key_that_reads_is_named() -> None:
    async with on_stage(changing(), size=(80, 24)) as stage:
        await stage.open(NOTE, "resource")
        await stage.press("s")
        await stage.until(lambda: state(stage) == "active", "active")
        await tool(stage, "updated", count=2)
        await stage.shows("s ago, 2 times · ^j reads it")


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


async def test_a_refusal_is_said_and_the_mark_stays_until_it_is_switched_off() -> None:
    async with on_stage(changing("--refuse", "not here")) as stage:
        await stage.press("2", "right_square_bracket", "s")
        await stage.until(lambda: any("refused (not here (-32603))" in toast for toast in stage.toasts), "a toast")
        await stage.shows("◉ Note")
        await stage.press("s")
        await stage.shows("· Note")


async def test_a_tool_cannot_be_watched_and_that_is_said() -> None:
    async with on_stage(changing()) as stage:
        await stage.press("2", "s")
        await stage.shows("Only resources can be watched.")
        await stage.open("updated")
        await stage.press("alt+s")
        assert any("open one first" in toast for toast in stage.toasts)


async def test_the_details_of_a_server_say_what_is_watched_and_what_it_honours() -> None:
    async with on_stage(changing("--modern", "--honour", NOTE)) as stage:
        for uri in (NOTE, "raw://other"):
            stage.studio.subscriptions.watch("s", uri)
        await stage.until(lambda: state(stage, "raw://other") == "refused", "refused")
        await tool(stage, "updated")
        await stage.press("1", "enter")
        await stage.until(lambda: stage.app.screen is not stage.main, "details")
        text = lambda: str(stage.app.screen._content)  # noqa: E731
        await stage.until(lambda: "raw://note  watched, 1 update, the last " in text(), "updates")
        assert "raw://other  not watched: refused (the server does not honour it), 0 updates" in text()
        assert "lists: toolsListChanged, resourcesListChanged, promptsListChanged - honoured" in text()
        assert "resources: resourceSubscriptions 2 - not honoured whole: resourceSubscriptions" in text()
