"""One operation that a person or a program wants: its handle, and how it runs."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Literal, NamedTuple, cast

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol.events import Answered, RequestId, refusal
from mcp_studio.protocol.versions import MISSING_CAPABILITY, Cached, Hint
from mcp_studio.record import record
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.session.connection import DeadlinePassed, Reply
from mcp_studio.session.server_requests import Declined
from mcp_studio.session.state import Progress, Status
from mcp_studio.session.tasks import Task
from mcp_studio.signal import Signal

_PUSHED = re.compile(
    r"(?i)no back-?channel|server-(initiated|to-client) request|servers do not send requests|-32021"
    r"|missing required client capabilit"
)
"""What servers say, by their SDK, when their code still asks by a request, which 2026-07-28 does not have."""
CANCELLING = 2.0
"""Seconds for telling a server that a call, or the task that it became, is not wanted any more."""
_READ = 2_000
"""Characters of each text of a failed tool that are looked at."""


@record(frozen=True)
class CallOutcome:
    """What every outcome knows."""

    ms: float = 0.0
    """From sending to the outcome, in milliseconds, the time in which a person was asked included."""
    asked_ms: float = 0.0
    """Of these, for how long a person was asked."""
    size: int = 0
    """Bytes of the frame that held the answer."""
    request_id: int | str | None = None
    violations: tuple[SchemaProblem, ...] = ()
    """Where `structuredContent` does not match the tool's outputSchema (server/tools#output-schema)."""
    problems: tuple[str, ...] = ()
    """What is wrong with the answer, in words; an answer with problems is still shown."""
    notes: tuple[str, ...] = ()
    """What is good to know about the answer, in words."""
    sensitive: Mapping[str, int] = field(default_factory=lambda: {})
    """How many secrets and personal data of each kind the filter of results found in it."""


@record(frozen=True)
class Succeeded(CallOutcome):
    """The server answered with a result."""

    result: Json = None
    """The raw `result` of the response."""
    hint: Hint | None = None
    """What the server says about keeping it (2026-07-28); None where it says nothing."""
    cached: Cached | None = None
    """It was not asked for now: how old it is."""


@record(frozen=True)
class ToolFailed(CallOutcome):
    """The tool ran and says that it failed (`isError`)."""

    result: Json = None


@record(frozen=True)
class Rejected(CallOutcome):
    """The server refused the request with a JSON-RPC error."""

    code: int = 0
    """0 where no error came, but a result that is none."""
    message: str = ""
    data: Json = None

    @property
    def said(self) -> str:
        """Message and code; foreign text."""
        return refusal(self.code, self.message) if self.code else self.message


@record(frozen=True)
class Denied(CallOutcome):
    """A rule or a person said no before anything was sent."""

    rule: str = ""
    unusable: bool = False
    """Nobody could approve it: the tool's definition forbids that it is called."""


@record(frozen=True)
class Cancelled(CallOutcome):
    """A person stopped it."""


@record(frozen=True)
class InBackground(CallOutcome):
    """A person let go of it; at the server it goes on as a task."""

    task: str = ""
    """The task's id."""


@record(frozen=True)
class TimedOut(CallOutcome):
    """No answer within the deadline; `limit` says which, in words."""

    limit: str = ""


@record(frozen=True)
class Lost(CallOutcome):
    """There is no usable answer: the connection failed, or what came cannot be read."""

    error: StudioError = StudioError("")
    sent: bool = False
    """It had left: whether the server did the work is unknown."""
    members: tuple[str, ...] = ()
    """The servers of the group that could take the call, where nobody knows whether that does the work twice."""


OUTCOMES: dict[type[CallOutcome], str] = {
    Succeeded: "ok", ToolFailed: "tool error", Rejected: "refused", Denied: "not sent", Cancelled: "stopped",
    InBackground: "task", TimedOut: "timed out", Lost: "lost",
}  # fmt: skip
"""What outcomes are called."""
ANSWERED = (Succeeded, ToolFailed, Rejected)
"""The outcomes of what the server has answered."""
SAID = 200
"""Characters of a line about an outcome."""


def _texts(result: Json) -> Iterator[str]:
    blocks = (mapping(block).get("text") for block in items_of(mapping(result).get("content")))
    return (text for text in blocks if isinstance(text, str))


def said_of(outcome: CallOutcome) -> str:
    """Why a call was no success, on a line; empty where it was."""
    match outcome:
        case ToolFailed(result=result):
            said = next((text for text in _texts(result) if text.strip()), "")
        case Rejected(code=code, message=message):
            said = f"{code} {message}" if code and message else outcome.said
        case Denied(rule=rule):
            said = rule
        case TimedOut(limit=limit):
            said = f"no answer within {limit}"
        case Lost(error=error):
            said = error.message
        case InBackground(task=task):
            said = task
        case _:
            said = ""
    return " ".join(said[: 4 * SAID].split())[:SAID]


