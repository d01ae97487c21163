"""What counting a trace costs: 1,000,000 entries at once, 20,000 a second live, and the statistics drawn from them.

    python -m tests.bench.trace_numbers

Prints CPU seconds, the longest look, and memory; asserts nothing.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable
from typing import cast

from mcp_studio.trace.message import Columns, Recording
from mcp_studio.trace.statistics import Numbers
from mcp_studio.tui.screens.statistics import figures_of, ordered, rows_of


class Grown:
    """Columns with calls in them."""

    def __init__(self, tools: int) -> None:
        self.columns = Columns()
        self._random = random.Random(1)
        self._tools = [self.columns.targets[f"tool{place}"] for place in range(tools)]
        self._servers = [self.columns.servers[f"server{place}"] for place in range(5)]
        self._method = self.columns.methods["tools/call"]
        self._time = 1.7e9

    @property
    def recording(self) -> Recording:
        """It, for those who want a whole recording."""
        return cast("Recording", self)

    def grow(self, calls: int, pause: float = 0.001) -> None:
        """Add calls with their answers."""
        columns, pick = self.columns, self._random
        for _ in range(calls):
            self._time += pause
            server, tool = pick.choice(self._servers), pick.choice(self._tools)
            took, failed = pick.lognormvariate(2.5, 1) / 1000, pick.random() < 0.02
            number = columns.first + len(columns)
            columns.time.extend((self._time, self._time + took))
            columns.size.extend((200, 400))
            columns.server.extend((server, server))
            columns.method.extend((self._method, self._method))
            columns.target.extend((tool, tool))
            columns.kind.extend((0, 2 | 1 << 4))
            columns.flags.extend((0, 0))
            columns.outcome.extend((3, 3) if failed else (2, 2))
            columns.link.extend((number + 1, number))
            columns.exchange.extend((0, 0))


def at_once(tools: int) -> None:
    """1,000,000 entries in slices."""
    grown = Grown(tools)
    grown.grow(500_000)
    tracemalloc.start()
    kept = Numbers(grown.recording)
    kept.look(60)
    memory = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    numbers, looks, longest, began = Numbers(grown.recording), 0, 0.0, time.process_time()
    done = False
    while not done:
        at = time.process_time()
        done = numbers.look()
        looks, longest = looks + 1, max(longest, time.process_time() - at)
    took = time.process_time() - began
    print(f"1,000,000 entries, {len(numbers.targets):,} tools: {took:.2f} s CPU, {looks} looks, "
          f"longest {longest * 1000:.0f} ms, {memory / 1e6:.1f} MB kept")  # fmt: skip
    at = time.process_time()
    rows = ordered(rows_of(numbers, "calls"), "p95", False)
    drawn = time.process_time() - at
    screen = cost_of(lambda: [figures_of(row.tally) for row in rows[:40]])
    print(f"  {len(rows):,} rows sorted by p95: {drawn * 1000:.0f} ms, figures of 40 of them: {screen:.1f} ms")


def cost_of(what: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    began = time.process_time()
    what()
    return (time.process_time() - began) * 1000


def live(seconds: int) -> None:
    """20,000 messages a second, looked at twice a second."""
    grown = Grown(30)
    numbers, spent = Numbers(grown.recording), 0.0
    for _ in range(seconds * 2):
        grown.grow(5_000, 0.0001)
        at = time.process_time()
        while not numbers.look():
            pass
        spent += time.process_time() - at
    print(f"20,000 messages a second: {spent / seconds * 1000:.0f} ms CPU a second")


if __name__ == "__main__":
    at_once(6)
    at_once(200)
    live(5)
