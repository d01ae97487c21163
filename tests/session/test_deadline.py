"""Deadlines: progress extends, questions pause, the total ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_studio.session.connection import Deadline, Limit


async def passes(deadline: Deadline) -> str:
    """Wait until the deadline passes; the limit it names."""
    with pytest.raises(TimeoutError):
        async with deadline.begin():
            await asyncio.Event().wait()
    return deadline.limit


class Clock(asyncio.SelectorEventLoop):
    """Its time stands still while something is to be done, and then is that of the next timer."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        loop: Any = self
        due = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
        if due and not loop._ready:
            self.now = max(self.now, min(due))
        super()._run_once()  # type: ignore[misc]


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, object]]:
    """A loop with such a clock: a busy machine makes no difference."""
    return "asyncio", {"loop_factory": Clock}


async def test_the_idle_limit_passes_without_a_sign_of_life() -> None:
    assert "0.02 s without" in await passes(Deadline(0.02, 10))


async def test_progress_extends_the_idle_limit_but_not_the_total() -> None:
    loop = asyncio.get_running_loop()
    deadline = Deadline(0.05, 0.2)
    began = loop.time()

    async def progress() -> None:
        while True:
            await asyncio.sleep(0.01)
            deadline.extend()

    task = asyncio.create_task(progress())
    assert "0.2 s in all" in await passes(deadline)
    assert loop.time() - began >= 0.2
    task.cancel()


async def test_several_requests_share_the_total_and_each_begins_its_idle_limit_anew() -> None:
    deadline = Deadline(Limit(0.05, "--timeout"), Limit(0.1, "limits.call_total"))
    for _ in range(3):
        async with deadline.begin():
            await asyncio.sleep(0.03)
            deadline.pause()
            await asyncio.sleep(1)
    with pytest.raises(TimeoutError):
        async with deadline.begin():
            await asyncio.Event().wait()
    assert deadline.limit == "0.1 s in all (limits.call_total)"


async def test_nothing_runs_while_a_person_is_asked() -> None:
    loop = asyncio.get_running_loop()
    deadline = Deadline(0.05, 0.1)
    loop.call_soon(deadline.pause)
    loop.call_later(0.2, deadline.resume)
    began = loop.time()
    await passes(deadline)
    assert loop.time() - began >= 0.24


async def test_a_watched_deadline_passes_in_time_though_its_timer_starts_late() -> None:
    loop, deadline = asyncio.get_running_loop(), Deadline(100, 1_000)
    began = loop.time()

    async def watch() -> None:
        while True:
            await asyncio.sleep(10)
            deadline.watch()

    watching = asyncio.create_task(watch())
    with pytest.raises(TimeoutError):
        async with deadline.begin(watched=True):
            await asyncio.Event().wait()
    watching.cancel()
    assert loop.time() - began == 100
