"""Sizes, times and counts as people say them."""

from __future__ import annotations

from mcp_studio.transport.lines import size_text as size


def duration(ms: float) -> str:
    """Milliseconds as people say them: `18 ms`, `1.2 s`, `2 min 5 s`, `3 h 10 min`."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    if ms < 3_600_000:
        return f"{ms // 60_000:.0f} min {ms % 60_000 // 1000:.0f} s"
    return f"{ms // 3_600_000:.0f} h {ms % 3_600_000 // 60_000:.0f} min"


def seconds(count: float) -> str:
    """Seconds in few characters: `12 s`, `3 min`, `5 h`."""
    return f"{count:.0f} s" if count < 100 else f"{count / 60:.0f} min" if count < 6000 else f"{count / 3600:.0f} h"


def plural(count: int, word: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def recorded(count: int, total: int, record: bool, most_bytes: int, max_age: float) -> str:
    """How many sessions of the trace are on disk with how many bytes, and how much may be."""
    room = f"{size(total)} of at most {size(most_bytes)}, for {max_age / 86_400:,.3g} days"
    kept = f"{plural(count, 'session')}, {room}"
    return kept if record else f"nothing is recorded (trace.record is false); {kept}"
