"""What servers and the studio ask of a person: one queue, several kinds of answerer."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json
from mcp_studio.signal import Signal

Action = Literal["accept", "decline", "cancel"]
"""The three answers of the specification (client/elicitation); for an approval accept means run."""


class Answer(NamedTuple):
    """What was answered: `content` is the value for an accepted elicitation."""

    action: Action
    content: Json = None


@dataclass(eq=False, slots=True)
class InputRequest:
    """One question, carrying the slot for its answer."""

    kind: Literal["elicitation", "approval"]
    server: str
    message: str
    schema: Json = None
    """The requested schema of a form."""
    subject: str = ""
    """The call it belongs to (`server.tool`), where that is known."""
    arguments: Json = None
    """For an approval: what would be sent."""
    reasons: tuple[str, ...] = ()
    """For an approval: why it is asked."""
    draft: Json = None
    """What the person had typed when they put it off."""
    number: int = field(default_factory=itertools.count(1).__next__)
    asked: float = field(default_factory=time.monotonic)
    reply: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def answer(self, action: Action, content: Json = None) -> None:
        """Settle it; a second answer is ignored."""
        if not self.reply.done():
            self.reply.set_result(Answer(action, content))


class Inbox:
    """All open questions, oldest first. `changed` fires when one comes, is answered, or is withdrawn."""

    def __init__(self) -> None:
        self.changed: Signal[InputRequest] = Signal()
        self._open: list[InputRequest] = []

    @property
    def pending(self) -> tuple[InputRequest, ...]:
        """The open questions, oldest first."""
        return tuple(self._open)

    async def ask(self, request: InputRequest) -> Answer:
        """Queue a question and wait for its answer; cancelling the waiter withdraws the question."""
        self._open.append(request)
        self.changed.emit(request)
        try:
            return await request.reply
        finally:
            self._open.remove(request)
            self.changed.emit(request)
