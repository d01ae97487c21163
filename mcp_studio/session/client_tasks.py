"""Questions of a server that we answer as tasks of our own (specification 2025-11-25, basic/utilities/tasks).

The server asks with `task` among the parameters, gets a task at once, asks for it as we ask for tasks of its, and
fetches the person's answer when there is one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import field
from datetime import UTC, datetime
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.tasks import ENDED, TaskStatus, has
from mcp_studio.protocol.versions import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, at_least
from mcp_studio.record import record
from mcp_studio.session.answering import Refusal, related
from mcp_studio.session.connection import Connection
from mcp_studio.session.request import Spawn

_TTL = 3_600.0
"""Seconds for which an answer is kept where the server wishes nothing, and at most."""
_POLL = 1_000
"""Milliseconds between two questions that we wish."""
_REQUESTS = {"elicitation/create": ("elicitation", "create"), "sampling/createMessage": ("sampling", "createMessage")}
_WAITING = "Waiting for a person to answer."

Ask = Callable[[], Awaitable[Json | Refusal]]


@record(eq=False)
class _Mine:
    """One question that became a task."""

    ttl: float
    calls: set[RequestId]
    """The calls that were open when it came: it belongs to one of them."""
    id: str = field(default_factory=lambda: os.urandom(16).hex())
    created: float = field(default_factory=time.time)
    updated: float = field(default_factory=time.time)
    status: TaskStatus = "working"
    message: str = _WAITING
    answer: Json | Refusal = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    doing: asyncio.Task[None] | None = None

    @property
    def shape(self) -> dict[str, Json]:
        """It on the wire."""
        return {
            "taskId": self.id, "status": self.status, "statusMessage": self.message, "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(self.updated), "ttl": round(self.ttl * 1000), "pollInterval": _POLL,
        }  # fmt: skip


class ClientTasks:
    """The tasks of one connection; they end with it.

    Args:
        declared: gives the capabilities that we have declared.
        most: tasks that are kept at a time; more are refused.
        spawn: starts a task that ends with the connection.
    """

    def __init__(self, connection: Connection, declared: Callable[[], Json], most: int, spawn: Spawn) -> None:
        self._connection = connection
        self._declared = declared
        self._most = most
        self._spawn = spawn
        self._mine: dict[str, _Mine] = {}

    def takes(self, method: str, params: dict[str, Json]) -> bool:
        """Whether it is for us: about a task, or a question that is to become one.

        A request that we have not declared for tasks is answered as if it did not ask for one.
        """
        if not at_least(self._connection.core.version, "2025-11-25"):
            return False
        if method in ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel"):
            return has(self._declared(), "tasks")
        return isinstance(params.get("task"), dict) and has(
            self._declared(), "tasks", "requests", *_REQUESTS.get(method, ("", ""))
        )

    async def answer(self, method: str, params: dict[str, Json], ask: Ask) -> Json | Refusal:
        """The result to send back, or the refusal; `ask` puts the question."""
        self._sweep()
        if method in _REQUESTS:
            return self._create(params, ask)
        if method == "tasks/list":
            return {"tasks": [cast("Json", mine.shape) for mine in self._mine.values()]}
        mine = self._mine.get(str(params.get("taskId", "")))
        if mine is None:
            return Refusal(INVALID_PARAMS, "Failed to retrieve task: Task not found")
        match method:
            case "tasks/get":
                return mine.shape
            case "tasks/result":
                await mine.ended.wait()
                return _payload(mine)
            case "tasks/cancel":
                return self._cancel(mine)
            case _:
                return Refusal(METHOD_NOT_FOUND, "Method not found")

    def given_up(self, call: RequestId) -> None:
        """Nobody waits for a call any more: neither for what was asked on its behalf alone."""
        for mine in tuple(self._mine.values()):
            if call in mine.calls and mine.status not in ENDED:
                mine.calls.discard(call)
                if not mine.calls:
                    self._cancel(mine)

    def _create(self, params: dict[str, Json], ask: Ask) -> Json | Refusal:
        if len(self._mine) >= self._most:
            return Refusal(INTERNAL_ERROR, f"Too many tasks ({self._most})")
        wish = cast("dict[str, Json]", params["task"]).get("ttl")
        ttl = _TTL
        if isinstance(wish, (int, float)) and not isinstance(wish, bool) and wish > 0:
            ttl = min(wish, _TTL * 1000) / 1000
        mine = _Mine(ttl, self._connection.waiting.calls)
        self._mine[mine.id] = mine
        mine.doing = self._spawn(self._do(mine, ask))
        return {"task": mine.shape}

    async def _do(self, mine: _Mine, ask: Ask) -> None:
        try:
            async with asyncio.timeout(mine.ttl):
                answer = await ask()
        except TimeoutError:
            self._end(mine, "failed", "Nobody answered within its time to live.")
            mine.answer = Refusal(INTERNAL_ERROR, mine.message)
            return
        mine.answer = answer
        if isinstance(answer, Refusal):
            self._end(mine, "failed", answer.message)
        else:
            self._end(mine, "completed", "Answered.")

    def _cancel(self, mine: _Mine) -> Json | Refusal:
        if mine.status in ENDED:
            return Refusal(INVALID_PARAMS, f"Cannot cancel task: already in terminal status '{mine.status}'")
        mine.answer = Refusal(INTERNAL_ERROR, "The task was cancelled")
        self._end(mine, "cancelled", "Cancelled.")
        if mine.doing is not None:
            mine.doing.cancel()
        return mine.shape

    def _end(self, mine: _Mine, status: TaskStatus, message: str) -> None:
        mine.status, mine.message, mine.updated = status, message, time.time()
        mine.ended.set()
        self._connection.notify("notifications/tasks/status", mine.shape)

    def _sweep(self) -> None:
        """Forget what has outlived its time."""
        now = time.time()
        for mine in tuple(self._mine.values()):
            if mine.status in ENDED and now > mine.created + mine.ttl:
                del self._mine[mine.id]


def _payload(mine: _Mine) -> Json | Refusal:
    """The answer that the question would have got, marked as belonging to the task."""
    return related(mine.answer, mine.id)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
