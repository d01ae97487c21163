"""Resources that a person wants to hear of, over both eras and over reconnects, behind one switch for each URI."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Literal

from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.versions import META_SUBSCRIPTION
from mcp_studio.record import record
from mcp_studio.session.connection import Connection
from mcp_studio.session.listening import Stream
from mcp_studio.session.owner import Seat
from mcp_studio.session.watching import Ground, LegacyLink, Link, ModernLink
from mcp_studio.signal import Signal
from mcp_studio.trace.message import ACKNOWLEDGED

State = Literal["wanted", "active", "refused", "lost"]
"""`wanted`: not connected, or no answer yet; `refused`: the server said no; `lost`: given up after retries."""

_PAUSE = 0.1
"""Seconds between two signals: a flood of updates costs no more than ten a second."""


@record(eq=False)
class Subscription:
    """One resource that is watched; front ends read it and change nothing."""

    server: str
    uri: str
    template: str = ""
    """The URI template that the URI was made from, where it was."""
    state: State = "wanted"
    detail: str = ""
    """Why it is not active, in words."""
    updates: int = 0
    """Notices of change so far."""
    unread: int = 0
    """Notices since the resource was read last, or since it is watched."""
    updated: float = 0.0
    """When the newest notice came, in seconds since the epoch; 0 before the first."""
    missed: bool = False
    """Nobody listened for a while since it was read last: it may have changed unseen."""


@record(eq=False)
class _Place:
    """What is wanted of one server, and the link that gets it while the server is connected."""

    wanted: dict[str, Subscription] = field(default_factory=dict[str, Subscription])
    tasks: tuple[str, ...] = ()
    link: Link | None = None


class Subscriptions:
    """All that is watched, by server and URI.

    Args:
        on_missed: told a server whose lists may have changed while nobody listened.
    """

    def __init__(self, limits: Limits, on_missed: Callable[[str], None]) -> None:
        self.changed: Signal[str] = Signal()
        """The name of a server of which something watched is another: a state, or updates, several in one."""
        self.updated: Signal[Subscription] = Signal()
        """Every notice that counts, as it comes: any number of them."""
        self._limits = limits
        self._on_missed = on_missed
        self._places: dict[str, _Place] = {}
        self._told: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------------ what is wanted

    def switch(self, server: str, uri: str, *, template: str = "") -> bool:
        """Turn watching a resource on, or off where it is on; whether it is on now."""
        on = self.get(server, uri) is None
        self.watch(server, uri, template=template) if on else self.unwatch(server, uri)
        return on

    def watch(self, server: str, uri: str, *, template: str = "") -> Subscription:
        """Watch a resource, listed or not; kept over reconnects until `unwatch`."""
        place = self._place(server)
        known = place.wanted.get(uri)
        if known is None:
            known = place.wanted[uri] = Subscription(server, uri, template)
            self._wish_changed(server, place)
        return known

    def unwatch(self, server: str, uri: str) -> None:
        """Watch it no longer."""
        place = self._place(server)
        if place.wanted.pop(uri, None) is not None:
            self._wish_changed(server, place)

    def listen_tasks(self, server: str, ids: Iterable[str]) -> None:
        """Ask a server of the stateless era for notices about these tasks; none ends it (extension tasks)."""
        place = self._place(server)
        place.tasks = tuple(dict.fromkeys(ids))
        if place.link is not None:
            place.link.want_tasks(place.tasks)

    def read(self, server: str, uri: str) -> None:
        """A resource is being read: what came until now is known."""
        if (known := self.get(server, uri)) is not None and (known.unread or known.missed):
            known.unread, known.missed = 0, False
            self._tell(server)

    # ------------------------------------------------------------------ what there is

    def of(self, server: str) -> tuple[Subscription, ...]:
        """What is watched of a server, the oldest first."""
        return tuple(self._place(server).wanted.values()) if server in self._places else ()

    def get(self, server: str, uri: str) -> Subscription | None:
        """The subscription to a resource, or None."""
        return self._places[server].wanted.get(uri) if server in self._places else None

    def all(self) -> tuple[Subscription, ...]:
        """Everything that is watched."""
        return tuple(known for place in self._places.values() for known in place.wanted.values())

    def streams(self, server: str) -> tuple[Stream, ...]:
        """The `subscriptions/listen` streams of a server of the stateless era, each with what it honoured."""
        place = self._places.get(server)
        return place.link.streams() if place is not None and place.link is not None else ()

    async def settle(self, server: str, limit: float) -> None:
        """Wait until a connected server was told everything that is wanted, at most `limit` seconds."""
        place = self._places.get(server)
        if place is not None and place.link is not None:
            try:
                async with asyncio.timeout(limit):
                    await place.link.settle()
            except TimeoutError:
                return

    # ------------------------------------------------------------------ told by the manager

    def begin(self, seat: Seat, connection: Connection) -> None:
        """A server is ready: from now on its notices count."""
        name, place = seat.config.name, self._place(seat.config.name)
        make = ModernLink if seat.status.modern else LegacyLink
        ground = Ground(
            connection, seat.status.capabilities, self._limits,
            report=lambda uri, state, detail: self._report(name, place, uri, state, detail),
            on_change=lambda: self._tell(name), on_missed=lambda: self._on_missed(name),
        )  # fmt: skip
        place.link = make(ground)
        place.link.want(tuple(place.wanted))
        place.link.want_tasks(place.tasks)

    async def serve(self, seat: Seat) -> None:
        """Keep a connected server told of what is wanted, until cancelled."""
        name, place = seat.config.name, self._place(seat.config.name)
        link = place.link
        if link is None:
            return
        try:
            await link.run()
        finally:
            if place.link is link:
                place.link = None
                for uri in tuple(place.wanted):
                    self._report(name, place, uri, "wanted", "")

    def forget(self, server: str) -> None:
        """A server is gone for good."""
        if self._places.pop(server, None) is not None:
            self._tell(server)

    def on_notification(self, server: str, method: str, params: dict[str, Json]) -> None:
        """Take a notification of a server; cheap, since a server may send any number."""
        place = self._places.get(server)
        if place is None or place.link is None:
            return
        if method == ACKNOWLEDGED:
            honoured = params.get("notifications")
            place.link.acknowledge(_stream_of(params), honoured if isinstance(honoured, dict) else {})
        elif method == "notifications/resources/updated":
            uri = params.get("uri")
            if isinstance(uri, str):
                self._updated(place, uri, _stream_of(params))

    # ------------------------------------------------------------------ inside

    def _updated(self, place: _Place, uri: str, stream: str) -> None:
        known = place.wanted.get(uri) or _parent(place.wanted, uri)
        # On a stream that is not ours it is told as a finding about the message, and on one sent by hand it is right.
        if known is None or (stream and place.link is not None and not place.link.counts(stream)):
            return
        known.updates += 1
        known.unread += 1
        known.updated = time.time()
        self.updated.emit(known)
        self._tell(known.server)

    def _report(self, server: str, place: _Place, uri: str, state: State, detail: str) -> None:
        known = place.wanted.get(uri)
        if known is None or (known.state, known.detail) == (state, detail):
            return
        if known.state in ("active", "lost") and state == "wanted":
            known.missed = True
        known.state, known.detail = state, detail
        self._tell(server)

    def _wish_changed(self, server: str, place: _Place) -> None:
        if place.link is not None:
            place.link.want(tuple(place.wanted))
        self._tell(server)

    def _place(self, server: str) -> _Place:
        return self._places.setdefault(server, _Place())

    def _tell(self, server: str) -> None:
        """Say soon that something changed: much at once is said once."""
        self._told.add(server)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._emit)

    def _emit(self) -> None:
        self._timer = None
        told, self._told = self._told, set()
        for server in told:
            self.changed.emit(server)


def _stream_of(params: dict[str, Json]) -> str:
    """The id of the subscription that a notice belongs to, as text; empty where it says none."""
    meta = params.get("_meta")
    identity = meta.get(META_SUBSCRIPTION) if isinstance(meta, dict) else None
    return str(identity) if isinstance(identity, (int, str)) else ""


def _parent(wanted: dict[str, Subscription], uri: str) -> Subscription | None:
    """The specification allows a notice to name a resource within the one that is watched."""
    return next((known for key, known in wanted.items() if uri.startswith(key.rstrip("/") + "/")), None)
