"""How one entry of a trace looks as a row, in the columns that there is room for."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import NamedTuple

from mcp_studio.safetext import safe
from mcp_studio.trace.message import WireMessage
from mcp_studio.tui import findings
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece, fit

_ROOMY = 26
"""Cells of the method's column from which on the mark of a later round is a word."""
IN, OUT = "trace--in", "trace--out"


class Columns(NamedTuple):
    """Cells of each column, 0 where there is no room for it."""

    time: int
    server: int
    method: int
    target: int
    ms: int
    size: int
    status: int


@lru_cache(16)
def columns_for(width: int) -> Columns:
    """What fits in so many cells: always direction, server, method and ms, then time, status, target and bytes."""
    clock = 12 if width >= 100 else 8 if width >= 56 else 0
    status = 12 if width >= 90 else 1
    size = 6 if width >= 80 else 0
    server = 18 if width >= 140 else 14 if width >= 80 else 10
    # One cell in front and behind, one for the direction, two between columns.
    used = 3 + sum(cells + 2 for cells in (clock, server, 7, size, status) if cells) + 2
    rest = max(7, width - used)
    if width < 80:
        return Columns(clock, server, rest, 0, 7, size, status)
    method = min(33, max(18, (rest - 2) * 3 // 5))
    return Columns(clock, server, method, max(0, rest - 2 - method), 7, size, status)


def header(width: int) -> list[Piece]:
    """The names of the columns."""
    columns = columns_for(width)
    names = [
        fit("time", columns.time), " ", fit("server", columns.server), fit("method", columns.method),
        fit("target", columns.target), fit("ms", columns.ms, right=True), fit("bytes", columns.size, right=True),
        fit("status" if columns.status > 1 else "", columns.status),
    ]  # fmt: skip
    return [(" " + "  ".join(filter(None, names)), "dim")]


def row(message: WireMessage, width: int) -> list[Piece]:
    """One entry; every text of it made safe."""
    columns = columns_for(width)
    sign, word, mood = status(message)
    arrow = {"out": (glyphs().sent, OUT), "in": (glyphs().received, IN)}.get(message.direction, (glyphs().dot, "dim"))
    if message.by_hand:
        arrow = glyphs().by_hand, OUT
    cells: list[Piece] = [
        (fit(_clock(message.time, columns.time), columns.time), "dim"),
        arrow,
        (fit(safe(message.server, 80), columns.server), ""),
        _method(message, columns),
        (fit(_target(message, columns.target), columns.target), "" if message.target else "dim"),
        (fit(_took(message), columns.ms, right=True), "dim"),
        (fit(short_size(message.size), columns.size, right=True), "dim"),
        (fit(f"{sign} {word}" if columns.status > 1 else sign, columns.status), mood),
    ]
    # The gap belongs to the cell before it: half as many pieces to style, filter and write.
    *most, (last, style) = [cell for cell in cells if cell[0]]
    return [findings.mark(message), *((f"{text}  ", look) for text, look in most), (f"{last} ", style)]


def status(message: WireMessage) -> tuple[str, str, str]:
    """How it stands with an entry: a sign, a word, and their look."""
    signs = glyphs()
    outcome = message.span.outcome if message.span else ""
    match message.kind, outcome:
        case "error", _:
            return signs.bad, "error", "bad"
        case (("request" | "result"), ("tool error" | "error" | "lost")):
            return signs.bad, outcome, "bad"
        case "request", "cancelled":
            return signs.off, "cancelled", "warn"
        case "request", "open":
            return signs.on, "waiting" if message.direction == "in" else "open", "warn"
        case (("request" | "result"), "ok"):
            return signs.ok, "ok", "ok"
        case "result", _:
            return signs.warning, "unasked", "warn"
        case "invalid", _:
            return signs.bad, "no message", "bad"
        case "stray", _:
            return signs.bad, "stray", "bad"
        case _:
            return " ", "", "dim"


def _method(message: WireMessage, columns: Columns) -> Piece:
    look = "dim" if message.kind in ("result", "error") else "strong" if message.kind == "request" else ""
    if not message.method:
        text, look = message.kind, "dim"
    else:
        text = safe(message.method, 120)
    if message.span is not None and message.span.round > 1:
        number = message.span.round
        text = f"{glyphs().follows}{number if columns.method < _ROOMY else f' round {number}'} {text}"
    if not columns.target:  # what it is about shares the column
        text = f"{text} {_target(message, columns.method)}"
    return fit(text, columns.method), look


def _target(message: WireMessage, width: int) -> str:
    if message.target or not width:
        return safe(message.target, 2 * width + 40)
    if message.kind in ("stderr", "stray", "note", "invalid"):
        return safe(message.body[: 4 * width].decode("utf-8", "replace").strip(), 2 * width + 40)
    return ""


def _took(message: WireMessage) -> str:
    span = message.span
    if span is None or message.kind in ("notification", "http", "stderr", "stray", "note"):
        return ""
    if span.ms is None:
        return glyphs().more if span.outcome == "open" else glyphs().dash
    ms = span.ms
    if ms < 9.95:
        return f"{ms:.1f}"
    if ms < 99_950:
        return f"{ms:.0f}"
    return f"{ms / 1000:.0f} s"


def _clock(seconds: float, width: int) -> str:
    if not width:
        return ""
    text = _second(int(seconds))
    return text if width < 12 else f"{text}.{int(seconds * 1000) % 1000:03}"


@lru_cache(64)
def _second(seconds: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def short_size(size: int) -> str:
    """Bytes in at most five characters: `212`, `1.2K`, `38K`, `1.2M`."""
    if size < 1_000:
        return str(size)
    value, unit = (size / 1_000, "K") if size < 999_500 else (size / 1_000_000, "M")
    return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
