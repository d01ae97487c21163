"""What a server of the handshake era asks during one connection: answered in tasks of their own, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.protocol.events import Asked
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.tasks import related_task
from mcp_studio.protocol.versions import INTERNAL_ERROR, USER_REJECTED
from mcp_studio.session import late
from mcp_studio.session.answering import Answerer, Refusal, related
from mcp_studio.session.connection import Connection
from mcp_studio.session.request import Spawn

if TYPE_CHECKING:
    from mcp_studio.session.client_tasks import ClientTasks

_CANCELLED: dict[str, Json] = {"action": "cancel"}


class _Question(NamedTuple):
    method: str
    calls: set[RequestId]
    """The calls that were open when it came: it belongs to one of them."""
    task: asyncio.Task[None]


class Questions:
    """The open questions of one connection.

    Args:
        most: how many may be open at a time; more are refused.
        spawn: starts a task that ends with the connection.
    """

    def __init__(self, answerer: Answerer, connection: Connection, most: int, spawn: Spawn) -> None:
        self._answerer = answerer
        self._connection = connection
        self._most = most
        self._spawn = spawn
        self._tasks: ClientTasks | None = None
        self._open: dict[RequestId, _Question] = {}

    def asked(self, event: Asked) -> None:
        """A question came."""
        if len(self._open) >= self._most:
            message = f"Too many open requests ({self._most})"
            self._connection.refuse(event.id, INTERNAL_ERROR, message)
            return
        task = self._spawn(self._answer(event))
        self._open[event.id] = _Question(event.method, self._connection.waiting.calls, task)
        task.add_done_callback(lambda _: self._forget(event.id, task))

    def withdrawn(self, identity: RequestId) -> None:
        """The server no longer wants an answer."""
        if question := self._open.get(identity):
            question.task.cancel()

    def given_up(self, call: RequestId) -> None:
        """Nobody waits for a call any more: neither for what was asked on its behalf alone."""
        if self._tasks is not None:
            self._tasks.given_up(call)
        for identity, question in tuple(self._open.items()):
            if call not in question.calls:
                continue
            question.calls.discard(call)
            if question.calls:
                continue
            question.task.cancel()
            if question.method == "elicitation/create":
                self._connection.respond(identity, _CANCELLED)
            else:  # only elicitation has a result that says so
                self._connection.refuse(identity, USER_REJECTED, "The call that needed it was cancelled")

    def _forget(self, identity: RequestId, task: asyncio.Task[None]) -> None:
        if (question := self._open.get(identity)) and question.task is task:
            del self._open[identity]

    async def _answer(self, event: Asked) -> None:
        def ask() -> Coroutine[Any, Any, Json | Refusal]:
            return self._ask(event)

        tasks = self._own_tasks()
        is_task = tasks.takes(event.method, event.params)
        answer = await (tasks.answer(event.method, event.params, ask) if is_task else ask())
        if identity := related_task(event.params):
            answer = related(answer, identity)
        if isinstance(answer, Refusal):
            self._connection.refuse(event.id, answer.code, answer.message)
        else:
            self._connection.respond(event.id, answer)

    def _own_tasks(self) -> ClientTasks:
        if self._tasks is None:
            answerer = self._answerer
            self._tasks = late.client_tasks(self._connection, lambda: answerer.capabilities, self._most, self._spawn)
        return self._tasks

    async def _ask(self, event: Asked) -> Json | Refusal:
        self._connection.waiting.pause()
        try:
            subject = self._answerer.task_subjects.get(related_task(event.params), "")
            return await self._answerer.answer(event.method, event.params, subject)
        except StudioError as error:
            return Refusal(INTERNAL_ERROR, error.message)
        finally:
            self._connection.waiting.resume()
