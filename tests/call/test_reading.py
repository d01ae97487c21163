"""Reads that are answered without the server, and those that never are."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.call.call import Rejected, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import UsageError
from mcp_studio.protocol.versions import Hint
from mcp_studio.studio import Studio
from tests.studio_support import opened, stdio
from tests.support import python_server, wait_until


def server(*options: str, modern: bool = True) -> Any:
    words = ["--modern", *options] if modern else list(options)
    return stdio(python_server("raw_lists", *words))


async def read(studio: Studio, uri: str = "raw://count", *, fresh: bool = False) -> Succeeded:
    outcome = await studio.read_resource("s", uri, fresh=fresh).wait()
    assert isinstance(outcome, Succeeded), outcome
    return outcome


def said(outcome: Succeeded) -> str:
    return outcome.result["contents"][0]["text"]


async def test_a_second_read_is_answered_without_the_server_and_says_so() -> None:
    async with opened(server("--ttl", "60000", "--scope", "public")) as studio:
        first, before = await read(studio), studio.trace.total
        second = await read(studio)
        assert first.cached is None and first.hint is not None and first.hint.ttl == 60
        assert second.cached is not None and second.cached.hint.scope == "public"
        assert said(first) == said(second) == "read 1"
        assert studio.trace.total == before


async def test_fresh_asks_the_server_and_what_it_says_is_kept_from_then_on() -> None:
    async with opened(server("--ttl", "60000")) as studio:
        await read(studio)
        again = await read(studio, fresh=True)
        assert again.cached is None and said(again) == "read 2"
        assert said(await read(studio)) == "read 2"


async def test_what_is_stale_at_once_or_has_no_lifetime_that_counts_is_read_again() -> None:
    for options in (("--ttl", "0"), ("--ttl", "-5"), ("--ttl", '"long"')):
        async with opened(server(*options)) as studio:
            await read(studio)
            again = await read(studio)
            assert again.cached is None and said(again) == "read 2"
            assert any("ttlMs" in problem for problem in again.problems) is (options[1] != "0")


async def test_hints_of_an_older_version_mean_nothing() -> None:
    async with opened(server("--ttl", "60000", modern=False)) as studio:
        await read(studio)
        again = await read(studio)
        assert again.hint is None and again.cached is None and said(again) == "read 2"


async def test_errors_are_never_kept() -> None:
    async with opened(server("--ttl", "60000")) as studio:
        for _ in range(2):
            before = studio.trace.total
            assert isinstance(await studio.read_resource("s", "raw://bad").wait(), Rejected)
            assert studio.trace.total > before


async def test_a_read_that_needed_an_answer_is_never_kept() -> None:
    async with opened(server("--ttl", "60000")) as studio:
        for _ in range(2):
            call = studio.read_resource("s", "raw://fragile")
            await wait_until(lambda: studio.inbox.pending)
            studio.inbox.pending[0].answer("accept", {"name": "Ada"})
            outcome = await call.wait()
            assert isinstance(outcome, Succeeded) and outcome.cached is None


async def test_a_changed_list_forgets_what_was_read() -> None:
    async with opened(server("--ttl", "60000")) as studio:
        await read(studio)
        await studio.call_tool(Ref("tool", "s", "change"), {}, approved=True).wait()
        await wait_until(lambda: any(e.method == "notifications/resources/list_changed" for e in studio.trace))
        assert (await read(studio)).cached is None


async def test_what_changes_while_it_is_read_is_not_kept() -> None:
    async with opened(server("--ttl", "60000")) as studio:
        await read(studio, "raw://moving")
        assert (await read(studio, "raw://moving")).cached is None


async def test_a_new_connection_forgets_what_was_read_over_the_old_one() -> None:
    async with opened(server("--ttl", "60000")) as studio:
        await read(studio)
        studio.manager.restart("s")
        await wait_until(lambda: studio.manager.status("s").state != "ready")
        await studio.manager.settle("s")
        again = await read(studio)
        assert again.cached is None and said(again) == "read 1"


@pytest.mark.parametrize("ttl", [60.0, 0.0])
async def test_a_lifetime_of_the_configuration_holds_until_the_server_speaks_of_a_change_or_is_gone(ttl: float) -> None:
    config = replace(server(modern=False), cache_ttl=ttl)
    async with opened(config) as studio:
        await read(studio)
        again = await read(studio)
        assert again.cached is not None and said(again) == "read 1" and again.hint is None
        await studio.call_tool(Ref("tool", "s", "change"), {}, approved=True).wait()
        await wait_until(lambda: any("list_changed" in (e.method or "") for e in studio.trace))
        assert said(await read(studio)) == "read 2"
        studio.manager.restart("s")
        await wait_until(lambda: studio.manager.status("s").state != "ready")
        await studio.manager.settle("s")
        assert (await read(studio)).cached is None


BOTH = "Several servers have the resource `raw://notes/ada`: t, u."
NONE = "No server has the resource `raw://notes/a/b`. Did you mean `raw://note"


@pytest.mark.parametrize(
    ("uri", "others", "found"),
    [
        ("note://count", "", "s"), ("raw://note", "", "t"), ("raw://notes/ada", "", "t"),
        ("raw://notes/ada", "u", BOTH), ("raw://notes/a/b", "", NONE), ("raw://notes/ada", "v", "v"),
    ],
)  # fmt: skip
async def test_a_resource_without_a_server_is_read_of_the_one_that_lists_it_or_has_a_template(
    uri: str, others: str, found: str
) -> None:
    group = "twins" if others == "v" else ""  # of which the one that comes first is asked
    twins = [
        replace(stdio(python_server("raw_server"), name), group=group, priority=priority)
        for priority, name in enumerate(("t", *others))
    ]
    async with opened(stdio(python_server("sdk_cached")), *twins) as studio:
        if len(found) == 1:
            call = studio.read_resource("", uri)
            assert call.ref.server == found and isinstance(await call.wait(), Succeeded)
        else:
            with pytest.raises(UsageError, match=re.escape(found)):
                studio.read_resource("", uri)


async def test_hints_of_a_server_of_the_sdk_are_understood() -> None:
    async with opened(stdio(python_server("sdk_cached"))) as studio:
        first = await read(studio, "note://count")
        again = await read(studio, "note://count")
        assert said(first) == said(again) == "read 1"
        assert again.cached is not None and (again.cached.hint.ttl, again.cached.hint.scope) == (60, "private")
        assert studio.catalog.listing("s", "tool").hint == Hint(30, "public")
        assert studio.manager.status("s").hint == Hint(5, "public")
