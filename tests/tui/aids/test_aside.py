"""Work that may never end holds up nothing else."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from mcp_studio.tui.aids.aside import Latest, aside
from tests.support import run, wait_until


async def test_what_work_gives_or_raises_comes_back() -> None:
    assert await aside(lambda: 7) == 7
    with pytest.raises(ValueError, match="no number"):
        await aside(lambda: _fail())


def _fail() -> int:
    raise ValueError("no number")


def test_leaving_does_not_wait_for_work_that_hangs() -> None:
    hangs = threading.Event()

    async def test() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await aside(hangs.wait)

    began = time.monotonic()
    run(test())
    assert time.monotonic() - began < 5
    hangs.set()


async def test_only_the_newest_request_counts_and_one_runs_at_a_time() -> None:
    goes, ran, taken = threading.Event(), list[str](), list[str]()
    latest: Latest[str] = Latest()

    def work(name: str) -> str:
        ran.append(name)
        goes.wait(5)
        return name

    first = asyncio.create_task(latest.ask(lambda: work("a"), taken.append))
    await wait_until(lambda: ran)
    for name in "bc":
        await latest.ask(lambda name=name: work(name), taken.append)
    goes.set()
    await first
    assert ran == ["a", "c"] and taken == ["c"]
