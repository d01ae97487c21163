"""Calls and notifications through the whole engine, beside a bare pipe and the SDK's client that do the same.

    python -m tests.bench.calls [--count 5000] [--rounds 5]

Prints CPU per call of this process (not of the server), calls a second with 32 in flight, and notifications a second,
as medians over rounds that alternate, with the ratio to the bare pipe; for calls also to the SDK's client.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp_studio.call.call import Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Config, ServerConfig, Settings
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio

SERVER = [sys.executable, "-m", "tests.bench.quick_server"]
FLIGHT = 32
Measured = tuple[float, float]
"""CPU microseconds and wall microseconds of one item."""
Found = dict[str, list[tuple[Measured, ...]]]
"""By what was done its rounds: of the pipe, of ours, and of the SDK where that did it, too."""


class Pipe:
    """JSON-RPC over a child's pipes and nothing else: the floor."""

    async def open(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *SERVER, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24
        )
        self.waiting: dict[int, asyncio.Future[object]] = {}
        self.next = self.heard = 0
        self.reading = asyncio.create_task(self._read())

    async def call(self, name: str, arguments: dict[str, object]) -> object:
        self.next += 1
        frame = {
            "jsonrpc": "2.0",
            "id": self.next,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        answer = self.waiting[self.next] = asyncio.get_running_loop().create_future()
        assert self.process.stdin
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        return await answer

    async def _read(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            message = json.loads(line)
            if "id" in message:
                self.waiting.pop(message["id"]).set_result(message["result"])
            else:
                self.heard += 1

    async def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        await self.process.wait()
        self.reading.cancel()


async def timed(count: int, work: Callable[[], Awaitable[None]]) -> Measured:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    return (time.process_time() - cpu) / count * 1e6, (time.perf_counter() - wall) / count * 1e6


def one_by_one(call: Callable[[], Awaitable[object]], count: int) -> Callable[[], Awaitable[None]]:
    async def work() -> None:
        for _ in range(count):
            await call()

    return work


def in_flight(call: Callable[[], Awaitable[object]], count: int) -> Callable[[], Awaitable[None]]:
    async def lane() -> None:
        for _ in range(count // FLIGHT):
            await call()

    async def work() -> None:
        await asyncio.gather(*(lane() for _ in range(FLIGHT)))

    return work


async def measure(count: int, rounds: int) -> Found:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    pipe = Pipe()
    await pipe.open()
    config = Config(Settings(), {"q": ServerConfig("q", command=SERVER[0], args=tuple(SERVER[1:]), era="legacy")})
    parameters = StdioServerParameters(command=SERVER[0], args=SERVER[1:])
    with tempfile.TemporaryDirectory() as folder:
        paths = Paths(*(Path(folder, name) for name in ("config", "state", "cache")))
        async with (
            Studio.open(config, paths, can_ask=True) as studio,
            stdio_client(parameters) as streams,
            ClientSession(*streams) as session,
        ):
            await session.initialize()
            await session.list_tools()  # else it would list them with the first call
            await studio.manager.settle("q")
            await studio.manager.listed("q")
            echo, flood = Ref("tool", "q", "echo"), Ref("tool", "q", "flood")

            async def ours() -> None:
                assert isinstance(await studio.call_tool(echo, {"text": "hello"}).wait(), Succeeded)

            async def bare() -> None:
                await pipe.call("echo", {"text": "hello"})

            async def sdk() -> None:
                await session.call_tool("echo", {"text": "hello"})

            found: Found = {"one by one": [], "32 in flight": [], "notifications": []}
            for _ in range(rounds):
                for name, shape in (("one by one", one_by_one), ("32 in flight", in_flight)):
                    found[name].append(tuple([await timed(count, shape(one, count)) for one in (bare, ours, sdk)]))
                found["notifications"].append((
                    await timed(count, one_by_one(lambda: pipe.call("flood", {"count": count}), 1)),
                    await timed(count, one_by_one(lambda: studio.call_tool(flood, {"count": count}).wait(), 1)),
                ))  # fmt: skip
    await pipe.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found = asyncio.run(measure(given.count, given.rounds))
    heads = ("pipe CPU", "ours CPU", "ratio", "pipe /s", "ours /s", "SDK CPU", "ours")
    print(" " * 14, "{:>9} {:>9} {:>6} {:>9} {:>9}   {:>9} {:>6}".format(*heads))
    for name, rounds in found.items():
        pipe, ours, *sdk = (statistics.median(cpu for cpu, _ in side) for side in zip(*rounds, strict=True))
        walls = (statistics.median(wall for _, wall in side) for side in zip(*rounds, strict=True))
        rates = " ".join(f"{1e6 / wall:9,.0f}" for wall in [*walls][:2])
        beside = "".join(f"   {one:7.0f}us {ours / one:5.2f}x" for one in sdk)
        print(f"{name:14} {pipe:7.0f}us {ours:7.0f}us {ours / pipe:5.1f}x {rates}{beside}")


if __name__ == "__main__":
    main()
