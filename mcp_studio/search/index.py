"""The index over everything that servers offer: follows the catalog, and answers questions by any method."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search import auto
from mcp_studio.search.engine import MEANT, Engine, Group, Listed, Settings, own_offers
from mcp_studio.search.method import EVERYWHERE, LONGEST, Document, Found, MethodInfo, Query, Scope, SearchProblem
from mcp_studio.search.plugins import MethodFailed, Offer, entry_points
from mcp_studio.search.usage import Usage
from mcp_studio.search.worker import Worker
from mcp_studio.signal import Signal

AUTO = MethodInfo(auto.NAME, "names, then words, then meaning")
_MOST = 1_000
"""Hits that one answer may have."""
_FOREIGN, _FOREIGN_FIRST = 5.0, 30.0
"""Seconds that a method of a package may take for an answer; while it has not taken everything up."""
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
    how far it is; without a method it serves only where it is in the file from before, and nothing is begun that nobody
    would wait for."""


class SearchIndex:
    """All documents of all servers, and the methods that search them. Any thread may use it.

    It is made on a loop and emits `changed` there; without one it works as well, and emits nothing. Nothing is loaded
    before the first question. One thread does everything; each method of a package has one of its own.

    Args:
        catalog: what to follow; without one it has what is `put`.
        tags: words about a server, such as its group.
        servers: the order of servers where nothing else orders entries.
        usage: what was run and opened.
        cache: the folder of the file of vectors.
        semantic: mix in meaning, where the extra for it is installed, when nobody chose a method.
        cjk: how Chinese is split.
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
        self._settings = Settings(cache, cjk, semantic, servers)
        self._offers = own_offers(self._settings)
        self._has_plugins = self._closed = False
        self._lists: dict[Group, Listed] = {}
        self._own = self._start("search", self._offers)
        self._foreign: dict[str, tuple[Engine, Worker]] = {}
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None
        self._disconnect = lambda: None
        if catalog is not None:
            self._disconnect = catalog.changed.connect(self._follow)
            for server in catalog.servers:
                for kind in KINDS:
                    if catalog.listing(server, kind).entries:
                        self._follow((server, kind))

    def _start(self, name: str, offers: dict[str, Offer]) -> tuple[Engine, Worker]:
        engine = Engine(offers, self._settings, self._usage, self._emit)
        engine.inbox.update(self._lists)
        return engine, Worker(name, engine.step, engine.close)

    # -------------------------------------------------------------- what there is

    def put(self, server: str, kind: EntryKind, documents: Sequence[Document]) -> None:
        """Take all documents of one kind of a server, in place of those before; returns at once."""
        own = [one for one in documents if (one.ref.server, one.ref.kind) == (server, kind)]
        self._put((server, kind), Listed(own))

    def forget(self, server: str) -> None:
        """Forget a server; returns at once."""
        for kind in KINDS:
            self._put((server, kind), Listed(()))

    def _follow(self, group: Group) -> None:
        if self._catalog is not None:
            entries = self._catalog.listing(*group).entries
            self._put(group, Listed(entries, self._tags(group[0]) if entries else ()))

    def _put(self, group: Group, listed: Listed) -> None:
        self._lists[group] = listed
        if not listed.things:
            del self._lists[group]
        for engine, worker in (self._own, *self._foreign.values()):
            engine.inbox[group] = listed
            worker.wake()

    def used(self, ref: Ref) -> None:
        """A person has opened it; what a studio runs is counted by itself."""
        self._usage.opened(ref)

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
        self._own[0].why_no_meaning()
        return self.methods

    def _info(self, offer: Offer) -> MethodInfo:
        engine, _ = self._foreign.get(offer.name, self._own)
        feed = engine.feeds.get(offer.name)
        why_not = str(feed.problem) if feed is not None and feed.problem is not None else ""
        if offer.name in MEANT:
            why_not = why_not or engine.meaning_problem or ""
        return MethodInfo(offer.name, offer.title, not why_not, why_not, offer.package)

    @property
    def vectors(self) -> tuple[int, int]:
        """Of how many entries the meaning is known, and how many there are; (0, 0) before somebody asks for it."""
        return self._own[0].progress

    async def ask(self, text: str, **how: Unpack[Asking]) -> Found:
        """Answer a question; an empty one is answered with what was used last and most. Cancel it to give it up.

        Raises:
            SearchProblem: it cannot be asked in this way.
        """
        if how.get("method", AUTO.name) not in (AUTO.name, *self._offers):
            await asyncio.to_thread(self.all_methods)
        future, seconds = self._submit(text, **how)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError:
            raise self._too_slow(how.get("method", ""), seconds) from None

    def ask_now(self, text: str, **how: Unpack[Asking]) -> Found:
        """The same, blocking.

        Raises:
            SearchProblem: it cannot be asked in this way.
        """
        if how.get("method", AUTO.name) not in (AUTO.name, *self._offers):
            self.all_methods()
        future, seconds = self._submit(text, **how)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise self._too_slow(how.get("method", ""), seconds) from None

    def _too_slow(self, method: str, seconds: float | None) -> MethodFailed:
        return MethodFailed(f"{self._offers[method].label} did not answer within {seconds:g} seconds.")

    def _submit(
        self, text: str, method: str = AUTO.name, scope: Scope = EVERYWHERE, limit: int = 50, typing: bool = False,
        once: bool = False,
    ) -> tuple[Future[Found], float | None]:  # fmt: skip
        """Hand a question to the thread of its method; how long it may take."""
        query = Query(text[:LONGEST], max(1, min(limit, _MOST)), scope, typing)
        engine, worker = self._of(method)
        feed = engine.feeds.get(method)
        work = partial(engine.answer, query, method, once, len(text) > LONGEST)
        future = worker.ask(work, engine.ready(query, method, once))
        if method not in self._foreign:
            return future, None
        return future, _FOREIGN if feed is not None and not feed.pending else _FOREIGN_FIRST

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
        self._disconnect()
        self._closed = True
        workers = [worker for _, worker in (self._own, *self._foreign.values())]
        for worker in workers:
            worker.stop()
        end = time.monotonic() + _CLOSE
        for worker in workers:
            worker.join(max(0.0, end - time.monotonic()))

    def _emit(self) -> None:
        """From a thread: something was taken up."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.changed.emit, None)
