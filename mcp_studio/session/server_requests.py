"""Answers to the questions of a server: by a rule, by the configuration, or by a person through the inbox.

A server asks by requests up to 2025-11-25 (`PendingQuestions`), perhaps as tasks of ours (`ClientTasks`), and by
results since 2026-07-28 (`drive`). All of them use the `Answerer`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from mcp_studio.config.model import Root, ServerConfig
from mcp_studio.errors import ConnectionLost, LimitExceeded, ProtocolError, StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import MB, Limits
from mcp_studio.protocol.events import Answered, Asked, Refused, RequestId
from mcp_studio.protocol.tasks import CLIENT_TASKS, ENDED, TaskStatus, has, related_task, timestamp
from mcp_studio.protocol.versions import (
    EXTENSION_TASKS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META_TASK,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    USER_REJECTED,
    at_least,
)
from mcp_studio.protocol.views import text_of
from mcp_studio.record import record
from mcp_studio.session.connection import Connection, Reply
from mcp_studio.session.inbox import Answer, InputRequest, QuestionKind
from mcp_studio.session.rules import secrets
from mcp_studio.session.state import Spawn
from mcp_studio.trace.server_tap import ServerTap

if TYPE_CHECKING:
    from mcp_studio.session.manager import ConnectionManager
    from mcp_studio.session.supervisor import Supervisor

T = TypeVar("T")
CANCELLED: dict[str, Json] = {"action": "cancel"}
_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
_ROUND_PAUSE = 0.05
_STATE = 8 * MB
"""Characters of the longest `requestState` that is sent back; each round holds it several times."""
_PAGES = 10
"""Pages of one refusal that a person is asked about."""
_TTL = 3_600
"""Seconds for which a task of ours is kept, whatever the server wishes; questions to a person expire earlier."""
carrier: ContextVar[RequestId | None] = ContextVar("carrier", default=None)
"""The request of ours on whose stream the question at hand came, where that is known (Streamable HTTP)."""
question_key: ContextVar[str] = ContextVar("question_key", default="")
"""The key under which a server wants the answer to the question at hand (2026-07-28)."""
_AS_TASKS = {"elicitation/create": ("elicitation", "create"), "sampling/createMessage": ("sampling", "createMessage")}


def undeclared(capabilities: Json, method: str, params: dict[str, Json]) -> tuple[int, str] | None:
    """The code and message that refuse a request beyond our declared capabilities; None where it is declared.

    Specification: client/elicitation (an undeclared mode is -32602), client/sampling (tools need `sampling.tools`),
    client/roots (-32601). Methods that need no capability are not refused.
    """
    known = mapping(capabilities)
    need = "tasks" if method.startswith("tasks/") else _NEEDS.get(method, "")
    if not need:
        return None
    if need not in known:
        return METHOD_NOT_FOUND, f"This client has not declared {need}, so it does not answer {method}"
    inner = mapping(known[need])
    if need == "elicitation":
        mode = str(params.get("mode") or "form")
        # Before 2025-11-25 there were no modes: an empty object means forms.
        if mode not in inner and not (mode == "form" and "url" not in inner):
            return INVALID_PARAMS, f"This client has not declared elicitation in {mode[:40]} mode"
    if need == "sampling" and params.get("tools") is not None and "tools" not in inner:
        return INVALID_PARAMS, "This client has not declared sampling with tools"
    return None


class Refusal(NamedTuple):
    """A JSON-RPC error as the answer to a question; `declined` says who said no, or that nobody answered."""

    code: int
    message: str
    declined: str = ""


class Declined(StudioError):
    """A call's question was declined, for which the protocol has no answer (2026-07-28, sampling)."""


def _capabilities(config: ServerConfig, can_ask: bool, *, stateless: bool = False) -> dict[str, Json]:
    """The client capabilities to declare: those that are really answered, or those of the configuration.

    Tasks are part of the core up to 2025-11-25 and later an extension, which needs no person.
    """
    if isinstance(config.capabilities, dict):
        return cast("dict[str, Json]", config.capabilities)
    tasks: dict[str, Json] = {"extensions": {EXTENSION_TASKS: {}}} if stateless else {"tasks": CLIENT_TASKS}
    if not can_ask:
        roots: dict[str, Json] = {"roots": {"listChanged": True}} if config.roots else {}
        return {**roots, **tasks} if stateless else roots
    return {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {"tools": {}, "context": {}},
        "roots": {"listChanged": True},
        **tasks,
    }


