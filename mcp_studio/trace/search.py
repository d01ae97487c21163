"""Finding entries of a recording while one looks at it: in a thread, the newest first, and then what comes."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain

from mcp_studio.errors import StudioError
from mcp_studio.trace.message import Reader, Recording
from mcp_studio.trace.query.parser import Query
from mcp_studio.trace.query.select import Slice, scan, scan_some, take


class Found:
    """Ascending numbers, each once."""

    def __init__(self) -> None:
        self._numbers: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> int:
        if index < 0:
            raise IndexError(index)
        return self._numbers[index]

    def all(self) -> array[int]:
        """All numbers, ascending, as they are now."""
        return self._numbers[:]

    def place(self, number: int) -> int:
        """How many are lower: where a number is, or would be."""
        return bisect_left(self._numbers, number)

    def put_before(self, numbers: array[int]) -> None:
        """Take ascending numbers that are all lower than those there are."""
        self._numbers = numbers + self._numbers

    def put(self, numbers: Iterable[int], instead_of: Iterable[int] = ()) -> None:
        """Take numbers in any order, and forget others before."""
        added = set(numbers)
        touched = added.union(instead_of)
        if touched:
            place = self.place(min(touched))  # most often near the end
            rest = set(self._numbers[place:])
            del self._numbers[place:]
            self._numbers.extend(sorted(rest - touched | added))

    def forget(self, first: int) -> None:
        """Forget all numbers under this one."""
        if gone := self.place(first):
            del self._numbers[:gone]


class _Pass:
    """One run through entries in a thread.

    Args:
        newest: the number of the newest entry that it looks at.
        changed: the entries that it looks at again.
        everything: whether it looks at all entries, and what it finds may be shown before it has ended.
    """

    def __init__(
        self, steps: Iterator[Slice], reader: Reader, newest: int, changed: frozenset[int], *, everything: bool
    ) -> None:
        self._steps, self._reader = steps, reader
        self.newest, self.changed, self.everything = newest, changed, everything
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
    """The entries that a query asks for, as far as they are found. Everything but the searching is for one thread: on
    the event loop where the recording grows. `pull` takes over what has been found; nothing happens without it.

    Args:
        recording: where to look; it may grow meanwhile, and forget its oldest entries.
        query: what for.
    """

    def __init__(self, recording: Recording, query: Query) -> None:
        self.query = query
        self.found = Found()
        """The numbers of the entries, ascending."""
        self.error = ""
        """Why nothing further is looked for."""
        self.done = 0.0
        """How much has been looked at, 0 to 1."""
        self._recording = recording
        self._place, _ = recording.columns.revised_since(0)
        self._seen = 0
        self._pass: _Pass | None = None
        self._begin()

    def wait(self, seconds: float) -> bool:
        """Block until the thread has ended, at most so long; for other threads."""
        running = self._pass
        return running is None or running.ended.wait(seconds)

    def cancel(self) -> None:
        """Look no further; what is found stays."""
        if self._pass is not None:
            self._pass.stopped = True
            self._pass = None

    def pull(self, budget: float = 0.008) -> bool:
        """Take over what was found; True when that is all of it.

        Waits for a new thread once, at most `budget` seconds: of what is small there is no half result.
        """
        self.found.forget(self._recording.first_number)
        while not self.error:
            if self._pass is None:
                self._begin()
            if self._pass is None:
                self.done = 1.0
                return True
            if not self._take_over(self._pass, budget):
                self.done = min(self.done, 0.99)
                return False
        self.done = 1.0
        return True

    def _begin(self) -> None:
        """Look at what is new and at what has changed."""
        recording, query = self._recording, self.query
        self._place, revised = recording.columns.revised_since(self._place)
        changed = frozenset(number for number in revised if number <= self._seen)
        if recording.total <= self._seen and not changed:
            return
        snapshot, reader, above = take(recording, query), recording.reader(), self._seen
        steps = chain(scan(snapshot, query, reader, above), scan_some(snapshot, query, reader, changed))
        self._pass = _Pass(steps, reader, snapshot.newest, changed, everything=not above)
        self._seen = max(self._seen, snapshot.newest)

    def _take_over(self, running: _Pass, budget: float) -> bool:
        """True when the thread is through."""
        ended = running.ended.wait(0 if running.waited else budget)
        running.waited = True
        first = self._recording.first_number
        if running.everything:
            parts = [running.parts.popleft() for _ in range(len(running.parts))]
            if parts:
                self.found.put_before(array("Q", chain.from_iterable(part.numbers for part in reversed(parts))))
                after = running.newest + 1
                self.done = min(0.99, (after - parts[-1].down_to) / max(1, after - first))
        if ended:
            numbers = [number for part in running.parts for number in part.numbers]
            self.found.put(numbers, running.changed)
            self.found.forget(first)
            self.error, self._pass = running.error, None
        return ended
