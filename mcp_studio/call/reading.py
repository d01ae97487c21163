"""Reading resources without asking the server again while it calls the last answer fresh."""

from __future__ import annotations

import time

from mcp_studio.call.cache import ReadCache
from mcp_studio.call.call import Call
from mcp_studio.call.outcome import Succeeded
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.caching import hint_of
from mcp_studio.session.manager import ConnectionManager


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
        if call.method != "resources/read" or call.fresh or not self._modern(call.ref.server):
            return False
        if (found := self.cache.get(call.ref.server, call.ref.name)) is None:
            return False
        kept, cached = found
        call.finish(Succeeded(size=kept.size, result=kept.result, hint=kept.hint, cached=cached))
        return True

    def keep(self, call: Call) -> None:
        """Note what the server says about keeping a result, and keep it.

        A result that needed rounds of input is never kept, nor is one that something is wrong with, nor one of which
        nobody knows whether it is older than a change that was told while it was under way.
        """
        outcome = call.outcome
        if call.method != "resources/read" or not self._modern(call.ref.server):
            return
        server, uri = call.ref.server, call.ref.name
        if not isinstance(outcome, Succeeded):
            self.cache.put(server, uri, None, 0, None)
            return
        hint = hint_of(outcome.result)
        usable = call.sendings == 1 and not outcome.problems and self._changes.get(server, 0.0) < call.started
        self.cache.put(server, uri, outcome.result, outcome.size, hint if usable else None)
        call.said(hint)

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
