"""`resultType` (2026-07-28): absent means complete, unknown makes the result invalid; older versions do not know it."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.call.call import Rejected, Succeeded
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import call, http, opened
from tests.support import run

ABOUT = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
TOOLS = [{"name": "t", "inputSchema": {"type": "object"}}]


def server(modern: bool, **kinds: str) -> Any:
    """A handler whose results have the `resultType` given by method (`list`, `call`), or none."""

    async def handler(got: Request, reply: Reply) -> None:
        method = got.json.get("method") if got.method == "POST" else None
        results: dict[Any, Any] = {
            "tools/list": {"tools": TOOLS},
            "tools/call": {"content": [{"type": "text", "text": "done"}]},
            "server/discover": {"supportedVersions": ["2026-07-28"], **ABOUT} if modern else None,
            "initialize": None if modern else {"protocolVersion": "2025-11-25", **ABOUT},
        }
        result = results.get(method)
        if method is None or "id" not in got.json:
            await (reply.accepted() if method else reply.body("405 Method Not Allowed", b""))
        elif result is None:
            await reply.body("404 Not Found", b"")
        else:
            kind = kinds.get(method.rpartition("/")[2])
            await reply.result({**result, **({"resultType": kind} if kind else {})})

    return handler


async def outcome(modern: bool, **kinds: str) -> tuple[str, Any]:
    """The error of the list of tools, and how a call of the tool went."""
    async with RawServer(server(modern, **kinds)) as raw, opened(http(raw.url)) as studio:
        assert studio.manager.status("s").modern is modern
        return studio.catalog.listing("s", "tool").error, await call(studio, "t")


def test_a_modern_server_may_leave_it_out() -> None:
    error, called = run(outcome(True))
    assert error == "" and isinstance(called, Succeeded) and called.problems == ()


@pytest.mark.parametrize("kind", ["hologram", "Complete", "complete "])
def test_an_unknown_one_makes_lists_and_calls_invalid(kind: str) -> None:
    error, called = run(outcome(True, list=kind, call=kind))
    assert "invalid" in error and kind in error
    assert isinstance(called, Rejected) and kind in called.problems[0] and called.data["content"]


def test_in_the_handshake_era_it_is_a_member_like_any_other() -> None:
    error, called = run(outcome(False, list="hologram", call="hologram"))
    assert error == "" and isinstance(called, Succeeded) and called.problems == ()


def test_a_list_that_wants_input_is_no_list() -> None:
    error, called = run(outcome(True, list="input_required"))
    assert "requests input for tools/list" in error and isinstance(called, Succeeded)
