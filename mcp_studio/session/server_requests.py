"""Answering what a server asks: by a rule, by the configuration, or by a person through the inbox."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Asked, RequestId
from mcp_studio.protocol.tasks import CLIENT_TASKS, ENDED, TaskStatus, has, related_task
from mcp_studio.protocol.versions import (
    EXTENSION_TASKS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META_TASK,
    METHOD_NOT_FOUND,
    USER_REJECTED,
    at_least,
)
from mcp_studio.record import record
from mcp_studio.session import late
from mcp_studio.session.connection import Connection
from mcp_studio.session.inbox import Answer, Inbox, InputRequest
from mcp_studio.session.rules import AnswerRules
from mcp_studio.session.state import Spawn

_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def undeclared(capabilities: Json, method: str, params: dict[str, Json]) -> tuple[int, str] | None:
    """Code and message of the refusal of a request that we have not declared to answer; None where it is declared.

    Specification: client/elicitation (an undeclared mode is -32602), client/sampling (tools need `sampling.tools`),
    client/roots (-32601). Methods that need no capability are not judged.
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
        # Before 2025-11-25 there were no modes: a bare object stands for forms.
        if mode not in inner and not (mode == "form" and "url" not in inner):
            return INVALID_PARAMS, f"This client has not declared elicitation in {mode[:40]} mode"
    if need == "sampling" and params.get("tools") is not None and "tools" not in inner:
        return INVALID_PARAMS, "This client has not declared sampling with tools"
    return None


class Refusal(NamedTuple):
    """A question that is answered with a JSON-RPC error; `declined` when a person or a rule said no."""

    code: int
    message: str
    declined: bool = False


def related(answer: Json | Refusal, task: str) -> Json | Refusal:
    """A result marked as belonging to a task, as everything that does must be; a refusal has no place for that."""
    if isinstance(answer, Refusal) or not isinstance(answer, dict):
        return answer
    known = cast("dict[str, Json]", answer)
    meta = known.get("_meta")
    own: dict[str, Json] = {META_TASK: {"taskId": task}}
    return {**known, "_meta": {**(mapping(meta)), **own}}


class Channel(NamedTuple):
    """What answering needs besides the inbox.

    Attributes:
        rules: answer before anybody is asked.
        note: puts a line into the trace.
        learn: told every secret before it is sent, so that the trace never has it in clear.
    """

    rules: AnswerRules
    note: Callable[[str], None]
    learn: Callable[[str], None]


