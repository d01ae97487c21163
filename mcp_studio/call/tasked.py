"""Calls that a server turns into tasks: asked for so, and waited for until the task is done."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.call import Call, outcome_of
from mcp_studio.call.ended import Ended
from mcp_studio.call.outcome import CallOutcome, Cancelled, InBackground, Lost, TimedOut
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Answered, Refused
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.protocol.tasks import TaskKind, created_task, support_of
from mcp_studio.protocol.views import ToolView
from mcp_studio.session.connection import Connection, Reply
from mcp_studio.session.deadline import Deadline, limit_of
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.state import Status
from mcp_studio.session.task_listing import unreachable
from mcp_studio.session.tasking import Tasks
from mcp_studio.session.tasks import Task

_CANCELLING = 2.0
"""Seconds for telling the server that a task is not wanted any more."""


def task_params(status: Status, tool: ToolView | None, wanted: bool, ttl: float | None) -> dict[str, Json]:
    """What goes into a tool call so that it becomes a task: nothing, or `task` (2025-11-25, tasks).

    A tool whose `taskSupport` is `required` is always called so, an `optional` one where it is wanted.

    Args:
        ttl: seconds for which the server is asked to keep the result; None leaves it to the server.
    """
    if tool is None:
        return {}
    support = support_of(tool.raw, status.version, status.capabilities)
    if support == "required" or (support == "optional" and wanted):
        return {"task": {} if ttl is None else {"ttl": round(ttl * 1000)}}
    return {}


class Held(NamedTuple):
    """An answer that holds a task in the place of a result."""

    kind: TaskKind
    raw: Json
    request_id: RequestId


def task_in(reply: Reply, connection: Connection, asked: Mapping[str, Json]) -> Held | None:
    """The task in an answer; None where it is a result, or none at all."""
    if not isinstance(reply.event, Answered) or reply.event.problems:
        return None
    kind: TaskKind = "extension" if connection.core.modern else "core"
    if kind == "core" and "task" not in asked:
        return None
    raw = created_task(reply.event.result, kind)
    return None if raw is None else Held(kind, raw, reply.request_id)


class TaskCalls:
    """Waits for tasks in the place of calls."""

    def __init__(self, tasks: Tasks, manager: ConnectionManager, limits: Limits) -> None:
        self._tasks = tasks
        self._manager = manager
        self._limits = limits

    async def finish(self, call: Call, held: Held, connection: Connection) -> Reply:
        """The answer that the task ends with, as if the call itself had been answered with it.

        Cancelling the caller cancels the task.

        Raises:
            Ended: it was cancelled, let go of, lost, or took too long.
            ProtocolError: the server gave no task id.
        """
        ref = call.ref
        task = self._tasks.begin(
            ref.server, held.kind, held.raw, ref=ref, arguments=call.params.get("arguments"), method=call.method,
            number=self._manager.supervisor(ref.server).tap.number_of(held.request_id),
        )  # fmt: skip
        total = limit_of("total", self._limits.call_total, "limits.call_total", call.timeouts, connection.timeouts)
        deadline = Deadline(total, total, self._limits.call_longest)
        core = held.kind == "core"
        try:
            with connection.waiting.lasting(held.request_id, call.on_progress, deadline) if core else nullcontext():
                async with deadline.scope:
                    return _reply(await self._wait(call, task, deadline))
        except TimeoutError:
            raise Ended(TimedOut(limit=f"{deadline.limit}; the task goes on at the server")) from None
        except asyncio.CancelledError:
            await self._cancel(task)
            raise

    async def _wait(self, call: Call, task: Task, deadline: Deadline) -> Task:
        news = asyncio.Event()
        ends = [signal.connect(lambda _: news.set()) for signal in (self._tasks.changed, self._tasks.removed)]
        ends.append(self._manager.changed.connect(lambda _: news.set()))
        ends.append(call.left.connect(lambda _: news.set()))
        try:
            while True:
                now = self._tasks.get(*task.key)
                if now is None:
                    raise Ended(Lost(error=StudioError("The task was removed from the list here."), sent=True))
                call.on_task(now)
                if now.done:
                    return now
                if call.let_go:
                    raise Ended(InBackground(task=task.id))
                if reason := unreachable(self._manager, task.server):
                    raise Ended(Lost(error=reason, sent=True))
                if now.kind == "extension" and now.asking != deadline.paused:
                    (deadline.pause if now.asking else deadline.resume)()
                news.clear()
                await news.wait()
        finally:
            for end in ends:
                end()

    async def _cancel(self, task: Task) -> None:
        """Nobody waits any more: tell the server, in a bounded time, even while we are cancelled ourselves."""
        telling = asyncio.get_running_loop().create_task(self._tasks.cancel_noting(*task.key))
        await asyncio.wait((telling,), timeout=_CANCELLING)


def outcome_of_task(task: Task) -> CallOutcome:
    """What a call that became this task would have ended with; the task has to be done."""
    ms = (task.steps[-1].at - task.started) * 1000 if task.steps else 0.0
    try:
        outcome = outcome_of(task.method, _reply(task), ms)
    except Ended as ended:
        outcome = replace(ended.outcome, ms=ms)
    return replace(outcome, problems=(*outcome.problems, *task.problems))


def _reply(task: Task) -> Reply:
    """What the call would have been answered with.

    Raises:
        Ended: there is no such answer.
    """
    request = task.request_id if task.request_id is not None else 0
    if task.gone and not task.ended:
        raise Ended(Lost(error=ProtocolError(task.gone), sent=True))
    if task.error is not None:
        error = task.error
        return Reply(Refused(request, error.code, error.message, error.data), task.size, request)
    if task.has_result:
        problems = () if isinstance(task.result, dict) else ("The result is not an object.",)
        return Reply(Answered(request, cast("Json", task.result), problems), task.size, request)
    if task.status == "cancelled":
        raise Ended(Cancelled())
    raise Ended(Lost(error=ProtocolError(task.gone or "The task ended without a result."), sent=True))