def wants_handshake(outcome: CallOutcome, status: Status) -> bool:
    """Whether it failed since the server still pushes elicitation, sampling or roots: `era = "legacy"` has those."""
    if not status.modern:
        return False
    if isinstance(outcome, Rejected):
        needed = mapping(mapping(outcome.data).get("requiredCapabilities"))
        if outcome.code == MISSING_CAPABILITY:
            return needed.keys() <= mapping(status.declared).keys()  # what we do not have no era brings
        return bool(_PUSHED.search(outcome.message[:_READ]))
    return isinstance(outcome, ToolFailed) and any(_PUSHED.search(text[:_READ]) for text in _texts(outcome.result))


class Ended(Exception):
    """Carries the outcome to whoever runs the call; its time is put in there."""

    def __init__(self, outcome: CallOutcome) -> None:
        super().__init__(type(outcome).__name__)
        self.outcome = outcome


_MOST = 20
_MEMBERS = {"tools/call": "content", "resources/read": "contents", "prompts/get": "messages"}
_BLOCKS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri",),
}
"""Content block types (specification, server/tools) and the keys that they must have."""


def problems_of(method: str, result: Json) -> tuple[str, ...]:
    """What the result of tools/call, resources/read or prompts/get lacks or has wrong."""
    if not isinstance(result, dict):
        return ()
    answer = mapping(result)
    flawed = method == "tools/call" and not isinstance(answer.get("isError", False), bool)
    found = ["isError is neither true nor false."] if flawed else []
    member = _MEMBERS.get(method)
    items = answer.get(member) if member else []
    if not isinstance(items, list):
        return (*found, f"The result has no array {member}.")
    for index, item in enumerate(cast("list[Json]", items)):
        known = mapping(item)
        if member == "content":
            wrong = _block(item)
        elif member == "messages" and known.get("role") in ("user", "assistant"):
            wrong = [f".content{text}" for text in _block(known.get("content"))]
        elif member == "messages":
            wrong = [" has no role user or assistant."]
        elif not isinstance(known.get("uri"), str):
            wrong = [" has no uri."]
        else:
            readable = isinstance(known.get("text"), str) or isinstance(known.get("blob"), str)
            wrong = [] if readable else [" has neither text nor blob."]
        found += [f"{member}[{index}]{text}" for text in wrong]
        if len(found) >= _MOST:
            break
    return tuple(found[:_MOST])


def _block(block: Json) -> list[str]:
    """What is wrong with a content block, as what follows its place."""
    if not isinstance(block, dict):
        return [" is not an object."]
    known = cast("dict[str, Json]", block)
    kind = known.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        return [f" has the unknown type {str(kind)[:40]!r}."]
    return [f" of type {kind} has no {key}." for key in _BLOCKS[kind] if key not in known]


class Attempt(NamedTuple):
    """A member of a group that could not serve a call."""

    server: str
    why: str


Method = Literal["tools/call", "resources/read", "prompts/get"]


