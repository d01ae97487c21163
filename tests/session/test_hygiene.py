"""Nothing is left on the event loop: no error that nobody fetched, no task, no secret in what is shown."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from typing import Any

import pytest

from mcp_studio.call.call import Lost
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Timeouts
from mcp_studio.limits import DEFAULT
from tests.studio_support import call, http, opened, stdio
from tests.support import python_server, run, wait_until
from tests.support_servers import http_server

SECRET = "very-secret-value-1"
RAW = python_server("raw_server")


def watched(act: Any) -> None:
    """Run a coroutine function; fails when the loop complains or tasks are left."""
    complaints: list[str] = []

    async def go() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(str(context)))
        before = asyncio.all_tasks()
        await act()
        await wait_until(lambda: not asyncio.all_tasks() - before, 15, "no task is left")
        gc.collect()
        await asyncio.sleep(0)

    run(go())
    gc.collect()
    assert complaints == []


@pytest.mark.parametrize("how", ["kill", "stop", "close", "timeout", "write"])
def test_calls_that_end_badly_leave_nothing_behind(how: str) -> None:
    async def act() -> None:
        config = stdio(RAW, timeouts=Timeouts(idle=0.3 if how == "timeout" else None))
        async with opened(config) as studio:
            ref = Ref("tool", "s", "wait")
            handles = [studio.call_tool(ref, {"seconds": 30}) for _ in range(3)]
            await wait_until(lambda: len([e for e in studio.trace if e.method == "tools/call"]) == 3)
            pid = studio.manager.status("s").pid
            if how == "write":
                os.kill(pid, signal.SIGSTOP)
                handles.append(studio.call_tool(Ref("tool", "s", "echo"), {"text": "x" * 3_000_000}))
                await asyncio.sleep(0.1)
            if how in ("kill", "write"):
                os.kill(pid, signal.SIGKILL)
            elif how == "stop":
                await studio.manager.stop("s")
            if how != "close":
                for handle in handles:
                    await handle.wait()

    watched(act)


@pytest.mark.parametrize("fault", ["dies-at-start", "init-error", "closed-stdin", "silent", "exits-mid-call"])
def test_connections_that_fail_leave_nothing_behind(fault: str) -> None:
    async def act() -> None:
        config = stdio(python_server("raw_faults", "--fault", fault), timeouts=Timeouts(connect=0.8))
        async with opened(config) as studio:
            if fault == "exits-mid-call":
                assert isinstance(await call(studio, "echo", text="x"), Lost)

    watched(act)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_calls_over_http_leave_nothing_behind(era: str) -> None:
    async def act(url: str) -> None:
        async with opened(http(url, era=era)) as studio:
            handles = [studio.call_tool(Ref("tool", "s", "slow"), {"seconds": 30}) for _ in range(3)]
            await wait_until(lambda: all(handle.progress for handle in handles))
            handles[0].cancel()
            await handles[0].wait()

    with http_server() as url:
        watched(lambda: act(url))


async def test_what_is_shown_of_a_server_tells_no_secret() -> None:
    program = f"import sys; print('stray {SECRET}', flush=True); sys.stderr.write('bad token {SECRET}'); sys.exit(3)"

    config = stdio([RAW[0], "-c", program, SECRET], secrets=(SECRET,))
    working = stdio([*RAW, SECRET], "w", secrets=(SECRET,))
    async with opened(config, working) as studio:
        status, good = studio.manager.status("s"), studio.manager.status("w")
        assert status.state == "failed" and "bad token" in str(status.error)
        assert good.state == "ready" and good.steps
        tap = studio.manager.supervisor("s").tap
        shown = (status, str(status.error), status.error and status.error.hint, good, tap.stderr_lines)
        assert SECRET not in repr((*shown, tap.stray_lines))


async def test_a_server_that_floods_us_with_requests_and_reads_nothing_costs_little_memory() -> None:
    program = (
        "import sys, json\n"
        "line = sys.stdin.readline()\n"
        "while '\"initialize\"' not in line:\n"
        "    line = sys.stdin.readline()\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'result': {'protocolVersion': '2025-11-25',"
        " 'capabilities': {}, 'serverInfo': {'name': 'x', 'version': '1'}}}), flush=True)\n"
        "number = 0\n"
        "while True:\n"
        "    number += 1\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': number, 'method': 'ping' if number % 2 else 'roots/list'}))\n"
    )

    async with opened(stdio([RAW[0], "-c", program], era="legacy")) as studio:
        await wait_until(lambda: any("faster" in text for text in studio.manager.status("s").warnings))
        assert len(asyncio.all_tasks()) < DEFAULT.server_requests + 30, "no more than may be open"
