"""What is known when a server has died or a connection has dropped, put together from the trace."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from mcp_studio.record import record
from mcp_studio.trace.message import (
    DIRECTIONS,
    KINDS,
    LISTEN,
    OUTCOMES,
    Direction,
    MessageKind,
    Recording,
    Span,
    WireMessage,
)

if TYPE_CHECKING:
    from mcp_studio.jsontext import Json

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


_PROCESS = re.compile(
    r"(?:ended with exit code (?P<exit>\d+)|was ended by (?P<signal>SIG[A-Z0-9]+|signal \d+)"
    r"|(?P<guard>ended together with its guard)|has closed its standard (?P<pipe>output|input)"
    r"|(?P<stalled>has not read its input for))"
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
        return of_words(rest[len(ENDED_NOTE) :])
    found = _PROCESS.match(rest)
    if found is None:
        return None
    if found["exit"]:
        return Ending("exit", int(found["exit"]), text)
    if found["signal"]:
        return Ending("signal", _number(found["signal"]), text)
    if found["pipe"]:
        return Ending("stdout" if found["pipe"] == "output" else "stdin", 0, text)
    return Ending("guard" if found["guard"] else "stalled", 0, text)


def of_words(text: str, status: int = 0) -> Ending:
    """What the sentence of a failure over the network means."""
    if not status and (found := _STATUS.search(text[:400])):
        status = int(found[1])
    for how, words in _REMOTE:
        if words.search(text[:400]):
            return Ending(how, status, text)
    return Ending("status" if status else "other", status, text)


def _number(name: str) -> int:
    if name.startswith("signal "):
        return int(name.removeprefix("signal "))
    return int(getattr(signal, name, 0))


_HEADLINES: dict[How, str] = {
    "exit": "ended with exit code {code}",
    "signal": "was ended by {signal}",
    "guard": "ended together with its guard",
    "stdout": "closed its standard output, though it was still running",
    "stdin": "closed its standard input, though it was still running",
    "stalled": "did not read its input any more",
    "refused": "could not be reached",
    "dropped": "dropped the connection",
    "session": "no longer knows the session",
    "status": "answered with HTTP status {code}",
    "timeout": "did not answer in time",
    "closed": "was closed by the studio",
    "other": "is not connected any more",
}


def headline(ending: Ending) -> str:
    """How it ended, without the server's name: `ended with exit code 3`, `was ended by SIGSEGV`."""
    return _HEADLINES[ending.how].format(code=ending.code, signal=signal_name(ending.code))


def signal_name(number: int) -> str:
    """`SIGSEGV`; `signal 40` where it has no name here."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_SIGNALS = {
    "SIGSEGV": "It touched memory that is not its own: a crash in native code, its own or that of a library.",
    "SIGBUS": "It touched memory that is not there: a crash in native code, or a mapped file that was cut short.",
    "SIGILL": "It ran an instruction that this processor does not have: often a build for another machine.",
    "SIGFPE": "It calculated what cannot be: often a division by zero in native code.",
    "SIGABRT": "It gave up by itself (abort): a failed assertion, a panic, or memory that was damaged.",
    "SIGKILL": "It was killed from outside: by the system when memory ran out, by a container's limit, or by somebody.",
    "SIGTERM": "Something asked it to end: a supervisor, a container that stops, or somebody.",
    "SIGINT": "It was interrupted, as Ctrl+C does.",
    "SIGHUP": "Its terminal or session went away.",
    "SIGPIPE": "It wrote to a pipe that nobody reads any more.",
    "SIGSYS": "It made a system call that a sandbox forbids.",
}
_CODES = {
    0: "It ended as a program does that is done. A server has to go on reading its input until that ends.",
    1: "The usual code for any error; what it said last often tells which.",
    2: "Often the code for arguments that are wrong.",
    126: "The code of a shell for a command that cannot be run.",
    127: "The code of a shell for a command that it does not find.",
    3221225477: "The code of Windows for an access violation: a crash in native code.",
    3221225786: "The code of Windows for Ctrl+C.",
}
_HOWS: dict[How, str] = {
    "stdout": "Nothing that it says can be read any more, so the studio ended it.",
    "stdin": "Nothing can be sent to it any more, so the studio ended it.",
    "stalled": "Its pipe was full, so the studio ended it: it is busy, or waits for something itself.",
    "guard": "The process that watches over the servers is gone, and they went with it.",
    "refused": "Nothing listens at its address: it is not running, or it listens elsewhere.",
    "dropped": "It ended, was restarted, or something between here and there cut the connection.",
    "session": "It was restarted, or has forgotten the session after some time.",
    "timeout": "It is busy, or waits for something itself.",
}


def meaning(ending: Ending) -> str:
    """What that usually means, in a sentence; empty where nothing is known of it."""
    if ending.how == "signal":
        return _SIGNALS.get(signal_name(ending.code), "")
    if ending.how == "exit":
        if known := _CODES.get(ending.code):
            return known
        if 128 < ending.code < 128 + 65:
            name = signal_name(ending.code - 128)
            more = _SIGNALS.get(name, "")
            return f"128 and {ending.code - 128}: a program that it had started was ended by {name}. {more}".rstrip()
        return ""
    if ending.how == "status" and ending.code >= 500:
        return "The server, or a proxy before it, is in trouble."
    return _HOWS.get(ending.how, "")


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
_NOTE = re.compile(re.escape(bytes([KINDS.index("note") | DIRECTIONS.index("none") << 4])))
_LOST = re.compile(re.escape(bytes([OUTCOMES.index("lost") + 1])))
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
    columns, numbers = trace.columns, list(_back(trace, server, max(first, trace.first_number), last, reach))
    ended = time or (columns.time[numbers[0] - columns.first] if numbers else 0.0)
    stderr, stray, frames = list[int](), list[int](), list[int]()
    for number in numbers:
        row = number - columns.first
        kind = columns.kind_of(row)
        if kind == "stderr":
            stderr.append(number)
        elif kind == "stray":
            stray.append(number)
        elif kind in _MESSAGES and not (kind == "http" and columns.target[row]):
            frames.append(number)  # what signing in asks of other servers says nothing about the end of this one
    return Mortem(
        server,
        ending,
        ended,
        _began(trace, server, first),
        last,
        ready,
        message or ending.text,
        tuple(_flight(span, ended) for span in _lost(trace, server, first, last)),
        tuple(map(_printed, _entries(trace, stderr[:_STDERR]))),
        tuple(map(_printed, _entries(trace, stray[:_STRAY]))),
        len(stray),
        tuple(map(_frame, _entries(trace, frames[:_FRAMES]))),
    )


def endings(trace: Recording, server: str = "", most: int = 50) -> list[Mortem]:
    """The endings that a trace tells of in its notes, newest first; all servers where none is named."""
    notes = ((note, read(note.server, _text(note))) for note in _notes(trace, server))
    ended = islice(((note, ending) for note, ending in notes if ending is not None), most)
    return [
        examine(trace, note.server, ending, first=_start_before(trace, note), last=note.number)
        for note, ending in ended
    ]


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


def _notes(trace: Recording, server: str = "", below: int = 0) -> Iterator[WireMessage]:
    """Notes on a server, or on all of them, newest first."""
    columns = trace.columns
    wanted = columns.servers.known(server)
    end = below - columns.first if below else len(columns)
    rows = [found.start() for found in _NOTE.finditer(columns.kind.tobytes(), 0, end)]
    for row in reversed(rows[-_SCANNED:]):
        entry = trace.entry(columns.first + row) if not server or columns.server[row] == wanted else None
        if entry is not None:
            yield entry


def _start_before(trace: Recording, end: WireMessage) -> int:
    """The number of the note on the start of what ended."""
    for note in _notes(trace, end.server, end.number):
        text = _text(note)
        if text.startswith(_STARTED[0]) and _STARTED[1] in text:
            return note.number
        if read(end.server, text) is not None:
            return note.number + 1
    return trace.first_number


def _began(trace: Recording, server: str, first: int) -> float:
    """The time of a connection's first entry; 0 where that is gone."""
    columns = trace.columns
    wanted, rows = columns.servers.known(server), range(max(0, first - columns.first), len(columns))
    return next((columns.time[row] for row in rows if columns.server[row] == wanted), 0.0)


