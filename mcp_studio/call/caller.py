"""Starts calls: policy first, then the connection, rounds of input, and the check of what came back.

Completion, which suggests values for their arguments, is here too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict, Unpack, cast

from mcp_studio.call.audit import Audit
from mcp_studio.call.call import (
    Call,
    CallOutcome,
    Cancelled,
    Denied,
    Ended,
    Lost,
    Method,
    Succeeded,
    TimedOut,
    outcome_of,
)
from mcp_studio.call.policy import Origin, Policy, consent, tool_of
from mcp_studio.call.secrets import SecretArguments
from mcp_studio.call.sending import send
from mcp_studio.call.skills import SkillReader
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ConnectionLost, ProtocolError, StudioError, Unreachable
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import MB, Limits
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.versions import Cached, Hint, at_least, hint_of
from mcp_studio.protocol.views import ToolView
from mcp_studio.record import record
from mcp_studio.schema.checker import Checker
from mcp_studio.session.connection import DeadlinePassed
from mcp_studio.session.groups import Groups
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.server_requests import Declined
from mcp_studio.session.state import Spawn
from mcp_studio.session.task_manager import TaskManager

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


class Caller:
    """Runs calls over the manager's connections.

    Args:
        spawn: starts a task in the studio.
    """

    def __init__(
        self,
        manager: ConnectionManager,
        tasks: TaskManager,
        catalog: Catalog,
        inbox: Inbox,
        checker: Checker,
        limits: Limits,
        policy: Policy,
        groups: Groups,
        audit: Audit,
        spawn: Spawn,
    ) -> None:
        self.manager = manager
        self._catalog = catalog
        self._inbox = inbox
        self._checker = checker
        self.policy = policy
        self._groups = groups
        self._audit = audit
        self._spawn = spawn
        self._secret = SecretArguments()
        self._reads = ResourceReads()
        manager.notified.connect(lambda heard: self._reads.on_notification(heard[0], heard[1], heard[2].get("uri")))
        manager.changed.connect(self._connection_changed)
        self._tasks = tasks
        self._limits = limits
        self.skills = SkillReader(manager, catalog)
        """Who loads skills."""
        self._waiting: dict[int, list[Call]] = {}
        """The calls that wait for the answer to a question, by its number."""
        inbox.changed.connect(self._asked)
        self._running: list[Call] = []

    @property
    def running(self) -> tuple[Call, ...]:
        """The calls that have no outcome yet, oldest first."""
        return tuple(call for call in self._running if call.outcome is None)

    def call_tool(
        self, ref: Ref, arguments: Mapping[str, Json], *, origin: Origin, approved: bool, **options: Unpack[CallOptions]
    ) -> Call:
        """Start a tool call."""
        params: dict[str, Json] = {"name": ref.name, "arguments": dict(arguments)}
        call = Call(ref, "tools/call", params, **options)
        return self._begin(call, self._tool(call, origin, approved))

    async def consent(self, ref: Ref, arguments: Json, total: int, at_once: int, *, approved: bool) -> Denied | None:
        """Ask once for many equal calls what would be asked for each; None when they may go on.

        A rule that denies holds also for what was approved.
        """
        entries, trusted = self._catalog.find(ref), self.manager.config(ref.server).trust
        self._learn(tool_of(entries), arguments)
        judgement = self.policy.judge(ref, entries, arguments, origin="person", trusted=trusted)
        times = f"{total:,} times, {at_once:,} at once"
        return await consent(self._inbox.ask, judgement, ref, arguments, approved=approved, times=times)

    def start(
        self,
        ref: Ref,
        method: Method,
        params: dict[str, Json],
        timeouts: Timeouts = Timeouts(),  # noqa: B008
        fresh: bool = False,
    ) -> Call:
        """Start reading a resource or getting a prompt; `fresh` takes no earlier answer that was kept."""
        call = Call(ref, method, params, timeouts=timeouts, fresh=fresh)
        return self._begin(call, self._read(call) if method == "resources/read" else self._plain(call))

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
        subject = {"type": "ref/prompt", "name": ref.name}
        if ref.kind == "template":
            subject = {"type": "ref/resource", "uri": ref.name}
        params: dict[str, Json] = {"ref": subject, "argument": {"name": argument, "value": value}}
        if known and at_least(status.version, "2025-06-18"):
            params["context"] = {"arguments": dict(known)}
        event = (await connection.request("completion/complete", params)).event
        if not isinstance(event, Answered):
            raise ProtocolError(f"The server refused completion/complete: {event.said}.")
        return completion_of(event.result)

    def _begin(self, call: Call, work: Coroutine[Any, Any, None]) -> Call:
        def ended(task: asyncio.Task[None]) -> None:
            self._running.remove(call)
            call.ended(task)

        self._running.append(call)
        call.task = self._spawn(work)
        call.task.add_done_callback(ended)
        return call

    async def _plain(self, call: Call) -> None:
        call.finish(await self._outcome(call, None))
        call.found(())

    async def _read(self, call: Call) -> None:
        outcome = None if call.fresh else self._reads.get(call.ref.server, call.ref.name)
        if outcome is None:
            outcome = await self._outcome(call, None)
            if self._is_modern(call.ref.server):
                outcome = self._reads.keep(call, outcome)
        call.finish(outcome)
        call.found(*await self.skills.judge(call))

    def _is_modern(self, server: str) -> bool:
        return server in self.manager.names() and self.manager.status(server).modern

    def _connection_changed(self, server: str) -> None:
        if server not in self.manager.names() or self.manager.status(server).state != "ready":
            self._reads.forget(server)

    async def _tool(self, call: Call, origin: Origin, approved: bool) -> None:
        """Run a tool call, on one member of the group after the other where one is lost and the call may move."""
        arguments, waiting = call.params["arguments"], None
        while True:
            ref = call.ref
            entries, trusted = self._catalog.find(ref), self.manager.config(ref.server).trust
            self._learn(tool_of(entries), arguments)  # before it is written: as an approval that waits, or when denied
            judgement = self.policy.judge(ref, entries, arguments, origin=origin, trusted=trusted)
            if judgement.verdict != "allow":
                denied = await consent(self._inbox.ask, judgement, ref, arguments, call, approved=approved)
                if denied is not None:
                    outcome, tool = denied, None
                    break
                entries = self._catalog.find(ref)  # a person may have thought about it for a while
            tool = tool_of(entries)
            profile = self.policy.profile(ref, tool, trusted)
            if call.timeouts.total is None and profile.total:
                call.timeouts = call.timeouts._replace(total=profile.total)
            outcome = await self._outcome(call, tool)
            if not isinstance(outcome, Lost):
                break
            if waiting is None:
                waiting = list(self._groups.others(ref.server, ref.name))
            if not waiting or (outcome.sent and not (call.failover or profile.repeatable)):
                outcome = replace(outcome, members=tuple(waiting))
                break
            call.move(waiting.pop(0), outcome.error.message)
            self.manager.supervisor(ref.server).tap.note(f"the call of {ref.name} goes on to {call.ref.server}")
        call.finish(outcome)
        self._audit.add(call, origin, judgement)
        if tool is None or tool.output_schema is None or call.unchecked:
            call.found(())
        else:
            await self._check(call, tool.output_schema)

    def _learn(self, tool: ToolView | None, arguments: Json) -> None:
        for secret in self._secret.of(tool, arguments):
            self.manager.redactor.learn(secret)

    async def _outcome(self, call: Call, tool: ToolView | None) -> CallOutcome:
        began, call.asked_ms = time.perf_counter(), 0.0
        try:
            reply = await send(self.manager, self._tasks, self._limits, call, tool)
        except (asyncio.CancelledError, Ended, StudioError) as error:
            outcome = replace(_failure(call, error), ms=(time.perf_counter() - began) * 1000)
        else:
            ms = (time.perf_counter() - began) * 1000
            if call.sendings == 1 and call.as_task is None:  # the figure of the trace
                ms = self.manager.supervisor(call.ref.server).tap.took(reply.request_id) or ms
            outcome = outcome_of(call.method, reply, ms)
        if call.asked_ms:
            outcome = replace(outcome, asked_ms=call.asked_ms)
        return replace(outcome, problems=(*outcome.problems, *call.as_task.problems)) if call.as_task else outcome

    async def _check(self, call: Call, schema: Json) -> None:
        """Compare a result with the tool's outputSchema; the trace hears too what is wrong."""
        outcome, tap = call.outcome, self.manager.supervisor(call.ref.server).tap
        if not isinstance(outcome, Succeeded):
            return call.found(())
        result = mapping(outcome.result)
        if "structuredContent" not in result:
            missing = "The tool has an outputSchema, but the result has no structuredContent."
            tap.judged(outcome.request_id, [("", missing)])
            return call.found((missing,))
        if outcome.size > _CHECKED:
            return call.found(("The structuredContent is too large to be checked.",))
        found = await self._checker.check(schema, result["structuredContent"])
        tap.judged(outcome.request_id, [(item.pointer, item.message) for item in found if item.severity == "error"])
        call.found(tuple(f"structuredContent{item.pointer} {item.message}" for item in found), violations=found)

    def _asked(self, question: InputRequest) -> None:
        """A call waits for a person, or does so no longer: it was refused, or its server asks while it runs."""
        if question.kind == "approval":
            return  # whoever waits for it knows: other calls may have the same subject
        if question in self._inbox.pending:
            asked = [call for call in self.running if call.subject == question.subject]
            mine = self._waiting.setdefault(question.number, asked)
        else:
            mine = self._waiting.pop(question.number, [])
        for call in mine:
            call.on_asking(any(call in calls for calls in self._waiting.values()))


