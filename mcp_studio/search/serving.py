"""What serves an index: the threads, the methods that were loaded, and the way from a question to its answer."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from mcp_studio.catalog.listing import Entry
from mcp_studio.search.document import Document
from mcp_studio.search.found import Found, Hit, MethodInfo
from mcp_studio.search.intake import Intake
from mcp_studio.search.known import Difference, Group, Known, Taken, taken_of
from mcp_studio.search.method import Method, Query, Scored, SearchProblem
from mcp_studio.search.plugins import MethodFailed, Offer, checked, entry_points, infos
from mcp_studio.search.threads import Desk, Lane

_LONGEST_WAIT = 0.05
"""Seconds for which a batch lets questions go first."""
_FOREIGN = 5.0
"""Seconds that a plug-in may take for an answer."""
Listed = Sequence[Entry] | Sequence[Document]

OWN: tuple[tuple[str, str, str], ...] = (
    ("substring", "words anywhere, and names nearly right", "mcp_studio.search.substring:Substring"),
    ("regex", "a regular expression", "mcp_studio.search.regex:Regexes"),
    ("bm25", "words, by how much they tell (BM25 over fields)", "mcp_studio.search.bm25:Bm25"),
    ("okapi", "words, plain BM25 (rank_bm25)", "mcp_studio.search.okapi:Okapi"),
    ("semantic", "meaning", "mcp_studio.search.semantic:Semantic"),
    ("hybrid", "words and meaning", "mcp_studio.search.hybrid:Hybrid"),
)
AUTO = ("auto", "names, then words, then meaning")


class Serving:
    """Threads and methods of one index."""

    def __init__(self, told: Callable[[], None], servers: Callable[[], Iterable[str]]) -> None:
        self._told = told
        self._servers = servers
        self._known = Known()
        self._offers = {name: Offer(name, title, _maker(place)) for name, title, place in OWN}
        self._searched_plugins = False
        self._turn = threading.Lock()
        self._waiting: dict[Group, tuple[Listed, tuple[str, ...]]] = {}
        self._compared: list[Future[None]] = []
        self._intakes: dict[str, Intake] = {}
        self._lane = Lane("search", self._step, self._after_questions)
        self._desk = Desk("search questions", 2)
        self._lanes: dict[str, tuple[Lane, Desk]] = {}
        self._asked = 0
        self._calm = threading.Event()
        self._calm.set()

    # -------------------------------------------------------------- taking up

    def put(self, group: Group, listed: Listed, tags: tuple[str, ...]) -> None:
        """Take up a list, soon."""
        with self._turn:
            self._waiting[group] = listed, tags
        self._lane.wake()

    @property
    def pending(self) -> int:
        """Entries of lists that were not looked at yet."""
        return sum(len(listed) for listed, _ in tuple(self._waiting.values()))

    def _step(self) -> bool:
        """Compare one list, or give every method of ours a batch."""
        with self._turn:
            group = next(iter(self._waiting), None)
            waiting = self._waiting[group] if group is not None else None
            compared, self._compared = ([], self._compared) if group is not None else (self._compared, [])
        if group is not None and waiting is not None:
            self._compare(group, *waiting)
            with self._turn:
                if self._waiting.get(group) is waiting:
                    del self._waiting[group]
            return True
        for future in compared:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
        busy = [intake.step() for intake in tuple(self._intakes.values()) if not intake.offer.package]
        if any(busy):
            self._told()
        return any(busy)

    def _compare(self, group: Group, listed: Listed, tags: tuple[str, ...]) -> None:
        entries = [one for one in listed if isinstance(one, Entry)]
        now = taken_of(entries, tags)
        for one in listed:
            if isinstance(one, Document) and one.ref.name:
                now.setdefault(one.ref, Taken(one))
        changed = self._known.put(group, now, self._spread)
        if changed:
            for lane, _ in tuple(self._lanes.values()):
                lane.wake()
            self._told()

    def _spread(self, difference: Difference) -> None:
        for intake in tuple(self._intakes.values()):
            intake.change(difference.removed, difference.added)
            intake.replace(difference.changed)

    def _after_questions(self) -> None:
        if self._asked:
            self._calm.wait(_LONGEST_WAIT)

    # -------------------------------------------------------------- methods

    def methods(self) -> tuple[MethodInfo, ...]:
        """Those that are known."""
        return (MethodInfo(*AUTO), *infos(self._offers.values(), self._why_not))

    def _why_not(self, name: str) -> str:
        intake = self._intakes.get(name)
        return str(intake.problem) if intake is not None and intake.problem is not None else ""

    def vectors(self) -> tuple[int, int]:
        """See `SearchIndex.vectors`."""
        return (0, 0)

    def want(self, name: str) -> Intake:
        """A method, made soon if it was not yet.

        Raises:
            SearchProblem: there is none of that name.
        """
        if name not in self._offers:
            self.search_plugins()
        offer = self._offers.get(name)
        if offer is None:
            names = ", ".join(("auto", *self._offers))
            raise SearchProblem(f"There is no search method {name!r}.", hint=f"There are {names}.")
        with self._turn:
            intake = self._intakes.get(name)
            if intake is None:
                intake = self._intakes[name] = Intake(offer, self._known)
                if offer.package:
                    lane = Lane(f"search {name}", intake.step, self._after_questions)
                    self._lanes[name] = lane, Desk(f"search {name} questions")
        self._lanes[name][0].wake() if offer.package else self._lane.wake()
        return intake

    def search_plugins(self) -> None:
        """Look for methods of packages, once; slow."""
        if not self._searched_plugins:
            self._offers |= entry_points(("auto", *self._offers))
            self._searched_plugins = True

    # -------------------------------------------------------------- questions

    def steps(
        self, query: Query, method: str, patience: float, *, cut: bool
    ) -> Generator[tuple[Future[Any], float | None], None, Found]:
        """The way to an answer, see `index.Step`."""
        names = ("substring", "bm25") if method == "auto" else (method,)
        if method != "auto" and method not in self._offers:
            looked = self._desk.ask(self.search_plugins)
            yield looked, None
        intakes = [self.want(name) for name in names]
        end = time.monotonic() + patience
        yield self._all_compared(), patience
        for intake in intakes:
            yield intake.whenever(), max(0.0, end - time.monotonic())
        desk = self._lanes[method][1] if method in self._lanes else self._desk
        self._count(1)
        try:
            answered = desk.ask(lambda: self._answer(query, method, intakes))
            yield answered, _FOREIGN if method in self._lanes else None
            if answered.cancelled():
                raise SearchProblem("The search has ended.")
            if not answered.done():
                raise MethodFailed(f"{intakes[0].offer.words} did not answer within {_FOREIGN:g} seconds.")
            return answered.result()
        finally:
            self._count(-1)

    def _all_compared(self) -> Future[None]:
        """Done when all lists were looked at."""
        future: Future[None] = Future()
        with self._turn:
            self._compared.append(future)
        self._lane.wake()
        return future

    def _count(self, change: int) -> None:
        with self._turn:
            self._asked += change
            if self._asked:
                self._calm.clear()
            else:
                self._calm.set()

    def _answer(self, query: Query, method: str, intakes: list[Intake]) -> Found:
        began = time.perf_counter()
        known, of = self._known, self._known.count(query.scope)
        pending = self.pending + max(intake.pending for intake in intakes)
        if not query.text.strip():
            ordered = list(known.ordered(query.scope, self._servers()))
            hits = tuple(Hit(ref, 0.0, (), taken.entry) for ref, taken in ordered[: query.limit])
            return Found(query, hits, len(ordered), of, _ms(began), "used", pending=pending)
        serving = next((one for one in reversed(intakes) if one.problem is None), intakes[-1])
        answer = checked(serving.offer, serving.ask(query), query, lambda ref: known.get(ref) is not None)
        hits = tuple(self._hit(query, scored) for scored in answer.hits)
        return Found(query, hits, answer.total, of, _ms(began), serving.offer.name, answer.note, pending)

    def _hit(self, query: Query, scored: Scored) -> Hit:
        taken = self._known.get(scored.ref)
        return Hit(scored.ref, scored.score, scored.reasons, taken.entry if taken else None)

    def close(self, within: float) -> None:
        """End all threads, bounded."""
        lanes = tuple(self._lanes.values())
        for lane in (self._lane, *(lane for lane, _ in lanes)):
            lane.close(within)
        for desk in (self._desk, *(desk for _, desk in lanes)):
            desk.close(within)


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _maker(place: str) -> Callable[[], Method]:
    module, _, name = place.partition(":")
    return lambda: getattr(importlib.import_module(module), name)()
