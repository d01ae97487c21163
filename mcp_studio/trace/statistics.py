"""Counts what crossed the wire, per server, method and target, from the columns of a trace.

An entry that is answered later counts when its answer has come, so that nothing is ever counted twice and nothing has
to be taken back.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from mcp_studio.trace.durations import LONGEST, Durations
from mcp_studio.trace.message import ASKED, DIRECTIONS, KINDS, LISTEN, OTHER, OUTCOMES, PROBE, UNTIMED, Columns

BUCKETS = 240
"""Of one series, at most; when they are full, two and two become one."""
_RECENT = 16
"""Seconds that are kept one by one."""
_ERRORS = 200
"""Numbers of the newest errors that are known one by one."""
_BARS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#%"


class Axis:
    """The time axis that all series of one trace share."""

    def __init__(self) -> None:
        self.start = 0
        """Seconds since the epoch at which it begins; 0 until there is something."""


class Series:
    """Counts over time, and the newest seconds one by one."""

    def __init__(self) -> None:
        self._width = 1
        self._counts: Counter[int] = Counter()
        self._recent: Counter[int] = Counter()

    def add(self, second: int) -> None:
        """One more in this second since the epoch."""
        self._counts[second // self._width] += 1
        self._recent[second] += 1
        while len(self._counts) > BUCKETS:
            self._width *= 2
            counts, self._counts = self._counts, Counter()
            for place, count in counts.items():
                self._counts[place // 2] += count
        if len(self._recent) > 2 * _RECENT:
            self._recent = Counter({second: self._recent[second] for second in sorted(self._recent)[-_RECENT:]})

    def shape(self, axis: Axis, until: float, bars: int) -> list[int]:
        """Counts from the start of the axis to a moment, in at most so many bars."""
        span = max(1, int(until) - axis.start + 1)
        found = [0] * min(bars, BUCKETS, span)
        for place, count in self._counts.items():
            since = max(0, place * self._width - axis.start)
            found[min(len(found) - 1, since * len(found) // span)] += count
        return found

    def recent(self, now: float, seconds: int = 10) -> float:
        """How many a second over the newest whole seconds before a moment."""
        return sum(self._recent[second] for second in range(int(now) - seconds, int(now))) / seconds


def sparkline(counts: Iterable[int], *, ascii: bool = False) -> str:
    """A cell for each count, as high as it is compared to the largest; a space for none."""
    values = list(counts)
    most = max(values, default=0)
    signs = _PLAIN if ascii else _BARS
    return "".join(signs[(value * len(signs) - 1) // most] if value else " " for value in values)


class Tally:
    """What is counted. A request counts once it is answered or given up, a notification at once."""

    def __init__(self) -> None:
        self.count = 0
        self.refused = 0
        """JSON-RPC errors."""
        self.failed = 0
        """Tools that ran and say that they failed (`isError`)."""
        self.lost = 0
        """Requests whose answer will never come: the connection ended."""
        self.cancelled = 0
        """Requests that were given up; these are no errors."""
        self.notices = 0
        """Of a server: notifications, in both directions."""
        self.questions = 0
        """Of a server: requests of its own."""
        self.bytes_in = 0
        self.bytes_out = 0
        self.last = 0.0
        """When the newest came to its end, in whole seconds since the epoch; 0 for never."""
        self.durations = Durations()
        self.apart: Durations | None = None
        """Where the server asked something meanwhile: a person's time may be in these, they are not in `durations`."""
        self.series = Series()
        self.wrong: deque[int] = deque(maxlen=_ERRORS)
        """Numbers of the newest entries that tell of errors; of a request without an answer its own."""
        self._percentiles: tuple[int, list[float | None]] = 0, [None] * 3

    @property
    def errors(self) -> int:
        """Refused, failed and lost ones."""
        return self.refused + self.failed + self.lost

    @property
    def error_rate(self) -> float:
        """From 0 to 1; those that were cancelled count neither as good nor as bad."""
        settled = self.count - self.cancelled
        return self.errors / settled if settled > 0 else 0.0

    @property
    def p50(self) -> float | None:
        """Milliseconds that half of them stayed under; None without any."""
        return self._share(0)

    @property
    def p95(self) -> float | None:
        """The same for 95 of 100."""
        return self._share(1)

    @property
    def p99(self) -> float | None:
        """The same for 99 of 100."""
        return self._share(2)

    @property
    def most(self) -> float | None:
        """The longest, in milliseconds."""
        return self.durations.most if self.durations.count else None

    @property
    def bytes(self) -> int:
        """Of requests and answers together."""
        return self.bytes_in + self.bytes_out

    def rate(self, axis: Axis, now: float | None) -> float:
        """How many a second: over the newest 10 seconds before `now`, or without it over the time of the whole trace.

        Args:
            axis: that of the numbers that it is part of.
        """
        if now is not None:
            return self.series.recent(now)
        return self.count / max(1.0, self.last - axis.start) if axis.start else 0.0

    def end(self, second: int, ms: float | None, asked: bool) -> None:
        """One came to its end; with a duration where it was answered."""
        self.count += 1
        if second:
            self.last = max(self.last, second)
            self.series.add(second)
        if ms is not None and asked:
            self.apart = self.apart or Durations()
            self.apart.add((ms,))
        elif ms is not None:
            self.durations.add((ms,))

    def _share(self, place: int) -> float | None:
        count = self.durations.count
        if self._percentiles[0] != count:  # a table is sorted by it at each look
            self._percentiles = count, self.durations.percentiles(0.5, 0.95, 0.99)
        return self._percentiles[1][place]


