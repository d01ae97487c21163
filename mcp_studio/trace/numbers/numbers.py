"""Counts what crossed the wire, per server, method and target, from the columns of a trace.

An entry that is answered later counts when its answer has come, so that nothing is ever counted twice and nothing has
to be taken back.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from mcp_studio.trace.columns import ASKED, PROBE, Columns
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES
from mcp_studio.trace.names import OTHER
from mcp_studio.trace.numbers.durations import LONGEST
from mcp_studio.trace.numbers.keys import LOOSE, NOTICE, OURS, THEIRS, Key, Method, Target, spread
from mcp_studio.trace.numbers.series import Axis
from mcp_studio.trace.numbers.tally import Heap, Tally

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
