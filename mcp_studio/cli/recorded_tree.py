"""`trace --span`: what belongs to an entry, as a tree with times."""

from __future__ import annotations

import time

from mcp_studio.cli.output import Output
from mcp_studio.cli.recorded import facts, status
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.trace.lines import beginning
from mcp_studio.trace.recording import Reader, Recording
from mcp_studio.trace.tree import Node, tree, walk

_RELATIONS = {"root": "", "asked": "asked", "round": "next round", "task": "task", "retry": "again", "step": "step",
              "http": "http", "note": "note"}  # fmt: skip
_BAR = 30
_WORDS = 80


def show(recording: Recording, number: int, out: Output) -> int:
    """Print the tree that an entry belongs to; returns the exit code."""
    root = tree(recording, number)
    assert root is not None, "the number was checked"
    begin, end = _span(recording, root)
    reader = recording.reader()
    try:
        for depth, node in walk(root):
            out.data(_line(recording, reader, node, depth, begin, end))
    finally:
        reader.close()
    return out.done(_facts(recording, root, begin))


def _line(recording: Recording, reader: Reader, node: Node, depth: int, begin: float, end: float) -> str:
    columns = recording.columns
    row = node.number - columns.first
    method, target = columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]]
    kind, ms = columns.kind_of(row), columns.ms(row)
    if kind in ("note", "stderr", "stray", "invalid"):
        target = beginning(reader.body(node.number), _WORDS)
    what = " ".join(part for part in (_RELATIONS[node.relation], method or kind, target) if part)
    label = f"{'  ' * depth}{safe(what, _WORDS)}"
    if not depth:
        server = safe(columns.servers.texts[columns.server[row]], 40)
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(columns.time[row]))
        label = f"{label} · {server} · {clock}"
    starts = (columns.time[row] - begin) * 1000
    took = "" if ms is None else f"{ms:.1f} ms"
    bar = _bar(columns.time[row] - begin, (ms or 0) / 1000, end - begin) if kind == "request" else ""
    return f"{node.number:>8}  {starts:>9.1f}  {took:>11}  {status(columns, row):<10}  {bar:<{_BAR}}  {label}".rstrip()


def _bar(start: float, took: float, whole: float) -> str:
    if whole <= 0:
        return "=" * _BAR
    before = min(_BAR - 1, int(start / whole * _BAR))
    return " " * before + "=" * max(1, min(_BAR - before, round(took / whole * _BAR)))


def _span(recording: Recording, root: Node) -> tuple[float, float]:
    """When the first of the tree came, and the last answer."""
    columns = recording.columns
    rows = [node.number - columns.first for _, node in walk(root)]
    begin = min(columns.time[row] for row in rows)
    return begin, max(columns.time[row] + (columns.ms(row) or 0) / 1000 for row in rows)


def _facts(recording: Recording, node: Node, begin: float) -> dict[str, Json]:
    known = facts(recording, node.number)
    children = [_facts(recording, child, begin) for child in node.children]
    after = round((known["time"] - begin) * 1000, 3)
    return {"relation": node.relation, "after_ms": after, **known, "children": children}