class Answerer:
    """Answers the questions of one server."""

    def __init__(self, supervisor: Supervisor, manager: ConnectionManager) -> None:
        self._supervisor = supervisor
        self._manager = manager
        self._can_ask = manager.can_ask
        self.sampled = 0
        """Sampling requests that rules have answered since the first of the running calls began."""
        self.scripts: list[Callable[[str, dict[str, Json]], Json | Refusal | None]] = []
        """Functions that give the answers of replayed calls, before any rule or person; None where they have none."""
        self.roots: Callable[[dict[str, Json]], Awaitable[tuple[Root, ...] | None]] | None = None
        """Returns the roots of the calling client, where it is known; otherwise those of the configuration are used."""
        self.subject_of_task: Callable[[str], str] = lambda identity: ""
        """Returns the subject of a server's task by its id, to which the task's questions belong."""

    @property
    def capabilities(self) -> dict[str, Json]:
        """Our declared capabilities."""
        return _capabilities(self._supervisor.config, self._can_ask)

    @property
    def stateless(self) -> dict[str, Json]:
        """Our declared capabilities in the stateless era."""
        return _capabilities(self._supervisor.config, self._can_ask, stateless=True)

    @property
    def opens_pages(self) -> bool:
        """Whether a person can open pages."""
        return self._can_ask and undeclared(self.capabilities, "elicitation/create", {"mode": "url"}) is None

    async def answer(self, method: str, params: dict[str, Json], subject: str = "") -> Json | Refusal:
        """The result to send back, or a refusal."""
        if refused := undeclared(self.capabilities, method, params):
            return Refusal(*refused)
        for script in self.scripts:
            if (scripted := script(method, params)) is not None:
                self._note(f"{method} answered as in the recording")
                return scripted
        if method == "roots/list":
            own = await self.roots(params) if self.roots else None
            roots = self._supervisor.config.roots if own is None else own
            return {"roots": [{"uri": one.uri, "name": one.name} if one.name else {"uri": one.uri} for one in roots]}
        if method == "sampling/createMessage" and self._can_ask:
            return await self._sample(params, subject)
        if method == "elicitation/create" and self._can_ask:
            if params.get("mode", "form") != "url":
                return await self._fill_form(params, subject)
            if not text_of(params, "url"):
                return Refusal(INVALID_PARAMS, "url must be a string")
            return {"action": (await self.open_page(params, subject, retries=False)).action}
        return Refusal(METHOD_NOT_FOUND, f"This client does not offer {method}")

    async def open_page(self, params: dict[str, Json], subject: str, *, retries: bool = True) -> Answer:
        """Ask the person to open a page; `retries` if a call needs it before it can be sent again (-32042)."""
        url, identity = text_of(params, "url"), text_of(params, "elicitationId")
        message = text_of(params, "message")
        return await self._put("url", message, params, subject, url=url, elicitation_id=identity, retries=retries)

    async def _fill_form(self, params: dict[str, Json], subject: str) -> Json | Refusal:
        if params.get("mode", "form") != "form":
            return Refusal(INVALID_PARAMS, "mode must be form or url")
        schema = params.get("requestedSchema")
        if not isinstance(schema, dict):
            return Refusal(INVALID_PARAMS, "requestedSchema must be an object")
        message, schema = text_of(params, "message"), cast("Json", schema)
        answer = await self._put("elicitation", message, params, subject, schema=schema)
        if answer.action != "accept":
            return {"action": answer.action}
        content = answer.content if answer.content is not None else {}
        for name in secrets(schema):  # secrets must never be in the trace in clear
            if isinstance(value := mapping(content).get(name), str):
                self._manager.redactor.learn(value)
        return {"action": "accept", "content": content}

    async def _sample(self, params: dict[str, Json], subject: str) -> Json | Refusal:
        if not isinstance(params.get("messages"), list):
            return Refusal(INVALID_PARAMS, "messages must be an array")
        answer = await self._put("sampling", _last_message(params), params, subject)
        if answer.action == "accept" and isinstance(answer.content, dict):
            return answer.content
        why = answer.by if answer.by.startswith("nobody") else f"declined by {answer.by or 'you'}"
        return Refusal(USER_REJECTED, "User rejected sampling request", why)

    async def _put(
        self, kind: QuestionKind, message: str, params: dict[str, Json], subject: str, **more: Any
    ) -> Answer:
        """Ask the rules, then the person; answers of rules are noted in the trace.

        Args:
            subject: the call that the question belongs to; by default the newest one.
        """
        name, calls = self._supervisor.config.name, self._supervisor.calls
        subject = subject or (calls[-1] if calls else "")
        request = InputRequest(kind, name, message, subject=subject, params=params, **more)
        what = "elicitation of a page" if request.kind == "url" else request.kind
        fit = self._manager.rules.match(request)
        if fit is not None:
            if fit.rule.wait:
                await asyncio.sleep(fit.rule.wait)
            problem = fit.problem
            if request.kind == "sampling":
                self.sampled += 1
                most = self._manager.limits.sampling
                if self.sampled > most:
                    problem = f"more than {most} sampling requests in one call (limits.sampling)"
                    request.quiet = True
            if not problem and fit.rule.action != "ask":
                self._note(f"{what} answered by {fit.answer.by}: {fit.answer.action}")
                self._manager.rules.answered.emit((request, fit.answer))
                return fit.answer
            if problem:
                request.note = f"{fit.answer.by} fits but was not used: {problem}"
                self._note(f"{what}: {request.note}")
        answer = await self._manager.inbox.ask(request)
        if answer.by:
            self._note(f"{what} answered by {answer.by}: {answer.action}")
        return answer

    def _note(self, text: str) -> None:
        self._supervisor.tap.note(text)


