"""What a tool works with: the shop, the audience, and the way back to the client, the same for both eras."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
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
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from mcp_studio.servers.demo.audience import Audience
from mcp_studio.servers.demo.shop import Shop

LEVELS: tuple[LoggingLevel, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)
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
