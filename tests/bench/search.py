"""How long the instant ways of searching take, and how much memory: a table, in CPU milliseconds. Nothing is a verdict.

    python -m tests.bench.search [--data DIR] [--sizes 1000,10000,100000] [--methods bm25,substring,regex,okapi]

The tools are those of the catalogues in DIR (NAME/tools.jsonl, asked NAME/queries.jsonl), again and again on other
servers until there are enough; without DIR made-up ones. `build`: seconds to take them all up. `query`: whole
questions; `typed`: the same cut off somewhere, while somebody types; `scoped`: limited to five servers and tools.
`add`, `remove`: a server of 20 tools, `then`: the first question after that. `memory`: MB that the process grew by
beyond the tools, in a process of its own, numpy and all words included.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate, count
from pathlib import Path
from statistics import median
from typing import Any

from mcp_studio.catalog.listing import Ref
from mcp_studio.search.method import Document, Method, Query, Scope, SearchProblem
from tests.support import ROOT

DATA = ROOT.parent / "shared" / "data" / "search"
METHODS = ("bm25", "substring", "regex", "okapi")
HEAD = ("method", "tools", "build s", "query p50", "p95", "typed p50", "p95", "scoped p50", "p95", "add", "remove",
        "then", "memory MB")  # fmt: skip
LONGEST = 20.0
"""Seconds of CPU for the questions of one cell; there are fewer of them where one takes long."""
Tool = dict[str, Any]
KEYS = {"name": "name", "description": "description", "inputSchema": "input_schema"}


def catalogues(data: Path | None) -> tuple[list[Tool], list[str]]:
    """Tools, and questions about them."""
    files = sorted(data.glob("*/tools.jsonl")) if data is not None else []
    if not files:
        return made_up()
    tools = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    asked = [
        json.loads(line)["query"]
        for file in files
        for line in file.with_name("queries.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    random.Random(7).shuffle(asked)
    return tools, asked


def made_up(size: int = 5_000) -> tuple[list[Tool], list[str]]:
    """Tools in a language of 6,000 words, a few of them in every sentence and most of them rare."""
    chance = random.Random(7)
    parts = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(chance.choices(parts, k=chance.randint(1, 4))) for _ in range(6_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))

    def text(length: int, between: str = " ") -> str:
        return between.join(chance.choices(words, cum_weights=weights, k=length))

    tools: list[Tool] = []
    for number in range(size):
        properties = {text(2, "_"): {"type": "string", "description": text(8)} for _ in range(chance.randint(0, 7))}
        schema = {"type": "object", "properties": properties}
        tools.append(
            {"server": f"{words[number // 20]}", "name": f"{text(3, '_')}_{number}", "description": text(30),
             "input_schema": schema}
        )  # fmt: skip
    return tools, [text(chance.randint(1, 9)) for _ in range(500)]


def multiplied(tools: list[Tool], size: int) -> list[Document]:
    """So many documents; after the first round the servers have other names."""
    random.Random(3).shuffle(tools)
    raws = [
        {"name": one["name"], "description": one["description"], "inputSchema": one["input_schema"]} for one in tools
    ]
    found: dict[Ref, Document] = {}
    for again in count():
        for one, raw in zip(tools, raws, strict=True):
            ref = Ref("tool", f"{one['server']} {again}" if again else one["server"], one["name"])
            found.setdefault(ref, Document(ref, raw))
            if len(found) == size:
                return list(found.values())
    raise AssertionError


def resident() -> float:
    """MB of memory of this process."""
    gc.collect()
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def cpu(work: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def asked_of(method: Method, query: Query) -> None:
    """Ask; a pattern that is given up was asked too."""
    with suppress(SearchProblem):
        method.search(query)


def spread(method: Method, queries: Iterator[Query]) -> list[float]:
    """p50 and p95 of what questions take."""
    each: list[float] = []
    for query in queries:
        each.append(cpu(lambda query=query: asked_of(method, query)))
        if sum(each) > LONGEST * 1000:
            break
    each.sort()
    return [each[len(each) // 2], each[int(len(each) * 0.95)]]


def pattern(text: str) -> str:
    """Any of the first words, as a regular expression."""
    return "|".join(re.findall(r"\w+", text)[:4])[:100]


def measured(name: str, size: int, given: tuple[list[Tool], list[str]]) -> list[float]:
    """One row, after the method and the size."""
    tools, asked = given
    documents = multiplied(tools, size + 400)
    server = iter(range(20))
    extra = [
        [Document(Ref("tool", f"extra {number}", one.ref.name), one.raw) for one in documents[start : start + 20]]
        for number, start in zip(server, range(size, size + 400, 20), strict=False)
    ]
    del documents[size:]
    before = resident()
    from tests.bench.search_engine import filled, made

    method = made(name)
    row = [cpu(lambda: filled(method, documents)) / 1000]
    asked = [pattern(text) for text in asked[:500]] if name == "regex" else asked[:500]
    chance = random.Random(5)
    servers = frozenset(one.ref.server for one in documents[:5])
    row += spread(method, (Query(text) for text in asked))
    row += spread(method, (Query(text[: chance.randint(1, 25)], typing=True) for text in asked))
    row += spread(method, (Query(text, scope=Scope(servers, frozenset(("tool",)))) for text in asked))
    memory = resident() - before
    steps: list[tuple[float, ...]] = []
    for batch in extra:
        added, asked_then = cpu(lambda b=batch: method.index(b)), cpu(lambda: asked_of(method, Query(asked[0])))
        steps.append((added, cpu(lambda b=batch: method.remove([one.ref for one in b])), asked_then))
        if sum(map(sum, steps)) > LONGEST * 1000:
            break
    return [*row, *(median(step) for step in zip(*steps, strict=True)), memory]


def main() -> None:
    """Print the table; each row comes from a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA if DATA.is_dir() else None)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--row", action="store_true", help="print one row as JSON")
    given = parser.parse_args()
    pairs = [(name, int(size)) for name in given.methods.split(",") for size in given.sizes.split(",")]
    if given.row:
        print(json.dumps(measured(*pairs[0], catalogues(given.data))))
        return
    print("  ".join(f"{word:>10}" for word in HEAD))
    for name, size in pairs:
        command = [sys.executable, "-m", "tests.bench.search", "--row", "--methods", name, "--sizes", str(size)]
        command += ["--data", str(given.data)] if given.data else []
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name:>10}  {size:>10,}  {done.stderr.strip().splitlines()[-1]}")
            continue
        figures = "  ".join(f"{value:10.2f}" for value in json.loads(done.stdout))
        print(f"{name:>10}  {size:>10,}  {figures}", flush=True)


if __name__ == "__main__":
    main()
