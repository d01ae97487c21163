"""The facts about a dead server or a lost connection, collected from the trace."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple, cast, get_args

from mcp_studio.record import record
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Recording, WireMessage

How = Literal[
    "exit", "signal", "guard", "stdout", "stdin", "stalled", "refused", "dropped", "status", "timeout", "session",
    "closed", "other",
]  # fmt: skip


class Ending(NamedTuple):
    """The way a connection ended; `code` is an exit code, the number of a signal or an HTTP status."""

    how: How
    code: int = 0

    @property
    def gone(self) -> bool:
        """Whether a local server's process ended."""
        return self.how in ("exit", "signal", "guard", "stdout", "stdin", "stalled")


def read(note: WireMessage) -> Ending | None:
    """The ending that a note tells; None where it is about something else, or was recorded by an older studio."""
    how, _, code = note.method.partition(" ")
    return Ending(cast("How", how), int(code)) if how in get_args(How) and code.isdecimal() else None


_FRAMES, _STDERR, _STRAY = 8, 20, 8
"""The most frames and lines that are kept."""
_FLIGHTS, _ENDINGS = 50, 50
_SCANNED = 20_000
"""The most entries that are examined."""
_HEAD = 400
"""Bytes that are kept of a body."""
_LARGE = 64 * 1024
"""Bytes of the largest body that is read from disk for its beginning."""
_NOTE = KINDS.index("note") | DIRECTIONS.index("none") << 4
_LOST = OUTCOMES.index("lost") + 1


@record(frozen=True)
class Mortem:
    """The end of one connection, or of one HTTP exchange."""

    server: str
    ending: Ending
    time: float
    """The time of the end, in seconds since the epoch."""
    began: float
    """The time of the start or of the first message; 0 where it is unknown."""
    last: int
    """The entry that tells the end, or the newest entry at that time."""
    ready: bool = True
    """Whether the server had been connected; otherwise it ended while it started."""
    message: str = ""
    """A sentence on the reason, which may quote the server."""
    flights: tuple[WireMessage, ...] = ()
    """The requests without an answer at the end."""
    stderr: tuple[str, ...] = ()
    """The beginnings of the last lines of standard error, oldest first."""
    stray: tuple[str, ...] = ()
    """The beginnings of the last stray lines on standard output, oldest first."""
    stray_count: int = 0
    frames: tuple[WireMessage, ...] = ()
    """The last messages in both directions, oldest first."""

    @property
    def uptime(self) -> float | None:
        """Seconds from the start to the end; None where the start is unknown."""
        return max(0.0, self.time - self.began) if self.began else None

    def waited(self, flight: WireMessage) -> float:
        """Milliseconds for which a request had waited at the end."""
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
    """Collect what the trace has on a connection.

    Args:
        first: the number of the connection's first entry.
        last: the number of its last entry; 0 means the newest of the trace.
        time: the time of the end; 0 takes that of the last entry.
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
            # Requests of the sign-in go to other servers, and tell nothing about the end of this one.
            found[kind if kind in found else "frame"].append(number)
        if kind == "request" and columns.outcome[row] == _LOST:
            found["lost"].append(number)
    lost, stderr, stray, frames = (
        _entries(trace, found[kind][:most])
        for kind, most in (("lost", _FLIGHTS), ("stderr", _STDERR), ("stray", _STRAY), ("frame", _FRAMES))
    )
    return Mortem(
        server, ending, ended, _began(trace, server, first), last, ready, message, lost,
        tuple(map(head_of, stderr)), tuple(map(head_of, stray)), len(found["stray"]), frames,
    )  # fmt: skip


def endings(trace: Recording, server: str = "") -> list[Mortem]:
    """The endings that a trace's notes tell, newest first; of all servers where none is named."""
    notes = ((note, read(note)) for note in _notes(trace, server))
    ended = islice(((note, ending) for note, ending in notes if ending is not None), _ENDINGS)
    return [
        examine(
            trace, note.server, ending, first=_start_before(trace, note), last=note.number, message=head_of(note, 2_000)
        )
        for note, ending in ended
    ]


def command_of(trace: Recording, server: str) -> str:
    """The command line that started a server last; empty where no process was started."""
    return next((note.target for note in _notes(trace, server) if note.method == "started"), "")


# ---------------------------------------------------------------------- reading the trace


def _back(trace: Recording, server: str, first: int, last: int) -> Iterator[int]:
    """The numbers of a server's entries, newest first."""
    columns = trace.columns
    wanted = columns.servers.get(server)
    for number in range(last, max(first, columns.first) - 1, -1):
        if columns.server[number - columns.first] == wanted:
            yield number


def _notes(trace: Recording, server: str = "", below: int = 0) -> Iterator[WireMessage]:
    """The notes on a server, or on all servers, newest first."""
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
    """The number of the note on the start of a connection that ended."""
    for note in _notes(trace, end.server, end.number):
        if note.method == "started":
            return note.number
        if read(note) is not None:
            return note.number + 1
    return trace.first_number


def _began(trace: Recording, server: str, first: int) -> float:
    """The time of a connection's first entry; 0 where the entry is gone."""
    columns = trace.columns
    wanted, rows = columns.servers.get(server), range(max(0, first - columns.first), len(columns))
    return next((columns.time[row] for row in rows if columns.server[row] == wanted), 0.0)


def _entries(trace: Recording, newest_first: list[int]) -> tuple[WireMessage, ...]:
    """Entries by their numbers, oldest first."""
    return tuple(entry for number in reversed(newest_first) if (entry := trace.entry(number)) is not None)


def head_of(one: WireMessage, most: int = _HEAD) -> str:
    """The beginning of an entry's body: foreign text."""
    if one.size > _LARGE and not isinstance(one.held, bytes):
        return ""
    return one.body[:most].decode("utf-8", "replace").rstrip("\r\n")
