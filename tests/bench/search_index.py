"""How soon an index answers, idle and while it takes up servers, and how late the loop is. Nothing is a verdict.

    python -m tests.bench.search_index [--data DIR] [--sizes 1000,10000] [--typed 300]

The tools are those of `tests.bench.search`. A person types questions letter by letter, 30 letters a second, first while
all servers come at once, then when nothing happens. `answer`: milliseconds from asking to the answer on the loop;
`found`: what of that was finding; `cpu`: CPU milliseconds of the whole process for one answer; `lag`: how late the loop
comes to what is due (a busy machine adds to that; `floor` is the same with nothing to do); `put`: CPU milliseconds of
the loop to hear of all servers; `again`: the same when nothing has changed. An answer has 15 hits, as many as the
palette shows, each with its reasons. Threads and garbage are seen to as in the studio.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
from pathlib import Path

from mcp_studio.search.engine import Listed
from mcp_studio.search.index import SearchIndex
from mcp_studio.search.method import Document
from tests.bench.search import DATA, catalogues, multiplied

EVERY = 1 / 30


def shown(values: list[float]) -> str:
    """The median, the 95th percentile and the most, in milliseconds."""
    found = sorted(values) or [0.0]
    return " / ".join(f"{1000 * found[min(len(found) - 1, int(len(found) * part))]:.1f}" for part in (0.5, 0.95, 1))


class Lag:
    """How late the loop is."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            self.late.append(time.perf_counter() - began - 0.005)

    def take(self) -> str:
        """What was measured since the last time."""
        late, self.late = self.late, []
        return shown(late)

    def end(self) -> None:
        """Measure no more."""
        self._task.cancel()


async def typed(index: SearchIndex, texts: list[str], most: int, *, busy: bool) -> None:
    """Type; while it is busy until there is nothing left to take up."""
    answers, finding, asked = list[float](), list[float](), 0
    began, cpu = time.perf_counter(), time.process_time()
    while asked < most or busy:
        text = texts[asked % len(texts)]
        at = time.perf_counter()
        found = await index.ask(text, typing=True, limit=15)
        answers.append(time.perf_counter() - at)
        finding.append(found.ms / 1000)
        asked += 1
        if busy and not found.pending:
            break
        await asyncio.sleep(max(0.0, EVERY - answers[-1]))
    took = time.perf_counter() - began
    cpu = 1000 * (time.process_time() - cpu) / asked
    print(
        f"  {'adding' if busy else 'idle':7} {asked:4} asked  answer {shown(answers)}  found {shown(finding)}  ", end=""
    )
    print(f"{took:.1f} s in all" if busy else f"cpu {cpu:.1f}")


async def measure(documents: list[Document], texts: list[str], most: int) -> None:
    """One size."""
    servers: dict[str, list[Document]] = {}
    for one in documents:
        servers.setdefault(one.ref.server, []).append(one)
    lag = Lag()
    await asyncio.sleep(1)
    print(f"{len(documents):,} tools of {len(servers):,} servers; ms: half / 95 % / most; floor {lag.take()}")
    index = SearchIndex(semantic=False)
    await index.ask("what has to be imported is")
    lag.take()
    for again in (False, True):
        at = time.thread_time()
        for name, listed in servers.items():
            index.put((name, "tool"), Listed(listed))
        print(f"  {'again' if again else 'put'} {1000 * (time.thread_time() - at):.1f}")
        await typed(index, texts, most, busy=True)
        print(f"  lag {lag.take()}")
    await typed(index, texts, most, busy=False)
    print(f"  lag {lag.take()}")
    index.close()
    lag.end()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--typed", type=int, default=300)
    given = parser.parse_args()
    tools, asked = catalogues(given.data if given.data.is_dir() else None)
    texts = [text[:end] for text in asked for end in range(1, min(len(text), 40) + 1)]
    gc.set_threshold(20_000, 20, 50)
    sys.setswitchinterval(0.001)
    for size in given.sizes.split(","):
        documents = multiplied(tools, int(size))
        gc.freeze()
        asyncio.run(measure(documents, texts, given.typed))


if __name__ == "__main__":
    main()
