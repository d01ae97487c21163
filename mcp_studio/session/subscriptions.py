"""Resources that a person wants to hear of, over both eras and over reconnects, behind one switch for each URI."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import field
from typing import Any, Literal, NamedTuple, cast

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, items_of
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused, RequestId
from mcp_studio.protocol.versions import META_SUBSCRIPTION
from mcp_studio.record import record
from mcp_studio.session.connection import Connection, Deadline, DeadlinePassed
from mcp_studio.session.state import Seat
from mcp_studio.signal import Signal
from mcp_studio.trace.message import ACKNOWLEDGED

Purpose = Literal["lists", "resources", "tasks"]
"""What a stream is for: each purpose has its own, so that one wish can change without a gap in the others."""
StreamState = Literal["opening", "open", "waiting", "refused", "lost"]
"""`opening`: not acknowledged yet; `waiting`: ended, and is opened again; `refused`, `lost`: not tried any more."""

_FOREVER = 3e8
"""A subscription stream has no end of its own."""
_GRACE = 2.0
"""Seconds that a server has to acknowledge before we go on as if it had."""
_HELD = 30.0
"""A stream that held this many seconds has its reconnects forgiven."""


class Stream(NamedTuple):
    """What is known about listening for one purpose."""

    purpose: Purpose
    state: StreamState = "opening"
    id: RequestId | None = None
    asked: dict[str, Json] = {}  # noqa: RUF012 - never written to
    honoured: dict[str, Json] | None = None
    """What the server acknowledged; None while it has not."""
    detail: str = ""
    """Why it ended or was refused, in words."""


@record(eq=False)
class _Attempt:
    """One stream from its request to its end."""

    asked: dict[str, Json]
    began: float = field(default_factory=time.monotonic)
    id: RequestId | None = None
    honoured: dict[str, Json] | None = None
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    refused: bool = False
    why: str = ""

    @property
    def over(self) -> bool:
        """The stream has ended."""
        return self.task is not None and self.task.done()

    def end(self) -> None:
        """Nobody wants it any more: the server is told."""
        if self.task is not None:
            self.task.cancel()


class Listening:
    """Keeps one stream open for what is wanted at the moment; `run` is its task.

    Args:
        on_change: told whenever `stream` is another.
        on_again: told when it listens again after an end: what changed in between was missed.
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
        self._wake = asyncio.Event()
        self._attempts: list[_Attempt] = []
        self._failures = 0
        self.stream = Stream(purpose)
        self.settled = asyncio.Event()
        """Set while the stream is as wanted, or will not be."""

    def want(self, asked: dict[str, Json]) -> None:
        """Listen for this from now on; nothing ends listening."""
        if asked != self._wanted or self.stream.state in ("refused", "lost"):
            self._wanted = asked
            self._failures = 0
            self.settled.clear()
            self._wake.set()

    def acknowledge(self, identity: str, honoured: dict[str, Json]) -> None:
        """Take an acknowledgement, where it is of a stream of ours; only the first one counts."""
        attempt = self._find(identity)
        if attempt is not None and attempt.honoured is None:
            attempt.honoured, attempt.why = honoured, ""
            attempt.acknowledged.set()
            if attempt is self._attempts[-1]:
                self._show("open")

    def current(self, identity: str) -> bool:
        """Whether it is the stream whose news count: while one replaces another, the older until the new one stands."""
        known = reversed(self._attempts)
        standing = next((one for one in known if one.acknowledged.is_set() and not one.over), None)
        return str(standing.id) == identity if standing is not None else self._find(identity) is not None

    async def run(self) -> None:
        """Listen until cancelled."""
        try:
            while True:
                self._wake.clear()
                if self._wanted:
                    await self._listen(self._wanted)
                else:
                    self._end_all()
                    self._show("opening")
                    self.settled.set()
                    await self._wake.wait()
        finally:
            self._end_all()

    async def _listen(self, wanted: dict[str, Json]) -> None:
        """Open a stream, put it in the place of the one before, and stay with it until it ends or is not wanted."""
        again = self._failures > 0
        attempt = self._open(wanted)
        await self._either(attempt, attempt.acknowledged.wait(), _GRACE)
        if attempt.refused and any(not one.over for one in self._attempts if one is not attempt):
            self._end_all()  # perhaps it allows only one at a time
            attempt = self._open(wanted)
            await self._either(attempt, attempt.acknowledged.wait(), _GRACE)
        for one in self._attempts[:-1]:
            one.end()
        if not attempt.over:
            if again:
                self._on_again()
            attempt.why = "" if attempt.honoured is not None else "the server has not acknowledged it"
            self._show("open" if attempt.honoured is not None else "opening")
            if not self._wake.is_set():  # else something else is wanted by now, and the server not told yet
                self.settled.set()
            await self._either(attempt, self._wake.wait(), None)
        if attempt.over and not self._wake.is_set():
            await self._ended(attempt)

    async def _ended(self, attempt: _Attempt) -> None:
        """Wait a little before it is opened again; for good where the server refuses, or it never holds."""
        self._failures = 1 if time.monotonic() - attempt.began > _HELD else self._failures + 1
        gone = self._connection.ended.done()
        if attempt.refused or gone or self._failures > self._limits.reconnects:
            self._show("refused" if attempt.refused else "lost")
            self.settled.set()
            await self._wake.wait()
            return
        self._show("waiting")
        # There is a stream for each of three purposes: together they are opened no more than ten times in four seconds.
        pause = min(self._limits.retry_min * 2 ** (self._failures + 1), self._limits.retry_max)
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return

    def _open(self, wanted: dict[str, Json]) -> _Attempt:
        attempt = _Attempt(wanted)
        # The one before the newest may still have news under way.
        self._attempts = [*self._attempts[-3:], attempt]
        attempt.task = asyncio.get_running_loop().create_task(self._hold(attempt))
        self._show("opening")
        return attempt

    async def _hold(self, attempt: _Attempt) -> None:
        def sent(identity: RequestId) -> None:
            attempt.id = identity

        try:
            reply = await self._connection.request(
                "subscriptions/listen",
                {"notifications": attempt.asked},
                deadline=Deadline(_FOREVER, _FOREVER),
                on_id=sent,
            )
        except StudioError as error:
            attempt.why = error.message
            return
        if isinstance(reply.event, Refused):
            attempt.refused = True
            attempt.why = reply.event.said
        else:
            attempt.why = "The server ended the subscription."

    async def _either(self, attempt: _Attempt, waiting: Coroutine[Any, Any, object], limit: float | None) -> None:
        """Wait until the stream ends or something else happens, at most `limit` seconds."""
        assert attempt.task is not None
        other = asyncio.get_running_loop().create_task(waiting)
        try:
            await asyncio.wait((attempt.task, other), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            other.cancel()

    def _find(self, identity: str) -> _Attempt | None:
        return next((one for one in self._attempts if one.id is not None and str(one.id) == identity), None)

    def _end_all(self) -> None:
        for attempt in self._attempts:
            attempt.end()

    def _show(self, state: StreamState) -> None:
        newest = self._attempts[-1] if self._attempts else _Attempt({})
        stream = Stream(self.stream.purpose, state, newest.id, self._wanted, newest.honoured, newest.why)
        if stream != self.stream:
            self.stream = stream
            self._on_change()


Report = Callable[[str, Literal["wanted", "active", "refused", "lost"], str], None]
"""Told a URI, the state of its subscription, and why."""

_TRIES = 3
"""How often a subscription that got no answer is asked for."""
_AT_ONCE = 8
_FILTERS = {"tools": "toolsListChanged", "resources": "resourcesListChanged", "prompts": "promptsListChanged"}


class Ground(NamedTuple):
    """What a link stands on."""

    connection: Connection
    capabilities: Json
    limits: Limits
    report: Report
    on_change: Callable[[], None]
    """Told when a stream is another."""
    on_missed: Callable[[], None]
    """Told when lists may have changed while nobody listened."""


class Link:
    """Tells one connected server what is wanted, and knows what it agreed to."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._wanted: tuple[str, ...] = ()

    def want(self, uris: Sequence[str]) -> None:
        """Watch these resources from now on, and no others."""
        self._wanted = tuple(uris)

    def want_tasks(self, ids: Sequence[str]) -> None:
        """Listen for these tasks; servers of the handshake era tell of theirs by themselves."""

    def acknowledge(self, stream: str, honoured: dict[str, Json]) -> None:
        """Take an acknowledgement, which may belong to nothing that was asked here."""

    def counts(self, stream: str) -> bool:
        """Whether an update on this stream is to be counted."""
        return True

    def streams(self) -> tuple[Stream, ...]:
        """The streams that were asked for, in the stateless era."""
        return ()

    async def settle(self) -> None:
        """Wait until the server was told everything."""

    async def run(self) -> None:
        """Tell the server, until cancelled."""


class LegacyLink(Link):
    """`resources/subscribe` and `resources/unsubscribe` (2024-11-05 to 2025-11-25, server/resources)."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._connection = ground.connection
        self._limits = ground.limits
        self._offered = _declares(ground.capabilities, "resources", "subscribe")
        self._told: set[str] = set()
        """What the server was asked for, whatever it said."""
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()

    def want(self, uris: Sequence[str]) -> None:
        """Watch these resources from now on, and no others."""
        super().want(uris)
        self._idle.clear()
        self._wake.set()

    async def settle(self) -> None:
        """Wait until the server was told everything."""
        await self._idle.wait()

    async def run(self) -> None:
        """Tell the server, until cancelled."""
        while True:
            self._wake.clear()
            wanted = set(self._wanted)
            if self._offered:
                await self._all(self._unsubscribe, [uri for uri in self._told if uri not in wanted])
                await self._all(self._subscribe, [uri for uri in self._wanted if uri not in self._told])
            else:
                for uri in self._wanted:
                    self._ground.report(uri, "refused", "the server does not offer it (resources.subscribe)")
            if not self._wake.is_set():
                self._idle.set()
                await self._wake.wait()

    async def _all(self, act: Callable[[str], Coroutine[Any, Any, None]], uris: list[str]) -> None:
        for start in range(0, len(uris), _AT_ONCE):
            async with asyncio.TaskGroup() as tasks:
                for uri in uris[start : start + _AT_ONCE]:
                    tasks.create_task(act(uri))

    async def _subscribe(self, uri: str) -> None:
        self._told.add(uri)
        why = ""
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(min(self._limits.retry_min * 2**attempt, self._limits.retry_max))
            try:
                reply = await self._connection.request("resources/subscribe", {"uri": uri})
            except StudioError as error:
                if self._connection.ended.done():
                    return  # the next connection asks again
                why = error.message
                if isinstance(error, DeadlinePassed):
                    break  # it was waited for as long as it may take
                self._ground.report(uri, "wanted", why)
                continue
            if isinstance(reply.event, Refused):
                self._ground.report(uri, "refused", reply.event.said)
            else:
                self._ground.report(uri, "active", "")
            return
        self._ground.report(uri, "lost", why)

    async def _unsubscribe(self, uri: str) -> None:
        self._told.discard(uri)
        try:
            await self._connection.request("resources/unsubscribe", {"uri": uri})
        except StudioError:
            return  # what still comes for it is not counted


class ModernLink(Link):
    """`subscriptions/listen` (2026-07-28): one stream each for lists, resources and tasks."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        connection, limits, on_change = ground.connection, ground.limits, ground.on_change
        self._lists = Listening("lists", connection, limits, on_change=on_change, on_again=ground.on_missed)
        self._resources = Listening("resources", connection, limits, on_change=self._judge, on_again=self._judge)
        self._tasks = Listening("tasks", connection, limits, on_change=on_change, on_again=on_change)
        self._all = (self._lists, self._resources, self._tasks)
        declared = ground.capabilities
        names = [name for capability, name in _FILTERS.items() if _declares(declared, capability, "listChanged")]
        self._lists.want(dict.fromkeys(names, True))

    def want(self, uris: Sequence[str]) -> None:
        """Watch these resources from now on, and no others."""
        super().want(uris)
        self._resources.want({"resourceSubscriptions": list(uris)} if uris else {})

    def want_tasks(self, ids: Sequence[str]) -> None:
        """Listen for these tasks (extension tasks)."""
        self._tasks.want({"taskIds": list(ids)} if ids else {})

    def acknowledge(self, stream: str, honoured: dict[str, Json]) -> None:
        """Take an acknowledgement, which may belong to nothing that was asked here."""
        for listening in self._all:
            listening.acknowledge(stream, honoured)

    def counts(self, stream: str) -> bool:
        """Whether an update on this stream is to be counted: while one replaces another both carry it."""
        return self._resources.current(stream)

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
        stream = self._resources.stream
        agreed = stream.honoured.get("resourceSubscriptions") if stream.honoured is not None else None
        honoured = items_of(agreed)
        asked = cast("list[Json]", stream.asked.get("resourceSubscriptions") or [])
        for uri in self._wanted:
            if stream.state in ("refused", "lost"):
                self._ground.report(uri, stream.state, stream.detail)
            elif stream.state == "waiting" or (stream.state == "opening" and stream.detail):
                self._ground.report(uri, "wanted", stream.detail)
            elif stream.state == "open" and uri in asked and stream.honoured is not None:
                agreed_to = uri in honoured
                why = "" if agreed_to else "the server does not honour it"
                self._ground.report(uri, "active" if agreed_to else "refused", why)
        self._ground.on_change()


def _declares(capabilities: Json, name: str, part: str) -> bool:
    declared = capabilities.get(name) if isinstance(capabilities, dict) else None
    return isinstance(declared, dict) and cast("dict[str, Json]", declared).get(part) is True


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
