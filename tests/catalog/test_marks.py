"""Changes of real servers: marked while they run and from one run to the next, until somebody looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.catalog import refresh
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.limits import DEFAULT
from mcp_studio.studio import Studio
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import http, opened, stdio
from tests.support import python_server, run, wait_until


def server(*options: str) -> ServerConfig:
    """The same server in all versions: what it offers does not depend on how it is started."""
    return stdio(python_server("raw_lists", "--modern", *options), inherit_env=("LISTS_VERSION",))


def marks(studio: Studio) -> dict[str, str]:
    listing = studio.catalog.listing("s", "tool")
    return {e.ref.name: e.change.kind for e in (*listing.entries, *listing.gone) if e.change}


CHANGED = {"words": "changed", "fresh": "new", "old": "gone"}


async def test_the_first_reading_marks_nothing() -> None:
    async with opened(server()) as studio:
        assert len(studio.catalog.entries("tool")) == 5 and marks(studio) == {}


async def test_a_list_that_changed_is_marked_until_it_is_accepted() -> None:
    async with opened(server()) as studio:
        await studio.call_tool(Ref("tool", "s", "change"), {}, approved=True).wait()
        await wait_until(lambda: marks(studio) == CHANGED)
        assert len(studio.catalog.entries("tool")) == 5
        (words,) = studio.catalog.find(Ref("tool", "s", "words"))
        assert words.change is not None and words.change.parts == ("description", "inputSchema")
        studio.catalog.accept(Ref("tool", "s", "words"))
        studio.manager.refresher.again("s")
        read = studio.catalog.listing("s", "tool").read_at
        await wait_until(lambda: studio.catalog.listing("s", "tool").read_at > read)
        assert marks(studio) == {"fresh": "new", "old": "gone"}


def test_what_changed_between_two_runs_is_marked_in_every_run_until_somebody_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def seen() -> dict[str, str]:
        async with opened(server()) as studio:
            return marks(studio)

    assert run(seen()) == {}
    monkeypatch.setenv("LISTS_VERSION", "2")
    assert run(seen()) == CHANGED
    assert run(seen()) == CHANGED

    async def look() -> None:
        async with opened(server()) as studio:
            studio.catalog.acknowledge_all("tool")
            assert marks(studio) == {}

    run(look())
    assert run(seen()) == {}
    monkeypatch.setenv("LISTS_VERSION", "1")
    assert run(seen()) == {"words": "changed", "old": "new", "fresh": "gone"}


def test_changes_are_shown_before_the_server_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def once(config: ServerConfig, check: bool) -> None:
        async with opened(config) as studio:
            if check:
                assert studio.catalog.listing("s", "tool").state == "remembered" and marks(studio) == CHANGED

    run(once(server(), False))
    monkeypatch.setenv("LISTS_VERSION", "2")
    run(once(server(), False))
    run(once(replace(server(), enabled=False), True))


def test_a_list_that_is_cut_off_misses_nothing() -> None:
    async def go(limit: int, expected: dict[str, str]) -> None:
        settings = Settings(limits=replace(DEFAULT, items=limit))
        async with opened(server(), settings=settings) as studio:
            assert marks(studio) == expected

    run(go(100, {}))
    run(go(3, {}))


async def test_a_server_that_never_stops_changing_is_read_ever_less_often() -> None:
    async with opened(server("--restless")) as studio:
        await wait_until(lambda: marks(studio).get("words") == "changed")
        heard = [e.method for e in studio.trace]
        asked = [e for e in studio.trace if e.method == "tools/list" and e.kind == "request"]
        assert heard.count("notifications/tools/list_changed") > 2 * len(asked)
        assert len(marks(studio)) == 3


def test_a_list_that_is_not_fresh_any_more_is_read_again_when_somebody_looks() -> None:
    async def reads(*options: str) -> tuple[Any, Any]:
        async with opened(server(*options)) as studio:
            now = studio.catalog.listing("s", "tool")
            before = now._replace(read_at=now.read_at - 10)
            studio.catalog.put(before)
            studio.manager.refresher.look("s", "tool")
            studio.manager.refresher.look("s", "prompt")
            listing = studio.catalog.listing
            if before.stale():
                await wait_until(lambda: listing("s", "tool").read_at > before.read_at)
            await wait_until(lambda: listing("s", "prompt").state == "fresh")
            return before, listing("s", "tool")

    before, after = run(reads("--ttl", "0"))
    assert before.stale() and after.read_at > before.read_at
    before, after = run(reads("--ttl", "60000"))
    assert not before.stale() and after.read_at == before.read_at


async def test_somebody_who_looks_all_the_time_costs_one_reading() -> None:
    async with opened(server("--ttl", "0")) as studio:
        for _ in range(50):
            studio.manager.refresher.look("s", "tool")
        await studio.caller.complete(Ref("prompt", "s", "visit"), "country", "f", {})
        asked = [e for e in studio.trace if e.method == "tools/list" and e.kind == "request"]
        assert len(asked) == 1


async def test_older_versions_have_no_lifetimes() -> None:
    async with opened(stdio(python_server("raw_lists", "--ttl", "1"))) as studio:
        listing = studio.catalog.listing("s", "tool")
        assert listing.hint is None and not listing.stale() and listing.read_at > 0


async def test_a_page_is_read_past_the_catalog() -> None:
    async with opened(server("--pages", "--ttl", "9000")) as studio:
        first = await refresh.list_page(studio.manager.connection("s"), "tool")
        assert first.following == "after 2" and len(first.items) == 2
        assert first.hint is not None and first.hint.ttl == 9
        second = await refresh.list_page(studio.manager.connection("s"), "tool", first.following)
        assert second.cursor == "after 2" and second.items != first.items
        last = await refresh.list_page(studio.manager.connection("s"), "tool", second.following)
        assert last.following is None and len(last.items) == 1
        assert len(studio.catalog.entries("tool")) == 5


async def test_the_servers_own_words_have_their_lifetime() -> None:
    async with opened(server("--ttl", "9000", "--scope", "public")) as studio:
        hint = studio.manager.status("s").hint
        assert hint is not None and (hint.ttl, hint.scope) == (9, "public")


async def test_a_stream_that_ends_is_opened_again_and_all_lists_are_read_again() -> None:
    heard: list[str] = []

    async def handler(got: Request, reply: Reply) -> None:
        method = got.json["method"]
        heard.append(method)
        if method == "server/discover":
            capabilities = {"tools": {"listChanged": True}}
            await reply.result({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})
        elif method == "subscriptions/listen" and heard.count(method) > 1:
            await reply.stream()
            await reply.closed_by_peer()
        else:
            name = f"t{heard.count('tools/list')}"
            await reply.result({"resultType": "complete", "tools": [{"name": name, "inputSchema": {"type": "object"}}]})

    settings = Settings(limits=replace(DEFAULT, retry_min=0.01))
    async with RawServer(handler) as server, opened(http(server.url), settings=settings) as studio:
        await wait_until(lambda: heard.count("subscriptions/listen") == 2)
        await wait_until(lambda: [entry.ref.name for entry in studio.catalog.entries("tool")] == ["t2"])
