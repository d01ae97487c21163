"""What an extension task asks while it runs: answered once each, sent with `tasks/update` (2026-07-28, tasks)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.events import Refused
from mcp_studio.session.answering import Answerer, Refusal
from mcp_studio.session.connection import Connection
from mcp_studio.session.tasks import Task, TaskStore

_CANCELLED: dict[str, Json] = {"action": "cancel"}
_KEYS = 50
"""Questions of one message that are answered."""
_MOST = 1_000
"""Questions of one task that are answered; one that asks more is cancelled by the person, or waits on."""


class TaskInput:
    """The questions of one task. Those of one message are asked one after the other and answered together."""

    def __init__(self, store: TaskStore, key: tuple[str, str], connection: Connection, answerer: Answerer) -> None:
        self._store = store
        self._key = key
        self._connection = connection
        self._answerer = answerer
        self._answered: set[str] = set()
        self._open: set[str] = set()
        self._asking: asyncio.Task[None] | None = None

    def wanted(self, raw: Json) -> None:
        """A message says that the task waits for input; what was asked before is not asked again."""
        asked = mapping(raw).get("inputRequests")
        found = mapping(asked)
        task = self._store.get(*self._key)
        if not found and task is not None:
            self._store.put(task.wrong(("It waits for input, but does not say for which.",)))
        if self._asking is not None and not self._asking.done():
            if self._open & found.keys():
                return
            self.stop()
        fresh = {key: request for key, request in found.items() if key not in self._answered}
        if fresh and len(self._answered) >= _MOST:
            self._note(f"It has asked {_MOST:,} times: nothing more is answered.")
        elif fresh:
            fresh = dict(list(fresh.items())[:_KEYS])
            self._open = set(fresh)
            self._asking = asyncio.get_running_loop().create_task(self._answer(fresh))

    def stop(self) -> None:
        """Nothing is wanted any more: an open question goes away."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def _answer(self, asked: dict[str, Json]) -> None:
        self._mark(asking=True)
        try:
            given = {key: await self._one(request) for key, request in asked.items()}
            self._answered |= given.keys()
            answers: dict[str, Json] = {key: answer for key, answer in given.items() if answer is not None}
            if not answers:
                return
            task = self._store.get(*self._key)
            params: dict[str, Json] = {"taskId": self._key[1], "inputResponses": answers}
            reply = await self._connection.request("tasks/update", params, under=task.number if task else 0)
        except StudioError as error:
            self._answered -= asked.keys()
            self._note(f"The answer could not be given: {error.message}")
            return
        finally:
            self._mark(asking=False)
        if isinstance(reply.event, Refused):
            self._note(f"The server refused the answer: {reply.event.said[:500]}")

    async def _one(self, request: Json) -> Json:
        """The answer to one question; None where there is none to give."""
        body: dict[str, Json] = mapping(request)
        method, params = str(body.get("method", "")), body.get("params")
        given = mapping(params)
        task = self._store.get(*self._key)
        answer = await self._answerer.answer(method, given, task.subject if task else "")
        if not isinstance(answer, Refusal):
            return answer
        wanted = f"The server asked for {method[:80] or 'nothing'}: {answer.message}."
        if method == "elicitation/create":
            self._note(wanted)
            return _CANCELLED
        self._note(f"{wanted} There is no result that says so: cancel the task, or it waits on.")
        return None

    def _mark(self, *, asking: bool) -> None:
        task = self._store.get(*self._key)
        if task is not None and task.asking != asking:
            self._store.put(replace(task, asking=asking))

    def _note(self, problem: str) -> None:
        task: Task | None = self._store.get(*self._key)
        if task is not None:
            self._store.put(task.wrong((problem,)))
