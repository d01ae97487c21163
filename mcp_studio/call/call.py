"""One operation of a person or a program: its handle, its state and its outcome."""

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

_PUSHED = (
    r"(?i)no back-?channel|server-(initiated|to-client) request|servers do not send requests|-32021"
    r"|missing required client capabilit"
)
"""Phrases of SDKs' errors when a server's code still sends a request to the client, which 2026-07-28 does not have."""
CANCELLING = 2.0
"""Seconds for telling a server that a call, or its task, is no longer wanted."""
_READ = 2_000
"""Characters of each text of a failed tool that are searched."""


@record(frozen=True)
class CallOutcome:
    """The facts that every outcome has."""

    ms: float = 0.0
    """Milliseconds from sending to the outcome, with the time in which a person was asked."""
    asked_ms: float = 0.0
    """Milliseconds of these in which a person was asked."""
    size: int = 0
    """Bytes of the frame with the answer."""
    request_id: int | str | None = None
    violations: tuple[SchemaProblem, ...] = ()
    """The places where `structuredContent` does not match the tool's outputSchema (server/tools#output-schema)."""
    problems: tuple[str, ...] = ()
    """Sentences on what is wrong with the answer, which is shown nevertheless."""
    notes: tuple[str, ...] = ()
    """Sentences on what a person should know about the answer."""
    sensitive: Mapping[str, int] = field(default_factory=lambda: {})
    """The number of secrets and personal data of each kind that the result filter found."""


@record(frozen=True)
class Succeeded(CallOutcome):
    """The server answered with a result."""

    result: Json = None
    """The raw `result` of the response."""
    hint: Hint | None = None
    """The server's caching hint (2026-07-28); None where it gave none."""
    cached: Cached | None = None
    """The age and hint of a result from the cache; None for an answer of the server."""


@record(frozen=True)
class ToolFailed(CallOutcome):
    """The tool ran and reports a failure (`isError`)."""

    result: Json = None


@record(frozen=True)
class Rejected(CallOutcome):
    """The server refused the request with a JSON-RPC error."""

    code: int = 0
    """The error code; 0 where the server sent an invalid result instead of an error."""
    message: str = ""
    data: Json = None

    @property
    def said(self) -> str:
        """Message and code of the error; foreign text."""
        return refusal(self.code, self.message) if self.code else self.message


@record(frozen=True)
class Denied(CallOutcome):
    """A rule or a person refused the call before anything was sent."""

    rule: str = ""
    unusable: bool = False
    """Whether nobody could approve the call, because the tool's definition forbids it."""


@record(frozen=True)
class Cancelled(CallOutcome):
    """A person cancelled the call."""


@record(frozen=True)
class InBackground(CallOutcome):
    """A person stopped waiting for the call, which continues at the server as a task."""

    task: str = ""
    """The task's id."""


@record(frozen=True)
class TimedOut(CallOutcome):
    """No answer came within the deadline; `limit` names it in words."""

    limit: str = ""


@record(frozen=True)
class Lost(CallOutcome):
    """There is no usable answer: the connection failed, or the answer cannot be read."""

    error: StudioError = StudioError("")
    sent: bool = False
    """Whether the request was sent, so that the server may have done the work."""
    alternatives: tuple[str, ...] = ()
    """Group members to retry on; a retry may do the work twice."""


OUTCOMES: dict[type[CallOutcome], str] = {
    Succeeded: "ok", ToolFailed: "tool error", Rejected: "refused", Denied: "not sent", Cancelled: "cancelled",
    InBackground: "task", TimedOut: "timed out", Lost: "lost",
}  # fmt: skip
"""The names of outcomes."""
ANSWERED = (Succeeded, ToolFailed, Rejected)
"""Outcomes with an answer of the server."""
SAID = 200
"""Characters of the line about an outcome."""


def _texts(result: Json) -> Iterator[str]:
    blocks = (mapping(block).get("text") for block in items_of(mapping(result).get("content")))
    return (text for text in blocks if isinstance(text, str))


def said_of(outcome: CallOutcome) -> str:
    """The reason why a call was not a success, in one line; empty where it was."""
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
    """Whether a call failed because the server still sends requests to the client, which `era = "legacy"` supports."""
    if not status.modern:
        return False
    if isinstance(outcome, Rejected):
        needed = mapping(mapping(outcome.data).get("requiredCapabilities"))
        if outcome.code == MISSING_CAPABILITY:
            return needed.keys() <= mapping(status.declared).keys()  # no era brings capabilities that we lack
        return bool(re.search(_PUSHED, outcome.message[:_READ]))
    return isinstance(outcome, ToolFailed) and any(re.search(_PUSHED, text[:_READ]) for text in _texts(outcome.result))


class Ended(Exception):
    """Carries an outcome to the code that runs the call and adds its time."""

    def __init__(self, outcome: CallOutcome) -> None:
        super().__init__(type(outcome).__name__)
        self.outcome = outcome