def _last_message(params: dict[str, Json]) -> str:
    """The text of a sampling request's last message, for lists and rules."""
    content = mapping((items_of(params["messages"]) or [None])[-1]).get("content")
    blocks = cast("list[Json]", content) if isinstance(content, list) else [content]
    texts = (text_of(mapping(block), "text") for block in blocks if isinstance(block, dict))
    return next(texts, "")[:500]


# ---------------------------------------------------------------------- requests of the server, up to 2025-11-25


@record(eq=False)
class _Question:
    """A question of a server, in a request or in a task of ours that a request became."""

    method: str
    calls: set[RequestId]
    """The calls that were open when the question came, of which it belongs to one."""
    work: asyncio.Task[Any] | None
    abandoned: bool = False
    """Whether nobody waits any more for the call that the question may belong to."""

    @property
    def no(self) -> Json | Refusal:
        """The answer to a question that nobody needs; only elicitation has a result for this."""
        if self.method == "elicitation/create":
            return CANCELLED
        return Refusal(USER_REJECTED, "The call that needed it was cancelled")


class PendingQuestions:
    """The open questions of one connection.

    Args:
        most: the most open questions; further ones get no answer, which is noted.
        spawn: starts a task that ends with the connection.
    """

    def __init__(self, answerer: Answerer, connection: Connection, most: int, spawn: Spawn, tap: ServerTap) -> None:
        self._answerer = answerer
        self._connection = connection
        self._most = most
        self._spawn = spawn
        self._tap = tap
        self._tasks = ClientTasks(connection, answerer, most, spawn)
        self._requests: dict[RequestId, asyncio.Task[None]] = {}
        self._questions: list[_Question] = []
        self._dropped = False

    def asked(self, event: Asked) -> None:
        """Start answering a question."""
        if len(self._requests) < self._most:
            span = self._tap.carrier
            self._requests[event.id] = task = self._spawn(self._answer(event, span and span.request.id))
            task.add_done_callback(partial(self._forget, event.id))
            return
        self._connection.core.ignore(event.id)
        if not self._dropped:
            self._dropped = True
            self._tap.note(f"{self._most:,} requests of it are open: more get no answer (limits.server_requests)")

    def _forget(self, identity: RequestId, task: asyncio.Task[None]) -> None:
        if self._requests.get(identity) is task:  # otherwise the server withdrew it and reused its id
            del self._requests[identity]

    def withdrawn(self, identity: RequestId) -> None:
        """Stop answering a question that the server withdrew."""
        if task := self._requests.get(identity):
            task.cancel()

    def given_up(self, call: RequestId) -> None:
        """Stop answering questions that belong only to a call that nobody waits for any more."""
        for question in self._questions:
            if question.calls == {call} and question.work is not None:
                question.abandoned = True
                question.work.cancel()
            question.calls.discard(call)

    async def _answer(self, event: Asked, request: RequestId | None) -> None:
        carrier.set(request)
        if event.unwanted:
            answer: Json | Refusal = Refusal(INVALID_REQUEST, event.unwanted)
        elif self._tasks.takes(event.method, event.params):
            answer = await self._tasks.answer(event.method, event.params, lambda: self._ask(event))
        else:
            answer = await self._ask(event)
        if identity := related_task(event.params):
            answer = _related(answer, identity)
        if isinstance(answer, Refusal):
            self._connection.refuse(event.id, answer.code, answer.message)
        else:
            self._connection.respond(event.id, answer)

    async def _ask(self, event: Asked) -> Json | Refusal:
        question = _Question(event.method, self._connection.calls, asyncio.current_task())
        self._questions.append(question)
        self._connection.pause()
        try:
            subject = self._answerer.subject_of_task(related_task(event.params))
            return await self._answerer.answer(event.method, event.params, subject)
        except StudioError as error:
            return Refusal(INTERNAL_ERROR, error.message)
        except asyncio.CancelledError:
            if question.abandoned:
                return question.no
            raise
        finally:
            self._connection.resume()
            self._questions.remove(question)


