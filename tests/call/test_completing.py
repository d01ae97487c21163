"""Completions: what is asked, what is understood, what is told."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.call.caller import completion_of as read
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import ProtocolError
from mcp_studio.studio import Studio
from tests.studio_support import opened, stdio
from tests.support import python_server

VISIT = Ref("prompt", "s", "visit")


def server(*options: str) -> Any:
    return stdio(python_server("raw_lists", *options))


def asked(studio: Studio) -> list[bytes]:
    return [e.body for e in studio.trace if e.method == "completion/complete" and e.kind == "request"]


async def test_the_other_arguments_are_sent_as_context() -> None:
    for era in (("--modern",), ()):
        async with opened(server(*era)) as studio:
            found = await studio.caller.complete(VISIT, "city", "", {"country": "france"})
            assert found.values == ("Lyon", "Nice", "Paris") and found.count == ""
            assert b'"context"' in asked(studio)[0]


async def test_versions_without_context_get_none() -> None:
    config = stdio(python_server("raw_faults", "--fault", "old-version"), era="legacy")
    async with opened(config) as studio:
        assert studio.manager.status("s").version == "2024-11-05"
        await studio.caller.complete(Ref("prompt", "s", "greet"), "who", "A", {"other": "x"})
        assert b'"context"' not in asked(studio)[0]


async def test_more_values_than_were_sent_are_counted() -> None:
    async with opened(server("--modern", "--completions", "many")) as studio:
        found = await studio.caller.complete(Ref("template", "s", "raw://notes/{name}"), "name", "n", {})
        assert (len(found.values), found.total, found.has_more) == (100, 250, True)
        assert found.count == "100 of 250"
        assert b'"ref":{"type":"ref/resource","uri":"raw://notes/{name}"}' in asked(studio)[0]


async def test_a_refusal_is_an_error_with_the_servers_words() -> None:
    async with opened(server("--modern", "--completions", "refused")) as studio:
        with pytest.raises(ProtocolError, match="No completions today"):
            await studio.caller.complete(VISIT, "city", "", {})


async def test_a_server_that_declares_none_is_not_asked() -> None:
    async with opened(server("--modern", "--without-completions")) as studio:
        found = await studio.caller.complete(VISIT, "city", "", {})
        assert not found.declared and found.values == () and asked(studio) == []


@pytest.mark.parametrize("total", [10**400, -1, True, "many", 1.5])
def test_a_total_that_nobody_has_counted_is_left_out(total: Any) -> None:
    found = read({"completion": {"values": ["a", 7], "total": total, "hasMore": True}})
    assert (found.values, found.total, found.count) == (("a",), None, "1 and more")
