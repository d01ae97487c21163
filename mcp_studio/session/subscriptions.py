"""Resources that a person wants to hear of, over both eras and over reconnects, behind one switch for each URI."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, Literal, NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused, RequestId
from mcp_studio.protocol.versions import META_SUBSCRIPTION
from mcp_studio.record import record
from mcp_studio.session.connection import Connection, Deadline
from mcp_studio.signal import Signal
from mcp_studio.trace.message import ACKNOWLEDGED

Purpose = Literal["lists", "resources"]
"""What a stream is for: each purpose has its own, so that one wish can change without a gap in the others."""
StreamState = Literal["opening", "open", "waiting", "refused", "lost"]
"""`opening`: not acknowledged yet; `waiting`: ended, and is opened again; `refused`, `lost`: not tried any more."""
State = Literal["wanted", "active", "refused", "lost"]
"""`wanted`: not connected, or no answer yet; `refused`: the server said no; `lost`: no answer, or none any more."""

_FOREVER = 3e8
"""A subscription stream has no end of its own."""
_GRACE = 2.0
"""Seconds that a server has to acknowledge before we go on as if it had."""
_HELD = 30.0
"""A stream that held this many seconds has its reconnects forgiven."""
_FILTERS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}
_PAUSE = 0.1
"""Seconds between two signals: a flood of updates costs no more than ten a second."""


@record(eq=False)
class Stream:
    """What is known about listening for one purpose, from the request to its end."""

    purpose: Purpose
    asked: dict[str, Json] = field(default_factory=dict[str, Json])
    state: StreamState = "opening"
    id: RequestId | None = None
    honoured: dict[str, Json] | None = None
    """What the server acknowledged; None while it has not."""
    detail: str = ""
    """Why it ended or was refused, in words."""
    began: float = field(default_factory=time.monotonic)


class SubscriptionStream:
    """Keeps one stream open for what is wanted at the moment; `run` is its task.

    Args:
        on_change: called whenever `stream` changes.
        on_again: called when it listens again after an end: what changed in between was missed.
    """

    def __init__(
        self,
        purpose: Purpose,
        connection: Connection,
        limits: Limits,
        *,
        on_change: Callable[[], None],
        on_again: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._on_change = on_change
        self._on_again = on_again
        self._wanted: dict[str, Json] = {}
        self._listening: asyncio.Task[None] | None = None
        self._failures = 0
        self._missed = False
        self.stream = Stream(purpose)
        self.settled = asyncio.Event()
        """Set while the stream is as wanted, or will not be."""

    def want(self, asked: dict[str, Json]) -> None:
        """Listen for this from now on; an empty object ends it."""
        if asked != self._wanted or self.stream.state in ("refused", "lost"):
            self._wanted = asked
            self._failures = 0
            self.settled.clear()
            if self._listening is not None:
                self._listening.cancel()

    def acknowledge(self, identity: str, honoured: dict[str, Json]) -> None:
        """Take an acknowledgement, where it is of our stream; only the first one counts."""
        if self.current(identity) and self.stream.honoured is None:
            self.stream.honoured = honoured
            self._opened()

    def current(self, identity: str) -> bool:
        """Whether it is our stream."""
        return self.stream.id is not None and str(self.stream.id) == identity

    async def run(self) -> None:
        """Listen until cancelled."""
        while True:
            self._listening = asyncio.get_running_loop().create_task(self._listen(self._wanted))
            try:
                await asyncio.wait((self._listening,))
            finally:  # before another one begins: a server may allow only one at a time
                self._listening.cancel()
                await asyncio.wait((self._listening,))
            if not self._listening.cancelled():
                self._listening.result()

    async def _listen(self, asked: dict[str, Json]) -> None:
        """One stream, and the pause after its end; cancelled when something else is wanted."""
        stream = self.stream = Stream(self.stream.purpose, asked)
        self._on_change()
        if not asked:
            self.settled.set()
            return await _for_good()

        def sent(identity: RequestId) -> None:
            stream.id = identity

        params, forever = {"notifications": asked}, Deadline(_FOREVER, _FOREVER)
        refused, grace = False, asyncio.get_running_loop().call_later(_GRACE, self._opened)
        try:
            reply = await self._connection.request("subscriptions/listen", params, deadline=forever, on_id=sent)
            refused = isinstance(reply.event, Refused)
            ended = "The server ended the subscription."
            stream.detail = reply.event.said if isinstance(reply.event, Refused) else ended
        except StudioError as error:
            stream.detail = error.message
        finally:
            grace.cancel()
        await self._ended(stream, refused)

    def _opened(self) -> None:
        """It is acknowledged, or was not for so long that we go on as if it were."""
        stream = self.stream
        known = stream.honoured is not None
        stream.state, stream.detail = ("open", "") if known else ("opening", "the server has not acknowledged it")
        if self._missed:
            self._missed = False
            self._on_again()
        if stream.asked is self._wanted:
            self.settled.set()
        self._on_change()

    async def _ended(self, stream: Stream, refused: bool) -> None:
        """Wait a little before it is opened again; for good where the server refuses, or it never holds."""
        self._missed = True
        self._failures = 1 if time.monotonic() - stream.began > _HELD else self._failures + 1
        over = refused or self._connection.ended.done() or self._failures > self._limits.reconnects
        stream.state = "refused" if refused else "lost" if over else "waiting"
        self._on_change()
        if over:
            self.settled.set()
            await _for_good()
        # There is a stream for each of two purposes: together they are opened no more than ten times in four seconds.
        await asyncio.sleep(min(self._limits.retry_min * 2 ** (self._failures + 1), self._limits.retry_max))


async def _for_good() -> None:
    """Wait until cancelled."""
    await asyncio.get_running_loop().create_future()


class Listener(NamedTuple):
    """Whom a link tells: the state of a URI and why, that a stream has changed, that lists may have changed unheard."""

    report: Callable[[str, State, str], None]
    on_change: Callable[[], None]
    on_missed: Callable[[], None]


class LegacyLink:
    """`resources/subscribe` and `resources/unsubscribe` (2024-11-05 to 2025-11-25, server/resources)."""

    def __init__(self, connection: Connection, capabilities: Json, limits: Limits, listener: Listener) -> None:
        self._connection = connection
        self._limits = limits
        self._report = listener.report
        self._offered = _declares(capabilities, "resources", "subscribe")
        self._wanted: tuple[str, ...] = ()
        self._requested: set[str] = set()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self.streams: tuple[Stream, ...] = ()

    def want(self, uris: Sequence[str]) -> None:
        """Watch these resources from now on, and no others."""
        self._wanted = tuple(uris)
        self._idle.clear()
        self._wake.set()

    def acknowledge(self, stream: str, honoured: dict[str, Json]) -> None:
        """There is nothing to acknowledge in this era."""

    def counts(self, stream: str) -> bool:
        """Every update counts."""
        return True

    async def settle(self) -> None:
        """Wait until the server was told everything."""
        await self._idle.wait()

    async def run(self) -> None:
        """Tell the server, until cancelled."""
        while True:
            self._wake.clear()
            wanted = set(self._wanted)
            if self._offered:
                await self._all(self._unsubscribe, [uri for uri in self._requested if uri not in wanted])
                await self._all(self._subscribe, [uri for uri in self._wanted if uri not in self._requested])
            else:
                for uri in self._wanted:
                    self._report(uri, "refused", "the server does not offer it (resources.subscribe)")
            if not self._wake.is_set():
                self._idle.set()
                await self._wake.wait()

    async def _all(self, act: Callable[[str], Coroutine[Any, Any, None]], uris: list[str]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for uri in uris:
                tasks.create_task(act(uri))

    async def _subscribe(self, uri: str) -> None:
        self._requested.add(uri)
        try:
            reply = await self._connection.request("resources/subscribe", {"uri": uri})
        except StudioError as error:
            if not self._connection.ended.done():  # else the next connection asks again
                self._report(uri, "lost", error.message)
            return
        if isinstance(reply.event, Refused):
            self._report(uri, "refused", reply.event.said)
        else:
            self._report(uri, "active", "")

    async def _unsubscribe(self, uri: str) -> None:
        self._requested.discard(uri)
        with suppress(StudioError):  # what still comes for it is not counted
            await self._connection.request("resources/unsubscribe", {"uri": uri})


class ModernLink:
    """`subscriptions/listen` (2026-07-28): one stream each for lists and resources."""

    def __init__(self, connection: Connection, capabilities: Json, limits: Limits, listener: Listener) -> None:
        self._listener = listener
        changed = listener.on_change
        self._lists = SubscriptionStream("lists", connection, limits, on_change=changed, on_again=listener.on_missed)
        self._resources = SubscriptionStream(
            "resources", connection, limits, on_change=self._judge, on_again=self._judge
        )
        self._all = (self._lists, self._resources)
        self._wanted: tuple[str, ...] = ()
        names = [name for capability, name in _FILTERS.items() if _declares(capabilities, capability, "listChanged")]
        self._lists.want(dict.fromkeys(names, True))

    def want(self, uris: Sequence[str]) -> None:
        """Watch these resources from now on, and no others."""
        self._wanted = tuple(uris)
        self._resources.want({"resourceSubscriptions": list(uris)} if uris else {})

    def acknowledge(self, stream: str, honoured: dict[str, Json]) -> None:
        """Take an acknowledgement, which may belong to nothing that was asked here."""
        for listening in self._all:
            listening.acknowledge(stream, honoured)

    def counts(self, stream: str) -> bool:
        """Whether an update on this stream is to be counted."""
        return self._resources.current(stream)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """All streams that were asked for."""
        return tuple(listening.stream for listening in self._all if listening.stream.asked)

    async def settle(self) -> None:
        """Wait until the streams are as wanted."""
        for listening in self._all:
            await listening.settled.wait()

    async def run(self) -> None:
        """Listen until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for listening in self._all:
                tasks.create_task(listening.run())

    def _judge(self) -> None:
        """Each resource has the state of the stream, and is refused where the server left it out."""
        stream, report = self._resources.stream, self._listener.report
        honoured = items_of(mapping(stream.honoured).get("resourceSubscriptions"))
        asked = items_of(stream.asked.get("resourceSubscriptions"))
        for uri in self._wanted:
            if stream.state in ("refused", "lost"):
                report(uri, stream.state, stream.detail)
            elif stream.state == "waiting" or (stream.state == "opening" and stream.detail):
                report(uri, "wanted", stream.detail)
            elif stream.state == "open" and uri in asked and stream.honoured is not None:
                if uri in honoured:
                    report(uri, "active", "")
                else:
                    report(uri, "refused", "the server does not honour it")
        self._listener.on_change()


