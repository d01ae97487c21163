"""Searching a recording for all entries that match a query: at once, or in a thread beside the display."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from itertools import chain
from typing import NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.trace.message import COMMENTED, Block, Reader, Recording, WireMessage
from mcp_studio.trace.query.terms import Query, Rows, Snapshot, Test
from mcp_studio.trace.store import LiveReader

_FIRST_STEP = 2_048
_STEP = 16_384
"""Rows of one step; the first step is small, so that results appear soon."""


class Slice(NamedTuple):
    """The result of one step, which covered the entries from `first` to before `end`."""

    first: int
    end: int
    numbers: array[int]
    """The numbers of the matching entries, ascending."""


def take(recording: Recording) -> Snapshot:
    """The data that a query reads; called on the event loop where the recording grows."""
    columns = recording.columns.snapshot()
    return Snapshot(columns, len(columns), recording.comment_on)


def comments_of(recording: Recording) -> dict[int, str]:
    """The comments on all entries; called on the event loop where the recording grows."""
    columns = recording.columns
    numbers = (number for number, flags in enumerate(columns.flags, columns.first) if flags & COMMENTED)
    return {number: text for number in numbers if (text := recording.comment_on(number))}


def select(recording: Recording, query: Query, above: int = 0) -> array[int]:
    """The numbers of all matching entries, ascending. Blocks; a thread uses `take` and `scan` instead.

    Args:
        above: only entries with higher numbers are searched.

    Raises:
        TooSlow: a regex takes too long.
    """
    with closing(recording.reader()) as reader:
        parts = [part.numbers for part in scan(take(recording), query, reader, above)]
    return array("Q", chain.from_iterable(reversed(parts)))


def scan(snapshot: Snapshot, query: Query, reader: Reader, above: int = 0) -> Iterator[Slice]:
    """Search in steps, newest entries first, in any thread.

    Args:
        snapshot: the data from `take`.
        query: the query.
        reader: reads the bodies.
        above: only entries with higher numbers are searched.

    Raises:
        TooSlow: a regex takes too long.
    """
    rows = Rows(snapshot, reader)
    test = _test(query, rows)
    first, high, step = snapshot.columns.first, snapshot.rows, _FIRST_STEP
    bottom = max(0, above + 1 - first)
    for block in reader.blocks(first + high) if query.reads_bodies else ():
        low, end = max(bottom, block.first - first), min(high, block.first - first + len(block.bodies))
        if end <= bottom:
            break
        if low >= end:
            continue
        if end < high:  # rows whose bodies are missing
            yield _slice(rows, range(end, high), test)
        rows.block = block
        yield _slice(rows, range(low, end), test)
        high = low
    while high > bottom:
        low = max(bottom, high - step)
        step = min(_STEP, step * 2)
        yield _slice(rows, range(low, high), test)
        high = low


def scan_some(snapshot: Snapshot, query: Query, reader: Reader, numbers: Iterable[int]) -> Iterator[Slice]:
    """Search some entries; those that are not kept are left out."""
    rows = Rows(snapshot, reader)
    test = _test(query, rows)
    for number in sorted(set(numbers), reverse=True):
        if 0 <= (row := number - rows.columns.first) < snapshot.rows:
            rows.block = Block(number, [b""])
            yield _slice(rows, range(row, row + 1), test)


def fits(recording: Recording, entry: WireMessage, query: Query) -> bool:
    """Whether an entry in memory matches. A regex that does not end in time matches nothing."""
    with suppress(StudioError):
        reader = LiveReader(entry.number, [entry])
        return any(part.numbers for part in scan_some(take(recording), query, reader, [entry.number]))
    return False


def _test(query: Query, rows: Rows) -> Test:
    return query.term.make(rows) if query.term is not None else lambda row: True


def _slice(rows: Rows, which: range, test: Test) -> Slice:
    first = rows.columns.first
    numbers = array("Q", [first + row for row in which if test(row)])
    return Slice(first + which.start, first + which.stop, numbers)


class _Pass:
    """One search through entries in a thread.

    Args:
        newest: the number of the newest entry to search.
        above: the number below all entries to search, except changed ones.
    """

    def __init__(self, steps: Iterator[Slice], reader: Reader, newest: int, above: int) -> None:
        self._steps, self._reader = steps, reader
        self.newest, self.above = newest, above
        self.parts: deque[Slice] = deque()
        self.waited = self.stopped = False
        self.error = ""
        self.ended = threading.Event()
        threading.Thread(target=self._run, name="trace-search", daemon=True).start()

    def _run(self) -> None:
        try:
            for step in self._steps:
                if self.stopped:
                    return
                self.parts.append(step)
        except StudioError as error:
            self.error = error.message
        finally:
            self._reader.close()
            self.ended.set()


class Search:
    """The entries that match a query, as far as they are found; a thread searches, and `pull` collects its results.

    All methods belong to one thread, which is the event loop's where the recording grows.

    Args:
        recording: the recording to search; it may grow meanwhile, and drop its oldest entries.
        query: the query.
    """

    def __init__(self, recording: Recording, query: Query) -> None:
        self.query = query
        self.found: array[int] = array("Q")
        """The numbers of the matching entries, ascending."""
        self.error = ""
        """Why the search ended early; empty if it did not."""
        self.done = 0.0
        """The share of the entries that was searched, from 0 to 1."""
        self._recording = recording
        self._place, _ = recording.columns.revised_since(0)
        self._seen = 0
        self._pass: _Pass | None = None
        self._begin()

    def place(self, number: int) -> int:
        """The number of results below a number: the index where it is, or would be."""
        return bisect_left(self.found, number)

    def cancel(self) -> None:
        """End the search; results stay."""
        if self._pass is not None:
            self._pass.stopped = True
            self._pass = None

    def pull(self, budget: float = 0.008) -> bool:
        """Collect results; True when the search is complete.

        For a new thread it waits once, at most `budget` seconds, so that small recordings give complete results.
        """
        complete = False
        while not self.error and not complete:
            if self._pass is None:
                self._begin()
            if self._pass is None:
                complete = True
            elif not self._take_over(self._pass, budget):
                break
        if removed := self.place(self._recording.first_number):
            del self.found[:removed]
        if complete or self.error:
            self.done = 1.0
            return True
        return False

    def _begin(self) -> None:
        """Start to search new and changed entries."""
        recording, query = self._recording, self.query
        self._place, revised = recording.columns.revised_since(self._place)
        changed = [number for number in revised if number <= self._seen]
        if recording.total <= self._seen and not changed:
            return
        snapshot, reader, above = take(recording), recording.reader(), self._seen
        steps = chain(scan(snapshot, query, reader, above), scan_some(snapshot, query, reader, changed))
        newest = snapshot.columns.first + snapshot.rows - 1
        self._pass = _Pass(steps, reader, newest, max(above, recording.first_number - 1))
        self._seen = max(self._seen, newest)

    def _take_over(self, running: _Pass, budget: float) -> bool:
        """Collect the results of the thread; True when it has ended."""
        ended = running.ended.wait(0 if running.waited else budget)
        running.waited = True
        while running.parts:
            part = running.parts.popleft()
            self.found[self.place(part.first) : self.place(part.end)] = part.numbers
            share = (running.newest + 1 - part.first) / max(1, running.newest - running.above)
            self.done = min(0.99, share)
        if ended:
            self.error, self._pass = running.error, None
        return ended
