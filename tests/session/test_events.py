"""What happens to servers is told as typed events, in their order, and stands in the trace."""

from __future__ import annotations

import os
import signal

from mcp_studio.config.model import Config, Settings
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.session.events import (
    ServerConnected,
    ServerConnecting,
    ServerEvent,
    ServerFailed,
    ServerLost,
    ServerReconnected,
    ServerReconnecting,
    ServerRemoved,
)
from mcp_studio.studio import Studio
from tests.studio_support import call, opened, stdio, text
from tests.support import python_server, wait_until

RAW = python_server("raw_server")


async def test_a_server_that_is_killed_is_told_lost_reconnecting_and_reconnected() -> None:
    async with opened(stdio(RAW)) as studio:
        told: list[ServerEvent] = []
        studio.manager.events.connect(told.append)
        os.kill(studio.manager.status("s").pid, signal.SIGKILL)
        await wait_until(lambda: any(isinstance(one, ServerReconnected) for one in told))
        await studio.manager.stop("s")
        studio.manager.start("s")
        await studio.manager.settle("s")
        await studio.manager.remove("s")
        notes = [entry.body.decode() for entry in studio.trace if entry.kind == "note"]
    assert [type(one) for one in told] == [
        ServerLost, ServerReconnecting, ServerReconnected, ServerConnecting, ServerConnected, ServerRemoved,
    ]  # fmt: skip
    lost, again = told[0], told[1]
    assert isinstance(lost, ServerLost) and "SIGKILL" in lost.error.message and lost.server == "s"
    assert isinstance(again, ServerReconnecting) and (again.attempt, again.of) == (1, 5)
    assert "reconnecting, attempt 1 of 5" in notes and "reconnected, 2025-11-25" in notes


async def test_after_the_last_attempt_it_has_failed_and_says_why() -> None:
    async with opened(settings=Settings(limits=Limits(restarts=1))) as studio:
        told: list[ServerEvent] = []
        studio.manager.events.connect(told.append)
        studio.manager.add(stdio(RAW))
        await studio.manager.settle("s")
        for _ in range(2):
            await wait_until(lambda: studio.manager.status("s").state == "ready")
            os.kill(studio.manager.status("s").pid, signal.SIGKILL)
            await wait_until(lambda: studio.manager.status("s").state in ("retrying", "failed"))
    failed = told[-1]
    assert isinstance(failed, ServerFailed) and "SIGKILL" in failed.said
    assert [type(one) for one in told].count(ServerReconnecting) == 1


async def test_a_server_on_demand_is_started_by_the_first_call() -> None:
    async with opened(stdio(RAW, start="demand")) as studio:
        assert studio.manager.status("s").state == "disabled"
        outcome = await call(studio, "echo", text="hi")
        assert text(outcome) == "hi" and studio.manager.status("s").state == "ready"


async def test_a_slow_server_holds_up_no_other_one() -> None:
    hangs = [stdio(["sleep", "60"], f"slow{number}") for number in range(2)]
    settings = Settings(start_processes=1, limits=Limits(connect=20.0))
    servers = {server.name: server for server in (*hangs, stdio(RAW))}
    async with Studio.open(Config(settings, servers), Paths.default(), can_ask=True) as studio:
        await wait_until(lambda: studio.manager.status("s").state == "ready")
        assert studio.manager.status("slow0").state == "connecting"
