"""Tasks of both eras: `bind_edition` becomes one where the client can follow it.

Up to 2025-11-25 tasks are part of the core, in 2026-07-28 an extension. The SDK knows nothing of either, so the call is
answered before it gets to the SDK's own handling.
"""

from __future__ import annotations

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
from mcp_studio.servers.demo.bindery import FORM, POLL, QUESTION, Bindery, Binding
from mcp_studio.servers.demo.tool import problems
from mcp_studio.servers.demo.tools.running import BIND, BINDING

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
            question = {"mode": "form", "message": QUESTION, "requestedSchema": FORM}
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
    params = types.ElicitRequestFormParams(message=QUESTION, requested_schema=FORM, _meta=meta)
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