def _declares(capabilities: Json, name: str, part: str) -> bool:
    return mapping(mapping(capabilities).get(name)).get(part) is True


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
    link: LegacyLink | ModernLink | None = None


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
        return place.link.streams if place is not None and place.link is not None else ()

    async def settle(self, server: str, limit: float) -> None:
        """Wait until a connected server was told everything that is wanted, at most `limit` seconds."""
        place = self._places.get(server)
        if place is not None and place.link is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await place.link.settle()

    # ------------------------------------------------------------------ told by the manager

    async def serve(self, server: str, connection: Connection, capabilities: Json) -> None:
        """Keep a connected server told of what is wanted, until cancelled."""
        place = self._place(server)
        listener = Listener(
            lambda uri, state, detail: self._report(server, place, uri, state, detail),
            lambda: self._tell(server), lambda: self._on_missed(server),
        )  # fmt: skip
        make = ModernLink if connection.core.modern else LegacyLink
        place.link = link = make(connection, capabilities, self._limits, listener)
        link.want(tuple(place.wanted))
        try:
            await link.run()
        finally:
            if place.link is link:
                place.link = None
                for uri in tuple(place.wanted):
                    self._report(server, place, uri, "wanted", "")

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
            place.link.acknowledge(_stream_of(params), mapping(params.get("notifications")))
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
    identity = mapping(params.get("_meta")).get(META_SUBSCRIPTION)
    return str(identity) if isinstance(identity, (int, str)) else ""


def _parent(wanted: dict[str, Subscription], uri: str) -> Subscription | None:
    """The specification allows a notice to name a resource within the one that is watched."""
    return next((known for key, known in wanted.items() if uri.startswith(key.rstrip("/") + "/")), None)
