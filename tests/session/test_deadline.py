"""Deadlines: progress extends, questions pause, the total ends."""

from __future__ import annotations

import asyncio
import selectors
from typing import cast

import pytest

from mcp_studio.config.model import Timeouts
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.events import Outgoing
from mcp_studio.redact import Redactor
from mcp_studio.session.connection import Connection, Deadline, DeadlinePassed, Limit
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import Transport


async def passes(deadline: Deadline) -> str:
    """Wait until the deadline passes; the limit it names."""
    with pytest.raises(TimeoutError):
        async with deadline.begin():
            await asyncio.Event().wait()
    return deadline.limit


class Clock(selectors.DefaultSelector):
    """A time that stands still while something is to be done, and then is that of the next timer."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += max(0.0, timeout or 0.0)
        return super().select(timeout and 0.0)


class Loop(asyncio.SelectorEventLoop):
    """A loop with such a clock: a busy machine makes no difference."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "asyncio", {"loop_factory": Loop}


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


class Silence:
    """A transport to a server that answers nothing."""

    async def send(self, out: Outgoing) -> None:
        """Send nothing."""

    def abandon(self, request_id: int | str) -> None:
        """Do nothing."""


def silent() -> Connection:
    """A connection to such a server."""
    redactor, transport = Redactor(), cast("Transport", Silence())
    core, tap = ClientCore({}, {}), ServerTap(TraceStore(redactor), redactor, "s")
    return Connection(transport, core, tap, DEFAULT, Timeouts(), probe=1, on_event=print, spawn=asyncio.create_task)


async def lasts(connection: Connection, begins: float, idle: float) -> float:
    """Seconds until a request has failed without a sign of life."""
    await asyncio.sleep(begins)
    began = asyncio.get_running_loop().time()
    with pytest.raises(DeadlinePassed, match="without a sign of life"):
        await connection.request("ping", deadline=Deadline(idle, 10_000, 10_000))
    return asyncio.get_running_loop().time() - began


async def test_requests_to_a_silent_server_end_in_time_whenever_they_began() -> None:
    connection, limits = silent(), (1, 19, 21, 60, 100, 3_000)
    found = await asyncio.gather(*(lasts(connection, begins, idle) for idle in limits for begins in (0, 13)))
    assert found == pytest.approx([idle for idle in limits for _ in range(2)])


async def test_the_pauses_of_a_connection_nest() -> None:
    connection, loop = silent(), asyncio.get_running_loop()
    for at, change in ((5, connection.pause), (6, connection.pause), (7, connection.resume), (500, connection.resume)):
        loop.call_later(at, change)
    assert await lasts(connection, 0, 60) == pytest.approx(560)
