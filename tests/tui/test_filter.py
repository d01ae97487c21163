"""The filter of the catalog: what it leaves, in which order, and what enter does while the index is being asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rich.cells import cell_len

from mcp_studio.catalog.listing import Ref, salvage
from mcp_studio.config.model import Settings
from mcp_studio.search.index import SearchIndex
from mcp_studio.search.method import Found, Hit, Query, Reason
from mcp_studio.tui.panels import catalog_rows
from tests.studio_support import stdio
from tests.support import python_server, wait_until
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


async def test_where_no_name_has_it_what_is_similar_comes_below() -> None:
    async with filtering() as stage:
        await stage.press("slash", *"ehco")
        await stage.until(lambda: names(stage) == ["[similar]", "echo"], "a similar name")
        await stage.shows("0 of 6")
        await stage.press("enter")
        await stage.shows("3 raw.echo")


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


async def test_an_answer_to_an_older_text_is_not_shown() -> None:
    async with filtering() as stage:
        slow = Slow(stage, Ref("tool", "raw", "echo"))
        await stage.press("slash", *"zz")
        await stage.until(lambda: slow.asked, "a question")
        await stage.press("backspace", "backspace", *"add")
        slow.go.set()
        await stage.pilot.pause()
        assert names(stage) == ["add"]


async def test_a_server_that_connects_meanwhile_adds_its_rows_and_the_cursor_stays() -> None:
    async with filtering() as stage:
        await stage.press("slash", *"a", "down", "down", "down")
        assert stage.main.catalog.list.row.entry.ref.name == "wait"
        stage.studio.manager.add(raw("early"))
        stage.studio.manager.start("early")
        await stage.until(lambda: names(stage).count("ask") == 2, "rows of both")
        assert stage.main.catalog.list.row.entry.ref == Ref("tool", "raw", "wait")
        await stage.shows("12 of 12")


async def test_similar_names_of_a_server_that_connects_meanwhile_are_found() -> None:
    async with filtering() as stage:
        await stage.press("slash", *"ehco")
        await stage.until(lambda: names(stage) == ["[similar]", "echo"], "a similar name")
        stage.studio.manager.add(raw("early"))
        stage.studio.manager.start("early")
        await stage.until(lambda: names(stage) == ["[similar]", "echo", "echo"], "that of the other one")
        assert stage.main.catalog.list.row.entry.ref.server == "raw"


async def test_what_other_tabs_have_is_told_and_the_filter_stays_when_one_turns_there() -> None:
    async with filtering(size=(120, 40)) as stage:
        await stage.press("slash", *"greet")
        await stage.shows("Nothing here has all these words", "1 in Prompts.", "^f searches everything.")
        await stage.press("down", "left_square_bracket")
        await stage.until(lambda: stage.main.catalog.kind == "prompt", "the prompts")
        assert names(stage) == ["greet"]


async def test_duplicates_and_what_has_no_name_are_found() -> None:
    twice = stdio(python_server("raw_faults", "--fault", "duplicate-names"), "twice")
    bad = stdio(python_server("raw_faults", "--fault", "bad-tool"), "bad")
    async with filtering(twice, bad, size=(120, 50)) as stage:
        await stage.press("slash", *"echo")
        await stage.shows("echo #1", "echo #2")
        await stage.press("escape", "slash", *"bad.")
        nameless = [row for row in stage.main.catalog.list.rows if not row.entry.ref.name]
        assert nameless and "it has no name" in nameless[0].entry.problem


async def test_the_footer_has_the_keys_of_the_line_that_is_typed_in() -> None:
    off = [raw(f"off{number}", enabled=False) for number in range(2)]
    async with filtering(raw("one"), *off, size=(80, 24)) as stage:

        def footer() -> str:
            return stage.screen_text().splitlines()[-1]

        await stage.press("slash", *"ec")
        await stage.until(lambda: "enter Open   down To the list   esc End filter   ^f Search" in footer())
        await stage.press("down")
        await stage.until(lambda: "enter Open   / Filter   esc End filter" in footer(), "how the filter ends")
        await stage.press("escape")
        await stage.until(lambda: "enter Open   / Filter   ^f Search" in footer(), "no filter any more")
        await stage.press("1")
        high = stage.main.servers.outer_size.height
        await stage.press("slash", *"one")
        await stage.until(lambda: "enter To the list   esc End filter" in footer(), "the keys of this filter")
        assert len(stage.main.servers.list.rows) == 1
        assert stage.main.servers.outer_size.height == high + 1, "what is typed moves nothing"
        await stage.press("f10")
        await stage.until(lambda: stage.main.servers.outer_size.height == 22, "the whole screen")
        await stage.press("f10")
        await stage.until(lambda: stage.main.servers.outer_size.height == high + 1, "as high as it was")
        await stage.press("escape")
        await stage.until(lambda: stage.main.servers.outer_size.height == high, "as high as before")
        await stage.press("ctrl+f")
        await stage.shows("tab Way", "esc Back")


async def test_until_somebody_uses_the_list_its_cursor_is_on_the_first_row() -> None:
    async with filtering(raw("one"), raw("two")) as stage:
        catalog, entries = stage.main.catalog, stage.studio.catalog.entries("tool")

        def come(*servers: str) -> tuple[str, int]:
            catalog.show("tool", [entry for entry in entries if entry.ref.server in servers], 2, "")
            return str(catalog.list.row.entry.ref), catalog.list.top

        assert come("two") == ("two.echo", 0)
        assert come("one", "two") == ("one.echo", 0), "what comes above is not hidden"
        come("two")
        await stage.press("down", "up")
        assert come("one", "two")[0] == "two.echo", "this is where somebody went"
        catalog.show_kind("tool")
        come("two")
        await stage.press("enter")
        await stage.shows("3 two.echo")
        assert come("one", "two")[0] == "two.echo", "this is what is open"


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
