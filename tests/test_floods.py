"""Floods of everything that a server may send by itself: bounded, counted, and no other server is held up."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_studio.call.call import Call, Lost, Rejected, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Settings
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.studio import Studio
from tests.studio_support import opened, stdio
from tests.support import python_server, run, wait_until

STALL = 2.0
"""Seconds of computing for which the loop may be held up; the clock of the thread stands still while others compute."""


@asynccontextmanager
async def flooding(*options: str) -> AsyncGenerator[Studio]:
    """A studio on a server that floods and on a good one; the loop is never held up for long."""
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.01)
            worst = max(worst, time.thread_time() - before)

    good = stdio(python_server("raw_server"), "good")
    async with opened(stdio(python_server("raw_flood", *options), "s"), good) as studio:
        studio.tasks.list_all()
        watching = asyncio.create_task(watch())
        yield studio
        watching.cancel()
        began = time.perf_counter()
    assert worst < STALL and time.perf_counter() - began < DEFAULT.close_all


def start(studio: Studio, tool: str) -> Call:
    return studio.call_tool(Ref("tool", "s", tool), {}, approved=True)


@pytest.mark.parametrize("flood", ["logs", "updated", "status", "changed", "forms", "pings"])
async def test_a_flood_is_bounded_and_holds_up_nobody(flood: str) -> None:
    async with flooding() as studio:
        watched = studio.subscriptions.watch("s", "raw://7")
        call = start(studio, flood)
        beside = await studio.call_tool(Ref("tool", "good", "echo"), {"text": "x"}, approved=True).wait()
        assert isinstance(beside, Succeeded)
        assert isinstance(await call.wait(), Succeeded)
        assert studio.manager.status("s").state == "ready"
        assert len(studio.inbox.pending) <= DEFAULT.prompts
        assert studio.inbox.held < DEFAULT.server_requests
        assert len(studio.tasks.all("s")) <= DEFAULT.tasks
        if flood == "logs":
            assert (studio.logs.total, studio.logs.count("s")) == (10_000, DEFAULT.logs)
        if flood == "updated":
            assert watched.updates == 2
        if flood == "forms":
            studio.inbox.decline_all("s")
            await wait_until(lambda: not studio.inbox.pending)


async def test_of_ten_thousand_pages_a_few_are_asked_for_and_no_is_no() -> None:
    async with flooding() as studio:
        call = start(studio, "pages")
        await wait_until(lambda: studio.inbox.pending)
        assert (len(studio.inbox.pending), studio.inbox.held) == (1, 0)
        studio.inbox.pending[0].answer("decline")
        assert isinstance(await call.wait(), Rejected)
        assert not studio.inbox.pending


@pytest.mark.parametrize(
    ("tool", "words"), [("rounds", "10,000 things at once"), ("endless", "10 rounds"), ("state", "too many")]
)
async def test_rounds_without_end_and_rounds_without_measure_are_refused(tool: str, words: str) -> None:
    async with flooding("--modern") as studio:
        outcome = await start(studio, tool).wait()
        assert isinstance(outcome, Lost) and words in outcome.error.message


def test_what_is_kept_on_the_disk_after_a_flood_is_small(home: Path) -> None:
    async def main() -> None:
        async with flooding() as studio:
            for flood in ("logs", "status"):
                assert isinstance(await start(studio, flood).wait(), Succeeded)

    run(main())
    assert sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) < 200_000


async def test_crashes_and_messages_leave_no_memory_behind() -> None:
    servers = [stdio(python_server("raw_server"), f"s{number}") for number in range(4)]
    settings = Settings(limits=Limits(connect=60.0, trace_entries=500))

    async def crash(studio: Studio, name: str) -> None:
        pid = studio.manager.status(name).pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        await wait_until(lambda: studio.manager.status(name).pid != pid, what="the end is seen")
        studio.manager.start(name)
        await wait_until(lambda: studio.manager.status(name).state == "ready", what="it is there again")

    flooder = stdio(python_server("raw_flood"), "s")
    async with opened(*servers, flooder, settings=settings) as studio:

        async def round() -> int:
            await asyncio.gather(*(crash(studio, server.name) for server in servers))
            await start(studio, "logs").wait()
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            before = await round()
            after = await round()
        finally:
            tracemalloc.stop()
        # 4 crashes, of which what each left behind is kept, and 10,000 messages, of which nothing is.
        assert after - before < 700_000, f"{after - before:,} bytes more"
