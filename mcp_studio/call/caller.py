"""Starts calls: policy first, then the connection, rounds of input, and the check of what came back.

Completion, which suggests values for their arguments, is here too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Mapping
from dataclasses import field, replace
from typing import Any, TypedDict, Unpack, cast

from mcp_studio.call.audit import Audit
from mcp_studio.call.cache import ResourceCache
from mcp_studio.call.call import Call, CallOutcome, Denied, Ended, Lost, Method, Succeeded, failure_of, outcome_of
from mcp_studio.call.filter import ResultFilter
from mcp_studio.call.policy import Judgement, Origin, Policy, consent, tool_of
from mcp_studio.call.secrets import SecretArguments
from mcp_studio.call.sending import outcome_of_task, send
from mcp_studio.call.skills import SkillReader
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ProtocolError, StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import MB
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.versions import at_least
from mcp_studio.protocol.views import ToolView
from mcp_studio.record import record
from mcp_studio.schema.checker import Checker
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.session.groups import Groups, Member
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.state import Spawn
from mcp_studio.session.task_manager import TaskManager
from mcp_studio.session.tasks import Task

_LARGE = 32 * 1024
"""Bytes; a larger result is filtered in a thread."""
_CHECKED = 2 * MB
"""Larger results are not checked."""


class CallOptions(TypedDict, total=False):
    """What can be said of one call of a tool."""

    timeouts: Timeouts
    """They hold for this call alone."""
    wants_task: bool
    """Have it run as a task where the tool leaves that to the caller (2025-11-25); one that must is always called so,
    and in 2026-07-28 the server decides."""
    ttl: float | None
    """Seconds for which the server is asked to keep such a task."""
    failover: bool
    """Where the answer is lost, let another member of the server's group take the call although the first may have
    done the work. Read-only and idempotent tools of trusted servers need no such leave."""
    stays: bool
    """No other member takes it: it is made to see what this very server answers."""


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
    spawn: Spawn
    """Starts a task in the studio."""
    reads: ResourceCache
    """Results of resources/read that may be given again."""
    filter: ResultFilter
    """What every result passes before anything shows or keeps it."""
    skills: SkillReader = field(init=False)
    """Who loads skills."""
    _secret: SecretArguments = field(default_factory=SecretArguments, init=False)
    _running: list[Call] = field(default_factory=list[Call], init=False)

    def __post_init__(self) -> None:
        self.skills = SkillReader(self.manager, self.catalog)
        self.inbox.changed.connect(self._asked)
        self.manager.notified.connect(lambda heard: self.reads.on_notification(*heard))
        self.manager.changed.connect(self._connection_changed)

    @property
    def running(self) -> tuple[Call, ...]:
        """The calls that have no outcome yet, oldest first."""
        return tuple(call for call in self._running if call.outcome is None)

    def call_tool(
        self, ref: Ref, arguments: Mapping[str, Json], *, origin: Origin, approved: bool, **options: Unpack[CallOptions]
    ) -> Call:
        """Start a tool call."""
        call = Call(ref, "tools/call", {"name": ref.name, "arguments": dict(arguments)}, **options)
        return self._begin(call, self._tool(call, origin, approved))

    async def consent(self, ref: Ref, arguments: Json, total: int, at_once: int, *, approved: bool) -> Denied | None:
        """Ask once for many equal calls what would be asked for each; None when they may go on.

        A rule that denies holds also for what was approved.
        """
        judgement = self._judge(ref, arguments, "person", counts=False)
        times = f"{total:,} times, {at_once:,} at once"
        call = Call(ref, "tools/call", {"name": ref.name, "arguments": arguments})
        return await consent(self.inbox.ask, judgement, call, approved=approved, times=times)

    def start(self, ref: Ref, method: Method, params: dict[str, Json], fresh: bool = False) -> Call:
        """Start reading a resource or getting a prompt; `fresh` takes no earlier answer that was kept."""
        call = Call(ref, method, params, fresh=fresh)
        return self._begin(call, self._get(call))

    async def complete(self, ref: Ref, argument: str, value: str, known: Mapping[str, str]) -> Completion:
        """Ask for the values of an argument of a prompt, or of a variable of a template.

        Args:
            known: the other arguments so far; sent as context in versions that know it (since 2025-06-18).

        Raises:
            StudioError: not connected, no answer, a refusal, or an answer without values.
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
            raise ProtocolError(f"The server refused completion/complete: {event.said}.")
        return completion_of(event.result)

    def _begin(self, call: Call, work: Coroutine[Any, Any, None]) -> Call:
        self._running.append(call)
        call.task = self.spawn(work)
        call.task.add_done_callback(lambda task: (self._running.remove(call), call.ended(task)))
        return call

    async def _get(self, call: Call) -> None:
        reading, server = call.method == "resources/read", call.ref.server
        outcome = self.reads.get(call.ref) if reading and not call.fresh else None
        if outcome is None:
            outcome = await self._outcome(call, None)
            if reading and server in self.manager.names():
                outcome = self.reads.keep(call, outcome, self.manager.status(server).modern)
        call.finish(await self._filtered(call, outcome))
        call.found(*await self.skills.judge(call, outcome))

    def _connection_changed(self, server: str) -> None:
        if server not in self.manager.names() or self.manager.status(server).state != "ready":
            self.reads.forget(server)

    async def _filtered(self, call: Call, outcome: CallOutcome) -> CallOutcome:
        """The outcome as it may be shown."""
        server = call.ref.server
        if outcome.size <= _LARGE:
            return self.filter.apply(server, outcome)
        return await asyncio.to_thread(self.filter.apply, server, outcome)

    def outcome_of_task(self, task: Task) -> CallOutcome:
        """What the call that became this task would have ended with; the task has to be done."""
        return self.filter.apply(task.server, outcome_of_task(task))

    async def _tool(self, call: Call, origin: Origin, approved: bool) -> None:
        """Run a tool call, on one member of the group after the other where one is lost and the call may move."""
        arguments = call.params["arguments"]
        while True:
            ref, judgement = call.ref, self._judge(call.ref, arguments, origin)
            if denied := await consent(self.inbox.ask, judgement, call, approved=approved):
                outcome, tool = denied, None
                break
            # What is known of the tool now: a person may have thought about it for a while.
            known = self._judge(ref, arguments, origin, counts=False) if judgement.verdict == "ask" else judgement
            tool, profile = known.tool, known.profile
            if profile.total and (call.timeouts is None or call.timeouts.total is None):
                call.timeouts = (call.timeouts or Timeouts())._replace(total=profile.total)
            call.moves = call.failover or profile.repeatable
            if self.groups.of(ref.server) and not call.stays:
                call.replaceable = lambda: any(one.healthy for one in self._others(call))
                # A server that does one thing at a time says nothing meanwhile, be it ever so long.
                call.patience = max(self.manager.limits.failover, 2 * self.groups.slowest(ref))
            outcome = await self._outcome(call, tool)
            if not isinstance(outcome, Lost):
                break
            waiting = self._others(call)
            if not waiting or (outcome.sent and not call.moves):
                outcome = replace(outcome, members=tuple(one.server for one in waiting))
                break
            call.move(waiting[0].server, outcome.error.message)
            self.manager.supervisor(ref.server).tap.note(f"the call of {ref.name} goes on to {call.ref.server}")
        call.finish(await self._filtered(call, outcome))
        if (problem := self.audit.add(call, origin, judgement)) and call.outcome:
            call.outcome = replace(call.outcome, notes=(*call.outcome.notes, problem))
        if tool is None or tool.output_schema is None or call.unchecked or not isinstance(outcome, Succeeded):
            call.found(())
        else:
            await self._check(call, outcome, tool.output_schema)

    def _others(self, call: Call) -> tuple[Member, ...]:
        """The members of its group that could take a call, best first."""
        tried = (attempt.server for attempt in call.tried)
        return () if call.stays else self.groups.others(call.ref.server, call.ref.name, tried)

    def _judge(self, ref: Ref, arguments: Json, origin: Origin, counts: bool = True) -> Judgement:
        entries = self.catalog.find(ref)
        for secret in self._secret.of(tool_of(entries), arguments):
            # Before it is written: as an approval that waits, or when it is denied.
            self.manager.redactor.learn(secret)
        trusted = self.manager.config(ref.server).trust
        return self.policy.judge(ref, entries, arguments, origin=origin, trusted=trusted, counts=counts)

    async def _outcome(self, call: Call, tool: ToolView | None) -> CallOutcome:
        began, call.asked_ms = time.perf_counter(), 0.0
        try:
            reply = await send(self.manager, self.tasks, call, tool)
        except (asyncio.CancelledError, Ended, StudioError) as error:
            outcome = replace(failure_of(call, error), ms=(time.perf_counter() - began) * 1000, asked_ms=call.asked_ms)
        else:
            ms = (time.perf_counter() - began) * 1000
            if call.sendings == 1 and call.as_task is None and reply.span:
                ms = reply.span.ms or ms  # the figure of the trace
            outcome = outcome_of(call.method, reply, ms, call.asked_ms)
        if call.as_task is None:
            return outcome
        return replace(outcome, problems=(*outcome.problems, *call.as_task.problems))

    async def _check(self, call: Call, outcome: Succeeded, schema: Json) -> None:
        """Compare a result, as it came, with the tool's outputSchema; the trace hears too what is wrong."""
        tap, result = self.manager.supervisor(call.ref.server).tap, mapping(outcome.result)
        if "structuredContent" not in result:
            missing = "The tool has an outputSchema, but the result has no structuredContent."
            tap.judged(outcome.request_id, [("", missing)])
            return call.found((missing,))
        if outcome.size > _CHECKED:
            return call.found(("The structuredContent is too large to be checked.",))
        found = await self.checker.check(schema, result["structuredContent"])
        if call.outcome and call.outcome.sensitive:  # sentences and pointers repeat what is in the result
            texts = [[item.pointer, item.message] for item in found]
            shown = cast("list[list[str]]", self.filter.shown(call.ref.server, cast("Json", texts)))
            found = tuple(SchemaProblem(two[0], two[1], item.severity) for two, item in zip(shown, found, strict=True))
        tap.judged(outcome.request_id, [(item.pointer, item.message) for item in found if item.severity == "error"])
        call.found(tuple(f"structuredContent{item.pointer} {item.message}" for item in found), violations=found)

    def _asked(self, question: InputRequest) -> None:
        """A call waits for a person, or does so no longer: it was refused, or its server asks while it runs."""
        if question.kind == "approval":
            return  # whoever waits for it knows: other calls may have the same subject
        open_ones = [one for one in self.inbox.pending if one.kind != "approval" and one.subject == question.subject]
        for call in self.running:
            if str(call.ref) == question.subject:
                call.on_asking(any(one.asked >= call.started for one in open_ones))


