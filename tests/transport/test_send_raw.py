"""Frames written by hand: sent as they are on every transport, told as sent, and what comes back is heard."""

from __future__ import annotations

import asyncio
import json

import pytest

from mcp_studio.errors import ConnectionLost, Unreachable, UsageError
from mcp_studio.limits import Limits
from mcp_studio.transport.http_sse import SseTransport
from mcp_studio.transport.websocket import WebSocketTransport
from tests.servers.http_kit import MODERN, opened
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_session import session
from tests.servers.http_sse import SseServer
from tests.servers.ws_raw import Socket, WsServer, url_of
from tests.support import wait_until
from tests.transport import stdio_kit

LIMITS = Limits(connect=1, close=1)
ODD = [b'{"jsonrpc":"2.0","id":1,"method":', b"hello", b"\xff\xfe\x00", b'{"id":{"a":1},"method":5}']


# ---------------------------------------------------------------------- stdio


@pytest.mark.parametrize("data", ODD)
async def test_stdio_writes_one_line_as_it_is(data: bytes) -> None:
    async with stdio_kit.opened(["cat"]) as (subject, ear):
        await subject.send_raw(data)
        assert ear.all("sent") == [data]
        await wait_until(lambda: data in ear.all("received") + ear.all("stray"))


async def test_stdio_takes_a_newline_only_when_that_is_meant() -> None:
    async with stdio_kit.opened(["cat"]) as (subject, ear):
        with pytest.raises(UsageError, match="several lines"):
            await subject.send_raw(b'{"a":\n1}')
        assert not ear.all("sent")
        await subject.send_raw(b'{"a":1}\n{"b":2}', newlines=True)
        assert ear.all("sent") == [b'{"a":1}\n{"b":2}']
        assert await ear.frames_are(2) == [b'{"a":1}', b'{"b":2}']
        await subject.close()
        with pytest.raises(ConnectionLost):
            await subject.send_raw(b"{}")


# ---------------------------------------------------------------------- WebSocket


@pytest.mark.parametrize("data", [*ODD, b'{"a":\n1}', b""])
async def test_a_websocket_sends_one_text_frame_as_it_is(data: bytes) -> None:
    async def begin(socket: Socket) -> None:
        while True:
            await socket.receive()
            await socket.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}})

    server = WsServer(begin=begin)
    async with RawServer(server) as raw, opened(url_of(raw), LIMITS, WebSocketTransport) as line:
        await line.transport.send_raw(data)
        await wait_until(lambda: line.box.frames)
        binary = data.startswith(b"\xff")  # no UTF-8, which a text frame cannot hold
        assert server.sockets[0].frames == [(2 if binary else 1, data)]
        assert [frame for _, frame in line.tap.out] == [data]
        await line.transport.close()
        with pytest.raises(ConnectionLost):
            await line.transport.send_raw(data)


# ---------------------------------------------------------------------- HTTP


@pytest.mark.parametrize("data", ODD)
async def test_http_posts_the_body_as_it_is_with_the_headers_of_the_session(data: bytes) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if got.body == data:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}}
            await reply.body("400 Bad Request", json.dumps(error).encode())
        else:
            await session()(got, reply)

    async with RawServer(handler) as raw, opened(raw.url, LIMITS) as line:
        await line.shake_hands("2025-06-18")
        await line.transport.send_raw(data)
        await wait_until(lambda: any(b"what?" in frame for frame in line.box.frames))
        got = next(got for got in raw.requests if got.body == data)
        assert (got.headers["mcp-session-id"], got.headers["mcp-protocol-version"]) == ("s1", "2025-06-18")
        assert got.headers["content-type"] == "application/json"
        exchange = next(number for number, frame in line.tap.out if frame == data)
        assert next(reply.status for reply in line.tap.responses if reply.exchange == exchange) == 400
        assert any(number == exchange and b"what?" in frame for number, frame in line.tap.came)
        assert not line.box.failures


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"id":1,"method":"tools/call","params":{"name":"a"}}', {"mcp-method": "tools/call", "mcp-name": "a"}),
        (b'{"id":1,"method":"tools/list","params":[]}', {"mcp-method": "tools/list"}),
        (b"no json", {"mcp-method": ""}),
    ],
)
async def test_http_gives_a_frame_of_the_modern_era_the_headers_that_fit(data: bytes, said: dict[str, str]) -> None:
    async with RawServer(lambda got, reply: reply.body("200 OK", b'{"x":1}')) as raw:
        async with opened(raw.url, LIMITS) as line:
            line.transport.negotiated(MODERN)
            await line.transport.send_raw(data)
            await wait_until(lambda: len(line.box.frames) == 1)
            (plain,) = raw.requests
            assert {name: plain.headers.get(name) for name in said} == said
            assert plain.headers["mcp-protocol-version"] == MODERN
            assert ("mcp-name" in plain.headers) == ("mcp-name" in said)


async def test_http_follows_a_stream_that_answers_and_shows_what_is_no_json() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if got.body == b"page":
            await reply.body("404 Not Found", b"<title>no</title>", kind="text/html")
        else:
            await reply.stream()
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress"})
            await reply.event({"jsonrpc": "2.0", "id": 1, "result": {}})
            reply.close()

    async with RawServer(handler) as raw, opened(raw.url, LIMITS) as line:
        await line.transport.send_raw(b'{"id":1}')
        await wait_until(lambda: len(line.box.frames) == 2)
        await line.transport.send_raw(b"page")
        await wait_until(lambda: len(line.tap.came) == 3)
        assert line.tap.came[-1][1] == b"<title>no</title>" and len(line.box.frames) == 2
        await raw.stop()
        with pytest.raises(Unreachable):  # refused, or lost on a connection whose end is not known yet
            await line.transport.send_raw(b"gone")
        assert not line.box.failures and not line.box.ends


@pytest.mark.parametrize("late", [False, True])
async def test_http_does_not_wait_long_for_a_response_and_takes_it_when_it_comes(late: bool) -> None:
    gate = asyncio.Event()

    async def handler(got: Request, reply: Reply) -> None:
        await gate.wait()
        if late:
            await reply.body("200 OK", b'{"late":true}')
        else:
            await reply.head("200 OK", "Content-Type: application/json", "Content-Length: 90")
            reply.close()

    async with RawServer(handler) as raw, opened(raw.url, Limits(connect=1, close=1, write=0.1)) as line:
        await line.transport.send_raw(b"{}")
        gate.set()
        if late:
            await wait_until(lambda: line.box.frames == [b'{"late":true}'])
        else:
            await wait_until(lambda: any("broke off" in note for note in line.tap.notes))


@pytest.mark.parametrize("data", ODD)
async def test_http_sse_posts_to_the_endpoint_and_hears_the_answer(data: bytes) -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        await reply.accepted()
        await server.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}})

    server = SseServer(call=call)
    async with RawServer(server) as raw, opened(raw.url, LIMITS, SseTransport) as line:
        await line.transport.send_raw(data)
        await wait_until(lambda: line.box.frames)
        assert raw.requests[-1].body == data and raw.requests[-1].path.startswith("/message")
        assert [frame for _, frame in line.tap.out] == [data]
