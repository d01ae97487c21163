"""Runs calls: policy, connection, rounds of input, pages to open, tasks, and the check of the result.

Completion, which suggests values for arguments, is here too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from contextlib import nullcontext
from dataclasses import field, replace
from typing import Any, TypedDict, Unpack, cast

from mcp_studio.call.audit import Audit
from mcp_studio.call.cache import ResourceCache
from mcp_studio.call.call import (
    CANCELLING,
    Call,
    CallOutcome,
    Cancelled,
    Denied,
    Ended,
    InBackground,
    Lost,
    Method,
    Succeeded,
    TimedOut,
    failure_of,
    outcome_of,
)
from mcp_studio.call.filter import ResultFilter
from mcp_studio.call.policy import Judgement, Origin, Policy, consent, prices_of
from mcp_studio.call.secrets import SecretArguments
from mcp_studio.call.skills import SkillReader
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import METHODS, Ref, fetch_all
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import MB
from mcp_studio.protocol.events import Answered, Refused
from mcp_studio.protocol.message import whole
from mcp_studio.protocol.tasks import TaskKind, created_task, support_of
from mcp_studio.protocol.versions import HEADER_MISMATCH, TASK_RESULT, at_least
from mcp_studio.protocol.views import ToolView, param_headers
from mcp_studio.record import record
from mcp_studio.schema.checker import Checker
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.session.connection import Connection, Deadline, Reply, asker, limit_of
from mcp_studio.session.groups import Groups, Member
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.server_requests import drive, opened_pages
from mcp_studio.session.state import until
from mcp_studio.session.task_manager import TaskManager, unreachable
from mcp_studio.session.tasks import Task
from mcp_studio.transport.base import Tasks
from mcp_studio.transport.http_errors import SessionLost

_LARGE = 32 * 1024
"""Bytes of the largest result that is filtered on the event loop."""
_CHECKED = 2 * MB
"""Bytes of the largest result that is checked."""


class CallOptions(TypedDict, total=False):
    """Options of one tool call."""

    timeouts: Timeouts
    """Deadlines for this call alone."""
    wants_task: bool
    """Whether the call runs as a task where the tool leaves that to the caller (2025-11-25).

    A tool that demands a task always gets one, and in 2026-07-28 the server decides.
    """
    ttl: float | None
    """Seconds for which the server should keep the task."""
    failover: bool
    """Whether another server of the group may take the call after its answer was lost, although the work may be done
    twice.

    Read-only and idempotent tools of trusted servers need no such permission.
    """
    stays: bool
    """Whether no other server may take the call, because the caller wants this server's answer."""
    parts: bool
    """Whether the caller takes large texts and structured content as JSON text, each a `memoryview`."""


