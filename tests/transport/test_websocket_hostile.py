"""WebSocket servers that break rules, say too much, hang up or never read: told in words, within bounds."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_studio.errors import ConnectionLost, LimitExceeded, StudioError
from mcp_studio.limits import KB, Limits
from mcp_studio.transport.http_errors import HttpBroken
from mcp_studio.transport.websocket import WebSocketTransport
from tests.servers.http_kit import Line, opened, request
from tests.servers.http_raw import RawServer
from tests.servers.ws_raw import BINARY, CLOSE, PING, TEXT, Socket, WsServer, frame, url_of
from tests.support import run, wait_until

QUICK = Limits(connect=20, close=0.6, message=64 * KB, write=0.3)


def end_of(begin: Callable[[Socket], Awaitable[None]]) -> tuple[StudioError, WsServer]:
    """What becomes of a connection whose server does this after the handshake."""

    async def main() -> tuple[StudioError, WsServer]:
        server = WsServer(begin=begin)
        async with RawServer(server) as raw, opened(url_of(raw), QUICK, WebSocketTransport) as line:
            await wait_until(lambda: line.box.ends)
            with pytest.raises(ConnectionLost) as found:
                await line.transport.send(request(1))
            (end,) = line.box.ends
            assert end is not None and found.value.message == end.message
            return end, server

    return run(main())


def meet(server: WsServer, act: Callable[[Line], Awaitable[None]], limits: Limits = QUICK) -> None:
    """Connect, and do something."""

    async def main() -> None:
        async with RawServer(server) as raw, opened(url_of(raw), limits, WebSocketTransport) as line:
            await act(line)

    run(main())


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (1000, "", "1000 normal closure."),
        (1001, "", "1001 going away."),
        (1008, "no token", "1008 policy violation. It says: no token"),
        (1011, "boom \x1b[31m", "1011 internal error. It says: boom"),
        (4242, "own", "4242. It says: own"),
    ],
)
def test_a_close_is_told_with_its_code_and_reason_and_answered(code: int, reason: str, words: str) -> None:
    async def begin(socket: Socket) -> None:
        await socket.end(code, reason)
        assert await socket.receive() == (CLOSE, code.to_bytes(2, "big"))
        socket.close()

    end, server = end_of(begin)
    assert words in end.message and isinstance(end, ConnectionLost)
    assert server.sockets[0].frames[-1][0] == CLOSE


def test_a_close_without_a_code_is_told_too() -> None:
    async def begin(socket: Socket) -> None:
        await socket.raw(frame(b"", CLOSE))
        await socket.receive()

    assert "1005" in end_of(begin)[0].message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (frame(b"x", 3), "opcode"),
        (frame(b"x" * 200, PING), "control frame"),
        (frame(b"x", PING, last=False), "control frame"),
        (frame(b"tail", 0), "CONTINUATION"),
        (frame(b"a", last=False) + frame(b"b"), "CONTINUATION"),
        (b"\xc1\x01x", "Reserved bit"),
        (b"\x81\x81abcdx", "mask"),
        (frame(b"\xff\xfe{}"), "decode"),
        (frame(b"\x03", CLOSE), "CLOSE"),
        (b"HTTP/1.1 200 OK\r\n\r\n", ""),
        (b"\x81\xff" + b"\xff" * 8, ""),
    ],
)
def test_broken_rules_end_the_connection_in_words(data: bytes, words: str) -> None:
    async def begin(socket: Socket) -> None:
        await socket.raw(data)
        assert (await socket.receive())[0] == CLOSE

    end, _ = end_of(begin)
    assert isinstance(end, HttpBroken) and "rules of WebSocket" in end.message
    assert words.lower() in end.message.lower(), end.message


@pytest.mark.parametrize("how", ["close", "half a frame", "reset"])
def test_hanging_up_without_a_word_is_told(how: str) -> None:
    async def begin(socket: Socket) -> None:
        if how == "half a frame":
            await socket.raw(frame(b'{"jsonrpc":"2.0","id":1,"result":{}}')[:9])
        if how == "reset":
            socket.reset()
        else:
            socket.close()
        raise ConnectionError

    end, _ = end_of(begin)
    assert isinstance(end, ConnectionLost) and "127.0.0.1" in end.message


@pytest.mark.parametrize("parts", [1, 40])
def test_a_message_beyond_the_limit_costs_its_request_alone(parts: int) -> None:
    async def call(socket: Socket, asked: Any) -> None:
        if asked["id"] == 2:
            await socket.result(asked)
            return
        data = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + b"x" * 8_000_000 + b'"}}'
        step = len(data) // parts + 1
        for at in range(0, len(data), step):
            await socket.raw(frame(data[at : at + step], TEXT if at == 0 else 0, last=at + step >= len(data)))

    async def act(line: Line) -> None:
        tracemalloc.start()
        answer = await line.ask(request(1))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert isinstance(answer, LimitExceeded) and answer.limit == "message"
        # The server runs in this process, and holds the whole of it more than once.
        assert peak < 8_000_000 * 5
        assert (await line.ask(request(2)))["result"] == {}
        assert not line.box.ends and any("limit called message" in note for note in line.tap.notes)

    meet(WsServer(call), act)


def test_binary_frames_are_taken_as_text() -> None:
    async def begin(socket: Socket) -> None:
        await socket.raw(frame(bytes(range(256)), BINARY))
        await socket.raw(frame(b' {"jsonrpc":"2.0","method":"notifications/message"}', BINARY))

    async def act(line: Line) -> None:
        assert (await line.ask(request(1)))["result"]["tools"]
        assert line.box.frames[0] == bytes(range(256)) and b"notifications/message" in line.box.frames[1]
        assert len([note for note in line.tap.notes if "binary" in note]) == 2

    meet(WsServer(begin=begin), act)


def test_text_that_is_no_json_is_handed_on_as_it_is() -> None:
    async def begin(socket: Socket) -> None:
        await socket.raw(frame(b"hello") + frame(b"") + frame(b'{"jsonrpc":'))

    async def act(line: Line) -> None:
        await wait_until(lambda: len(line.box.frames) == 3)
        assert line.box.frames == [b"hello", b"", b'{"jsonrpc":']
        assert (await line.ask(request(1)))["result"]["tools"]

    meet(WsServer(begin=begin), act)


def test_a_server_that_does_not_read_is_given_up_in_time() -> None:
    async def begin(socket: Socket) -> None:
        await asyncio.Event().wait()

    async def act(line: Line) -> None:
        began = time.monotonic()
        with pytest.raises(ConnectionLost, match="does not read"):
            await line.transport.send(request(1, params={"text": "x" * 30_000_000}))
        assert time.monotonic() - began < 30
        (end,) = line.box.ends
        assert end is not None and "does not read" in end.message

    meet(WsServer(begin=begin), act)


def test_a_server_that_never_answers_the_farewell_is_left_in_time() -> None:
    async def begin(socket: Socket) -> None:
        while True:
            await socket.receive()

    async def act(line: Line) -> None:
        began = time.monotonic()
        await line.transport.close()
        assert time.monotonic() - began < 8

    meet(WsServer(begin=begin), act)


def test_a_flood_of_empty_frames_starves_nobody() -> None:
    """Thousands of them come with one reading."""

    async def begin(socket: Socket) -> None:
        await socket.raw(frame(b"") * 20_000)

    async def act(line: Line) -> None:
        turns = 0
        while len(line.box.frames) < 20_000:
            await asyncio.sleep(0)
            turns += 1
        assert turns > 20

    meet(WsServer(begin=begin), act, Limits(close=1))


def test_a_flood_of_pings_and_frames_starves_nobody() -> None:
    async def begin(socket: Socket) -> None:
        flood = frame(b"x", PING) + frame(b'{"jsonrpc":"2.0","method":"notifications/message"}') * 50
        for _ in range(200):
            await socket.raw(flood)
        await socket.receive()

    async def act(line: Line) -> None:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while len(line.box.frames) < 10_000:
                await asyncio.sleep(0)
                turns += 1

        await asyncio.wait_for(other(), 30)
        assert turns > 20
        assert (await line.ask(request(1)))["result"]["tools"]

    meet(WsServer(begin=begin), act, Limits(close=1))


def test_a_peer_that_pings_and_does_not_read_is_heard_and_gets_the_newest_pong() -> None:
    reads = asyncio.Event()
    pongs: list[bytes] = []

    async def begin(socket: Socket) -> None:
        for number in range(300):
            await socket.raw(b"".join(frame(b"%d" % at + b"." * 100, PING) for at in range(number, number + 100)))
        await socket.raw(frame(b"the newest", PING) + frame(b'{"jsonrpc":"2.0","method":"notifications/message"}'))
        await reads.wait()
        while pongs[-1:] != [b"the newest"]:
            pongs.append((await socket.receive())[1])

    async def act(line: Line) -> None:
        await wait_until(lambda: line.box.frames)
        assert not line.box.ends, "what is written does not hold up what is read"
        reads.set()
        assert (await line.ask(request(1)))["result"]["tools"]
        assert len(pongs) < 15_000, "of pings that wait together, the newest is answered"

    meet(WsServer(begin=begin), act, Limits(close=1, write=1))
