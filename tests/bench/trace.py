"""What the trace costs: per message, per call, per 100,000 messages of memory, and per key while messages flow.

    python -m tests.bench.trace [ingest] [memory] [panel] [--rate 20000] [--seconds 60] [--count 100000] [--rounds 3]

Everything has its floor in the same run: reading the JSON of the same frames, a screen with nothing flowing. CPU is
that of the whole process, with the thread that writes to the disk. Nothing here is a verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.redact import Redactor
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from tests.bench.widgets import CLEAR, FAST, line
from tests.support import wait_until
from tests.terminal import Terminal

NOTICE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"line %d"}}'
ASK = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}'
ANSWER = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"ok"}]}}'
SLICE = 500
"""Messages between which the event loop gets its turn."""
LETTER = "Ω"
"""A key that nothing else on the screen looks like."""
PAUSE = 0.05


@contextmanager
def traced(kind: str) -> Generator[tuple[TraceStore, ServerTap, Writer | None]]:
    """A trace in memory, or with a `disk`."""
    redactor = Redactor()
    with tempfile.TemporaryDirectory() as folder:
        disk = Writer(Path(folder), "bench", max_bytes=8 << 30) if kind == "disk" else None
        store = TraceStore(redactor, disk=disk)
        yield store, ServerTap(store, redactor, "bench"), disk


async def take(tap: ServerTap, frames: list[bytes]) -> None:
    """Notifications come in."""
    for number, frame in enumerate(frames):
        tap.received(frame)
        tap.understood(parse(frame))
        if number % SLICE == 0:
            await asyncio.sleep(0)


async def calls(tap: ServerTap, count: int) -> None:
    """Calls go out, their answers come in."""
    for number in range(count):
        frame, answer = ASK % number, ANSWER % number
        tap.expect(Outgoing(frame, "request", number, "tools/call", "echo"))
        tap.sent(frame)
        tap.received(answer)
        tap.understood(parse(answer))
        tap.matched(number)
        if number % SLICE == 0:
            await asyncio.sleep(0)


def cost(count: int, work: Callable[[], object]) -> float:
    """CPU microseconds of one item."""
    gc.collect()
    began = time.process_time()
    work()
    return (time.process_time() - began) / count * 1e6


def traced_cost(kind: str, count: int, work: Callable[[ServerTap], object]) -> float:
    """The same of something that a tap is told, with all of it on disk where there is one."""

    async def go() -> float:
        with traced(kind) as (store, tap, _):
            gc.collect()
            began = time.process_time()
            await work(tap)  # type: ignore[misc]
            await store.close(60)
            return (time.process_time() - began) / count * 1e6

    return asyncio.run(go())


def ingest(options: argparse.Namespace) -> None:
    """Messages through tap, lint and trace; reading their JSON is the floor."""
    count = options.count
    frames = [NOTICE % number for number in range(count)]
    answers = [ANSWER % number for number in range(count // 2)]
    rows: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        found = {
            "notification: json alone": cost(count, lambda: [json.loads(frame) for frame in frames]),
            "notification: trace in memory": traced_cost("memory", count, lambda tap: take(tap, frames)),
            "notification: trace on disk": traced_cost("disk", count, lambda tap: take(tap, frames)),
            "call: json of the answer alone": cost(count // 2, lambda: [json.loads(frame) for frame in answers]),
            "call: trace in memory": traced_cost("memory", count // 2, lambda tap: calls(tap, count // 2)),
            "call: trace on disk": traced_cost("disk", count // 2, lambda tap: calls(tap, count // 2)),
        }
        for name, value in found.items():
            rows.setdefault(name, []).append(value)
    floor = 0.0
    for name, values in rows.items():
        value = statistics.median(values)
        floor = value if "alone" in name else floor
        print(f"{name:34}{value:8.2f} us CPU{1e6 / value:12,.0f} /s{value / floor:8.2f} x floor", flush=True)


def memory(_options: argparse.Namespace) -> None:
    """What a million messages leave in memory."""

    async def go() -> None:
        with traced("disk") as (store, tap, disk):
            before, first = 0.0, 0
            for turn in range(101):
                await take(tap, [NOTICE % number for number in range(10_000)])
                # As in life the disk keeps up.
                await wait_until(lambda: not disk or disk.written > store.total - 2_000)
                if turn == 10:
                    before, first = resident(), store.total
            grown = resident() - before
            print(f"{store.total:,} messages: {grown:.1f} MB more than {first:,}, "
                  f"{grown / (store.total - first) * 1e5:.2f} MB per 100,000")  # fmt: skip
            await store.close(60)

    asyncio.run(go())


def resident() -> float:
    """Memory of this process in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Flooded:
    """The studio on a terminal, connected to a server that sends so many notifications a second."""

    def __init__(self, rate: int, home: str) -> None:
        server = [sys.executable, "-m", "tests.bench.quick_server", *([str(rate)] if rate else [])]
        argv = [sys.executable, "-m", "mcp_studio", "--", *server]
        self.terminal = Terminal(argv, 140, 40, {**FAST, "MCP_STUDIO_HOME": home})
        self.terminal.start()
        self.terminal.until(r"●1\b.*\d tools")
        self.typed = 0
        self.terminal.press(b"2/")
        self.rest(2.0)

    def rest(self, seconds: float) -> None:
        """Read what comes, for some time."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.terminal.pump(0.01)
        del self.terminal.chunks[:]

    def key(self) -> float:
        """Type one more letter into a filter: seconds until it is seen."""
        self.typed += 1
        wanted, tail = (LETTER * self.typed).encode(), b""
        began = time.perf_counter()
        self.terminal.press(LETTER.encode())
        while time.perf_counter() < began + 10:
            self.terminal.pump(0.002)
            for when, data in self.terminal.chunks:
                tail = tail[-4096:] + data
                if wanted in tail:
                    del self.terminal.chunks[:]
                    if self.typed == 8:
                        self.terminal.press(CLEAR)
                        self.typed = 0
                    return when + self.terminal.began - began
            del self.terminal.chunks[:]
        raise TimeoutError("a key was not answered")


def panel(options: argparse.Namespace) -> None:
    """Keys in the real program while its trace panel follows; with nothing flowing it is the floor."""
    floor: list[float] = []
    for rate, seconds in ((0, min(5.0, options.seconds)), (options.rate, options.seconds)):
        with tempfile.TemporaryDirectory() as home:
            flooded = Flooded(rate, home)
            keys: list[float] = []
            memories = [flooded.terminal.memory()]
            before, began = flooded.terminal.cpu(), time.perf_counter()
            while time.perf_counter() < began + seconds:
                keys.append(flooded.key())
                flooded.rest(PAUSE)
                if len(keys) % 20 == 0:
                    memories.append(flooded.terminal.memory())
            cpu = (flooded.terminal.cpu() - before) / (time.perf_counter() - began)
            line(f"{rate:,} messages/s: key", keys, floor or None)
            floor = floor or keys
            flooded.terminal.quit()
            kept = lines_of(Path(home))
            half = memories[len(memories) // 2]
            print(f"{'':34}CPU {cpu:.0%}, memory {memories[0]:.0f}, {half:.0f}, {memories[-1]:.0f} MB")
            if kept:
                missing = kept[-1] - kept[0] + 1 - len(kept)
                print(f"{'':34}{len(kept):,} messages recorded, {missing:,} missing", flush=True)


def lines_of(home: Path) -> list[int]:
    """The numbers of the messages that were recorded, in their order."""
    session = Session(next(home.glob("**/*.trace")))
    blocks = list(session.reader().blocks(session.total + 1))
    session.close()
    return [int(text) for block in reversed(blocks) for text in re.findall(rb'"line (\d+)"', b"\n".join(block.bodies))]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["ingest", "memory", "panel"])
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    began = time.perf_counter()
    sum(range(3_000_000))
    print(f"a plain loop: {(time.perf_counter() - began) * 1000:.0f} ms, load {os.getloadavg()[0]:.1f}")
    for what in options.what:
        {"ingest": ingest, "memory": memory, "panel": panel}[what](options)


if __name__ == "__main__":
    main()
