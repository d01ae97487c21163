"""Counts what crossed the wire, per server, method and target, from the columns of a trace.

An entry that is answered later counts when its answer has come, so that nothing is ever counted twice and nothing has
to be taken back.
"""

from __future__ import annotations

import math
import time
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from mcp_studio.trace.durations import LONGEST, Durations
from mcp_studio.trace.message import ASKED, DIRECTIONS, KINDS, LISTEN, OTHER, OUTCOMES, PROBE, UNTIMED, Columns

BUCKETS = 120
"""At most; when they are full, two and two become one."""
_RECENT = 16
"""Seconds that are kept one by one."""


class Axis:
    """The time axis that all series of one trace share."""

    __slots__ = ("start", "width")

    def __init__(self) -> None:
        self.start = 0
        """Seconds since the epoch at which the first bucket begins; 0 until there is one."""
        self.width = 1
        """Seconds that one bucket spans."""

    def reach(self, first: int, last: int) -> None:
        """See to it that these seconds are on the axis; what is before its start counts in the first bucket."""
        if not self.start:
            self.start = first
        while (last - self.start) // self.width >= BUCKETS:
            self.width *= 2

    def used(self, until: float) -> int:
        """Buckets from the start to this moment."""
        return max(1, min(BUCKETS, (int(until) - self.start) // self.width + 1)) if self.start else 0


class Series:
    """Counts along an axis, and the newest seconds one by one."""

    __slots__ = ("_counts", "_newest", "_recent", "_width")

    def __init__(self) -> None:
        self._width = 1
        self._counts = array("I")
        self._recent = array("I", bytes(4 * _RECENT))
        self._newest = 0

    def add(self, axis: Axis, seconds: Mapping[int, int]) -> None:
        """Take over how many there were in which second; the axis has been told of them."""
        self._fold(axis)
        counts = self._counts
        for second, count in seconds.items():
            place = max(0, (second - axis.start) // axis.width)
            if place >= len(counts):
                counts.extend([0] * (place + 1 - len(counts)))
            counts[place] += count
        self._note(seconds)

    def shape(self, axis: Axis, until: float, bars: int) -> list[int]:
        """Counts from the start of the axis to a moment, in at most so many bars."""
        self._fold(axis)
        used = axis.used(until)
        return _squeezed([*self._counts[:used], *([0] * (used - len(self._counts)))], bars)

    def recent(self, now: float, seconds: int = 10) -> float:
        """How many a second over the newest whole seconds before a moment."""
        last = int(now) - 1
        seconds = min(seconds, _RECENT - 1)
        found = sum(
            self._recent[second % _RECENT]
            for second in range(last - seconds + 1, last + 1)
            if self._newest - _RECENT < second <= self._newest
        )
        return found / seconds

    def _note(self, seconds: Mapping[int, int]) -> None:
        newest = max(seconds)
        if newest > self._newest:
            for second in range(max(self._newest + 1, newest - _RECENT + 1), newest + 1):
                self._recent[second % _RECENT] = 0
            self._newest = newest
        for second, count in seconds.items():
            if second > self._newest - _RECENT:
                self._recent[second % _RECENT] += count

    def _fold(self, axis: Axis) -> None:
        while self._width < axis.width:
            counts = self._counts
            odd = [*counts[1::2], *([0] if len(counts) % 2 else [])]
            self._counts = array("I", map(int.__add__, counts[::2], odd))
            self._width *= 2


def _squeezed(counts: list[int], bars: int) -> list[int]:
    if len(counts) <= bars:
        return counts
    edges = [place * len(counts) // bars for place in range(bars + 1)]
    return [sum(counts[edges[place] : edges[place + 1]]) for place in range(bars)]


_BARS = "▁▂▃▄▅▆▇█"
_PLAIN = ".:-=+*#%"


def sparkline(counts: Iterable[int], *, ascii: bool = False) -> str:
    """A cell for each count, as high as it is compared to the largest; a space for none."""
    values = list(counts)
    most = max(values, default=0)
    signs = _PLAIN if ascii else _BARS
    return "".join(signs[(value * len(signs) - 1) // most] if value else " " for value in values)


_ERRORS = 200
"""Numbers of the newest errors that are known one by one."""


class Heap:
    """What one look has found of one kind of message, before it goes into the tallies that it belongs to."""

    __slots__ = (
        "__dict__", "apart", "bytes_in", "bytes_out", "cancelled", "failed", "lost", "notices", "questions", "refused",
        "times", "values", "wrong",
    )  # fmt: skip

    def __init__(self) -> None:
        self.times: list[float] = []
        """When they came to their end."""
        self.values: list[float] = []
        """Milliseconds."""
        self.apart: list[float] = []
        """The same, where a person's time is in them."""
        self.wrong: list[int] = []
        """Numbers of the entries that tell of errors."""
        self.bytes_in = self.bytes_out = 0
        self.refused = self.failed = self.lost = self.cancelled = self.notices = self.questions = 0

    def merge(self, other: Heap) -> None:
        """Take over everything of another one."""
        self.times += other.times
        self.values += other.values
        self.apart += other.apart
        self.wrong += other.wrong
        self.refused += other.refused
        self.failed += other.failed
        self.lost += other.lost
        self.cancelled += other.cancelled
        self.weigh(other)

    def end_well(self) -> None:
        """What was lost ended as it should."""
        self.cancelled += self.lost
        self.lost, self.wrong = 0, []

    def weigh(self, other: Heap) -> None:
        """Take over its bytes alone."""
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out

    @cached_property
    def seconds(self) -> Counter[int]:
        """How many came to their end in which second."""
        try:
            return Counter(map(int, self.times))
        except (ValueError, OverflowError):  # no time at all, in a file that somebody gave us
            return Counter(int(time) for time in self.times if math.isfinite(time))


class Tally:
    """What is counted. A request counts once it is answered or given up, a notification at once."""

    __slots__ = (
        "_shares", "_stamp", "apart", "bytes_in", "bytes_out", "cancelled", "count", "durations", "failed", "last",
        "lost", "notices", "questions", "refused", "series", "wrong",
    )  # fmt: skip

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
        self._stamp = -1
        self._shares: Sequence[float | None] = ()

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
        return self._percentiles()[0]

    @property
    def p95(self) -> float | None:
        """The same for 95 of 100."""
        return self._percentiles()[1]

    @property
    def p99(self) -> float | None:
        """The same for 99 of 100."""
        return self._percentiles()[2]

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

    def add(self, heap: Heap, axis: Axis) -> None:
        """Take over what was found; the axis has been told of its times."""
        self.count += len(heap.times)
        self.refused += heap.refused
        self.failed += heap.failed
        self.lost += heap.lost
        self.cancelled += heap.cancelled
        self.notices += heap.notices
        self.questions += heap.questions
        self.bytes_in += heap.bytes_in
        self.bytes_out += heap.bytes_out
        if heap.wrong:
            self.wrong.extend(sorted(heap.wrong))
        if heap.seconds:
            self.last = max(self.last, max(heap.seconds))
            self.series.add(axis, heap.seconds)
        if heap.values:
            self.durations.add(heap.values)
        if heap.apart:
            self.apart = self.apart or Durations()
            self.apart.add(heap.apart)

    def _percentiles(self) -> Sequence[float | None]:
        if self._stamp != self.durations.count:
            self._stamp = self.durations.count
            self._shares = self.durations.percentiles(0.5, 0.95, 0.99)
        return self._shares


NAMED = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
"""Requests whose target has figures of its own, and what it is."""
OURS, THEIRS, NOTICE, LOOSE = range(4)
"""Requests of ours, of the server; notifications; answers to nothing."""


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


Key = str | Method | Target | None
"""What a tally is of: a server, a method, a target, or with None everything."""


def spread(sums: defaultdict[Key, Heap], heap: Heap, side: int, server: str, method: str, target: str) -> None:
    """Put what was found of one kind of message to everything that it counts for."""
    if method == LISTEN:
        heap.end_well()
    count = len(heap.times)
    whole, of_server = sums[None], sums[server]
    if side == OURS and method not in UNTIMED:
        whole.merge(heap)
        of_server.merge(heap)
    else:
        whole.weigh(heap)
        of_server.weigh(heap)
    of_server.notices += count if side == NOTICE else 0
    of_server.questions += count if side == THEIRS else 0
    if side != LOOSE:
        sums[Method(server, method, side == THEIRS, side == NOTICE)].merge(heap)
    if side == OURS and method in NAMED:
        sums[Target(server, method, target)].merge(heap)


BUDGET = 0.008
"""Seconds that one look takes at most, so that keys and the screen do not wait."""
_CHUNK = 2_048
"""Rows between two looks at the clock."""
_PART = 100
"""Kinds of messages that are put into the tallies between two looks at the clock."""
_HEAPED = 8_000
_EACH = 20
"""Entries that are taken before they are put into the tallies, at least so many and so many of each kind."""
MOST = 1_000
"""Different targets, and as many methods, that have figures of their own; further ones are counted together."""
_OPEN = 20_000
"""Requests without an answer, and frames that are not understood yet, that are come back to."""

_REQUEST, _NOTIFICATION, _RESULT, _ERROR, _INVALID = (
    KINDS.index(kind) for kind in ("request", "notification", "result", "error", "invalid")
)
_IN = DIRECTIONS.index("in")
_FAILED, _REFUSED, _CANCELLED, _LOST = (
    OUTCOMES.index(outcome) + 1 for outcome in ("tool error", "error", "cancelled", "lost")
)
_Kind = tuple[int, int, int, int]
"""Of messages: whose, server, method, target."""
_K = TypeVar("_K", str, Method, Target)


class _Trace(Protocol):
    @property
    def columns(self) -> Columns: ...


class Numbers:
    """The figures of a trace, past or running; give it time now and then with `look`.

    Bounded in memory: `MOST` targets and methods, at most 16 KB each. What the trace drops stays counted.
    """

    def __init__(self, recording: _Trace) -> None:
        self._recording = recording
        self._next = 0
        self._open: dict[int, None] = {}
        self._taken = 0
        self._heaps: dict[_Kind, Heap] = {}
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
            budget: seconds after which it stops; at least some thousand entries are looked at.
        """
        until = time.perf_counter() + budget
        columns = self._recording.columns
        self._next = max(self._next, columns.first)
        while (row := self._next - columns.first) < len(columns):
            if self._taken >= max(_HEAPED, _EACH * len(self._heaps)) and not self._settle(columns, until):
                return False
            end = min(row + _CHUNK, len(columns))
            self._next += end - row
            self._taken += end - row
            self._take(columns, range(row, end))
            if time.perf_counter() > until:
                return False
        self._come_back(columns)
        return self._settle(columns, until)

    def take(self, columns: Columns, rows: Sequence[int]) -> None:
        """Take over rows in ascending order, as `select.numbers_of` does."""
        for begin in range(0, len(rows), _CHUNK):
            self._take(columns, rows[begin : begin + _CHUNK])
        self._come_back(columns)
        self._settle(columns, float("inf"))

    def _come_back(self, columns: Columns) -> None:
        """Requests that were given up, and frames that are understood by now."""
        if not self._open:
            return
        first, kinds = columns.first, columns.kind
        again: list[int] = []
        for number in tuple(self._open):
            row = number - first
            if row < 0:
                del self._open[number]
            elif kinds[row] & 15 != _REQUEST:
                if kinds[row] & 15 != _INVALID:
                    again.append(row)
                    del self._open[number]
            elif columns.outcome[row] in (_CANCELLED, _LOST):
                del self._open[number]
                self._given_up(columns, row)
        if again:
            self._take(columns, again)

    def _take(self, columns: Columns, rows: Sequence[int]) -> None:
        """The loop that every entry goes through once."""
        first, heaps, opened = columns.first, self._heaps, self._open
        times, flags, length = columns.time, columns.flags, len(columns)
        for row, kind, server, method, target, size, outcome, link in _rows_of(columns, rows):
            what = kind & 15
            if what > _ERROR:
                if what == _INVALID and row > length - _CHUNK:  # it may be understood in a moment
                    opened[row + first] = None
                continue
            inward = kind >> 4 == _IN
            if what == _REQUEST:
                key = (THEIRS if inward else OURS, server, method, target)
                if not link and outcome >= _CANCELLED:
                    self._given_up(columns, row)
                elif not link:
                    opened[row + first] = None
            elif what == _NOTIFICATION:
                key = (NOTICE, server, method, 0)
            elif link:
                key = (OURS if inward else THEIRS, server, method, target)
            else:
                key = (LOOSE, server, 0, 0)
            heap = heaps.get(key)
            if heap is None:
                heap = heaps[key] = Heap()
            if inward:
                heap.bytes_in += size
            else:
                heap.bytes_out += size
            if what == _NOTIFICATION:
                heap.times.append(times[row])
            elif what != _REQUEST and link:
                heap.times.append(times[row])
                other = link - first
                if 0 <= other < length:
                    ms = (times[row] - times[other]) * 1000
                    (heap.apart if flags[other] & ASKED else heap.values).append(ms if 0 < ms < LONGEST else 0.0)
                    opened.pop(link, None)
                if outcome == _FAILED:
                    heap.failed += 1
                    heap.wrong.append(row + first)
                elif (outcome == _REFUSED or what == _ERROR) and not flags[row] & PROBE:
                    heap.refused += 1
                    heap.wrong.append(row + first)
        while len(opened) > _OPEN:
            del opened[next(iter(opened))]

    def _given_up(self, columns: Columns, row: int) -> None:
        """A request that no answer will come to."""
        side = THEIRS if columns.kind[row] >> 4 == _IN else OURS
        key = (side, columns.server[row], columns.method[row], columns.target[row])
        heap = self._heaps.get(key)
        if heap is None:
            heap = self._heaps[key] = Heap()
        heap.times.append(columns.time[row])
        if columns.outcome[row] == _LOST:
            heap.lost += 1
            heap.wrong.append(row + columns.first)
        else:
            heap.cancelled += 1

    def _settle(self, columns: Columns, until: float) -> bool:
        """Put what was found into the tallies; False when there was no time for all of it."""
        heaps = self._heaps
        while heaps:
            part = [(key, heaps.pop(key)) for key in tuple(islice(heaps, _PART))]
            self._put(columns, part)
            if time.perf_counter() > until and heaps:
                return False
        self._taken = 0
        return True

    def _put(self, columns: Columns, part: Sequence[tuple[_Kind, Heap]]) -> None:
        self.revision += 1
        servers, methods, targets = columns.servers.texts, columns.methods.texts, columns.targets.texts
        sums: defaultdict[Key, Heap] = defaultdict(Heap)
        for (side, server, method, target), heap in part:
            spread(sums, heap, side, _text(servers, server), _text(methods, method), _text(targets, target))
        if seconds := [second for heap in sums.values() for second in heap.seconds]:
            self.axis.reach(min(seconds), max(seconds))
        for key, heap in sums.items():
            self._tally(key).add(heap, self.axis)

    def _tally(self, key: Key) -> Tally:
        if key is None:
            return self.total
        if isinstance(key, str):
            return _of(self.servers, key, OTHER)
        if isinstance(key, Target):
            return _of(self.targets, key, key._replace(target=OTHER))
        return _of(self.methods, key, key._replace(method=OTHER))


def _of(known: dict[_K, Tally], key: _K, other: _K) -> Tally:
    """The tally of a key, or where there are too many already, that of all others."""
    if key not in known and len(known) >= MOST:
        key = other
    found = known.get(key)
    if found is None:
        found = known[key] = Tally()
    return found


def _rows_of(columns: Columns, rows: Sequence[int]) -> Iterator[tuple[int, int, int, int, int, int, int, int]]:
    """Row, kind, server, method, target, size, outcome and link of each."""
    parts = (columns.kind, columns.server, columns.method, columns.target, columns.size, columns.outcome, columns.link)
    if isinstance(rows, range):
        return zip(rows, *(part[rows.start : rows.stop] for part in parts), strict=True)
    return zip(rows, *([part[row] for row in rows] for part in parts), strict=True)


def _text(texts: list[str], number: int) -> str:
    return texts[number] if number < len(texts) else OTHER


class _Part:
    """As much of a recording as numbers need."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns


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
