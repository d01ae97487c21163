"""Results of `resources/read` that can be returned again without asking the server."""

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
"""A resource, and the account that read it: another account may see another content."""


class _Read(NamedTuple):
    outcome: Succeeded
    hint: Hint
    at: float


class ResourceCache:
    """Fresh results, the most recently used ones; none survives the connection that it came from.

    The lifetime is `cache_ttl` of the server's entry, else the server's hint (2026-07-28, server/utilities/caching),
    else `cache_ttl` of the settings; 0 is forever. A studio serves one person, so `private` results are kept too.
    """

    def __init__(
        self, config: Callable[[str], ServerConfig], settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._config = config
        self._ttl, self._limits = settings.cache_ttl, settings.limits
        self._clock = clock
        self._reads: dict[_Key, _Read] = {}
        self._changes: dict[str, float] = {}
        """The time of each server's last notification of a change."""
        self.hits, self.misses = Counter[str](), Counter[str]()
        """The numbers of reads of each server that were answered from the cache, and that were not."""

    def sizes(self, server: str = "") -> list[int]:
        """The bytes of each result in the cache, of one server or of all."""
        return [read.outcome.size for (ref, _), read in self._reads.items() if server in ("", ref.server)]

    def get(self, ref: Ref) -> Succeeded | None:
        """The result of an earlier read that is still fresh, or None."""
        key = self._key(ref)
        read = self._reads.get(key)
        if read is None or (age := self._clock() - read.at) >= read.hint.ttl:
            self.misses[ref.server] += 1
            return None
        self.hits[ref.server] += 1
        self._reads[key] = self._reads.pop(key)  # the order of the dictionary is that of the last use
        return replace(read.outcome, ms=0.0, request_id=None, cached=Cached(age, read.hint))

    def keep(self, call: Call, outcome: CallOutcome, modern: bool) -> CallOutcome:
        """Store the outcome of a read; returns the outcome with the server's caching hint.

        A result is not stored if it needed rounds of input, has problems, or if the server notified of a change
        meanwhile, because nobody knows which of the two is newer.
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
        """The lifetime and scope of a result in the cache."""
        own = self._config(server).cache_ttl
        if own < 0 and hint:
            return hint
        return Hint(max(0.0, (own if own >= 0 else self._ttl) or math.inf), hint.scope if hint else "private")

    def _key(self, ref: Ref) -> _Key:
        return ref, self._config(ref.server).auth.whose

    def on_notification(self, server: str, method: str, params: dict[str, Json]) -> None:
        """Drop results that a notification makes stale; an update may name a part of a resource."""
        if method == _UPDATED or method.endswith(_LIST_CHANGED):
            uri, self._changes[server] = params.get("uri"), self._clock()
            self.forget(server, uri if method == _UPDATED and isinstance(uri, str) else "")

    def forget(self, server: str = "", uri: str = "") -> int:
        """Drop results: all, those of a server, or those at an address and around it. Returns how many were dropped."""
        found = [key for key in self._reads if server in ("", key[0].server) and (not uri or _covers(key[0].name, uri))]
        for key in found:
            del self._reads[key]
        return len(found)


def _covers(uri: str, part: str) -> bool:
    return uri == part or part.startswith((uri.rstrip("/") + "/", uri + "#", uri + "?"))
