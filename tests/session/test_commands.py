"""Commands to servers in any order: every one ends in the state that was asked for last, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Settings, Timeouts
from mcp_studio.errors import Unreachable, UsageError
from mcp_studio.limits import DEFAULT
from mcp_studio.studio import Studio
from tests.studio_support import opened, stdio
from tests.support import python_server, run, wait_until

RAW = python_server("raw_server")
MODERN = python_server("raw_server", "--modern")
SLOW = python_server("raw_faults", "--fault", "slow-start", "--delay", "0.5")


def state(studio: Studio, name: str = "s") -> str:
    """The state of a server."""
    return studio.manager.status(name).state


@pytest.mark.parametrize("commands", [("restart",), ("stop", "start"), ("restart", "restart"), ("stop", "restart")])
async def test_whoever_restarts_a_server_that_is_connecting_gets_it_connected(commands: tuple[str, ...]) -> None:
    async with opened() as studio:
        studio.manager.add(stdio(SLOW))
        await wait_until(lambda: studio.manager.status("s").state == "connecting")
        stopping: list[asyncio.Task[None]] = []
        for command in commands:
            if command == "stop":
                stopping.append(asyncio.create_task(studio.manager.stop("s")))
                await asyncio.sleep(0)
            else:
                getattr(studio.manager, command)("s")
        status = await studio.manager.settle("s")
        assert status.state == "ready", status.error
        await asyncio.gather(*stopping)


async def test_a_server_that_waits_for_its_turn_is_stopped_at_once() -> None:
    silent = [stdio(["sleep", "60"], f"silent{number}") for number in range(2)]
    async with opened(settings=Settings(start_processes=2)) as studio:
        for config in (*silent, stdio(RAW, "queued")):
            studio.manager.add(config)
        await wait_until(lambda: [state(studio, c.name) for c in silent] == ["connecting"] * 2)
        began = time.monotonic()
        await studio.manager.stop("queued")
        assert state(studio, "queued") == "disabled" and time.monotonic() - began < 5
        await studio.manager.stop("silent0")
        studio.manager.start("queued")
        assert (await studio.manager.settle("queued")).state == "ready"


async def test_removing_twice_at_once_is_removing() -> None:
    async with opened(stdio(RAW)) as studio:
        await asyncio.gather(studio.manager.remove("s"), studio.manager.remove("s"))
        assert studio.manager.names() == ()


async def test_why_a_server_has_failed_costs_the_same_however_often_it_is_asked() -> None:
    async with opened(stdio(["no-such-program-anywhere"])) as studio:
        error = (await studio.manager.settle("s")).error
        for _ in range(20):
            with pytest.raises(Unreachable):
                studio.manager.connection("s")
        assert error is not None and len(list(traceback.walk_tb(error.__traceback__))) < 5


async def test_two_replacements_at_once_leave_one_server_and_its_place() -> None:
    async with opened(stdio(RAW), stdio(RAW, "z")) as studio:
        await asyncio.gather(studio.manager.replace(stdio(RAW)), studio.manager.replace(stdio(MODERN)))
        assert studio.manager.names() == ("s", "z")
        await studio.manager.settle("s")
        await studio.manager.listed("s")
        order = list(dict.fromkeys(entry.ref.server for entry in studio.catalog.entries("tool")))
        assert order in (["s", "z"], ["z"])


async def test_a_replaced_server_keeps_its_place_in_the_catalog() -> None:
    async with opened(stdio(RAW), stdio(RAW, "z")) as studio:
        await studio.manager.replace(stdio(MODERN))
        await studio.manager.settle("s")
        await studio.manager.listed("s")
        order = list(dict.fromkeys(entry.ref.server for entry in studio.catalog.entries("tool")))
        assert order == ["s", "z"]


async def test_removing_goes_on_when_its_caller_is_cancelled() -> None:
    async with opened(stdio(RAW)) as studio:
        removing = asyncio.create_task(studio.manager.remove("s"))
        await asyncio.sleep(0)
        removing.cancel()
        await wait_until(lambda: not studio.manager.names())


async def test_a_second_server_of_the_same_name_is_refused() -> None:
    async with opened(stdio(RAW)) as studio:
        with pytest.raises(UsageError, match="already"):
            studio.manager.add(stdio(MODERN))


Waiting = Callable[[Studio], Coroutine[Any, Any, object]]


@pytest.mark.parametrize("wait", [lambda s: s.manager.settle("s"), lambda s: s.manager.stop("s")])
async def test_who_waits_for_a_server_that_is_removed_goes_on(wait: Waiting) -> None:
    async with opened() as studio:
        studio.manager.add(stdio(["sleep", "60"]))
        await asyncio.sleep(0)
        waiting = asyncio.create_task(wait(studio))
        await asyncio.sleep(0)
        await studio.manager.remove("s")
        await asyncio.wait_for(waiting, 10)


async def test_who_waits_for_lists_goes_on_when_the_server_is_stopped() -> None:
    async with opened() as studio:
        studio.manager.add(stdio(python_server("raw_faults", "--fault", "silent-call")))
        told = asyncio.Event()
        waiting: list[asyncio.Task[None]] = []

        def ready(name: str) -> None:
            if state(studio) == "ready" and not waiting:
                waiting.append(asyncio.create_task(studio.manager.listed("s")))
                studio.manager.restart("s")
                told.set()

        studio.manager.changed.connect(ready)
        await told.wait()
        await asyncio.wait_for(waiting[0], 10)


def test_the_studio_closes_in_time_whatever_is_under_way() -> None:
    async def go() -> float:
        limits = replace(DEFAULT, close=1.0)
        names = [f"s{number}" for number in range(4)]
        quick = Timeouts(connect=30)
        settings = Settings(limits=limits, start_processes=2)
        async with opened(stdio(RAW, "up"), settings=settings) as studio:
            for name in names:
                studio.manager.add(stdio(["sleep", "60"], name, timeouts=quick))
            await wait_until(lambda: [state(studio, n) for n in names].count("connecting") == 2)
            studio.call_tool(Ref("tool", "up", "fail"), {})
            studio.call_tool(Ref("tool", "up", "wait"), {"seconds": 30})
            await wait_until(lambda: studio.inbox.pending)
            began = time.monotonic()
        assert not studio.inbox.pending
        return time.monotonic() - began

    assert run(go()) < 8


async def test_a_server_that_prints_and_does_not_answer_is_said_to_print() -> None:
    talk = "import sys; print('Welcome!', flush=True); sys.stdin.read()"
    server = stdio([sys.executable, "-c", talk], timeouts=Timeouts(connect=3))
    async with opened(server) as studio:
        status = await studio.manager.settle("s")
        assert status.error is not None and 'It prints text to standard output: "Welcome!"' in status.error.hint
