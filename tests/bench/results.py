"""What a large result costs the engine, beside framing it: reading the same line from the same server and no more.

    python -m tests.bench.results [--mb 50] [--kinds text,lines,json,structured] [--rounds 5] [--whole]

CPU of this process from the call to its outcome and to the end of what the trace does with it, as medians of rounds
that alternate. It fails where that is more than `MOST` times as much as framing, and a third.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

from mcp_studio.call.call import Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Config, ServerConfig, Settings
from mcp_studio.limits import DEFAULT
from mcp_studio.paths import Paths
from mcp_studio.protocol.lines import Line
from mcp_studio.studio import Studio
from mcp_studio.transport.stdio import LineReader
from tests.bench.bare_client import HELLO

SERVER = Path(__file__).with_name("large_server.py")
MOST, SLACK = 10, 1.3


class Framing:
    """Reads the lines of a server."""

    async def open(self, argv: list[str]) -> None:
        """Start it and greet it."""
        ours, theirs = os.pipe()
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=theirs)  # noqa: ASYNC220
        os.close(theirs)
        self.lines: asyncio.Queue[Line] = asyncio.Queue()
        self.reader = LineReader(ours, 1 << 30, self.lines.put_nowait)
        await self.ask("initialize", HELLO)

    async def ask(self, method: str, params: Mapping[str, object]) -> None:
        """Send a request and wait for the line that answers it."""
        assert self.process.stdin
        frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()
        await self.lines.get()

    def close(self) -> None:
        """End the server."""
        assert self.process.stdin
        self.reader.close()
        self.process.stdin.close()
        self.process.wait()


async def cpu(work: Callable[[], Awaitable[None]]) -> float:
    """Seconds of CPU of this process."""
    gc.collect()
    before = time.process_time()
    await work()
    return time.process_time() - before


async def measure(kinds: list[str], size: int, rounds: int, parts: bool) -> dict[str, list[tuple[float, float]]]:
    """Seconds of framing and of the engine, by kind."""
    argv = [sys.executable, str(SERVER), str(size)]
    limits = replace(DEFAULT, message=4 * size, values=size)
    config = Config(Settings(limits=limits), {"s": ServerConfig("s", command=argv[0], args=tuple(argv[1:]))})
    framing = Framing()
    await framing.open(argv)
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        paths = Paths(*(Path(folder, name) for name in ("config", "state", "cache")))
        async with Studio.open(config, paths, can_ask=True) as studio:
            await studio.manager.settle("s")
            await studio.manager.listed("s")

            async def call(kind: str) -> None:
                outcome = await studio.call_tool(Ref("tool", "s", kind), {}, parts=parts).wait()
                assert isinstance(outcome, Succeeded), outcome
                await studio.trace.body(studio.trace[-1 + len(studio.trace)])

            for _ in range(rounds):
                for kind in kinds:
                    floor = await cpu(lambda kind=kind: framing.ask("tools/call", {"name": kind, "arguments": {}}))
                    found[kind].append((floor, await cpu(lambda kind=kind: call(kind))))
    framing.close()
    return found


def main() -> None:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=float, default=50)
    parser.add_argument("--kinds", default="text,lines,json,structured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--whole", action="store_true", help="read large parts of results, as the interface does")
    options = parser.parse_args()
    found = asyncio.run(measure(options.kinds.split(","), int(options.mb * 1e6), options.rounds, not options.whole))
    worst = 0.0
    for kind, pairs in found.items():
        floor, ours = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
        worst = max(worst, ours / floor)
        times = f"framing {floor * 1000:5.0f} ms  ours {ours * 1000:5.0f} ms  {ours / floor:5.1f}x"
        print(f"{kind:11}{options.mb:>6g} MB  {times}")
    sys.exit(worst > MOST * SLACK)


if __name__ == "__main__":
    main()
