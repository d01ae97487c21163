"""Starts calls: policy first, then the connection, rounds of input, and the check of what came back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcp_studio.call import late
from mcp_studio.call.cache import Reads
from mcp_studio.call.call import Call, Denied, Method, run, structured_problems
from mcp_studio.call.secret_fields import SecretArguments
from mcp_studio.call.sending import Sender, TaskCalls
from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.config.model import PolicyRule, Timeouts, Verdict
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.views import ToolView
from mcp_studio.schema.worker import Checker
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.task_manager import Tasks

if TYPE_CHECKING:
    from mcp_studio.call.skills import SkillReader

Origin = Literal["person", "program"]
"""Who wants the call: somebody who pressed Call, or a workflow, gateway or toolset."""


class Judgement(NamedTuple):
    """A verdict, and the rule and reasons behind it in words."""

    verdict: Verdict
    rule: str
    reasons: tuple[str, ...] = ()
    unusable: bool = False
    """The tool's definition forbids that it is called: no rule and no approval changes that."""


def judge(
    ref: Ref, entries: Sequence[Entry], *, origin: Origin, trusted: bool, rules: Sequence[PolicyRule] = ()
) -> Judgement:
    """The first matching rule decides; without one, who asks and what the tool says of itself.

    What a server says of its tools is a hint: it can raise the risk, and lowers it only on a trusted server. A name
    that is listed more than once is asked about, since nobody knows which of the tools will run.

    Args:
        entries: what the server lists under the name.
    """
    if entries and all(entry.excluded for entry in entries):
        return Judgement("deny", entries[0].problem, unusable=True)
    tool = next((entry.view for entry in entries if isinstance(entry.view, ToolView)), None)
    for rule in rules:
        if fnmatchcase(str(ref), rule.tools):
            return Judgement(rule.verdict, f"policy rule {rule.tools!r}", _reasons(tool, trusted))
    if len(entries) > 1:
        return Judgement("ask", "listed more than once", ("listed more than once", *_reasons(tool, trusted)))
    if origin == "person":
        quiet, rule = tool is None or not tool.destructive, "destructive tools are asked about"
    else:
        quiet = trusted and tool is not None and tool.read_only
        rule = "programs may call read-only tools of trusted servers"
    return Judgement("allow", rule) if quiet else Judgement("ask", rule, _reasons(tool, trusted))


def _reasons(tool: ToolView | None, trusted: bool) -> tuple[str, ...]:
    if tool is None:
        return ("the server does not list this tool",)
    found = ["destructive" if tool.destructive else "read-only" if tool.read_only else "writes"]
    found.append("idempotent" if tool.idempotent else "not idempotent")
    found.append("open world" if tool.open_world else "closed world")
    if not trusted:
        found.append("untrusted server")
    return tuple(found)


class Caller:
    """Runs calls over the manager's connections.

    Args:
        spawn: starts a task in the studio.
    """

    def __init__(
        self,
        manager: ConnectionManager,
        tasks: Tasks,
        catalog: Catalog,
        inbox: Inbox,
        checker: Checker,
        limits: Limits,
        rules: tuple[PolicyRule, ...],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._manager = manager
        self._catalog = catalog
        self._inbox = inbox
        self._checker = checker
        self._rules = rules
        self._secret = SecretArguments()
        self._spawn = spawn
        self._reads = Reads(manager)
        self._sender = Sender(manager, TaskCalls(tasks, manager, limits), limits)
        self._waiting: dict[int, list[Call]] = {}
        """The calls that wait for the answer to a question, by its number."""
        inbox.changed.connect(self._asked)
        self._running: dict[int, Call] = {}

    @cached_property
    def skills(self) -> SkillReader:
        """Who loads skills."""
        return late.skill_reader(self._manager, self._catalog)

    @property
    def running(self) -> tuple[Call, ...]:
        """The calls that have no outcome yet, oldest first."""
        return tuple(self._running.values())

    def call_tool(
        self,
        ref: Ref,
        arguments: Mapping[str, Json],
        *,
        origin: Origin,
        approved: bool,
        timeouts: Timeouts = Timeouts(),  # noqa: B008
        task: bool = False,
        ttl: float | None = None,
    ) -> Call:
        """Start a tool call; `task` and `ttl` as `Studio.call_tool` has them."""
        params: dict[str, Json] = {"name": ref.name, "arguments": dict(arguments)}
        call = Call(ref, "tools/call", params, timeouts=timeouts, wants_task=task, ttl=ttl)
        return self._begin(call, self._tool(call, origin, approved))

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
        return self._begin(call, self._plain(call))

    def _begin(self, call: Call, work: Coroutine[Any, Any, None]) -> Call:
        self._running[id(call)] = call
        task = self._spawn(work)
        task.add_done_callback(lambda _: self._running.pop(id(call), None))
        call.begin(task)
        return call

    async def _plain(self, call: Call) -> None:
        if not self._reads.answer(call):
            await run(call, self._sender.send(call, None))
            self._reads.keep(call)
        call.found(*(await self.skills.judge(call) if call.method == "resources/read" else ((), ())))

    async def _tool(self, call: Call, origin: Origin, approved: bool) -> None:
        if denied := await self._approve(call, origin, approved):
            call.finish(denied)
            call.found(())
            return
        tool, tap = self._tool_view(call.ref), self._manager.supervisor(call.ref.server).tap
        for secret in self._secret.of(tool, call.params["arguments"]):
            self._manager.learn(secret)
        await run(call, self._sender.send(call, tool))
        call.found(() if call.unchecked else await structured_problems(call, tool, tap, self._checker))

    async def _approve(self, call: Call, origin: Origin, approved: bool) -> Denied | None:
        """None when it may run; a rule that denies holds also for what was approved."""
        trusted = self._manager.config(call.ref.server).trust
        entries = self._catalog.find(call.ref)
        judgement = judge(call.ref, entries, origin=origin, trusted=trusted, rules=self._rules)
        if judgement.verdict == "allow" or (approved and judgement.verdict == "ask"):
            return None
        if judgement.verdict == "deny":
            return Denied(rule=judgement.rule, unusable=judgement.unusable)
        question = InputRequest(
            "approval", call.ref.server, f"Run {call.subject}?", subject=call.subject,
            arguments=call.params["arguments"], reasons=judgement.reasons,
        )  # fmt: skip
        call.asking = True
        call.changed.emit(call)
        try:
            answer = await self._inbox.ask(question)
        finally:
            call.asking = False
            call.changed.emit(call)
        return None if answer.action == "accept" else Denied(rule=answer.refusal)

    def _asked(self, question: InputRequest) -> None:
        """A call waits for a person, or does so no longer: it was refused, or its server asks while it runs."""
        if question.kind == "approval":
            return  # told by whoever waits for it: other calls may have the same subject
        if question in self._inbox.pending:
            asked = [call for call in self._running.values() if call.subject == question.subject]
            mine = self._waiting.setdefault(question.number, asked)
        else:
            mine = self._waiting.pop(question.number, [])
        for call in mine:
            call.asking = any(call in calls for calls in self._waiting.values())
            call.changed.emit(call)

    def _tool_view(self, ref: Ref) -> ToolView | None:
        entries = self._catalog.find(ref)
        view = entries[0].view if entries else None
        return view if isinstance(view, ToolView) else None
