"""What is known when a server has died or a connection has dropped, put together from the trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mcp_studio.record import record
from mcp_studio.trace.ending import Ending, of_words, read
from mcp_studio.trace.message import DIRECTIONS, KINDS, LISTEN, OUTCOMES, Direction, MessageKind, Span, WireMessage
from mcp_studio.trace.recording import Recording

_FRAMES, _STDERR, _STRAY = 8, 20, 8
"""How many of the last frames and lines are kept."""
_FLIGHTS = 50
_SCANNED = 20_000
"""Entries that are looked at, at most."""
_HEAD = 400
"""Bytes kept of a body."""
_LARGE = 64 * 1024
"""The head of a larger body that is not in memory is not read for this."""
_STARTED = "started ", " as process "
_NOTE = bytes([KINDS.index("note") | DIRECTIONS.index("none") << 4])
_LOST = bytes([OUTCOMES.index("lost") + 1])
_MESSAGES: frozenset[str] = frozenset(("request", "notification", "result", "error", "invalid", "http"))


class Flight(NamedTuple):
    """A request that had no answer when it ended."""

    number: int
    """Its entry in the trace."""
    direction: Direction
    """`out` is a request of ours."""
    method: str
    target: str
    id: int | str | None
    ms: float
    """How long it had been waiting."""
    time: float
    """When it was sent, in seconds since the epoch."""


class Frame(NamedTuple):
    """One of the last messages."""

    number: int
    time: float
    direction: Direction
    kind: MessageKind
    method: str
    target: str
    size: int
    head: str
    """How its body begins: foreign text."""


class Printed(NamedTuple):
    """A line that the server wrote: foreign text."""

    number: int
    time: float
    text: str


@record(frozen=True)
class Mortem:
    """The end of one connection, or of one exchange over HTTP."""

    server: str
    ending: Ending
    time: float
    """When it ended, in seconds since the epoch."""
    began: float
    """When it was started or first spoken to; 0 where that is not known."""
    last: int
    """The entry of the trace that tells of the end, or the newest one at that time."""
    ready: bool = True
    """It had been connected; else it ended while it was starting."""
    message: str = ""
    """Why, in a sentence; may quote the server."""
    flights: tuple[Flight, ...] = ()
    stderr: tuple[Printed, ...] = ()
    """The last lines of standard error, the oldest of them first."""
    stray: tuple[Printed, ...] = ()
    """The last lines on standard output that were no protocol."""
    stray_count: int = 0
    frames: tuple[Frame, ...] = ()
    """The last messages in both directions, the oldest of them first."""

    @property
    def uptime(self) -> float | None:
        """Seconds from its start to its end."""
        return max(0.0, self.time - self.began) if self.began else None


def examine(
    trace: Recording,
    server: str,
    ending: Ending,
    *,
    first: int = 1,
    last: int = 0,
    ready: bool = True,
    message: str = "",
    time: float = 0.0,
    reach: int = _SCANNED,
) -> Mortem:
    """Gather what the trace has of a connection.

    Args:
        first: the number of the connection's first entry.
        last: the number of its last one; 0 is the newest that there is.
        time: when it ended; 0 takes the time of its last entry.
        reach: entries that are looked at, at most.
    """
    last = min(last or trace.total, trace.total)
    numbers = list(_back(trace, server, max(first, trace.first_number), last, reach))
    ended = time or (_time(trace, numbers[0]) if numbers else 0.0)
    began = _time(trace, numbers[-1]) if numbers and last - first <= reach else _began(trace, server, first)
    spans = _lost(trace, server, first, last)
    columns = trace.columns
    kinds = [columns.kind_of(number - columns.first) for number in numbers]
    stray = [number for number, kind in zip(numbers, kinds, strict=True) if kind == "stray"]
    stderr = [number for number, kind in zip(numbers, kinds, strict=True) if kind == "stderr"]
    frames = [
        number
        for number, kind in zip(numbers, kinds, strict=True)
        # What signing in asks of other servers says nothing about the end of this one.
        if kind in _MESSAGES and not (kind == "http" and columns.target[number - columns.first])
    ]
    return Mortem(
        server, ending, ended, began, last, ready, message or ending.text,
        tuple(_flight(span, ended) for span in spans),
        tuple(map(_printed, _entries(trace, stderr[:_STDERR]))),
        tuple(map(_printed, _entries(trace, stray[:_STRAY]))), len(stray),
        tuple(map(_frame, _entries(trace, frames[:_FRAMES]))),
    )  # fmt: skip


def endings(trace: Recording, server: str = "", most: int = 50) -> list[Mortem]:
    """The endings that a trace tells of in its notes, newest first; all servers where none is named."""
    found: list[Mortem] = []
    for note in _notes(trace, server):
        ending = read(note.server, _text(note))
        if ending is not None:
            first = _start_before(trace, note)
            found.append(examine(trace, note.server, ending, first=first, last=note.number))
            if len(found) >= most:
                break
    return found


def command_of(trace: Recording, server: str) -> str:
    """The command that a server was started with last, as a line; empty where it was not started by us."""
    for note in _notes(trace, server):
        text = _text(note)
        if text.startswith(_STARTED[0]) and _STARTED[1] in text:
            return text.removeprefix(_STARTED[0]).rsplit(_STARTED[1], 1)[0]
    return ""


def of_failure(error: Exception) -> Ending:
    """How a connection ended that is no process of ours."""
    return of_words(str(getattr(error, "message", error)), int(getattr(error, "status", 0)))


# ---------------------------------------------------------------------- reading the trace


def _back(trace: Recording, server: str, first: int, last: int, reach: int = _SCANNED) -> Iterator[int]:
    """The numbers of a server's entries, newest first."""
    columns = trace.columns
    wanted = columns.servers.known(server)
    if wanted is None:
        return
    for number in range(last, max(first, columns.first, last - reach) - 1, -1):
        if columns.server[number - columns.first] == wanted:
            yield number


