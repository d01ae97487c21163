"""How fast a session is written to disk, opened, and looked through for a plain text, and how long the loop waits.

    python -m tests.bench.trace_disk [--entries 1000000] [--rounds 3]

`write` hands over everything at once, so it is what the writer's thread can do; `rate` hands over 20,000 entries a
second in four steps for three seconds and tells the processor's share. `open` is `Session`. `first` and `all` are
the times to the first block with the text and to the end of `reader().blocks()` in a thread; `stall` is the longest
that an event loop had to wait meanwhile, `bare` the same without. Nothing here is a verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.writer import Writer
from tests.bench.trace_search import batches

MB = 1 << 20
EVERYTHING = 1 << 40


def write(folder: Path, entries: int) -> Path:
    """As fast as it goes."""
    given = list(batches(entries))
    writer = Writer(folder, "bench", max_bytes=EVERYTHING, queue_bytes=EVERYTHING)
    wall, cpu = time.perf_counter(), time.process_time()
    for batch in given:
        writer.put(batch)
    while writer.written < entries:
        time.sleep(0.001)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    closing = time.perf_counter()
    assert writer.close(60) and writer.written == entries and writer.path, writer.failed
    closing = time.perf_counter() - closing
    size = writer.path.stat().st_size / MB
    print(f"write   {entries / wall:>12,.0f} entries/s, {cpu / wall:.0%} CPU, closed in {closing:.3f} s, {size:.0f} MB")
    return writer.path


def rate(folder: Path) -> None:
    """At a steady rate."""
    steps = list(islice(batches(60_000), 12))
    writer = Writer(folder, "bench", max_bytes=EVERYTHING)
    wall, cpu = time.perf_counter(), time.process_time()
    slowest = 0.0
    for batch in steps:
        began = time.perf_counter()
        writer.put(batch)
        slowest = max(slowest, time.perf_counter() - began)
        time.sleep(0.25)
    share = (time.process_time() - cpu) / (time.perf_counter() - wall)
    assert writer.close(60) and not writer.lost
    print(f"rate    20,000 entries/s at {share:.1%} CPU, the slowest `put` took {slowest * 1e6:.0f} µs")


async def stall(work: Callable[[], object]) -> float:
    """The longest that the loop waited while a thread worked, in seconds."""
    task = asyncio.create_task(asyncio.to_thread(work))
    longest, last = 0.0, time.perf_counter()
    while not task.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last - 0.001), now
    return longest


def search(session: Session, needle: bytes) -> tuple[float, float, int]:
    """Seconds to the first block with it and to the end, and how often it is there."""
    began, first, count = time.perf_counter(), 0.0, 0
    reader = session.reader()
    for block in reader.blocks(session.total + 1):
        found = sum(body.count(needle) for body in block.bodies)
        first = first or (time.perf_counter() - began if found else 0.0)
        count += found
    reader.close()
    return first, time.perf_counter() - began, count


def main() -> None:
    """Everything once, reading several times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write(folder, options.entries)
        rate(folder)
        bare = asyncio.run(stall(lambda: time.sleep(0.5)))
        for _ in range(options.rounds):
            opened = list[Session]()
            began = time.perf_counter()
            waited = asyncio.run(stall(lambda: opened.append(Session(path))))  # noqa: B023
            print(
                f"open    {time.perf_counter() - began:.3f} s, stall {waited * 1000:.1f} ms, bare {bare * 1000:.1f} ms"
            )
            answers = list[tuple[float, float, int]]()
            waited = asyncio.run(stall(lambda: answers.append(search(opened[0], b"needle"))))  # noqa: B023
            first, whole, count = answers[0]
            print(
                f"search  first {first * 1000:.1f} ms, all {whole:.3f} s, {count} found, stall {waited * 1000:.1f} ms"
            )
            opened[0].close()


if __name__ == "__main__":
    main()
