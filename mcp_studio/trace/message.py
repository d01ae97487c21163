"""What crossed the wire, as it is kept: redacted, numbered, timed."""

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
"""Requests that open a connection: the first of them may be tried in vain."""
LISTEN = "subscriptions/listen"
"""A request that is open as long as the connection: that it ends with it is no error."""
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
"""What comes first on it."""
UNTIMED = frozenset((*GREETINGS, LISTEN))
"""Requests whose time says how long a server takes to start, or stays open, not how long it takes to answer."""


@record()
class WireMessage:
    """One entry of the trace. `body` is redacted on entry and otherwise exactly what crossed the wire."""

    number: int
    """Counts from 1 over all servers, without gaps."""
    time: float
    """Seconds since the epoch."""
    server: str
    direction: Direction
    kind: MessageKind
    held: bytes | Callable[[], bytes]
    """The body, or what gets it from where it is kept."""
    size: int
    """Bytes on the wire, before redaction."""
    method: str = ""
    target: str = ""
    """Tool, prompt or URI that a request is about."""
    id: int | str | None = None
    exchange: int = 0
    """The HTTP exchange it belongs to, 0 on stdio."""
    probe: bool = False
    """Part of finding out which era the server speaks."""
    by_hand: bool = False
    """A person wrote the frame, or it answers one of those; whatever is wrong with it is meant."""
    span: Span | None = None
    findings: tuple[Finding, ...] = ()
    """What the lint says about it."""

    @property
    def body(self) -> bytes:
        """Redacted and otherwise what crossed the wire; of an earlier entry it is read from disk, each time."""
        return self.held if isinstance(self.held, bytes) else self.held()

    @body.setter
    def body(self, body: bytes) -> None:
        self.held = body


@record()
class Span:
    """A request and what answered it."""

    number: int
    server: str
    direction: Direction
    """Who asked: `out` is us."""
    method: str
    target: str
    request: WireMessage
    response: WireMessage | None = None
    parent: Span | None = None
    """For a request of the server: our call that was open at that time."""
    asked: bool = False
    """The server asked something meanwhile, so that a person's time may be in its own."""
    outcome: Outcome = "open"
    needs_input: bool = False
    """It is no end: the server wants input before it goes on."""
    follows: Span | None = None
    """The earlier round of the same conversation: the server wanted input before it went on."""
    round: int = 1
    """Which round of its conversation it is."""

    @property
    def ms(self) -> float | None:
        """Milliseconds from request to response, None while open; the clock may have been set back meanwhile."""
        return abs(self.response.time - self.request.time) * 1000 if self.response else None


OTHER = "…"
"""Stands for every text that came when there were too many different ones."""


class Names(dict[str, int]):
    """Gives texts numbers from 0, which is the empty one; bounded in number and in size.

    `names[text]` is the number of a text, a new one where it is new; `names.get(text)` that of one which has one.

    Args:
        most: different texts; further ones are `OTHER`.
        size: characters of all of them together.
    """

    def __init__(self, most: int = 60_000, size: int = 4_000_000) -> None:
        self._most = most
        self._room = size
        super().__init__({"": 0, OTHER: 1})
        self.texts: list[str] = ["", OTHER]

    def __missing__(self, text: str) -> int:
        return len(self.texts) - 1 if self.append(text) else 1

    def append(self, text: str) -> bool:
        """Give a text the next number, although it may have one; False where there are too many."""
        if len(self.texts) >= self._most or len(text) > self._room:
            return False
        self._room -= len(text)
        self.setdefault(text, len(self.texts))
        self.texts.append(text)
        return True


PROBE, BY_HAND, ASKED, MARKED, COMMENTED, NEEDS_INPUT = 1, 2, 4, 8, 16, 128
"""Bits of `flags`; `ASKED`: on a request, a person's time may be in its duration; `NEEDS_INPUT`: on request and answer,
the server wants input before it goes on."""
SEVERITY = 5
"""Two further bits of `flags`, `flags >> SEVERITY & 3`: the worst finding, 0 none, 1 hint, 2 warning, 3 error."""
_REVISED = 100_000
"""Entries whose later changes are remembered."""
CODES = {"time": "d", "size": "I", "server": "H", "method": "H", "target": "I", "kind": "B", "flags": "B",
         "outcome": "B", "link": "I", "exchange": "I"}  # fmt: skip
"""The columns and the machine types of their values (see `array`), little-endian where they are stored."""


