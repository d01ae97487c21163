"""The thread of a search index."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.search.method import SearchProblem

log = logging.getLogger(__name__)
T = TypeVar("T")
CLOSED = "The search has been closed."
_PAUSE = 0.0005
"""Seconds between two steps, in which other threads have their turn."""


class SearchFailed(SearchProblem):
    """Something of the studio's own went wrong while it searched."""

    exit_code = 1


class _Question(NamedTuple):
    future: Future[Any]
    work: Callable[[], Any]
    ready: Callable[[], bool]


class Worker:
    """A thread that answers questions, and does small steps while none of them is ready.

    It is a daemon: what hangs in foreign code holds up neither the closing of a studio nor the end of the program.

    Args:
        step: does something that takes a few milliseconds; False where there is nothing to do.
        end: called in the thread at its end.
    """

    def __init__(self, name: str, step: Callable[[], bool], end: Callable[[], None]) -> None:
        self._step = step
        self._end = end
        self._changed = threading.Condition()
        self._questions: list[_Question] = []
        self._busy = True
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def ask(self, work: Callable[[], T], ready: Callable[[], bool] = lambda: True) -> Future[T]:
        """Have a question answered; cancel the future to give it up. The first one starts the thread.

        Args:
            ready: whether it can be answered now; not asked where there is no step left to do. In the thread.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._closed:
                future.set_exception(SearchProblem(CLOSED))
                return future
            self._questions.append(_Question(future, work, ready))
            self._busy = True  # it may want something that makes steps
            self._changed.notify()
            if self._thread.ident is None:
                self._thread.start()
        return future

    def wake(self) -> None:
        """There are steps to do."""
        with self._changed:
            self._busy = True
            self._changed.notify()

    def stop(self) -> None:
        """Answer no more questions; those that wait end with a problem."""
        with self._changed:
            self._closed = True
            questions, self._questions = self._questions, []
            self._changed.notify()
        for question in questions:
            if question.future.set_running_or_notify_cancel():
                question.future.set_exception(SearchProblem(CLOSED))

    def join(self, within: float) -> None:
        """Wait for the end of the thread, bounded."""
        if self._thread.ident is not None:
            self._thread.join(within)

    def _run(self) -> None:
        while not self._closed:
            with self._changed:
                while not (self._closed or self._busy or self._questions):
                    self._changed.wait()
                question = self._next()
            if question is not None:
                _answer(question)
                del question  # or its answer would be held until the next one
            elif not self._closed:
                self._do_step()
        try:
            self._end()
        except Exception:  # boundary of the thread
            log.exception("the end of %s failed", self._thread.name)

    def _next(self) -> _Question | None:
        for place, question in enumerate(self._questions):
            if not self._busy or question.future.cancelled() or question.ready():
                self._busy = True  # it may leave something to do
                return self._questions.pop(place)
        return None

    def _do_step(self) -> None:
        self._busy = False  # who wakes it meanwhile is heard
        try:
            more = self._step()
        except Exception:  # boundary: who waits for what it does would wait in vain
            log.exception("%s failed", self._thread.name)
            return
        if more:
            self._busy = True
            time.sleep(_PAUSE)


def _answer(question: _Question) -> None:
    if not question.future.set_running_or_notify_cancel():
        return
    try:
        question.future.set_result(question.work())
    except StudioError as problem:
        question.future.set_exception(problem.with_traceback(None))
    except BaseException as problem:  # boundary: who asked gets a sentence, the log all of it
        log.exception("searching failed")
        said = safe(f"{type(problem).__name__}: {problem}", 200)
        failed = SearchFailed(f"Searching failed inside the studio: {said}.", hint="The log has more.")
        question.future.set_exception(failed)
