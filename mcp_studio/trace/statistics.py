"""Figures per server, method and target, from the columns of a trace.

A request counts when its answer has come, so that nothing is counted twice or has to be taken back.
"""

import math
import random
import re
import time
from array import array
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Literal, NamedTuple, TypeVar

from mcp_studio.trace import message as bits
from mcp_studio.trace.message import DIRECTIONS, GREETINGS, KINDS, OTHER, OUTCOMES, Columns, Recording
from mcp_studio.trace.postmortem import read

EXACT = 4_000
"""The most durations that are kept; beyond them a random sample is kept."""
LONGEST = 1e12
"""Milliseconds that durations stay below."""
BOUNDS = (
    0.1, 0.2, 0.5, 1, 2, 5,
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
)  # fmt: skip
"""Milliseconds that divide durations into buckets.

They are those of OpenTelemetry's conventions for MCP, with finer ones for servers on this machine.
"""


class Bar(NamedTuple):
    """One bar of a histogram."""

    begin: float
    """Milliseconds, exclusive."""
    end: float
    """Milliseconds, inclusive; infinite for the last bucket."""
    height: int
    """The number of durations."""


class Durations:
    """Statistics of durations, in at most 16 KB, however many there are."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        """The sum in milliseconds."""
        self.least = math.inf
        self.most = 0.0
        self.buckets = [0] * (len(BOUNDS) + 1)
        """The number of durations in each bucket: up to each of `BOUNDS`, and longer ones."""
        self._sample: array[float] = array("f")
        """The kept durations, ascending."""
        self._chance = random.Random(0)

    def add(self, ms: float) -> None:
        """Add a duration from 0 to `LONGEST` milliseconds."""
        self.count += 1
        self.total += ms
        self.least = min(self.least, ms)
        self.most = max(self.most, ms)
        self.buckets[bisect_left(BOUNDS, ms)] += 1
        if self.count > EXACT:
            if self._chance.random() * self.count >= EXACT:
                return
            del self._sample[self._chance.randrange(EXACT)]
        insort(self._sample, ms)

    def percentile(self, share: float) -> float | None:
        """The duration in milliseconds that this share stays below (nearest rank); None without durations."""
        rank = math.ceil(share * len(self._sample))
        return self._sample[max(0, rank - 1)] if self._sample else None

    def histogram(self) -> list[Bar]:
        """The bars of all buckets, without empty ones at the ends."""
        filled = [at for at, height in enumerate(self.buckets) if height]
        edges = (0.0, *BOUNDS, math.inf)
        whole = range(filled[0], filled[-1] + 1) if filled else ()
        return [Bar(edges[at], edges[at + 1], self.buckets[at]) for at in whole]


_CHANGING = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b|\d+(?:\.\d+)?")
_WEIGHT = 0.1
_ERRORS = 200
"""The numbers of the newest errors that are kept."""


class Link:
    """The connections to a server: each lasts until a note tells its end, or another one begins."""

    def __init__(self) -> None:
        self.reconnects = 0
        """Connections after the first one of a recording."""
        self.seen = 0.0
        """The time of the newest entry, in seconds since the epoch."""
        self._before = 0.0
        self._since = 0.0
        self._begun = 0

    def begin(self, method: str, request: int, number: int, at: float) -> None:
        """Record the answer to a handshake or discovery.

        While a connection lasts, only a handshake that was sent after its beginning opens another one, because a server
        of 2026-07-28 may be discovered any number of times.
        """
        if not self._since or (method == GREETINGS[0] and request > self._begun):
            self.reconnects += self._begun > 0
            self.end(self.seen)
            self._since, self._begun = at, number
        self.seen = at

    def end(self, at: float) -> None:
        """Record the end of the connection."""
        if self._since:
            self._before += max(0.0, at - self._since)
        self._since = 0.0

    def leave(self) -> None:
        """Record the end of the recording: later entries belong to another one."""
        self.end(self.seen)
        self._begun = 0

    def uptime(self, now: float = 0.0, *, last: bool = False) -> float:
        """Seconds of all connections, or of the last; one that lasts counts until `now`, or until its newest entry."""
        return self._before * (not last) + (max(0.0, (now or self.seen) - self._since) if self._since else 0.0)


class Tally:
    """Counters. A request counts once it is answered or given up, a notification at once."""

    def __init__(self) -> None:
        self.count = 0
        self.refused = 0
        """Requests that got a JSON-RPC error."""
        self.failed = 0
        """Calls of tools that ran and report a failure (`isError`)."""
        self.lost = 0
        """Requests without an answer, because the connection ended."""
        self.cancelled = 0
        """Requests that were given up; these are not errors."""
        self.notices = 0
        """For a server: notifications in both directions."""
        self.questions = 0
        """For a server: its own requests."""
        self.bytes_in = 0
        self.bytes_out = 0
        self.last = 0.0
        """The time of the newest counted message, in whole seconds since the epoch; 0 for never."""
        self.durations = Durations()
        self.average: float | None = None
        """The moving average in milliseconds: each new duration counts a tenth; None without durations."""
        self.wrong: deque[int] = deque(maxlen=_ERRORS)
        """Numbers of the newest entries with errors; for a request without an answer its own number."""

    @cached_property
    def link(self) -> Link:
        """For a server: its connections."""
        return Link()

    @property
    def errors(self) -> int:
        """Requests that were refused, failed or lost."""
        return self.refused + self.failed + self.lost

    @property
    def error_rate(self) -> float:
        """The share of errors, from 0 to 1; cancelled requests count neither as good nor as bad."""
        settled = self.count - self.cancelled
        return self.errors / settled if settled > 0 else 0.0

    @property
    def p50(self) -> float | None:
        """The median in milliseconds; None without durations."""
        return self.durations.percentile(0.5)

    @property
    def p95(self) -> float | None:
        """The 95th percentile in milliseconds; None without durations."""
        return self.durations.percentile(0.95)

    @property
    def p99(self) -> float | None:
        """The 99th percentile in milliseconds; None without durations."""
        return self.durations.percentile(0.99)

    def end(self, second: int, ms: float | None) -> None:
        """Count a message; with its duration if it was answered without a person's time in it."""
        self.count += 1
        if second:
            self.last = max(self.last, second)
        if ms is not None:
            self.durations.add(ms)
            self.average = ms if self.average is None else self.average + _WEIGHT * (ms - self.average)


