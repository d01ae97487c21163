"""Fifty servers at once: connecting them, having them idle, and a thousand calls in flight.

    python -m tests.bench.many_servers [--servers 50] [--at-once 4,8,16] [--rounds 3] [--idle 10]

Connecting is compared with the plain concurrent start of the same processes: their pipes, the handshake, one list. As
many remote servers, each of which takes a tenth of a second for an answer, are compared with one of them. The rounds
alternate, and medians are printed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

from mcp_studio.call.call import Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Config, ServerConfig, Settings
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from mcp_studio.transport.guard_program import descendants
from tests.servers.http_raw import RawServer, Reply, Request

SERVER = [sys.executable, "-m", "tests.bench.quick_server"]
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
CALLS, OVER = 1_000, 10


async def plain() -> asyncio.subprocess.Process:
    """One server, started and listed with nothing around it."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*SERVER, stdin=pipe, stdout=pipe)
    assert process.stdin and process.stdout
    for number, (method, params) in enumerate((("initialize", CLIENT), ("tools/list", {}))):
        frame: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(frame).encode() + b"\n")
        json.loads(await process.stdout.readline())
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    return process


async def plain_start(count: int) -> float:
    """Seconds for all of them at once."""
    began = time.perf_counter()
    processes = await asyncio.gather(*(plain() for _ in range(count)))
    took = time.perf_counter() - began
    for process in processes:
        process.kill()
        await process.wait()
    return took


@asynccontextmanager
async def connected(count: int, settings: Settings, url: str = "") -> AsyncGenerator[tuple[Studio, float]]:
    """A studio with so many servers, and how many seconds they took until all were listed."""
    names = [f"s{number}" for number in range(count)]
    program = {"url": url} if url else {"command": SERVER[0], "args": tuple(SERVER[1:])}
    servers = {name: ServerConfig(name, **program) for name in names}  # type: ignore[arg-type]
    paths = Paths.default({**os.environ, "MCP_STUDIO_HOME": tempfile.mkdtemp()})
    began = time.perf_counter()
    async with Studio.open(Config(settings, servers), paths, can_ask=False) as studio:
        for name in names:
            assert (await studio.manager.settle(name)).state == "ready"
            await studio.manager.listed(name)
        yield studio, time.perf_counter() - began


def memory(pids: Iterable[str | int] = ("self",), kind: str = "Rss") -> float:
    """Megabytes of processes (Linux); of the kind `Pss` what they share is split among them."""
    total = 0
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith(f"{kind}:"))
    return total / 1024


def keepers() -> list[int]:
    """The guard, and those by which it keeps servers: what runs its program below this process."""
    found: list[int] = []
    for pid in descendants(os.getpid()):
        with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            found += [pid] if b"guard_program" in file.read() else []
    return found


async def late(got: Request, reply: Reply) -> None:
    """A server of 2026-07-28 that is far away."""
    await asyncio.sleep(0.1)
    offer = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": CLIENT["clientInfo"]}
    await reply.result({"resultType": "complete", "tools": [], **offer})


async def remote(count: int, widths: list[int], rounds: int) -> None:
    """Print how long connecting takes over a network."""
    ours: dict[int, list[float]] = {width: [] for width in (0, *widths)}
    async with RawServer(late) as server:
        for _ in range(rounds):
            for width, times in ours.items():
                async with connected(count if width else 1, Settings(start_remote=width or 1), server.url) as (_, took):
                    times.append(took)
    floor = statistics.median(ours.pop(0))
    print(f"1 remote server, 100 ms an answer: {floor:.2f} s")
    for width, times in ours.items():
        took = statistics.median(times)
        print(f"{count} of them, {width} at a time: {took:.2f} s, ratio {took / floor:.2f}")


async def start(count: int, widths: list[int], rounds: int) -> None:
    """Print how long connecting takes."""
    bare: list[float] = []
    ours: dict[int, list[float]] = {width: [] for width in widths}
    for _ in range(rounds):
        bare.append(await plain_start(count))
        for width in widths:
            async with connected(count, Settings(start_processes=width)) as (_, took):
                ours[width].append(took)
    floor = statistics.median(bare)
    print(f"{count} servers, plain concurrent start: {floor:.2f} s")
    for width, times in ours.items():
        took = statistics.median(times)
        print(f"through the manager, {width} at a time: {took:.2f} s, ratio {took / floor:.2f}")


async def idle(count: int, seconds: float) -> None:
    """Print what that many cost while nothing happens."""
    before = memory()
    async with connected(count, Settings()) as (_, _took):
        await asyncio.sleep(1)
        cpu, began = time.process_time(), time.perf_counter()
        await asyncio.sleep(seconds)
        share = (time.process_time() - cpu) / (time.perf_counter() - began)
        ours, kept = memory() - before, memory(keepers(), "Pss")
        print(f"{count} idle servers: {share:.2%} of one CPU, {ours:.1f} MB here, {kept:.1f} MB of their keepers")


async def flight() -> None:
    """Print how long a thousand calls take that are all sent before the first is awaited."""
    async with connected(OVER, Settings()) as (studio, _):
        took, most = 0.0, 0
        for _ in range(2):  # the first time warms up
            began = time.perf_counter()
            calls = [studio.call_tool(Ref("tool", f"s{number % OVER}", "echo"), {}) for number in range(CALLS)]
            most = 0
            waiting = asyncio.gather(*(call.wait() for call in calls))
            while not waiting.done():
                most = max(most, len(studio.manager.running))
                await asyncio.sleep(0)
            took = time.perf_counter() - began
            assert all(isinstance(outcome, Succeeded) for outcome in await waiting)
        rate = f"{took:.2f} s, {CALLS / took:,.0f} a second"
        print(f"{CALLS:,} calls over {OVER} servers, up to {most:,} in flight: {rate}")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, default=50)
    parser.add_argument("--at-once", default="4,8,16", help="how many may be starting at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=float, default=10.0, help="seconds")
    options = parser.parse_args()
    widths = [int(width) for width in options.at_once.split(",")]
    asyncio.run(idle(options.servers, options.idle))  # first, while nothing has been allocated yet
    asyncio.run(start(options.servers, widths, options.rounds))
    asyncio.run(remote(options.servers, widths, options.rounds))
    asyncio.run(flight())


if __name__ == "__main__":
    main()