def _related(answer: Json | Refusal, task: str) -> Json | Refusal:
    """A result marked as part of a task, as the specification demands; a refusal has no place for the mark."""
    if isinstance(answer, Refusal) or not isinstance(answer, dict):
        return answer
    known = cast("dict[str, Json]", answer)
    return {**known, "_meta": {**mapping(known.get("_meta")), META_TASK: {"taskId": task}}}


@record(eq=False)
class _ClientTask:
    """A question that became a task of ours."""

    id: str = field(default_factory=lambda: os.urandom(16).hex())
    created: float = field(default_factory=time.time)
    updated: float = field(default_factory=time.time)
    status: TaskStatus = "working"
    answer: Json | Refusal = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    doing: asyncio.Task[None] | None = None

    @property
    def shape(self) -> dict[str, Json]:
        """The task object for the wire."""
        return {
            "taskId": self.id, "status": self.status, "createdAt": timestamp(self.created),
            "lastUpdatedAt": timestamp(self.updated), "ttl": _TTL * 1000,
        }  # fmt: skip


class ClientTasks:
    """The questions of one connection that became tasks of ours (2025-11-25); they end with the connection.

    Args:
        most: the most tasks; further ones are refused.
        spawn: starts a task that ends with the connection.
    """

    def __init__(self, connection: Connection, answerer: Answerer, most: int, spawn: Spawn) -> None:
        self._connection = connection
        self._answerer = answerer
        self._most = most
        self._spawn = spawn
        self._tasks: dict[str, _ClientTask] = {}

    def takes(self, method: str, params: dict[str, Json]) -> bool:
        """Whether a request is about a task, or asks to become one.

        A task that we have not declared for the method is ignored, and the request answered normally.
        """
        if not at_least(self._connection.core.version, "2025-11-25"):
            return False
        declared = self._answerer.capabilities
        if method in ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel"):
            return has(declared, "tasks")
        path = _AS_TASKS.get(method, ("", ""))
        return isinstance(params.get("task"), dict) and has(declared, "tasks", "requests", *path)

    async def answer(
        self, method: str, params: dict[str, Json], ask: Callable[[], Awaitable[Json | Refusal]]
    ) -> Json | Refusal:
        """The result to send back, or the refusal; `ask` puts the question."""
        oldest = time.time() - _TTL
        self._tasks = {key: one for key, one in self._tasks.items() if one.status not in ENDED or one.created > oldest}
        if method in _AS_TASKS:
            return self._create(ask)
        if method == "tasks/list":
            return {"tasks": [cast("Json", task.shape) for task in self._tasks.values()]}
        task = self._tasks.get(str(params.get("taskId", "")))
        if task is None:
            return Refusal(INVALID_PARAMS, "Failed to retrieve task: Task not found")
        if method == "tasks/get":
            return task.shape
        if method == "tasks/cancel":
            return self._cancel(task)
        await task.ended.wait()
        return _related(task.answer, task.id)

    def _create(self, ask: Callable[[], Awaitable[Json | Refusal]]) -> Json | Refusal:
        if len(self._tasks) >= self._most:
            return Refusal(INTERNAL_ERROR, f"Too many tasks ({self._most})")
        task = _ClientTask()
        self._tasks[task.id] = task
        task.doing = self._spawn(self._do(task, ask))
        return {"task": task.shape}

    async def _do(self, task: _ClientTask, ask: Callable[[], Awaitable[Json | Refusal]]) -> None:
        task.answer = await ask()
        self._end(task, "failed" if isinstance(task.answer, Refusal) else "completed")

    def _cancel(self, task: _ClientTask) -> Json | Refusal:
        if task.status in ENDED:
            return Refusal(INVALID_PARAMS, f"Cannot cancel task: already in terminal status '{task.status}'")
        task.answer = Refusal(INTERNAL_ERROR, "The task was cancelled")
        self._end(task, "cancelled")
        if task.doing is not None:
            task.doing.cancel()
        return task.shape

    def _end(self, task: _ClientTask, status: TaskStatus) -> None:
        task.status, task.updated = status, time.time()
        task.ended.set()
        self._connection.notify("notifications/tasks/status", task.shape)


