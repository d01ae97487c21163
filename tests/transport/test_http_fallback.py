"""A URL without a word on how to speak to it: the newer way first, HTTP+SSE where only that is there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcp_studio.config.model import Timeouts
from mcp_studio.errors import StudioError
from mcp_studio.transport.base import Opened, Sink
from mcp_studio.transport.http_sse import SseTransport
from tests.servers.http_kit import child
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_session import session
from tests.servers.http_sse import SseServer
from tests.studio_support import http, opened
from tests.support import run, wait_until


class Older(SseServer):
    """HTTP+SSE that refuses to be posted to at its own address, in one way or another."""

    def __init__(self, status: str, body: bytes = b"no", kind: str = "text/plain", **more: Any) -> None:
        super().__init__(**more)
        self.refusal = (status, body, kind)

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one HTTP request."""
        if got.method == "POST" and not got.path.startswith("/message"):
            status, body, kind = self.refusal
            await reply.body(status, body, kind=kind)
        else:
            await super().__call__(got, reply)


async def failure(handler: Any, **about: Any) -> tuple[str, StudioError, list[str]]:
    """The state and the error that connecting ends with, and the methods of the requests."""
    async with RawServer(handler) as raw, opened(http(raw.url, **about)) as studio:
        status = studio.manager.status("s")
        assert status.error is not None
        return status.state, status.error, raw.methods()


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
async def test_an_older_server_is_found_out_and_served(status: str) -> None:
    server = Older(status)
    async with RawServer(server) as raw, opened(http(raw.url)) as studio:
        found = studio.manager.status("s")
        assert found.state == "ready" and found.spoken == "sse" and not found.modern, found.error
        assert any(b"HTTP+SSE" in entry.body for entry in studio.trace if entry.kind == "note")
        server.stream.close()
        await wait_until(lambda: studio.manager.status("s").state == "retrying")
        await wait_until(lambda: studio.manager.status("s").state == "ready")
        assert studio.manager.status("s").spoken == "sse"


async def test_a_server_of_the_newer_kind_is_asked_nothing_further() -> None:
    async with RawServer(session()) as raw, opened(http(raw.url, era="legacy")) as studio:
        assert studio.manager.status("s").spoken == "http"
        assert raw.methods()[0] == "POST"


async def _page(reply: Reply) -> None:
    await reply.body("404 Not Found", b"<title>Nothing</title>", kind="text/html")


async def _mute(reply: Reply) -> None:
    await reply.stream()
    await reply.closed_by_peer()


async def _locked(reply: Reply) -> None:
    await reply.body("401 Unauthorized", b"")


@pytest.mark.parametrize(
    ("get", "status", "state"), [(_page, 405, "failed"), (_mute, 405, "failed"), (_locked, 401, "needs_auth")]
)
async def test_where_there_is_nothing_older_the_first_refusal_stands(get: Any, status: int, state: str) -> None:
    server = Older("405 Method Not Allowed", on_get=get)
    ended, error, methods = await failure(server, era="legacy", timeouts=Timeouts(connect=1))
    assert ended == state and error.http is not None and error.http.status == status
    assert methods == ["POST", "GET"]


@pytest.mark.parametrize("status", ["500 Internal Server Error", "403 Forbidden", "429 Too Many Requests"])
async def test_other_refusals_say_nothing_of_an_older_server(status: str) -> None:
    _, _, methods = await failure(Older(status), era="legacy")
    assert methods == ["POST"]


async def test_a_json_rpc_error_is_an_answer_and_no_older_server() -> None:
    error = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "bad"}}).encode()
    _, found, methods = await failure(Older("400 Bad Request", error, "application/json"), era="legacy")
    assert "bad" in found.message and methods == ["POST"]


@pytest.mark.parametrize("about", [{"transport": "http"}, {"era": "modern"}])
async def test_an_entry_can_rule_the_older_way_out(about: dict[str, Any]) -> None:
    _, _, methods = await failure(Older("405 Method Not Allowed"), **about)
    assert "GET" not in methods


async def test_closing_while_it_looks_for_an_older_server_ends_at_once() -> None:
    server = Older("404 Not Found", on_get=_mute)
    async with RawServer(server) as raw, opened() as studio:
        studio.manager.add(http(raw.url))
        await wait_until(lambda: "GET" in raw.methods())
        async with asyncio.timeout(4):
            await studio.manager.stop("s")
        assert studio.manager.status("s").state == "disabled"


def test_the_studio_speaks_to_an_sse_server_of_the_sdk() -> None:
    async def go(url: str) -> None:
        async with opened(http(url)) as studio:
            status = studio.manager.status("s")
            assert status.state == "ready" and not status.modern, status.error
            assert status.spoken == "sse"
            assert not studio.trace.ledger("s").groups()
            assert "add" in [entry.ref.name for entry in studio.catalog.entries("tool")]
            assert any(b"server/discover" in entry.body for entry in studio.trace), "the newer way comes first"

    with child("older") as (_, port):
        run(go(f"http://127.0.0.1:{port}/sse"))


async def test_a_mistake_of_ours_while_looking_for_an_older_server_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: SseTransport, sink: Sink) -> Opened:
        raise ZeroDivisionError("mine")

    monkeypatch.setattr(SseTransport, "open", broken)
    state, error, _ = await failure(Older("404 Not Found"), era="legacy")
    assert state == "failed" and "ZeroDivisionError" in error.message