NAMED = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
"""Requests whose target has figures of its own, and what it is."""


class Method(NamedTuple):
    """What a tally of methods is of."""

    server: str
    method: str
    theirs: bool = False
    """A request of the server."""
    notice: bool = False
    """A notification."""


class Target(NamedTuple):
    """What a tally of targets is of."""

    server: str
    method: str
    target: str


class _Goals(NamedTuple):
    """The tallies that a message counts for."""

    whole: tuple[Tally, ...]
    """For these it is one more."""
    bytes: tuple[Tally, ...]
    """For these its bytes alone count."""
    server: Tally


BUDGET = 0.008
"""Seconds that one look takes at most, so that keys and the screen do not wait."""
_CHUNK = 512
"""Rows between two looks at the clock."""
MOST = 1_000
"""Different targets, and as many methods, that have figures of their own; further ones are counted together."""
_GOALS = 10_000
_OPEN = 20_000
"""Requests without an answer, and frames that are not understood yet, that are come back to."""
_OURS, _THEIRS, _NOTICE, _LOOSE = range(4)
"""Requests of ours, of the server; notifications; answers to nothing."""
_REQUEST, _NOTIFICATION, _ERROR, _INVALID = (
    KINDS.index(kind) for kind in ("request", "notification", "error", "invalid")
)
_IN = DIRECTIONS.index("in")
_FAILED, _REFUSED, _CANCELLED, _LOST = (
    OUTCOMES.index(outcome) + 1 for outcome in ("tool error", "error", "cancelled", "lost")
)
_K = TypeVar("_K", str, Method, Target)


class _Trace(Protocol):
    @property
    def columns(self) -> Columns: ...


