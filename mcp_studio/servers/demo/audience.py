"""Who hears about changes: streams of 2026-07-28 clients, and the sessions of older ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
)
from mcp_types import LoggingLevel, SubscriptionsListenRequestParams, SubscriptionsListenResult

MAX_SESSIONS = 32
"""Older sessions that are remembered over HTTP; the oldest is forgotten first."""


@dataclass(eq=False)
class Listener:
    """One session of a client before 2026-07-28."""

    session: ServerSession
    uris: set[str] = field(default_factory=set[str])
    """Resources that it subscribed to."""
    level: LoggingLevel = "debug"
    """The least severe log message it wants (logging/setLevel)."""


class Audience:
    """Everybody who is connected, and what each wants to hear."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._listeners: list[Listener] = []
        self._watched: dict[str, int] = {}
        self._someone = anyio.Event()

    def listener(self, ctx: ServerRequestContext[Any, Any]) -> Listener:
        """The remembered session that a request of an older client belongs to."""
        # Each request has its own ServerSession; the parameters of `initialize` are one object per connection.
        for known in self._listeners:
            if known.session.client_params is ctx.session.client_params:
                return known
        if len(self._listeners) == MAX_SESSIONS:
            for uri in self._listeners.pop(0).uris:
                self._watch(uri, -1)
        self._listeners.append(Listener(ctx.session))
        return self._listeners[-1]

    async def listen(
        self, ctx: ServerRequestContext[Any, Any], params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one `subscriptions/listen` stream until the client leaves (2026-07-28)."""
        uris = params.notifications.resource_subscriptions or []
        for uri in uris:
            self._watch(uri, 1)
        try:
            return await self._streams(ctx, params)
        finally:
            for uri in uris:
                self._watch(uri, -1)

    def subscribe(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """`resources/subscribe` of an older client."""
        uris = self.listener(ctx).uris
        if uri not in uris:
            uris.add(uri)
            self._watch(uri, 1)

    def unsubscribe(self, ctx: ServerRequestContext[Any, Any], uri: str) -> None:
        """`resources/unsubscribe` of an older client."""
        uris = self.listener(ctx).uris
        if uri in uris:
            uris.remove(uri)
            self._watch(uri, -1)

    def _watch(self, uri: str, change: int) -> None:
        self._watched[uri] = self._watched.get(uri, 0) + change
        self._someone.set()
        self._someone = anyio.Event()

    async def until_watched(self, uri: str) -> None:
        """Return as soon as anybody is subscribed to a resource."""
        while self._watched.get(uri, 0) <= 0:
            await self._someone.wait()

    async def tell(self, event: ServerEvent) -> None:
        """Send a change to everybody who wants to hear of it; a client that has left raises nothing."""
        await self._bus.publish(event)
        for listener in list(self._listeners):
            if isinstance(event, ResourceUpdated):
                if event.uri in listener.uris:
                    await listener.session.send_resource_updated(event.uri)
            elif isinstance(event, ResourcesListChanged):
                await listener.session.send_resource_list_changed()
            elif isinstance(event, PromptsListChanged):
                await listener.session.send_prompt_list_changed()
            else:
                await listener.session.send_tool_list_changed()
