"""Sizes, times and counts in the words of people."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence

from mcp_studio.jsontext import Json
from mcp_studio.limits import size_text as size

BYTES_PER_TOKEN = 4.3
"""The bytes per token of estimates, measured on 75 tools of six common servers."""


def duration(ms: float) -> str:
    """Milliseconds in words: `0.4 ms`, `18 ms`, `1.2 s`, `2 min 5 s`, `3 h 10 min`."""
    if ms < 1000:
        return f"{ms:.1g} ms" if 0 < ms < 0.95 else f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    if ms < 3_600_000:
        return f"{ms // 60_000:.0f} min {ms % 60_000 // 1000:.0f} s"
    return f"{ms // 3_600_000:.0f} h {ms % 3_600_000 // 60_000:.0f} min"


def seconds(count: float) -> str:
    """Seconds in their largest unit: `12 s`, `3 min`, `5 h`, `12 days`, `no end`."""
    for unit, name in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if count >= 2 * unit:
            return f"{count / unit:,.0f} {name}" if count < 1e9 else "no end"
    return f"{max(0.0, count):.0f} s"


def date_time(when: Json) -> str:
    """`2026-11-21 12:01:07` in this machine's time zone; empty if `when` is not a time in seconds since the epoch."""
    if not isinstance(when, (int, float)) or not 0 < when < 1e11:
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when))


def clock(when: float, exact: bool = True) -> str:
    """The time of day as `12:01:07.113`, or without the thousandths."""
    text = time.strftime("%H:%M:%S", time.localtime(when))
    return f"{text}.{int(when * 1000) % 1000:03}" if exact else text


def plural(count: int, word: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def command_line(words: Sequence[str]) -> str:
    """A command as a shell takes it; unlike in `shlex.join`, a word with single quotes stands in double quotes."""
    double = (re.sub(r'["$`\\]', r"\\\g<0>", word) if "'" in word else "" for word in words)
    return " ".join(f'"{text}"' if text else shlex.quote(word) for text, word in zip(double, words, strict=True))


def unwrapped(text: str) -> str:
    """Prose without the line breaks of its author's editor; lists and paragraphs stay."""
    return re.sub(r"(?<=[^\n]{60})\n(?=[^\W\d_])", " ", text)  # after a long line, before a word


def storage_line(count: int, total: int, record: bool, most_bytes: int, max_age: float) -> str:
    """How many sessions of the trace are on disk, their size, and the limits."""
    room = f"{size(total)} of at most {size(most_bytes)}, for {max_age / 86_400:,.3g} days"
    storage = f"{plural(count, 'session')}, {room}"
    return storage if record else f"nothing is recorded (trace.record is false); {storage}"