_MOST_VALUES = 100
"""Values of one completion; the specification allows no more."""
_COUNTABLE = 10**12
"""A larger total is none that anybody has counted."""


@record(frozen=True)
class Completion:
    """Values that a server suggests for an argument (specification, server/utilities/completion)."""

    values: tuple[str, ...] = ()
    """At most 100, foreign text as it came."""
    total: int | None = None
    """How many there are in all, where the server says."""
    has_more: bool = False
    """There are more than these."""
    declared: bool = True
    """The server declares `completions`; where it does not, it was not asked."""

    @property
    def count(self) -> str:
        """`2 of 120`, `100 and more`, or an empty string where these are all."""
        if self.total is not None and self.total > len(self.values):
            return f"{len(self.values)} of {self.total:,}"
        return f"{len(self.values)} and more" if self.has_more else ""


def completion_of(result: Json) -> Completion:
    """The values in a result.

    Raises:
        ProtocolError: there are none.
    """
    known = mapping(mapping(result).get("completion"))
    values, total = known.get("values"), known.get("total")
    if not isinstance(values, list):
        raise ProtocolError("The answer to completion/complete has no array 'values'.")
    texts = [item for item in items_of(values) if isinstance(item, str)]
    usable = isinstance(total, int) and not isinstance(total, bool) and 0 <= total <= _COUNTABLE
    more = known.get("hasMore") is True or len(texts) > _MOST_VALUES
    return Completion(tuple(texts[:_MOST_VALUES]), total if usable else None, more)