@record(eq=False)
class Caller:
    """Runs calls over the manager's connections."""

    manager: ConnectionManager
    tasks: TaskManager
    catalog: Catalog
    inbox: Inbox
    checker: Checker
    policy: Policy
    groups: Groups
    audit: Audit
    background: Tasks
    """The studio's tasks."""
    reads: ResourceCache
    """Results of `resources/read` that can be returned again."""
    filter: ResultFilter
    """The filter for every result, before it is shown or stored."""
    skills: SkillReader = field(init=False)
    """Loads skills."""
    _secret: SecretArguments = field(default_factory=SecretArguments, init=False)
    _running: list[Call] = field(default_factory=list[Call], init=False)

    def __post_init__(self) -> None:
        self.skills = SkillReader(self.manager, self.catalog)
        self.inbox.changed.connect(self._asked)
        self.manager.notified.connect(lambda heard: self.reads.on_notification(*heard))
        self.manager.changed.connect(self._connection_changed)

    @property
    def running(self) -> tuple[Call, ...]:
        """The calls without an outcome, oldest first."""
        return tuple(call for call in self._running if call.outcome is None)

    def call_tool(
        self, ref: Ref, arguments: Mapping[str, Json], *, origin: Origin, approved: bool, **options: Unpack[CallOptions]
    ) -> Call:
        """Start a tool call."""
        call = Call(ref, "tools/call", {"name": ref.name, "arguments": dict(arguments)}, **options)
        return self._begin(call, self._tool(call, origin, approved))

    async def consent(self, ref: Ref, arguments: Json, total: int, at_once: int, *, approved: bool) -> Denied | None:
        """Ask for approval once for many equal calls; None when they may run.

        A rule that denies applies even to approved calls.
        """
        judgement = self._judge(ref, arguments, "person", counts=False)
        times = f"{total:,} times, {at_once:,} at once"
        call = Call(ref, "tools/call", {"name": ref.name, "arguments": arguments})
        return await consent(self.inbox.ask, judgement, call, approved=approved, times=times)

    def start(
        self, ref: Ref, method: Method, params: dict[str, Json], fresh: bool = False, parts: bool = False
    ) -> Call:
        """Start reading a resource or getting a prompt; `fresh` skips the cache, `parts` as in `CallOptions`."""
        call = Call(ref, method, params, fresh=fresh, parts=parts)
        return self._begin(call, self._get(call))

    def prices(self, *servers: str) -> dict[Ref, float]:
        """The price of a call of each tool, where these servers are trusted and declare one."""
        return prices_of(self.catalog.entries("tool", [one for one in servers if self.manager.config(one).trust]))

    async def complete(self, ref: Ref, argument: str, value: str, known: Mapping[str, str]) -> Completion:
        """Ask for values of a prompt's argument, or of a template's variable.

        Args:
            known: the other arguments so far, sent as context in versions that have it (since 2025-06-18).

        Raises:
            StudioError: the server is not connected, did not answer, refused, or its answer has no values.
        """
        status = self.manager.status(ref.server)
        connection = self.manager.connection(ref.server)
        if "completions" not in (status.capabilities or {}):
            return Completion(declared=False)
        kind, key = ("resource", "uri") if ref.kind == "template" else ("prompt", "name")
        subject: Json = {"type": f"ref/{kind}", key: ref.name}
        params: dict[str, Json] = {"ref": subject, "argument": {"name": argument, "value": value}}
        if known and at_least(status.version, "2025-06-18"):
            params["context"] = {"arguments": dict(known)}
        event = (await connection.request("completion/complete", params)).event
        if not isinstance(event, Answered):
            raise ProtocolError(f"The server refused completion/complete: {event.text}.")
        return completion_of(event.result)

    def _begin(self, call: Call, work: Coroutine[Any, Any, None]) -> Call:
        self._running.append(call)
        call.task = self.background.spawn(work, then=lambda task: (self._running.remove(call), call.ended(task)))
        return call

    async def _get(self, call: Call) -> None:
        reading, server = call.method == "resources/read", call.ref.server
        outcome = self.reads.get(call.ref) if reading and not call.fresh else None
        if outcome is None:
            outcome = await self._outcome(call, None)
            if reading and server in self.manager.names():
                outcome = self.reads.keep(call, outcome, self.manager.status(server).modern)
        elif not call.parts:
            outcome = replace(outcome, result=whole(outcome.result))
        call.finish(await self._filtered(call, outcome))
        call.found(*await self.skills.judge(call, outcome))

    def _connection_changed(self, server: str) -> None:
        if server not in self.manager.names() or self.manager.status(server).state != "ready":
            self.reads.forget(server)

    async def _filtered(self, call: Call, outcome: CallOutcome) -> CallOutcome:
        """The outcome after the result filter."""
        server = call.ref.server
        if outcome.size <= _LARGE:
            return self.filter.apply(server, outcome)
        return await asyncio.to_thread(self.filter.apply, server, outcome)

    def outcome_of_task(self, task: Task) -> CallOutcome:
        """The outcome of a call that became this task, which has to be done."""
        return self.filter.apply(task.server, outcome_of_task(task))

    async def _tool(self, call: Call, origin: Origin, approved: bool) -> None:
        """Run a tool call, on further servers of the group where one is lost and the call may move."""
        arguments = call.params["arguments"]
        while True:
            ref, judgement = call.ref, self._judge(call.ref, arguments, origin)
            if denied := await consent(self.inbox.ask, judgement, call, approved=approved):
                outcome, tool = denied, None
                break
            # The tool may have changed while a person thought about the question.
            known = self._judge(ref, arguments, origin, counts=False) if judgement.verdict == "ask" else judgement
            tool, profile = known.tool, known.profile
            if profile.total and (call.timeouts is None or call.timeouts.total is None):
                call.timeouts = (call.timeouts or Timeouts())._replace(total=profile.total)
            call.moves = call.failover or profile.repeatable
            if self.manager.config(ref.server).group and not call.stays:
                call.replaceable = lambda: any(one.healthy for one in self._others(call))
                # A server that does one thing at a time is silent meanwhile, however long it takes.
                call.patience = max(self.manager.limits.failover, 2 * self.groups.slowest(ref))
            outcome = await self._outcome(call, tool)
            if not isinstance(outcome, Lost):
                break
            waiting = self._others(call)
            if not waiting or (outcome.sent and not call.moves):
                outcome = replace(outcome, alternatives=tuple(one.server for one in waiting))
                break
            call.move(waiting[0].server, outcome.error.message)
            self.manager.supervisor(ref.server).tap.note(f"the call of {ref.name} goes on to {call.ref.server}")
        shown = await self._filtered(call, outcome)
        call.finish(shown)
        if problem := self.audit.add(call, shown, origin, judgement):
            call.outcome = replace(shown, notes=(*shown.notes, problem))
        if tool is None or tool.output_schema is None or call.unchecked or not isinstance(outcome, Succeeded):
            call.found(())
        else:
            await self._check(call, outcome, tool.output_schema)

    def _others(self, call: Call) -> tuple[Member, ...]:
        """The servers of the group that could take a call, best first."""
        tried = (attempt.server for attempt in call.tried)
        return () if call.stays else self.groups.others(call.ref.server, call.ref.name, tried)

    def _judge(self, ref: Ref, arguments: Json, origin: Origin, counts: bool = True) -> Judgement:
        entries, trusted = self.catalog.find(ref), self.manager.config(ref.server).trust
        judgement = self.policy.judge(ref, entries, arguments, origin=origin, trusted=trusted, counts=counts)
        for secret in self._secret.of(judgement.tool, arguments):
            # before a waiting approval or a denial writes them
            self.manager.redactor.learn(secret)
        return judgement

    async def _send(self, call: Call, tool: ToolView | None) -> Reply:
        """Send a call and drive it to the answer of its last round.

        A server that refused the request because it no longer knows the session has not done the work, so the call is
        sent once more, in a new session (specification 2025-11-25, basic/transports, Session Management).

        Raises:
            StudioError, Ended: there is no answer.
        """
        patience = call.patience if call.replaceable() else None
        try:
            return await _Sending(self, call, await self.manager.ready(call.ref.server, patience)).run(tool)
        except SessionLost as error:
            if call.answered or error.http is None or not error.http.refused:
                raise
            call.sendings = 0
        return await _Sending(self, call, await self.manager.ready(call.ref.server)).run(tool)

    async def _outcome(self, call: Call, tool: ToolView | None) -> CallOutcome:
        began, call.asked_ms = time.perf_counter(), 0.0
        try:
            reply = await self._send(call, tool)
        except (asyncio.CancelledError, Ended, StudioError) as error:
            outcome = replace(failure_of(call, error), ms=(time.perf_counter() - began) * 1000, asked_ms=call.asked_ms)
        else:
            ms = (time.perf_counter() - began) * 1000
            if call.sendings == 1 and call.as_task is None and reply.span:
                ms = reply.span.ms or ms  # the trace's figure
            outcome = outcome_of(call.method, reply, ms, call.asked_ms)
        more = call.as_task.problems if call.as_task is not None else ()
        return replace(outcome, problems=(*outcome.problems, *more)) if more else outcome

    async def _check(self, call: Call, outcome: Succeeded, schema: Json) -> None:
        """Compare an unfiltered result with the tool's outputSchema; the trace gets the problems too."""
        tap, result = self.manager.supervisor(call.ref.server).tap, mapping(outcome.result)
        if "structuredContent" not in result:
            missing = "The tool has an outputSchema, but the result has no structuredContent."
            tap.judged(outcome.request_id, [("", missing)])
            return call.found((missing,))
        if outcome.size > _CHECKED:
            return call.found(("The structuredContent is too large to be checked.",))
        found = await self.checker.check(schema, result["structuredContent"])
        if call.outcome and call.outcome.sensitive:  # sentences and pointers quote the result
            texts = [[item.pointer, item.message] for item in found]
            shown = cast("list[list[str]]", self.filter.shown(call.ref.server, cast("Json", texts)))
            found = tuple(SchemaProblem(two[0], two[1], item.severity) for two, item in zip(shown, found, strict=True))
        tap.judged(outcome.request_id, [(item.pointer, item.message) for item in found if item.severity == "error"])
        call.found(tuple(f"structuredContent{item.pointer} {item.message}" for item in found), violations=found)

    def _asked(self, question: InputRequest) -> None:
        """Record that a call waits for a person, or no longer: for a sign-in, or for a question of its server."""
        if question.kind == "approval":
            return  # the caller of `consent` records it, because other calls may have the same subject
        open_ones = [one for one in self.inbox.pending if one.kind != "approval" and one.subject == question.subject]
        for call in self.running:
            if str(call.ref) == question.subject:
                call.on_asking(any(one.asked >= call.started for one in open_ones))


