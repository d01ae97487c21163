"""Servers that answer late, endlessly, too much or not at all: one request fails in plain words, the next one works."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import tracemalloc
from dataclasses import replace

import pytest

from mcp_studio.errors import ConnectionLost, LimitExceeded
from mcp_studio.limits import KB, MB, Limits
from mcp_studio.transport.http_errors import HttpUnreachable
from tests.servers.http_bad import SMALL, meet, raw
from tests.servers.http_kit import modern, notification, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import wait_until


async def test_a_port_where_nothing_listens_is_refused_in_words() -> None:
    async with RawServer(lambda got, reply: reply.result()) as server:
        url = server.url
    async with opened(url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpUnreachable) and not isinstance(error, ConnectionLost)
        assert "refused" in error.message and error.hint and error.code == 0
        assert line.tap.responses[0].error == error.message


def test_silence_before_the_version_is_settled_ends_with_the_deadline_of_connecting() -> None:
    async def bad(reply: Reply) -> None:
        await asyncio.Event().wait()

    error, line = meet(bad, replace(SMALL, connect=0.5), settled=False)
    assert isinstance(error, ConnectionLost) and "0.5 seconds" in error.message
    assert line.tap.responses[0].status == 0


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Type: app",
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"jsonrpc"',
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ",
    ],
    ids=["before the head", "in the head", "in the body", "in an event"],
)
@pytest.mark.parametrize("drip", [False, True], ids=["silent", "dripping"])
async def test_a_server_that_hangs_holds_up_nobody_and_is_left_when_the_request_is_abandoned(
    beginning: bytes, drip: bool
) -> None:
    left = asyncio.Event()

    async def handler(got: Request, reply: Reply) -> None:
        if got.json["id"] == 2:
            await reply.result()
            return
        try:
            await reply.raw(beginning)
            while drip:
                await asyncio.sleep(0.01)
                await reply.raw(b" " if beginning.endswith(b'"') else b"a")
            await asyncio.Event().wait()
        finally:
            left.set()

    async with RawServer(handler) as server, opened(server.url, SMALL) as line:
        line.transport.negotiated("2026-07-28")
        await line.transport.send(modern(1, "tools/call", target="t"))
        await wait_until(lambda: server.requests)
        assert "result" in await line.ask(modern(2, "tools/list"))
        line.transport.abandon(1)
        await wait_until(lambda: any("abandoned" in reply.error for reply in line.tap.responses))
        if drip:
            await asyncio.wait_for(left.wait(), 10)
        assert not line.box.failures


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("length", [True, False], ids=["told", "untold"])
def test_a_body_over_the_limit_is_refused_within_little_memory(packed: bool, length: bool) -> None:
    piece = gzip.compress(b"x" * 10 * MB) if packed else b"x" * MB

    async def bad(reply: Reply) -> None:
        lines = [f"Content-Length: {20 * len(piece)}"] if length else ["Connection: close"]
        lines += ["Content-Encoding: gzip"] if packed else []
        await reply.head("200 OK", "Content-Type: application/json", *lines)
        for _ in range(20):
            await reply.raw(piece)

    tracemalloc.start()
    error, line = meet(bad)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(error, LimitExceeded) and error.limit == "message" and "1 MB" in error.message
    assert line.tap.responses[1].error == error.message
    assert dict(line.tap.requests[0].headers)["Accept-Encoding"] == "identity"
    # The server of this test buffers a part of what it sends; that counts here too.
    assert peak < 8 * MB


async def test_a_server_that_compresses_unasked_is_understood() -> None:
    packed = gzip.compress(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * 100_000}}).encode())

    async def handler(got: Request, reply: Reply) -> None:
        await reply.body("200 OK", packed, "Content-Encoding: gzip")

    async with RawServer(handler) as server, opened(server.url) as line:
        answer = await line.ask(request(1))
        assert len(answer["result"]["text"]) == 100_000


@pytest.mark.parametrize("size", [12 * KB, MB], ids=["above ours", "above the library's"])
@pytest.mark.parametrize("single", [True, False], ids=["one header", "many headers"])
def test_headers_over_the_limit_are_refused(size: int, single: bool) -> None:
    line = b"X-A: " + b"a" * size + b"\r\n" if single else b"X-A: a\r\n" * (size // 8)
    error, _ = meet(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + line + b"\r\n{}"))
    assert isinstance(error, LimitExceeded) and error.limit == "headers"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{", "in the middle"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nda",
            "in the middle",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n", "without answering"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 4\ndata: {}\n\n", "without answering"),
    ],
)
def test_a_connection_that_ends_early_fails_its_request(data: bytes, words: str) -> None:
    error, _ = meet(raw(data))
    assert isinstance(error, ConnectionLost) and words in error.message, error.message


def test_a_reset_in_the_middle_of_a_stream_fails_its_request() -> None:
    async def bad(reply: Reply) -> None:
        await reply.stream()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/message"})
        reply.reset()

    error, _ = meet(bad)
    assert isinstance(error, ConnectionLost)


@pytest.mark.parametrize(
    "data",
    [b"data: " + b"x" * 2 * MB, b"data: xxxxxxxx\n" * 300_000, b"x" * 2 * MB],
    ids=["one line", "many lines", "no field"],
)
def test_an_event_over_the_limit_fails_its_request(data: bytes) -> None:
    async def bad(reply: Reply) -> None:
        await reply.stream()
        await reply.raw(data)
        await asyncio.Event().wait()

    error, _ = meet(bad)
    assert isinstance(error, LimitExceeded) and error.limit == "message"


async def test_garbage_and_foreign_events_on_a_stream_do_not_keep_the_answer_away() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.raw(b"\xff\xfe\x00\n\nfoo\n:c\n\nevent: ping\ndata: now\n\ndata: no json\n\n")
        await reply.event([{"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "method": "m"}])
        reply.close()

    async with RawServer(handler) as server, opened(server.url) as line:
        await line.transport.send(request(1))
        await wait_until(lambda: len(line.box.frames) == 2)
        assert line.box.frames[0] == b"no json" and json.loads(line.box.frames[1])[0]["id"] == 1
        assert line.tap.came[0] == (1, b"now")
        await wait_until(lambda: not line.transport.waiting)
        assert not line.box.failures


@pytest.mark.parametrize(
    "flood", [b": x\n" * 4000, b"data: {}\n\n" * 2000, b"1\r\n:\r\n" * 4000], ids=["comments", "events", "tiny chunks"]
)
async def test_an_endless_flood_leaves_the_loop_to_others(flood: bytes) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if flood.startswith(b"1"):
            await reply.head("200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked")
        else:
            await reply.stream()
        while True:
            await reply.raw(flood)

    async with RawServer(handler) as server, opened(server.url) as line:
        await line.transport.send(request(1))
        await wait_until(lambda: len(line.tap.responses) == 1)
        worst = 0.0
        for _ in range(20):
            began = time.thread_time()  # what holds up the loop is work of its thread
            await asyncio.sleep(0.01)
            worst = max(worst, time.thread_time() - began)
        line.transport.abandon(1)
        await wait_until(lambda: len(line.tap.responses) == 2)
        assert worst < 0.5


async def test_a_notification_that_is_not_taken_is_told_and_one_that_hangs_holds_up_nobody() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if got.json["method"] == "notifications/hang":
            await asyncio.Event().wait()
        await reply.body("400 Bad Request", b"no session", kind="text/plain")

    async with RawServer(handler) as server, opened(server.url, replace(SMALL, connect=1)) as line:
        hanging = notification("notifications/hang")
        await line.transport.send(hanging)
        await line.transport.send(bad := notification("notifications/progress"))
        await wait_until(lambda: len(line.box.failures) == 2)
        failures = {out.method: error for out, error in line.box.failures}
        assert "no session" in failures[bad.method].message
        assert isinstance(failures[hanging.method], ConnectionLost)


async def test_closing_takes_no_longer_than_allowed_when_the_server_hangs() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if got.method == "POST" and got.json.get("method") == "initialize":
            await reply.result({"protocolVersion": "2025-11-25"}, "Mcp-Session-Id: s1")
        elif got.method == "POST" and "id" not in got.json:
            await reply.accepted()
        else:
            await asyncio.Event().wait()

    async with RawServer(handler) as server:
        async with opened(server.url, SMALL) as line:
            await line.shake_hands()
            await line.transport.send(request(1))
            await wait_until(lambda: len(server.requests) == 4)
            began = time.monotonic()
            await asyncio.gather(line.transport.close(), line.transport.close())
            assert time.monotonic() - began < SMALL.close + 5  # of a busy machine
            await line.transport.close()
        assert server.methods()[-1] == "DELETE"
        assert not line.box.failures and not line.box.ends
        with pytest.raises(ConnectionLost):
            await line.transport.send(request(2))


async def test_a_server_that_does_not_read_fails_the_request_after_the_write_deadline() -> None:
    gate = asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1024)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    async with opened(url, Limits(write=0.3)) as line:
        error = await line.ask(request(1, "tools/call", {"text": "x" * 20 * MB}))
        assert isinstance(error, ConnectionLost) and "does not read" in error.message
    gate.set()
    server.close()
