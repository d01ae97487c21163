"""How fast queries find entries in a session on disk, and how long the event loop has to wait meanwhile.

    python -m tests.bench.trace_search [--entries 1000000] [--file PATH] [QUERY…]

`first` is the time to the first row, `all` until the oldest entry has been looked at, both as a panel sees it that asks
30 times a second; `stall` is the longest that the loop had to wait, `bare` the same without a search. With `--file` the
session is kept for the next time. Nothing here is a verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from mcp_studio.trace.disk.format import Batch
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.message import DIRECTIONS, KINDS
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import Search
from tests.trace.disk.batches import batch

QUERIES = ("needle", "zebra", "server:s7 kind:result", "status:error >500ms", "since:1h -server:s1", "tool:tool_3",
           "method:tools/call needle", '"id":777777', "/ne{2}dle/", "/needle [0-9]+ x/i", "é", "not zebra")  # fmt: skip
PAGE = 5_000
KIND = tuple(DIRECTIONS.index(way) << 4 | KINDS.index(kind) for way, kind in (("out", "request"), ("in", "result")))
NAMES = (*(("server", 2 + n, f"s{n}") for n in range(10)), ("method", 2, "tools/call"),
         *(("target", 2 + n, f"tool_{n}") for n in range(50)))  # fmt: skip


def batches(entries: int) -> Iterator[Batch]:
    """Requests and their answers, of ten servers, 225 bytes on average, some with a word worth finding."""
    chance = random.Random(1)
    words = [f"word{n} thing{n * 7}" for n in range(500)]
    for first in range(1, entries + 1, PAGE):
        numbers = range(first, min(first + PAGE, entries + 1))
        bodies: list[bytes] = []
        for number in numbers:
            text = " ".join(chance.choices(words, k=8)) + (" needle 7 X" if chance.random() < 0.001 else "")
            what = b'"method":"tools/call","params"' if number % 2 else b'"result"'
            bodies.append(
                b'{"jsonrpc":"2.0","id":%d,%b:{"text":"%b"}}' % (number - 1 + number % 2, what, text.encode())
            )
        yield batch(
            first, bodies, names=NAMES if first == 1 else (), server=[2 + n // 2 % 10 for n in numbers],
            kind=[KIND[0] if n % 2 else KIND[1] for n in numbers], target=[2 + n // 2 % 50 for n in numbers],
            link=[n + 1 if n % 2 else n - 1 for n in numbers],
            time=[time.time() - (entries - n) * 0.01 + (0.6 if n % 200 == 0 else 0) for n in numbers],
            outcome=[2 + (n // 2 % 100 == 0) * 2 for n in numbers],
        )  # fmt: skip


def written(folder: Path, entries: int) -> Path:
    writer = Writer(folder, "bench", max_bytes=1 << 34, queue_bytes=1 << 30)
    for one in batches(entries):
        writer.put(one)
    if not writer.close(120) or writer.path is None:
        raise SystemExit(f"The session was not written: {writer.failed}")
    return writer.path


class Stalls:
    """The longest that the loop was away, in seconds."""

    worst = 0.0

    async def watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.worst = max(self.worst, time.perf_counter() - began - 0.001)


async def measured(path: Path, queries: list[str]) -> None:
    session = await asyncio.to_thread(Session, path)
    stalls = Stalls()
    watching = asyncio.create_task(stalls.watch())
    await asyncio.sleep(1)
    size = await asyncio.to_thread(os.path.getsize, path)
    print(f"{len(session):,} entries, {size / 1e6:.0f} MB on disk, bare {stalls.worst * 1000:.0f} ms\n")
    print(f"{'query':<28}{'found':>9}{'first ms':>10}{'all ms':>9}{'stall ms':>10}{'CPU ms':>9}")
    for text in queries:
        await asyncio.sleep(0.2)
        stalls.worst, first = 0.0, 0.0
        began, cpu = time.perf_counter(), time.process_time()
        search = Search(session, parse(text))
        while not search.pull():
            if not first and len(search.found):
                first = time.perf_counter() - began
            await asyncio.sleep(1 / 30)
        took, used = time.perf_counter() - began, time.process_time() - cpu
        search.cancel()
        await asyncio.sleep(0.01)
        times = f"{(first or took) * 1000:>10.0f}{took * 1000:>9.0f}{stalls.worst * 1000:>10.0f}{used * 1000:>9.0f}"
        print(f"{text:<28}{len(search.found):>9,}{times}")
    watching.cancel()
    session.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queries", nargs="*", default=QUERIES)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path: Path = given.file or Path(folder) / "none"
        if not path.exists():
            made = written(Path(folder), given.entries)
            path = made.rename(given.file) if given.file else made
        asyncio.run(measured(path, list(given.queries)))


if __name__ == "__main__":
    main()
