"""How one connected server is told what is watched: by requests in the handshake era, by streams in the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, NamedTuple, cast

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, items_of
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.session.connection import Connection, DeadlinePassed
from mcp_studio.session.listening import Listening, Stream

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
