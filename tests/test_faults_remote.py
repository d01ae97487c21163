"""Servers that misbehave over HTTP+SSE and WebSocket: the same outcomes as from a program, in bounded time."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.call.call import CallOutcome, Lost, Rejected, Succeeded, TimedOut
from mcp_studio.config.model import Settings, Timeouts
from mcp_studio.errors import LimitExceeded
from mcp_studio.limits import DEFAULT
from mcp_studio.studio import Studio
from tests.servers.bridge import bridged
from tests.servers.http_raw import RawServer
from tests.servers.http_sse import SseServer
from tests.studio_support import call, http, opened, text
from tests.support import python_server, run, wait_until

SETTINGS = Settings(limits=replace(DEFAULT, close=1.0, message=1_000_000))
PATIENT = Timeouts(connect=60, idle=60, total=100)
KINDS: Any = pytest.mark.parametrize("kind", ["sse", "websocket"])


def answer_to(kind: Any, fault: str, *options: str, timeouts: Timeouts = PATIENT) -> tuple[CallOutcome, float]:
    """The outcome of an echo on a server with a fault, and how long closing took."""

    async def go() -> tuple[CallOutcome, float]:
        argv = python_server("raw_faults", "--fault", fault, *options)
        async with bridged(argv, kind) as url:
            async with opened(http(url, transport=kind, timeouts=timeouts), settings=SETTINGS) as studio:
                assert studio.manager.status("s").state == "ready", studio.manager.status("s").error
                outcome = await call(studio, "echo", text="hi")
                began = time.monotonic()
            return outcome, time.monotonic() - began

    return run(go())


@KINDS
@pytest.mark.parametrize(
    "fault",
    [
        *("split-writes", "stray", "lone-surrogate", "nul", "huge-number", "duplicate-response", "orphan-response"),
        *(
            "string-id",
            "null-id-first",
            "batch",
            "big-progress",
            "notification-flood",
            "list-changed-flood",
            "server-requests",
        ),
    ],
)
def test_the_answer_arrives_in_spite_of(kind: str, fault: str) -> None:
    outcome, seconds = answer_to(kind, fault, "--count", "500")
    assert isinstance(outcome, Succeeded), outcome
    assert seconds < 10


@KINDS
@pytest.mark.parametrize("fault", ["truncated", "deep-json", "nan", "no-result", "bad-error"])
def test_an_unusable_answer_ends_the_call_at_once_with_a_reason(kind: str, fault: str) -> None:
    outcome, _ = answer_to(kind, fault)
    assert isinstance(outcome, (Lost, Rejected)), outcome


@KINDS
@pytest.mark.parametrize("fault", ["big-result", "big-result-id-last"])
def test_an_answer_beyond_the_limit_is_told_as_that(kind: str, fault: str) -> None:
    outcome, _ = answer_to(kind, fault, "--size", "3000000")
    assert isinstance(outcome, Lost) and isinstance(outcome.error, LimitExceeded), outcome


@KINDS
@pytest.mark.parametrize("fault", ["silent-call", "null-id"])
def test_silence_ends_at_the_deadline(kind: str, fault: str) -> None:
    assert isinstance(answer_to(kind, fault, timeouts=Timeouts(30, 0.5, 20))[0], TimedOut)


@KINDS
async def test_pages_that_never_end_do_so_at_the_deadline(kind: Any) -> None:
    async with bridged(python_server("raw_faults", "--fault", "slow-pages"), kind) as url:
        async with opened(http(url, transport=kind, timeouts=Timeouts(60, 60, 0.5))) as studio:
            listing = studio.catalog.listing("s", "tool")
            assert listing.entries and "0.5 s in all (timeouts.total)" in listing.error


@KINDS
@pytest.mark.parametrize("fault", ["exits-mid-call", "killed-mid-call"])
def test_a_server_that_goes_away_in_a_call_loses_it_with_a_reason(kind: str, fault: str) -> None:
    outcome, _ = answer_to(kind, fault)
    assert isinstance(outcome, Lost) and outcome.error.message, outcome


@pytest.mark.parametrize("transport", ["", "sse"])
def test_a_lost_stream_is_a_lost_session_and_the_studio_begins_another(transport: Any) -> None:
    async def main() -> None:
        server = SseServer()
        async with RawServer(server) as raw, opened(http(raw.url, transport=transport)) as studio:
            assert studio.manager.status("s").state == "ready"
            lost = asyncio.Event()
            studio.manager.changed.connect(lambda name: _note_loss(studio, lost))
            server.stream.close()
            await lost.wait()
            await wait_until(lambda: studio.manager.status("s").state == "ready")
            assert len(server.streams) == 2

    def _note_loss(studio: Studio, lost: asyncio.Event) -> None:
        status = studio.manager.status("s")
        if status.state == "retrying":
            assert status.error is not None and "stream" in status.error.message
            lost.set()

    run(main())


@KINDS
async def test_several_calls_run_at_once(kind: Any) -> None:
    argv = python_server("raw_faults")
    async with bridged(argv, kind) as url, opened(http(url, transport=kind), settings=SETTINGS) as studio:
        calls = [call(studio, "echo", text=str(number)) for number in range(30)]
        assert [text(outcome) for outcome in await asyncio.gather(*calls)] == [str(n) for n in range(30)]
