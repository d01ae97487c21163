"""Sending one call over its connection: headers, rounds of input, pages that have to be opened, tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.call import Call, CallOutcome, Cancelled, Ended, InBackground, Lost, TimedOut, outcome_of
from mcp_studio.catalog.listing import fetch
from mcp_studio.catalog.refresh import asker
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Answered, Refused, RequestId
from mcp_studio.protocol.tasks import TaskKind, created_task, support_of
from mcp_studio.protocol.versions import HEADER_MISMATCH
from mcp_studio.protocol.views import ToolView, param_headers
from mcp_studio.session.connection import Connection, Deadline, Reply, limit_of
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.server_requests import drive, with_pages
from mcp_studio.session.state import Status
from mcp_studio.session.supervisor import Supervisor
from mcp_studio.session.task_manager import Tasks, unreachable
from mcp_studio.session.tasks import Task
from mcp_studio.transport.http_errors import SessionLost

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


Headers = tuple[tuple[str, str], ...]


class Sender:
    """Sends calls and drives them to their answer."""

    def __init__(self, manager: ConnectionManager, tasked: TaskCalls, limits: Limits) -> None:
        self._manager = manager
        self._tasked = tasked
        self._limits = limits

    async def send(self, call: Call, tool: ToolView | None) -> Reply:
        """The answer of the last round.

        A server that turned it away because it no longer knows the session has done nothing of it: it is sent once
        more, in the session that begins then (specification 2025-11-25, basic/transports, Session Management).

        Raises:
            StudioError, Ended: why there is none.
        """
        try:
            return await self._send(call, tool)
        except SessionLost as error:
            if call.answered or error.http is None or not error.http.refused:
                raise
            call.sent, call.sendings = False, 0
        return await self._send(call, tool)

    async def _send(self, call: Call, tool: ToolView | None) -> Reply:
        connection = await self._manager.ready(call.ref.server)
        supervisor = self._manager.supervisor(call.ref.server)
        if not supervisor.calls:
            supervisor.answerer.call_began()
        supervisor.calls.append(call.subject)
        try:
            return await _Sending(call, tool, supervisor, connection, self._manager, self._limits).run(self._tasked)
        finally:
            supervisor.calls.remove(call.subject)


class _Sending:
    """One call on its way."""

    def __init__(
        self,
        call: Call,
        tool: ToolView | None,
        supervisor: Supervisor,
        connection: Connection,
        manager: ConnectionManager,
        limits: Limits,
    ) -> None:
        self._call = call
        self._supervisor = supervisor
        self._connection = connection
        self._manager = manager
        self._limits = limits
        self._earlier: RequestId | None = None
        self._mirrors = tool is not None and connection.core.modern and supervisor.config.kind == "http"
        self._headers = self._headers_for(tool)
        self._as_task = task_params(supervisor.status, tool, call.wants_task, call.ttl)

    async def run(self, tasked: TaskCalls) -> Reply:
        """Through all rounds, and to the end of the task that it may become."""
        call, connection, answerer = self._call, self._connection, self._supervisor.answerer
        if connection.core.modern:
            reply = await drive(call.params, self._send, answerer, self._limits, call.subject, connection.ended)
        else:
            reply = await with_pages(
                lambda: self._send(call.params), connection, answerer, self._limits, call.subject, self._asking
            )
        held = task_in(reply, connection, self._as_task)
        return reply if held is None else await tasked.finish(call, held, connection)

    async def _send(self, params: dict[str, Json]) -> Reply:
        reply = await self._once(params)
        if self._mirrors and isinstance(reply.event, Refused) and reply.event.code == HEADER_MISMATCH:
            headers = await self._listed_anew()
            if headers is not None and headers != self._headers:
                self._headers = headers
                reply = await self._once(params)
        return reply

    async def _once(self, params: dict[str, Json]) -> Reply:
        call = self._call
        reply = await self._connection.request(
            call.method, {**params, **self._as_task} if self._as_task else params,
            deadline=self._connection.deadline(call.timeouts), follows=self._earlier, headers=self._headers,
            on_progress=call.on_progress, on_sent=call.on_sent, on_id=call.on_id,
        )  # fmt: skip
        self._earlier = reply.request_id
        call.answered = True
        return reply

    async def _listed_anew(self) -> Headers | None:
        """The headers that the tool wants now: its definition has changed since it was listed (-32020, 2026-07-28)."""
        number = self._supervisor.tap.number_of(self._earlier)
        found = await fetch("tool", asker(self._connection, number), self._limits)
        self._manager.refresh(self._call.ref.server)
        for item in found.items:
            if isinstance(item, dict) and item.get("name") == self._call.ref.name:
                return self._headers_for(ToolView(item))
        return None

    def _headers_for(self, tool: ToolView | None) -> Headers:
        if tool is None or not self._mirrors:
            return ()
        return param_headers(tool.input_schema, cast("dict[str, Json]", self._call.params["arguments"]))

    def _asking(self, now: bool) -> None:
        self._call.asking = now
        self._call.changed.emit(self._call)
