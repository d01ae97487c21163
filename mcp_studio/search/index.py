"""The index over everything that servers offer: follows the catalog, and answers questions by any method."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict, Unpack

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Entry
from mcp_studio.catalog.ref import KINDS, EntryKind, Ref
from mcp_studio.config.model import Cjk
from mcp_studio.search.document import Document
from mcp_studio.search.found import Found, MethodInfo
from mcp_studio.search.method import EVERYWHERE, LONGEST, Query, Scope
from mcp_studio.search.methods import Kit
from mcp_studio.search.serving import Serving, Steps
from mcp_studio.search.usage import Usage
from mcp_studio.signal import Signal

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
