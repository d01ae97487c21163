"""How one entry of a trace looks as a row, in the columns that there is room for."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.lint.rules import SEVERITIES, worst
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Columns, WireMessage
from mcp_studio.trace.server_tap import beginning
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece, fit
from mcp_studio.tui.views.trace_words import READ, TELLING, said

_ROOMY = 26
"""Cells of the method's column from which on the mark of a later round is a word."""
_DEEPEST = 3
"""Levels by which a request that came under another is moved to the right."""
SERVER = 14
IN, OUT, NEW = "trace--in", "trace--out", "trace--new"
_WORDLESS = ("stderr", "stray", "note", "invalid")
"""Kinds of entries that say themselves what they are about."""


class Widths(NamedTuple):
    """Cells of each column, 0 where there is no room for it."""

    time: int
    server: int
    method: int
    target: int
    ms: int
    size: int
    status: int


class Shown(NamedTuple):
    """All that a row shows of one entry."""

    time: float
    server: str
    direction: str
    kind: str
    size: int
    method: str
    target: str
    outcome: str
    ms: float | None
    round: int
    depth: int
    """Under how many requests it came."""
    by_hand: bool
    worst: int
    """The worst finding: 0 none, 1 hint, 2 warning, 3 error."""
    marked: bool
    commented: bool
    body: Callable[[], bytes]


@lru_cache(32)
def widths_for(width: int, longest: int = SERVER) -> Widths:
    """What fits in so many cells: always direction, server, method and ms, then time, status, bytes and target.

    Args:
        width: cells of the row.
        longest: cells of the longest server's name; no more is taken for it.
    """
    clock = 12 if width >= 100 else 8 if width >= 56 else 0
    status = 12 if width >= 90 else 1
    size = 6 if width >= 80 else 5 if width >= 70 else 0
    most = 18 if width >= 140 else 14 if width >= 80 else 10
    server, ms = max(6, min(longest, most)), 7 if width >= 80 else 6
    # Two cells in front and one behind, one for the direction, two between columns.
    used = 4 + sum(cells + 2 for cells in (clock, server, ms, size, status) if cells) + 2
    rest = max(7, width - used)
    if width < 80:
        return Widths(clock, server, rest, 0, ms, size, status)
    method = min(33, max(18, (rest - 2) * 3 // 5))
    return Widths(clock, server, method, max(0, rest - 2 - method), ms, size, status)


def header(width: int, longest: int = SERVER) -> list[Piece]:
    """The names of the columns."""
    cells = widths_for(width, longest)
    names = [
        fit("time", cells.time), " ", fit("server", cells.server),
        fit("method" if cells.target else "method, target", cells.method),
        fit("target", cells.target), fit("ms", cells.ms, right=True), fit("bytes", cells.size, right=True),
        fit("status" if cells.status > 1 else "", cells.status),
    ]  # fmt: skip
    return [("  " + "  ".join(filter(None, names)), "dim")]


def longest_server(columns: Columns) -> int:
    """Cells of the longest server's name."""
    return max((cell_len(safe(name, 80)) for name in columns.servers.texts[2:]), default=0)


def of_columns(columns: Columns, row: int, body: Callable[[], bytes]) -> Shown:
    """What the columns know of an entry; `body` is asked only where it has to say what the entry is about."""
    flags, code, link = columns.flags[row], columns.kind[row], columns.link[row]
    kind = KINDS[code & 15]
    number = columns.first + row if kind == "request" else link
    parents, follows = columns.parents, columns.follows
    depth = rounds = 0
    if parents:
        above = number
        while depth < _DEEPEST and (above := parents.get(above, 0)):
            depth += 1
    if follows:
        earlier = number
        while rounds < 100 and (earlier := follows.get(earlier, 0)):
            rounds += 1
    return Shown(
        columns.time[row], columns.servers.texts[columns.server[row]], DIRECTIONS[code >> 4], kind, columns.size[row],
        columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]],
        OUTCOMES[columns.outcome[row] - 1] if columns.outcome[row] else "", columns.ms(row), rounds + 1, depth,
        bool(flags & bits.BY_HAND), flags >> bits.SEVERITY & 3, bool(flags & bits.MARKED),
        bool(flags & bits.COMMENTED), body,
    )  # fmt: skip


def of_message(message: WireMessage) -> Shown:
    """The same of an entry alone."""
    span = message.span
    depth, above = 0, span.parent if span else None
    while above is not None and depth < _DEEPEST:
        depth, above = depth + 1, above.parent
    found = worst(message.findings) if message.findings else None
    return Shown(
        message.time, message.server, message.direction, message.kind, message.size, message.method, message.target,
        span.outcome if span else "", span.ms if span else None, span.round if span else 1, depth, message.by_hand,
        len(SEVERITIES) - SEVERITIES.index(found) if found else 0, False, False, lambda: message.body,
    )  # fmt: skip


def row(message: WireMessage, width: int) -> list[Piece]:
    """One entry; every text of it made safe."""
    return draw(of_message(message), width)


