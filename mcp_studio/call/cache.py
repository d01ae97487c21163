"""Results of resources/read, kept for as long as their server calls them fresh (2026-07-28, server/utilities/caching).

One studio is one person, so what is `private` may be kept too; nothing outlives the connection that it came over.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from mcp_studio.call.call import Call, Succeeded
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import MB
from mcp_studio.protocol.versions import Cached, Hint, hint_of
from mcp_studio.session.manager import ConnectionManager

ENTRIES = 200
BYTES = 16 * MB
_DROPS = ("notifications/resources/list_changed", "notifications/resources/updated")


class Kept(NamedTuple):
    """One result."""

    result: Json
    size: int
    """Bytes of the frame that it came in."""
    hint: Hint
    read_at: float


class ReadCache:
    """Bounded in entries and bytes; the longest unused goes first."""

    def __init__(
        self, *, entries: int = ENTRIES, size: int = BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = entries
        self._largest = size
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, server: str, uri: str) -> tuple[Kept, Cached] | None:
        """The result of an earlier read that is still fresh."""
        kept = self._kept.pop((server, uri), None)
        age = self._clock() - kept.read_at if kept else 0.0
        if kept is None or age >= kept.hint.ttl:
            return None
        self._kept[server, uri] = kept
        return kept, Cached(age, kept.hint)

    def put(self, server: str, uri: str, result: Json, size: int, hint: Hint | None) -> None:
        """Keep what was just read, or forget what was kept where the server does not want it kept."""
        self._kept.pop((server, uri), None)
        if hint is None or hint.ttl <= 0 or size > self._largest:
            return
        self._kept[server, uri] = Kept(result, size, hint, self._clock())
        while len(self._kept) > self._most or sum(kept.size for kept in self._kept.values()) > self._largest:
            self._kept.popitem(last=False)

    def on_notification(self, server: str, method: str, uri: Json) -> bool:
        """Forget what a notification makes out of date, an update may name a part of what was read; whether it can."""
        if method not in _DROPS:
            return False
        every = not isinstance(uri, str) or method == _DROPS[0]
        self._drop(lambda key: key[0] == server and (every or _covers(key[1], uri)))
        return True

    def forget(self, server: str) -> None:
        """The connection is another one, or is gone."""
        self._drop(lambda key: key[0] == server)

    def _drop(self, wanted: Callable[[tuple[str, str]], bool]) -> None:
        for key in [key for key in self._kept if wanted(key)]:
            del self._kept[key]


def _covers(uri: str, part: str) -> bool:
    return uri == part or part.startswith((uri.rstrip("/") + "/", uri + "#", uri + "?"))


class Reads:
    """The cache between calls and connections; what a server says about changes empties it."""

    def __init__(self, manager: ConnectionManager) -> None:
        self.cache = ReadCache()
        self._changes: dict[str, float] = {}
        """When each server last told of a change (monotonic)."""
        self._manager = manager
        manager.notified.connect(self._notified)
        manager.changed.connect(self._changed)

    def answer(self, call: Call) -> bool:
        """Settle a call with what is kept; False when the server has to be asked."""
        found = None if call.fresh or not self._modern(call.ref.server) else self.cache.get(*call.ref[1:])
        if found is None:
            return False
        kept, cached = found
        call.finish(Succeeded(size=kept.size, result=kept.result, hint=kept.hint, cached=cached))
        return True

    def keep(self, call: Call) -> None:
        """Note what the server says about keeping a result, and keep it.

        A result that needed rounds of input is never kept, nor is one that something is wrong with, nor one of which
        nobody knows whether it is older than a change that was told while it was under way.
        """
        outcome, server, uri = call.outcome, call.ref.server, call.ref.name
        if not self._modern(server):
            return
        if not isinstance(outcome, Succeeded):
            self.cache.put(server, uri, None, 0, None)
            return
        hint = hint_of(outcome.result)
        usable = call.sendings == 1 and not outcome.problems and self._changes.get(server, 0.0) < call.started
        self.cache.put(server, uri, outcome.result, outcome.size, hint if usable else None)
        wrong = (hint.problem,) if hint is not None and hint.problem else ()
        call.outcome = replace(outcome, hint=hint, problems=(*outcome.problems, *wrong))

    def _modern(self, server: str) -> bool:
        try:
            return self._manager.status(server).modern
        except UsageError:
            return False

    def _notified(self, heard: tuple[str, str, dict[str, Json]]) -> None:
        server, method, params = heard
        if self.cache.on_notification(server, method, params.get("uri")):
            self._changes[server] = time.monotonic()

    def _changed(self, server: str) -> None:
        if server not in self._manager.names() or self._manager.status(server).state != "ready":
            self.cache.forget(server)
