"""What a tool works with: the shop, the audience, and the way back to the client, the same for both eras."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolRequestParams,
    ClientCapabilities,
    CreateMessageRequest,
    ElicitRequest,
    InputRequiredResult,
    ListRootsRequest,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from mcp_studio.servers.demo.shop import Shop

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


LEVELS: tuple[LoggingLevel, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Least severe first."""

Question = ElicitRequest | CreateMessageRequest | ListRootsRequest
AnswerT = TypeVar("AnswerT", bound=BaseModel)


class ToolTrouble(Exception):
    """The tool cannot do that; the sentence becomes an `isError` result."""


class InputWanted(Exception):
    """The client has to answer first; `result` says what (2026-07-28, input_required)."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("input required")
        self.result = result


@dataclass
class Turn:
    """One run of one tool."""

    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    shop: Shop
    audience: Audience

    @property
    def modern(self) -> bool:
        """The client speaks 2026-07-28 or later."""
        return self.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def capabilities(self) -> ClientCapabilities:
        """What the client says that it can do."""
        return self.ctx.session.client_capabilities or ClientCapabilities()

    async def progress(self, done: float, total: float | None, message: str) -> None:
        """Report progress, if the client asked for it."""
        await self.ctx.session.report_progress(done, total, message)

    async def log(self, level: LoggingLevel, data: Any) -> bool:
        """Send a log message on this call's stream; False if the client does not want this level.

        Up to 2025-11-25 `logging/setLevel` decides, later the request's own `logLevel` (server/utilities/logging).
        """
        wanted = self._wanted_level()
        if wanted is None or LEVELS.index(level) < LEVELS.index(wanted):
            return False
        params = LoggingMessageNotificationParams(level=level, data=data, logger="bookshop")
        await self.ctx.session.send_notification(LoggingMessageNotification(params=params), self.ctx.request_id)
        return True

    def _wanted_level(self) -> LoggingLevel | None:
        if not self.modern:
            return self.audience.listener(self.ctx).level
        wanted = (self.ctx.meta or {}).get("io.modelcontextprotocol/logLevel")
        return wanted if wanted in LEVELS else None

    async def ask(self, key: str, question: Question, answer: type[AnswerT]) -> AnswerT:
        """Ask the client and return its answer.

        Up to 2025-11-25 this is a request to the client. Later it ends the call with `input_required`; the client
        calls again with the answer, and the tool runs again from its start (2026-07-28, multi-round-trip requests).
        So a tool asks before it changes anything. `key` tells the questions of one tool apart.

        Raises:
            ToolTrouble: there is no way to ask over this connection.
            InputWanted: the answer is not there yet.
        """
        if self.modern:
            given = self._given()
            if key in given:
                return answer.model_validate(given[key])
            state = json.dumps(given) if given else None
            raise InputWanted(InputRequiredResult(input_requests={key: question}, request_state=state))
        if not self.ctx.session.can_send_request:
            raise ToolTrouble("This connection has no way for the server to ask (a stateless HTTP session).")
        metadata = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        return await self.ctx.session.send_request(question, answer, metadata=metadata)

    def _given(self) -> dict[str, Any]:
        """Answers so far: those of earlier rounds come back in the sealed state, the newest as they are."""
        raw = self.ctx.params or {}
        earlier = json.loads(self.params.request_state) if self.params.request_state else {}
        return {**earlier, **(raw.get("inputResponses") or {})}