NAMED: Mapping[str, Literal["tool", "prompt", "resource"]] = {
    "tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource",
}  # fmt: skip
"""Requests whose targets have figures of their own, with the kind of target."""


class Method(NamedTuple):
    """The key of a method's counters."""

    server: str
    method: str
    theirs: bool = False
    """Whether the method is a request of the server."""
    notice: bool = False
    """Whether the method is a notification."""


class Target(NamedTuple):
    """The key of a target's counters."""

    server: str
    method: str
    target: str


BUDGET = 0.008
"""Seconds of one `look`, so that keys and screen do not wait."""
_CHUNK = 512
"""Rows between two looks at the clock."""
MOST = 1_000
"""The most targets, and the most methods, with figures of their own; further ones are counted together."""
_OPEN = 20_000
"""The most open requests and unclassified frames that are remembered."""
_OURS, _THEIRS, _NOTICE, _LOOSE = range(4)
"""The side of a message: a request of ours, a request of the server, a notification, an answer without a request."""
_REQUEST, _NOTIFICATION, _RESULT, _ERROR, _INVALID, _NOTE = (
    KINDS.index(kind) for kind in ("request", "notification", "result", "error", "invalid", "note")
)
_IN, _NONE = DIRECTIONS.index("in"), DIRECTIONS.index("none")
_FAILED, _REFUSED, _CANCELLED, _LOST = (
    OUTCOMES.index(outcome) + 1 for outcome in ("tool error", "error", "cancelled", "lost")
)
_K = TypeVar("_K", str, Method, Target)


