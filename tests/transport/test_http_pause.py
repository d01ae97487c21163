"""Retry-After: waited for where it is short, told where it is long, never for what may have been done."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.config.model import Timeouts
from mcp_studio.limits import Limits
from mcp_studio.transport.http_errors import HttpFailure, HttpUnreachable, asked, in_words, pause_of
from mcp_studio.transport.make import make
from tests.servers.http_kit import modern, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_session import QUICK, session
from tests.servers.http_sse import SseServer
from tests.servers.ws_raw import WsServer, url_of
from tests.support import wait_until


class Told(NamedTuple):
    """The head of a response."""

    status: int = 429
    wait: str = ""
    date: str = ""

    def header(self, name: str) -> str:
        return {"retry-after": self.wait, "date": self.date}.get(name, "")


def at(seconds: float) -> str:
    """An HTTP-date so many seconds from now."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("value", ["", "soon", "-3", "1.5", "٣", "Tue, 99 Foo 2026 99:99:99 GMT", "0x10"])
def test_what_cannot_be_understood_asks_for_nothing(value: str) -> None:
    assert asked(Told(wait=value)) is None


@settings(max_examples=40)
@given(st.text(), st.text())
def test_no_text_makes_an_error(wait: str, date: str) -> None:
    found = asked(Told(wait=wait, date=date))
    assert found is None or 0 <= found < 500 * 86_400
    assert pause_of(Told(wait=at(5), date=date), 1e9) is not None


def test_a_number_of_seconds_and_a_date_are_understood() -> None:
    assert asked(Told(wait="7")) == 7 and asked(Told(wait=" 0 ")) == 0
    assert 50 < (asked(Told(wait=at(60))) or 0) < 70
    assert asked(Told(wait=at(-60))) == 0
    # The server's clock is an hour off: its own date says from when it counts.
    assert asked(Told(wait=at(3660), date=at(3600))) == 60
    assert (asked(Told(wait="9" * 50)) or 0) < 500 * 86_400


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone of a process cannot be set here")
def test_a_date_without_a_zone_is_universal_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the old form of C's asctime, which has to be understood (RFC 9110 5.6.7)."""
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        written = (datetime.now(UTC) + timedelta(seconds=60)).strftime("%a %b %d %H:%M:%S %Y")
        found = asked(Told(wait=written))
    time.tzset()
    assert found is not None and 50 < found < 70


def test_only_short_pauses_of_statuses_that_did_nothing_are_taken() -> None:
    assert pause_of(Told(429, "2"), 5) == 2 and pause_of(Told(503, "2"), 5) == 2
    assert pause_of(Told(429, "6"), 5) is None and pause_of(Told(429), 5) is None
    for status in (500, 502, 504, 413, 200):
        assert pause_of(Told(status, "2"), 5) is None


def test_long_pauses_are_told_with_their_end() -> None:
    assert in_words(1) == "1 second" and in_words(12.4) == "12 seconds"
    assert in_words(7200).startswith("120 minutes, until 20") and in_words(7200).endswith(" UTC")


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
    async with RawServer(busy(at(2), "503 Busy")) as server, opened(server.url) as line:
        line.transport.negotiated("2026-07-28")
        began = time.monotonic()
        await line.transport.send(modern(1, "tools/call", target="t"))
        await wait_until(lambda: line.tap.notes)
        assert "it asks to wait" not in line.transport.standing(1)
        assert "HTTP status 503 came, which asks to wait" in line.transport.standing(1)
        await wait_until(lambda: line.box.answer(1))
        assert time.monotonic() - began > 0.5  # An HTTP-date has whole seconds.


async def test_it_is_sent_once_more_and_not_for_ever() -> None:
    async with RawServer(busy("0", times=9)) as server, opened(server.url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpFailure) and error.status == 429 and "asked too often" in error.message
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("limits", "about", "version"),
    [
        (Limits(retry_max=5), {}, "2026-07-28"),
        (Limits(connect=8), {}, ""),
        (Limits(), {"timeouts": Timeouts(idle=8)}, "2026-07-28"),
    ],
)
async def test_a_long_pause_is_told_instead(limits: Limits, about: Any, version: str) -> None:
    async with RawServer(busy("6")) as server, opened(server.url, limits, **about) as line:
        line.transport.negotiated(version)
        error = await line.ask(modern(1, "tools/call", target="t"))
        assert isinstance(error, HttpFailure) and "asks to wait 6 seconds" in error.hint
        assert error.retry_after == 6 and len(server.requests) == 1


async def test_giving_up_ends_the_pause() -> None:
    async with RawServer(busy("20")) as server, opened(server.url) as line:
        line.transport.negotiated("2026-07-28")
        await line.transport.send(modern(1, "tools/call", target="t"))
        await wait_until(lambda: line.tap.notes)
        line.transport.abandon(1)
        await wait_until(lambda: not line.transport.busy)
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
        async with opened(url, kind=make, transport=kind) as line:
            await line.shake_hands("2024-11-05")

    async with RawServer(busy("9999", times=2)) as raw:
        url = raw.url if kind == "sse" else url_of(raw)
        with pytest.raises(HttpUnreachable) as caught:
            async with opened(url, kind=make, transport=kind):
                pass
        assert caught.value.retry_after == 9999 and "asks to wait" in caught.value.hint, caught.value.hint