def draw(shown: Shown, width: int, longest: int = SERVER, *, new: bool = False) -> list[Piece]:
    """One entry as pieces; every text of it made safe."""
    cells = widths_for(width, longest)
    signs = glyphs()
    sign, word, mood = standing(shown.kind, shown.direction, shown.outcome, shown.method)
    arrow = {"out": (signs.sent, OUT), "in": (signs.received, IN)}.get(shown.direction, (signs.dot, "dim"))
    if shown.by_hand:
        arrow = signs.by_hand, OUT
    pieces: list[Piece] = [
        (fit(_clock(shown.time, cells.time), cells.time), "dim"),
        arrow,
        (fit(safe(shown.server, 80), cells.server), ""),
        _method(shown, cells),
        (fit(_target(shown, cells.target), cells.target), "" if shown.target else "dim"),
        (fit(_took(shown), cells.ms, right=True), "dim"),
        (fit(short_size(shown.size), cells.size, right=True), "dim"),
        (fit(f"{sign} {word}" if cells.status > 1 else sign, cells.status), mood),
    ]
    # The gap belongs to the cell before it: half as many pieces to style, filter and write.
    *most, (last, style) = [piece for piece in pieces if piece[0]]
    return [*_front(shown, new), *((f"{text}  ", look) for text, look in most), (f"{last} ", style)]


def _front(shown: Shown, new: bool) -> list[Piece]:
    """What the person, and what the lint, has to say about it: two cells."""
    signs = glyphs()
    said: Piece = (signs.mark, NEW) if new else (" ", "")
    if shown.marked or shown.commented:
        said = {(True, True): signs.marked_said, (True, False): signs.marked}.get(
            (shown.marked, shown.commented), signs.said
        ), "accent"  # fmt: skip
    found: Piece = ((" ", ""), (signs.dot, "dim"), (signs.warning, "warn"), (signs.bad, "bad"))[shown.worst]
    return [(" " * 2, "")] if said[0] == found[0] == " " else [said, found]


def status(message: WireMessage) -> tuple[str, str, str]:
    """How it stands with an entry: a sign, a word, and their look."""
    return standing(message.kind, message.direction, message.span.outcome if message.span else "", message.method)


def standing(kind: str, direction: str, outcome: str, method: str) -> tuple[str, str, str]:
    """The same, of what a row shows."""
    signs = glyphs()
    match kind, outcome:
        case "error", _:
            return signs.bad, "error", "bad"
        case (("request" | "result"), ("tool error" | "error" | "lost")):
            return signs.bad, outcome, "bad"
        case "request", "cancelled":
            return signs.off, "cancelled", "warn"
        case "request", "open":
            return signs.on, "waiting" if direction == "in" else "open", "warn"
        case (("request" | "result"), "ok"):
            return signs.ok, "ok", "ok"
        case "result", _:
            return signs.warning, "unasked", "warn"
        case "invalid", _:
            return signs.bad, "no message", "bad"
        case "stray", _:
            return signs.bad, "stray", "bad"
        case "http", _ if direction == "in" and method[:1] in ("4", "5", "f"):
            return signs.bad, "failed", "bad"
        case _:
            return " ", "", "dim"


def _method(shown: Shown, cells: Widths) -> Piece:
    look = "dim" if shown.kind in ("result", "error") else "strong" if shown.kind == "request" else ""
    if not shown.method:
        text, look = shown.kind, "dim"
    else:
        text = safe(shown.method, 120)
    if shown.round > 1:
        text = f"{glyphs().follows}{shown.round if cells.method < _ROOMY else f' round {shown.round}'} {text}"
    elif shown.depth:
        text = f"{'  ' * (shown.depth - 1)}{glyphs().under} {text}"
    if not cells.target:  # what it is about shares the column
        text = f"{text} {_target(shown, cells.method)}"
    return fit(text, cells.method), look


def _target(shown: Shown, width: int) -> str:
    if shown.kind in TELLING and width and shown.size <= READ:
        words = said(shown.kind, shown.method, shown.body())
        return safe(": ".join(filter(None, (shown.target, words))), 2 * width + 40)
    if shown.kind == "http" and shown.direction == "out" and shown.target and width and shown.size <= READ:
        first = beginning(shown.body(), 2 * width + 40).partition("\n")[0]
        place = first.partition(" ")[2]  # what signing in asks goes to another server
        return safe(f"{shown.target}: {place}", 2 * width + 40)
    if shown.target or not width:
        return safe(shown.target, 2 * width + 40)
    if shown.kind in _WORDLESS:
        return safe(beginning(shown.body(), width), 2 * width + 40)
    return ""


def _took(shown: Shown) -> str:
    if not shown.outcome or shown.kind in ("notification", "http", "stderr", "stray", "note"):
        return ""
    ms = shown.ms
    if ms is None:
        return glyphs().more if shown.outcome == "open" else glyphs().dash
    if ms < 9.95:
        return f"{ms:.1f}"
    return f"{ms:.0f}" if ms < 99_950 else f"{ms / 1000:.0f} s"


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
