"""The index over everything that servers offer: follows the catalog, and answers queries by any method."""

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
from mcp_studio.search.plugins import MethodFailed, MethodOffer, entry_points
from mcp_studio.search.usage import Usage
from mcp_studio.signal import Signal

log = logging.getLogger(__name__)
AUTO = MethodInfo(auto.NAME, "names, then words, then meaning")
_MOST = 1_000
"""The most hits of one answer."""
FOREIGN, FOREIGN_FIRST = 5.0, 30.0
"""Seconds that a package's method may take for an answer; the second number applies until it has all documents."""
_CLOSE = 1.0


CLOSED = "The search has been closed."
_QUIET = 0.1
"""Seconds after a query without other work, because a step may take as long as ten queries."""
_PAUSE = 0.0005
"""Seconds between two steps, in which other threads run."""


class SearchFailed(SearchProblem):
    """The studio's own code failed while it searched."""

    exit_code = 1


class Worker:
    """A thread that works in small steps, and answers queries between them as soon as they are ready.

    The thread is a daemon: foreign code that hangs delays neither the closing of a studio nor the end of the program.

    Args:
        step: works for a few milliseconds; returns False where there is nothing to do.
        end: called in the thread before it ends.
    """

    def __init__(self, name: str, step: Callable[[], bool], end: Callable[[], None]) -> None:
        self._step = step
        self._end = end
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._busy = False
        """Whether a step is among the jobs."""
        self._rest: float | None = None
        """Seconds without a job after which a step runs."""
        self._answered = -_QUIET
        self._waiting: set[Future[Any]] = set()
        self._closed = False
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def ask(self, work: Callable[[], Any], ready: Callable[[], bool] = lambda: True) -> Future[Any]:
        """Queue a query; cancelling the future gives it up. The first query starts the thread.

        Args:
            ready: whether the query can be answered now; ignored where no step is left to do. Called in the thread.
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
        """Tell the thread that there are steps to do."""
        if not self._busy:
            self._busy = True
            self._jobs.put(self._do_step)

    def stop(self) -> None:
        """Answer no further queries; waiting ones end with a problem."""
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
            self._rest = _QUIET  # the next query may be coming
            return
        try:
            more = self._step()
        except Exception:  # boundary: nobody else would report it
            log.exception("%s failed", self.thread.name)
            return
        if more:
            self.wake()
            time.sleep(_PAUSE)

    def _answer(self, future: Future[Any], work: Callable[[], Any], ready: Callable[[], bool], first: bool) -> None:
        if not future.cancelled() and not ready() and (self._busy or first):
            self.wake()  # the query may have created work for steps
            self._jobs.put(partial(self._answer, future, work, ready, False))
            return
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except StudioError as problem:
            future.set_exception(problem.with_traceback(None))
        except BaseException as problem:  # boundary: the caller gets a sentence, the log everything
            log.exception("searching failed")
            reason = safe(f"{type(problem).__name__}: {problem}", 200)
            failed = SearchFailed(f"Searching failed inside the studio: {reason}.", hint="The log has more.")
            future.set_exception(failed)
        self._answered = time.monotonic()
        self.wake()  # the query may have left work to do


class SearchIndex:
    """All documents of all servers, and the methods that search them. Any thread may use the index.

    An index that is created in an event loop emits `changed` there; without a loop it emits nothing. Nothing is loaded
    before the first query. One thread does all the work; each method of a package has its own.

    Args:
        catalog: the catalog to follow; without one the index holds what is `put`.
        tags: words about a server, such as its group.
        usage: the entries that were run and opened.
        cache: the folder of vectors and index files.
        semantic: mixes in meaning, where its extra is installed, when nobody chose a method.
        cjk: how Chinese is split.
        redact: removes secrets from what is stored.
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
        """Emitted when documents were indexed, so that an answer on the screen may be out of date."""
        self._catalog = catalog
        self._tags = tags
        self._offers = own_offers(cache, cjk)
        self._engine = partial(
            Engine, usage=usage or Usage(None), semantic=semantic, notify=self._emit, cache=cache,
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
        atexit.register(self.close)  # a thread that still runs the model at the very end would abort the program
        self._disconnect = lambda: None
        if catalog is not None:
            self._disconnect = catalog.changed.connect(self._follow)
            for server in catalog.servers:
                for kind in KINDS:
                    if catalog.listing(server, kind).entries:
                        self._follow((server, kind))

    def _start(self, name: str, offers: dict[str, MethodOffer]) -> tuple[Engine, Worker]:
        engine = self._engine(offers)
        engine.inbox.update(self._lists)
        return engine, Worker(name, engine.step, engine.close)

    # -------------------------------------------------------------- what there is

    def _follow(self, group: Group) -> None:
        if self._catalog is not None:
            entries = self._catalog.listing(*group).entries
            self.put(group, Listed(entries, self._tags(group[0]) if entries else ()))

    def put(self, group: Group, listed: Listed) -> None:
        """Replace what a server lists of one kind; returns at once."""
        self._lists[group] = listed
        if not listed.things:
            del self._lists[group]
        for engine, worker in (self._own, *self._foreign.values()):
            engine.inbox[group] = listed
            worker.wake()

    # -------------------------------------------------------------- questions

    @property
    def methods(self) -> tuple[MethodInfo, ...]:
        """The known methods, our own first; takes no time."""
        return (AUTO, *(self._info(offer) for offer in tuple(self._offers.values())))

    def all_methods(self) -> tuple[MethodInfo, ...]:
        """The methods with those of all packages, and with what others lack; slow the first time."""
        if not self._has_plugins:
            self._offers |= entry_points((AUTO.name, *self._offers))
            self._has_plugins = True
        return self.methods

    def _info(self, offer: MethodOffer) -> MethodInfo:
        engine, _ = self._foreign.get(offer.name, self._own)
        why_not = engine.why_not(offer.name)
        return MethodInfo(offer.name, offer.title, not why_not, why_not, offer.package)

    @property
    def vectors(self) -> tuple[int, int]:
        """The number of entries with vectors, and of all entries; (0, 0) before somebody searches by meaning."""
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
        """Answer a query; an empty one shows the entries used last and most. Cancelling gives it up.

        Args:
            limit: the most hits, at most 1,000.
            typing: the last word may be incomplete, and a quick answer is better than a complete one.
            once: no further query follows. A search for meaning by name waits for all vectors, however long that takes;
            `vectors` tells the progress. With `auto`, meaning is used only where a file has the vectors, and no work is
            started that nobody would wait for.

        Raises:
            SearchProblem: the method does not take such a query.
        """
        if method not in (AUTO.name, *self._offers):
            await asyncio.to_thread(self.all_methods)
        query = Query(text[:LONGEST], max(1, min(limit, _MOST)), scope, typing)
        engine, worker = self._of(method)
        seconds = None
        if method in self._foreign:
            seconds = FOREIGN if method in engine.feeds and not engine.feeds[method].pending else FOREIGN_FIRST
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
        """End the threads in a bounded time; no query is answered afterwards. May block for a moment."""
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
        """Called from a thread after documents were indexed."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.changed.emit, None)
