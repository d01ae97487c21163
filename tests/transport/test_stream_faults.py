"""HTTP+SSE and WebSocket cut or garbled at many offsets: every connection comes to an end in words, and in time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_studio.errors import StudioError
from mcp_studio.limits import KB, Limits
from mcp_studio.transport.http_sse import SseTransport
from mcp_studio.transport.websocket import WebSocketTransport
from tests.servers.http_kit import opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_sse import SseServer
from tests.servers.ws_raw import BINARY, CLOSE, PING, TEXT, Socket, WsServer, frame, url_of
from tests.support import wait_until
from tests.transport.test_http_faults import broken

ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "ä" * 30}]}}).encode()
STEP = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
STREAM = b": hello\r\n\r\nevent: endpoint\r\ndata: /message\r\n\r\n"
STREAM += b"event: message\ndata: " + STEP + b"\n\nid: 7\ndata: " + ANSWER + b"\n\n"
FRAMES = frame(STEP) + frame(b"?", PING) + frame(ANSWER[:20], TEXT, last=False) + frame(ANSWER[20:], 0)
FRAMES += frame(STEP, BINARY) + frame(b"\x03\xf3boom", CLOSE)
LIMITS = Limits(message=64 * KB, connect=10.0, close=0.5, write=0.5)


async def lives(url: str, kind: Any, sent: Callable[[], object]) -> None:
    """One connection from beginning to end; it ends by itself, or by closing once all was sent."""
    try:
        async with opened(url, LIMITS, kind) as line:
            await line.transport.send(request(1))
            await wait_until(lambda: line.box.ends or sent())
            if line.box.ends:
                assert line.box.ends[0] is not None and line.box.ends[0].message.endswith((".", "…"))
        assert len(line.box.ends) <= 1
        assert not [note for note in line.tap.notes if "failed unexpectedly" in note], line.tap.notes
    except StudioError as error:
        assert error.message and "failed unexpectedly" not in error.message


async def test_a_stream_of_events_damaged_anywhere_ends_its_session_in_words() -> None:
    for data in broken(STREAM, 5):
        done = asyncio.Event()

        async def get(reply: Reply, data: bytes = data, done: asyncio.Event = done) -> None:
            await reply.stream()
            await reply.raw(data)
            done.set()
            reply.close()

        async with RawServer(SseServer(on_get=get)) as raw:
            await lives(raw.url, SseTransport, lambda: False)


async def test_frames_damaged_anywhere_end_their_connection_in_words() -> None:
    for data in broken(FRAMES, 6):

        async def begin(socket: Socket, data: bytes = data) -> None:
            await socket.raw(data)
            socket.close()
            raise ConnectionError

        async with RawServer(WsServer(begin=begin)) as raw:
            await lives(url_of(raw), WebSocketTransport, lambda: False)


@pytest.mark.parametrize("step", ["GET", "initialize", "notifications/initialized", "tools/list"])
@pytest.mark.parametrize("how", ["close", "reset", "garbage", "500"])
async def test_http_sse_stopped_at_any_step_ends_in_words(step: str, how: str) -> None:
    server = SseServer()

    async def handler(got: Request, reply: Reply) -> None:
        if step != (got.method if got.method == "GET" else got.json["method"]):
            await server(got, reply)
        elif how == "500":
            await reply.body("500 Internal Server Error", b"")
        elif how == "garbage":
            await reply.raw(b"\x00\x16\xff\r\n\r\n")
            reply.close()
        else:
            (reply.close if how == "close" else reply.reset)()

    async with RawServer(handler) as raw:
        try:
            async with opened(raw.url, LIMITS, SseTransport) as line:
                answer = await line.ask(request(0, "initialize"))
                assert isinstance(answer, StudioError) == (step == "initialize")
                await line.transport.send(request("n", "notifications/initialized")._replace(kind="notification"))
                answer = await line.ask(request(2))
                assert isinstance(answer, StudioError) == (step == "tools/list")
                assert not line.box.ends
        except StudioError as error:
            assert step == "GET" and error.message
