"""What serves an index: lists are compared and taken up in one thread, questions are answered in others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future
from math import inf
from typing import Any

from mcp_studio.search import auto
from mcp_studio.search.answering import Answering
from mcp_studio.search.found import Found
from mcp_studio.search.intake import CLOSED, Intake
from mcp_studio.search.known import Difference, Group, Known, Listed, Things
from mcp_studio.search.meaning import MEANT, Meaning
from mcp_studio.search.method import LONGEST, Query, SearchProblem
from mcp_studio.search.methods import OWN as OWN
from mcp_studio.search.methods import Kit, Methods
from mcp_studio.search.plugins import MethodFailed
from mcp_studio.search.threads import Desk, Lane
from mcp_studio.search.usage import Usage

_GO_FIRST = 0.02
"""Seconds for which what is being taken up lets a question go first; once, or those who ask without a pause would
hold it up for good."""
_MOMENT = 0.003
"""Seconds of CPU for which short lists are compared one after the other."""
_FOREIGN = 5.0
"""Seconds that a plug-in may take for an answer."""
_PATIENCE, _TYPING = 30.0, 0.2
"""Seconds for which a question waits until its methods have everything; while somebody types, until they have begun."""
_MEANT = 5.0
"""Seconds for which a question that asks for meaning by name waits until that of all is known, unless asked `once`."""
_RECALLED = 1.0
"""Seconds that it may take to read what is kept of meaning, and to load the model, for a question asked `once`."""
_LOOK = 0.25
"""Seconds after which it is looked whether somebody still waits."""
_NEEDED = {auto.NAME: auto.LEXICAL, "hybrid": ("hybrid", "bm25")}
"""The methods that have to have everything for others."""
_ANSWERING = 2
"""Questions to our own methods that are answered at a time."""
_Wait = tuple["Future[Any]", "float | None"]
Waits = Generator[_Wait, None, None]
Steps = Generator[_Wait, None, Found]
"""What has to be waited for and how long at most, one after the other; then the answer."""


class Serving:
    """Threads and methods of one index.

    Args:
        told: called in a thread when something was taken up.
        semantic: whether meaning is to be mixed in.
        servers: their order where nothing else orders entries.
    """

    def __init__(
        self, kit: Kit, told: Callable[[], None], usage: Usage, servers: Callable[[], Iterable[str]], *, semantic: bool
    ) -> None:
        self._told = told
        self._known = Known()
        self._lane = Lane("search", self._step, self._let_go_first)
        self._desk = Desk("search questions", _ANSWERING)
        self.methods = Methods(self._known, kit, wake=self._lane.wake, patience=self._let_go_first, told=told)
        self.meaning = Meaning(self.methods, semantic)
        self._answering = Answering(self._known, self.methods.made, self.meaning, usage, servers)
        self._turn = threading.Lock()
        self._waiting: dict[Group, tuple[Things, tuple[str, ...]]] = {}
        self._compared: list[Future[None]] = []
        self._closed = False
        self._begun = False
        """Whether what there was at first has been compared."""
        self._asked = self._number = self._let = 0
        """Questions that are being answered, that there were, and the one that was let go first last."""
        self._calm = threading.Event()
        self._calm.set()

    # -------------------------------------------------------------- taking up

    def put(self, group: Group, listed: Things, tags: tuple[str, ...]) -> None:
        """Take up a list, soon."""
        with self._turn:
            self._waiting[group] = listed, tags
        self._lane.wake()

    def _step(self) -> bool:
        """Compare lists for a moment, or give each method a batch."""
        if self._waiting:
            end = time.thread_time() + _MOMENT
            while self._compare_one() and time.thread_time() < end:
                pass
            return True
        self._begun = True
        with self._turn:
            compared, self._compared = ([], self._compared) if self._waiting else (self._compared, [])
        for future in compared:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
        busy = self.methods.step()
        if busy:
            self._told()
        return busy

    def _compare_one(self) -> bool:
        """Compare the list that waits longest; False where there is none."""
        with self._turn:
            group = next(iter(self._waiting), None)
            waiting = self._waiting[group] if group is not None else None
        if group is None or waiting is None:
            return False
        self._compare(group, *waiting)
        with self._turn:
            if self._waiting.get(group) is waiting:
                del self._waiting[group]
        return True

    def _compare(self, group: Group, listed: Things, tags: tuple[str, ...]) -> None:
        if self._known.put(group, Listed(listed, tags), self._changed):
            self._told()

    def _changed(self, difference: Difference) -> None:
        self.methods.tell(difference)
        self._answering.forget(difference)

    def _let_go_first(self) -> None:
        if self._asked and self._let != self._number:
            self._let = self._number
            self._calm.wait(_GO_FIRST)

    # -------------------------------------------------------------- questions

    def steps(self, text: str, query: Query, method: str, once: bool = False) -> Steps:
        """The way to an answer.

        Args:
            once: see `index.Asking`.

        Raises:
            SearchProblem: it cannot be asked so, or the index was closed.
        """
        if not self.methods.has(method):
            yield self._desk.ask(self.methods.search_plugins), None
        intakes = [self.methods.want(name) for name in _NEEDED.get(method, (method,))]
        if not (query.typing and self._ready(intakes)):
            end = time.monotonic() + (_TYPING if query.typing else _PATIENCE)
            yield self._all_compared(), max(0.0, end - time.monotonic())
            for intake in intakes if text.strip() else ():
                yield intake.whenever(), max(0.0, end - time.monotonic())
        if text.strip() and not query.typing:
            yield from self._meant(query, method, once)
        desk = self.methods.desk(method) if text.strip() else None
        self._count(1)
        try:
            answered = (desk or self._desk).ask(lambda: self._answer(query, method, intakes, once))
            yield answered, _FOREIGN if desk else None
            if answered.cancelled():
                raise SearchProblem(CLOSED)
            if not answered.done():
                raise MethodFailed(f"{intakes[0].offer.words} did not answer within {_FOREIGN:g} seconds.")
            found = answered.result()
        finally:
            self._count(-1)
        if len(text) > LONGEST:
            note = f"Only the first {LONGEST:,} characters were looked at."
            return found._replace(note=f"{note} {found.note}".rstrip())
        return found

    def _meant(self, query: Query, method: str, once: bool) -> Waits:
        """Wait for meaning where it was asked for by name; where nobody did, only for what is kept to be read."""
        if method == auto.NAME:
            if once and auto.several(auto.pieces(query.text), query.text):
                yield self._desk.ask(lambda: self.meaning.recall(_RECALLED)), _RECALLED
            return
        end = inf if once else time.monotonic() + _MEANT
        while method in MEANT and time.monotonic() < end:
            learnt = self._desk.ask(lambda: self.meaning.learn(_LOOK))
            yield learnt, None
            if learnt.cancelled() or learnt.result():
                return

    def _answer(self, query: Query, method: str, intakes: list[Intake], once: bool) -> Found:
        pending = sum(len(listed) for listed, _ in tuple(self._waiting.values()))
        if method == auto.NAME and not once and all(intake.settled for intake in intakes):
            self.meaning.want()  # what words need comes first
        return self._answering.answer(query, method, intakes, pending)

    def _ready(self, intakes: Sequence[Intake]) -> bool:
        """Whether something can be answered at once."""
        return self._begun and all(intake.method is not None for intake in intakes)

    def _all_compared(self) -> Future[None]:
        """Done when all lists were looked at."""
        future: Future[None] = Future()
        with self._turn:
            if self._closed:
                future.cancel()
            else:
                self._compared.append(future)
        self._lane.wake()
        return future

    def _count(self, change: int) -> None:
        with self._turn:
            self._asked += change
            self._number += change > 0
            if self._asked:
                self._calm.clear()
            else:
                self._calm.set()

    def close(self, within: float) -> None:
        """End all threads, in this time; what is being asked ends with a problem."""
        end = time.monotonic() + within
        self._lane.close(within)
        with self._turn:
            self._closed, compared, self._compared = True, self._compared, []
        for future in compared:
            future.cancel()
        self.methods.close(max(0.0, end - time.monotonic()))
        self._desk.close(max(0.0, end - time.monotonic()))
