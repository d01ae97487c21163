"""Reading the lists of connected servers, and reading them again when they change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.fetch import Ask, Fetched, fetch
from mcp_studio.catalog.listing import METHODS, Entry, Listing, ListingState, salvage
from mcp_studio.catalog.ref import KINDS, EntryKind
from mcp_studio.catalog.remembered import Memory
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.protocol.versions import METHOD_NOT_FOUND
from mcp_studio.session.connection import Connection
from mcp_studio.session.state import Status

_DEBOUNCE = 0.25
_SLOWEST = 8.0
"""Seconds between readings for a server whose lists never stop changing."""
_QUIET = 10.0
"""Seconds without a change after which the next one is read soon again."""
_HELD = 30.0
"""A subscription that held this many seconds has its reconnects forgiven."""
_LARGE = 500
"""Longer lists are sorted in a thread."""
_FOREVER = 3e8
"""A subscription stream has no end of its own."""
_CHANGES: dict[str, tuple[EntryKind, ...]] = {
    "notifications/tools/list_changed": ("tool",),
    "notifications/resources/list_changed": ("resource", "template"),
    "notifications/prompts/list_changed": ("prompt",),
}
_FILTERS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}

Keep = Callable[[ServerConfig, Memory], None]


@dataclass(slots=True)
class _Watch:
    """What is out of date for one connected server."""

    dirty: set[EntryKind]
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Refresher:
    """Keeps the catalog up to date; `keep` is given each server's new memory."""

    def __init__(self, catalog: Catalog, limits: Limits, keep: Keep) -> None:
        self._catalog = catalog
        self._limits = limits
        self._keep = keep
        self._watches: dict[str, _Watch] = {}

    def show_remembered(self, server: str, memory: Memory) -> None:
        """Put into the catalog what the server offered last time, marked as remembered."""
        for kind, items in memory.listings.items():
            entries = salvage(server, kind, items, remembered=True)
            self._catalog.put(Listing(server, kind, entries, "remembered"))

    def on_notification(self, server: str, method: str) -> None:
        """Note which lists a notification makes out of date."""
        if kinds := _CHANGES.get(method):
            self._mark(server, kinds)

    def again(self, server: str) -> None:
        """Read all lists of a server again."""
        self._mark(server, KINDS)

    async def done(self, server: str) -> None:
        """Wait until the lists of a connected server were read once."""
        if watch := self._watches.get(server):
            await watch.done.wait()

    def begin(self, server: str, connection: Connection) -> None:
        """A server is ready: all its lists are out of date until `serve` has read them, or the connection ended."""
        watch = self._watches[server] = _Watch(set(KINDS))
        connection.ended.add_done_callback(lambda _: watch.done.set())

    def forget(self, server: str) -> None:
        """A server is gone."""
        self._watches.pop(server, None)

    async def serve(self, config: ServerConfig, connection: Connection, status: Status) -> None:
        """Read all lists, then again whatever changes, until cancelled; several changes at once cost one reading."""
        watch = self._watches[config.name]
        listening = asyncio.create_task(self._listen(config.name, connection, status)) if status.modern else None
        pause, last = _DEBOUNCE, 0.0
        memory = Memory("modern" if status.modern else "legacy")
        try:
            while True:
                kinds, watch.dirty = watch.dirty, set()
                watch.changed.clear()
                reading = [self._read(kind, config, connection, status) for kind in KINDS if kind in kinds]
                for kind, items in await asyncio.gather(*reading):
                    if items is not None:
                        memory.listings[kind] = items
                watch.done.set()
                self._keep(config, replace(memory, listings=dict(memory.listings)))
                await watch.changed.wait()
                # Several changes at once cost one reading, and a server that never stops changing costs ever fewer.
                pause = min(pause * 2, _SLOWEST) if time.monotonic() - last < _QUIET else _DEBOUNCE
                await asyncio.sleep(pause)
                last = time.monotonic()
        finally:
            watch.done.set()
            if listening is not None:
                listening.cancel()

    def _mark(self, server: str, kinds: tuple[EntryKind, ...]) -> None:
        if watch := self._watches.get(server):
            watch.dirty.update(kinds)
            watch.changed.set()

    async def _read(
        self, kind: EntryKind, config: ServerConfig, connection: Connection, status: Status
    ) -> tuple[EntryKind, list[Json] | None]:
        """Read one list into the catalog; its raw items where it could be read."""
        server = config.name
        if METHODS[kind][2] not in (status.capabilities or {}):
            self._catalog.put(Listing(server, kind, (), "fresh"))
            return kind, []
        before = self._catalog.listing(server, kind)
        if not before.entries:
            self._catalog.put(Listing(server, kind, (), "loading"))
        found = await fetch(kind, _asker(connection), self._limits)
        if found.error and not found.items and before.entries:
            self._catalog.put(before._replace(error=found.error, state="failed"))
            return kind, None
        entries = await _salvaged(server, kind, found.items, headers=status.modern and config.kind == "http")
        self._catalog.put(Listing(server, kind, entries, _state(found), found.error, found.capped))
        return kind, None if found.error else found.items

    async def _listen(self, server: str, connection: Connection, status: Status) -> None:
        """Ask a modern server to say when its lists change (2026-07-28, `subscriptions/listen`).

        A stream that ends is opened again, unless it never holds; what changed in between was missed, so all lists
        are out of date then.
        """
        wanted: dict[str, Json] = {}
        for capability, name in _FILTERS.items():
            declared = (status.capabilities or {}).get(capability)
            if isinstance(declared, dict) and cast("dict[str, Json]", declared).get("listChanged") is True:
                wanted[name] = True
        if not wanted:
            return
        attempt = 0
        while attempt < self._limits.reconnects:
            began = time.monotonic()
            if not await _subscribed(connection, wanted):
                return
            attempt = 0 if time.monotonic() - began > _HELD else attempt + 1
            await asyncio.sleep(min(self._limits.retry_min * 2**attempt, self._limits.retry_max))
            self._mark(server, KINDS)


async def _subscribed(connection: Connection, wanted: dict[str, Json]) -> bool:
    """Listen until the stream ends; whether it is worth another try."""
    try:
        reply = await connection.request(
            "subscriptions/listen", {"notifications": wanted}, idle=_FOREVER, total=_FOREVER
        )
    except StudioError:
        return not connection.ended.done()
    return not isinstance(reply.event, Refused)


async def _salvaged(server: str, kind: EntryKind, items: list[Json], *, headers: bool) -> tuple[Entry, ...]:
    if len(items) <= _LARGE:
        return salvage(server, kind, items, headers=headers)
    return await asyncio.to_thread(salvage, server, kind, items, headers=headers)


def _state(found: Fetched) -> ListingState:
    return "failed" if found.error and not found.items else "fresh"


def _asker(connection: Connection) -> Ask:
    async def ask(method: str, params: dict[str, Json]) -> Json:
        reply = await connection.request(method, params or None)
        event = reply.event
        if not isinstance(event, Refused):
            return event.result
        if event.code == METHOD_NOT_FOUND and method == "resources/templates/list":
            return {"resourceTemplates": []}
        raise ProtocolError(f"The server refused {method}: {event.message or 'no reason given'} ({event.code}).")

    return ask
