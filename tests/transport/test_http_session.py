"""Sessions of the older eras: said, lost, ended; and their absence in the stateless one."""

from __future__ import annotations

import asyncio

import pytest

from mcp_studio.errors import ConnectionLost
from mcp_studio.protocol.events import Outgoing
from tests.servers.http_kit import modern, notification, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_session import QUICK, session
from tests.support import wait_until


async def test_session_and_version_are_said_by_every_message_after_the_handshake() -> None:
    async with RawServer(session()) as server:
        async with opened(server.url, QUICK) as line:
            await line.shake_hands("2025-06-18")
            await line.ask(request(1))
            await line.transport.send(Outgoing(b'{"jsonrpc":"2.0","id":5,"result":{}}', "response", 5))
            await wait_until(lambda: len(server.requests) == 5)
        said = [
            (got.method, got.headers.get("mcp-session-id"), got.headers.get("mcp-protocol-version"))
            for got in server.requests
        ]
        assert said[0] == ("POST", None, None)
        assert {line[1:] for line in said[1:]} == {("s1", "2025-06-18")}
        assert sorted(server.methods()) == ["DELETE", "GET", "POST", "POST", "POST", "POST"]
        assert all("mcp-method" not in got.headers for got in server.requests)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("404 Not Found", ""),
        (
            "404 Not Found",
            '{"jsonrpc":"2.0","id":"x","error":{"code":-32600,"message":"Session unknown"}}',
        ),
        ("400 Bad Request", '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID"}}'),
    ],
)
async def test_a_lost_session_ends_the_transport_once(status: str, text: str) -> None:
    async with RawServer(session(call=lambda got, reply: reply.body(status, text.encode()))) as server:
        async with opened(server.url, QUICK) as line:
            await line.shake_hands()
            for number in range(3):
                await line.transport.send(request(number))
            await wait_until(lambda: line.box.ends)
            with pytest.raises(ConnectionLost):
                await line.transport.send(request(9))
        (end,) = line.box.ends
        assert isinstance(end, ConnectionLost) and "session" in end.message
        assert "DELETE" not in server.methods()


async def test_an_unknown_method_is_no_lost_session() -> None:
    text = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'

    async with RawServer(session(call=lambda got, reply: reply.body("404 Not Found", text))) as server:
        async with opened(server.url, QUICK) as line:
            await line.shake_hands()
            assert (await line.ask(request(1)))["error"]["code"] == -32601
            assert not line.box.ends


async def test_a_server_that_has_no_get_and_says_404_has_not_lost_its_session() -> None:
    async def get(got: Request, reply: Reply) -> None:
        await reply.body("404 Not Found", b"Cannot GET /mcp", kind="text/html")

    async with RawServer(session(get)) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        await wait_until(lambda: line.tap.notes)
        assert "result" in await line.ask(request(1))
        assert not line.box.ends


async def test_a_session_id_that_http_cannot_carry_is_ignored() -> None:
    async with RawServer(session(ident="two words")) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        await line.ask(request(1))
        assert all("mcp-session-id" not in got.headers for got in server.requests)
        assert any("session id" in note for note in line.tap.notes)


async def test_a_new_handshake_on_the_same_transport_starts_anew() -> None:
    async with RawServer(session()) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        line.box.frames.clear()
        await line.shake_hands()
        again = [got for got in server.requests if got.method == "POST"][2]
        assert "mcp-session-id" not in again.headers and "mcp-protocol-version" not in again.headers
        await wait_until(lambda: server.methods().count("GET") == 2)


async def test_the_stateless_era_knows_no_session_no_get_and_no_resumption() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if got.json["method"] == "server/discover":
            await reply.result({}, "Mcp-Session-Id: s1")
            return
        await reply.stream("Mcp-Session-Id: s1")
        await reply.event(None, "id: 1", "retry: 10")
        reply.close()

    async with RawServer(handler) as server:
        async with opened(server.url, QUICK) as line:
            await line.ask(modern(1, "server/discover"))
            line.transport.negotiated("2026-07-28")
            error = await line.ask(modern(2, "tools/call", target="t"))
            assert isinstance(error, ConnectionLost)
            await line.transport.send(notification("notifications/cancelled", modern=True, version="2026-07-28"))
        assert server.methods() == ["POST", "POST"]
        assert all("mcp-session-id" not in got.headers for got in server.requests)


async def test_abandoning_a_request_of_the_stateless_era_closes_its_stream() -> None:
    gone = asyncio.Event()

    async def handler(got: Request, reply: Reply) -> None:
        await reply.stream()
        try:
            await reply.closed_by_peer()
        finally:
            gone.set()

    async with RawServer(handler) as server, opened(server.url, QUICK) as line:
        await line.transport.send(modern(1, "subscriptions/listen"))
        await wait_until(lambda: line.tap.responses)
        line.transport.abandon(1)
        line.transport.abandon("never sent")
        await asyncio.wait_for(gone.wait(), 10)
        assert not line.box.failures
