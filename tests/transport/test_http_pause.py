"""Retry-After: waited for where it is short, told where it is long, never for what may have been done."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_studio.config.model import Timeouts
from mcp_studio.limits import Limits
from mcp_studio.session.sign_in import make_transport
from mcp_studio.transport.http_errors import HttpFailure, HttpUnreachable, retry_after
from tests.servers.http_kit import modern, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_session import QUICK, session
from tests.servers.http_sse import SseServer
from tests.servers.ws_raw import WsServer, url_of
from tests.support import wait_until


class Told(NamedTuple):
    """The head of a response."""

    wait: str

    def header(self, name: str) -> str:
        return self.wait if name == "retry-after" else ""


@given(st.text())
@example("-3")
@example("1.5")
@example("\u0663")
@example("0x10")
@example("9" * 50)
@example("Tue, 01 Dec 2026 08:00:00 GMT")
def test_only_a_number_of_seconds_asks_for_a_pause(wait: str) -> None:
    found = retry_after(Told(wait))
    assert found is None or 0 <= found < 500 * 86_400
    assert (found is None) == (re.fullmatch("[0-9]+", wait.strip()) is None)


def busy(value: str, status: str = "429 Too Many Requests", times: int = 1) -> Any:
    """A server that is busy for so many requests."""
    left = [times]

    async def handler(got: Request, reply: Reply) -> None:
        if left[0]:
            left[0] -= 1
            await reply.body(status, b"busy", f"Retry-After: {value}", kind="text/plain")
        else:
            await reply.result()

    return handler


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
@pytest.mark.parametrize("settled", [True, False])
async def test_a_call_is_sent_once_more_after_a_short_pause(status: str, settled: bool) -> None:
    async with RawServer(busy("0", status)) as server, opened(server.url) as line:
        if settled:
            line.transport.negotiated("2026-07-28")
        out = modern(1, "tools/call", target="t")
        assert "result" in await line.ask(out)
        assert [got.body for got in server.requests] == [out.frame] * 2
        assert len(line.tap.out) == 1 and len(line.tap.requests) == 2
        assert any("asks to wait 0 seconds" in note for note in line.tap.notes)


async def test_the_pause_is_kept() -> None:
    async with RawServer(busy("1", "503 Busy")) as server, opened(server.url) as line:
        line.transport.negotiated("2026-07-28")
        began = time.monotonic()
        await line.transport.send(modern(1, "tools/call", target="t"))
        await wait_until(lambda: line.tap.notes)
        await wait_until(lambda: line.box.answer(1))
        assert time.monotonic() - began > 0.9


async def test_it_is_sent_once_more_and_not_for_ever() -> None:
    async with RawServer(busy("0", times=9)) as server, opened(server.url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpFailure) and error.code == 429 and "asked too often" in error.message
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("limits", "about", "version"),
    [
        (Limits(retry_max=5), {}, "2026-07-28"),
        (Limits(connect=8), {}, ""),
        (Limits(), {"timeouts": Timeouts(connect=8)}, "2026-07-28"),
    ],
)
async def test_a_long_pause_is_told_instead(limits: Limits, about: Any, version: str) -> None:
    async with RawServer(busy("6")) as server, opened(server.url, limits, **about) as line:
        line.transport.negotiated(version)
        error = await line.ask(modern(1, "tools/call", target="t"))
        assert isinstance(error, HttpFailure) and "asks to wait 6 seconds" in error.hint
        assert error.retry_after == 6 and len(server.requests) == 1


async def test_giving_up_ends_the_pause() -> None:
    async with RawServer(busy("7")) as server, opened(server.url) as line:
        line.transport.negotiated("2026-07-28")
        await line.transport.send(modern(1, "tools/call", target="t"))
        await wait_until(lambda: line.tap.notes)
        line.transport.abandon(1)
        await wait_until(lambda: not line.transport.waiting)
        assert len(server.requests) == 1 and not line.box.failures


async def test_a_frame_written_by_hand_is_never_sent_twice() -> None:
    async with RawServer(busy("0")) as server, opened(server.url) as line:
        await line.transport.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        await wait_until(lambda: line.tap.responses)
        assert line.tap.responses[0].status == 429 and len(server.requests) == 1


async def test_the_listening_stream_waits_as_it_is_asked_to() -> None:
    came: list[float] = []

    async def get(got: Request, reply: Reply) -> None:
        came.append(time.monotonic())
        if len(came) == 1:
            await reply.body("503 Busy", b"", "Retry-After: 1")
        else:
            await reply.stream()
            await reply.event({"jsonrpc": "2.0", "method": "hello"})
            await asyncio.Event().wait()

    limits = QUICK.__class__(retry_min=0.01, retry_max=2, reconnects=3, close=1)
    async with RawServer(session(get)) as server, opened(server.url, limits) as line:
        await line.shake_hands()
        await wait_until(lambda: len(line.box.frames) == 2)
        assert came[1] - came[0] > 0.9


@pytest.mark.parametrize("kind", ["sse", "websocket"])
async def test_opening_waits_too(kind: Any) -> None:
    server: Any = SseServer() if kind == "sse" else WsServer()
    first = [True]

    async def handler(got: Request, reply: Reply) -> None:
        if first:
            first.clear()
            await reply.body("429 Busy", b"", "Retry-After: 0")
        else:
            await server(got, reply)

    async with RawServer(handler) as raw:
        url = raw.url if kind == "sse" else url_of(raw)
        async with opened(url, kind=make_transport, transport=kind) as line:
            await line.shake_hands("2024-11-05")

    async with RawServer(busy("9999", times=2)) as raw:
        url = raw.url if kind == "sse" else url_of(raw)
        with pytest.raises(HttpUnreachable) as caught:
            async with opened(url, kind=make_transport, transport=kind):
                pass
        assert caught.value.retry_after == 9999 and "asks to wait" in caught.value.hint, caught.value.hint
