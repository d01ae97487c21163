"""Tabs in the border of a dialog, as panes have them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from mcp_studio.tui.panels.pane import Tab


def tab_line(tabs: Sequence[Tab], current: str, room: int) -> tuple[Content, list[tuple[int, int, str]]]:
    """The tabs as wide as there is room, and where each of them begins and ends."""
    gap, shown = " │ ", [(tab.id, tab.name) for tab in tabs]
    for level in range(5):
        gap = " │ " if level < 2 else "│"
        shown = [(tab.id, tab.label(level, tab.id == current)) for tab in tabs]
        if sum(len(label) + len(gap) for _, label in shown) - len(gap) <= room:
            break
    parts: list[tuple[str, str]] = []
    spans: list[tuple[int, int, str]] = []
    x = 0
    for name, label in shown:
        if parts:
            parts.append((gap, "$quiet"))
            x += len(gap)
        parts.append((label, "b $accent" if name == current else "not b $quiet"))
        spans.append((x, x + len(label), name))
        x += len(label)
    return Content.assemble(*parts), spans
