"""The methods of one index: which there are, which were made, and the threads that plug-ins have to themselves."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search import auto
from mcp_studio.search.method import EVERYWHERE, Answer, Document, Method, MethodInfo, Query, Scope, SearchProblem
from mcp_studio.search.plugins import MethodFailed, Offer, entry_points, guarded
from mcp_studio.search.threads import Desk, Lane

Group = tuple[str, EntryKind]
Thing = Entry | Document
"""What is known of one name: an entry of the catalog, or a document from elsewhere."""
Things = Sequence[Entry] | Sequence[Document]


class Listed:
    """What one server lists of one kind, by name: of duplicates the first one counts, and nameless ones do not."""

    def __init__(self, things: Things = (), tags: tuple[str, ...] = ()) -> None:
        self.tags = tags
        self.things: dict[Ref, Thing] = {}
        for one in things:
            if one.ref.name and one.ref not in self.things:
                self.things[one.ref] = one

    def document(self, ref: Ref) -> Document:
        """One of them as it is searched; made anew each time, for there are many."""
        one = self.things[ref]
        return one if isinstance(one, Document) else Document(ref, one.view.raw, self.tags)


class Difference(NamedTuple):
    """What a new list of one group changes."""

    removed: tuple[Ref, ...]
    added: Mapping[Ref, Document]
    changed: Mapping[Ref, Document]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.changed)


class Known:
    """All documents. One thread changes it; any may read."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        """Held while a group is replaced and those are told who follow."""
        self._groups: dict[Group, Listed] = {}

    def put(self, group: Group, now: Listed, tell: Callable[[Difference], None]) -> bool:
        """Replace a group; whether that changed what is searched. An empty one is forgotten."""
        difference = compare(self._groups.get(group) or Listed(), now)
        with self.turn:
            if now.things:
                self._groups[group] = now
            else:
                self._groups.pop(group, None)
            if difference:
                tell(difference)
        return bool(difference)

    def has(self, ref: Ref) -> bool:
        """Whether something of this name is known."""
        listed = self._groups.get((ref.server, ref.kind))
        return listed is not None and ref in listed.things

    def get(self, ref: Ref) -> tuple[Document, Entry | None] | None:
        """What is known under a name, and the entry of the catalog that it comes of."""
        listed = self._groups.get((ref.server, ref.kind))
        if listed is None or ref not in listed.things:
            return None
        one = listed.things[ref]
        return listed.document(ref), one if isinstance(one, Entry) else None

    def documents(self) -> Iterator[Document]:
        """All of them; with `turn` held."""
        return (listed.document(ref) for listed in self._groups.values() for ref in listed.things)

    def some(self, most: int) -> list[Document]:
        """A few of them from all over, always the same ones of the same lists."""
        with self.turn:
            every = max(1, -(-self.count(EVERYWHERE) // most))
            return list(islice(self.documents(), 0, None, every))

    def count(self, scope: Scope) -> int:
        """How many lie in a scope."""
        return sum(len(listed.things) for _, listed in self._in(scope))

    def ordered(self, scope: Scope, servers: Iterable[str]) -> Iterator[Ref]:
        """Those in a scope: tools first, servers in this order and then by name, entries as they were listed."""
        place = {name: number for number, name in enumerate(servers)}
        groups = sorted(
            self._in(scope), key=lambda one: (KINDS.index(one[0][1]), place.get(one[0][0], len(place)), one[0][0])
        )
        return (ref for _, listed in groups for ref in listed.things)

    def _in(self, scope: Scope) -> list[tuple[Group, Listed]]:
        groups = tuple(self._groups.items())
        if scope == EVERYWHERE:
            return list(groups)
        return [(group, listed) for group, listed in groups if scope.has(Ref(group[1], group[0], ""))]


def compare(before: Listed, now: Listed) -> Difference:
    """What has to be removed, added and replaced."""
    added: dict[Ref, Document] = {}
    changed: dict[Ref, Document] = {}
    for ref in now.things:
        if ref not in before.things:
            added[ref] = now.document(ref)
        elif before.tags != now.tags or not _same(before.things[ref], now.things[ref]):
            changed[ref] = now.document(ref)
    return Difference(tuple(ref for ref in before.things if ref not in now.things), added, changed)


def _same(one: Thing, other: Thing) -> bool:
    if one is other:
        return True
    tags = [thing.tags if isinstance(thing, Document) else () for thing in (one, other)]
    raws = [thing.raw if isinstance(thing, Document) else thing.view.raw for thing in (one, other)]
    try:
        return tags[0] == tags[1] and (raws[0] is raws[1] or raws[0] == raws[1])
    except RecursionError:  # nested too deeply to tell
        return False


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


OWN: tuple[tuple[str, str, str], ...] = (
    ("substring", "words anywhere, and names nearly right", "mcp_studio.search.substring:Substring"),
    ("regex", "a regular expression", "mcp_studio.search.regex:Regexes"),
    ("bm25", "words, by how much they tell (BM25 over fields)", "mcp_studio.search.bm25:Bm25"),
    ("okapi", "words, plain BM25 (rank_bm25)", "mcp_studio.search.okapi:Okapi"),
    ("semantic", "meaning", "mcp_studio.search.semantic:Semantic"),
    ("hybrid", "words and meaning", "mcp_studio.search.semantic:Hybrid"),
)
"""Name, a few words for a person, and where it is."""
_SOME = 32
"""Entries whose vectors are looked for to know whether those of all are kept."""
_RECALLED = 5_000
"""Entries whose vectors are looked up for a single question, at 0.08 ms each."""
AUTO = MethodInfo(auto.NAME, "names, then words, then meaning")


class Kit(NamedTuple):
    """What our own methods are made with."""

    cache: Path | None = None
    """Where vectors are kept; None keeps none."""
    cjk: Cjk = "characters"


class Methods:
    """Makes methods when they are wanted.

    Args:
        known: what they are given.
        wake: wakes the thread that looks after our own.
        patience: waits as long as a question should go first.
        told: called in a thread when a method knows more by itself.
    """

    def __init__(
        self,
        known: Known,
        kit: Kit,
        *,
        wake: Callable[[], None],
        patience: Callable[[], None],
        told: Callable[[], None],
    ) -> None:
        self._known = known
        self._wake = wake
        self._patience = patience
        self._kit = kit
        self._told = told
        self._offers = {name: Offer(name, title, partial(self._make, name, place)) for name, title, place in OWN}
        self._complete = False
        self._closed = False
        self._turn = threading.Lock()
        """Held for a moment: the loop waits for it."""
        self._looking = threading.Lock()
        """Held while packages are looked through."""
        self._intakes: dict[str, Intake] = {}
        self._apart: dict[str, tuple[Lane, Desk]] = {}
        """Threads of plug-ins: one that hangs holds up itself alone."""

    def infos(self, *, all: bool = False) -> tuple[MethodInfo, ...]:
        """Those that are known so far, our own ones first; `all` looks for the rest, which is slow the first time."""
        if all:
            self.search_plugins()
            _ = self.meaningless
        return (AUTO, *(self._info(offer) for offer in tuple(self._offers.values())))

    def has(self, name: str) -> bool:
        """Whether a name is known so far."""
        return name == AUTO.name or name in self._offers

    def search_plugins(self) -> None:
        """Look for methods of packages, once; slow."""
        with self._looking:
            if not self._complete:
                self._offers |= entry_points((AUTO.name, *self._offers))
                self._complete = True

    def want(self, name: str) -> Intake:
        """A method, made soon if it was not yet.

        Raises:
            SearchProblem: there is none of that name.
        """
        offer = self._offers.get(name)
        if offer is None:
            known = ", ".join((AUTO.name, *self._offers))
            raise SearchProblem(f"There is no search method {name!r}.", hint=f"There are {known}.")
        with self._turn:
            if self._closed:
                raise SearchProblem(CLOSED)
            intake = self._intakes.get(name)
            if intake is None:
                intake = self._intakes[name] = Intake(offer, self._known)
                if offer.package:
                    lane = Lane(f"search {name}", intake.step, self._patience)
                    self._apart[name] = lane, Desk(f"search {name} questions")
        if name in self._apart:
            self._apart[name][0].wake()
        else:
            self._wake()
        return intake

    def made(self, name: str) -> Intake | None:
        """A method that was wanted before."""
        return self._intakes.get(name)

    def desk(self, name: str) -> Desk | None:
        """Where a plug-in is asked; None for our own."""
        return self._apart[name][1] if name in self._apart else None

    def step(self) -> bool:
        """Give each of our own a batch."""
        own = [intake for intake in tuple(self._intakes.values()) if not intake.offer.package]
        return any([intake.step() for intake in own])

    def tell(self, difference: Difference) -> None:
        """What there is has changed."""
        for intake in tuple(self._intakes.values()):
            intake.change(difference)
        for lane, _ in tuple(self._apart.values()):
            lane.wake()

    def close(self, within: float) -> None:
        """End the threads of plug-ins and whatever waits for a method; the same time is for all of them."""
        end = time.monotonic() + within
        with self._turn:
            self._closed = True
        closing: list[Future[None]] = []
        for name, intake in tuple(self._intakes.items()):
            close = intake.stop()
            if name not in self._apart:
                close()
                continue
            lane, desk = self._apart[name]
            lane.close(0)
            closing.append(desk.ask(partial(_after, lane, within, close)))
        futures.wait(closing, within)
        for lane, desk in tuple(self._apart.values()):
            lane.close(max(0.0, end - time.monotonic()))
            desk.close(max(0.0, end - time.monotonic()))

    def _info(self, offer: Offer) -> MethodInfo:
        intake = self._intakes.get(offer.name)
        problem = str(intake.problem) if intake is not None and intake.problem is not None else ""
        if offer.name in ("semantic", "hybrid") and not problem:
            problem = self.__dict__.get("meaningless", "")
        return MethodInfo(offer.name, offer.title, not problem, problem, offer.package)

    def kept(self) -> float:
        """The share of entries whose vectors are kept from before, by a few of them; slow, but loads no model.

        Of more entries than can be read in the time that one question has, it is none.
        """
        if self._kit.cache is None or self._known.count(EVERYWHERE) > _RECALLED or self.meaningless:
            return 0.0
        return importlib.import_module("mcp_studio.search.embedder").kept(self._kit.cache, self._known.some(_SOME))

    @cached_property
    def meaningless(self) -> str:
        """Why nothing can be compared by meaning, and what to do about it; empty where it can. Slow, the first time."""
        return importlib.import_module("mcp_studio.search.vectors").available()[1]

    def _make(self, name: str, place: str) -> Method:
        module, _, found = place.partition(":")
        kind = getattr(importlib.import_module(module), found)
        if name == "semantic":
            meaning = kind(self._kit.cache)
            meaning.changed.connect(lambda _: self._told())
            return meaning
        if name in ("bm25", "okapi"):
            return kind(self._kit.cjk)
        if name == "hybrid":
            meant = self.want("semantic")
            while meant.method is None:  # both are made in this thread
                if meant.problem is not None:
                    raise meant.problem
                meant.step()
            return kind(self.want("bm25").ask, meant.method)
        return kind()


def _after(lane: Lane, within: float, close: Callable[[], None]) -> None:
    """Close a method that is not being given anything any more: calls never overlap."""
    lane.close(within)
    close()
