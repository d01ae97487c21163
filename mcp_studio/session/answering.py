"""Answering what a server asks: by a rule, by the configuration, or by a person through the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, cast

from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.tasks import CLIENT_TASKS
from mcp_studio.protocol.versions import EXTENSION_TASKS, INVALID_PARAMS, META_TASK, METHOD_NOT_FOUND, USER_REJECTED
from mcp_studio.session import late
from mcp_studio.session.declared import undeclared
from mcp_studio.session.inbox import Answer, Inbox, InputRequest
from mcp_studio.session.rules import AnswerRules


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
