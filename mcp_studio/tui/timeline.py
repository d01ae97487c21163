"""When everything happened that belongs to a call, as rows with a place on one scale. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from mcp_studio.present import outcomes, units
from mcp_studio.protocol.core import progress_text
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Columns, Recording, WireMessage
from mcp_studio.trace.tree import Node, walk
from mcp_studio.tui.tracing import codes, token_of
from mcp_studio.tui.views.trace_marks import rows_with

_MOST = 300
"""Rows of one timeline."""
_LOOKED_AT, _TICKS = 10_000, 500
"""Notifications of one request that are looked at, and of one kind that are drawn."""
_TOLD = 200
"""Notifications of one request that are read."""
_WIDEST = 300_000
"""Entries between a request and its answer that are looked through."""
_COUNT = re.compile(rb'"(progress|total)"\s*:\s*(-?\d{1,18}(?:\.\d{1,9})?)')
_PREFIX = {"retry": "again", "task": "task"}
_PEOPLE = ("elicitation/create", "sampling/createMessage")
_NOTIFIED = codes("notification", direction="in")


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
    brief: str = ""
    """The note where there is little room."""
    outcome: str = ""
    here: bool = False
    """What the detail is about."""


def timeline(recording: Recording, family: Node, here: int) -> tuple[Event, ...]:
    """The rows of a tree of requests, in their order; `here` is the number of the request that is looked at."""
    found: list[Event] = []
    for event in _events(recording, family, here):
        found.append(event)
        if len(found) == _MOST:
            found.append(Event(0, "and more"))
            break
    return tuple(found)


def span_of(events: tuple[Event, ...]) -> tuple[float, float]:
    """The first and the last moment of all rows."""
    times = [time for event in events if event.number for time in (event.begin, event.end, *event.ticks) if time]
    return (min(times), max(times)) if times else (0.0, 0.0)


def _events(recording: Recording, family: Node, here: int) -> Iterator[Event]:
    columns = recording.columns
    before, rounds = 0, 1
    for depth, node in walk(family):
        row = node.number - columns.first
        if not 0 <= row < len(columns):
            continue
        if node.relation == "http":
            if columns.direction_of(row) == "in":
                text = columns.methods.texts[columns.method[row]]
                yield Event(node.number, safe(text, 80), depth, "in", ticks=(columns.time[row],))
            continue
        entry = recording.entry(node.number)
        if entry is None:
            continue
        if node.relation == "note":
            text = safe(entry.body.decode("utf-8", "replace"), 200)
            yield Event(node.number, text, depth, "", ticks=(entry.time,))
            continue
        if node.relation == "round":
            yield from _between_rounds(recording, before or family.number, entry, depth)
        rounds += node.relation == "round"
        prefix = f"round {rounds}" if node.relation == "round" else _PREFIX.get(node.relation, "")
        yield _request(recording, entry, depth, prefix, node.number == here)
        if node.relation in ("root", "round"):
            before = node.number
        yield from _notified(recording, entry, depth + 1)
        if entry.kind == "request" and columns.link[row]:
            questions = outcomes.questions(recording.entry(columns.link[row]))
            yield from (Event(0, f"asked {text}", depth + 1) for text in questions)


def _request(recording: Recording, entry: WireMessage, depth: int, prefix: str, here: bool) -> Event:
    columns = recording.columns
    row = entry.number - columns.first
    words = (prefix, safe(entry.method or entry.kind, 80), safe(entry.target, 80))
    label = " ".join(filter(None, words))
    if entry.kind != "request":
        return Event(entry.number, label, depth, entry.direction, ticks=(entry.time,), note=units.size(entry.size))
    outcome = columns.outcome_of(row)
    answer = columns.link[row] - columns.first
    end = columns.time[answer] if 0 < answer < len(columns) else None
    note = brief = outcome
    if end is not None:
        took = units.duration((end - entry.time) * 1000)
        size = units.size(columns.size[answer])
        note, brief = (f"answered in {took}", took) if entry.direction == "in" else (f"{size} {outcome}", outcome)
        if entry.direction == "in" and entry.method in _PEOPLE and not _by_rule(recording, row, answer):
            note = f"you answered in {took}"
    return Event(entry.number, label, depth, entry.direction, entry.time, end, (), note, brief, outcome, here)


def _between_rounds(recording: Recording, earlier: int, entry: WireMessage, depth: int) -> Iterator[Event]:
    """What a person, or a rule, took to bring what the server wanted; and what it was."""
    columns = recording.columns
    answer = columns.link[earlier - columns.first] if earlier >= columns.first else 0
    row = answer - columns.first
    if 0 <= row < len(columns) and row < entry.number - columns.first:
        who = "" if _by_rule(recording, row, entry.number - columns.first) else "you "
        took = units.duration((entry.time - columns.time[row]) * 1000)
        yield Event(answer, "answer", depth, "", columns.time[row], entry.time, (), f"{who}answered in {took}", took)
    yield from (Event(0, f"answered {text}", depth + 1) for text in outcomes.answers(entry))


def _by_rule(recording: Recording, first: int, last: int) -> bool:
    """Whether a lifecycle event between two rows tells that something was answered by itself."""
    columns = recording.columns
    rows = rows_with(columns.kind, codes("note"), first, min(last + 1, first + _WIDEST))
    near = (row for row in rows if columns.server[row] == columns.server[first])
    notes = (recording.entry(columns.first + row) for row, _ in zip(near, range(20), strict=False))
    return any(b" answered by " in note.body for note in notes if note is not None)


def _notified(recording: Recording, entry: WireMessage, depth: int) -> Iterator[Event]:
    """Progress and log messages that came while a request of ours was open, one row for each kind."""
    columns = recording.columns
    if entry.kind != "request" or entry.direction != "out":
        return
    row = entry.number - columns.first
    last = columns.link[row] - columns.first if columns.link[row] else len(columns)
    found: dict[str, list[int]] = {"notifications/progress": [], "notifications/message": []}
    wanted = {number: name for name in found if (number := columns.methods.known(name)) is not None}
    server = columns.server[row]
    near = rows_with(columns.kind, _NOTIFIED, row, min(last, row + _WIDEST)) if wanted else iter(())
    looked = list(islice(near, _LOOKED_AT))
    for at in looked:
        if columns.method[at] in wanted and columns.server[at] == server:
            found[wanted[columns.method[at]]].append(at)
    token = token_of(entry)
    progress = found["notifications/progress"]
    over = "over " if len(looked) == _LOOKED_AT or len(progress) > _TOLD else ""
    if token:
        progress = [at for at in _some(progress) if token_of(recording.entry(columns.first + at)) == token]
        if progress:
            yield _ticks(columns, progress, f"progress, {over}{units.plural(len(progress), 'time')}", depth, _last(
                recording.entry(columns.first + progress[-1])))  # fmt: skip
    if logs := found["notifications/message"]:
        yield _ticks(columns, logs, over + units.plural(len(logs), "log message"), depth, "")


def _ticks(columns: Columns, rows: list[int], label: str, depth: int, note: str) -> Event:
    times = tuple(columns.time[row] for row in (rows[:: len(rows) // _TICKS + 1]))
    return Event(columns.first + rows[-1], label, depth, "in", times[0], times[-1], times, note)


def _some(rows: list[int]) -> list[int]:
    """At most so many as are read: the first ones, and the last."""
    return rows if len(rows) <= _TOLD else [*rows[: _TOLD - 1], rows[-1]]


def _last(entry: WireMessage | None) -> str:
    """`last 3 of 10`"""
    if entry is None or entry.size > 1_000_000:
        return ""
    said = {name: float(value) for name, value in _COUNT.findall(entry.body)}
    return f"last {progress_text(said[b'progress'], said.get(b'total'))}" if b"progress" in said else ""
