"""Sending one call over its connection: headers, rounds of input, pages that have to be opened, tasks."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import cast

from mcp_studio.call.call import Call, CallOutcome, Cancelled, Ended, InBackground, Lost, TimedOut, outcome_of
from mcp_studio.catalog.listing import METHODS, fetch_all
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.events import Answered, Refused
from mcp_studio.protocol.tasks import TaskKind, created_task, support_of
from mcp_studio.protocol.versions import HEADER_MISMATCH
from mcp_studio.protocol.views import ToolView, param_headers
from mcp_studio.session.connection import Connection, Deadline, Reply, asker, limit_of
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.server_requests import drive, opened_pages
from mcp_studio.session.state import at_most, until
from mcp_studio.session.task_manager import TaskManager, unreachable
from mcp_studio.session.tasks import Task
from mcp_studio.trace.postmortem import Mortem
from mcp_studio.transport.http_errors import SessionLost

_CANCELLING = 2.0
"""Seconds for telling the server that a task is not wanted any more."""
_TOGETHER = 10.0
"""Seconds between the end of a call and that of its connection, at most."""


async def send(manager: ConnectionManager, tasks: TaskManager, call: Call, tool: ToolView | None) -> Reply:
    """Send a call and drive it to the answer of its last round.

    A server that turned it away because it no longer knows the session has done nothing of it: it is sent once
    more, in the session that begins then (specification 2025-11-25, basic/transports, Session Management).

    Raises:
        StudioError, Ended: why there is none.
    """
    try:
        patience = call.patience if call.replaceable() else None
        return await _Sending(manager, tasks, call, await manager.ready(call.ref.server, patience)).run(tool)
    except SessionLost as error:
        if call.answered or error.http is None or not error.http.refused:
            raise
        call.sendings = 0
    return await _Sending(manager, tasks, call, await manager.ready(call.ref.server)).run(tool)


class _Sending:
    """One call on one connection."""

    def __init__(self, manager: ConnectionManager, tasks: TaskManager, call: Call, connection: Connection) -> None:
        self._manager = manager
        self._tasks = tasks
        self._call = call
        self._connection = connection
        self._supervisor = manager.supervisor(call.ref.server)
        self._kind: TaskKind = "extension" if connection.core.modern else "core"
        mirrored = connection.core.modern and call.method == "tools/call"
        self._mirrors = mirrored and self._supervisor.config.kind == "http"
        self._headers: tuple[tuple[str, str], ...] = ()
        self._task_params: dict[str, Json] = {}

    async def run(self, tool: ToolView | None) -> Reply:
        """Through all rounds, and to the end of the task that it may become."""
        call, connection, supervisor, subject = self._call, self._connection, self._supervisor, str(self._call.ref)
        answerer, limits = supervisor.answerer, self._manager.limits
        if tool is not None and self._mirrors:
            self._headers = self._headers_for(tool)
        if tool is not None and self._kind == "core":
            # A tool whose `taskSupport` is `required` is always called so, an `optional` one where it is wanted
            # (2025-11-25, tasks).
            support = support_of(tool.raw, supervisor.status.version, supervisor.status.capabilities)
            if support == "required" or (support == "optional" and call.wants_task):
                self._task_params = {"task": {} if call.ttl is None else {"ttl": round(call.ttl * 1000)}}
        if not supervisor.calls:
            answerer.sampled = 0
        supervisor.calls.append(subject)
        try:
            if connection.core.modern:
                reply = await drive(call.params, self._round, answerer, limits, subject, connection.ended)
            else:
                reply = await self._round(call.params)
                tries = limits.url_retries
                while tries and isinstance(reply.event, Refused):
                    if not await opened_pages(reply.event, connection, answerer, subject):
                        break
                    reply, tries = await self._round(call.params), tries - 1
            event = reply.event
            if isinstance(event, Answered) and not event.problems and (self._kind == "extension" or self._task_params):
                if (raw := created_task(event.result, self._kind)) is not None:
                    return await self._task_end(raw, reply)
            return reply
        finally:
            supervisor.calls.remove(subject)

    async def _round(self, params: dict[str, Json], again: bool = True) -> Reply:
        call, deadline = self._call, self._connection.deadline(self._call.timeouts)
        deadline.patience, deadline.replaceable = call.patience if call.moves else None, call.replaceable
        reply = await self._connection.request(
            call.method, params | self._task_params, deadline=deadline,
            follows=call.request if call.answered else None, headers=self._headers,
            on_progress=call.on_progress, on_sent=call.on_sent, on_id=call.on_id,
        )  # fmt: skip
        call.answered, call.number = True, reply.span.number if reply.span else 0
        if self._mirrors and again and isinstance(reply.event, Refused) and reply.event.code == HEADER_MISMATCH:
            headers = await self._headers_anew()
            if headers is not None and headers != self._headers:
                self._headers = headers
                return await self._round(params, again=False)
        return reply

    async def _headers_anew(self) -> tuple[tuple[str, str], ...] | None:
        """The headers that the tool wants now: its definition has changed since it was listed (-32020, 2026-07-28)."""
        found = await fetch_all(*METHODS["tool"][:2], asker(self._connection, self._call.number), self._manager.limits)
        self._manager.refresher.again(self._call.ref.server)
        named = (item for item in map(mapping, found.items) if item.get("name") == self._call.ref.name)
        return next((self._headers_for(ToolView(item)) for item in named), None)

    def _headers_for(self, tool: ToolView) -> tuple[tuple[str, str], ...]:
        return param_headers(tool.input_schema, cast("dict[str, Json]", self._call.params["arguments"]))

    async def _task_end(self, raw: Json, reply: Reply) -> Reply:
        """The answer that the task ends with, as if the call itself had been answered with it.

        Cancelling the caller cancels the task.

        Raises:
            Ended: it was cancelled, let go of, lost, or took too long.
            ProtocolError: the server gave no task id.
        """
        call, connection, tasks = self._call, self._connection, self._tasks
        limits, identity = self._manager.limits, reply.request_id
        task = tasks.begin(
            call.ref.server, self._kind, raw, ref=call.ref, arguments=call.params.get("arguments"), method=call.method,
            number=call.number,
        )  # fmt: skip
        total = limit_of("total", connection.total, call.timeouts or Timeouts())
        deadline = Deadline(total, total, limits.call_longest)
        core = self._kind == "core"
        try:
            with connection.lasting(identity, call.on_progress, deadline) if core else nullcontext():
                async with deadline.begin():
                    return _reply(await self._watch(task, deadline))
        except TimeoutError:
            raise Ended(TimedOut(limit=f"{deadline.limit}; the task goes on at the server")) from None
        except asyncio.CancelledError:
            # Nobody waits any more: the server is told, in a bounded time, even while this is cancelled.
            cancelling = asyncio.get_running_loop().create_task(tasks.cancel_noting(*task.key))
            await asyncio.wait((cancelling,), timeout=_CANCELLING)
            raise

    async def _watch(self, task: Task, deadline: Deadline) -> Task:
        call, tasks, manager = self._call, self._tasks, self._manager

        def done() -> Task | None:
            now, reason = tasks.get(*task.key), unreachable(manager, task.server)
            if now is None:
                removed = StudioError("The task was removed from the list here.")
                raise Ended(Lost(error=reason or removed, sent=True))
            if now is not call.as_task:
                call.as_task = now
                call.changed.emit(call)
            if now.done:
                return now
            if call.let_go:
                raise Ended(InBackground(task=task.id))
            if reason:
                raise Ended(Lost(error=reason, sent=True))
            if now.kind == "extension" and now.asking != deadline.paused:
                (deadline.pause if now.asking else deadline.resume)()
            return None

        return await until(done, tasks.changed, tasks.removed, manager.changed, call.changed)


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


async def mortem_when_known(manager: ConnectionManager, call: Call, limit: float = 4.0) -> Mortem | None:
    """The ending that a call was lost to, waited for: it is known some time after the call has ended; None if never."""
    supervisor = manager.supervisor(call.ref.server)
    begun = time.time() - (time.monotonic() - call.started)
    last = begun + call.seconds + _TOGETHER

    def ended_it(one: Mortem) -> bool:
        sent = ((flight.id, flight.method) for flight in one.flights)
        return begun - 1 <= one.time <= last and (call.request, call.method) in sent

    def found() -> Mortem | None:
        return next(filter(ended_it, reversed(supervisor.mortems)), None)

    # Where it goes on, only this one answer was of no use.
    await at_most(limit, until(lambda: found() or supervisor.connection, manager.changed))
    return found()