# ---------------------------------------------------------------------- results that ask for input, refusals that ask
# for pages


async def drive(
    params: dict[str, Json],
    send: Callable[[dict[str, Json]], Awaitable[Reply]],
    answerer: Answerer,
    limits: Limits,
    subject: str,
    ended: asyncio.Future[StudioError | None],
) -> Reply:
    """Send a request, and answer its rounds of input, until the server is satisfied.

    Specification 2026-07-28, client/multi-round: a new id each time, `inputResponses` keyed as asked, `requestState`
    unchanged; a round with state alone is retried at once.

    Args:
        ended: settled when the connection ends, which ends all questions.

    Raises:
        ConnectionLost: the connection ended during a question.
        ProtocolError: the server asked for something undeclared, or for nothing at all.
        LimitExceeded: the server asked for more than `limits.rounds` rounds, or for too much at once.
    """
    current = params
    for round in range(limits.rounds + 1):
        reply = await send(current)
        needed = mapping(reply.event.result) if isinstance(reply.event, Answered) else {}
        if needed.get("resultType") != "input_required":
            return reply
        if round < limits.rounds:  # nobody is asked for input that will not be sent
            current = await _while_connected(_next_round(params, needed, answerer, limits, subject), ended)
    raise LimitExceeded(f"The server asked for more than {limits.rounds} rounds of input.", limit="rounds")


async def _next_round(
    params: dict[str, Json], needed: dict[str, Json], answerer: Answerer, limits: Limits, subject: str
) -> dict[str, Json]:
    questions, state = mapping(needed.get("inputRequests")), needed.get("requestState")
    if len(questions) > limits.server_requests:
        text = f"The server asks for {len(questions):,} things at once (limits.server_requests)."
        raise LimitExceeded(text, limit="server_requests")
    if isinstance(state, str) and len(state) > _STATE:
        raise ProtocolError(f"The server wants {len(state):,} characters of requestState sent back: too many.")
    following = dict(params)

    async def answer(request: dict[str, Json]) -> Json:
        method = str(request.get("method", ""))
        found = await answerer.answer(method, mapping(request.get("params")), subject)
        if isinstance(found, Refusal):
            if found.declined:
                raise Declined(f"The call needs {method}: {found.declined}.")
            raise ProtocolError(f"The server asked for {method or 'nothing'}: {found.message}.")
        return found

    if questions:
        following["inputResponses"] = await answers_to(questions, answer)
    elif state is None:
        raise ProtocolError("The server requests input but says neither which nor gives a state to go on with.")
    else:
        await asyncio.sleep(_ROUND_PAUSE)
    if state is not None:
        following["requestState"] = state
    return following


async def answers_to(questions: dict[str, Json], answer: Callable[[dict[str, Json]], Awaitable[T]]) -> dict[str, T]:
    """Put questions that a server asks together: all are open at once. What `answer` raises withdraws the others."""

    async def one(key: str) -> T:
        question_key.set(key)
        return await answer(mapping(questions[key]))

    tasks = [asyncio.ensure_future(one(key)) for key in questions]
    try:
        return dict(zip(questions, await asyncio.gather(*tasks), strict=True))
    finally:
        for task in tasks:
            task.cancel()


async def opened_pages(refused: Refused, connection: Connection, answerer: Answerer, subject: str) -> bool:
    """Whether a request was refused because of pages that a person has opened now, so that it can be sent again."""
    if refused.code != URL_ELICITATION_REQUIRED or not answerer.opens_pages:
        return False
    found = [mapping(item) for item in items_of(mapping(refused.data).get("elicitations"))]
    pages = [item for item in found if item.get("mode", "url") == "url" and isinstance(item.get("url"), str)]
    try:
        return await _while_connected(_opened(pages[:_PAGES], answerer, subject), connection.ended)
    except StudioError:
        if connection.ended.done():
            return False
        raise


async def _opened(pages: list[dict[str, Json]], answerer: Answerer, subject: str) -> bool:
    for page in pages:
        if (await answerer.open_page(page, subject)).action != "accept":
            return False
    return bool(pages)


async def _while_connected(asking: Coroutine[Any, Any, T], ended: asyncio.Future[StudioError | None]) -> T:
    """Wait for answers as long as the connection lives.

    Raises:
        ConnectionLost: the connection ended first.
    """
    task = asyncio.ensure_future(asking)
    try:
        await asyncio.wait((task, ended), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ended.result() or ConnectionLost("The connection was closed.")
        return task.result()
    finally:
        task.cancel()
