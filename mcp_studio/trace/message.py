"""The entries of a trace: redacted, numbered, timed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Literal, NamedTuple, Protocol, get_args

from mcp_studio.record import record
from mcp_studio.trace.lint.rules import Finding

Direction = Literal["out", "in", "none"]
MessageKind = Literal["request", "notification", "result", "error", "invalid", "http", "stderr", "stray", "note"]
Outcome = Literal["open", "ok", "tool error", "error", "cancelled", "lost"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
KINDS: tuple[MessageKind, ...] = get_args(MessageKind)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
GREETINGS = ("initialize", "server/discover")
"""Requests that open a connection: the first one may fail because the server is of the other era."""
LISTEN = "subscriptions/listen"
"""A request that stays open as long as the connection; its end with the connection is not an error."""
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
"""The first message on a subscription."""
UNTIMED = frozenset((*GREETINGS, LISTEN))
"""Requests whose duration does not tell how fast a server answers, because it is that of a start or of a stream."""


@record()
class WireMessage:
    """One entry of the trace. Apart from redaction, `body` is exactly what crossed the wire."""

    number: int
    """The number of the entry, from 1 over all servers, without gaps."""
    time: float
    """Seconds since the epoch."""
    server: str
    direction: Direction
    kind: MessageKind
    held: bytes | Callable[[], bytes]
    """The body, or a function that reads it."""
    size: int
    """Bytes on the wire, before redaction."""
    method: str = ""
    target: str = ""
    """The tool, prompt or URI that a request concerns."""
    id: int | str | None = None
    exchange: int = 0
    """The HTTP exchange of the entry; 0 on stdio."""
    probe: bool = False
    """Whether the entry belongs to finding out the server's era."""
    by_hand: bool = False
    """Whether a person wrote the frame, or it answers such a frame; its faults are intended."""
    span: Span | None = None
    findings: tuple[Finding, ...] = ()
    """The findings of the lint."""

    @property
    def body(self) -> bytes:
        """The redacted body; for an entry that has left the memory, each access reads it from disk."""
        return self.held if isinstance(self.held, bytes) else self.held()

    @body.setter
    def body(self, body: bytes) -> None:
        self.held = body


@record()
class Span:
    """A request with its answer."""

    number: int
    server: str
    direction: Direction
    """The direction of the request: `out` is one of ours."""
    method: str
    target: str
    request: WireMessage
    response: WireMessage | None = None
    parent: Span | None = None
    """The call of ours that was open when the server sent this request."""
    asked: bool = False
    """Whether the server asked something meanwhile, so that the duration may contain a person's time."""
    outcome: Outcome = "open"
    needs_input: bool = False
    """Whether the answer is not the end, because the server wants input before it continues."""
    follows: Span | None = None
    """The earlier round of the same conversation, in which the server wanted input."""
    round: int = 1
    """The number of the round in its conversation."""

    @property
    def ms(self) -> float | None:
        """Milliseconds from request to response, None while open; absolute, as the clock may have been set back."""
        return abs(self.response.time - self.request.time) * 1000 if self.response else None


OTHER = "…"
"""Replaces every further text once there are too many different ones."""


class Names(dict[str, int]):
    """Numbers texts from 0, the empty one; bounded in number and in size.

    `names[text]` returns the number of a text, and numbers a new one; `names.get(text)` only looks it up.

    Args:
        most: the most different texts; further ones become `OTHER`.
        size: the characters of all texts together.
    """

    def __init__(self, most: int = 60_000, size: int = 4_000_000) -> None:
        self._most = most
        self._room = size
        super().__init__({"": 0, OTHER: 1})
        self.texts: list[str] = ["", OTHER]

    def __missing__(self, text: str) -> int:
        return len(self.texts) - 1 if self.append(text) else 1

    def append(self, text: str) -> bool:
        """Give a text the next number, even if it has one already; False where there are too many texts."""
        if len(self.texts) >= self._most or len(text) > self._room:
            return False
        self._room -= len(text)
        self.setdefault(text, len(self.texts))
        self.texts.append(text)
        return True


PROBE, BY_HAND, ASKED, MARKED, COMMENTED, NEEDS_INPUT = 1, 2, 4, 8, 16, 128
"""Bits of `flags`.

`ASKED`: the duration of a request may contain a person's time; `NEEDS_INPUT`: on request and answer, the server wants
input before it continues.
"""
SEVERITY = 5
"""The position of two further bits of `flags`, `flags >> SEVERITY & 3`: the worst finding, 0 none to 3 error."""
_REVISED = 100_000
"""The number of changed entries that are remembered."""
CODES = {"time": "d", "size": "I", "server": "H", "method": "H", "target": "I", "kind": "B", "flags": "B",
         "outcome": "B", "link": "I", "exchange": "I"}  # fmt: skip
"""The columns with the machine types of their values (see `array`), little-endian in files."""


