"""What happens to servers is told as typed events, in their order, and stands in the trace."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.config.model import Config, Settings, Timeouts
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
from tests.servers.http_raw import Handler, RawServer, Reply, Request
from tests.studio_support import call, http, opened, stdio, text
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
    assert again.facts == {"event": "ServerReconnecting", "server": "s", "attempt": 1, "of": 5, "said": again.text}
    assert lost.facts["error"] == lost.error.message
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
    assert isinstance(failed, ServerFailed) and "SIGKILL" in failed.text
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


async def test_a_failed_server_offers_nothing_until_it_is_started_again(tmp_path: Path) -> None:
    """What it offered is remembered for the next run all the same, and what was seen of it is still known."""
    broken = tmp_path / "broken"
    argv = [sys.executable, "-c", f"import os, sys; os.path.exists({str(broken)!r}) and sys.exit(3); {_EXEC}", *RAW]
    async with opened(stdio(argv, group="g"), settings=Settings(limits=Limits(restarts=0, connect=60))) as studio:
        tools = [entry.ref for entry in studio.catalog.entries("tool")]
        assert Ref("tool", "s", "echo") in tools and studio.catalog.entries("prompt")
        broken.touch()
        os.kill(studio.manager.status("s").pid, signal.SIGKILL)
        await wait_until(lambda: studio.manager.status("s").state == "failed")
        assert not [entry for kind in KINDS for entry in studio.catalog.entries(kind)]
        assert studio.catalog.servers == ("s",) and not (await studio.index.ask("echo", once=True)).hits
        assert studio.groups.best("g", "echo") == "s", "a call may bring it back"
        again = studio.call_tool(Ref("tool", "s", "fail"), {})
        await wait_until(lambda: studio.inbox.pending)
        assert studio.inbox.pending[0].kind == "approval", "it is judged by what is known of it"
        again.cancel()
        broken.unlink()
        studio.manager.start("s")
        assert (await studio.manager.settle("s")).state == "ready"
        await studio.manager.listed("s")
        found = studio.catalog.entries("tool")
        assert [entry.ref for entry in found] == tools and not any(entry.change for entry in found)


_EXEC = "os.execv(sys.argv[1], sys.argv[1:])"


async def discovering(got: Request, reply: Reply) -> None:
    """A server of 2026-07-28 that offers nothing."""
    offer = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    await reply.result({"resultType": "complete", **offer})


async def shaking_hands(got: Request, reply: Reply) -> None:
    """A server of 2025-11-25 that offers nothing, and opens no stream."""
    offer = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    if got.method == "GET":
        await reply.body("405 Method Not Allowed", b"")
    elif got.json.get("method") in ("initialize", "ping"):
        await reply.result(offer if got.json["method"] == "initialize" else {})
    else:
        await reply.body("400 Bad Request" if "id" in got.json else "202 Accepted", b"")


@pytest.mark.parametrize(("handler", "question"), [(discovering, "server/discover"), (shaking_hands, "ping")])
async def test_a_server_over_http_is_asked_whether_it_is_there_and_lost_when_it_is_not(
    handler: Handler, question: str
) -> None:
    async with RawServer(handler) as server:
        silent, probed = http(server.url, "silent", probe=0.0), http(server.url, probe=0.05)
        async with opened(probed, silent) as studio:
            told: list[ServerEvent] = []
            studio.events.connect(told.append)
            before, ready = len(server.requests), studio.manager.connection("s")
            heard = ready.heard
            await wait_until(lambda: len(server.requests) > before + 2)
            assert ready.heard > heard and not told
            assert {got.json["method"] for got in server.requests[before + 1 :]} == {question}
            await server.stop()
            await wait_until(lambda: isinstance(told[-1] if told else None, ServerReconnecting))
            assert [type(one) for one in told] == [ServerLost, ServerReconnecting]
            assert "the connection was refused" in told[0].text and {one.server for one in told} == {"s"}
            async with server:
                await wait_until(lambda: isinstance(told[-1], ServerReconnected))


@pytest.mark.parametrize(
    ("status", "lost"), [("403 Forbidden", False), ("500 Internal Server Error", False), ("502 Bad Gateway", True)]
)
async def test_whoever_answers_a_probe_is_there_but_for_a_gateway(status: str, lost: bool) -> None:
    asked = 0

    async def once(got: Request, reply: Reply) -> None:
        nonlocal asked
        asked += 1
        await (discovering(got, reply) if asked == 1 else reply.body(status, b"no"))

    async with RawServer(once) as server, opened(http(server.url, probe=0.02)) as studio:
        await wait_until(lambda: asked > 4 or studio.manager.status("s").state != "ready")
        assert (studio.manager.status("s").state != "ready") == lost


async def test_a_probe_without_an_answer_says_how_long_it_waited() -> None:
    asked = asyncio.Event()

    async def mute(got: Request, reply: Reply) -> None:
        await (reply.closed_by_peer() if asked.is_set() else discovering(got, reply))
        asked.set()

    async with (
        RawServer(mute) as server,
        opened(http(server.url, probe=0.02, timeouts=Timeouts(connect=0.3))) as studio,
    ):
        await wait_until(lambda: studio.manager.status("s").error is not None)
        error = studio.manager.status("s").error
        assert error is not None and "server/discover within 0.3 s in all (timeouts.connect)" in error.message
