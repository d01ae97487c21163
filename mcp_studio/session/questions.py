"""What a server of the handshake era asks during one connection: answered in tasks of their own, within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.events import Asked
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.tasks import related_task
from mcp_studio.protocol.versions import INTERNAL_ERROR, INVALID_REQUEST, USER_REJECTED
from mcp_studio.session import late
from mcp_studio.session.answering import Answerer, Refusal, related
from mcp_studio.session.connection import Connection
from mcp_studio.session.request import Spawn

if TYPE_CHECKING:
    from mcp_studio.session.client_tasks import ClientTasks

_CANCELLED: dict[str, Json] = {"action": "cancel"}
_NO = ("decline", "cancel")
_SPACING = 0.05
"""Seconds between two answers that say no, so that a server which asks at once again cannot drive us."""
_TELLING = 1.0
"""Seconds between two notes of how many requests got no answer."""


class _Question(NamedTuple):
    method: str
    calls: set[RequestId]
    """The calls that were open when it came: it belongs to one of them. None once its answer waits to be sent."""
    task: asyncio.Task[None]


class Questions:
    """The open questions of one connection.

    Args:
        most: how many may be open at a time; more get no answer, and are counted.
        spawn: starts a task that ends with the connection.
        note: puts a line into the trace.
    """

    def __init__(
        self, answerer: Answerer, connection: Connection, most: int, spawn: Spawn, note: Callable[[str], None]
    ) -> None:
        self._answerer = answerer
        self._connection = connection
        self._most = most
        self._spawn = spawn
        self._note = note
        self._tasks: ClientTasks | None = None
        self._open: dict[RequestId, _Question] = {}
        self._dropped = 0
        self._next_no = 0.0
        """When the next answer that says no may leave."""

    def asked(self, event: Asked) -> None:
        """A question came."""
        if len(self._open) < self._most:
            self._begin(event.id, event.method, self._connection.waiting.calls, self._answer(event))
            return
        self._connection.core.ignore(event.id)
        self._dropped += 1
        if self._dropped == 1:
            self._spawn(asyncio.sleep(_TELLING)).add_done_callback(lambda _: self._tell())

    def _tell(self) -> None:
        more = f"{self._most:,} others were open already (limits.server_requests)"
        self._note(f"{self._dropped:,} requests of the server got no answer: {more}")
        self._dropped = 0

    def _begin(self, identity: RequestId, method: str, calls: set[RequestId], work: Coroutine[Any, Any, None]) -> None:
        task = self._spawn(work)
        self._open[identity] = _Question(method, calls, task)
        task.add_done_callback(lambda _: self._forget(identity, task))

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
            no: Json | Refusal = _CANCELLED
            if question.method != "elicitation/create":  # only elicitation has a result that says so
                no = Refusal(USER_REJECTED, "The call that needed it was cancelled")
            self._begin(identity, question.method, set(), self._reply(identity, no))

    def _forget(self, identity: RequestId, task: asyncio.Task[None]) -> None:
        if (question := self._open.get(identity)) and question.task is task:
            del self._open[identity]

    async def _answer(self, event: Asked) -> None:
        def ask() -> Coroutine[Any, Any, Json | Refusal]:
            return self._ask(event)

        tasks = self._own_tasks()
        if event.unwanted:
            answer: Json | Refusal = Refusal(INVALID_REQUEST, event.unwanted)
        elif tasks.takes(event.method, event.params):
            answer = await tasks.answer(event.method, event.params, ask)
        else:
            answer = await ask()
        if identity := related_task(event.params):
            answer = related(answer, identity)
        if question := self._open.get(event.id):
            question.calls.clear()
        await self._reply(event.id, answer)

    async def _reply(self, identity: RequestId, answer: Json | Refusal) -> None:
        if isinstance(answer, Refusal) or mapping(answer).get("action") in _NO:
            now = asyncio.get_running_loop().time()
            turn = max(self._next_no, now)
            self._next_no = turn + _SPACING
            await asyncio.sleep(turn - now)
        if isinstance(answer, Refusal):
            self._connection.refuse(identity, answer.code, answer.message)
        else:
            self._connection.respond(identity, answer)

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