_MOST = 20
_BLOCKS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri",),
}
"""The types of content blocks (specification, server/tools), with the keys that they need."""


def problems_of(method: str, result: Json) -> tuple[str, ...]:
    """The problems of a result of tools/call, resources/read or prompts/get."""
    if not isinstance(result, dict) or method not in _PARTS:
        return ()
    answer, (member, check) = mapping(result), _PARTS[method]
    items, found = answer.get(member), list[str]()
    if "isError" in answer and method == "tools/call" and not isinstance(answer["isError"], bool):
        found.append("isError is neither true nor false.")
    if not isinstance(items, list):
        return (*found, f"The result has no array {member}.")
    for index, item in enumerate(cast("list[Json]", items)):
        found += [f"{member}[{index}]{text}" for text in check(item)]
        if len(found) >= _MOST:
            break
    return tuple(found[:_MOST])


def _block(block: Json) -> list[str]:
    """The problems of a content block, each to follow its place in a sentence."""
    if not isinstance(block, dict):
        return [" is not an object."]
    known = cast("dict[str, Json]", block)
    kind = known.get("type")
    if not isinstance(kind, str) or kind not in _BLOCKS:
        return [f" has the unknown type {str(kind)[:40]!r}."]
    return [f" of type {kind} has no {key}." for key in _BLOCKS[kind] if key not in known]


def _message(message: Json) -> list[str]:
    """The problems of a prompt's message."""
    known = mapping(message)
    if known.get("role") not in ("user", "assistant"):
        return [" has no role user or assistant."]
    return [f".content{text}" for text in _block(known.get("content"))]


def _contents(contents: Json) -> list[str]:
    """The problems of a resource's content."""
    known = mapping(contents)
    if not isinstance(known.get("uri"), str):
        return [" has no uri."]
    readable = isinstance(known.get("text"), (str, memoryview)) or isinstance(known.get("blob"), (str, memoryview))
    return [] if readable else [" has neither text nor blob."]


_PARTS = {
    "tools/call": ("content", _block),
    "resources/read": ("contents", _contents),
    "prompts/get": ("messages", _message),
}
"""The array in the result of a method, and the check of its items."""


class Attempt(NamedTuple):
    """A server of a group that could not serve a call."""

    server: str
    why: str


Method = Literal["tools/call", "resources/read", "prompts/get"]


