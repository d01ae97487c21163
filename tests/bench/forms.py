"""Forms of real catalogues: they build, keep what is typed, agree with the library, and few leaves fall back to JSON.

    python -m tests.bench.forms --catalogues DIR [--every 1] [--part 0] [--show 5] [--quick]
    python -m tests.bench.forms --suite DIR

`--catalogues` names a folder with files `*.jsonl` below it, one tool a line, its schema under `input_schema` or
`inputSchema`. `--suite` names the `tests` folder of the JSON Schema Test Suite (jsonschema's source archive has it as
`json/tests`): every schema of its drafts 2020-12 and 7 has to build, and every value in it to be kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_studio.jsontext import loads
from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import Example, valid
from mcp_studio.schema.field import Form
from mcp_studio.schema.form import build
from tests.schema.proof.support import Library, as_json, leaves, same, typed

SLOW = 0.5


class Report:
    """Counts, and a few cases of everything that went wrong."""

    def __init__(self, show: int) -> None:
        self._show = show
        self.counts: Counter[str] = Counter()
        self.cases: dict[str, list[str]] = {}
        self.times: dict[str, list[float]] = {}

    def count(self, what: str, case: str = "", by: int = 1) -> None:
        """One more of them."""
        self.counts[what] += by
        known = self.cases.setdefault(what, [])
        if case and len(known) < self._show:
            known.append(case[:400])

    def timed(self, what: str, start: float) -> None:
        """Something has taken so long."""
        self.times.setdefault(what, []).append(time.perf_counter() - start)

    def print(self) -> None:
        """All of it."""
        for what, count in sorted(self.counts.items()):
            print(f"{count:9,}  {what}")
            for case in self.cases.get(what, ()):
                print(f"               {case}")
        for what, times in self.times.items():
            ordered = sorted(times)
            median, most, nearly = statistics.median(ordered), ordered[-1], ordered[int(len(ordered) * 0.99)]
            print(f"{what}: median {median * 1e3:.2f} ms, p99 {nearly * 1e3:.1f} ms, slowest {most * 1e3:.0f} ms")
        print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def schemas(folder: Path, every: int, part: int) -> Iterator[tuple[str, Any, int]]:
    """Name, schema, and how many tools have it."""
    found: dict[str, tuple[str, int]] = {}
    for file in sorted(folder.rglob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            tool = json.loads(line)
            if isinstance(tool, dict) and ("input_schema" in tool or "inputSchema" in tool):
                text = json.dumps(tool.get("input_schema", tool.get("inputSchema")))
                name, count = found.get(text, (f"{file.parent.name}/{tool.get('server')}.{tool.get('name')}", 0))
                found[text] = (name, count + 1)
    for index, (text, (name, count)) in enumerate(found.items()):
        if index % every == part:
            yield name, loads(text), count


def one(report: Report, name: str, schema: Any, tools: int, examples: bool) -> None:
    """Everything about one schema."""
    report.count("tools", by=tools)
    report.count("different schemas")
    start = time.perf_counter()
    form = build(schema)
    report.timed("build", start)
    start = time.perf_counter()
    _leaves(report, name, form, tools)
    report.timed("open all fields", start)
    if time.perf_counter() - start > SLOW:
        report.count("! slow to open", name)
    for problem in form.problems:
        report.count("forms with a problem of the schema", f"{name}: {problem}")
    if examples:
        _examples(report, name, form, Library(schema))


def _leaves(report: Report, name: str, form: Form, tools: int) -> None:
    if form.whole and form.root is None:
        report.count("! forms edited as a whole", name, tools)
    for place, field in leaves(form):
        report.count("leaves", by=tools)
        if reason := as_json(field):
            report.count("leaves as JSON", by=tools)
            report.count(f"leaves as JSON: {reason}", f"{name} {place} {json.dumps(field.schema)[:200]}", tools)


def _examples(report: Report, name: str, form: Form, library: Library) -> None:
    if library.flaw:
        report.count("schemas that the library refuses", f"{name}: {library.flaw}")
    start = time.perf_counter()
    found = valid(form)
    report.timed("three valid examples", start)
    for example in found:
        _valid(report, name, form, library, example)


def _valid(report: Report, name: str, form: Form, library: Library, example: Example) -> None:
    what = f"{example.kind} values"
    report.count(what)
    said = f"{name} [{example.label}]"
    errors = library.errors(example.value)
    if example.remark:
        report.count(f"{what} with a remark", f"{said} {example.remark}")
    elif errors:
        report.count(f"! {what} that are wrong", f"{said} {errors[0]} in {json.dumps(example.value)[:150]}")
    if not errors and not library.flaw:
        for problem in quick(form, example.value):
            if problem.severity == "error":
                report.count("! the quick check refuses what the library allows", f"{said} {problem}")
    if not same(typed(form.root, example.value), example.value):
        report.count("! values that change when they are typed", f"{said} {json.dumps(example.value)[:200]}")


def suite(report: Report, folder: Path) -> None:
    """The cases of the JSON Schema Test Suite."""
    for draft, stated in (("draft2020-12", ""), ("draft7", "http://json-schema.org/draft-07/schema#")):
        for file in sorted((folder / draft).rglob("*.json")):
            for group in json.loads(file.read_bytes()):
                schema = group["schema"]
                if stated and isinstance(schema, dict):
                    schema = {"$schema": stated, **schema}
                _group(report, f"{draft}/{file.stem}: {group['description']}", schema, group["tests"])


def _group(report: Report, name: str, schema: Any, cases: list[dict[str, Any]]) -> None:
    report.count("schemas")
    start = time.perf_counter()
    form = build(schema)
    found = list(leaves(form))
    report.timed("build and open", start)
    report.count("leaves", by=len(found))
    report.count("leaves as JSON", by=sum(bool(as_json(field)) for _, field in found))
    nested = build({"type": "object", "properties": {"it": schema}})
    for case in cases:
        report.count("values")
        library = Library(schema)
        for made, value in ((form, case["data"]), (nested, {"it": case["data"]})):
            if not same(typed(made.root, value), value):
                report.count("! values that change when they are typed", f"{name} {case['description']} {value}")
        wrong = [problem for problem in quick(form, case["data"]) if problem.severity == "error"]
        if wrong and case["valid"] and library.accepts(case["data"]):
            arguments = isinstance(case["data"], dict)
            what = "! the quick check refuses what is valid" if arguments else "values that are no arguments"
            report.count(what, f"{name} {case['description']} {case['data']} {wrong[0]}")


def main() -> None:
    """Read the arguments, look at everything, print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--catalogues", type=Path)
    parser.add_argument("--suite", type=Path)
    parser.add_argument("--every", type=int, default=1, help="look at every so many schemas only")
    parser.add_argument("--part", type=int, default=0, help="with --every: which of them, from 0")
    parser.add_argument("--show", type=int, default=5, help="cases shown of each kind")
    parser.add_argument("--quick", action="store_true", help="build the forms and count the leaves, without examples")
    given = parser.parse_args()
    report = Report(given.show)
    if given.catalogues:
        for name, schema, tools in schemas(given.catalogues, given.every, given.part):
            one(report, name, schema, tools, not given.quick)
    if given.suite:
        suite(report, given.suite)
    report.print()
    if total := report.counts["leaves"]:
        anything = report.counts["leaves as JSON: any value: the schema says nothing"]
        drawn = (report.counts["leaves as JSON"] - anything) / total
        print(f"leaves edited as JSON: {report.counts['leaves as JSON'] / total:.2%}")
        print(f"without those of which the schema says nothing: {drawn:.2%}")


if __name__ == "__main__":
    main()
