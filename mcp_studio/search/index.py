"""The index over everything that servers offer: follows the catalog, and answers questions by any method."""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import KINDS
from mcp_studio.config.model import Cjk
from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.search import auto
from mcp_studio.search.engine import Engine, Group, Listed, own_offers
from mcp_studio.search.index_file import Redact
from mcp_studio.search.method import EVERYWHERE, LONGEST, Found, MethodInfo, Query, Scope, SearchProblem
from mcp_studio.search.plugins import MethodFailed, Offer, entry_points
from mcp_studio.search.usage import Usage
from mcp_studio.signal import Signal

log = logging.getLogger(__name__)
AUTO = MethodInfo(auto.NAME, "names, then words, then meaning")
_MOST = 1_000
"""Hits that one answer may have."""
_FOREIGN, _FOREIGN_FIRST = 5.0, 30.0
"""Seconds that a method of a package may take for an answer; while it has not taken everything up."""
_CLOSE = 1.0


CLOSED = "The search has been closed."
_QUIET = 0.1
"""Seconds after a question in which nothing else is done: a step may take as long as ten questions."""
_PAUSE = 0.0005
"""Seconds between two steps, in which other threads have their turn."""


class SearchFailed(SearchProblem):
    """Something of the studio's own went wrong while it searched."""

    exit_code = 1


class Worker:
    """A thread that does small steps, and answers questions between them as soon as they are ready.

    It is a daemon: what hangs in foreign code holds up neither the closing of a studio nor the end of the program.

    Args:
        step: does something that takes a few milliseconds; False where there is nothing to do.
        end: called in the thread at its end.
    """

    def __init__(self, name: str, step: Callable[[], bool], end: Callable[[], None]) -> None:
        self._step = step
        self._end = end
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._busy = False
        """There is a step among the jobs."""
        self._rest: float | None = None
        """Seconds without a job after which there is a step."""
        self._answered = -_QUIET
        self._waiting: set[Future[Any]] = set()
        self._closed = False
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def ask(self, work: Callable[[], Any], ready: Callable[[], bool] = lambda: True) -> Future[Any]:
        """Have a question answered; cancel the future to give it up. The first one starts the thread.

        Args:
            ready: whether it can be answered now; not asked where there is no step left to do. In the thread.
        """
        future: Future[Any] = Future()
        if self._closed:
            future.set_exception(SearchProblem(CLOSED))
            return future
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        self._jobs.put(partial(self._answer, future, work, ready, True))
        if self.thread.ident is None:
            self.thread.start()
        return future

    def wake(self) -> None:
        """There are steps to do."""
        if not self._busy:
            self._busy = True
            self._jobs.put(self._do_step)

    def stop(self) -> None:
        """Answer no more questions; those that wait end with a problem."""
        self._closed = True
        self._jobs.put(lambda: None)

    def _run(self) -> None:
        while not self._closed:
            try:
                job = self._jobs.get(timeout=self._rest)
            except Empty:
                job = self._do_step
            job()
        for future in tuple(self._waiting):
            if future.set_running_or_notify_cancel():
                future.set_exception(SearchProblem(CLOSED))
        self._end()

    def _do_step(self) -> None:
        self._busy, self._rest = False, None
        if not self._waiting and time.monotonic() < self._answered + _QUIET:
            self._rest = _QUIET  # the next question may be on its way
            return
        try:
            more = self._step()
        except Exception:  # boundary: who waits for what it does would wait in vain
            log.exception("%s failed", self.thread.name)
            return
        if more:
            self.wake()
            time.sleep(_PAUSE)

    def _answer(self, future: Future[Any], work: Callable[[], Any], ready: Callable[[], bool], first: bool) -> None:
        if not future.cancelled() and not ready() and (self._busy or first):
            self.wake()  # it may have wanted something that makes steps
            self._jobs.put(partial(self._answer, future, work, ready, False))
            return
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except StudioError as problem:
            future.set_exception(problem.with_traceback(None))
        except BaseException as problem:  # boundary: who asked gets a sentence, the log all of it
            log.exception("searching failed")
            said = safe(f"{type(problem).__name__}: {problem}", 200)
            failed = SearchFailed(f"Searching failed inside the studio: {said}.", hint="The log has more.")
            future.set_exception(failed)
        self._answered = time.monotonic()
        self.wake()  # it may have left something to do


