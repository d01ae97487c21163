"""Reading the lists of connected servers, and reading them again when they change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import field, replace

from mcp_studio.catalog.catalog import Baseline, Catalog, Compared, compare, fetch_skills
from mcp_studio.catalog.listing import (
    KINDS,
    METHODS,
    Ask,
    Entry,
    EntryKind,
    Fetched,
    Listing,
    ListingState,
    fetch,
    salvage,
)
from mcp_studio.catalog.remembered import Memory
from mcp_studio.catalog.skills import offered
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ProtocolError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.protocol.versions import METHOD_NOT_FOUND
from mcp_studio.record import record
from mcp_studio.session.connection import Connection
from mcp_studio.session.state import Status

_DEBOUNCE = 0.25
_SLOWEST = 8.0
"""Seconds between readings for a server whose lists never stop changing."""
_QUIET = 10.0
"""Seconds without a change after which the next one is read soon again."""
_LARGE = 500
"""Longer lists are sorted in a thread."""
_AGAIN = 5.0
"""Seconds after which a list that is not fresh any more is read again when somebody looks at it."""
_CHANGES: dict[str, tuple[EntryKind, ...]] = {
    "notifications/tools/list_changed": ("tool",),
    "notifications/resources/list_changed": ("resource", "template"),
    "notifications/prompts/list_changed": ("prompt",),
}

Keep = Callable[[ServerConfig, Memory], None]


@record()
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
        self._kept: dict[str, tuple[ServerConfig, Memory]] = {}
        catalog.looked.connect(self._keep_seen)

    def show_remembered(self, config: ServerConfig, memory: Memory) -> None:
        """Put into the catalog what the server offered last time, marked as remembered."""
        server, seen = config.name, self._catalog.seen
        self._kept[server] = config, memory
        for kind, items in memory.listings.items():
            entries, gone = salvage(server, kind, items, remembered=True), ()
            if kind in memory.seen:
                seen.recall(server, kind, memory.seen[kind])
                entries, gone, _ = compare(server, kind, entries, seen.known[server, kind], seen.redact)
            else:
                seen.begin(server, kind, entries)
            self._catalog.put(Listing(server, kind, entries, "remembered", gone=gone))

    def on_notification(self, server: str, method: str) -> None:
        """Note which lists a notification makes out of date."""
        if kinds := _CHANGES.get(method):
            self._mark(server, kinds)

    def again(self, server: str) -> None:
        """Read all lists of a server again."""
        self._mark(server, KINDS)

    def look(self, server: str, kind: EntryKind) -> None:
        """Somebody looks at a list: it is read again where the server calls it fresh no longer (2026-07-28)."""
        listing = self._catalog.listing(server, kind)
        if listing.stale() and time.monotonic() - listing.read_at >= _AGAIN:
            self._mark(server, (kind,))

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
        self._kept.pop(server, None)

    def discovered(self, config: ServerConfig) -> None:
        """It speaks the modern era, but said so too late: that is what the next start tries first."""
        known, memory = self._kept.get(config.name, (config, Memory()))
        self._kept[config.name] = known, replace(memory, era="modern")
        self._keep(*self._kept[config.name])

    async def serve(self, config: ServerConfig, connection: Connection, status: Status) -> None:
        """Read all lists, then again whatever changes, until cancelled; several changes at once cost one reading."""
        watch = self._watches[config.name]
        pause, last = _DEBOUNCE, 0.0
        _, before = self._kept.get(config.name, (config, Memory()))
        # An era that was asked for says nothing of the one to try first when none is.
        asked = config.era != "auto" or bool(config.protocol_version)
        spoken = status.spoken if config.kind == "http" and not config.transport else ""
        memory = Memory(before.era, dict(before.listings), spoken=spoken)
        try:
            while True:
                kinds, watch.dirty = watch.dirty, set()
                watch.changed.clear()
                reading = [self._read(kind, config, connection, status) for kind in KINDS if kind in kinds]
                for kind, items in await asyncio.gather(*reading):
                    if items is not None:
                        memory.listings[kind] = items
                watch.done.set()
                if not asked:
                    memory.era = "modern" if status.modern or connection.core.discovered else "legacy"
                self._kept[config.name] = config, replace(memory, listings=dict(memory.listings))
                self._keep_seen(config.name)
                await watch.changed.wait()
                # Several changes at once cost one reading, and a server that never stops changing costs ever fewer.
                pause = min(pause * 2, _SLOWEST) if time.monotonic() - last < _QUIET else _DEBOUNCE
                await asyncio.sleep(pause)
                last = time.monotonic()
        finally:
            watch.done.set()

    def _keep_seen(self, server: str) -> None:
        """Have everything remembered, with what the person has seen of it."""
        if server in self._kept:
            config, memory = self._kept[server]
            catalog = self._catalog
            seen = {kind: catalog.seen.items(server, kind) for kind in KINDS if catalog.listing(server, kind).changes}
            memory = replace(memory, seen=seen)
            self._kept[server] = config, memory
            self._keep(config, memory)

    def _mark(self, server: str, kinds: tuple[EntryKind, ...]) -> None:
        if watch := self._watches.get(server):
            watch.dirty.update(kinds)
            watch.changed.set()

    async def _read(
        self, kind: EntryKind, config: ServerConfig, connection: Connection, status: Status
    ) -> tuple[EntryKind, list[Json] | None]:
        """Read one list into the catalog; its raw items where it could be read."""
        server, ask = config.name, asker(connection)
        before = self._catalog.listing(server, kind)
        if METHODS[kind][2] not in (status.capabilities or {}):
            found = Fetched()
        else:
            if not before.entries:
                self._catalog.put(Listing(server, kind, (), "loading", gone=before.gone))
            found = await fetch(kind, ask, self._limits)
        if found.error and not found.items and before.entries:
            self._catalog.put(before._replace(error=found.error, state="failed"))
            return kind, None
        entries = await _salvaged(server, kind, found.items, headers=status.modern and config.kind == "http")
        compared = await self._compared(server, kind, entries, whole=not (found.error or found.capped))
        error = found.error
        if kind == "resource":
            compared = compared._replace(entries=await self._with_skills(server, ask, status, compared.entries))
            error = error or self._catalog.skills.of(server).error
        self._catalog.put(
            Listing(
                server, kind, compared.entries, _state(found), error, found.capped, time.monotonic(),
                found.hint if status.modern else None, compared.gone,
            )
        )  # fmt: skip
        return kind, None if found.error else found.items

    async def _with_skills(
        self, server: str, ask: Ask, status: Status, entries: tuple[Entry, ...]
    ) -> tuple[Entry, ...]:
        """Resources with the skills among them; skills are listed here, and read when somebody wants one."""
        shelf = self._catalog.skills
        if offered(status.capabilities):
            shelf.put(server, await fetch_skills(server, ask, self._limits))
        return shelf.with_skills(server, entries)

    async def _compared(self, server: str, kind: EntryKind, entries: tuple[Entry, ...], *, whole: bool) -> Compared:
        """Entries with marks; a list of which only a part could be read misses nothing."""
        seen = self._catalog.seen
        baseline = seen.known.get((server, kind))
        if baseline is None:
            if whole:
                seen.begin(server, kind, entries)
            return Compared(entries, (), {})
        if len(entries) + len(baseline) <= _LARGE:
            found = compare(server, kind, entries, baseline, seen.redact)
        else:
            found = await asyncio.to_thread(compare, server, kind, entries, Baseline(baseline), seen.redact)
        seen.settle(server, kind, found)
        return found if whole else found._replace(gone=())


async def _salvaged(server: str, kind: EntryKind, items: list[Json], *, headers: bool) -> tuple[Entry, ...]:
    if len(items) <= _LARGE:
        return salvage(server, kind, items, headers=headers)
    return await asyncio.to_thread(salvage, server, kind, items, headers=headers)


def _state(found: Fetched) -> ListingState:
    return "failed" if found.error and not found.items else "fresh"


def asker(connection: Connection, under: int = 0) -> Ask:
    """Sends over a connection, on behalf of the request with the number `under` if there is one.

    All that it sends has one deadline together. A refusal is an error, but no templates are no mistake.
    """
    deadline = connection.deadline()

    async def ask(method: str, params: dict[str, Json]) -> Json:
        reply = await connection.request(method, params or None, deadline=deadline, under=under)
        event = reply.event
        if not isinstance(event, Refused):
            if event.problems:
                raise ProtocolError(f"The answer to {method} is invalid. {event.problems[0]}")
            return event.result
        if event.code == METHOD_NOT_FOUND and method == "resources/templates/list":
            return {"resourceTemplates": []}
        raise ProtocolError(f"The server refused {method}: {event.said}.")

    return ask
