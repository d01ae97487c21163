"""One list of a server, page by page, with its cursors."""

from __future__ import annotations

from mcp_studio.tui.screens.pages import Pages
from tests.studio_support import stdio
from tests.support import python_server
from tests.tui.stage import on_stage


async def test_pages_are_read_one_by_one_and_a_server_that_ends_is_told() -> None:
    config = stdio(python_server("raw_lists", "--pages"), "raw")
    async with on_stage(config, size=(80, 24)) as stage:
        await stage.press("2")
        await stage.main.catalog.run_action("pages")
        await stage.dialog(Pages)
        await stage.shows("tools/list of raw", "page 1 ", "none: the first page", 'nextCursor +"after 2"')
        await stage.shows("Next page +First page +Copy +Close")
        await stage.press("ctrl+j")
        await stage.shows("page 2 ", 'cursor +"after 2"', "4 in 2 pages so far")
        await stage.press("f")
        await stage.shows("page 1 ", "none: the first page", "2 in 1 page so far")
        await stage.studio.manager.stop("raw")
        await stage.press("f")
        await stage.until(lambda: "page 1 " not in stage.text and "Reading" not in stage.text, "why not")
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