class SearchIndex:
    """All documents of all servers, and the methods that search them. Any thread may use it.

    It is made on a loop and emits `changed` there; without one it works as well, and emits nothing. Nothing is loaded
    before the first question. One thread does everything; each method of a package has one of its own.

    Args:
        catalog: what to follow; without one it has what is `put`.
        tags: words about a server, such as its group.
        usage: what was run and opened.
        cache: the folder for vectors and indexes that are kept.
        semantic: mix in meaning, where the extra for it is installed, when nobody chose a method.
        cjk: how Chinese is split.
        redact: takes secrets out of what is kept.
    """

    def __init__(
        self,
        catalog: Catalog | None = None,
        *,
        tags: Callable[[str], tuple[str, ...]] = lambda _: (),
        usage: Usage | None = None,
        cache: Path | None = None,
        semantic: bool = True,
        cjk: Cjk = "characters",
        redact: Redact = bytes,
    ) -> None:
        self.changed: Signal[None] = Signal()
        """It has taken up something: an answer that is shown may be another now."""
        self._catalog = catalog
        self._tags = tags
        self._offers = own_offers(cache, cjk)
        self._engine = partial(
            Engine, usage=usage or Usage(None), semantic=semantic, told=self._emit, cache=cache,
            redact=redact,
        )  # fmt: skip
        self._has_plugins = self._closed = False
        self._lists: dict[Group, Listed] = {}
        self._own = self._start("search", self._offers)
        self._foreign: dict[str, tuple[Engine, Worker]] = {}
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None
        atexit.register(self.close)  # a thread inside the model, still running at the very end, would abort the program
        self._disconnect = lambda: None
        if catalog is not None:
            self._disconnect = catalog.changed.connect(self._follow)
            for server in catalog.servers:
                for kind in KINDS:
                    if catalog.listing(server, kind).entries:
                        self._follow((server, kind))

    def _start(self, name: str, offers: dict[str, Offer]) -> tuple[Engine, Worker]:
        engine = self._engine(offers)
        engine.inbox.update(self._lists)
        return engine, Worker(name, engine.step, engine.close)

    # -------------------------------------------------------------- what there is

    def _follow(self, group: Group) -> None:
        if self._catalog is not None:
            entries = self._catalog.listing(*group).entries
            self.put(group, Listed(entries, self._tags(group[0]) if entries else ()))

    def put(self, group: Group, listed: Listed) -> None:
        """Take everything that a server lists of one kind, in place of what it listed before; returns at once."""
        self._lists[group] = listed
        if not listed.things:
            del self._lists[group]
        for engine, worker in (self._own, *self._foreign.values()):
            engine.inbox[group] = listed
            worker.wake()

    # -------------------------------------------------------------- questions

    @property
    def methods(self) -> tuple[MethodInfo, ...]:
        """The methods that can be asked for, our own ones first, as far as is known: this never takes time."""
        return (AUTO, *(self._info(offer) for offer in tuple(self._offers.values())))

    def all_methods(self) -> tuple[MethodInfo, ...]:
        """The same with those of all packages, and what is missing for others; slow the first time."""
        if not self._has_plugins:
            self._offers |= entry_points((AUTO.name, *self._offers))
            self._has_plugins = True
        return self.methods

    def _info(self, offer: Offer) -> MethodInfo:
        engine, _ = self._foreign.get(offer.name, self._own)
        why_not = engine.why_not(offer.name)
        return MethodInfo(offer.name, offer.title, not why_not, why_not, offer.package)

    @property
    def vectors(self) -> tuple[int, int]:
        """Of how many entries the meaning is known, and how many there are; (0, 0) before somebody asks for it."""
        return self._own[0].progress

    async def ask(
        self,
        text: str,
        *,
        method: str = AUTO.name,
        scope: Scope = EVERYWHERE,
        limit: int = 50,
        typing: bool = False,
        once: bool = False,
    ) -> Found:
        """Answer a question; an empty one is answered with what was used last and most. Cancel it to give it up.

        Args:
            limit: the most hits that are wanted, 1,000 at most.
            typing: the last word may go on, and what can be said at once is better than what is complete.
            once: nobody will ask again. Meaning asked for by name is waited for, however long that takes, with
                `vectors` telling how far it is; with `auto` it serves only where it is in the file from before, and
                nothing is begun that nobody would wait for.

        Raises:
            SearchProblem: it cannot be asked in this way.
        """
        if method not in (AUTO.name, *self._offers):
            await asyncio.to_thread(self.all_methods)
        query = Query(text[:LONGEST], max(1, min(limit, _MOST)), scope, typing)
        engine, worker = self._of(method)
        seconds = None
        if method in self._foreign:
            seconds = _FOREIGN if method in engine.feeds and not engine.feeds[method].pending else _FOREIGN_FIRST
        work = partial(engine.answer, query, method, once, len(text) > LONGEST)
        future = worker.ask(work, engine.ready(query, method, once))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError:
            label = self._offers[method].label
            raise MethodFailed(f"{label} did not answer within {seconds:g} seconds.") from None

    def _of(self, method: str) -> tuple[Engine, Worker]:
        offer = self._offers.get(method)
        if offer is None and method != AUTO.name:
            known = ", ".join((AUTO.name, *self._offers))
            raise SearchProblem(f"There is no search method {method!r}.", hint=f"There are {known}.")
        if offer is None or not offer.package or self._closed:
            return self._own
        if method not in self._foreign:
            self._foreign[method] = self._start(f"search {method}", {method: offer})
        return self._foreign[method]

    # -------------------------------------------------------------- the end

    def close(self) -> None:
        """End its threads, bounded; it answers nothing any more. May block for a moment."""
        atexit.unregister(self.close)
        self._disconnect()
        self._closed = True
        workers = [worker for _, worker in (self._own, *self._foreign.values())]
        for worker in workers:
            worker.stop()
        end = time.monotonic() + _CLOSE
        for worker in workers:
            if worker.thread.is_alive():
                worker.thread.join(max(0.0, end - time.monotonic()))

    def _emit(self) -> None:
        """From a thread: something was taken up."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.changed.emit, None)
