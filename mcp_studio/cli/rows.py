"""Rows of text: the same on a terminal and in a pipe, so nothing depends on a width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_studio.catalog.listing import Entry, doubts_of
from mcp_studio.catalog.ref import Ref
from mcp_studio.protocol.views import ToolView
from mcp_studio.safetext import safe

_COLUMN = 44
"""Widest column that others are aligned to."""
RISKS = {"read": "r", "write": "w", "destructive": "!"}
"""Risk of a tool -> its mark."""


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with aligned columns; every cell is made safe."""
    cells = [[safe(cell, 400) for cell in row] for row in rows]
    widths = [
        max((len(cell) for cell in column if len(cell) <= _COLUMN), default=0) for column in zip(*cells, strict=True)
    ]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def problem_of(entry: Entry, doubts: Mapping[Ref, str]) -> str:
    """What is wrong or doubtful about an entry, and how it differs from what was seen last; empty where nothing is."""
    change = f"± {entry.change.words}" if entry.change else ""
    return "; ".join(filter(None, (change, entry.problem, doubts.get(entry.ref, ""))))


def entry_rows(entries: Sequence[Entry], indent: str = "") -> list[str]:
    """A line for each listed thing: risk (tools), address, what it is."""
    rows: list[tuple[str, ...]] = []
    doubts = doubts_of(entries)
    for entry in entries:
        about = entry.view.description.strip().split("\n", 1)[0] or entry.view.title
        if entry.skill:
            about = f"(skill) {about}".rstrip()
        if problem := problem_of(entry, doubts):
            about = f"({problem}) {about}".rstrip()
        risk = (RISKS[entry.view.risk],) if isinstance(entry.view, ToolView) else ()
        # A URI behind a server's name and a dot would look like part of it.
        address = (str(entry.ref),) if entry.ref.kind in ("tool", "prompt") else (entry.ref.server, entry.ref.name)
        rows.append((*risk, *address, safe(about, 160)))
    return [indent + row for row in table(rows)]
