"""Watched resources, over both eras and over reconnects, with one switch for each URI."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import Literal

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused, RequestId
from mcp_studio.protocol.versions import META_SUBSCRIPTION
from mcp_studio.record import record
from mcp_studio.session.connection import Connection, Deadline
from mcp_studio.session.state import at_most
from mcp_studio.signal import Signal
from mcp_studio.trace.message import ACKNOWLEDGED

State = Literal["wanted", "active", "refused", "lost"]
"""`wanted`: no connection or answer yet; `refused`: the server refused; `lost`: no answer, or ended for good."""
Report = Callable[[str, State, str], None]
"""Called with the state of a URI, and the reason."""

_FOREVER = 3e8
"""Seconds that never pass, for a subscription's stream."""
_HELD = 30.0
"""Seconds after which a stream's earlier reconnects no longer count."""
_FILTERS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}


class LegacyLink:
    """`resources/subscribe` and `resources/unsubscribe` (2024-11-05 to 2025-11-25, server/resources)."""

    def __init__(self, connection: Connection, capabilities: Json, report: Report) -> None:
        self._connection = connection
        self._report = report
        self._offered = _declares(capabilities, "resources", "subscribe")
        self._wanted: tuple[str, ...] = ()
        self._requested: set[str] = set()
        self._wake = asyncio.Event()
        self.settled = asyncio.Event()
        """Set while the server knows of all wishes."""

    def want(self, uris: Sequence[str]) -> None:
        """Watch exactly these resources from now on."""
        self._wanted = tuple(uris)
        self.settled.clear()
        self._wake.set()

    async def run(self) -> None:
        """Subscribe and unsubscribe until cancelled."""
        while True:
            self._wake.clear()
            if self._offered:
                async with asyncio.TaskGroup() as tasks:
                    for uri in self._requested.difference(self._wanted):
                        tasks.create_task(self._unsubscribe(uri))
                    for uri in self._wanted:
                        if uri not in self._requested:
                            tasks.create_task(self._subscribe(uri))
            else:
                for uri in self._wanted:
                    self._report(uri, "refused", "the server does not offer it (resources.subscribe)")
            if not self._wake.is_set():
                self.settled.set()
                await self._wake.wait()

    async def _subscribe(self, uri: str) -> None:
        self._requested.add(uri)
        try:
            reply = await self._connection.request("resources/subscribe", {"uri": uri})
        except StudioError as error:
            if not self._connection.ended.done():  # otherwise the next connection asks again
                self._report(uri, "lost", error.message)
            return
        if isinstance(reply.event, Refused):
            self._report(uri, "refused", reply.event.text)
        else:
            self._report(uri, "active", "")

    async def _unsubscribe(self, uri: str) -> None:
        self._requested.discard(uri)
        with suppress(StudioError):  # later updates do not count
            await self._connection.request("resources/unsubscribe", {"uri": uri})


