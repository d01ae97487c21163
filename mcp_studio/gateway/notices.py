"""Notifications of changed lists and resources, sent to the clients that want them, each at its own pace."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, SubscriptionsListenRequestParams, SubscriptionsListenResult

from mcp_studio.catalog.listing import EntryKind
from mcp_studio.gateway.clients import Client, Session
from mcp_studio.gateway.exchange import Context
from mcp_studio.gateway.gateway import Gateway
from mcp_studio.session.subscriptions import Subscription

_PAUSE = 0.2
"""Seconds in which changes of lists are gathered, because a starting server sends several."""
_PATIENCE = 30.0
"""Seconds for sending one notification to a client that does not read."""
_WATCHED = 200
"""Resources that one session may watch."""
_LISTS: dict[EntryKind, str] = {"tool": "tool", "prompt": "prompt", "resource": "resource", "template": "resource"}
_EVENTS = {"tool": ToolsListChanged, "prompt": PromptsListChanged, "resource": ResourcesListChanged}


class Notices:
    """Notifies sessions of the handshake era, and streams of `subscriptions/listen`."""

    def __init__(self, gateway: Gateway, kinds: Iterable[EntryKind]) -> None:
        self._gateway = gateway
        self._kinds = tuple(kinds)
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._watched: Counter[tuple[str, str]] = Counter()
        self._changed: set[str] = set()
        gateway.studio.catalog.changed.connect(lambda changed: self._list_changed(changed[1]))
        gateway.studio.subscriptions.updated.connect(self._updated)

    # ------------------------------------------------------------------ wishes

    def subscribe(self, session: Session, uri: str, wanted: bool) -> None:
        """Handle `resources/subscribe` or `resources/unsubscribe` of a client of the handshake era.

        Raises:
            MCPError: the client sees no such resource, or it watches too many.
        """
        key = self._place(session.client, uri)
        if wanted == (key in session.watched):
            return
        if wanted and len(session.watched) >= _WATCHED:
            raise MCPError(INVALID_PARAMS, f"More than {_WATCHED} resources are watched.")
        session.watched ^= {key}
        self._watch(key, 1 if wanted else -1)

    def forget(self, session: Session) -> None:
        """Stop watching for a session that has ended."""
        while session.watched:
            self._watch(session.watched.pop(), -1)

    async def listen(self, ctx: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Serve one stream until its client leaves (2026-07-28)."""
        client, uris = self._gateway.client_of(ctx), params.notifications.resource_subscriptions or []
        keys = [self._place(client, uri) for uri in uris[:_WATCHED]]
        for key in keys:
            self._watch(key, 1)
        try:
            return await self._streams(ctx, params)
        finally:
            for key in keys:
                self._watch(key, -1)

    def _place(self, client: Client, uri: str) -> tuple[str, str]:
        ref = self._gateway.directory.resource(uri)
        if ref is None or not client.sees(ref):
            raise MCPError(INVALID_PARAMS, "There is no such resource, or several servers have it.", {"uri": uri})
        return ref.server, ref.name

    def _watch(self, key: tuple[str, str], change: int) -> None:
        self._watched[key] += change
        subscriptions = self._gateway.studio.subscriptions
        if self._watched[key] > 0:
            subscriptions.watch(*key)
        else:
            del self._watched[key]
            subscriptions.unwatch(*key)

    # ------------------------------------------------------------------ changes

    def _list_changed(self, kind: EntryKind) -> None:
        if kind not in self._kinds:
            return
        if not self._changed:
            asyncio.get_running_loop().call_later(_PAUSE, self._tell_lists)
        self._changed.add(_LISTS[kind])

    def _tell_lists(self) -> None:
        lists, self._changed = self._changed, set()
        for word in sorted(lists):
            self._gateway.studio.spawn(self._bus.publish(_EVENTS[word]()))
            for session in self._gateway.sessions.all:
                self._tell(session, (word, ""))

    def _updated(self, one: Subscription) -> None:
        key = (one.server, one.uri)
        if not self._watched[key]:
            return
        uri = self._gateway.directory.address(*key)
        self._gateway.studio.spawn(self._bus.publish(ResourceUpdated(uri)))
        for session in self._gateway.sessions.all:
            if key in session.watched:
                self._tell(session, ("updated", uri))

    def _tell(self, session: Session, notice: tuple[str, str]) -> None:
        """Queue a notification for a session; one that is already waiting is sent only once."""
        session.news.add(notice)
        if not session.telling:
            session.telling = True
            self._gateway.studio.spawn(self._tell_all(session))

    async def _tell_all(self, session: Session) -> None:
        channel = session.channel
        try:
            with suppress(TimeoutError):
                while session.news:
                    what, uri = session.news.pop()
                    async with asyncio.timeout(_PATIENCE):
                        if what == "updated":
                            await channel.send_resource_updated(uri)
                        else:
                            await getattr(channel, f"send_{what}_list_changed")()
        finally:
            session.telling = False
