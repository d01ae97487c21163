"""What is known when a server has died: real children and a loopback server that end in every way."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest

from mcp_studio.call.call import Call, Lost
from mcp_studio.catalog.listing import Ref
from mcp_studio.cli.engine import ending_of
from mcp_studio.present import crashes
from mcp_studio.studio import Studio
from mcp_studio.trace.postmortem import Ending, Mortem, endings
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import http, opened, stdio
from tests.support import python_server, wait_until


async def lost(studio: Studio, call: Call) -> Mortem:
    """Wait until a call is lost; the ending that it was lost to."""
    assert isinstance(await call.wait(), Lost), call.outcome
    found = await ending_of(call, studio.manager)
    assert found is not None
    return found


def start(studio: Studio, tool: str = "echo", **arguments: Any) -> Call:
    """Call a tool of the server `s`."""
    return studio.call_tool(Ref("tool", "s", tool), arguments, approved=True)


@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGSEGV, "native code"), (signal.SIGKILL, "killed from outside")]
)
async def test_a_signal_under_a_call_is_told_with_what_was_in_flight(number: int, words: str) -> None:
    async with opened(stdio(python_server("raw_server"), "s")) as studio:
        call = start(studio, "wait", seconds=60)
        await wait_until(lambda: call.sendings)
        os.kill(studio.manager.status("s").pid, number)
        found = await lost(studio, call)
        assert (found.ending.how, found.ending.code, found.ready) == ("signal", number, True)
        assert [(one.method, one.target, one.id) for one in found.flights] == [("tools/call", "wait", call.request)]
        assert found.waited(found.flights[0]) >= 0 and found.uptime is not None and found.uptime < 60
        assert words in crashes.meaning(found.ending)
        assert [frame.method for frame in found.frames][-1] == "tools/call"
        assert studio.trace[found.flights[0].number - studio.trace.first_number].method == "tools/call"
        # The same can be read from what the trace says of it, as of a past session.
        past = endings(studio.trace, "s")[0]
        assert (past.ending, past.flights) == (found.ending, found.flights)


async def test_an_exit_code_comes_with_the_last_words() -> None:
    async with opened(stdio(python_server("raw_faults", "--fault", "exits-mid-call"), "s")) as studio:
        found = await lost(studio, start(studio, text="hi"))
        assert crashes.first_line(found).startswith("s ended with exit code 7 after ")
        assert list(found.stderr) == ["panic: out of cheese"]
        assert ("in flight", crashes.flight(found, found.flights[0])) in list(crashes.facts(found))
        assert crashes.as_json(found)["inFlight"][0]["target"] == "echo"


@pytest.mark.parametrize(
    ("argv", "how", "code"),
    [
        ([sys.executable, "-S", "-c", "print('hello')"], "exit", 0),
        (python_server("raw_faults", "--fault", "dies-at-start"), "exit", 3),
        (python_server("raw_faults", "--fault", "closed-stdout"), "stdout", 0),
    ],
)
async def test_a_server_that_never_got_ready_has_an_ending_too(argv: list[str], how: str, code: int) -> None:
    async with opened(stdio(argv, "s")) as studio:
        supervisor = studio.manager.supervisor("s")
        await wait_until(lambda: supervisor.status.state == "failed")
        found = supervisor.mortems[-1]
        assert (found.ending.how, found.ending.code, found.ready) == (how, code, False)
        assert [one.method for one in found.flights] == ["initialize"]
        assert found.stray_count == (1 if code == 0 and how == "exit" else 0)


async def test_disconnecting_by_hand_is_an_ending_only_of_what_was_in_flight() -> None:
    async with opened(stdio(python_server("raw_server"), "s")) as studio:
        await studio.manager.stop("s")
        assert studio.manager.supervisor("s").mortems == []
        studio.manager.start("s")
        await studio.manager.settle("s")
        call = start(studio, "wait", seconds=60)
        await wait_until(lambda: call.sendings)
        studio.manager.restart("s")
        assert (await lost(studio, call)).ending.how == "closed"


async def test_a_status_decides_and_not_what_the_body_says() -> None:
    async def answer(_: Request, reply: Reply) -> None:
        await reply.body("500 Internal Server Error", b"upstream: the connection was refused")

    async with RawServer(answer) as server, opened(http(server.url, "s")) as studio:
        supervisor = studio.manager.supervisor("s")
        await wait_until(lambda: supervisor.mortems)
        assert crashes.as_json(supervisor.mortems[-1])["how"] == "status"
        assert supervisor.mortems[-1].ending == Ending("status", 500)
