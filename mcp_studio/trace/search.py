"""Finding entries of a recording while one looks at it: in a thread, the newest first, and then what comes."""

from __future__ import annotations

import threading
import time
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from operator import neg

from mcp_studio.errors import StudioError
from mcp_studio.trace.message import Reader, Recording, WireMessage
from mcp_studio.trace.query.parser import Query
from mcp_studio.trace.query.select import Slice, Taken, meant, scan, scan_some, take


class Found:
    """Ascending numbers, each once. Quick at both ends; elsewhere it costs a copy of what is behind."""

    def __init__(self) -> None:
        self._older: array[int] = array("Q")
        """Descending."""
        self._newer: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self._older) + len(self._newer)

    def __getitem__(self, index: int) -> int:
        older = len(self._older)
        if not 0 <= index < older + len(self._newer):
            raise IndexError(index)
        return self._older[older - 1 - index] if index < older else self._newer[index - older]

    def all(self) -> array[int]:
        """All numbers, ascending, as they are now."""
        return array("Q", reversed(self._older)) + self._newer

    def place(self, number: int) -> int:
        """How many are lower: where a number is, or would be."""
        below = len(self._older) - bisect_left(self._older, 1 - number, key=neg)
        return below + bisect_left(self._newer, number)

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        place = self.place(number)
        return place < len(self) and self[place] == number

    def put_before(self, numbers: array[int]) -> None:
        """Take ascending numbers that are all lower than those there are."""
        self._older.extend(reversed(numbers))

    def put_behind(self, numbers: array[int]) -> None:
        """Take ascending numbers that are all higher than those there are."""
        self._newer.extend(numbers)

    def add(self, number: int) -> None:
        """Take one number."""
        if number in self:
            return
        if self._older and number < self._older[0]:
            self._older.insert(bisect_left(self._older, -number, key=neg), number)
        else:
            self._newer.insert(bisect_left(self._newer, number), number)

    def discard(self, number: int) -> None:
        """Forget one number, if it is there."""
        if number not in self:
            return
        place, older = self.place(number), len(self._older)
        if place < older:
            del self._older[older - 1 - place]
        else:
            del self._newer[place - older]

    def forget(self, first: int) -> None:
        """Forget all numbers under this one."""
        gone = self.place(first)
        if not gone:
            return
        older = min(gone, len(self._older))
        if older:
            del self._older[-older:]
        if gone > older:
            del self._newer[: gone - older]


_BESIDE = 1_000
"""More new entries than so many are looked at in the thread, fewer on the event loop."""
_REST = 0.25
"""Seconds between two threads for what is new, where the loop may not look at it."""
_SOME = 64
"""Entries that are looked at in one step on the event loop."""
_LARGE = 1 << 20
"""Bodies with more bytes come after their entries."""
_AWAITED = 500
"""Newest entries whose large bodies are waited for."""


