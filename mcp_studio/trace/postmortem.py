"""What is known when a server has died or a connection has dropped, put together from the trace."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

from mcp_studio.record import record
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Recording, WireMessage

How = Literal[
    "exit", "signal", "guard", "stdout", "stdin", "stalled", "refused", "dropped", "status", "timeout", "session",
    "closed", "other",
]  # fmt: skip
ENDED_NOTE = "the connection ended: "
"""How the note on the end of a connection that is no process of ours begins, behind the server's name."""


class Ending(NamedTuple):
    """How it ended; `code` is an exit code, the number of a signal or an HTTP status."""

    how: How
    code: int = 0
    text: str = ""
    """The sentence that it was read from."""

    @property
    def gone(self) -> bool:
        """A process of ours is over."""
        return self.how in ("exit", "signal", "guard", "stdout", "stdin", "stalled")


_PROCESS: tuple[tuple[How, re.Pattern[str]], ...] = (
    ("exit", re.compile(r"ended with exit code (\d+)")),
    ("signal", re.compile(r"was ended by (?:signal )?(SIG[A-Z0-9]+|\d+)")),
    ("guard", re.compile(r"ended together with its guard")),
    ("stdout", re.compile(r"has closed its standard output")),
    ("stdin", re.compile(r"has closed its standard input")),
    ("stalled", re.compile(r"has not read its input for")),
)
_REMOTE: tuple[tuple[How, re.Pattern[str]], ...] = (
    ("session", re.compile(r"no longer knows the session")),
    ("refused", re.compile(r"the connection was refused|does not resolve|No connection to ")),
    ("dropped", re.compile(r"(?:closed|reset) the (?:connection|WebSocket)|hung up|ended (?:before|the stream)")),
    ("dropped", re.compile(r"connection .*ended")),
    ("timeout", re.compile(r"\bwithin [\d.]+ ?s|does not read what is sent")),
)
_STATUS = re.compile(r"HTTP status (\d{3})\b")


def read(server: str, text: str) -> Ending | None:
    """What a note says of the end of a server; None where it is about something else.

    Only what stands right behind the server's name counts: further on, a note may quote the server.
    """
    if not text.startswith(f"{server} "):
        return None
    rest = text[len(server) + 1 :]
    if rest.startswith(ENDED_NOTE):
        return of_words(rest.removeprefix(ENDED_NOTE))
    for how, words in _PROCESS:
        if found := words.match(rest):
            code = found[1] if words.groups else "0"
            return Ending(how, int(code) if code.isdecimal() else int(getattr(signal, code, 0)), text)
    return None


def of_words(text: str, status: int = 0) -> Ending:
    """What the sentence of a failure over the network means."""
    if not status and (found := _STATUS.search(text[:400])):
        status = int(found[1])
    for how, words in _REMOTE:
        if words.search(text[:400]):
            return Ending(how, status, text)
    return Ending("status" if status else "other", status, text)


def of_failure(error: Exception) -> Ending:
    """How a connection ended that is no process of ours."""
    return of_words(str(getattr(error, "message", error)), int(getattr(error, "status", 0)))


