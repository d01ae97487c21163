"""The gateway beside a direct connection: time of a call, 50 clients at once, memory for each of them.

    python -m tests.bench.gateway [--rounds 5] [--calls 200] [--clients 50]

Both ways go to the same server: tests/servers/raw_server.py, which needs next to no time itself, less than the SDK's
server side alone takes in the gateway; sdk_everything, whose `echo` is on the SDK as most servers are;
and the demo server. Rounds are interleaved; figures are medians.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.gateway.kit import Served, argv, configured, environment, on_http, raw, to_http
from tests.support import ROOT
from tests.support_servers import demo_stdio

TOOLS = {"raw": ("echo", {"text": "x"}), "sdk": ("echo", {"text": "x"}), "demo": ("list_books", {})}


def _stdio(command: list[str]) -> Client:
    started = StdioServerParameters(command=command[0], args=command[1:], env=environment(), cwd=str(ROOT))
    return Client(stdio_client(started))


async def _calls(client: Client, tool: str, arguments: dict[str, str], count: int) -> tuple[float, float]:
    """The median and the best milliseconds of a call: the best is what a busy machine spoils least."""
    times = list[float]()
    for _ in range(count):
        began = time.perf_counter()
        await client.call_tool(tool, arguments)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times), min(times)


async def latency(home: Path, rounds: int, calls: int) -> None:
    servers: dict[str, Any] = {"raw": raw("raw_server"), "sdk": raw("sdk_everything"), "demo": demo_stdio()}
    gateway = argv(configured('mode = "all"\ncalls = 0', home=home, **servers))
    async with AsyncExitStack() as stack:
        behind = await stack.enter_async_context(_stdio(gateway))
        await behind.list_tools()
        for name, (tool, arguments) in TOOLS.items():
            direct = await stack.enter_async_context(_stdio(servers[name]))
            rows = list[tuple[float, ...]]()
            for _ in range(rounds):
                one = await _calls(direct, tool, arguments, calls)
                two = await _calls(behind, f"mcp__{name}__{tool}", arguments, calls)
                rows.append((*one, *two, two[0] / one[0]))
            median, best, through, best_through, ratio = (
                statistics.median(column) for column in zip(*rows, strict=True)
            )
            print(
                f"{name:5} direct {median:6.2f} ms, best {best:6.2f}   gateway {through:6.2f} ms, best "
                f"{best_through:6.2f}   {ratio:4.2f} times, best {best_through / best:4.2f}"
            )


def _memory(process: int) -> float:
    """Megabytes of one process alone."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _processor(process: int) -> float:
    """Milliseconds of processor time that one process has used."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


async def _serve(served: Served, clients: int, calls: int, era: str) -> None:
    async with AsyncExitStack() as stack:
        before = _memory(served.process.pid)
        connected = [await stack.enter_async_context(to_http(served, era)) for _ in range(clients)]
        for one in connected:
            await one.call_tool("mcp__raw__echo", {"text": "x"})
        each = (_memory(served.process.pid) - before) / clients
        began, used = time.perf_counter(), _processor(served.process.pid)
        found = await asyncio.gather(*(_calls(one, "mcp__raw__echo", {"text": "x"}, calls) for one in connected))
        seconds, medians = time.perf_counter() - began, [median for median, _ in found]
        rate, used = clients * calls / seconds, (_processor(served.process.pid) - used) / clients / calls
        print(
            f"{era:7} {clients} clients: {rate:6.0f} calls/s, median {statistics.median(medians):6.1f} ms, "
            f"slowest client {max(medians):6.1f} ms, {used:.2f} ms CPU a call, {each * 1024:5.0f} KB each"
        )  # fmt: skip


async def crowd(home: Path, clients: int) -> None:
    with on_http(configured('mode = "all"\ncalls = 0', home=home, raw=raw("raw_server"))) as served:
        async with to_http(served) as first:
            await first.list_tools()
        for era in ("legacy", "auto"):
            await _serve(served, clients, 10, era)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--clients", type=int, default=50)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(latency(Path(folder), given.rounds, given.calls))
        asyncio.run(crowd(Path(folder), given.clients))


if __name__ == "__main__":
    main()
