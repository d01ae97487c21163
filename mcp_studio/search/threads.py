"""The threads of a search index: one that takes up what changed, a few that answer.

They are daemons: what hangs in foreign code holds up neither the closing of a studio nor the end of the program.
"""

from __future__ import annotations

import logging
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.search.method import Scope, SearchProblem

log = logging.getLogger(__name__)
T = TypeVar("T")
_PAUSE = 0.0005
"""Seconds between two steps, in which other threads have their turn."""


class Lane:
    """A thread that does one small step after the other while there is something to do.

    Args:
        step: does something that takes a few milliseconds; False where there is nothing to do. What it raises
            is logged, and it is called again when there is something to do.
        wait: called before each step; waits as long as others should go first, within bounds.
    """

    def __init__(self, name: str, step: Callable[[], bool], wait: Callable[[], None] = lambda: None) -> None:
        self._name = name
        self._step = step
        self._wait = wait
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._turn = threading.Lock()

    def wake(self) -> None:
        """There is something to do."""
        self._wake.set()
        with self._turn:
            if self._thread is None and not self._ending.is_set():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def close(self, within: float) -> None:
        """Do no further step; wait for the one that is being done, bounded."""
        with self._turn:
            self._ending.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(within)

    def _run(self) -> None:
        while not self._ending.is_set():
            self._wake.wait()
            self._wake.clear()
            while not self._ending.is_set() and self._goes_on():
                self._ending.wait(_PAUSE)
                self._wait()

    def _goes_on(self) -> bool:
        try:
            return self._step()
        except Exception as problem:  # boundary: who waits for what it does would wait in vain
            log.error("%s failed", self._name, exc_info=problem)
            return False


class SearchFailed(SearchProblem):
    """Something of the studio's own went wrong while it searched."""

    exit_code = 1


class Desk:
    """Threads that answer questions, oldest first; one that was given up before its turn is not begun."""

    def __init__(self, name: str, most: int = 1) -> None:
        self._name = name
        self._most = most
        self._open = threading.Condition()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def ask(self, work: Callable[[], T]) -> Future[T]:
        """Have something done; cancel the future to give it up. After `close` it is cancelled at once."""
        future: Future[T] = Future()
        with self._open:
            if self._closed:
                _give_up(future)
                return future
            self._waiting.append((future, work))
            if len(self._waiting) > self._idle and len(self._threads) < self._most:
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._open.notify()
        return future

    def close(self, within: float) -> None:
        """Give up what waits; wait for what is being answered, bounded."""
        with self._open:
            self._closed = True
            for future, _ in self._waiting:
                _give_up(future)
            self._waiting.clear()
            self._open.notify_all()
        end = time.monotonic() + within
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            future, work = taken
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(work())
            except BaseException as problem:  # boundary: who asked is told, and the thread goes on
                future.set_exception(_told(problem))
            del future, work, taken  # or an answer would be held until the next question

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        with self._open:
            self._idle += 1
            while not self._waiting and not self._closed:
                self._open.wait()
            self._idle -= 1
            return self._waiting.popleft() if self._waiting else None


def _give_up(future: Future[Any]) -> None:
    """Cancel it before its turn; only what is notified as well is done for `concurrent.futures.wait`."""
    future.cancel()
    future.set_running_or_notify_cancel()


def _told(problem: BaseException) -> BaseException:
    """A mistake of our own as a sentence, for who asked: it must not end what else is going on. The log has it all."""
    if isinstance(problem, StudioError):
        return problem
    log.error("searching failed", exc_info=problem)
    said = safe(f"{type(problem).__name__}: {problem}", 200)
    return SearchFailed(f"Searching failed inside the studio: {said}.", hint="The log has more.")


Flags = NDArray[np.bool_]
Slot = NDArray[np.intp]
Scores = NDArray[np.float64]