class ModernLink:
    """`subscriptions/listen` (2026-07-28): one stream for lists and resources, opened again when the wishes change.

    Args:
        on_again: called when a new stream follows an ended one, because changes in between were missed.
    """

    def __init__(
        self, connection: Connection, capabilities: Json, report: Report, limits: Limits, on_again: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._report = report
        self._limits = limits
        self._on_again = on_again
        names = [name for capability, name in _FILTERS.items() if _declares(capabilities, capability, "listChanged")]
        self._lists: dict[str, Json] = dict.fromkeys(names, True)
        self._wanted: tuple[str, ...] = ()
        self._listening: asyncio.Task[None] | None = None
        self._stream: RequestId | None = None
        """The request of a stream that is not acknowledged yet."""
        self._missed = False
        self.settled = asyncio.Event()
        """Set while the stream is as wished, or has failed for good."""

    def want(self, uris: Sequence[str]) -> None:
        """Watch exactly these resources from now on."""
        self._wanted = tuple(uris)
        self._stream = None
        self.settled.clear()
        if self._listening is not None:
            self._listening.cancel()

    def acknowledge(self, stream: str, honoured: dict[str, Json]) -> None:
        """Handle an acknowledgement, which may belong to no stream of ours."""
        if self._stream is None or str(self._stream) != stream:
            return
        self._stream = None
        accepted = items_of(honoured.get("resourceSubscriptions"))
        for uri in self._wanted:
            if uri in accepted:
                self._report(uri, "active", "")
            else:
                self._report(uri, "refused", "the server does not honour it")
        self.settled.set()

    async def run(self) -> None:
        """Listen until cancelled."""
        while True:
            self._listening = asyncio.get_running_loop().create_task(self._listen())
            try:
                await asyncio.wait((self._listening,))
            finally:  # before another stream begins, because a server may allow only one
                self._listening.cancel()
                await asyncio.wait((self._listening,))
            if not self._listening.cancelled():
                self._listening.result()

    async def _listen(self) -> None:
        """Keep a stream open until cancelled, or until too many reconnects failed."""
        asked = dict(self._lists)
        if self._wanted:
            asked["resourceSubscriptions"] = list(self._wanted)
        failures = 0
        while asked and failures <= self._limits.reconnects:
            if failures:
                await asyncio.sleep(min(self._limits.retry_min * 2**failures, self._limits.retry_max))
            began = time.monotonic()
            state, why = await self._hold(asked)
            self._missed = True
            failures = 1 if time.monotonic() - began > _HELD else failures + 1
            if state == "refused" or self._connection.ended.done():
                failures = self._limits.reconnects + 1
            elif failures > self._limits.reconnects:
                state = "lost"
            for uri in self._wanted:
                self._report(uri, state, why)
        self.settled.set()
        await asyncio.get_running_loop().create_future()

    async def _hold(self, asked: dict[str, Json]) -> tuple[State, str]:
        """One stream from request to end: the resulting state of the resources, and the reason."""

        def sent(identity: RequestId) -> None:
            self._stream = identity
            if self._missed:  # at the request, because some servers never acknowledge
                self._missed = False
                self._on_again()

        forever = Deadline(_FOREVER, _FOREVER)
        try:
            reply = await self._connection.request(
                "subscriptions/listen", {"notifications": asked}, deadline=forever, on_id=sent
            )
        except StudioError as error:
            return "wanted", error.message
        if isinstance(reply.event, Refused):
            return "refused", reply.event.text
        return "wanted", "The server ended the subscription."


def _declares(capabilities: Json, name: str, part: str) -> bool:
    return mapping(mapping(capabilities).get(name)).get(part) is True


@record(eq=False)
class Subscription:
    """A watched resource; front ends only read it."""

    server: str
    uri: str
    template: str = ""
    """The URI template that the URI was made from, if any."""
    state: State = "wanted"
    detail: str = ""
    """Why the subscription is not active, in words."""
    updates: int = 0
    """The number of updates so far."""
    unread: int = 0
    """The number of updates since the resource was last read."""
    updated: float = 0.0
    """The time of the newest update, in seconds since the epoch; 0 before the first."""
    missed: bool = False
    """Whether updates may have been missed since the resource was last read."""


@record(eq=False)
class _Place:
    """The wishes for one server, and the link that fulfils them while the server is connected."""

    wanted: dict[str, Subscription] = field(default_factory=dict[str, Subscription])
    link: LegacyLink | ModernLink | None = None


class Subscriptions:
    """All watched resources, by server and URI.

    Args:
        on_missed: called with a server whose lists may have changed unnoticed.
    """

    def __init__(self, limits: Limits, on_missed: Callable[[str], None]) -> None:
        self.changed: Signal[str] = Signal()
        """Emits the name of a server with a changed subscription."""
        self.updated: Signal[Subscription] = Signal()
        """Emits every update of a watched resource."""
        self._limits = limits
        self._on_missed = on_missed
        self._places: dict[str, _Place] = {}

    # ------------------------------------------------------------------ wishes

    def switch(self, server: str, uri: str, *, template: str = "") -> bool:
        """Switch the watching of a resource on or off; returns whether it is on now."""
        on = self.get(server, uri) is None
        self.watch(server, uri, template=template) if on else self.unwatch(server, uri)
        return on

    def watch(self, server: str, uri: str, *, template: str = "") -> Subscription:
        """Watch a resource, listed or not, until `unwatch`."""
        place = self._place(server)
        known = place.wanted.get(uri)
        if known is None:
            known = place.wanted[uri] = Subscription(server, uri, template)
            self._wish_changed(server, place)
        return known

    def unwatch(self, server: str, uri: str) -> None:
        place = self._place(server)
        if place.wanted.pop(uri, None) is not None:
            self._wish_changed(server, place)

    def read(self, server: str, uri: str) -> None:
        """Record that a resource is being read, so that its earlier updates are known."""
        if (known := self.get(server, uri)) is not None and (known.unread or known.missed):
            known.unread, known.missed = 0, False
            self.changed.emit(server)

    # ------------------------------------------------------------------ state

    def of(self, server: str) -> tuple[Subscription, ...]:
        """The subscriptions to a server, oldest first."""
        return tuple(self._place(server).wanted.values()) if server in self._places else ()

    def get(self, server: str, uri: str) -> Subscription | None:
        """The subscription to a resource, or None."""
        return self._places[server].wanted.get(uri) if server in self._places else None

    async def settle(self, server: str, limit: float) -> None:
        """Wait until a connected server knows of all wishes, at most `limit` seconds."""
        place = self._places.get(server)
        if place is not None and place.link is not None:
            await at_most(limit, place.link.settled.wait())

    # ------------------------------------------------------------------ called by the manager

    async def serve(self, server: str, connection: Connection, capabilities: Json) -> None:
        """Keep a connected server informed of all wishes, until cancelled."""
        place = self._place(server)
        report = partial(self._report, place)
        if connection.core.modern:
            on_again = partial(self._on_missed, server)
            link = ModernLink(connection, capabilities, report, self._limits, on_again)
        else:
            link = LegacyLink(connection, capabilities, report)
        place.link = link
        link.want(tuple(place.wanted))
        try:
            await link.run()
        finally:
            if place.link is link:
                place.link = None
                for uri in tuple(place.wanted):
                    report(uri, "wanted", "")

    def forget(self, server: str) -> None:
        """Forget a server that was removed for good."""
        if self._places.pop(server, None) is not None:
            self.changed.emit(server)

    def on_notification(self, server: str, method: str, params: dict[str, Json]) -> None:
        """Handle a notification of a server; cheap, because a server may send any number."""
        place = self._places.get(server)
        if place is None or place.link is None:
            return
        if method == ACKNOWLEDGED and isinstance(place.link, ModernLink):
            stream = mapping(params.get("_meta")).get(META_SUBSCRIPTION)
            place.link.acknowledge(str(stream), mapping(params.get("notifications")))
        elif method == "notifications/resources/updated" and isinstance(uri := params.get("uri"), str):
            self._updated(place, uri)

    # ------------------------------------------------------------------ inside

    def _updated(self, place: _Place, uri: str) -> None:
        # An update may name a resource within the watched one, as the specification allows.
        within = (one for key, one in place.wanted.items() if uri.startswith(key.rstrip("/") + "/"))
        if (known := place.wanted.get(uri) or next(within, None)) is None:
            return
        known.updates += 1
        known.unread += 1
        known.updated = time.time()
        self.updated.emit(known)
        self.changed.emit(known.server)

    def _report(self, place: _Place, uri: str, state: State, detail: str) -> None:
        known = place.wanted.get(uri)
        if known is None or (known.state, known.detail) == (state, detail):
            return
        if known.state in ("active", "lost") and state == "wanted":
            known.missed = True
        known.state, known.detail = state, detail
        self.changed.emit(known.server)

    def _wish_changed(self, server: str, place: _Place) -> None:
        if place.link is not None:
            place.link.want(tuple(place.wanted))
        self.changed.emit(server)

    def _place(self, server: str) -> _Place:
        return self._places.setdefault(server, _Place())
