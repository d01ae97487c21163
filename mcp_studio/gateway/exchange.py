"""One request of a client and its call: progress and log messages go to the client, and so do the server's questions.

A client of the handshake era gets questions as requests while its own request is open. A client of the stateless era
gets `input_required` and comes back with answers; then the call begins anew with all answers so far, in any process of
the gateway. If a server of the handshake era asks during its work, the call waits instead.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from hashlib import sha256
from typing import Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from mcp_studio.call.call import Call, CallOutcome
from mcp_studio.gateway.clients import Client, Session, can
from mcp_studio.jsontext import Json, dumps, mapping, pretty
from mcp_studio.protocol.versions import EXTENSION_TASKS, META_LOG_LEVEL
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.logs import rank_of
from mcp_studio.session.server_requests import question_key
from mcp_studio.urls import judge

Context = ServerRequestContext[Any, Any]
_LOGS = 100
"""Log messages that wait for a client; the oldest of more are dropped."""
_LAST = 1.0
"""Seconds for sending the last progress before the answer."""
_SHOWN = 2_000
"""Characters of a question, and of the arguments of a call, that a client gets."""

current: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The exchange for which the current task runs."""


def stateless(ctx: Context) -> bool:
    """Whether a request belongs to the stateless era."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


class _Answer(BaseModel):
    """Any result of a client."""

    model_config = ConfigDict(extra="allow")


class Exchange:
    """One request of a client that becomes a call to a server."""

    def __init__(self, ctx: Context, client: Client, session: Session | None, answers: Mapping[str, Json]) -> None:
        self.id = os.urandom(16).hex()
        self.client = client
        self.session = session
        self.call: Call | None = None
        self.result_of: Callable[[CallOutcome | None], dict[str, Any]] = lambda outcome: {}
        """Makes the client's answer from an outcome."""
        self.stateless = stateless(ctx)
        self.holds = self.stateless
        """Whether questions wait until the client fetches them."""
        self.follows = self.stateless and EXTENSION_TASKS in (capabilities(ctx).extensions or {})
        """Whether the client supports calls that become tasks."""
        self.related: dict[str, Any] = {}
        """The `_meta` that marks a question as belonging to a task."""
        self.asked: dict[str, InputRequest] = {}
        """The questions that the client has to answer, by their keys."""
        self.answers = dict(answers)
        """All that it has answered so far, by the marks of the questions."""
        self.repeatable = True
        """Whether the call may begin anew: no question so far came in the middle of a server's work."""
        self.lacks_sampling = False
        """Whether a server wants sampling, which the client does not declare."""
        self._ctx = ctx
        self._counts: Counter[str] = Counter()
        self._marks: dict[str, str] = {}
        """By the keys of questions."""
        self._news = asyncio.Event()
        self._telling: asyncio.Future[None] | None = None
        self._waited = False
        """Whether the client waits for this very request."""
        self._seen: object = None
        self._logs: deque[tuple[str, str, Json]] = deque(maxlen=_LOGS)

    @property
    def running(self) -> Call:
        """The call; only after `start`."""
        assert self.call is not None
        return self.call

    def start(self, begin: Callable[[], Call]) -> None:
        """Begin the call; requests of servers during the call belong to this exchange."""
        token = current.set(self)
        try:
            self.call = begin()
        finally:
            current.reset(token)
        self.call.changed.connect(self._changed)

    async def wait(self) -> CallOutcome | None:
        """The outcome of the call; None if the client has to answer questions first, or gets a task now."""
        call, self._waited = self.running, True
        self._tell_soon()
        try:
            while call.outcome is None:  # findings after the outcome are for the trace alone
                if self.stateless and (self.asked or (self.follows and call.as_task)):
                    return None
                await self._news.wait()
                self._news.clear()
            if self._telling is not None:
                await asyncio.wait((self._telling,), timeout=_LAST)
            return call.outcome
        finally:
            self._waited = False
            if self._telling is not None:
                self._telling.cancel()

    def resume(self, ctx: Context, answers: Mapping[str, Json]) -> None:
        """The client has come back with answers."""
        self._ctx = ctx
        for key in self.asked.keys() & answers.keys():
            self.answers[self._marks[key]] = answers[key]
            _settle(self.asked.pop(key), answers[key])

    def hear(self, ctx: Context) -> None:
        """The client waits now: send it the waiting questions, and later ones, with this request."""
        self._ctx, self.holds = ctx, False
        requests, self.asked = self.asked, {}
        for request in requests.values():
            self._put(request)

    @property
    def questions(self) -> dict[str, Any]:
        """The questions for the client, as members of `input_required`."""
        return {key: {"method": _method(one), "params": _params(one)} for key, one in self.asked.items()}

    @property
    def state(self) -> str:
        """What it takes to go on, when the client comes back."""
        return json.dumps({"id": self.id, "answers": self.answers, "marks": self._marks, "again": self.repeatable})

    # ------------------------------------------------------------------ news of the studio

    def log(self, level: str, logger: str, data: Json) -> None:
        """Send a log message to the client while the call runs, if the client wants its level."""
        level_of = self.session.level if self.session else "info"
        wanted = (self._ctx.meta or {}).get(META_LOG_LEVEL) if self.stateless else level_of
        if isinstance(wanted, str) and rank_of(level) >= rank_of(wanted):
            self._logs.append((level or "info", safe(logger, 200), data))
            self._tell_soon()

    def ask(self, request: InputRequest, begins_anew: bool) -> bool:
        """Put a question to the client; returns False if the client cannot answer this kind.

        Args:
            begins_anew: whether the call may begin anew after this question.
        """
        kind = "elicitation" if request.kind == "approval" else request.kind
        if not can(capabilities(self._ctx), kind):
            self.lacks_sampling = self.stateless and kind == "sampling"
            return False
        if request.kind == "url" and (request.retries or judge(request.url).refusal):
            return False  # the refusal that asks for a page goes to the client as it is
        mark, key = self._mark(request), question_key.get()
        if (given := self.answers.get(mark)) is not None:
            _settle(request, given)
            return True
        self.repeatable = self.repeatable and begins_anew
        if not self.holds:
            self._put(request)
            return True
        key = key if key and key not in self.asked else mark
        self.asked[key], self._marks[key] = request, mark
        request.reply.add_done_callback(lambda _: self.asked.pop(key, None))
        self._news.set()
        return True

    def _put(self, request: InputRequest) -> None:
        asking = asyncio.ensure_future(self._ask(request))
        request.reply.add_done_callback(lambda _: asking.cancel())

    def _mark(self, request: InputRequest) -> str:
        """The same for the same question each time that the call begins anew."""
        parts: Json = [request.kind, request.server, request.subject, request.message, request.schema, request.url]
        digest = sha256(dumps(parts)).hexdigest()[:16]
        self._counts[digest] += 1
        return f"{request.kind}-{digest}-{self._counts[digest]}"

    def _changed(self, call: Call) -> None:
        self._tell_soon()
        self._news.set()

    # ------------------------------------------------------------------ to the client

    def _tell_soon(self) -> None:
        news = self._logs or self.running.progress is not self._seen
        if news and self._waited and (self._telling is None or self._telling.done()):
            self._telling = asyncio.ensure_future(self._tell())

    async def _tell(self) -> None:
        """Send the newest progress and the waiting log messages; a client that reads slowly misses some."""
        session, call = self._ctx.session, self.running
        while self._logs or call.progress is not self._seen:
            if (progress := call.progress) is not None and progress is not self._seen:
                self._seen = progress
                await session.report_progress(progress.done, progress.total, safe(progress.message) or None)
            while self._logs:
                level, logger, data = self._logs.popleft()
                params = types.LoggingMessageNotificationParams(level=cast("Any", level), data=data, logger=logger)
                await session.send_notification(types.LoggingMessageNotification(params=params), self._ctx.request_id)

    async def _ask(self, request: InputRequest) -> None:
        """Send a question to a client of the handshake era as a request."""
        models = {"sampling": types.CreateMessageRequest, "roots": types.ListRootsRequest}
        metadata = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        try:
            params = _params(request) | ({"_meta": self.related} if self.related else {})
            raw = {"method": _method(request), "params": params}
            question = models.get(request.kind, types.ElicitRequest).model_validate(raw, by_name=False)
            channel = self._ctx.session
            result = await channel.send_request(cast("types.ServerRequest", question), _Answer, metadata=metadata)
        except (MCPError, ValidationError) as error:
            request.answer("decline", by=f"nobody answered: {safe(error, 200)}")
        else:
            _settle(request, cast("Json", result.model_dump()))