@record(eq=False)
class Call:
    """A running or finished call; `changed` fires on progress, on questions to the person, and at the end."""

    ref: Ref
    method: Method
    params: dict[str, Json]
    started: float = field(default_factory=time.monotonic)
    progress: Progress | None = None
    outcome: CallOutcome | None = None
    asking: bool = False
    """Whether the call waits for a person."""
    approved_by: str = ""
    """Who approved the call where a rule asked for it: `you`, `another terminal`, `beforehand`."""
    asked_at: float = 0.0
    """Monotonic time since which the call waits for a person."""
    asked_ms: float = 0.0
    """Milliseconds in which a person was asked since the call was sent."""
    answered: bool = False
    """Whether the server has answered a request of the call, at least by asking for input."""
    changed: Signal[Call] = field(default_factory=lambda: Signal())
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the check of the result is over too."""
    task: asyncio.Task[None] | None = None
    fresh: bool = False
    """Whether the server must be asked, although the cache may have an answer."""
    unchecked: bool = False
    """Whether the check against the tool's outputSchema is skipped, because the call is one of many."""
    sendings: int = 0
    """The number of requests that were sent: more than one where the server asked for input."""
    timeouts: Timeouts | None = None
    """Deadlines of this call; None uses those of the server."""
    wants_task: bool = False
    """Whether the call should become a task where the tool leaves that to the caller."""
    ttl: float | None = None
    """Seconds for which the server should keep the task; None leaves it to the server."""
    as_task: Task | None = None
    """The present state of the call's task, if it has become one."""
    parts: bool = False
    """Whether large texts and structured content stay JSON text in the result, each a `memoryview`."""
    let_go: bool = False
    """Whether nobody waits for the task any more, which continues nevertheless."""
    failover: bool = False
    """Whether the caller allows that another server of the group takes the call after its answer was lost."""
    stays: bool = False
    """Whether no other server may take the call, whatever happens."""
    moves: bool = False
    """Whether another server may take the call after it was sent, by the tool, a rule or the caller."""
    patience: float | None = None
    """Seconds of silence after which another server takes the call; None to wait for the deadlines."""
    replaceable: Callable[[], bool] = bool
    """Returns whether another server is ready for the call now."""
    tried: tuple[Attempt, ...] = ()
    """The servers of the group that did not serve the call, in order."""
    request: RequestId | None = None
    """The id of the newest request of the call."""
    number: int = 0
    """The trace's number of that request, once it is answered."""
    under: int = 0
    """The trace's number of the entry that the call is made for, such as a workflow's step."""
    ruled: int = 0
    """The number of requests of the server that rules have answered during the call."""

    @property
    def seconds(self) -> float:
        """Seconds that the call has run so far, or ran."""
        return self.outcome.ms / 1000 if self.outcome else time.monotonic() - self.started

    def cancel(self) -> None:
        """Stop waiting and tell the server; the outcome becomes `Cancelled`."""
        if self.outcome is None and self.task is not None:
            self.task.cancel()

    def leave(self) -> bool:
        """Stop waiting for the call's task, which continues; False where there is no such task."""
        if self.outcome is not None or self.as_task is None:
            return False
        self.let_go = True
        self.changed.emit(self)
        return True

    async def wait(self) -> CallOutcome:
        """Wait for the outcome."""
        if self.task is not None:
            await self.over.wait()
        return self.outcome or Cancelled()

    async def join(self) -> CallOutcome:
        """Wait for the outcome; if the caller is cancelled, cancel the call and tell the server before returning."""
        try:
            return await self.wait()
        finally:
            self.cancel()
            if self.outcome is None and self.task is not None:
                await asyncio.wait((self.task,), timeout=CANCELLING)

    def on_progress(self, done: float, total: float | None, message: str) -> None:
        """Record progress from the session."""
        self.progress = Progress(done, total, message, time.monotonic())
        self.changed.emit(self)

    def on_asking(self, now: bool) -> None:
        """Record that the call waits for a person now, or no longer."""
        at = time.monotonic()
        if self.asking:
            self.asked_ms += (at - self.asked_at) * 1000
        self.asking, self.asked_at = now, at
        self.changed.emit(self)

    def on_id(self, identity: RequestId) -> None:
        """Record the id of the request that is about to be sent."""
        self.request = identity

    def on_sent(self) -> None:
        """Record that the request was sent."""
        self.sendings += 1

    def move(self, server: str, why: str) -> None:
        """Move the call to another server of the group."""
        self.tried += (Attempt(self.ref.server, why),)
        self.ref = self.ref._replace(server=server)
        self.answered, self.request, self.as_task = False, None, None
        self.sendings, self.number, self.patience = 0, 0, None
        self.changed.emit(self)

    def finish(self, outcome: CallOutcome) -> None:
        """Set the outcome."""
        self.outcome = outcome
        self.changed.emit(self)

    def found(
        self, problems: tuple[str, ...], notes: tuple[str, ...] = (), violations: tuple[SchemaProblem, ...] = ()
    ) -> None:
        """Add the findings of the result's check, which ends the call for good."""
        self.over.set()
        if (problems or notes or violations) and self.outcome is not None:
            all_problems, all_notes = (*self.outcome.problems, *problems), (*self.outcome.notes, *notes)
            self.outcome = replace(self.outcome, problems=all_problems, notes=all_notes, violations=violations)
        self.changed.emit(self)

    def ended(self, task: asyncio.Task[None]) -> None:
        """Record the end of the task that runs the call: however it came, the call gets an outcome."""
        if self.outcome is None:
            error = None if task.cancelled() else task.exception()
            if error is not None and not isinstance(error, StudioError):
                said = f"The call failed in an unexpected way ({type(error).__name__})."
                error = StudioError(said, hint="The log has more.")
            self.finish(Lost(error=error) if error is not None else Cancelled())
        if not self.over.is_set():
            self.found(())


def outcome_of(method: str, reply: Reply, ms: float, asked_ms: float = 0.0) -> CallOutcome:
    """The outcome of an answer; an invalid result is kept and shown, but is not a success."""
    event = reply.event
    facts: dict[str, Any] = {"ms": ms, "asked_ms": asked_ms, "size": reply.size, "request_id": reply.request_id}
    if not isinstance(event, Answered):
        return Rejected(**facts, problems=event.problems, code=event.code, message=event.message, data=event.data)
    if event.problems:
        return Rejected(**facts, problems=event.problems, message="The server's result is invalid.", data=event.result)
    kind = ToolFailed if method == "tools/call" and mapping(event.result).get("isError") is True else Succeeded
    return kind(**facts, result=event.result, problems=problems_of(method, event.result))


def failure_of(call: Call, error: BaseException) -> CallOutcome:
    """The outcome of a call without an answer."""
    match error:
        case Ended():
            return error.outcome
        case Declined():
            return Cancelled(problems=(error.message,))
        case DeadlinePassed():
            return TimedOut(limit=error.limit)
        case StudioError():
            # Unreachable but not lost: the transport reached nobody to send to. Or HTTP turned the request away.
            nobody = isinstance(error, Unreachable) and not isinstance(error, ConnectionLost)
            nobody = nobody or (error.http is not None and error.http.refused)
            return Lost(request_id=call.request, error=error, sent=call.sendings > 0 and not nobody)
        case _:
            return Cancelled()
