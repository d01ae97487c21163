"""Finding entries of a recording while one looks at it: in a thread, the newest first, and then what comes."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from itertools import chain

from mcp_studio.errors import StudioError
from mcp_studio.trace.message import Reader, Recording
from mcp_studio.trace.query.select import Query, Slice, scan, scan_some, take


class _Pass:
    """One run through entries in a thread.

    Args:
        newest: the number of the newest entry that it looks at.
        above: the number under all that it looks at, but for those that have changed.
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
    """The entries that a query asks for, as far as they are found. Everything but the searching is for one thread: on
    the event loop where the recording grows. `pull` takes over what has been found; nothing happens without it.

    Args:
        recording: where to look; it may grow meanwhile, and forget its oldest entries.
        query: what for.
    """

    def __init__(self, recording: Recording, query: Query) -> None:
        self.query = query
        self.found: array[int] = array("Q")
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

    def place(self, number: int) -> int:
        """How many of the numbers found are lower: where a number is, or would be."""
        return bisect_left(self.found, number)

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
        complete = False
        while not self.error and not complete:
            if self._pass is None:
                self._begin()
            if self._pass is None:
                complete = True
            elif not self._take_over(self._pass, budget):
                break
        if gone := self.place(self._recording.first_number):
            del self.found[:gone]
        if complete or self.error:
            self.done = 1.0
            return True
        return False

    def _begin(self) -> None:
        """Look at what is new and at what has changed."""
        recording, query = self._recording, self.query
        self._place, revised = recording.columns.revised_since(self._place)
        changed = [number for number in revised if number <= self._seen]
        if recording.total <= self._seen and not changed:
            return
        snapshot, reader, above = take(recording, query), recording.reader(), self._seen
        steps = chain(scan(snapshot, query, reader, above), scan_some(snapshot, query, reader, changed))
        self._pass = _Pass(steps, reader, snapshot.newest, max(above, recording.first_number - 1))
        self._seen = max(self._seen, snapshot.newest)

    def _take_over(self, running: _Pass, budget: float) -> bool:
        """True when the thread is through."""
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