class Slots:
    """Documents by number. A number is used again only once nobody can still mean by it what it was before."""

    def __init__(self) -> None:
        self._slot: dict[Ref, int] = {}
        self._refs: list[Ref | None] = []
        self._alive = array("B")
        self._kinds = array("B")
        self._servers = array("I")
        self._codes: dict[str, int] = {}
        self._free: list[int] = []
        self._dead: list[int] = []

    def __len__(self) -> int:
        return len(self._slot)

    def __contains__(self, ref: object) -> bool:
        return ref in self._slot

    def __iter__(self) -> Iterator[Ref]:
        return iter(self._slot)

    @property
    def size(self) -> int:
        """How many numbers were given out: every number is below it."""
        return len(self._refs)

    @property
    def dead(self) -> int:
        """How many numbers belong to documents that are gone."""
        return len(self._dead)

    @property
    def servers(self) -> Collection[str]:
        """The servers of all documents, also of those that are gone."""
        return self._codes.keys()

    @property
    def alive(self) -> Flags:
        """For each number whether its document is there; not to be kept over a change."""
        return np.frombuffer(self._alive, np.bool_)

    def add(self, ref: Ref) -> int:
        """The number of a document that was not there."""
        code = self._codes.setdefault(ref.server, len(self._codes))
        kind = KINDS.index(ref.kind)
        if self._free:
            slot = self._free.pop()
            self._refs[slot], self._alive[slot], self._kinds[slot], self._servers[slot] = ref, 1, kind, code
        else:
            slot = len(self._refs)
            self._refs.append(ref)
            self._alive.append(1)
            self._kinds.append(kind)
            self._servers.append(code)
        self._slot[ref] = slot
        return slot

    def remove(self, refs: Collection[Ref]) -> int:
        """Forget those of them that are there; how many."""
        found = [slot for ref in refs if (slot := self._slot.pop(ref, None)) is not None]
        for slot in found:
            self._refs[slot], self._alive[slot] = None, 0
        self._dead += found
        return len(found)

    def dying(self) -> list[int]:
        """The numbers of the documents that are gone by now; `reuse` takes them when no trace of them is left."""
        dead, self._dead = self._dead, []
        return dead

    def reuse(self, slots: list[int]) -> None:
        """Give these numbers out again."""
        self._free += slots

    def within(self, scope: Scope) -> Flags:
        """For each number whether its document is there and in the scope."""
        inside = self.alive
        if scope.servers is not None:
            wanted = np.zeros(len(self._codes) + 1, np.bool_)
            wanted[[self._codes[name] for name in scope.servers if name in self._codes]] = True
            inside = inside & wanted[np.frombuffer(self._servers, np.uint32)]
        if scope.kinds is not None:
            kinds = np.array([kind in scope.kinds for kind in KINDS])
            inside = inside & kinds[np.frombuffer(self._kinds, np.uint8)]
        return inside

    def at(self, ref: Ref) -> int | None:
        """The number of a document, None when it is not there."""
        return self._slot.get(ref)

    def ref(self, slot: int) -> Ref:
        """The document of a number that is there."""
        ref = self._refs[slot]
        if ref is None:
            raise KeyError(slot)
        return ref

    def best(self, scores: Scores, limit: int) -> tuple[list[tuple[Ref, float]], int]:
        """The documents with the largest scores above 0, equal ones by server, name and kind; and how many there are.

        `scores` has one number for each number given out, 0 for documents that are gone.
        """
        hits = np.flatnonzero(scores > 0)
        total = len(hits)
        limit = max(0, min(limit, total))
        if not limit:
            return [], total
        found = scores[hits]
        last = np.partition(found, total - limit)[total - limit]
        above = hits[found > last]
        level = self._first(hits[found == last], limit - len(above))
        ranked = [(ref, float(scores[slot])) for slot in (*above, *level) if (ref := self._refs[slot]) is not None]
        ranked.sort(key=lambda hit: (-hit[1], hit[0].server, hit[0].name, hit[0].kind))
        return ranked[:limit], total

    def _first(self, slots: Slot, count: int) -> Slot:
        """Of documents with equal scores those of the first servers, `count` of them at least."""
        if len(slots) <= count + 100:
            return slots
        place = np.empty(len(self._codes), np.intp)
        place[[self._codes[name] for name in sorted(self._codes)]] = np.arange(len(self._codes))
        order = place[np.frombuffer(self._servers, np.uint32)[slots]]
        return slots[order <= np.partition(order, count - 1)[count - 1]]
