"""Durations for people: short, and as a histogram of bars."""

from __future__ import annotations

from textual.content import Content

from mcp_studio.trace.statistics import Bar, Durations
from mcp_studio.tui.views.glyphs import ASCII, glyphs

_EIGHTHS = "▏▎▍▌▋▊▉█"
_LABEL = 16
"""Cells of the bounds in front of a bar."""


def took_text(ms: float | None) -> str:
    """Milliseconds in at most seven characters: `0.4 ms`, `812 ms`, `12.1 s`, `45 min`; a dash for none."""
    if ms is None:
        return glyphs().dash
    if ms < 9_995:
        return f"{ms:.1f} ms" if ms < 9.95 else f"{ms:.0f} ms"
    return f"{ms / 1000:.1f} s" if ms < 600_000 else f"{ms / 60_000:.0f} min" if ms < 6e7 else f"{ms / 3_600_000:.0f} h"


def times_line(times: Durations) -> str:
    """`min 1.2 ms · p50 2.0 ms · p95 9.1 ms · p99 12 ms · max 14 ms`; empty without any."""
    if not times.count:
        return ""
    p50, p95, p99 = (times.percentile(share) for share in (0.5, 0.95, 0.99))
    named = (("min", times.least), ("p50", p50), ("p95", p95), ("p99", p99), ("max", times.most))
    return " · ".join(f"{name} {took_text(ms)}" for name, ms in named)


def histogram(durations: Durations, width: int, height: int) -> Content:
    """A line for each bar: its bounds, the bar, how many; at most so many lines, so wide."""
    bars = durations.histogram(height) if height > 0 else []
    step = -(-len(bars) // max(1, height))
    if step > 1:  # even bars of a power of ten are too many: neighbours become one
        parts = [bars[place : place + step] for place in range(0, len(bars), step)]
        bars = [Bar(part[0].begin, part[-1].end, sum(bar.height for bar in part)) for part in parts]
    most = max((bar.height for bar in bars), default=0)
    room = max(1, width - _LABEL - 3 - len(f"{most:,}"))
    lines = (
        Content.assemble(
            (f"{f'{_edge(bar.begin)} - {_edge(bar.end)}':>{_LABEL}} ", "$quiet"),
            (_bar(bar.height, most, room), "$primary"),
            f" {bar.height:,}",
        )
        for bar in bars
    )
    return Content("\n").join(lines)


def _edge(ms: float) -> str:
    return f"{ms:.3g}ms" if ms < 1_000 else f"{ms / 1000:.3g}s" if ms < 60_000 else took_text(ms)


def _bar(height: int, most: int, room: int) -> str:
    if not height:
        return ""
    if glyphs() is ASCII:
        return "#" * max(1, height * room // most)
    eighths = max(1, height * room * 8 // most)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")
