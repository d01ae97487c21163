"""When everything happened that belongs to a call: rows with a place on one scale, and how they are drawn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from rich.cells import cell_len

from mcp_studio.present import outcomes, units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Columns, Recording, WireMessage
from mcp_studio.trace.tree import Node, walk
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.histogram import took_text
from mcp_studio.tui.views.line import Piece, fit
from mcp_studio.tui.views.trace_row import clock, codes, rows_with, words_of

_MOST = 300
"""Rows of one timeline."""
_LOOKED_AT, _TICKS, _READ = 10_000, 500, 200
"""Notifications of one request that are looked at, that are drawn, and that are read."""
_WIDEST = 300_000
"""Entries between a request and its answer that are looked through."""
_LARGEST = 1_000_000
"""Bytes of a body in which a token is looked for."""
_TOKEN = re.compile(rb'"progressToken"\s*:\s*("[^"\\]{0,200}"|-?\d{1,18})')
_PREFIX = {"retry": "again", "task": "task"}
_NOTIFIED = codes("notification", direction="in")
_LOOKS = {"ok": "ok", "open": "warn", "cancelled": "warn", "tool error": "bad", "error": "bad", "lost": "bad"}
_AT = 8


class Event(NamedTuple):
    """One row of a timeline."""

    number: int
    """The entry that it is about; 0 for a remark to the row above."""
    label: str
    depth: int = 0
    direction: str = ""
    begin: float = 0.0
    """Seconds since the epoch."""
    end: float | None = None
    """None for what is still open."""
    ticks: tuple[float, ...] = ()
    """Where something happened, instead of a bar."""
    note: str = ""
    outcome: str = ""
    here: bool = False
    """What one looks at."""


def timeline(recording: Recording, family: Node, here: int) -> tuple[Event, ...]:
    """The rows of a tree of requests, in their order; `here` is the number of the request that is looked at."""
    found = list(islice(_events(recording, family, here), _MOST + 1))
    return tuple(found[:_MOST]) + ((Event(0, "and more"),) if len(found) > _MOST else ())


def _events(recording: Recording, family: Node, here: int) -> Iterator[Event]:
    columns = recording.columns
    earlier, rounds = family.number, 1
    for depth, node in walk(family):
        row = node.number - columns.first
        entry = recording.entry(node.number)
        if entry is None or not 0 <= row < len(columns):
            continue
        if node.relation == "http":
            if entry.direction == "in":
                yield Event(node.number, safe(entry.method, 80), depth, "in", ticks=(entry.time,))
            continue
        if node.relation == "note":
            text = safe(entry.body[:800].decode("utf-8", "replace"), 200)
            yield Event(node.number, text, depth, ticks=(entry.time,))
            continue
        if node.relation == "round":
            rounds += 1
            yield from _between_rounds(columns, earlier, entry, depth)
        prefix = f"round {rounds}" if node.relation == "round" else _PREFIX.get(node.relation, "")
        yield _request(columns, entry, depth, prefix, node.number == here)
        if node.relation in ("root", "round"):
            earlier = node.number
        yield from _notified(recording, entry, depth + 1)
        if entry.kind == "request" and columns.link[row]:
            questions = outcomes.questions(recording.entry(columns.link[row]))
            yield from (Event(0, f"asked {text}", depth + 1) for text in questions)


def _request(columns: Columns, entry: WireMessage, depth: int, prefix: str, here: bool) -> Event:
    row = entry.number - columns.first
    label = " ".join(filter(None, (prefix, safe(entry.method or entry.kind, 80), safe(entry.target, 80))))
    if entry.kind != "request":
        size = units.size(entry.size)
        return Event(entry.number, label, depth, entry.direction, ticks=(entry.time,), note=size, here=here)
    answer = columns.link[row] - columns.first
    end = columns.time[answer] if 0 < answer < len(columns) else None
    outcome = columns.outcome_of(row)
    took = "" if end is None else took_text((end - entry.time) * 1000)
    note = " ".join(filter(None, (outcome, took)))
    return Event(entry.number, label, depth, entry.direction, entry.time, end, (), note, outcome, here)


def _between_rounds(columns: Columns, earlier: int, entry: WireMessage, depth: int) -> Iterator[Event]:
    """How long it took to bring what the server wanted, and what that was."""
    answer = columns.link[earlier - columns.first] if earlier >= columns.first else 0
    row = answer - columns.first
    if 0 <= row < entry.number - columns.first:
        begin, end = columns.time[row], entry.time
        yield Event(answer, "answer", depth, "", begin, end, (), took_text((end - begin) * 1000))
    yield from (Event(0, f"answered {text}", depth + 1) for text in outcomes.answers(entry))


def _notified(recording: Recording, entry: WireMessage, depth: int) -> Iterator[Event]:
    """Progress and log messages that came while a request of ours was open, one row for each kind."""
    columns = recording.columns
    if entry.kind != "request" or entry.direction != "out":
        return
    row = entry.number - columns.first
    last = columns.link[row] - columns.first if columns.link[row] else len(columns)
    found: dict[str, list[int]] = {"notifications/progress": [], "notifications/message": []}
    wanted = {number: name for name in found if (number := columns.methods.known(name)) is not None}
    near = rows_with(columns.kind, _NOTIFIED, row, min(last, row + _WIDEST)) if wanted else iter(())
    for at in islice(near, _LOOKED_AT):
        if columns.method[at] in wanted and columns.server[at] == columns.server[row]:
            found[wanted[columns.method[at]]].append(at)
    progress, logs = found.values()
    if token := token_of(entry):
        read = progress if len(progress) <= _READ else [*progress[: _READ - 1], progress[-1]]
        ours = [at for at in read if token_of(recording.entry(columns.first + at)) == token]
        if ours:
            newest = recording.entry(columns.first + ours[-1])
            said = words_of("notification", newest.method, newest.body) if newest else ""
            yield _ticks(columns, ours, "progress", depth, safe(said, 80))
    if logs:
        yield _ticks(columns, logs, units.plural(len(logs), "log message"), depth, "")


def _ticks(columns: Columns, rows: list[int], label: str, depth: int, note: str) -> Event:
    times = tuple(columns.time[row] for row in rows[:: len(rows) // _TICKS + 1])
    return Event(columns.first + rows[-1], label, depth, "in", times[0], times[-1], times, note)


def token_of(entry: WireMessage | None) -> bytes:
    """The progress token that a message carries, as it stands there; else nothing."""
    found = None if entry is None or entry.size > _LARGEST else _TOKEN.search(entry.body)
    return found[1] if found else b""


class Drawing:
    """Draws the rows of one timeline; row `None` is the scale above them.

    Args:
        now: up to when what is open is drawn.
    """

    def __init__(self, events: tuple[Event, ...], now: float = 0.0) -> None:
        times = [time for event in events if event.number for time in (event.begin, event.end, *event.ticks) if time]
        self.begin, self.end = (min(times), max(times)) if times else (0.0, 0.0)
        if any(event.end is None and event.number and not event.ticks for event in events):
            self.end = max(self.end, now)

    def draw(self, event: Event | None, width: int) -> list[Piece]:
        """One event, or the scale: what, when, how it went, and where on the scale."""
        label = min(44, max(14, width * 2 // 5))
        note = 16 if width >= 70 else 0
        room = max(4, width - label - _AT - note - 4)
        if event is None:
            head = fit(f"  {clock(self.begin)}", label + _AT + note + 3)
            return [(head, "dim"), (self._scale(room), "dim")]
        if not event.number:
            return [(fit(" " * (2 + 2 * event.depth) + event.label, width), "dim")]
        signs = glyphs()
        arrow: Piece = {"out": (signs.sent, "out"), "in": (signs.received, "in")}.get(
            event.direction, (signs.dot, "dim")
        )
        look = _LOOKS.get(event.outcome, "accent")
        text = fit("  " * min(event.depth, 6) + event.label, label - 2)
        at = took_text(((event.ticks[0] if event.ticks else event.begin) - self.begin) * 1000)
        return [
            arrow, (f" {text}", "strong" if event.here else ""), (f"{at:>{_AT}}  ", "dim"),
            (fit(event.note, note) + " " * bool(note), look if event.outcome else "dim"), *self._bar(event, room, look),
        ]  # fmt: skip

    def _scale(self, room: int) -> str:
        if self.end <= self.begin:
            return ""
        signs, whole = glyphs(), f" {took_text((self.end - self.begin) * 1000)} "
        return f"{signs.begin}{signs.line * max(0, room - 2 - cell_len(whole))}{whole}{signs.end}"

    def _bar(self, event: Event, room: int, look: str) -> list[Piece]:
        signs = glyphs()
        if event.ticks:
            # The clock may have been set back meanwhile.
            first, last = self._place(min(event.ticks), room), self._place(max(event.ticks), room)
            cells = [" "] * (last - first + 1)
            for tick in event.ticks:
                cells[self._place(tick, room) - first] = signs.dot if len(event.ticks) > 1 else signs.bar
            return [(" " * first, ""), ("".join(cells), "accent" if event.direction else "dim")]
        first, last = self._place(event.begin, room), self._place(event.end or self.end, room)
        end = signs.end if event.end is not None else signs.more
        bar = signs.begin + signs.line * (last - first - 1) + end if last > first else signs.bar
        return [(" " * first, ""), (bar, look)]

    def _place(self, time: float, room: int) -> int:
        whole = self.end - self.begin
        share = (time - self.begin) / whole if whole > 0 else 0.0
        return max(0, min(room - 1, int(share * (room - 1) + 0.5)))
