"""Results of resources/read that may be given again, without asking the server."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from mcp_studio.call.call import Call, CallOutcome, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.jsontext import Json
from mcp_studio.protocol.versions import Cached, Hint, hint_of

_UPDATED = "notifications/resources/updated"
_LIST_CHANGED = "/list_changed"


_Key = tuple[Ref, str]
"""What a result is of, and the account that it was shown to: another one may be shown something else."""


class _Read(NamedTuple):
    outcome: Succeeded
    hint: Hint
    at: float


class ResourceCache:
    """Results that are fresh still, those used last; none outlives the connection that it came over.

    `cache_ttl` of a server's entry says for how long they are, else the server (2026-07-28, server/utilities/caching),
    else `cache_ttl` of the settings; 0 there is forever. One studio is one person, so what is `private` is kept too.
    """

    def __init__(
        self, config: Callable[[str], ServerConfig], settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._ttl, self._limits = settings.cache_ttl, settings.limits
        self._clock = clock
        self._reads: dict[_Key, _Read] = {}
        self._changes: dict[str, float] = {}
        """When each server last said that something has changed."""
        self.hits, self.misses = Counter[str](), Counter[str]()
        """How many reads of each server were answered from here, and how many were not."""

    def sizes(self, server: str = "") -> list[int]:
        """The bytes of each result that is kept, of a server or of all."""
        return [read.outcome.size for (ref, _), read in self._reads.items() if server in ("", ref.server)]

    def get(self, ref: Ref) -> Succeeded | None:
        """The result of an earlier read that is still fresh."""
        key = self._key(ref)
        read = self._reads.get(key)
        if read is None or (age := self._clock() - read.at) >= read.hint.ttl:
            self.misses[ref.server] += 1
            return None
        self.hits[ref.server] += 1
        self._reads[key] = self._reads.pop(key)  # the newest in their order is the one used last
        return replace(read.outcome, ms=0.0, request_id=None, cached=Cached(age, read.hint))

    def keep(self, call: Call, outcome: CallOutcome, modern: bool) -> CallOutcome:
        """Keep what was just read; gives the outcome with what the server says about keeping it.

        A result that needed rounds of input is not kept, nor is one with problems, nor one during whose reading the
        server spoke of a change: nobody knows which of the two is newer.
        """
        key, server = self._key(call.ref), call.ref.server
        self._reads.pop(key, None)
        if not isinstance(outcome, Succeeded):
            return outcome
        hint = hint_of(outcome.result) if modern else None
        held = self._held(server, hint)
        unchanged = self._changes.get(server, 0.0) < call.started
        whole = replace(outcome, hint=hint)
        small = outcome.size <= self._limits.cache_bytes
        if held.ttl > 0 and small and unchanged and call.sendings == 1 and not outcome.problems:
            self._reads[key] = _Read(whole, held, self._clock())
            while len(self._reads) > self._limits.cache_entries or sum(self.sizes()) > self._limits.cache_bytes:
                del self._reads[next(iter(self._reads))]
        return replace(whole, problems=(*outcome.problems, hint.problem)) if hint and hint.problem else whole

    def _held(self, server: str, hint: Hint | None) -> Hint:
        """For how long a result is kept here, and for whom."""
        own = self._config(server).cache_ttl
        if own < 0 and hint:
            return hint
        ttl = own if own >= 0 else self._ttl
        return Hint(max(0.0, ttl or math.inf), hint.scope if hint else "private")

    def _key(self, ref: Ref) -> _Key:
        return ref, self._config(ref.server).auth.whose

    def on_notification(self, server: str, method: str, params: dict[str, Json]) -> None:
        """Forget what a notification makes out of date; an update may name a part of what was read."""
        if method == _UPDATED or method.endswith(_LIST_CHANGED):
            uri, self._changes[server] = params.get("uri"), self._clock()
            self.forget(server, uri if method == _UPDATED and isinstance(uri, str) else "")

    def forget(self, server: str = "", uri: str = "") -> int:
        """Forget all results, or those of a server, or that at an address and those that it is a part of; how many."""
        found = [key for key in self._reads if server in ("", key[0].server) and (not uri or _covers(key[0].name, uri))]
        for key in found:
            del self._reads[key]
        return len(found)


def _covers(uri: str, part: str) -> bool:
    return uri == part or part.startswith((uri.rstrip("/") + "/", uri + "#", uri + "?"))
