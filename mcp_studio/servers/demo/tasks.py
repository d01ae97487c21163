"""Tasks of both eras: `bind_edition` becomes one where the client can follow it.

Up to 2025-11-25 tasks are part of the core, in 2026-07-28 an extension. The SDK knows nothing of either, so the call is
answered before it gets to the SDK's own handling.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict

from mcp_studio.servers.demo import content
from mcp_studio.servers.demo.content import LISTS, problems
from mcp_studio.servers.demo.tools import COLOUR, QUESTIONS

BIND = "bind_edition"
BINDING: dict[str, Any] = next(tool["inputSchema"] for tool in LISTS["tools"] if tool["name"] == BIND)

TTL = 600.0
"""Seconds for which finished work is kept."""
POLL = 0.5
"""Seconds between two questions that the bindery wishes."""
_MOST = 200


@dataclass(eq=False, slots=True)
class Binding:
    """Some copies being bound, one after the other; half of the way in the colour may have to be asked."""

    copies: int
    pace: float
    """Seconds a copy."""
    asks: bool
    id: str = field(default_factory=lambda: os.urandom(12).hex())
    created: float = field(default_factory=time.time)
    colour: str = ""
    answered: float = 0.0
    cancelled: bool = False

    @property
    def _worked(self) -> float:
        """Seconds of work so far: the time that it waited for an answer does not count."""
        half = self.copies * self.pace / 2
        if not self.asks:
            return time.time() - self.created
        if self.colour:
            return half + time.time() - self.answered
        return min(half, time.time() - self.created)

    @property
    def bound(self) -> int:
        """Copies that are done."""
        return self.copies if not self.pace else min(self.copies, int(self._worked / self.pace))

    @property
    def status(self) -> str:
        """One of the five states of a task."""
        if self.cancelled:
            return "cancelled"
        if self.asks and not self.colour and self._worked >= self.copies * self.pace / 2:
            return "input_required"
        return "completed" if self.bound >= self.copies and (self.colour or not self.asks) else "working"

    @property
    def message(self) -> str:
        """What it says of itself."""
        if self.status == "input_required":
            return COLOUR
        return f"{self.bound} of {self.copies} copies bound"

    @property
    def left(self) -> float:
        """Seconds until it is done, if nothing is asked."""
        return max(0.0, self.copies * self.pace - self._worked)

    def answer(self, colour: str) -> None:
        """Take the colour; work goes on."""
        if not self.colour:
            self.colour, self.answered = colour if colour in ("red", "green", "blue") else "plain", time.time()

    def words(self) -> str:
        """What came of it."""
        cover = f" in {self.colour}" if self.colour else ""
        return f"{self.copies} copies are bound{cover}."

    def shape(self, *, modern: bool) -> dict[str, Any]:
        """It as a task on the wire."""
        ttl, poll = ("ttlMs", "pollIntervalMs") if modern else ("ttl", "pollInterval")
        return {
            "taskId": self.id, "status": self.status, "statusMessage": self.message,
            "createdAt": _iso(self.created), "lastUpdatedAt": _iso(time.time()),
            ttl: round(TTL * 1000), poll: round(POLL * 1000),
        }  # fmt: skip


class Bindery:
    """All work, of all clients: who knows the id of a task may ask for it."""

    def __init__(self) -> None:
        self._work: dict[str, Binding] = {}

    def begin(self, copies: int, pace: float, asks: bool) -> Binding:
        """Start binding."""
        now = time.time()
        self._work = {key: work for key, work in self._work.items() if now < work.created + TTL}
        while len(self._work) >= _MOST:
            del self._work[next(iter(self._work))]
        work = Binding(copies, pace, asks)
        self._work[work.id] = work
        return work

    def find(self, identity: object) -> Binding | None:
        """The work of that id, as long as it is kept."""
        work = self._work.get(identity) if isinstance(identity, str) else None
        return work if work is not None and time.time() < work.created + TTL else None

    def all(self) -> list[Binding]:
        """All work that is kept."""
        return [work for work in self._work.values() if self.find(work.id)]


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
MISSING_CAPABILITY = -32021
CORE = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
"""What is declared up to 2025-11-25."""

Context = ServerRequestContext[Any, Any]


class Params(BaseModel):
    """The parameters of every `tasks/…` request."""

    model_config = ConfigDict(extra="allow")
    taskId: str = ""
    inputResponses: dict[str, Any] = {}


class TaskDesk:
    """Answers `tasks/…`, and the calls that become tasks."""

    def __init__(self) -> None:
        self._bindery = Bindery()

    def add_to(self, server: Server[Any]) -> None:
        """Register everything."""
        server.middleware.append(self)
        server.extensions[EXTENSION] = {}
        for method, handler in {
            "tasks/get": self.get, "tasks/cancel": self.cancel, "tasks/update": self.update,
            "tasks/result": self.result, "tasks/list": self.list,
        }.items():  # fmt: skip
            server.add_request_handler(method, Params, handler)

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Make a call a task where it may become one."""
        params = ctx.params or {}
        args: dict[str, Any] = params.get("arguments") or {}
        wanted = _declared(ctx) if _modern(ctx) else isinstance(params.get("task"), dict)
        if ctx.method != "tools/call" or params.get("name") != BIND or not wanted or problems(BINDING, args):
            return await call_next(ctx)
        work = self._bindery.begin(args.get("copies", 5), args.get("seconds_per_copy", 1), args.get("ask", False))
        if _modern(ctx):
            return {"resultType": "task", **work.shape(modern=True)}
        return {"task": work.shape(modern=False)}

    async def get(self, ctx: Context, params: Params) -> HandlerResult:
        """tasks/get; in the extension with what is asked, or with the result."""
        work = self._find(ctx, params)
        shape = work.shape(modern=_modern(ctx))
        if _modern(ctx) and shape["status"] == "input_required":
            question = {"mode": "form", "message": COLOUR, "requestedSchema": QUESTIONS["colour"]}
            shape["inputRequests"] = {"colour": {"method": "elicitation/create", "params": question}}
        elif _modern(ctx) and shape["status"] == "completed":
            shape["result"] = {"resultType": "complete", **content.result(work.words())}
        return shape

    async def cancel(self, ctx: Context, params: Params) -> HandlerResult:
        """tasks/cancel."""
        work = self._find(ctx, params)
        if work.status == "completed" and not _modern(ctx):
            raise MCPError(types.INVALID_PARAMS, "Cannot cancel task: already in terminal status 'completed'")
        work.cancelled = work.status != "completed"
        return {} if _modern(ctx) else work.shape(modern=False)

    async def update(self, ctx: Context, params: Params) -> HandlerResult:
        """tasks/update: what was asked is answered (extension)."""
        work = self._find(ctx, params)
        if not _modern(ctx):
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
        if "colour" in params.inputResponses:
            _answered(work, params.inputResponses["colour"])
        return {}

    async def result(self, ctx: Context, params: Params) -> HandlerResult:
        """tasks/result: asks what has to be asked, and blocks until the work is over (core)."""
        work = self._find(ctx, params)
        if _modern(ctx):
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
        while work.status in ("working", "input_required"):
            if work.status == "input_required":
                await _ask(ctx, work)
            else:
                await anyio.sleep(min(POLL, work.left) or POLL)
        if work.status == "cancelled":
            raise MCPError(types.INTERNAL_ERROR, "The work was cancelled")
        return {**content.result(work.words()), "_meta": {RELATED: {"taskId": work.id}}}

    async def list(self, ctx: Context, params: Params) -> HandlerResult:
        """tasks/list (core)."""
        if _modern(ctx):
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
        return {"tasks": [work.shape(modern=False) for work in self._bindery.all()]}

    def _find(self, ctx: Context, params: Params) -> Binding:
        if _modern(ctx) and not _declared(ctx):
            needs = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(MISSING_CAPABILITY, "Missing required client capability", needs)
        work = self._bindery.find(params.taskId)
        if work is None:
            raise MCPError(types.INVALID_PARAMS, "Failed to retrieve task: Task not found")
        return work


async def _ask(ctx: Context, work: Binding) -> None:
    """Ask for the colour on the stream of `tasks/result`."""
    if not ctx.session.can_send_request:
        work.answer("")
        return
    meta: Any = {RELATED: {"taskId": work.id}}
    params = types.ElicitRequestFormParams(message=COLOUR, requested_schema=QUESTIONS["colour"], _meta=meta)
    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    answer = await ctx.session.send_request(types.ElicitRequest(params=params), types.ElicitResult, metadata=metadata)
    _answered(work, answer.model_dump(by_alias=True))


def _answered(work: Binding, answer: Any) -> None:
    """Take an answer; whoever cancels the question cancels the work, whoever declines leaves the cover plain."""
    if not isinstance(answer, dict) or answer.get("action") == "cancel":
        work.cancelled = True
    else:
        work.answer(str((answer.get("content") or {}).get("colour", "")))


def _modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def _declared(ctx: Context) -> bool:
    """Whether the client says that it follows extension tasks."""
    known = ctx.session.client_capabilities
    return known is not None and EXTENSION in (known.extensions or {})
