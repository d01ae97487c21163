"""Searching as a studio does it: over what its servers list or listed, with what its person has used."""

from __future__ import annotations

import asyncio

from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.config.model import Config, Settings
from mcp_studio.paths import Paths
from mcp_studio.search.method import Found, Scope, SearchProblem
from mcp_studio.studio import Studio
from tests.search.index_kit import listing, names, searching
from tests.studio_support import opened, stdio
from tests.support import python_server, run, wait_until

LISTS = python_server("raw_lists")
WORDS = Settings(search_semantic=False)
TOOLS: frozenset[EntryKind] = frozenset(["tool"])
PROMPTS: frozenset[EntryKind] = frozenset(["prompt"])


def test_what_servers_list_is_found_by_what_it_says_and_its_group() -> None:
    async def work() -> None:
        async with opened(stdio(LISTS, "one", group="translators"), stdio(LISTS, "two"), settings=WORDS) as studio:
            assert "index" not in studio.__dict__ and searching() == []
            found = await studio.index.ask("plan a visit")
            assert names(found)[:2] == ["one.visit", "two.visit"] and found.hits[0].ref.kind == "prompt"
            assert found.hits[0].entry == studio.catalog.find(Ref("prompt", "one", "visit"))[0]
            found = await studio.index.ask("words", scope=Scope(frozenset(["two"]), TOOLS), limit=1)
            assert names(found) == ["two.words"] and found.of == 5
            assert {hit.ref.server for hit in (await studio.index.ask("translators")).hits} == {"one"}

    run(work())
    assert searching() == []


async def test_a_list_that_changed_is_found_as_it_is_now() -> None:
    async with opened(stdio(LISTS), settings=WORDS) as studio:
        assert names(await studio.index.ask("old", scope=Scope(frozenset(["s"]), TOOLS)))[0] == "s.old"
        told: list[None] = []
        studio.index.changed.connect(told.append)
        await studio.call_tool(Ref("tool", "s", "change"), {}, approved=True).wait()
        await wait_until(lambda: not studio.catalog.find(Ref("tool", "s", "old")))
        assert "s.old" not in names(await studio.index.ask("old", scope=Scope(kinds=TOOLS)))
        await wait_until(lambda: told)


async def test_what_is_remembered_is_found_and_marked_also_of_servers_that_are_not_started() -> None:
    async with opened(stdio(LISTS, "on"), stdio(LISTS, "off")):
        pass
    kept = {name: stdio(LISTS, name, enabled=False) for name in ("on", "off")}
    async with Studio.open(Config(WORDS, kept), Paths.default(), can_ask=False) as studio:
        found = await studio.index.ask("visit", scope=Scope(kinds=PROMPTS))
        assert names(found) == ["off.visit", "on.visit"]
        assert all(hit.entry is not None and hit.entry.remembered for hit in found.hits)
        await studio.manager.remove("off")
        assert names(await studio.index.ask("visit", scope=Scope(kinds=PROMPTS))) == ["on.visit"]


async def test_what_a_person_runs_comes_first_where_nothing_is_asked() -> None:
    async with opened(stdio(LISTS), settings=WORDS) as studio:
        assert studio.usage.all() == {}
        await studio.get_prompt(Ref("prompt", "s", "visit"), {"country": "france"}).wait()
        await studio.call_tool(Ref("tool", "s", "full"), {}, approved=True).wait()
        studio.caller.call_tool(Ref("tool", "s", "words"), {}, origin="program", approved=True)
        assert names(await studio.index.ask(""))[:3] == ["s.full", "s.visit", "s.change"]
    async with opened(stdio(LISTS), settings=WORDS) as studio:
        found = await studio.index.ask("", limit=2)
        assert names(found) == ["s.full", "s.visit"] and found.hits[0].used and found.hits[0].used.count == 1
    async with opened(stdio(LISTS), settings=Settings(search_semantic=False, search_usage=False)) as studio:
        await studio.call_tool(Ref("tool", "s", "words"), {}, approved=True).wait()
        assert names(await studio.index.ask(""))[0] == "s.change" and studio.usage.all() == {}
    assert b"words" not in (Paths.default().state / "search-usage.json").read_bytes()


async def test_a_studio_that_is_closed_while_it_searches_leaves_nothing_behind() -> None:
    async with Studio.open(Config(WORDS), Paths.default(), can_ask=False) as studio:
        for at in range(20):
            studio.catalog.put(listing(f"s{at}", {f"read_{name}": "Read. " * 20 for name in range(200)}))
        asked = asyncio.create_task(studio.index.ask("read"))
        typed = await studio.index.ask("read", typing=True)
        assert typed.of <= 4_000
    assert searching() == []
    (answer,) = await asyncio.gather(asked, return_exceptions=True)
    assert isinstance(answer, SearchProblem) or (isinstance(answer, Found) and answer.total == 4_000)


async def test_two_studios_at_once_search_their_own_servers() -> None:
    async with (
        opened(stdio(LISTS, "one"), settings=WORDS) as one,
        opened(stdio(LISTS, "two"), settings=WORDS) as two,
    ):
        first, second = await asyncio.gather(one.index.ask("visit"), two.index.ask("visit"))
        assert {hit.ref.server for hit in first.hits} == {"one"}
        assert {hit.ref.server for hit in second.hits} == {"two"}
    assert searching() == []
