"""Listening streams and resumption of the older eras."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from itertools import pairwise

import pytest

from mcp_studio.errors import ConnectionLost
from mcp_studio.limits import Limits
from mcp_studio.transport.sse import Cursor
from tests.servers.http_kit import INITIALIZE, notification, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_session import QUICK, no_get, result, session
from tests.support import wait_until


async def test_the_listening_stream_is_opened_after_the_handshake_and_405_is_fine() -> None:
    async with RawServer(session()) as server, opened(server.url, QUICK) as line:
        await line.ask(request("init", "initialize", INITIALIZE))
        line.transport.negotiated("2025-11-25")
        assert server.methods() == ["POST"]
        await line.transport.send(notification("notifications/initialized"))
        await wait_until(lambda: line.tap.notes)
        assert "405" in line.tap.notes[0]
        await line.ask(request(1))
        await line.ask(request(2))
        assert server.methods().count("GET") == 1


async def test_the_listening_stream_goes_on_where_it_was_cut() -> None:
    async def get(got: Request, reply: Reply) -> None:
        await reply.stream()
        number = int(got.headers.get("last-event-id", "0")) + 1
        await reply.event({"jsonrpc": "2.0", "method": f"n{number}"}, f"id: {number}", "retry: 20")
        if number == 5:
            await asyncio.Event().wait()
        reply.close()

    async with RawServer(session(get)) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        await wait_until(lambda: len(line.box.frames) == 6)
        assert [message.get("method") for message in line.box.messages()[1:]] == ["n1", "n2", "n3", "n4", "n5"]
        assert not line.box.failures and not line.tap.notes


@pytest.mark.parametrize("first", [b"", b"id: 7\nretry: 0\n\n", b": still there\n\n"])
async def test_a_listening_stream_that_brings_nothing_is_given_up(first: bytes) -> None:
    async def get(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.raw(first)
        reply.close()

    async with RawServer(session(get)) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        await wait_until(lambda: line.tap.notes)
        assert server.methods().count("GET") == 1 + QUICK.reconnects
        assert "result" in await line.ask(request(1))
        assert not line.box.failures and not line.box.ends


async def test_a_listening_stream_that_ends_at_once_is_opened_again_with_growing_pauses() -> None:
    opens: list[float] = []

    async def get(got: Request, reply: Reply) -> None:
        opens.append(time.monotonic())
        await reply.stream()
        await reply.event(None, "retry: 0")
        reply.close()

    limits = replace(QUICK, retry_min=0.05, retry_max=10)
    async with RawServer(session(get)) as server, opened(server.url, limits) as line:
        await line.shake_hands()
        await wait_until(lambda: len(opens) > 3)
    pauses = [after - before for before, after in pairwise(opens[:4])]
    # A little less than it was told to wait: requests do not take equally long to arrive.
    assert all(pause > 0.8 * least for pause, least in zip(pauses, (0.1, 0.2, 0.2), strict=True)), pauses


async def test_a_lost_listening_stream_is_opened_again_when_the_server_is_back() -> None:
    async def get(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event({"jsonrpc": "2.0", "method": "hello"})
        await asyncio.Event().wait()

    async with RawServer(session(get)) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        await wait_until(lambda: len(line.box.frames) == 2)
        await server.stop()
        await wait_until(lambda: line.tap.notes)
        async with RawServer(session(get), port=server.port):
            await line.ask(request(1))
            await wait_until(lambda: line.box.frames[-1] == b'{"jsonrpc": "2.0", "method": "hello"}')


@pytest.mark.parametrize("cut", ["close", "reset"])
async def test_an_answer_is_fetched_from_the_resumed_stream(cut: str) -> None:
    async def call(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event(None, "id: a/1", "retry: 30")
        reply.close() if cut == "close" else reply.reset()

    async def get(got: Request, reply: Reply) -> None:
        last = got.headers.get("last-event-id")
        if last is None:
            await no_get(got, reply)
            return
        await reply.stream()
        if last == "a/1":
            await reply.event(None, "id: a/2")
        else:
            await reply.event({"jsonrpc": "2.0", "method": "notifications/progress"}, "id: a/3")
            await reply.event(result(1), "id: a/4")
        reply.close()

    async with RawServer(session(get, call)) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        assert await line.ask(request(1, "tools/call")) == result(1)
        resumed = [got.headers.get("last-event-id") for got in server.requests if got.method == "GET"]
        assert resumed == [None, "a/1", "a/2"]
        assert not line.box.failures


@pytest.mark.parametrize("status", ["200 OK", "503 Busy", "405 Method Not Allowed"])
async def test_resuming_in_vain_ends_with_an_error(status: str) -> None:
    async def call(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event(None, "id: 1")
        reply.close()

    async def get(got: Request, reply: Reply) -> None:
        await reply.head(status, "Content-Type: text/event-stream", "Connection: close")
        reply.close()

    async with RawServer(session(get, call)) as server, opened(server.url, QUICK) as line:
        line.transport.negotiated("2026-01-01")
        error = await line.ask(request(1, "tools/call"))
        assert isinstance(error, ConnectionLost) == status.startswith("200"), error
        assert ("405" in error.message) == status.startswith("405")
        assert ("without answering" in error.message and "in a row" in error.hint) == status.startswith("200")
        tries = 1 if status.startswith("405") else QUICK.reconnects + 1
        assert server.methods().count("GET") == tries


def test_the_pause_before_reconnecting_stays_within_the_limits() -> None:
    limits = Limits(retry_min=0.25, retry_max=30)
    assert Cursor(retry=0).delay(0, limits) == 0.25
    assert [Cursor(retry=0).delay(tries, limits) for tries in range(4)] == [0.25, 0.5, 1, 2], "it grows from the least"
    assert Cursor(retry=0.5).delay(0, limits) == 0.5
    assert Cursor(retry=999_999).delay(0, limits) == 30
    assert [Cursor().delay(tries, limits) for tries in range(7)] == [1, 2, 4, 8, 16, 30, 30]


async def test_an_answer_on_another_stream_is_taken_and_the_request_does_not_fail() -> None:
    listening = asyncio.Queue[Reply]()

    async def get(got: Request, reply: Reply) -> None:
        await reply.stream()
        await listening.put(reply)
        await asyncio.Event().wait()

    async def call(got: Request, reply: Reply) -> None:
        await (await listening.get()).event(result(got.json["id"]))
        await reply.stream()
        reply.close()

    async with RawServer(session(get, call)) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        assert await line.ask(request(1)) == result(1)
        await wait_until(lambda: not line.transport.waiting)
        assert not line.box.failures


async def test_a_stream_that_stays_open_after_its_answer_is_closed() -> None:
    async def call(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event(result(1))
        await reply.event({"jsonrpc": "2.0", "method": "afterwards"})
        await asyncio.Event().wait()

    async with RawServer(session(call=call)) as server, opened(server.url, QUICK) as line:
        await line.shake_hands()
        assert await line.ask(request(1)) == result(1)
        await wait_until(lambda: not line.transport.waiting)
        assert line.box.messages()[-1]["method"] == "afterwards" and not line.box.failures