def _lost(trace: Recording, server: str, first: int, last: int) -> list[Span]:
    """The requests that stayed without an answer, in their order."""
    columns = trace.columns
    start, end = max(0, first - columns.first), last - columns.first + 1
    rows = (found.start() for found in _LOST.finditer(columns.outcome.tobytes(), start, end))
    entries = (trace.entry(columns.first + row) for row in rows if columns.kind_of(row) == "request")
    spans = (entry.span for entry in entries if entry is not None and entry.server == server)
    # A subscription stays open, and nobody waits for it.
    return [span for span in spans if span is not None and span.method != LISTEN][-_FLIGHTS:]


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


def span_text(seconds: float) -> str:
    """How long something was: `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 10 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"


def first_line(one: Mortem) -> str:
    """`files ended with exit code 3 after 12 s`."""
    when = "" if one.uptime is None else f" after {span_text(one.uptime)}"
    start = "" if one.ready else ", while it was starting"
    return f"{one.server} {headline(one.ending)}{when}{start}"


def short(one: Mortem) -> str:
    """The same for a row under the server's name: `ended with exit code 3, 2 requests lost`."""
    lost = len(one.flights)
    more = f", {lost} request{'s' if lost > 1 else ''} lost" if lost else ""
    return f"{headline(one.ending)}{more}"


def means(one: Mortem) -> str:
    """What that usually means; of a server that closed its connection on purpose and the like nothing is said."""
    return meaning(one.ending)


def flight(one: Flight) -> str:
    """`tools/call add, for 1.2 s`."""
    who = "" if one.direction == "out" else ", asked by the server"
    what = f"{one.method} {one.target}".strip()
    return f"{what}{who}, for {span_text(one.ms / 1000)}"


def facts(one: Mortem) -> Iterator[tuple[str, str]]:
    """Names and values, in short: what was in flight, and what the server said last. Values quote the server."""
    if one.uptime is not None:
        yield "ran", f"for {span_text(one.uptime)}" + ("" if one.ready else ", and was not ready yet")
    if text := means(one):
        yield "means", text
    for item in one.flights[:5]:
        yield "in flight", flight(item)
    if len(one.flights) > 5:
        yield "in flight", f"and {len(one.flights) - 5} more"
    if one.stray_count:
        count = f"{one.stray_count:,} line{'s' if one.stray_count > 1 else ''}"
        last = f", the last: {one.stray[-1].text}" if one.stray else ""
        yield "stdout", f"{count} besides the protocol{last}"
    for line in one.stderr[-3:]:
        yield "stderr", line.text


def as_json(one: Mortem) -> dict[str, Json]:
    """The same for programs."""
    return {
        "how": one.ending.how, "code": one.ending.code, "text": headline(one.ending), "means": means(one),
        "ready": one.ready, "uptime": None if one.uptime is None else round(one.uptime, 3),
        "inFlight": [
            {"method": item.method, "target": item.target, "id": item.id, "ms": round(item.ms, 1)}
            for item in one.flights
        ],
        "stderr": [line.text for line in one.stderr],
        "stray": [line.text for line in one.stray], "strayCount": one.stray_count,
    }  # fmt: skip