class Columns:
    """One array per column; row 0 is the entry with the number `first`.

    Another thread takes a `snapshot`, for rows move when the oldest go. Nobody may keep a `memoryview` of an array: it
    could not grow then.
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
        """The place in `KINDS`, and in the upper four bits the place in `DIRECTIONS`."""
        self.flags: array[int] = array("B")
        self.outcome: array[int] = array("B")
        """Of the span that an entry is an end of: 1 and the place in `OUTCOMES`; 0 for others."""
        self.link: array[int] = array("I")
        """Of a request its answer's number, of an answer its request's; else 0."""
        self.exchange: array[int] = array("I")
        self.servers, self.methods, self.targets = Names(60_000, 500_000), Names(60_000), Names(200_000, 8_000_000)
        self.parents: dict[int, int] = {}
        """Of a request, the number of the request that it came under."""
        self.follows: dict[int, int] = {}
        """Of a request, the number of the earlier round of its conversation."""
        self._revised: array[int] = array("I")
        self._forgotten = 0

    def __len__(self) -> int:
        return len(self.time)

    def arrays(self) -> Iterator[tuple[str, array[int] | array[float]]]:
        """All columns with their names."""
        for name in CODES:
            yield name, getattr(self, name)

    def kind_of(self, row: int) -> str:
        """See `message.MessageKind`."""
        return KINDS[self.kind[row] & 15]

    def direction_of(self, row: int) -> str:
        """See `message.Direction`."""
        return DIRECTIONS[self.kind[row] >> 4]

    def outcome_of(self, row: int) -> str:
        """See `message.Outcome`; empty for what is no end of a span."""
        return OUTCOMES[self.outcome[row] - 1] if self.outcome[row] else ""

    def ms(self, row: int) -> float | None:
        """Milliseconds from request to answer, of either of them; None where there is none, or it is not kept."""
        other = self.link[row] - self.first
        if not self.link[row] or not 0 <= other < len(self.time):
            return None
        return abs(self.time[other] - self.time[row]) * 1000

    def snapshot(self) -> Columns:
        """The same arrays for another thread: rows keep their places in it, whatever is trimmed meanwhile."""
        taken = Columns.__new__(Columns)
        taken.__dict__.update(self.__dict__)
        taken.parents, taken.follows = dict(self.parents), dict(self.follows)
        return taken

    def trim(self, first: int) -> None:
        """Forget the rows of entries with lower numbers. Snapshots keep theirs: the arrays are replaced."""
        rows = min(first - self.first, len(self.time))
        if rows <= 0:
            return
        for name, values in self.arrays():
            setattr(self, name, values[rows:])
        self.first = first
        for links in (self.parents, self.follows):
            # Nearly in order: one that is not goes with those after it.
            for number in list(takewhile(first.__gt__, links)):
                del links[number]

    def revise(self, number: int) -> None:
        """Something of a captured entry has changed: tell who asks `revised_since`."""
        self._revised.append(number)
        if len(self._revised) > 2 * _REVISED:
            self._forgotten += _REVISED
            del self._revised[:_REVISED]

    def revised_since(self, place: int) -> tuple[int, array[int]]:
        """Where the list of changes has got to, and the numbers of the entries that changed since it was at `place`.

        A number may come several times; what was changed before it was captured is not among them. Begin with the
        place that `revised_since(0)` gives. Of very many changes only the newest are known.
        """
        return self._forgotten + len(self._revised), self._revised[max(0, place - self._forgotten) :]


class Block(NamedTuple):
    """The bodies of some neighbouring entries."""

    first: int
    """The number of the first of them."""
    bodies: list[bytes]
    """One that is large stands elsewhere, and is empty here: see `Reader.body`."""


class Reader(Protocol):
    """Reads bodies and findings; to be used by one thread only, and closed there."""

    def blocks(self, below: int) -> Iterator[Block]:
        """All bodies of entries with numbers under `below`, the newest block first."""
        ...

    def body(self, number: int) -> bytes:
        """The body of one entry; empty where it is not kept any more."""
        ...

    def findings(self, number: int) -> tuple[Finding, ...]:
        """What the lint says about one entry."""
        ...

    def close(self) -> None:
        """No more reading."""


class Recording(Protocol):
    """Entries numbered without gaps; index 0 is the entry with the number `first_number`."""

    @property
    def columns(self) -> Columns:
        """What is known of every entry; to be asked for again rather than kept."""
        ...

    @property
    def total(self) -> int:
        """The number of the newest entry."""
        ...

    @property
    def revision(self) -> int:
        """Changes with everything that changes."""
        ...

    @property
    def first_number(self) -> int:
        """The number of the oldest entry kept."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> WireMessage: ...

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number, its span with it; None when it is not kept."""
        ...

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body, also of what is large and on disk, without blocking the event loop."""
        ...

    def reader(self) -> Reader:
        """For another thread; made on the event loop, it knows all entries up to that moment."""
        ...

    def mark(self, number: int, on: bool) -> None:
        """Mark an entry, or no longer."""

    def comment(self, number: int, text: str) -> None:
        """Keep a comment on an entry; empty removes it."""

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or nothing."""
        ...