def _entries(trace: Recording, newest_first: list[int]) -> list[WireMessage]:
    """Entries by their numbers, the oldest first."""
    found = (trace.entry(number) for number in reversed(newest_first))
    return [entry for entry in found if entry is not None]


def _time(trace: Recording, number: int) -> float:
    return trace.columns.time[number - trace.columns.first]


def _notes(trace: Recording, server: str) -> Iterator[WireMessage]:
    columns = trace.columns
    wanted = columns.servers.known(server) if server else None
    if server and wanted is None:
        return
    kinds, seen = columns.kind.tobytes(), 0
    row = kinds.rfind(_NOTE)
    while row >= 0 and seen < _SCANNED:
        if not server or columns.server[row] == wanted:
            seen += 1
            if (entry := trace.entry(columns.first + row)) is not None:
                yield entry
        row = kinds.rfind(_NOTE, 0, row)


def _start_before(trace: Recording, end: WireMessage) -> int:
    """The number of the note that tells of the start of what ended."""
    for note in _notes_below(trace, end):
        text = _text(note)
        if text.startswith(_STARTED[0]) and _STARTED[1] in text:
            return note.number
        if read(end.server, text) is not None:
            return note.number + 1
    return trace.first_number


def _notes_below(trace: Recording, end: WireMessage) -> Iterator[WireMessage]:
    columns = trace.columns
    for number in _back(trace, end.server, trace.first_number, end.number - 1):
        if columns.kind_of(number - columns.first) == "note" and (entry := trace.entry(number)) is not None:
            yield entry


def _began(trace: Recording, server: str, first: int) -> float:
    """The time of a connection's first entry, which is further back than what was looked at; 0 where it is not kept."""
    columns = trace.columns
    wanted = columns.servers.known(server)
    for row in range(max(0, first - columns.first), len(columns)):
        if columns.server[row] == wanted:
            return columns.time[row]
    return 0.0


def _lost(trace: Recording, server: str, first: int, last: int) -> list[Span]:
    """The requests that stayed without an answer, in their order."""
    found: list[Span] = []
    columns = trace.columns
    outcomes, start = columns.outcome.tobytes(), max(0, first - columns.first)
    row = outcomes.rfind(_LOST, start, last - columns.first + 1)
    while row >= 0 and len(found) < _FLIGHTS:
        entry = trace.entry(columns.first + row) if columns.kind_of(row) == "request" else None
        span = entry.span if entry is not None and entry.server == server else None
        if span is not None and span.method != LISTEN:  # which stays open, and nobody waits for
            found.append(span)
        row = outcomes.rfind(_LOST, start, row)
    return found[::-1]


def _flight(span: Span, ended: float) -> Flight:
    asked = span.request
    waited = max(0.0, ended - asked.time) * 1000
    return Flight(asked.number, span.direction, span.method, span.target, asked.id, waited, asked.time)


def _frame(one: WireMessage) -> Frame:
    return Frame(one.number, one.time, one.direction, one.kind, one.method, one.target, one.size, _head(one))


def _printed(one: WireMessage) -> Printed:
    return Printed(one.number, one.time, _head(one))


def _head(one: WireMessage) -> str:
    if one.size > _LARGE and not isinstance(one.held, bytes):
        return ""
    return one.body[:_HEAD].decode("utf-8", "replace").rstrip("\r\n")


def _text(one: WireMessage) -> str:
    return one.body[:2_000].decode("utf-8", "replace")