_MOST_VALUES = 100
"""Values of one completion, as the specification allows."""
_COUNTABLE = 10**12
"""Larger totals cannot have been counted."""


@record(frozen=True)
class Completion:
    """Values that a server suggests for an argument (specification, server/utilities/completion)."""

    values: tuple[str, ...] = ()
    """At most 100 values; foreign text."""
    total: int | None = None
    """The number of all values, where the server says it."""
    has_more: bool = False
    """Whether there are more values."""
    declared: bool = True
    """Whether the server declares `completions`; otherwise it was not asked."""

    @property
    def count(self) -> str:
        """`2 of 120`, `100 and more`, or an empty string where these are all."""
        if self.total is not None and self.total > len(self.values):
            return f"{len(self.values)} of {self.total:,}"
        return f"{len(self.values)} and more" if self.has_more else ""


def completion_of(result: Json) -> Completion:
    """The values of a completion's result.

    Raises:
        ProtocolError: the result has no values.
    """
    known = mapping(mapping(result).get("completion"))
    values, total = known.get("values"), known.get("total")
    if not isinstance(values, list):
        raise ProtocolError("The answer to completion/complete has no array 'values'.")
    texts = [item for item in items_of(values) if isinstance(item, str)]
    usable = isinstance(total, int) and not isinstance(total, bool) and 0 <= total <= _COUNTABLE
    more = known.get("hasMore") is True or len(texts) > _MOST_VALUES
    return Completion(tuple(texts[:_MOST_VALUES]), total if usable else None, more)


