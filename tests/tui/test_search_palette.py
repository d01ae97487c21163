"""The search palette in the whole app: keys, hits, scope, what is done with a hit."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp_studio.tui.screens.search_palette import SearchPalette
from textual.events import Key
from textual.widgets import Input

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Settings
from tests.tui.stage import Stage, on_stage, raw

WORDS = Settings(search_semantic=False)
"""Nothing is compared by meaning: the model would have to be loaded."""


@asynccontextmanager
async def searching(*servers: Any, **more: Any) -> AsyncGenerator[Stage]:
    async with on_stage(*(servers or (raw("alpha"), raw("beta"))), settings=WORDS, **more) as stage:
        await stage.press("ctrl+f")
        await stage.until(lambda: isinstance(stage.app.screen, SearchPalette), "the palette")
        yield stage


def field(stage: Stage) -> Input:
    return stage.app.screen.query_one(Input)


def hits(stage: Stage) -> list[str]:
    return [str(row.hit.ref) for row in stage.app.screen._hits.rows if row.hit]  # type: ignore[attr-defined]


async def type_all(stage: Stage, text: str) -> None:
    """Type without waiting for anything, as fast hands and pastes do."""
    for char in text:
        named = {" ": "space", "\n": "enter"}.get(char, char)
        stage.app.post_message(Key(named, None if char == "\n" else char))
    await stage.pilot.pause()


async def test_it_opens_finds_opens_and_offers_the_last_question_again() -> None:
    async with searching() as stage:
        await stage.shows("Search 12 tools · 2 resources", "all there is", "alpha.echo", "in all")
        await type_all(stage, "echo")
        await stage.until(lambda: hits(stage) == ["alpha.echo", "beta.echo"], "two hits")
        await stage.shows("2 of 18", "text: string*", "matched by name echo")
        await stage.press("down")
        await stage.press("enter")
        await stage.until(lambda: stage.main.calling.opened, "it is open")
        assert stage.main.calling.opened.entry.ref == Ref("tool", "beta", "echo")
        assert stage.main.call.has_focus_within
        await stage.press("escape", "colon")
        await stage.until(lambda: isinstance(stage.app.screen, SearchPalette), "the palette")
        assert (field(stage).value, field(stage).selected_text) == ("echo", "echo")
        await stage.until(lambda: hits(stage)[:1] == ["beta.echo"], "what was used comes first")
        await stage.press("escape")
        assert stage.main.catalog.has_focus_within


async def test_running_asks_for_what_is_missing_and_else_runs() -> None:
    async with searching(raw("alpha")) as stage:
        await type_all(stage, "adds two")
        await stage.press("ctrl+j")
        await stage.told("Not sent: ")
        assert stage.main.calling.opened.entry.ref.name == "add"
        assert isinstance(stage.app.focused, Input)
        assert stage.main.calling.call is None
        await stage.press("ctrl+f")
        await type_all(stage, "ends in a tool error")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.main.calling.call, "a call")
        assert stage.main.calling.kept[0].ref.name == "fail"


async def test_ways_servers_and_kinds_are_changed_by_keys_shown_and_kept() -> None:
    async with searching() as stage:
        await type_all(stage, "(")
        await stage.press("tab", "tab")
        line = stage.app.screen._line  # type: ignore[attr-defined]
        await stage.until(lambda: "^" in str(line.render()), "a mark at the place")
        await type_all(stage, "echo|add)")
        await stage.until(lambda: len(hits(stage)) == 4 and "^" not in str(line.render()), "four hits")
        await stage.press("down", "down", "down", "ctrl+s")
        await stage.until(lambda: {hit.split(".")[0] for hit in hits(stage)} == {"beta"}, "one server")
        await stage.shows("beta · everything")
        await stage.press("ctrl+t", "ctrl+t")
        await stage.shows("beta · resources", "Only beta (^s) and resources (^t) are searched.")
        await stage.press("escape", "ctrl+f")
        await stage.shows("beta · resources", "regex")
        await stage.press("ctrl+s")
        await stage.shows("Search which servers?", "[x] beta", "[ ] alpha")
        await stage.press("up", "space", "enter")
        await stage.shows("all servers · resources")
        await stage.press("ctrl+s", "ctrl+s")
        await stage.shows("Search which servers?")
        await stage.press("escape")
        await stage.until(lambda: "Search which" not in stage.screen_text(), "back")
        await stage.shows("alpha · resources")
        await stage.press("ctrl+s")
        await stage.shows("all servers · resources")
