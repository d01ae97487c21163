"""Results with content of every kind: seen, gone through, read on, opened only when that is agreed to."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_studio.tui.panels.result_views import marks
from mcp_studio.tui.views.content_view import ContentView

from mcp_studio.paths import Paths
from mcp_studio.tui.screens import handling
from tests.studio_support import stdio
from tests.support_servers import demo_stdio
from tests.tui.stage import Stage, on_stage, raw


def demo() -> Any:
    return stdio(demo_stdio(), "demo")


async def shown(stage: Stage, tool: str) -> ContentView:
    await stage.open(tool)
    await stage.ran()
    await stage.press("f5")
    await stage.until(lambda: stage.app.screen.focused in stage.main.query(ContentView), "the content view")
    return stage.main.query_one(ContentView)


async def test_every_kind_of_block_is_shown_and_gone_through() -> None:
    async with on_stage(demo(), size=(120, 90)) as stage:
        view = await shown(stage, "show_every_block")
        await stage.press("f10")
        await stage.shows(
            "for user, priority 0.9", "image · image/png", "audio · audio/wav", "file ·", "enter reads it"
        )
        await stage.shows("▀▀▀")
        seen = [view.index]
        for _ in range(7):
            await stage.press("n")
            seen.append(view.index)
        assert seen == list(range(8))
        await stage.press("N")
        assert view.index == 6


async def test_a_link_is_read_from_its_server() -> None:
    async with on_stage(demo(), size=(100, 60)) as stage:
        view = await shown(stage, "show_every_block")
        await stage.press("G")
        assert view.index == 7
        await stage.press("enter")
        await stage.until(
            lambda: stage.main.calling.call and stage.main.calling.call.ref.name == "shop://welcome", "read"
        )
        await stage.shows("The Paper Lantern")
        await stage.until(lambda: stage.main.result.has_focus_within, "focus in the result")


async def test_structured_content_that_does_not_match_is_marked_where_it_is() -> None:
    async with on_stage(demo()) as stage:
        await stage.open("show_wrong_structure")
        outcome = await stage.ran()
        await stage.until(lambda: stage.main.calling.call.checked, "checked")
        outcome = stage.main.calling.call.outcome
        found = marks(outcome, outcome.result["structuredContent"])
        assert set(found) == {"", "/open", "/books/1"} and "since" in found[""]
        await stage.press("f5", "right_square_bracket")
        await stage.shows("✗ must be true or false", "✗ since is required")


@pytest.mark.parametrize("answer", ["y", "n"])
async def test_the_page_of_a_tool_is_read_as_source_and_opened_only_when_agreed(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    opened: list[str] = []

    async def open_page(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(handling, "open_page", open_page)

    async with on_stage(demo(), size=(110, 40)) as stage:
        await shown(stage, "show_page")
        await stage.press("n", "enter")
        await stage.shows("page of an MCP App", "connects to: https://example.com", "<title>")
        await stage.until(lambda: stage.main.result.has_focus_within, "focus")
        assert not opened
        await stage.press("o")
        await stage.shows("Open this page in the browser?")
        await stage.press(answer)
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        if answer == "y":
            await stage.until(lambda: opened, "opened")
            (file,) = (Paths.default().cache / "opened").iterdir()
            assert opened == [file.as_uri()] and "connect-src https://example.com;" in file.read_text()
        else:
            assert not opened


async def test_text_is_shown_as_it_is_until_markdown_is_wanted_which_is_remembered() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        opened, panel = stage.main.calling.opened, stage.main.result
        opened.value = {"text": "# Title\none\ntwo **bold**"}
        await stage.press("ctrl+j")
        await stage.ran()
        await stage.shows("# Title", "two **bold**")
        await panel.on_pane_tab_chosen(panel.TabChosen(panel, "markdown"))
        await stage.shows("Title", "two bold")
        shown = stage.screen_text()
        assert "# Title" not in shown and "one two" not in shown, "each line has one of its own"
        await stage.open("add")
        await stage.open("echo")
        await stage.shows("two bold")
        assert stage.studio.memory.drafts.get(f"markdown:{opened.key}") is True
        await panel.on_pane_tab_chosen(panel.TabChosen(panel, "text"))
        await stage.shows("two **bold**")
