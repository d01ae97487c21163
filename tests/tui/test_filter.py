"""The filter of the catalog: what it leaves, in which order, and what enter does while the index is being asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_studio.tui.panels import catalog_rows
from rich.cells import cell_len

from mcp_studio.catalog.listing import Ref, salvage
from mcp_studio.config.model import Settings
from mcp_studio.search.index import SearchIndex
from mcp_studio.search.method import Found, Hit, Query, Reason
from tests.support import wait_until
from tests.tui.stage import Stage, on_stage, raw
from tests.tui.test_key_order import at_once

WORDS = Settings(search_semantic=False)


@asynccontextmanager
async def filtering(*servers: Any, **more: Any) -> AsyncGenerator[Stage]:
    async with on_stage(*(servers or (raw(),)), settings=WORDS, **more) as stage:
        yield stage


def names(stage: Stage) -> list[str]:
    """The rows as they stand there; headings in brackets."""
    return [f"[{row.heading}]" if row.heading else row.entry.ref.name for row in stage.main.catalog.list.rows]


class Slow:
    """An index that answers when it is told to."""

    def __init__(self, stage: Stage, *refs: Ref) -> None:
        self.asked: list[str] = []
        self.go = asyncio.Event()
        self._hits = tuple(Hit(ref, 1.0, (Reason("name", ("ech",)),)) for ref in refs)
        index: SearchIndex = stage.studio.index
        index.ask = self.ask  # type: ignore[method-assign]

    async def ask(self, text: str, **more: Any) -> Found:
        self.asked.append(text)
        await self.go.wait()
        return Found(Query(text, scope=more["scope"]), self._hits, len(self._hits))


async def test_the_best_name_comes_first_and_what_was_typed_is_marked() -> None:
    async with filtering() as stage:
        await stage.press("slash", *"a")
        assert names(stage) == ["add", "ask", "wait", "fail", "echo", "count"]
        await stage.press(*"d")
        assert names(stage) == ["add"]
        lines = [list(line) for line in stage.main.catalog.list.render_lines(stage.main.catalog.list.size.region)]
        assert any(segment.text == "ad" for line in lines for segment in line)


async def test_enter_waits_for_the_answer_to_all_that_was_typed_and_what_follows_goes_into_the_form() -> None:
    async with filtering() as stage:
        slow = Slow(stage, Ref("tool", "raw", "echo"))
        at_once(stage.app, "/ehco", "^enter", "hello")
        await wait_until(lambda: slow.asked, 20, "a question")
        for _ in range(100):  # until enter has come as far as it can without an answer
            await asyncio.sleep(0)
        assert stage.main.calling.opened is None
        slow.go.set()
        await stage.shows("3 raw.echo", "hello")
        assert slow.asked[-1] == "ehco"


async def test_what_other_tabs_have_is_told_and_the_filter_stays_when_one_turns_there() -> None:
    async with filtering(size=(120, 40)) as stage:
        await stage.press("slash", *"greet")
        await stage.shows("Nothing here has all these words", "1 in Prompts.", "^f searches everything.")
        await stage.press("down", "left_square_bracket")
        await stage.until(lambda: stage.main.catalog.kind == "prompt", "the prompts")
        assert names(stage) == ["greet"]


@pytest.mark.parametrize("width", [12, 24, 40, 80])
def test_a_long_name_keeps_both_ends_and_the_signs_behind_it(width: int) -> None:
    name = "mcp-of-somebody_for-a-tracker_create_issue_label"
    one = salvage("s", "tool", [{"name": name, "inputSchema": {"type": "object"}}], remembered=True)[0]
    line = catalog_rows.draw(catalog_rows.Row(one, 2), width, catalog_rows.Marks(("issue",), servers=True))
    assert isinstance(line, list)
    text = "".join(text for text, _ in line)
    assert cell_len(text) == width
    assert text.startswith("w m") and text.endswith(" ◐") and " #2" in text
    assert width < 24 or "_label #2" in text, "what tells it apart from others of its server"
    assert ("issue", "match") in line or width < 40
