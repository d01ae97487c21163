"""A URL without a word on how to speak to it: the newer way first, HTTP+SSE where only that is there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcp_studio.errors import ConnectionLost, SignInNeeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.transport.base import Opened, Sink
from mcp_studio.transport.http_errors import HttpFailure
from mcp_studio.transport.http_sse import FallbackTransport, SseTransport
from tests.servers.http_kit import INITIALIZE, child, notification, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_session import session
from tests.servers.http_sse import SseServer
from tests.studio_support import http
from tests.studio_support import opened as studio_opened
from tests.support import run, wait_until

LIMITS = Limits(connect=1, close=1, retry_min=0.01)
HELLO = request("init", "initialize", INITIALIZE)


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


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
async def test_an_older_server_is_found_out_and_served(status: str) -> None:
    server = Older(status)
    async with RawServer(server) as raw, opened(raw.url, LIMITS, FallbackTransport) as line:
        await line.shake_hands("2024-11-05")
        assert (await line.ask(request(1)))["result"] == {"tools": []}
        posted = [frame for _, frame in line.tap.out]
        assert len(posted) == len(set(posted)) == 3  # the handshake crosses the wire twice and is told once
        assert any("HTTP+SSE" in note for note in line.tap.notes)
        assert not line.box.failures
        server.stream.close()
        await wait_until(lambda: line.box.ends)
        with pytest.raises(ConnectionLost):
            await line.transport.send(request(2))


async def test_a_server_of_the_newer_kind_is_asked_nothing_further() -> None:
    async with RawServer(session()) as raw:
        async with opened(raw.url, LIMITS, FallbackTransport) as line:
            await line.shake_hands()
            assert "result" in await line.ask(request(1))
        assert sorted(raw.methods()) == ["DELETE", "GET", "POST", "POST", "POST"]


async def _page(reply: Reply) -> None:
    await reply.body("404 Not Found", b"<title>Nothing</title>", kind="text/html")


async def _mute(reply: Reply) -> None:
    await reply.stream()
    await reply.closed_by_peer()


async def _locked(reply: Reply) -> None:
    await reply.body("401 Unauthorized", b"")


@pytest.mark.parametrize(("get", "status"), [(_page, 405), (_mute, 405), (_locked, 401)])
async def test_where_there_is_nothing_older_the_first_refusal_stands(get: Any, status: int) -> None:
    server = Older("405 Method Not Allowed", on_get=get)
    async with RawServer(server) as raw, opened(raw.url, LIMITS, FallbackTransport) as line:
        error = await line.ask(HELLO)
        assert isinstance(error, HttpFailure) and error.status == status
        assert isinstance(error, SignInNeeded) == (status == 401)
        assert not line.box.ends


@pytest.mark.parametrize("status", ["500 Internal Server Error", "403 Forbidden", "429 Too Many Requests"])
async def test_other_refusals_say_nothing_of_an_older_server(status: str) -> None:
    async with RawServer(Older(status)) as raw, opened(raw.url, LIMITS, FallbackTransport) as line:
        assert isinstance(await line.ask(HELLO), StudioError)
        assert raw.methods() == ["POST"]


async def test_a_json_rpc_error_is_an_answer_and_no_older_server() -> None:
    error = json.dumps({"jsonrpc": "2.0", "id": "init", "error": {"code": -32602, "message": "bad"}}).encode()

    server = Older("400 Bad Request", error, "application/json")
    async with RawServer(server) as raw, opened(raw.url, LIMITS, FallbackTransport) as line:
        assert (await line.ask(HELLO))["error"]["message"] == "bad"
        assert raw.methods() == ["POST"]


async def test_only_the_handshake_makes_it_look_for_an_older_server() -> None:
    async with RawServer(Older("404 Not Found")) as raw, opened(raw.url, LIMITS, FallbackTransport) as line:
        assert isinstance(await line.ask(request(1)), StudioError)
        await line.transport.send(notification("notifications/cancelled"))
        await wait_until(lambda: len(line.box.failures) == 2)
        assert raw.methods() == ["POST", "POST"]


async def test_closing_while_it_looks_for_an_older_server_ends_at_once() -> None:
    server = Older("404 Not Found", on_get=_mute)
    async with RawServer(server) as raw, opened(raw.url, Limits(close=1), FallbackTransport) as line:
        await line.transport.send(HELLO)
        await wait_until(lambda: "GET" in raw.methods())
        async with asyncio.timeout(10):
            await line.transport.close()
        assert not line.box.failures and not line.box.ends


@pytest.mark.parametrize("transport", ["", "sse"])
@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_studio_speaks_to_an_sse_server_of_the_sdk(transport: Any, era: Any) -> None:
    async def go(url: str) -> None:
        async with studio_opened(http(url, transport=transport, era=era)) as studio:
            status = studio.manager.status("s")
            assert status.state == "ready" and not status.modern, status.error
            assert status.spoken == "sse"
            assert not studio.trace.ledger("s").groups()
            assert "add" in [entry.ref.name for entry in studio.catalog.entries("tool")]
            probed = [entry for entry in studio.trace if b"server/discover" in entry.body]
            assert bool(probed) == (not transport and era == "auto")

    with child("older") as (_, port):
        run(go(f"http://127.0.0.1:{port}/sse"))


async def test_a_mistake_of_ours_while_looking_for_an_older_server_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: SseTransport, sink: Sink) -> Opened:
        raise ZeroDivisionError("mine")

    monkeypatch.setattr(SseTransport, "open", broken)

    server = Older("404 Not Found")
    async with RawServer(server) as raw, opened(raw.url, LIMITS, FallbackTransport) as line:
        error = await line.ask(HELLO)
        assert isinstance(error, StudioError) and "ZeroDivisionError" in error.message
        assert error.message in line.tap.notes
