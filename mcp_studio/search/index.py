"""The index over everything that servers offer: follows the catalog, and answers questions by any method."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import suppress
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search import auto, tokens, why
from mcp_studio.search.method import (
    BY_LETTERS,
    EVERYWHERE,
    LONGEST,
    Answer,
    Document,
    Found,
    Hit,
    MethodInfo,
    Query,
    Scope,
    Scored,
    SearchProblem,
    Used,
)
from mcp_studio.search.methods import CLOSED, Difference, Group, Intake, Kit, Known, Listed, Methods, Things
from mcp_studio.search.plugins import MethodFailed, checked
from mcp_studio.search.threads import Desk, Lane
from mcp_studio.search.usage import Usage, Uses
from mcp_studio.search.why import Readings, literal_reasons
from mcp_studio.signal import Signal

if TYPE_CHECKING:
    from mcp_studio.search.semantic import Semantic

MEANT = ("semantic", "hybrid")
"""The methods that need it."""
_ENOUGH = 0.8
"""The share of entries whose meaning has to be known."""


class Meaning:
    """What an index knows of meaning; everything but `progress` is for a thread.

    Args:
        wished: whether the settings want it; asked for by its name it serves all the same.
    """

    def __init__(self, methods: Methods, wished: bool) -> None:
        self._methods = methods
        self._wished = wished
        self._said = False

    def want(self) -> None:
        """Have it made, soon, where it can be."""
        if self._wished and not self._methods.meaningless:
            for name in MEANT:
                self._methods.want(name)

    def serves(self) -> bool:
        """Whether it is known well enough; where it is not, the model is loaded and more becomes known."""
        meant, hybrid = self._semantic(), self._methods.made("hybrid")
        if not self._wished or meant is None or hybrid is None or hybrid.method is None:
            return False
        done, everything = meant.progress
        return meant.ready() is not None and done >= _ENOUGH * everything > 0

    def learn(self, seconds: float) -> bool:
        """Wait until the meaning of all is known, bounded; True where there is nothing more to wait for. Blocks.

        Then the model is loaded too: what was kept is known without it, but no question is.
        """
        end = time.monotonic() + seconds
        if self._lack(seconds):
            return False
        if (meant := self._semantic()) is not None:
            if not meant.wait(max(0.0, end - time.monotonic())):
                return False
            meant.recall(0.0)
        return True

    def recall(self, seconds: float) -> None:
        """Read what is kept of earlier searches, where that is nearly everything; else nothing is begun. Blocks."""
        if self._wished and self._methods.kept() >= _ENOUGH:
            end = time.monotonic() + seconds
            self.want()
            if not self._lack(seconds) and (meant := self._semantic()) is not None:
                meant.recall(end - time.monotonic())

    def _lack(self, seconds: float) -> bool:
        """Wait until the methods have been given everything; whether they lack something by then."""
        made = [one for name in MEANT if (one := self._methods.made(name)) is not None]
        return bool(futures.wait([one.whenever() for one in made], seconds).not_done)

    def note(self) -> str:
        """How to get it where it is missing, said once."""
        if not self._wished or self._said:
            return ""
        self._said = bool(self._methods.meaningless)
        return f"Only words were compared. {self._methods.meaningless}." if self._said else ""

    @property
    def progress(self) -> tuple[int, int]:
        """Of how many entries it is known, and how many there are."""
        meant = self._semantic()
        return meant.progress if meant is not None else (0, 0)

    def _semantic(self) -> Semantic | None:
        made = self._methods.made("semantic")
        return cast("Semantic | None", made.method) if made is not None else None


RECENT = 8
"""For an empty question: so many of what was used last come before what was used most."""
_FEW = 3
"""Who does not type, and found fewer, is told what is missing; who found more was served."""
_TOLD = 60
"""The best so many hits say why they are there; to say it takes longer than to find them."""


class Answering:
    """Answers questions over what is known; blocks, so it is for a thread.

    Args:
        made: gives a method that was made.
        servers: their order where nothing else orders entries.
    """

    def __init__(
        self,
        known: Known,
        made: Callable[[str], Intake | None],
        meaning: Meaning,
        usage: Usage,
        servers: Callable[[], Iterable[str]],
    ) -> None:
        self._known = known
        self._made = made
        self._meaning = meaning
        self._usage = usage
        self._servers = servers
        self._said = False
        self._readings = Readings()

    def forget(self, difference: Difference) -> None:
        """Let go of what is there no more, or is another now."""
        self._readings.forget((*difference.removed, *difference.changed))

    def answer(self, query: Query, method: str, intakes: Sequence[Intake], pending: int) -> Found:
        """Ask these methods.

        Raises:
            SearchProblem: it cannot be asked so, or nothing serves.
        """
        began = time.perf_counter()
        of, uses = self._known.count(query.scope), self._usage.all()
        if not query.text.strip():
            hits = self._used(query, uses)
            return Found(query, hits, of, of, _ms(began), "used", pending=pending)
        pending += max(intake.pending for intake in intakes)
        if method == auto.NAME:
            served = self._auto(query, intakes, uses)
        else:
            served = auto.Served(self._ask(intakes[0], query), method)
        answer = served.answer
        shown = (self._hit(one, uses, query if at < _TOLD else None) for at, one in enumerate(answer.hits))
        hits = tuple(sorted((hit for hit in shown if hit is not None), key=_first))
        return Found(query, hits, answer.total, of, _ms(began), served.method, self._once(answer.note), pending)

    def _once(self, note: str) -> str:
        """A note without what was said before and is no news: which extra is missing."""
        if tokens.MISSING not in note:
            return note
        said, self._said = self._said, True
        return note.replace(tokens.MISSING, "").strip() if said else note

    def _auto(self, query: Query, intakes: Sequence[Intake], uses: Mapping[Ref, Uses]) -> auto.Served:
        if all(intake.problem is not None for intake in intakes):
            raise intakes[-1].problem or SearchProblem("No search method serves.")
        now, meaning = time.time(), self._meaning
        wanted = False

        def ask(name: str, asked: Query) -> Answer:
            intake = self._made(name)
            if intake is None or intake.problem is not None:
                return Answer((), 0)
            answer = self._ask(intake, asked)
            # How far meaning is known is told elsewhere, and not on every key.
            told = tokens.MISSING if tokens.MISSING in answer.note else ""
            return answer._replace(note=told) if name == "hybrid" else answer

        def meant() -> bool:
            nonlocal wanted
            wanted = True
            return meaning.serves()

        def strength(ref: Ref) -> float:
            return uses[ref].strength(now) if ref in uses else 0.0

        served = auto.search(query, ask, meaning=meant, strength=strength)
        answer = served.answer
        lacks = meaning.note() if wanted and (query.typing or answer.total < _FEW) else ""
        return served._replace(answer=answer._replace(note=f"{lacks} {answer.note}".strip()))

    def _ask(self, intake: Intake, query: Query) -> Answer:
        answer = intake.ask(query)
        if intake.offer.package:
            return checked(intake.offer, answer, query, self._known.has)
        return answer._replace(hits=[hit for hit in answer.hits if self._known.has(hit.ref)])

    def _hit(self, scored: Scored, uses: Mapping[Ref, Uses], query: Query | None = None) -> Hit | None:
        """What is shown of something found; None where it has gone meanwhile."""
        taken = self._known.get(scored.ref)
        if taken is None:
            return None
        (document, entry), reasons = taken, scored.reasons
        if reasons and reasons[0].field == BY_LETTERS[0].field:
            reasons = literal_reasons(document, query, reasons[0]) if query is not None else ()
        if query is not None and all(reason.field == "meaning" for reason in reasons):
            reasons = why.reasons(document, query, reasons, self._readings.of)
        return Hit(scored.ref, scored.score, reasons, entry, _used(uses.get(scored.ref)))

    def _used(self, query: Query, uses: Mapping[Ref, Uses]) -> tuple[Hit, ...]:
        """What was used last, then what was used most, then everything else in the order of the catalogue."""
        here = [ref for ref in uses if query.scope.has(ref) and self._known.has(ref)]
        last = sorted(here, key=lambda ref: (-uses[ref].last, ref))[:RECENT]
        now = time.time()
        most = sorted(here, key=lambda ref: (-uses[ref].strength(now), ref))
        rest = self._known.ordered(query.scope, self._servers())
        refs = islice(dict.fromkeys(chain(last, most, islice(rest, query.limit + len(here)))), query.limit)
        return tuple(hit for ref in refs if (hit := self._hit(Scored(ref, 0.0), uses)))


def _first(hit: Hit) -> tuple[float, bool]:
    """Among equal ones what can be run comes before what is only remembered."""
    return -hit.score, hit.entry is not None and hit.entry.remembered


def _used(uses: Uses | None) -> Used | None:
    return None if uses is None else Used(uses.runs + uses.opened, uses.last)


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


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


_MOST = 1_000
"""Hits that one answer may have."""
_SOON, _STEADY = 0.05, 0.25
"""Seconds between a change and telling of it; while changes go on, between one telling and the next."""
_CLOSE = 1.0


class Asking(TypedDict, total=False):
    """How a question is asked."""

    method: str
    """Without it, `auto`."""
    scope: Scope
    limit: int
    """The most hits that are wanted; 50 where nothing is said, 1,000 at most."""
    typing: bool
    """The last word may go on, and what can be said at once is better than what is complete."""
    once: bool
    """Nobody will ask again. Meaning asked for by name is waited for, however long that takes, with `vectors` telling
    how far it is; without a method it serves only where it is kept from before, and nothing is begun that nobody would
    wait for."""


class SearchIndex:
    """All documents of all servers, and the methods that search them. Any thread may use it.

    It is made on a loop and tells `changed` there; without one it works as well, and tells nothing. Nothing is loaded
    before the first question.

    Args:
        catalog: what to follow; without one it knows what it is given by `put`.
        tags: words about a server, such as its group.
        servers: the order of servers where nothing else orders entries.
        usage: what was run and opened; without it nothing is known of that.
        cache: the folder where vectors are kept; without one they are computed anew.
        semantic: mix in meaning, where the extra for it is installed, when nobody chose a method.
        cjk: how Chinese is taken apart.
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        tags: Callable[[str], tuple[str, ...]] = lambda _: (),
        servers: Callable[[], Iterable[str]] = lambda: (),
        usage: Usage | None = None,
        cache: Path | None = None,
        semantic: bool = True,
        cjk: Cjk = "characters",
    ) -> None:
        self.changed: Signal[None] = Signal()
        """It has taken up something: an answer that is shown may be another now."""
        self._catalog = catalog
        self._tags = tags
        self._usage = usage or Usage(None)
        self._serving = Serving(Kit(cache, cjk), self._tell_soon, self._usage, servers, semantic=semantic)
        self._loop = _running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._told = 0.0
        self._disconnect = lambda: None
        if catalog is not None:
            self._disconnect = catalog.changed.connect(self._listed)
            for server in catalog.servers:
                for kind in KINDS:
                    if catalog.listing(server, kind).entries:
                        self._listed((server, kind))

    # -------------------------------------------------------------- what there is

    def put(self, server: str, kind: EntryKind, documents: Sequence[Document]) -> None:
        """Take up all documents of one kind of a server, in place of those before; returns at once."""
        own = tuple(one for one in documents if (one.ref.server, one.ref.kind) == (server, kind))
        self._serving.put((server, kind), own, ())

    def forget(self, server: str) -> None:
        """Forget a server; returns at once."""
        for kind in KINDS:
            self._serving.put((server, kind), (), ())

    def _listed(self, group: tuple[str, EntryKind]) -> None:
        if self._catalog is not None:
            entries: tuple[Entry, ...] = self._catalog.listing(*group).entries
            self._serving.put(group, entries, self._tags(group[0]) if entries else ())

    def used(self, ref: Ref) -> None:
        """A person has opened it; what a studio runs is counted by itself."""
        self._usage.opened(ref)

    # -------------------------------------------------------------- questions

    @property
    def methods(self) -> tuple[MethodInfo, ...]:
        """The methods that can be asked for, our own ones first, as far as is known: this never takes time."""
        return self._serving.methods.infos()

    def all_methods(self) -> tuple[MethodInfo, ...]:
        """The same with those of all packages, and what is missing for others; slow the first time."""
        return self._serving.methods.infos(all=True)

    @property
    def vectors(self) -> tuple[int, int]:
        """Of how many entries the meaning is known, and how many there are; (0, 0) before somebody asks for it."""
        return self._serving.meaning.progress

    async def ask(self, text: str, **how: Unpack[Asking]) -> Found:
        """Answer a question; an empty one is answered with what was used last and most. Cancel it to give it up.

        Raises:
            SearchProblem: it cannot be asked in this way.
        """
        steps = self._steps(text, **how)
        try:
            while True:
                waited, within = next(steps)
                future = asyncio.wrap_future(waited)
                future.add_done_callback(_heard)
                await asyncio.wait((future,), timeout=within)
        except StopIteration as done:
            return done.value
        finally:
            steps.close()

    def ask_now(self, text: str, **how: Unpack[Asking]) -> Found:
        """The same, blocking.

        Raises:
            SearchProblem: it cannot be asked in this way.
        """
        steps = self._steps(text, **how)
        try:
            while True:
                waited, within = next(steps)
                with suppress(futures.CancelledError, TimeoutError):
                    waited.exception(within)
        except StopIteration as done:
            return done.value
        finally:
            steps.close()

    def _steps(
        self, text: str, method: str = "auto", scope: Scope = EVERYWHERE, limit: int = 50, typing: bool = False,
        once: bool = False,
    ) -> Steps:  # fmt: skip
        """The steps to an answer; what is waited for is given up where they are closed."""
        query = Query(text[:LONGEST], max(1, min(limit, _MOST)), scope, typing)
        steps = self._serving.steps(text, query, method, once)
        waited: Future[Any] | None = None
        try:
            while True:
                waited, within = next(steps)
                yield waited, within
        except StopIteration as done:
            return done.value
        finally:
            if waited is not None:
                waited.cancel()
            steps.close()

    # -------------------------------------------------------------- the end

    def close(self) -> None:
        """End its threads, bounded; it answers nothing any more. May block for a moment."""
        self._disconnect()
        self._serving.close(_CLOSE)

    def _tell_soon(self) -> None:
        """From a thread: something was taken up."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._schedule)

    def _schedule(self) -> None:
        if self._timer is None and self._loop is not None:
            now = self._loop.time()
            self._timer = self._loop.call_at(max(now + _SOON, self._told + _STEADY), self._tell)

    def _tell(self) -> None:
        self._timer = None
        self._told = self._loop.time() if self._loop is not None else 0.0
        self.changed.emit(None)


def _heard(future: asyncio.Future[Any]) -> None:
    """Its failure is raised by what comes next; the loop need not complain that nobody asked."""
    if not future.cancelled():
        future.exception()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