@record(eq=False)
class Call:
    """A running or finished call; `changed` fires on progress, on being asked about, and at the end."""

    ref: Ref
    method: Method
    params: dict[str, Json]
    started: float = field(default_factory=time.monotonic)
    progress: Progress | None = None
    outcome: CallOutcome | None = None
    asking: bool = False
    """Waits for a person."""
    approved_by: str = ""
    """Who let it run, where a rule wanted that: `you`, `another terminal`, `beforehand`."""
    asked_at: float = 0.0
    """Monotonic time since which it does."""
    asked_ms: float = 0.0
    """For how long a person was asked since it was sent, in milliseconds."""
    answered: bool = False
    """The server has answered a request of it, if only by asking for input."""
    changed: Signal[Call] = field(default_factory=lambda: Signal())
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with the end of it all: nothing more will be found out about the result."""
    task: asyncio.Task[None] | None = None
    fresh: bool = False
    """The server is to be asked, whatever is kept of an earlier answer."""
    unchecked: bool = False
    """Its result is not compared with the tool's outputSchema: it is one of very many."""
    sendings: int = 0
    """Requests that were sent for it: more than one where the server wanted input first."""
    timeouts: Timeouts | None = None
    """Deadlines of this call alone; where None, those of the server hold."""
    wants_task: bool = False
    """It is to become a task where the tool leaves that to the caller."""
    ttl: float | None = None
    """Seconds for which the server is asked to keep the task; None leaves it to the server."""
    as_task: Task | None = None
    """The task that it has become, as it is now."""
    let_go: bool = False
    """Nobody waits for the task any more, and it is not to be cancelled."""
    failover: bool = False
    """The caller allows that it goes to another member of the group although its answer was lost."""
    stays: bool = False
    """It goes to no other member, whatever happens."""
    moves: bool = False
    """It may go to another member although it was sent: its tool says so, a rule or the caller."""
    patience: float | None = None
    """Seconds after which it goes there where its server says nothing; None where it has to wait."""
    replaceable: Callable[[], bool] = bool
    """Whether another member is ready for it now."""
    tried: tuple[Attempt, ...] = ()
    """The members of the group that did not serve it, in their order."""
    request: RequestId | None = None
    """The id of the newest request that was sent for it."""
    number: int = 0
    """Where the trace has that, once it is answered."""
    under: int = 0
    """Where it has what the call is made for: a step of a workflow."""

    @property
    def seconds(self) -> float:
        """How long it runs, or ran."""
        return self.outcome.ms / 1000 if self.outcome else time.monotonic() - self.started

    def cancel(self) -> None:
        """Stop waiting and tell the server; the outcome becomes `Cancelled`."""
        if self.outcome is None and self.task is not None:
            self.task.cancel()

    def leave(self) -> bool:
        """Let a task go on without anybody who waits for it; False where there is no task to let go of."""
        if self.outcome is not None or self.as_task is None:
            return False
        self.let_go = True
        self.changed.emit(self)
        return True

    async def wait(self) -> CallOutcome:
        """The outcome, once there is one."""
        if self.task is not None:
            await self.over.wait()
        return self.outcome or Cancelled()

    async def join(self) -> CallOutcome:
        """The same; if who waits is cancelled, so is the call, and the server is told before this ends."""
        try:
            return await self.wait()
        finally:
            self.cancel()
            if self.outcome is None and self.task is not None:
                await asyncio.wait((self.task,), timeout=CANCELLING)

    def on_progress(self, done: float, total: float | None, message: str) -> None:
        """Take progress from the session."""
        self.progress = Progress(done, total, message, time.monotonic())
        self.changed.emit(self)

    def on_asking(self, now: bool) -> None:
        """A person is asked something before it can go on, or no longer."""
        at = time.monotonic()
        if self.asking:
            self.asked_ms += (at - self.asked_at) * 1000
        self.asking, self.asked_at = now, at
        self.changed.emit(self)

    def on_id(self, identity: RequestId) -> None:
        """Learn from the session under which id it is about to be sent."""
        self.request = identity

    def on_sent(self) -> None:
        """Learn from the session that it has left."""
        self.sendings += 1

    def move(self, server: str, why: str) -> None:
        """Go on to another member of the group."""
        self.tried += (Attempt(self.ref.server, why),)
        self.ref = self.ref._replace(server=server)
        self.answered, self.request, self.as_task = False, None, None
        self.sendings, self.number, self.patience = 0, 0, None
        self.changed.emit(self)

    def finish(self, outcome: CallOutcome) -> None:
        """Settle the outcome."""
        self.outcome = outcome
        self.changed.emit(self)

    def found(
        self, problems: tuple[str, ...], notes: tuple[str, ...] = (), violations: tuple[SchemaProblem, ...] = ()
    ) -> None:
        """Add what checking the result found, once it is known."""
        self.over.set()
        if (problems or notes or violations) and self.outcome is not None:
            all_problems, all_notes = (*self.outcome.problems, *problems), (*self.outcome.notes, *notes)
            self.outcome = replace(self.outcome, problems=all_problems, notes=all_notes, violations=violations)
        self.changed.emit(self)

    def ended(self, task: asyncio.Task[None]) -> None:
        """The task that runs it is over: however that came, the call ends with an outcome."""
        if self.outcome is None:
            error = None if task.cancelled() else task.exception()
            if error is not None and not isinstance(error, StudioError):
                said = f"The call failed in an unexpected way ({type(error).__name__})."
                error = StudioError(said, hint="The log has more.")
            self.finish(Lost(error=error) if error is not None else Cancelled())
        if not self.over.is_set():
            self.found(())


def outcome_of(method: str, reply: Reply, ms: float, asked_ms: float = 0.0) -> CallOutcome:
    """What an answer means; an invalid result is kept and shown, but is no success."""
    event = reply.event
    facts: dict[str, Any] = {"ms": ms, "asked_ms": asked_ms, "size": reply.size, "request_id": reply.request_id}
    if not isinstance(event, Answered):
        return Rejected(**facts, problems=event.problems, code=event.code, message=event.message, data=event.data)
    if event.problems:
        return Rejected(**facts, problems=event.problems, message="The server's result is invalid.", data=event.result)
    kind = ToolFailed if method == "tools/call" and mapping(event.result).get("isError") is True else Succeeded
    return kind(**facts, result=event.result, problems=problems_of(method, event.result))


def failure_of(call: Call, error: BaseException) -> CallOutcome:
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
            return Lost(request_id=call.request, error=error, sent=call.sendings > 0 and not nobody)
        case _:
            return Cancelled()
