"""Answering what a server asks, within bounds, through the inbox."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.versions import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_studio.session.inbox import Inbox, InputRequest

CAPABILITIES: dict[str, Json] = {"elicitation": {"form": {}}}
"""What a front end that can ask a person advertises; nothing that nobody answers."""


class Refusal(NamedTuple):
    """A question that is answered with a JSON-RPC error."""

    code: int
    message: str


class Answerer:
    """Answers the questions of one server.

    Args:
        can_ask: whether a person can be asked at all.
        subject: names the call that is most likely meant, for the dialog.
    """

    def __init__(self, server: str, inbox: Inbox, limits: Limits, can_ask: bool, subject: Callable[[], str]) -> None:
        self._server = server
        self._inbox = inbox
        self._limits = limits
        self._can_ask = can_ask
        self._subject = subject
        self._open = 0
        self._recent: deque[float] = deque()

    @property
    def capabilities(self) -> dict[str, Json]:
        """What we say that we can do."""
        return CAPABILITIES if self._can_ask else {}

    async def answer(self, method: str, params: dict[str, Json], subject: str = "") -> Json | Refusal:
        """The result to send back, or the refusal."""
        if method != "elicitation/create" or not self._can_ask:
            return Refusal(METHOD_NOT_FOUND, f"This client does not offer {method}")
        if params.get("mode", "form") != "form":
            return Refusal(INVALID_PARAMS, "This client offers form elicitation only")
        schema = params.get("requestedSchema")
        if not isinstance(schema, dict):
            return Refusal(INVALID_PARAMS, "requestedSchema must be an object")
        if refusal := self._bounded():
            return refusal
        message = params.get("message")
        question = InputRequest(
            "elicitation", self._server, message if isinstance(message, str) else "",
            schema=cast("Json", schema), subject=subject or self._subject(),
        )  # fmt: skip
        self._open += 1
        try:
            given = await self._inbox.ask(question)
        finally:
            self._open -= 1
        if given.action == "accept":
            return {"action": "accept", "content": given.content if given.content is not None else {}}
        return {"action": given.action}

    def _bounded(self) -> Refusal | None:
        """Specification, client/elicitation: clients should rate-limit; safety: a person is not to be flooded."""
        now = time.monotonic()
        while self._recent and now - self._recent[0] > 60:
            self._recent.popleft()
        if self._open >= self._limits.prompts:
            return Refusal(INTERNAL_ERROR, f"Too many questions are open ({self._limits.prompts})")
        if len(self._recent) >= self._limits.prompts_minute:
            return Refusal(INTERNAL_ERROR, f"Too many questions within a minute ({self._limits.prompts_minute})")
        self._recent.append(now)
        return None