def _failure(call: Call, error: BaseException) -> CallOutcome:
    """What a call ends with that got no answer."""
    match error:
        case Ended():
            return error.outcome
        case Declined():
            return Cancelled(problems=(error.message,))
        case DeadlinePassed():
            return TimedOut(limit=error.limit)
        case StudioError():
            # Unreachable, but not lost: the transport found nobody to send it to. Or HTTP turned it away.
            nobody = isinstance(error, Unreachable) and not isinstance(error, ConnectionLost)
            nobody = nobody or (error.http is not None and error.http.refused)
            return Lost(request_id=call.request, error=error, sent=call.sent and not nobody)
        case _:
            return Cancelled()


_MOST_READS = 200
_MOST_BYTES = 16 * MB
_LIST_CHANGED = "notifications/resources/list_changed"
_UPDATED = "notifications/resources/updated"


class _Read(NamedTuple):
    outcome: Succeeded
    hint: Hint
    at: float


class ResourceReads:
    """Results of resources/read, for as long as servers call them fresh (2026-07-28, server/utilities/caching).

    One studio is one person, so what is `private` may be kept too; nothing outlives the connection that it came over.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reads: dict[tuple[str, str], _Read] = {}
        self._changes: dict[str, float] = {}
        """When each server last said that a resource has changed."""

    def get(self, server: str, uri: str) -> Succeeded | None:
        """The result of an earlier read that is still fresh."""
        read = self._reads.get((server, uri))
        if read is None or (age := self._clock() - read.at) >= read.hint.ttl:
            return None
        earlier = read.outcome
        return Succeeded(size=earlier.size, result=earlier.result, hint=read.hint, cached=Cached(age, read.hint))

    def keep(self, call: Call, outcome: CallOutcome) -> CallOutcome:
        """Keep what was just read; gives the outcome with what the server says about keeping it.

        A result that needed rounds of input is not kept, nor is one with problems, nor one during whose reading the
        server spoke of a change: nobody knows which of the two is newer.
        """
        server, uri = call.ref.server, call.ref.name
        self._reads.pop((server, uri), None)
        if not isinstance(outcome, Succeeded):
            return outcome
        hint = hint_of(outcome.result)
        if hint is None:
            return outcome
        unchanged = self._changes.get(server, 0.0) < call.started
        if hint.ttl > 0 and unchanged and call.sendings == 1 and not outcome.problems and outcome.size <= _MOST_BYTES:
            self._reads[server, uri] = _Read(outcome, hint, self._clock())
            while (
                len(self._reads) > _MOST_READS or sum(read.outcome.size for read in self._reads.values()) > _MOST_BYTES
            ):
                del self._reads[next(iter(self._reads))]
        return replace(outcome, hint=hint, problems=(*outcome.problems, *[hint.problem] * bool(hint.problem)))

    def on_notification(self, server: str, method: str, uri: Json) -> None:
        """Forget what a notification makes out of date; an update may name a part of what was read."""
        if method not in (_LIST_CHANGED, _UPDATED):
            return
        self._changes[server] = self._clock()
        if method == _LIST_CHANGED or not isinstance(uri, str):
            self.forget(server)
            return
        for key in tuple(self._reads):
            if key[0] == server and _covers(key[1], uri):
                del self._reads[key]

    def forget(self, server: str) -> None:
        """Forget all results of a server: its connection is another one, or is gone."""
        for key in tuple(self._reads):
            if key[0] == server:
                del self._reads[key]


def _covers(uri: str, part: str) -> bool:
    return uri == part or part.startswith((uri.rstrip("/") + "/", uri + "#", uri + "?"))


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
    texts = [item for item in items_of(cast("Json", values)) if isinstance(item, str)]
    usable = isinstance(total, int) and not isinstance(total, bool) and 0 <= total <= _COUNTABLE
    more = known.get("hasMore") is True or len(texts) > _MOST_VALUES
    return Completion(tuple(texts[:_MOST_VALUES]), int(cast("int", total)) if usable else None, more)
