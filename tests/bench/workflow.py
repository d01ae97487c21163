"""What a workflow costs over the bare calls: `python -m tests.bench.workflow [--durable]`.

CPU time of this process in microseconds a step, in one run; a server that answers from a template.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from mcp_studio.catalog.listing import Ref
from mcp_studio.studio import Studio
from mcp_studio.workflow import Run, Workflow
from mcp_studio.workflow.durable import DurableRuns
from tests.studio_support import opened, stdio

CALL = {"call": "s.echo", "arguments": {"n": "$iteration"}}


def loop(rounds: int, *steps: Any) -> Workflow:
    """So many rounds of some steps."""
    one = {"loop": f"iteration < {rounds}", "maximum": rounds, "keep": 10, "do": [*steps]}
    return Workflow.of({"name": "bench", "steps": [one]})


async def timed(work: Awaitable[Any], count: int) -> tuple[float, float]:
    """Microseconds of CPU and of the clock for each of so many."""
    cpu, wall = time.process_time(), time.perf_counter()
    await work
    return (time.process_time() - cpu) / count * 1e6, (time.perf_counter() - wall) / count * 1e6


async def ended(run: Run) -> None:
    await run.execute()
    assert run.state == "done", run.error


async def bare(studio: Studio, count: int) -> None:
    for at in range(count):
        await studio.caller.call_tool(Ref("tool", "s", "echo"), {"n": at}, origin="program", approved=True).wait()


def resident() -> float:
    """Megabytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def main() -> None:
    server = stdio([sys.executable, "-m", "tests.bench.quick_server"], trust=True)
    async with opened(server) as studio:
        await bare(studio, 200)
        for _ in range(3):
            calls = await timed(bare(studio, 1_000), 1_000)
            steps = await timed(ended(Run(loop(1_000, CALL), studio)), 1_000)
            alone = await timed(ended(Run(loop(1_000, {"set": {"n": "$iteration"}}), studio)), 1_000)
            print(f"bare call {calls[0]:6.0f} µs, in a loop {steps[0]:6.0f} µs (+{steps[0] - calls[0]:.0f}), "
                  f"a round with `set` alone {alone[0]:6.0f} µs")  # fmt: skip
        each = {"each": "range(1000)", "concurrency": 50, "do": [{"call": "s.echo", "arguments": {"n": "$item"}}]}
        many = await timed(ended(Run(Workflow.of({"name": "each", "steps": [each]}), studio)), 1_000)
        print(f"1,000 items, 50 at once: {many[1] / 1000:.2f} s, {many[0]:.0f} µs of CPU each")
        for rounds in (1_000, 10_000):
            before = resident()
            await ended(Run(loop(rounds, CALL), studio))
            print(f"{rounds:,} calls in a loop: {resident() - before:+.1f} MB resident, {resident():.1f} MB in all")
        tracemalloc.start()
        for rounds in (1_000, 10_000):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            await ended(Run(loop(rounds, {"set": {"n": "$iteration"}}), studio))
            print(f"{rounds:,} rounds: {(tracemalloc.get_traced_memory()[1] - before) / 1e6:.1f} MB more at most")
        tracemalloc.stop()
        if "--durable" in sys.argv:
            with tempfile.TemporaryDirectory() as folder:
                async with DurableRuns(studio, f"sqlite:///{Path(folder, 'runs.sqlite')}") as runs:
                    took = await timed(runs.run(loop(200, CALL), {}, os.urandom(4).hex()), 200)
                    print(f"a durable step: {took[1] / 1000:.1f} ms, {took[0] / 1000:.1f} ms of CPU")


asyncio.run(main())
