"""Answers cut or garbled at many offsets: every request comes to an end, nothing else is touched."""

from __future__ import annotations

import json
import random

import pytest

from mcp_studio.limits import KB, Limits
from tests.servers.http_kit import Line, modern, opened
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import run, wait_until

ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "ä" * 40}]}}).encode()
STEP = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
EVENTS = b": hello\r\n\r\nid: 1\r\nevent: message\r\ndata: " + STEP + b"\r\n\r\nid: 2\r\ndata: " + ANSWER + b"\r\n\r\n"
RECORDED = {
    "json": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    % (len(ANSWER), ANSWER),
    "stream": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + EVENTS,
    "chunked": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (EVENTS[:50], EVENTS[50:]))
    + b"0\r\n\r\n",
    "error": b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 67\r\n\r\n"
    b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such"}}',
}
LIMITS = Limits(message=64 * KB, connect=1, close=1)


def broken(data: bytes, seed: int) -> list[bytes]:
    """The recording cut at every offset but few, and with a byte or some changed, lost or doubled."""
    dice = random.Random(seed)
    cut = [data[:offset] for offset in range(0, len(data), 5)]
    garbled: list[bytes] = []
    for _ in range(100):
        at, size = dice.randrange(len(data)), dice.choice((1, 1, 2, 9))
        middle = dice.choice((dice.randbytes(size), b"", data[at : at + size] * 2, b"\r\n", b"\x00"))
        garbled.append(data[:at] + middle + data[at + size :])
    return cut + garbled


@pytest.mark.parametrize("kind", RECORDED)
def test_an_answer_damaged_anywhere_ends_its_request_and_spares_the_next(kind: str) -> None:
    async def main() -> None:
        damaged = broken(RECORDED[kind], 7)
        current = b""

        async def handler(got: Request, reply: Reply) -> None:
            if got.json["id"] == 1:
                await reply.raw(current)
                reply.close()
            else:
                await reply.result()

        async with RawServer(handler) as server, opened(server.url, LIMITS) as line:
            line.transport.negotiated("2026-07-28")
            for answer in damaged:
                current = answer
                await ended(line)
            assert "result" in await line.ask(modern(2, "tools/list"))
            assert not line.box.ends
            strange = [error for _, error in line.box.failures if "failed unexpectedly" in error.message]
            assert not strange, strange

    async def ended(line: Line) -> None:
        seen = len(line.box.failures) + len(line.box.frames)
        await line.transport.send(modern(1, "tools/call", target="t"))
        await wait_until(lambda: not line.transport.waiting)
        assert len(line.box.failures) + len(line.box.frames) > seen

    run(main())
