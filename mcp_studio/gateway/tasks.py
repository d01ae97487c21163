"""Calls that continue as tasks, for clients of both eras (2025-11-25, tasks; extension io.modelcontextprotocol/tasks).

A client of the handshake era asks for a task. For a client of the stateless era that supports tasks, a call becomes a
task when it becomes one at its server. This process holds the tasks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from pydantic import BaseModel, ConfigDict

from mcp_studio.call.call import Cancelled
from mcp_studio.gateway.clients import Client
from mcp_studio.gateway.directory import Offer
from mcp_studio.gateway.exchange import Context, Exchange, capabilities, stateless
from mcp_studio.gateway.gateway import Gateway
from mcp_studio.jsontext import mapping
from mcp_studio.protocol.tasks import timestamp
from mcp_studio.protocol.versions import EXTENSION_TASKS, HEADER_MISMATCH, META_TASK, MISSING_CAPABILITY
from mcp_studio.record import record
from mcp_studio.safetext import safe

CORE: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
"""The capabilities that are declared up to 2025-11-25."""
_TTL = 3_600.0
"""Seconds for which a task is stored at most, whatever its client asks for."""
_POLL = 500
"""Milliseconds between two polls that we ask clients for."""
_OF_HANDSHAKE, _OF_STATELESS = ("tasks/result", "tasks/list"), ("tasks/update",)
_MOST = 100
"""Tasks of one client at most."""
Target = Callable[[Context], tuple[Offer, dict[str, Any]] | None]
"""Returns the offer and arguments of a request that calls a tool of a server, or else None."""


class Params(BaseModel):
    """The parameters of every `tasks/…` request."""

    model_config = ConfigDict(extra="allow")
    taskId: str = ""
    inputResponses: dict[str, Any] = {}


@record(eq=False)
class GatewayTask:
    """A call whose client does not wait for the answer."""

    client: Client
    exchange: Exchange
    ttl: float
    id: str = field(default_factory=lambda: os.urandom(16).hex())
    created: float = field(default_factory=time.time)

    @property
    def over(self) -> bool:
        return self.exchange.running.over.is_set()

    @property
    def status(self) -> str:
        call = self.exchange.running
        if self.over:
            if isinstance(call.outcome, Cancelled):
                return "cancelled"
            try:
                return "failed" if self.result().get("isError") else "completed"
            except MCPError:
                return "failed"
        return "input_required" if self.exchange.asked else "working"

    def result(self) -> dict[str, Any]:
        """The result of the task.

        Raises:
            MCPError: the task ended with an error.
        """
        return self.exchange.result_of(self.exchange.running.outcome)

    def shape(self, modern: bool) -> dict[str, Any]:
        """The task as a JSON object of the protocol."""
        call = self.exchange.running
        said = call.as_task.message if call.as_task else call.progress.message if call.progress else ""
        ttl, poll = ("ttlMs", "pollIntervalMs") if modern else ("ttl", "pollInterval")
        message = {"statusMessage": str(safe(said))} if said else {}
        return {
            "taskId": self.id, "status": self.status, **message, "createdAt": timestamp(self.created),
            "lastUpdatedAt": timestamp(time.time()), ttl: round(self.ttl * 1000), poll: _POLL,
        }  # fmt: skip


class TaskDesk:
    """Answers `tasks/…` requests, and starts the calls that a client of the handshake era wants as tasks."""

    def __init__(self, gateway: Gateway, target: Target) -> None:
        self._gateway = gateway
        self._target = target
        self._tasks: dict[str, GatewayTask] = {}
        gateway.on_task = self._became

    def add_to(self, server: Server[Any]) -> None:
        """Register the handlers, the middleware and the extension."""
        server.middleware.append(self)
        server.extensions[EXTENSION_TASKS] = {}
        for method, handler in {
            "tasks/get": self._get, "tasks/cancel": self._cancel, "tasks/update": self._update,
            "tasks/result": self._result, "tasks/list": self._list,
        }.items():  # fmt: skip
            server.add_request_handler(method, Params, handler)

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Start a call as a task if a client of the handshake era asks for that; refuse methods of the other era."""
        if ctx.method in (_OF_HANDSHAKE if stateless(ctx) else _OF_STATELESS):
            raise MCPError(METHOD_NOT_FOUND, "Method not found")
        task = mapping((ctx.params or {}).get("task"))
        wanted = ctx.method == "tools/call" and not stateless(ctx) and isinstance((ctx.params or {}).get("task"), dict)
        if not wanted or (target := self._target(ctx)) is None:
            return await call_next(ctx)
        ttl = task.get("ttl")
        with self._gateway.client_of(ctx).request():
            exchange = self._gateway.begin(ctx, *target, as_task=True)
            seconds = ttl / 1000 if isinstance(ttl, (int, float)) and ttl > 0 else _TTL
            return {"task": self._keep(exchange, seconds).shape(False)}

    def _became(self, exchange: Exchange) -> dict[str, Any]:
        """Answer a call of a client of the stateless era that has become a task at its server."""
        return {"resultType": "task", **self._keep(exchange, _TTL).shape(True)}

    def _keep(self, exchange: Exchange, ttl: float) -> GatewayTask:
        now = time.time()
        self._tasks = {key: one for key, one in self._tasks.items() if not one.over or now < one.created + one.ttl}
        if sum(one.client is exchange.client for one in self._tasks.values()) >= _MOST:
            exchange.running.cancel()
            raise MCPError(INTERNAL_ERROR, f"More than {_MOST} tasks are kept.")
        task = GatewayTask(exchange.client, exchange, min(ttl, _TTL))
        self._tasks[task.id] = task
        exchange.related = {META_TASK: {"taskId": task.id}}
        return task

    # ------------------------------------------------------------------ requests

    async def _get(self, ctx: Context, params: Params) -> HandlerResult:
        task = self._find(ctx, params)
        modern = stateless(ctx)
        shape = task.shape(modern)
        if modern and shape["status"] == "input_required":
            shape["inputRequests"] = task.exchange.questions
        elif modern and task.over and shape["status"] != "cancelled":
            try:
                shape["result"] = {"resultType": "complete", **task.result()}
                shape["status"] = "completed"  # in this era, a tool's failure is a result
            except MCPError as error:
                shape["error"] = {"code": error.error.code, "message": error.error.message, "data": error.error.data}
        return shape

    async def _cancel(self, ctx: Context, params: Params) -> HandlerResult:
        task = self._find(ctx, params)
        if task.over and not stateless(ctx):
            raise MCPError(INVALID_PARAMS, f"Cannot cancel task: already in terminal status '{task.status}'")
        call = task.exchange.running
        call.cancel()
        await call.over.wait()
        return {} if stateless(ctx) else task.shape(False)

    async def _update(self, ctx: Context, params: Params) -> HandlerResult:
        self._find(ctx, params).exchange.resume(ctx, params.inputResponses)
        return {}

    async def _result(self, ctx: Context, params: Params) -> HandlerResult:
        task = self._find(ctx, params)
        task.exchange.hear(ctx)
        await task.exchange.running.over.wait()
        found = task.result()
        return {**found, "_meta": {**mapping(found.get("_meta")), META_TASK: {"taskId": task.id}}}

    async def _list(self, ctx: Context, params: Params) -> HandlerResult:
        client = self._gateway.client_of(ctx)
        return {"tasks": [one.shape(False) for one in self._tasks.values() if one.client is client]}

    def _find(self, ctx: Context, params: Params) -> GatewayTask:
        if stateless(ctx) and EXTENSION_TASKS not in (capabilities(ctx).extensions or {}):
            needed = {"requiredCapabilities": {"extensions": {EXTENSION_TASKS: {}}}}
            raise MCPError(MISSING_CAPABILITY, "The client does not declare the extension for tasks.", needed)
        if stateless(ctx) and getattr(ctx.request, "headers", {}).get("mcp-name", params.taskId) != params.taskId:
            raise MCPError(HEADER_MISMATCH, "Mcp-Name is not the id of the task.")
        task = self._tasks.get(params.taskId)
        if task is None or task.client is not self._gateway.client_of(ctx):
            raise MCPError(INVALID_PARAMS, "Failed to retrieve task: Task not found")
        return task