class Meter(NamedTuple):
    """One metric of some servers, or of the tools, prompts and resources that were used."""

    name: str
    unit: str
    about: str
    counter: bool
    """Whether the metric only grows."""
    points: Sequence[tuple[Target, float | Durations]]
    """The values; a target without a method is a whole server."""


class Numbers:
    """The figures of a running or past trace; `look` updates them.

    The memory is bounded: `MOST` targets and methods, at most 32 KB each. Entries that the trace drops stay counted.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._next = 0
        self._open: dict[int, None] = {}
        self.start = 0
        """Seconds since the epoch of the first counted message; 0 without one."""
        self.total = Tally()
        """All requests of ours except handshakes."""
        self.servers: defaultdict[str, Tally] = defaultdict(Tally)
        """Requests of ours except handshakes, by server; the bytes are those of all messages."""
        self.methods: defaultdict[Method, Tally] = defaultdict(Tally)
        self.targets: defaultdict[Target, Tally] = defaultdict(Tally)
        self.revision = 0
        """A number that changes with every count."""

    @property
    def behind(self) -> int:
        """The number of entries that were not counted yet."""
        columns = self._recording.columns
        return max(0, columns.first + len(columns) - max(self._next, columns.first))

    def of(self, server: str, method: str, target: str) -> Tally | None:
        """The figures of one tool, prompt or resource; None before its first use."""
        return self.targets.get(Target(server, method, target))

    def add(self, recording: Recording) -> None:
        """Count another recording too. From now on, numbers of entries are those of that recording."""
        self._recording, self._next, self._open = recording, 0, {}
        for server in self.servers.values():
            server.link.leave()
        for tally in chain((self.total,), self.servers.values(), self.methods.values(), self.targets.values()):
            tally.wrong.clear()
        self.look(math.inf)

    def look(self, budget: float = BUDGET) -> bool:
        """Count new entries; False when some must wait for the next look.

        Args:
            budget: seconds after which it stops; some hundred entries are always counted.
        """
        until = time.perf_counter() + budget
        columns = self._recording.columns
        self._next = max(self._next, columns.first)
        while (row := self._next - columns.first) < len(columns):
            end = min(row + _CHUNK, len(columns))
            self._next += end - row
            self.take(columns, range(row, end))
            if time.perf_counter() > until:
                return False
        self._come_back(columns)
        return True

    def take(self, columns: Columns, rows: Iterable[int]) -> None:
        """Count rows, in ascending order."""
        for row in rows:
            kind = columns.kind[row]
            if kind & 15 <= _ERROR and kind >> 4 != _NONE:
                self._message(columns, row, kind & 15, kind >> 4 == _IN)
            elif kind & 15 == _NOTE:
                self._record_note(columns, row)
            elif kind & 15 == _INVALID and row > len(columns) - _CHUNK:  # the frame may be classified in a moment
                self._open[row + columns.first] = None
        while len(self._open) > _OPEN:
            del self._open[next(iter(self._open))]
        self.revision += 1

    def _message(self, columns: Columns, row: int, kind: int, inward: bool) -> None:
        link, outcome, number = columns.link[row], columns.outcome[row], row + columns.first
        if kind == _NOTIFICATION:
            side = _NOTICE
        elif kind == _REQUEST:
            side = _THEIRS if inward else _OURS
        else:
            side = (_OURS if inward else _THEIRS) if link else _LOOSE
        tallies = self._tallies(columns, row, side)
        for tally in {self.total, self._server(columns, row), *tallies}:
            if inward:
                tally.bytes_in += columns.size[row]
            else:
                tally.bytes_out += columns.size[row]
        if kind == _REQUEST:
            if not link and outcome >= _CANCELLED:
                self._given_up(columns, row, side)
            elif not link:
                self._open[number] = None
        elif side != _LOOSE:
            self._open.pop(link, None)
            self._count_end(columns, row, side)
            failed = outcome == _FAILED
            if failed or ((outcome == _REFUSED or kind == _ERROR) and not columns.flags[row] & bits.PROBE):
                for tally in tallies:
                    tally.failed += failed
                    tally.refused += not failed
                    tally.wrong.append(number)

    def _record_note(self, columns: Columns, row: int) -> None:
        """Record a note, which may tell the end of a connection."""
        link, entry = self._server(columns, row).link, self._recording.entry(row + columns.first)
        link.seen = columns.time[row]
        if entry is not None and read(entry) is not None:
            link.end(link.seen)

    def _count_end(self, columns: Columns, row: int, side: int) -> None:
        """Count a notification, an answer, or a request that was given up."""
        at = columns.time[row]
        second = int(at) if math.isfinite(at) else 0  # a foreign file may hold anything
        self.start = self.start or second
        ms = columns.ms(row)
        if ms is not None and columns.flags[columns.link[row] - columns.first] & bits.ASKED:
            ms = None
        for tally in self._tallies(columns, row, side):
            tally.end(second, ms if ms is None or ms < LONGEST else 0.0)
        server, method = self._server(columns, row), columns.methods.texts[columns.method[row]]
        server.notices += side == _NOTICE
        server.questions += side == _THEIRS
        server.link.seen = at
        if method in GREETINGS and columns.kind[row] & 15 == _RESULT:
            server.link.begin(method, columns.link[row], row + columns.first, at)

    def _given_up(self, columns: Columns, row: int, side: int) -> None:
        """Count a request that gets no answer."""
        self._count_end(columns, row, side)
        for tally in self._tallies(columns, row, side):
            if columns.outcome[row] == _LOST:
                tally.lost += 1
                tally.wrong.append(row + columns.first)
            else:
                tally.cancelled += 1

    def _come_back(self, columns: Columns) -> None:
        """Count remembered requests that were given up, and frames that are classified by now."""
        for number in tuple(self._open):
            row = number - columns.first
            if row < 0:
                del self._open[number]
            elif columns.kind[row] & 15 not in (_REQUEST, _INVALID):
                del self._open[number]
                self.take(columns, (row,))
            elif columns.outcome[row] in (_CANCELLED, _LOST):
                del self._open[number]
                side = _THEIRS if columns.kind[row] >> 4 == _IN else _OURS
                self._given_up(columns, row, side)
                self.revision += 1

    def _server(self, columns: Columns, row: int) -> Tally:
        return _of(self.servers, columns.servers.texts[columns.server[row]], OTHER)

    def _tallies(self, columns: Columns, row: int, side: int) -> list[Tally]:
        """The counters that an entry increases."""
        server, method = columns.servers.texts[columns.server[row]], columns.methods.texts[columns.method[row]]
        found: list[Tally] = []
        if side == _OURS and method not in bits.UNTIMED:
            found += [self.total, self._server(columns, row)]
        if side != _LOOSE:
            key = Method(server, method, side == _THEIRS, side == _NOTICE)
            found.append(_of(self.methods, key, key._replace(method=OTHER)))
        if side == _OURS and method in NAMED:
            target = Target(server, method, columns.targets.texts[columns.target[row]])
            found.append(_of(self.targets, target, target._replace(target=OTHER)))
        return found


def _of(known: defaultdict[_K, Tally], key: _K, other: _K) -> Tally:
    """The counters of a key; beyond `MOST` keys, those of all others."""
    if key not in known and len(known) >= MOST:
        key = other
    return known[key]


def numbers_of(recording: Recording, entries: Iterable[int]) -> Numbers:
    """The figures of some entries; for a request its answer counts too, and the other way round.

    Entries that are not kept are left out.
    """
    columns = recording.columns
    first, length = columns.first, len(columns)
    rows = {number - first for number in entries if first <= number < first + length}
    rows |= {link - first for row in rows if (link := columns.link[row]) and first <= link < first + length}
    numbers = Numbers(recording)
    numbers.take(columns, sorted(rows))
    return numbers


def pattern_of(text: str) -> str:
    """A text without the parts that change each time; a code at its beginning stays."""
    code = re.match(r"-?\d+ ", text)
    head = code[0] if code else ""
    return head + _CHANGING.sub("#", text[len(head) :])