class _Pass:
    """One run through entries, in a thread: `all` there were, those that are `new`, or some `again`."""

    def __init__(self, steps: Iterable[Slice], reader: Reader | None, newest: int, kind: str) -> None:
        self._steps = steps
        self._reader = reader
        self.newest = newest
        self.kind = kind
        self.parts: deque[Slice] = deque()
        self.stopped = False
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
            if self._reader is not None:
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
        self._recording = recording
        self._done = 0.0
        self._rested = 0.0
        self._pulled = False
        self._again: dict[int, None] = {}
        columns = recording.columns
        self._place, _ = columns.revised_since(0)
        self._seen = recording.total
        self._awaited = list(_awaited(recording, max(recording.first_number, self._seen - _AWAITED), self._seen))
        self._pass: _Pass | None = self._begin(0)

    @property
    def done(self) -> float:
        """How much has been looked at, 0 to 1."""
        return self._done

    def wait(self, seconds: float) -> bool:
        """Block until there is something to pull that ends what the thread does, at most so long; for other threads."""
        running = self._pass
        return running is None or running.ended.wait(seconds)

    def cancel(self) -> None:
        """Look no further; what is found stays."""
        if self._pass is not None:
            self._pass.stopped = True
            self._pass = None

    def pull(self, budget: float = 0.008) -> bool:
        """Take over what was found, and look at what is new for about `budget` seconds; True when that is all of it.

        The first time it waits so long for the thread: of what is small there is no half result.
        """
        recording = self._recording
        if not self._pulled and self._pass is not None:
            self._pulled = True
            self._pass.ended.wait(budget)
        self.found.forget(recording.first_number)
        if self._pass is not None and not self._take_over(self._pass):
            return False
        if self.error:
            self._done = 1.0
            return True
        self._place, changed = recording.columns.revised_since(self._place)
        self._again.update(dict.fromkeys(changed))
        self._again.update(dict.fromkeys(self._arrived()))
        behind = recording.total - self._seen
        if self.query.slow or behind > _BESIDE:
            self._look_beside(behind)
        else:
            self._look(time.perf_counter() + budget)
        through = self._seen >= recording.total and not self._again and self._pass is None
        self._done = 1.0 if through else min(self._done, 0.99)
        return self._done == 1.0

    # ------------------------------------------------------------------ in the thread

    def _begin(self, above: int) -> _Pass:
        taken, reader = self._taken()
        self._seen = max(self._seen, taken.newest)
        return _Pass(scan(taken, self.query, reader, above), reader, taken.newest, "new" if above else "all")

    def _taken(self) -> tuple[Taken, Reader | None]:
        reader = self._recording.reader() if self.query.cost > 1 else None
        return take(self._recording, self.query.root), reader

    def _take_over(self, running: _Pass) -> bool:
        """True when the thread is through."""
        ended = running.ended.is_set()
        first = self._recording.first_number
        while running.kind == "all" and running.parts:
            part = running.parts.popleft()
            self.found.put_before(part.numbers)
            self._done = min(0.99, (running.newest + 1 - part.down_to) / max(1, running.newest + 1 - first))
        if not ended:
            return False
        for part in reversed(running.parts):
            if running.kind == "new":
                self.found.put_behind(part.numbers)
            else:
                for number in part.numbers:
                    self.found.add(number)
        self.found.forget(first)
        self.error, self._pass = running.error, None
        return True

    def _look_beside(self, behind: int) -> None:
        """Look in the thread at what is new; where a regex may take long, at what has changed too."""
        now = time.monotonic()
        if now - self._rested < _REST:
            return
        if behind:
            self._rested = now
            self._pass = self._begin(self._seen)
        elif self._again:
            self._rested = now
            numbers, self._again = list(self._again), {}
            taken, reader = self._taken()
            for number in numbers:
                self.found.discard(number)
            self._pass = _Pass(scan_some(taken, self.query, reader, numbers), reader, self._seen, "again")

    # ------------------------------------------------------------------ on the loop

    def _look(self, stop: float) -> None:
        """Look at what is new, then at what has changed, some at a time until it is time."""
        recording = self._recording
        while entries := self._some():
            wanted = meant(recording, self.query, entries)
            for entry in entries:
                if entry.number in wanted:
                    self.found.add(entry.number)
                else:
                    self.found.discard(entry.number)
            if time.perf_counter() > stop:
                return

    def _some(self) -> list[WireMessage]:
        """The next entries to look at: what is new, and then what has changed."""
        recording = self._recording
        self._seen = max(self._seen, recording.first_number - 1)
        unseen = range(self._seen + 1, min(self._seen + _SOME, recording.total) + 1)
        first = next(iter(self._again), 0)
        found: list[WireMessage] = []
        size = 0
        for number in unseen or [number for number in range(first, first + _SOME) if number in self._again]:
            if size > _LARGE:
                break
            self._again.pop(number, None)
            new, self._seen = number > self._seen, max(number, self._seen)
            if (entry := recording.entry(number)) is not None:
                found.append(entry)
                size += entry.size
                if new and _is_awaited(entry):
                    self._awaited.append(number)
        return found

    def _arrived(self) -> list[int]:
        """Of the large bodies that are waited for, those that are there now."""
        arrived = [number for number in self._awaited if not _is_awaited(self._recording.entry(number))]
        for number in arrived:
            self._awaited.remove(number)
        return arrived


def _awaited(recording: Recording, first: int, last: int) -> Iterator[int]:
    """The entries whose large bodies are not there yet."""
    columns = recording.columns
    for number in range(first, last + 1):
        if columns.size[number - columns.first] > _LARGE and _is_awaited(recording.entry(number)):
            yield number


def _is_awaited(entry: WireMessage | None) -> bool:
    return entry is not None and entry.held == b"" and entry.size > _LARGE
