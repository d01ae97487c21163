"""Kills the preferred member of a group under its calls, again and again, and counts what became of them.

    python -m tests.bench.failover [--kills 200]

It fails where a call that may move was lost, or one that may not was sent twice.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
from contextlib import suppress

from mcp_studio.call.call import Lost, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import loads
from tests.studio_support import opened, stdio
from tests.support import python_server

RAW = python_server("raw_server")


async def measure(kills: int) -> bool:
    """Whether all went as it should."""
    members = [stdio(RAW, name, group="g", priority=number, trust=True) for number, name in enumerate(("b", "a"))]
    lost = moved = twice = other = 0
    chance = random.Random(1)
    async with opened(*members) as studio:
        for number in range(kills):
            studio.manager.start("a")
            await studio.manager.settle("a")
            pid, first = studio.manager.status("a").pid, studio.trace.total + 1
            if number % 2:
                os.kill(pid, signal.SIGSTOP)  # it has the calls, and answers none
            safe = studio.call_tool(Ref("tool", "a", "echo"), {"text": f"safe {number}"}, approved=True)
            unsafe = studio.call_tool(Ref("tool", "a", "wait"), {"seconds": 0.05}, approved=True)
            await asyncio.sleep(chance.random() * 0.03)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            one, two = await asyncio.wait_for(asyncio.gather(safe.wait(), unsafe.wait()), 60)
            lost += not isinstance(one, Succeeded)
            moved += bool(safe.tried)
            other += not isinstance(two, (Succeeded, Lost))
            sent = [
                loads(entry.body)["params"]["name"]  # type: ignore[index, call-overload]
                for entry in studio.trace
                if entry.number >= first and entry.kind == "request" and entry.method == "tools/call"
            ]
            twice += sent.count("wait") > 1
    print(f"{kills} kills: {moved} calls moved, {lost} that may move were lost, {twice} that may not were sent twice")
    return not (lost or twice or other)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    os.environ["MCP_STUDIO_HOME"] = tempfile.mkdtemp()
    sys.exit(not asyncio.run(measure(parser.parse_args().kills)))


if __name__ == "__main__":
    main()
