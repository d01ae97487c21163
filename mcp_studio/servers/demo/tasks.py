"""Tasks of both eras: a call of `bind_edition` becomes one if the client can follow it.

Up to 2025-11-25 tasks are part of the core, in 2026-07-28 an extension.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from typing import Any

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.tasks import timestamp
from mcp_studio.protocol.versions import (
    EXTENSION_TASKS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    META_TASK,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
)
from mcp_studio.servers.demo import content
from mcp_studio.servers.demo.content import COLOUR, QUESTIONS, Args, Result
from mcp_studio.servers.toolserver import RequestError, ToolServer, Turn

TTL = 600.0
"""Seconds for which finished work is stored."""
POLL = 0.5
"""The seconds between two polls that the bindery suggests."""
_MOST = 200


@dataclass(eq=False, slots=True)
class Binding:
    """Copies that are bound one after the other; half-way through, the bindery may ask for the colour."""

    copies: int
    pace: float
    """Seconds per copy."""
    asks: bool
    """Whether the question for the colour is not answered yet."""
    id: str = field(default_factory=lambda: os.urandom(12).hex())
    created: float = field(default_factory=time.time)
    pause: float = 0.0
    """Seconds for which the work waited for the answer."""
    colour: str = ""
    cancelled: bool = False

    @property
    def _worked(self) -> float:
        """Seconds of work so far, without the time of waiting for an answer."""
        worked = time.time() - self.created - self.pause
        return min(worked, self._half) if self.asks else worked

    @property
    def _half(self) -> float:
        return self.copies * self.pace / 2

    @property
    def bound(self) -> int:
        """The number of finished copies."""
        return self.copies if not self.pace else min(self.copies, int(self._worked / self.pace))

    @property
    def status(self) -> str:
        """One of the five states of a task."""
        if self.cancelled:
            return "cancelled"
        if self.asks and self._worked >= self._half:
            return "input_required"
        return "completed" if self.bound >= self.copies else "working"

    def answer(self, answer: Json) -> None:
        """Take an answer: cancelling the question cancels the work, declining it leaves the cover plain."""
        given = mapping(answer)
        if given.get("action", "cancel") == "cancel":
            self.cancelled = True
        elif self.asks:
            colour = mapping(given.get("content")).get("colour")
            self.colour = colour if colour in ("red", "green", "blue") else "plain"
            self.asks, self.pause = False, time.time() - self.created - self._half

    def words(self) -> str:
        """The result of the work."""
        cover = f" in {self.colour}" if self.colour else ""
        return f"{self.copies} copies are bound{cover}."

    def shape(self, *, modern: bool) -> dict[str, Any]:
        """The task as it crosses the wire."""
        ttl, poll = ("ttlMs", "pollIntervalMs") if modern else ("ttl", "pollInterval")
        message = COLOUR if self.status == "input_required" else f"{self.bound} of {self.copies} copies bound"
        return {
            "taskId": self.id, "status": self.status, "statusMessage": message,
            "createdAt": timestamp(self.created), "lastUpdatedAt": timestamp(time.time()),
            ttl: round(TTL * 1000), poll: round(POLL * 1000),
        }  # fmt: skip


class TaskDesk:
    """Answers `tasks/…`, and starts the calls that become tasks. Whoever knows the id of a task may ask for it."""

    def __init__(self, server: ToolServer) -> None:
        self._work: dict[str, Binding] = {}
        server.of_era[False]["tasks"] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        server.of_era[True]["extensions"] = {EXTENSION_TASKS: {}}
        server.handlers |= {
            "tasks/get": self.get, "tasks/cancel": self.cancel, "tasks/update": self.update,
            "tasks/result": self.result, "tasks/list": self.list,
        }  # fmt: skip

    def begin(self, turn: Turn, args: Args) -> Result | None:
        """Turn a call into a task, if the client asks for one."""
        if not (_declared(turn) if turn.modern else isinstance(turn.request.params.get("task"), dict)):
            return None
        work = Binding(args.get("copies", 5), args.get("seconds_per_copy", 1), args.get("ask", False))
        if len(self._work) >= _MOST:
            del self._work[next(iter(self._work))]
        self._work[work.id] = work
        asyncio.get_running_loop().call_later(TTL, self._work.pop, work.id, None)
        shape = work.shape(modern=turn.modern)
        return {"resultType": "task", **shape} if turn.modern else {"task": shape}

    async def get(self, turn: Turn) -> Result:
        """tasks/get; in the extension with the open question, or with the result."""
        work = self._find(turn)
        shape = work.shape(modern=turn.modern)
        if turn.modern and shape["status"] == "input_required":
            shape["inputRequests"] = {"colour": {"method": "elicitation/create", "params": _QUESTION}}
        elif turn.modern and shape["status"] == "completed":
            shape["result"] = {"resultType": "complete", **content.result(work.words())}
        return shape

    async def cancel(self, turn: Turn) -> Result:
        """tasks/cancel."""
        work = self._find(turn)
        if work.status == "completed" and not turn.modern:
            raise RequestError(INVALID_PARAMS, "Cannot cancel task: already in terminal status 'completed'")
        work.cancelled = work.status != "completed"
        return {} if turn.modern else work.shape(modern=False)

    async def update(self, turn: Turn) -> Result:
        """tasks/update: the client answers the question (extension)."""
        work = self._find(turn, modern=True)
        given = mapping(turn.request.params.get("inputResponses"))
        if "colour" in given:
            work.answer(given["colour"])
        return {}

    async def result(self, turn: Turn) -> Result:
        """tasks/result: asks the open question, and blocks until the work is over (core)."""
        work = self._find(turn, modern=False)
        meta = {META_TASK: {"taskId": work.id}}
        while work.status in ("working", "input_required"):
            if work.status == "input_required":
                work.answer(await turn.ask("elicitation/create", {**_QUESTION, "_meta": meta}))
            else:
                await asyncio.sleep(POLL / 10)
        if work.status == "cancelled":
            raise RequestError(INTERNAL_ERROR, "The work was cancelled")
        return {**content.result(work.words()), "_meta": meta}

    async def list(self, turn: Turn) -> Result:
        """tasks/list (core)."""
        _only(turn, modern=False)
        return {"tasks": [work.shape(modern=False) for work in self._work.values()]}

    def _find(self, turn: Turn, *, modern: bool | None = None) -> Binding:
        """The work that a request is about; `modern` restricts the request to one era."""
        if modern is not None:
            _only(turn, modern=modern)
        if turn.modern and not _declared(turn):
            needs: Json = {"requiredCapabilities": {"extensions": {EXTENSION_TASKS: {}}}}
            raise RequestError(MISSING_CAPABILITY, "Missing required client capability", needs)
        work = self._work.get(str(turn.request.params.get("taskId")))
        if work is None:
            raise RequestError(INVALID_PARAMS, "Failed to retrieve task: Task not found")
        return work


_QUESTION: dict[str, Json] = {"mode": "form", "message": COLOUR, "requestedSchema": QUESTIONS["colour"]}


def _only(turn: Turn, *, modern: bool) -> None:
    if turn.modern != modern:
        raise RequestError(METHOD_NOT_FOUND, "Method not found")


def _declared(turn: Turn) -> bool:
    """Whether the client declares that it can follow extension tasks."""
    return EXTENSION_TASKS in mapping(turn.capabilities.get("extensions"))
