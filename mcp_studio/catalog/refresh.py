"""Reading the lists of connected servers, at the start and after changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import field, replace

from mcp_studio.catalog.catalog import Catalog, fetch_skills
from mcp_studio.catalog.listing import KINDS, METHODS, EntryKind, Fetched, Listing, Page, fetch_all, page_of, salvage
from mcp_studio.catalog.remembered import Memory
from mcp_studio.catalog.skills import offered
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.versions import narrowest
from mcp_studio.record import record
from mcp_studio.session.connection import Connection, asker
from mcp_studio.session.state import Status

_DEBOUNCE = 0.25
_SLOWEST = 8.0
"""Longest pause in seconds between readings of a server whose lists never stop changing."""
_QUIET = 10.0
"""Seconds without a change after which the pause is short again."""
_AGAIN = 5.0
"""Seconds after which a stale list is read again when somebody looks at it."""


@record()
class _Watch:
    """The lists of one connected server that have to be read."""

    dirty: set[EntryKind]
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when all lists were read once, or the connection ended."""


class Refresher:
    """Reads lists into the catalog.

    Args:
        keep: stores the memory of a server.
    """

    def __init__(self, catalog: Catalog, limits: Limits, keep: Callable[[ServerConfig, Memory], None]) -> None:
        self._catalog = catalog
        self._limits = limits
        self._keep = keep
        self._watches: dict[str, _Watch] = {}
        self._memories: dict[str, tuple[ServerConfig, Memory]] = {}
        catalog.looked.connect(self._remember_seen)

    def show_remembered(self, config: ServerConfig, memory: Memory) -> None:
        """Show the entries of the last run in the catalog, marked as remembered."""
        server, seen = config.name, self._catalog.seen
        self._memories[server] = config, memory
        for kind, items in memory.listings.items():
            entries, gone = salvage(server, kind, items, remembered=True), ()
            if kind in memory.seen:
                seen.take(server, kind, salvage(server, kind, memory.seen[kind]))
                entries, gone = seen.compare(server, kind, entries)
            else:
                seen.take(server, kind, entries)
            self._catalog.put(Listing(server, kind, entries, "remembered", gone=gone))

    def on_notification(self, server: str, method: str) -> None:
        """Mark the lists that a notification says have changed."""
        self._mark(server, [kind for kind in KINDS if method == f"notifications/{METHODS[kind][2]}/list_changed"])

    def again(self, server: str) -> None:
        """Read all lists of a server again; `done` waits for it."""
        self._mark(server, KINDS)
        if watch := self._watches.get(server):
            watch.done.clear()

    def look(self, server: str, kind: EntryKind) -> None:
        """Read a list that somebody looks at again, if the server no longer calls it fresh (2026-07-28)."""
        listing = self._catalog.listing(server, kind)
        if listing.stale() and time.monotonic() - listing.read_at >= _AGAIN:
            self._mark(server, (kind,))

    async def done(self, server: str) -> None:
        """Wait until all lists of a connected server were read once, or again after `again`."""
        if watch := self._watches.get(server):
            await watch.done.wait()

    def begin(self, server: str, connection: Connection) -> None:
        """Mark all lists of a ready server as unread, until `serve` has read them or the connection ends."""
        watch = self._watches[server] = _Watch(set(KINDS))
        connection.ended.add_done_callback(lambda _: watch.done.set())

    def forget(self, server: str) -> None:
        self._watches.pop(server, None)
        self._memories.pop(server, None)

    def discovered(self, config: ServerConfig) -> None:
        """Remember that a server speaks the modern era but said so too late: the next start tries that era first."""
        known, memory = self._memories.get(config.name, (config, Memory()))
        self._memories[config.name] = known, replace(memory, era="modern")
        self._keep(*self._memories[config.name])

    async def serve(self, config: ServerConfig, connection: Connection, status: Status) -> None:
        """Read all lists, then the changed ones again, until cancelled; changes that come together cost one reading."""
        watch, before = self._watches[config.name], self._memories.get(config.name, (config, Memory()))[1]
        pause, last = _DEBOUNCE, 0.0
        memory = Memory(before.era, dict(before.listings))
        try:
            while True:
                kinds, watch.dirty = watch.dirty, set()
                watch.changed.clear()
                reading = [self._read(kind, config, connection, status) for kind in KINDS if kind in kinds]
                for kind, items in await asyncio.gather(*reading):
                    if items is not None:
                        memory.listings[kind] = items
                watch.done.set()
                # A configured era does not tell which era to try first without a configuration.
                if config.era == "auto" and not config.protocol_version:
                    memory.era = "modern" if status.modern or connection.core.discovered else "legacy"
                self._memories[config.name] = config, replace(memory, listings=dict(memory.listings))
                self._remember_seen(config.name)
                await watch.changed.wait()
                # The pause grows for a server that never stops changing.
                pause = min(pause * 2, _SLOWEST) if time.monotonic() - last < _QUIET else _DEBOUNCE
                await asyncio.sleep(pause)
                last = time.monotonic()
        finally:
            watch.done.set()

    def _remember_seen(self, server: str) -> None:
        """Store the memory of a server, with the definitions that the person has seen."""
        if server in self._memories:
            config, memory = self._memories[server]
            catalog = self._catalog
            seen = {kind: catalog.seen.items(server, kind) for kind in KINDS if catalog.listing(server, kind).changes}
            self._memories[server] = config, replace(memory, seen=seen)
            self._keep(*self._memories[server])

    def _mark(self, server: str, kinds: Sequence[EntryKind]) -> None:
        if kinds and (watch := self._watches.get(server)):
            watch.dirty.update(kinds)
            watch.changed.set()

    async def _read(
        self, kind: EntryKind, config: ServerConfig, connection: Connection, status: Status
    ) -> tuple[EntryKind, list[Json] | None]:
        """Read one list into the catalog; returns its raw items, or None where reading failed."""
        server, ask, catalog = config.name, asker(connection), self._catalog
        before, found = catalog.listing(server, kind), Fetched()
        if METHODS[kind][2] in (status.capabilities or {}):
            if not before.entries:
                catalog.put(Listing(server, kind, (), "loading", gone=before.gone))
            found = await fetch_all(*METHODS[kind][:2], ask, self._limits)
        if found.error and not found.items and before.entries:
            catalog.put(before._replace(error=found.error, state="failed"))
            return kind, None
        headers = status.modern and config.kind == "http"
        whole = not (found.error or found.capped)
        entries, gone = await asyncio.to_thread(
            lambda: catalog.seen.compare(server, kind, salvage(server, kind, found.items, headers=headers))
        )
        if whole and (server, kind) not in catalog.seen.known:
            catalog.seen.take(server, kind, entries)
        error = found.error
        if kind == "resource":
            if offered(status.capabilities):  # skills are only listed here; somebody who needs one reads it
                catalog.skills.put(server, await fetch_skills(server, ask, self._limits))
            entries = catalog.skills.with_skills(server, entries)
            error = error or catalog.skills.of(server).error
        catalog.put(
            Listing(
                server, kind, entries, "failed" if found.error and not found.items else "fresh", error, found.capped,
                time.monotonic(), narrowest(found.hints) if status.modern else None,
                gone if whole else (),  # a partly read list cannot tell what is gone
            )
        )  # fmt: skip
        return kind, None if found.error else found.items


async def list_page(connection: Connection, kind: EntryKind, cursor: str | None = None) -> Page:
    """Read one page of a list from the server, without the catalog; `cursor` comes from the page before.

    Raises:
        StudioError: the server did not answer, or its answer has no list.
    """
    return await page_of(*METHODS[kind][:2], asker(connection), cursor)