_FRAMES, _STDERR, _STRAY = 8, 20, 8
"""How many of the last frames and lines are kept."""
_FLIGHTS = 50
_SCANNED = 20_000
"""Entries that are looked at, at most."""
_HEAD = 400
"""Bytes kept of a body."""
_LARGE = 64 * 1024
"""The head of a larger body that is not in memory is not read for this."""
_STARTED = re.compile(r"started (.*) as process ", re.S)
_NOTE = KINDS.index("note") | DIRECTIONS.index("none") << 4
_LOST = OUTCOMES.index("lost") + 1


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
    flights: tuple[WireMessage, ...] = ()
    """The requests that had no answer when it ended."""
    stderr: tuple[str, ...] = ()
    """How the last lines of standard error begin, the oldest of them first."""
    stray: tuple[str, ...] = ()
    """The same of the last lines on standard output that were no protocol."""
    stray_count: int = 0
    frames: tuple[WireMessage, ...] = ()
    """The last messages in both directions, the oldest of them first."""

    @property
    def uptime(self) -> float | None:
        """Seconds from its start to its end."""
        return max(0.0, self.time - self.began) if self.began else None

    def waited(self, flight: WireMessage) -> float:
        """Milliseconds for which a request had been waiting for its answer."""
        return max(0.0, self.time - flight.time) * 1000


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
) -> Mortem:
    """Gather what the trace has of a connection.

    Args:
        first: the number of the connection's first entry.
        last: the number of its last one; 0 is the newest that there is.
        time: when it ended; 0 takes the time of its last entry.
    """
    last = min(last or trace.total, trace.total)
    columns = trace.columns
    numbers = list(_back(trace, server, max(first, trace.first_number, last - _SCANNED), last))
    ended = time or (columns.time[numbers[0] - columns.first] if numbers else 0.0)
    found: dict[str, list[int]] = {"stderr": [], "stray": [], "note": [], "frame": [], "lost": []}
    for number in numbers:
        row = number - columns.first
        kind = columns.kind_of(row)
        if not (kind == "http" and columns.target[row]):
            # What signing in asks of other servers says nothing about the end of this one.
            found[kind if kind in found else "frame"].append(number)
        if kind == "request" and columns.outcome[row] == _LOST:
            found["lost"].append(number)
    lost, stderr, stray, frames = (
        _entries(trace, found[kind][:most])
        for kind, most in (("lost", _FLIGHTS), ("stderr", _STDERR), ("stray", _STRAY), ("frame", _FRAMES))
    )
    return Mortem(
        server, ending, ended, _began(trace, server, first), last, ready, message or ending.text, lost,
        tuple(map(head_of, stderr)), tuple(map(head_of, stray)), len(found["stray"]), frames,
    )  # fmt: skip


def endings(trace: Recording, server: str = "", most: int = 50) -> list[Mortem]:
    """The endings that a trace tells of in its notes, newest first; all servers where none is named."""
    notes = ((note, read(note.server, head_of(note, 2_000))) for note in _notes(trace, server))
    ended = islice(((note, ending) for note, ending in notes if ending is not None), most)
    return [
        examine(trace, note.server, ending, first=_start_before(trace, note), last=note.number)
        for note, ending in ended
    ]


def command_of(trace: Recording, server: str) -> str:
    """The command that a server was started with last, as a line; empty where it was not started by us."""
    starts = (_STARTED.match(head_of(note, 2_000)) for note in _notes(trace, server))
    return next((start[1] for start in starts if start), "")


# ---------------------------------------------------------------------- reading the trace


def _back(trace: Recording, server: str, first: int, last: int) -> Iterator[int]:
    """The numbers of a server's entries, newest first."""
    columns = trace.columns
    wanted = columns.servers.get(server)
    for number in range(last, max(first, columns.first) - 1, -1):
        if columns.server[number - columns.first] == wanted:
            yield number


def _notes(trace: Recording, server: str = "", below: int = 0) -> Iterator[WireMessage]:
    """Notes on a server, or on all of them, newest first."""
    columns = trace.columns
    wanted, kinds = columns.servers.get(server), columns.kind.tobytes()
    end = below - columns.first if below else len(columns)
    for _ in range(_SCANNED):
        if (end := kinds.rfind(_NOTE, 0, max(0, end))) < 0:
            return
        entry = trace.entry(columns.first + end) if not server or columns.server[end] == wanted else None
        if entry is not None:
            yield entry


def _start_before(trace: Recording, end: WireMessage) -> int:
    """The number of the note on the start of what ended."""
    for note in _notes(trace, end.server, end.number):
        text = head_of(note, 2_000)
        if _STARTED.match(text):
            return note.number
        if read(end.server, text) is not None:
            return note.number + 1
    return trace.first_number


def _began(trace: Recording, server: str, first: int) -> float:
    """The time of a connection's first entry; 0 where that is gone."""
    columns = trace.columns
    wanted, rows = columns.servers.get(server), range(max(0, first - columns.first), len(columns))
    return next((columns.time[row] for row in rows if columns.server[row] == wanted), 0.0)


def _entries(trace: Recording, newest_first: list[int]) -> tuple[WireMessage, ...]:
    """Entries by their numbers, the oldest first."""
    return tuple(entry for number in reversed(newest_first) if (entry := trace.entry(number)) is not None)


def head_of(one: WireMessage, most: int = _HEAD) -> str:
    """How its body begins: foreign text."""
    if one.size > _LARGE and not isinstance(one.held, bytes):
        return ""
    return one.body[:most].decode("utf-8", "replace").rstrip("\r\n")