# ---------------------------------------------------------------------- sending


class _Sending:
    """One call on one connection."""

    def __init__(self, caller: Caller, call: Call, connection: Connection) -> None:
        self._manager, self._tasks, self._call, self._connection = caller.manager, caller.tasks, call, connection
        self._supervisor = caller.manager.supervisor(call.ref.server)
        self._kind: TaskKind = "extension" if connection.core.modern else "core"
        self._mirrors = connection.core.modern and connection.core.streams and call.method == "tools/call"
        self._headers: tuple[tuple[str, str], ...] = ()
        self._task_params: dict[str, Json] = {}

    async def run(self, tool: ToolView | None) -> Reply:
        """Run all rounds, and follow the task that the call may become."""
        call, connection, supervisor, subject = self._call, self._connection, self._supervisor, str(self._call.ref)
        answerer, limits = supervisor.answerer, self._manager.limits
        if tool is not None and self._mirrors:
            self._headers = self._headers_for(tool)
        if tool is not None and self._kind == "core":
            # A tool whose `taskSupport` is `required` is always called as a task, an `optional` one on demand
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
            if not isinstance(event, Answered) or event.problems:
                return reply
            extends = connection.core.modern and event.result.get("resultType") == TASK_RESULT
            raw = created_task(event.result, self._kind) if extends or self._task_params else None
            return reply if raw is None else await self._task_end(raw, reply)
        finally:
            supervisor.calls.remove(subject)

    async def _round(self, params: dict[str, Json], again: bool = True) -> Reply:
        call, deadline = self._call, self._connection.deadline(self._call.timeouts)
        deadline.patience, deadline.replaceable = call.patience if call.moves else None, call.replaceable
        reply = await self._connection.request(
            call.method, params | self._task_params, deadline=deadline, parts=call.parts,
            follows=call.request if call.answered else None, under=call.under, headers=self._headers,
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
        """The headers that the tool asks for now, because its definition changed since it was listed (-32020,
        2026-07-28).
        """
        found = await fetch_all(*METHODS["tool"][:2], asker(self._connection, self._call.number), self._manager.limits)
        self._manager.refresher.again(self._call.ref.server)
        named = (item for item in map(mapping, found.items) if item.get("name") == self._call.ref.name)
        return next((self._headers_for(ToolView(item)) for item in named), None)

    def _headers_for(self, tool: ToolView) -> tuple[tuple[str, str], ...]:
        return param_headers(tool.input_schema, cast("dict[str, Json]", self._call.params["arguments"]))

    async def _task_end(self, raw: Json, reply: Reply) -> Reply:
        """Wait for the task and return its result as the answer of the call.

        Cancelling the caller cancels the task.

        Raises:
            Ended: the task was cancelled, left alone, lost, or took too long.
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
            # Nobody waits any more, so the server is told within a bounded time, even during cancellation.
            cancelling = asyncio.get_running_loop().create_task(tasks.cancel_noting(*task.key))
            await asyncio.wait((cancelling,), timeout=CANCELLING)
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
    """The outcome of a call that became this task, which has to be done."""
    ms = (task.steps[-1].at - task.started) * 1000 if task.steps else 0.0
    try:
        outcome = outcome_of(task.method, _reply(task), ms)
    except Ended as ended:
        outcome = replace(ended.outcome, ms=ms)
    return replace(outcome, problems=(*outcome.problems, *task.problems))


def _reply(task: Task) -> Reply:
    """The answer of the call that became this task.

    Raises:
        Ended: there is no answer.
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
