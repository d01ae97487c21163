"""How long the registry takes at 10,000 tools: a table in milliseconds. Nothing is a verdict.

    python -m tests.bench.registry [--tools 10000] [--questions 300] [--storage FILE|ADDRESS]

The tools are those of tests.bench.search. `search` is what a program on a loop waits for, the first question apart;
`CPU` is what the whole process used meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp_studio.registry.record import ToolRecord
from mcp_studio.registry.registry import ToolRegistry
from mcp_studio.registry.storage import open_storage
from tests.bench.search import DATA, catalogues


def records(tools: list[dict[str, Any]], count: int) -> list[ToolRecord]:
    """So many tools, a hundred to a server."""
    found: list[ToolRecord] = []
    for number in range(count):
        tool = tools[number % len(tools)]
        schema = tool.get("input_schema") or tool.get("inputSchema") or {}
        server = f"server{number // 100}"
        name = f"{server}.{tool['name']}_{number // len(tools)}" if number >= len(tools) else f"{server}.{tool['name']}"
        found.append(ToolRecord(name, server, tool.get("description") or "", input_schema=schema))
    return found


def took(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def stored(address: str, many: list[ToolRecord]) -> None:
    storage = open_storage(address)
    saving, one = took(lambda: storage.save(many)), took(lambda: storage.save(many[:1]))
    loading = took(lambda: open_storage(address).load_all())
    kind = Path(address).suffix or storage.place
    print(f"{kind:<17}  save all {saving:6.0f}  one {one:6.1f}  load {loading:6.0f}")


async def questions(registry: ToolRegistry, asked: list[str], method: str) -> None:
    began = time.perf_counter()
    await registry.asearch(asked[0], method)
    first, times, cpu = (time.perf_counter() - began) * 1000, list[float](), time.process_time()
    for question in asked:
        began = time.perf_counter()
        await registry.asearch(question, method)
        times.append((time.perf_counter() - began) * 1000)
    cpu, times = (time.process_time() - cpu) * 1000 / len(asked), sorted(times)
    p50, p95 = (times[int(len(times) * share)] for share in (0.5, 0.95))
    print(f"search {method:<10}  p50 {p50:6.2f}  p95 {p95:6.2f}  CPU {cpu:6.2f}  first {first:8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--storage", default="")
    options = parser.parse_args()
    tools, asked = catalogues(DATA if DATA.is_dir() else None)
    many = records(tools, options.tools)
    with TemporaryDirectory() as folder:
        addresses = [options.storage] if options.storage else [f"{folder}/r.json", f"{folder}/r.sqlite"]
        for address in addresses:
            stored(address, many)
        registry = ToolRegistry(addresses[0])
        for method in ("bm25", "auto", "regex"):
            usable = [one for one in asked if method != "regex" or len(one) <= 200]  # a pattern may have no more
            asyncio.run(questions(registry, usable[: options.questions], method))
        registry.close()


if __name__ == "__main__":
    main()