class Columns:
    """One array per column; row 0 is the entry with the number `first`.

    Another thread takes a `snapshot`, because rows move when the oldest are trimmed. A `memoryview` of an array must
    not be kept, because the array could not grow.
    """

    def __init__(self, first: int = 1) -> None:
        self.first = first
        self.time: array[float] = array("d")
        """Seconds since the epoch."""
        self.size: array[int] = array("I")
        """Bytes on the wire."""
        self.server: array[int] = array("H")
        self.method: array[int] = array("H")
        self.target: array[int] = array("I")
        self.kind: array[int] = array("B")
        """The index in `KINDS`, and in the upper four bits the index in `DIRECTIONS`."""
        self.flags: array[int] = array("B")
        self.outcome: array[int] = array("B")
        """The outcome of an entry's span: 1 + the index in `OUTCOMES`; 0 without a span."""
        self.link: array[int] = array("I")
        """The number of a request's answer, or of an answer's request; else 0."""
        self.exchange: array[int] = array("I")
        self.servers, self.methods, self.targets = Names(60_000, 500_000), Names(60_000), Names(200_000, 8_000_000)
        self.parents: dict[int, int] = {}
        """The number of the parent, by the request's number."""
        self.follows: dict[int, int] = {}
        """The number of the earlier round, by the request's number."""
        self._revised: array[int] = array("I")
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self.time)

    def kind_of(self, row: int) -> str:
        """The `message.MessageKind` of a row."""
        return KINDS[self.kind[row] & 15]

    def direction_of(self, row: int) -> str:
        """The `message.Direction` of a row."""
        return DIRECTIONS[self.kind[row] >> 4]

    def outcome_of(self, row: int) -> str:
        """The `message.Outcome` of a row; empty without a span."""
        return OUTCOMES[self.outcome[row] - 1] if self.outcome[row] else ""

    def ms(self, row: int) -> float | None:
        """Milliseconds from request to answer, for either of them; None where one of them is missing."""
        other = self.link[row] - self.first
        if not self.link[row] or not 0 <= other < len(self.time):
            return None
        return abs(self.time[other] - self.time[row]) * 1000

    def snapshot(self) -> Columns:
        """The arrays for another thread: rows keep their places in it, whatever is trimmed meanwhile."""
        taken = Columns.__new__(Columns)
        taken.__dict__.update(self.__dict__)
        taken.parents, taken.follows = dict(self.parents), dict(self.follows)
        return taken

    def trim(self, first: int) -> None:
        """Drop the rows of entries with lower numbers. Snapshots keep theirs, because the arrays are replaced."""
        rows = min(first - self.first, len(self.time))
        if rows <= 0:
            return
        for name in CODES:
            setattr(self, name, getattr(self, name)[rows:])
        self.first = first
        for links in (self.parents, self.follows):
            # Links are nearly in order: one that is not is deleted later, with those around it.
            for number in list(takewhile(first.__gt__, links)):
                del links[number]

    def revise(self, number: int) -> None:
        """Record that a captured entry has changed, for `revised_since`."""
        self._revised.append(number)
        if len(self._revised) > 2 * _REVISED:
            self._forgotten += _REVISED
            del self._revised[:_REVISED]

    def revised_since(self, place: int) -> tuple[int, array[int]]:
        """The present place in the list of changes, and the numbers of the entries that changed since `place`.

        A number may occur several times. The first place comes from `revised_since(0)`. Of very many changes only the
        newest are known.
        """
        return self._forgotten + len(self._revised), self._revised[max(0, place - self._forgotten) :]


def codes(*kinds: str, direction: str = "") -> bytes:
    """The bytes of the column `kind` for some kinds, in one direction or in all."""
    ways = [place for place, name in enumerate(DIRECTIONS) if direction in ("", name)]
    return bytes(place | way << 4 for place, kind in enumerate(KINDS) if kind in kinds for way in ways)


def rows_with(column: array[int], wanted: bytes, first: int, last: int) -> Iterator[int]:
    """The rows from `first` to before `last` whose byte in a column is among the wanted bytes, in order."""
    first = max(0, first)
    return (row for row, value in enumerate(column[first : max(first, last)], first) if value in wanted)


class Block(NamedTuple):
    """The bodies of some neighbouring entries."""

    first: int
    """The number of the first entry."""
    bodies: list[bytes]
    """The bodies; a large one is stored elsewhere, and empty here: see `Reader.body`."""


class Reader(Protocol):
    """Reads bodies and findings; used and closed by one thread."""

    def blocks(self, below: int) -> Iterator[Block]:
        """The bodies of all entries below a number, the newest block first."""
        ...

    def body(self, number: int) -> bytes:
        """The body of an entry; empty where it is no longer kept."""
        ...

    def findings(self, number: int) -> tuple[Finding, ...]:
        """The lint's findings on an entry."""
        ...

    def close(self) -> None:
        """Release the reader."""


class Recording(Protocol):
    """Entries numbered without gaps; index 0 is the entry with the number `first_number`."""

    @property
    def columns(self) -> Columns:
        """The columns of all entries; callers ask again instead of keeping them."""
        ...

    @property
    def total(self) -> int:
        """The number of the newest entry."""
        ...

    @property
    def revision(self) -> int:
        """A number that changes with every change."""
        ...

    @property
    def first_number(self) -> int:
        """The number of the oldest entry that is kept."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> WireMessage: ...

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number, with its span; None where it is not kept."""
        ...

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body, also a large one on disk, without blocking the event loop."""
        ...

    def reader(self) -> Reader:
        """A reader for another thread; made on the event loop, it has all entries up to that moment."""
        ...

    def mark(self, number: int, on: bool) -> None:
        """Set or remove the mark of an entry."""

    def comment(self, number: int, text: str) -> None:
        """Set the comment on an entry; an empty one removes it."""

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or an empty text."""
        ...