class Numbers:
    """The figures of a trace, past or running; give it time now and then with `look`.

    Bounded in memory: `MOST` targets and methods, at most 32 KB each. What the trace drops stays counted.
    """

    def __init__(self, recording: _Trace) -> None:
        self._recording = recording
        self._next = 0
        self._open: dict[int, None] = {}
        self._goals: dict[tuple[int, int, int, int], _Goals] = {}
        self.axis = Axis()
        self.total = Tally()
        """All requests of ours, but for handshakes."""
        self.servers: dict[str, Tally] = {}
        """Requests of ours, but for handshakes; their bytes are those of all messages."""
        self.methods: dict[Method, Tally] = {}
        self.targets: dict[Target, Tally] = {}
        self.revision = 0
        """Changes with everything that is counted."""

    @property
    def behind(self) -> int:
        """Entries that were not looked at yet."""
        columns = self._recording.columns
        return max(0, columns.first + len(columns) - max(self._next, columns.first))

    @property
    def open(self) -> int:
        """Requests without an answer, in both directions."""
        return len(self._open)

    @property
    def until(self) -> float:
        """When the newest entry came that was looked at, in seconds since the epoch."""
        columns = self._recording.columns
        row = min(self._next - columns.first, len(columns)) - 1
        return columns.time[row] if row >= 0 else float(self.axis.start)

    def of(self, server: str, method: str, target: str) -> Tally | None:
        """The figures of one tool, prompt or resource; None before it was used."""
        return self.targets.get(Target(server, method, target))

    def look(self, budget: float = BUDGET) -> bool:
        """Take over what is new; False when some of it has to wait for the next look.

        Args:
            budget: seconds after which it stops; at least some hundred entries are looked at.
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
        """Take over rows in ascending order."""
        for row in rows:
            kind = columns.kind[row]
            if kind & 15 <= _ERROR:
                self._message(columns, row, kind & 15, kind >> 4 == _IN)
            elif kind & 15 == _INVALID and row > len(columns) - _CHUNK:  # it may be understood in a moment
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
        goals = self._goals_of(columns, row, side)
        for tally in (*goals.whole, *goals.bytes):
            if inward:
                tally.bytes_in += columns.size[row]
            else:
                tally.bytes_out += columns.size[row]
        if kind == _REQUEST:
            if not link and outcome >= _CANCELLED:
                self._given_up(columns, row, goals, side)
            elif not link:
                self._open[number] = None
        elif side != _LOOSE:
            self._open.pop(link, None)
            self._ended(columns, row, goals, side)
            if outcome == _FAILED:
                for tally in goals.whole:
                    tally.failed += 1
                    tally.wrong.append(number)
            elif (outcome == _REFUSED or kind == _ERROR) and not columns.flags[row] & PROBE:
                for tally in goals.whole:
                    tally.refused += 1
                    tally.wrong.append(number)

    def _ended(self, columns: Columns, row: int, goals: _Goals, side: int) -> None:
        """A notification, an answer, or a request that was given up."""
        at = columns.time[row]
        second = int(at) if math.isfinite(at) else 0  # it may stand otherwise in a file that somebody gave us
        if second and not self.axis.start:
            self.axis.start = second
        ms, other = None, columns.link[row] - columns.first
        if columns.link[row] and 0 <= other < len(columns):
            ms = (at - columns.time[other]) * 1000
            ms = ms if 0 < ms < LONGEST else 0.0
        asked = ms is not None and bool(columns.flags[other] & ASKED)
        for tally in goals.whole:
            tally.end(second, ms, asked)
        goals.server.notices += side == _NOTICE
        goals.server.questions += side == _THEIRS

    def _given_up(self, columns: Columns, row: int, goals: _Goals, side: int) -> None:
        """A request that no answer will come to."""
        self._ended(columns, row, goals, side)
        # A subscription that ends with its connection ends as it should.
        lost = columns.outcome[row] == _LOST and columns.methods.texts[columns.method[row]] != LISTEN
        for tally in goals.whole:
            if lost:
                tally.lost += 1
                tally.wrong.append(row + columns.first)
            else:
                tally.cancelled += 1

    def _come_back(self, columns: Columns) -> None:
        """Requests that were given up, and frames that are understood by now."""
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
                self._given_up(columns, row, self._goals_of(columns, row, side), side)
                self.revision += 1

    def _goals_of(self, columns: Columns, row: int, side: int) -> _Goals:
        key = side, columns.server[row], columns.method[row], columns.target[row]
        if (known := self._goals.get(key)) is not None:
            return known
        name, method = columns.servers.texts[key[1]], columns.methods.texts[key[2]]
        server = _of(self.servers, name, OTHER)
        whole, bytes_ = [], [self.total, server]
        if side == _OURS and method not in UNTIMED:
            whole, bytes_ = bytes_, []
        if side != _LOOSE:
            of_method = Method(name, method, side == _THEIRS, side == _NOTICE)
            whole.append(_of(self.methods, of_method, of_method._replace(method=OTHER)))
        if side == _OURS and method in NAMED:
            target = Target(name, method, columns.targets.texts[key[3]])
            whole.append(_of(self.targets, target, target._replace(target=OTHER)))
        if len(self._goals) > _GOALS:
            self._goals.clear()
        found = self._goals[key] = _Goals(tuple(whole), tuple(bytes_), server)
        return found


def _of(known: dict[_K, Tally], key: _K, other: _K) -> Tally:
    """The tally of a key, or where there are too many already, that of all others."""
    if key not in known and len(known) >= MOST:
        key = other
    found = known.get(key)
    if found is None:
        found = known[key] = Tally()
    return found


class _Part(NamedTuple):
    """As much of a recording as numbers need."""

    columns: Columns


def numbers_of(columns: Columns, entries: Iterable[int]) -> Numbers:
    """The figures of entries, by their numbers; of a request its answer counts too, and the other way round.

    Entries that are not kept are left out.
    """
    first, length = columns.first, len(columns)
    rows = {number - first for number in entries if first <= number < first + length}
    rows |= {link - first for row in rows if (link := columns.link[row]) and first <= link < first + length}
    numbers = Numbers(_Part(columns))
    numbers.take(columns, sorted(rows))
    return numbers