def capabilities(ctx: Context) -> types.ClientCapabilities:
    """The capabilities that the client of a request declares."""
    return ctx.session.client_capabilities or types.ClientCapabilities()


def _method(request: InputRequest) -> str:
    return {"sampling": "sampling/createMessage", "roots": "roots/list"}.get(request.kind, "elicitation/create")


def _params(request: InputRequest) -> dict[str, Any]:
    """The parameters of a question. Its text first names the server, which no server can hide."""
    if request.kind == "roots":
        return {}
    if request.kind == "sampling":
        return {key: value for key, value in request.params.items() if key not in ("_meta", "task")}
    if request.kind == "approval":
        arguments = safe(pretty(request.arguments), _SHOWN, lines=True)
        why = safe(", ".join(request.reasons), _SHOWN)
        message = f"mcp-studio: run {safe(request.subject, 200)}?\n{why}\n{arguments}"
        return {"mode": "form", "message": message, "requestedSchema": {"type": "object", "properties": {}}}
    message = f"{safe(request.server, 100)} asks: {safe(request.message, _SHOWN, lines=True)}"
    if request.kind == "url":
        return {
            "mode": "url", "message": message, "url": request.url,
            "elicitationId": request.elicitation_id or str(request.number),
        }  # fmt: skip
    return {"mode": "form", "message": message, "requestedSchema": request.schema}


def _settle(request: InputRequest, answer: Json) -> None:
    """Answer a request of a server with the client's answer."""
    known = mapping(answer)
    if request.kind in ("sampling", "roots"):
        accepted = ("content" if request.kind == "sampling" else "roots") in known
        return request.answer("accept" if accepted else "decline", cast("Json", known) if accepted else None)
    action = known.get("action")
    if action == "accept":
        request.answer("accept", known.get("content"), by="the client" if request.kind == "approval" else "")
    else:
        request.answer("decline" if action == "decline" else "cancel", by="the client's person")
