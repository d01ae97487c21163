"""One method of an index: made when it is first wanted, given what changed in small batches, asked under its lock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain, islice

from mcp_studio.catalog.ref import Ref
from mcp_studio.search.document import Document
from mcp_studio.search.known import Difference, Known
from mcp_studio.search.method import EVERYWHERE, Answer, Method, Query, SearchProblem
from mcp_studio.search.plugins import MethodFailed, Offer, guarded

CLOSED = "The search has been closed."
_FEWEST, _MOST = 4, 128
"""Documents of one batch."""
_LONG, _SHORT = 0.004, 0.0015
"""Seconds of CPU: a batch that took longer is followed by a smaller one, one that was quicker by a larger one."""


class Intake:
    """Keeps a method up to date.

    Args:
        known: what there is; its lock is held while a method that has just been made takes its first list.
    """

    def __init__(self, offer: Offer, known: Known) -> None:
        self.offer = offer
        self.method: Method | None = None
        self.problem: SearchProblem | None = None
        """Why it does not serve any more."""
        self._known = known
        self._todo: dict[Ref, tuple[bool, Document | None]] = {}
        """By ref: whether it has to be removed, and what has to be added."""
        self._turn = threading.Lock()
        """Calls of a method never overlap."""
        self._guard = threading.Lock()
        self._giving = False
        """Whether something was taken off that the method does not have yet."""
        self._size = 32
        self._waiting: list[Future[None]] = []

    @property
    def pending(self) -> int:
        """Documents that it has not been given yet."""
        if self.method is None and self.problem is None:
            return self._known.count(EVERYWHERE)
        return len(self._todo)

    @property
    def settled(self) -> bool:
        """Whether there is nothing to do for it."""
        return self.problem is not None or (self.method is not None and not self._todo and not self._giving)

    def whenever(self) -> Future[None]:
        """Done when it is made and has everything that is known by then."""
        future: Future[None] = Future()
        with self._guard:
            if not self.settled:
                self._waiting.append(future)
                return future
        future.set_result(None)
        return future

    def change(self, difference: Difference) -> None:
        """Note what came, what went, and what has become another."""
        with self._guard:
            if self.method is None:
                return  # it will be given everything
            todo = self._todo
            for ref in difference.removed:
                known = todo.pop(ref, None)
                if known is None or known[0]:
                    todo[ref] = (True, None)
            for ref, document in chain(difference.added.items(), difference.changed.items()):
                known = todo.get(ref)
                todo[ref] = (known[0] if known else ref in difference.changed, document)

    def step(self) -> bool:
        """Make the method, or give it one batch; False where there is nothing to do."""
        method = self.method
        if self.problem is not None:
            return False
        if method is None:
            self._make()
            return True
        if not self._todo:
            self._tell()
            return False
        try:
            with self._turn:  # from here on: who asks has to wait until what is taken off is in
                self._give(method, self._batch())
        except SearchProblem as problem:
            self._break(problem)
            return True
        finally:
            self._giving = False
        if not self._todo:
            self._tell()
        return True

    def _batch(self) -> dict[Ref, tuple[bool, Document | None]]:
        """What comes next, taken off."""
        with self._guard:
            self._giving = True
            batch = dict(islice(self._todo.items(), self._size))
            for ref in batch:
                del self._todo[ref]
            return batch

    def ask(self, query: Query) -> Answer:
        """Its answer, as it gives it.

        Raises:
            SearchProblem: it cannot be asked so, or has failed.
        """
        if self.problem is not None:
            raise self.problem.with_traceback(None)  # or each question would add to the one that it holds
        method = self.method
        if method is None:
            return Answer((), 0)
        with self._turn:
            return guarded(self.offer, "it searched", lambda: method.search(query))

    def stop(self) -> Callable[[], None]:
        """Let the method go, and all who wait for it; gives what calls its `close`, which may take any time."""
        method = self.method
        if self.problem is None:
            self._break(SearchProblem(CLOSED))

        def close() -> None:
            with suppress(SearchProblem):
                guarded(self.offer, "it was closed", lambda: getattr(method, "close", lambda: None)())

        return close

    def _give(self, method: Method, batch: Mapping[Ref, tuple[bool, Document | None]]) -> None:
        removed = [ref for ref, (gone, _) in batch.items() if gone]
        added = [document for _, document in batch.values() if document is not None]
        began = time.thread_time()
        if removed:
            guarded(self.offer, "it was told what has gone", lambda: method.remove(removed))
        if added:
            guarded(self.offer, "it was given what there is", lambda: method.add(added))
        took = time.thread_time() - began
        if took > _LONG:
            self._size = max(_FEWEST, self._size // 2)
        elif took < _SHORT and len(batch) >= self._size:
            self._size = min(_MOST, self._size * 2)

    def _make(self) -> None:
        try:
            method = guarded(self.offer, "it was loaded", self._loaded)
        except SearchProblem as problem:
            self._break(problem)
            return
        with self._known.turn:
            todo: dict[Ref, tuple[bool, Document | None]] = {
                document.ref: (False, document) for document in self._known.documents()
            }
            with self._guard:  # the loop waits for this one
                self._todo, self.method = todo, method

    def _loaded(self) -> Method:
        method = self.offer.make()
        for name in ("add", "remove", "search"):
            if not callable(getattr(method, name, None)):
                raise MethodFailed(f"{self.offer.words} is none: it has no {name}().")
        return method

    def _break(self, problem: SearchProblem) -> None:
        with self._guard:
            self.problem, self.method = problem, None
            self._todo = {}
        self._tell()

    def _tell(self) -> None:
        with self._guard:
            if not self.settled:
                return
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
