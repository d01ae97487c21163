"""Durations for people: short, as a histogram of bars, and as a line over time."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_studio.trace.statistics import Bar, Durations
from mcp_studio.tui.views.glyphs import ASCII, glyphs
from mcp_studio.tui.views.line import Piece

_BARS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#%"
_EIGHTHS = "▏▎▍▌▋▊▉█"
_LABEL = 16
"""Cells of the bounds in front of a bar."""


def brief(ms: float | None) -> str:
    """Milliseconds in at most six characters: `0.42ms`, `18ms`, `1.2s`, `45m`, `11574d`; a dash for none."""
    if ms is None:
        return "-"
    if ms < 99.5:
        return f"{ms:.2f}ms" if ms < 0.995 else f"{ms:.1f}ms" if ms < 9.95 else f"{ms:.0f}ms"
    if ms < 999.5:
        return f"{ms:.0f}ms"
    seconds = ms / 1000
    if seconds < 99.5:
        return f"{seconds:.1f}s" if seconds < 9.95 else f"{seconds:.0f}s"
    hours = seconds / 3600
    return f"{seconds / 60:.0f}m" if seconds < 5_970 else f"{hours:.0f}h" if hours < 999.5 else f"{hours / 24:.0f}d"


def count_text(count: int) -> str:
    """A number in at most six characters: `9,999`, `12.3k`, `4.2M`."""
    if count < 10_000:
        return f"{count:,}"
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if count < size * 999.5:
            return f"{count / size:.1f}{unit}" if count < size * 99.95 else f"{count / size:.0f}{unit}"
    return f"{count / 1e12:.0f}T"


def spark(counts: Sequence[int]) -> str:
    """A sign for each count, as high as it is compared to the largest; a space for none."""
    signs = _PLAIN if glyphs() is ASCII else _BARS
    most = max(counts, default=0)
    return "".join(signs[(count * len(signs) - 1) // most] if count else " " for count in counts)


def histogram(durations: Durations, width: int, height: int) -> list[list[Piece]]:
    """A line for each bar: its bounds, the bar, how many; at most so many lines, so wide."""
    bars = durations.histogram(height)
    if not bars or height < 1:
        return []
    if len(bars) > height:
        bars = _joined(bars, height)
    most = max(bar.height for bar in bars)
    counts = [count_text(bar.height) for bar in bars]
    room = max(1, width - _LABEL - 2 - max(map(len, counts)))
    return [
        [(f"{_bounds(bar):>{_LABEL}} ", "dim"), (_bar(bar.height, most, room), "accent"), (f" {count}", "")]
        for bar, count in zip(bars, counts, strict=True)
    ]


def _joined(bars: list[Bar], most: int) -> list[Bar]:
    """Neighbouring bars together, where even bars of a power of ten are too many."""
    step = -(-len(bars) // most)
    parts = [bars[place : place + step] for place in range(0, len(bars), step)]
    return [Bar(part[0].begin, part[-1].end, sum(bar.height for bar in part)) for part in parts]


def _bounds(bar: Bar) -> str:
    return f"{_edge(bar.begin)} - {_edge(bar.end)}"


def _edge(ms: float) -> str:
    return f"{ms:.3g}ms" if ms < 1_000 else f"{ms / 1000:.3g}s" if ms < 60_000 else brief(ms)


def _bar(height: int, most: int, room: int) -> str:
    if not height:
        return ""
    if glyphs() is ASCII:
        return "#" * max(1, height * room // most)
    eighths = max(1, height * room * 8 // most)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")