def capabilities(config: ServerConfig, can_ask: bool, *, stateless: bool = False) -> dict[str, Json]:
    """The client capabilities to declare: what is really answered, or what the configuration says instead.

    Tasks are part of the core up to 2025-11-25 and an extension from then on, which needs nobody who answers.
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
    """Answers the questions of one server.

    Args:
        config: gives the server's configuration as it is now; its roots may change.
        can_ask: whether anybody, a person or rules, can be asked at all.
        subject: names the call that is most likely meant, for the dialog.
    """

    def __init__(
        self,
        config: Callable[[], ServerConfig],
        inbox: Inbox,
        limits: Limits,
        can_ask: bool,
        subject: Callable[[], str],
        channel: Channel,
    ) -> None:
        self._config = config
        self._inbox = inbox
        self._limits = limits
        self._can_ask = can_ask
        self._subject = subject
        self._channel = channel
        self._sampled = 0
        self.scripts: list[Callable[[str, dict[str, Json]], Json | Refusal | None]] = []
        """Give the answers of calls that are replayed, before any rule or person; None where they have none."""
        self.task_subjects: dict[str, str] = {}
        """What tasks of the server are for, by their ids: their questions belong to that."""

    @property
    def capabilities(self) -> dict[str, Json]:
        """What we say that we can do."""
        return capabilities(self._config(), self._can_ask)

    @property
    def stateless(self) -> dict[str, Json]:
        """The same for the stateless era."""
        return capabilities(self._config(), self._can_ask, stateless=True)

    @property
    def opens_pages(self) -> bool:
        """Whether anybody can open pages."""
        return self._can_ask and undeclared(self.capabilities, "elicitation/create", {"mode": "url"}) is None

    def call_began(self) -> None:
        """A call starts: it may make `limits.sampling` sampling requests that rules answer."""
        self._sampled = 0

    async def answer(self, method: str, params: dict[str, Json], subject: str = "") -> Json | Refusal:
        """The result to send back, or the refusal."""
        if refused := undeclared(self.capabilities, method, params):
            return Refusal(*refused)
        for script in self.scripts:
            if (given := script(method, params)) is not None:
                self._channel.note(f"{method} answered as in the recording")
                return given
        if method == "roots/list":
            return {"roots": [_root(uri, name) for uri, name in self._config().roots]}
        if method == "sampling/createMessage" and self._can_ask:
            return await self._sample(params, subject)
        if method == "elicitation/create" and self._can_ask:
            if params.get("mode", "form") == "url":
                return await self._open_page(params, subject)
            return await self._fill_form(params, subject)
        return Refusal(METHOD_NOT_FOUND, f"This client does not offer {method}")

    async def open_page(self, params: dict[str, Json], subject: str) -> Answer:
        """Have a page opened that a call needs before it can be sent again (-32042, 2025-11-25)."""
        return await self.put(self._page(params, subject, retries=True))

    async def put(self, request: InputRequest) -> Answer:
        """Put a question to the rules, then to the person; what is answered by itself stands in the trace."""
        fit = self._channel.rules.match(request)
        if fit is not None:
            if fit.rule.wait:
                await asyncio.sleep(fit.rule.wait)
            if request.kind == "sampling":
                self._sampled += 1
            if request.kind == "sampling" and self._sampled > self._limits.sampling:
                problem = f"more than {self._limits.sampling} sampling requests in one call (limits.sampling)"
                request.quiet = True
            else:
                problem = fit.problem
            if not problem and fit.rule.action != "ask":
                self._channel.note(f"{_words(request)} answered by {fit.answer.by}: {fit.answer.action}")
                self._channel.rules.answered.emit((request, fit.answer))
                return fit.answer
            if problem:
                request.note = f"{fit.answer.by} fits but was not used: {problem}"
                self._channel.note(f"{_words(request)}: {request.note}")
        answer = await self._inbox.ask(request)
        if answer.by:
            self._channel.note(f"{_words(request)} answered by {answer.by}: {answer.action}")
        return answer

    # ------------------------------------------------------------------ the three kinds

    async def _fill_form(self, params: dict[str, Json], subject: str) -> Json | Refusal:
        if params.get("mode", "form") != "form":
            return Refusal(INVALID_PARAMS, "mode must be form or url")
        schema = params.get("requestedSchema")
        if not isinstance(schema, dict):
            return Refusal(INVALID_PARAMS, "requestedSchema must be an object")
        request = InputRequest(
            "elicitation", self._config().name, _text(params, "message"), schema=cast("Json", schema),
            subject=subject or self._subject(), params=params,
        )  # fmt: skip
        given = await self.put(request)
        if given.action != "accept":
            return {"action": given.action}
        content = given.content if given.content is not None else {}
        self._learn(request.schema, content)
        return {"action": "accept", "content": content}

    async def _open_page(self, params: dict[str, Json], subject: str) -> Json | Refusal:
        if not _text(params, "url"):
            return Refusal(INVALID_PARAMS, "url must be a string")
        return {"action": (await self.put(self._page(params, subject, retries=False))).action}

    async def _sample(self, params: dict[str, Json], subject: str) -> Json | Refusal:
        if not isinstance(params.get("messages"), list):
            return Refusal(INVALID_PARAMS, "messages must be an array")
        request = InputRequest(
            "sampling", self._config().name, _last_words(params), subject=subject or self._subject(), params=params
        )  # fmt: skip
        given = await self.put(request)
        if given.action == "accept" and isinstance(given.content, dict):
            return given.content
        return Refusal(USER_REJECTED, "User rejected sampling request", declined=True)

    def _page(self, params: dict[str, Json], subject: str, *, retries: bool) -> InputRequest:
        return InputRequest(
            "url", self._config().name, _text(params, "message"), subject=subject or self._subject(), params=params,
            url=_text(params, "url"), elicitation_id=_text(params, "elicitationId"), retries=retries,
        )  # fmt: skip

    def _learn(self, schema: Json, content: Json) -> None:
        if not isinstance(content, dict):
            return
        for name in late.secrets(schema):
            if isinstance(value := content.get(name), str):
                self._channel.learn(value)


def _root(uri: str, name: str) -> dict[str, Json]:
    return {"uri": uri, "name": name} if name else {"uri": uri}


def _text(params: dict[str, Json], key: str) -> str:
    value = params.get(key)
    return value if isinstance(value, str) else ""


def _last_words(params: dict[str, Json]) -> str:
    """What the last message of a sampling request says, for lists and rules."""
    messages = cast("list[Json]", params["messages"])
    last = messages[-1] if messages and isinstance(messages[-1], dict) else {}
    content = cast("dict[str, Json]", last).get("content")
    blocks = cast("list[Json]", content) if isinstance(content, list) else [content]
    return next((_text(cast("dict[str, Json]", block), "text") for block in blocks if isinstance(block, dict)), "")[
        :500
    ]


def _words(request: InputRequest) -> str:
    return {"elicitation": "elicitation", "url": "elicitation of a page", "sampling": "sampling"}.get(
        request.kind, request.kind
    )


_CANCELLED: dict[str, Json] = {"action": "cancel"}
_NO = ("decline", "cancel")
_SPACING = 0.05
"""Seconds between two answers that say no, so that a server which asks at once again cannot drive us."""
_TELLING = 1.0
"""Seconds between two notes of how many requests got no answer."""


class _Question(NamedTuple):
    method: str
    calls: set[RequestId]
    """The calls that were open when it came: it belongs to one of them. None once its answer waits to be sent."""
    task: asyncio.Task[None]


class Questions:
    """The open questions of one connection.

    Args:
        most: how many may be open at a time; more get no answer, and are counted.
        spawn: starts a task that ends with the connection.
        note: puts a line into the trace.
    """

    def __init__(
        self, answerer: Answerer, connection: Connection, most: int, spawn: Spawn, note: Callable[[str], None]
    ) -> None:
        self._answerer = answerer
        self._connection = connection
        self._most = most
        self._spawn = spawn
        self._note = note
        self._tasks: ClientTasks | None = None
        self._open: dict[RequestId, _Question] = {}
        self._dropped = 0
        self._next_no = 0.0
        """When the next answer that says no may leave."""

    def asked(self, event: Asked) -> None:
        """A question came."""
        if len(self._open) < self._most:
            self._begin(event.id, event.method, self._connection.waiting.calls, self._answer(event))
            return
        self._connection.core.ignore(event.id)
        self._dropped += 1
        if self._dropped == 1:
            self._spawn(asyncio.sleep(_TELLING)).add_done_callback(lambda _: self._tell())

    def _tell(self) -> None:
        more = f"{self._most:,} others were open already (limits.server_requests)"
        self._note(f"{self._dropped:,} requests of the server got no answer: {more}")
        self._dropped = 0

    def _begin(self, identity: RequestId, method: str, calls: set[RequestId], work: Coroutine[Any, Any, None]) -> None:
        task = self._spawn(work)
        self._open[identity] = _Question(method, calls, task)
        task.add_done_callback(lambda _: self._forget(identity, task))

    def withdrawn(self, identity: RequestId) -> None:
        """The server no longer wants an answer."""
        if question := self._open.get(identity):
            question.task.cancel()

    def given_up(self, call: RequestId) -> None:
        """Nobody waits for a call any more: neither for what was asked on its behalf alone."""
        if self._tasks is not None:
            self._tasks.given_up(call)
        for identity, question in tuple(self._open.items()):
            if call not in question.calls:
                continue
            question.calls.discard(call)
            if question.calls:
                continue
            question.task.cancel()
            no: Json | Refusal = _CANCELLED
            if question.method != "elicitation/create":  # only elicitation has a result that says so
                no = Refusal(USER_REJECTED, "The call that needed it was cancelled")
            self._begin(identity, question.method, set(), self._reply(identity, no))

    def _forget(self, identity: RequestId, task: asyncio.Task[None]) -> None:
        if (question := self._open.get(identity)) and question.task is task:
            del self._open[identity]

    async def _answer(self, event: Asked) -> None:
        def ask() -> Coroutine[Any, Any, Json | Refusal]:
            return self._ask(event)

        tasks = self._own_tasks()
        if event.unwanted:
            answer: Json | Refusal = Refusal(INVALID_REQUEST, event.unwanted)
        elif tasks.takes(event.method, event.params):
            answer = await tasks.answer(event.method, event.params, ask)
        else:
            answer = await ask()
        if identity := related_task(event.params):
            answer = related(answer, identity)
        if question := self._open.get(event.id):
            question.calls.clear()
        await self._reply(event.id, answer)

    async def _reply(self, identity: RequestId, answer: Json | Refusal) -> None:
        if isinstance(answer, Refusal) or mapping(answer).get("action") in _NO:
            now = asyncio.get_running_loop().time()
            turn = max(self._next_no, now)
            self._next_no = turn + _SPACING
            await asyncio.sleep(turn - now)
        if isinstance(answer, Refusal):
            self._connection.refuse(identity, answer.code, answer.message)
        else:
            self._connection.respond(identity, answer)

    def _own_tasks(self) -> ClientTasks:
        if self._tasks is None:
            answerer = self._answerer
            self._tasks = late.client_tasks(self._connection, lambda: answerer.capabilities, self._most, self._spawn)
        return self._tasks

    async def _ask(self, event: Asked) -> Json | Refusal:
        self._connection.waiting.pause()
        try:
            subject = self._answerer.task_subjects.get(related_task(event.params), "")
            return await self._answerer.answer(event.method, event.params, subject)
        except StudioError as error:
            return Refusal(INTERNAL_ERROR, error.message)
        finally:
            self._connection.waiting.resume()


_TTL = 3_600.0
"""Seconds for which an answer is kept where the server wishes nothing, and at most."""
_POLL = 1_000
"""Milliseconds between two questions that we wish."""
_REQUESTS = {"elicitation/create": ("elicitation", "create"), "sampling/createMessage": ("sampling", "createMessage")}
_WAITING = "Waiting for a person to answer."

Ask = Callable[[], Awaitable[Json | Refusal]]


@record(eq=False)
class _Mine:
    """One question that became a task."""

    ttl: float
    calls: set[RequestId]
    """The calls that were open when it came: it belongs to one of them."""
    id: str = field(default_factory=lambda: os.urandom(16).hex())
    created: float = field(default_factory=time.time)
    updated: float = field(default_factory=time.time)
    status: TaskStatus = "working"
    message: str = _WAITING
    answer: Json | Refusal = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    doing: asyncio.Task[None] | None = None

    @property
    def shape(self) -> dict[str, Json]:
        """It on the wire."""
        return {
            "taskId": self.id, "status": self.status, "statusMessage": self.message, "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(self.updated), "ttl": round(self.ttl * 1000), "pollInterval": _POLL,
        }  # fmt: skip


class ClientTasks:
    """The tasks of one connection; they end with it.

    Args:
        declared: gives the capabilities that we have declared.
        most: tasks that are kept at a time; more are refused.
        spawn: starts a task that ends with the connection.
    """

    def __init__(self, connection: Connection, declared: Callable[[], Json], most: int, spawn: Spawn) -> None:
        self._connection = connection
        self._declared = declared
        self._most = most
        self._spawn = spawn
        self._mine: dict[str, _Mine] = {}

    def takes(self, method: str, params: dict[str, Json]) -> bool:
        """Whether it is for us: about a task, or a question that is to become one.

        A request that we have not declared for tasks is answered as if it did not ask for one.
        """
        if not at_least(self._connection.core.version, "2025-11-25"):
            return False
        if method in ("tasks/get", "tasks/result", "tasks/list", "tasks/cancel"):
            return has(self._declared(), "tasks")
        return isinstance(params.get("task"), dict) and has(
            self._declared(), "tasks", "requests", *_REQUESTS.get(method, ("", ""))
        )

    async def answer(self, method: str, params: dict[str, Json], ask: Ask) -> Json | Refusal:
        """The result to send back, or the refusal; `ask` puts the question."""
        self._sweep()
        if method in _REQUESTS:
            return self._create(params, ask)
        if method == "tasks/list":
            return {"tasks": [cast("Json", mine.shape) for mine in self._mine.values()]}
        mine = self._mine.get(str(params.get("taskId", "")))
        if mine is None:
            return Refusal(INVALID_PARAMS, "Failed to retrieve task: Task not found")
        match method:
            case "tasks/get":
                return mine.shape
            case "tasks/result":
                await mine.ended.wait()
                return _payload(mine)
            case "tasks/cancel":
                return self._cancel(mine)
            case _:
                return Refusal(METHOD_NOT_FOUND, "Method not found")

    def given_up(self, call: RequestId) -> None:
        """Nobody waits for a call any more: neither for what was asked on its behalf alone."""
        for mine in tuple(self._mine.values()):
            if call in mine.calls and mine.status not in ENDED:
                mine.calls.discard(call)
                if not mine.calls:
                    self._cancel(mine)

    def _create(self, params: dict[str, Json], ask: Ask) -> Json | Refusal:
        if len(self._mine) >= self._most:
            return Refusal(INTERNAL_ERROR, f"Too many tasks ({self._most})")
        wish = cast("dict[str, Json]", params["task"]).get("ttl")
        ttl = _TTL
        if isinstance(wish, (int, float)) and not isinstance(wish, bool) and wish > 0:
            ttl = min(wish, _TTL * 1000) / 1000
        mine = _Mine(ttl, self._connection.waiting.calls)
        self._mine[mine.id] = mine
        mine.doing = self._spawn(self._do(mine, ask))
        return {"task": mine.shape}

    async def _do(self, mine: _Mine, ask: Ask) -> None:
        try:
            async with asyncio.timeout(mine.ttl):
                answer = await ask()
        except TimeoutError:
            self._end(mine, "failed", "Nobody answered within its time to live.")
            mine.answer = Refusal(INTERNAL_ERROR, mine.message)
            return
        mine.answer = answer
        if isinstance(answer, Refusal):
            self._end(mine, "failed", answer.message)
        else:
            self._end(mine, "completed", "Answered.")

    def _cancel(self, mine: _Mine) -> Json | Refusal:
        if mine.status in ENDED:
            return Refusal(INVALID_PARAMS, f"Cannot cancel task: already in terminal status '{mine.status}'")
        mine.answer = Refusal(INTERNAL_ERROR, "The task was cancelled")
        self._end(mine, "cancelled", "Cancelled.")
        if mine.doing is not None:
            mine.doing.cancel()
        return mine.shape

    def _end(self, mine: _Mine, status: TaskStatus, message: str) -> None:
        mine.status, mine.message, mine.updated = status, message, time.time()
        mine.ended.set()
        self._connection.notify("notifications/tasks/status", mine.shape)

    def _sweep(self) -> None:
        """Forget what has outlived its time."""
        now = time.time()
        for mine in tuple(self._mine.values()):
            if mine.status in ENDED and now > mine.created + mine.ttl:
                del self._mine[mine.id]


def _payload(mine: _Mine) -> Json | Refusal:
    """The answer that the question would have got, marked as belonging to the task."""
    return related(mine.answer, mine.id)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
