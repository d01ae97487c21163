"""Following one task over one connection, until it is done or the connection ends."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import replace

from mcp_studio.errors import ConnectionLost, StudioError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.tasks import read_state
from mcp_studio.protocol.versions import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_studio.session.answering import Answerer
from mcp_studio.session.connection import Connection, Reply
from mcp_studio.session.deadline import Deadline, Limit
from mcp_studio.session.task_input import TaskInput
from mcp_studio.session.tasks import Task, TaskError, TaskStore

POLL = 1.0
"""Seconds between two questions where the server wishes nothing."""
SHORTEST, LONGEST = 0.25, 30.0
"""Bounds in seconds of what a server may wish."""
_STRIKES = 5
"""Unusable answers in a row after which a task is given up."""
_RESULTS = 3
"""Times that the result is asked for, where it is refused before the task has ended."""
_GRACE = 1.0
_HEARD = 20


class Follower:
    """Asks how one task is, answers what it asks, and gets its result."""

    def __init__(
        self, store: TaskStore, key: tuple[str, str], connection: Connection, answerer: Answerer, limits: Limits
    ) -> None:
        self._store = store
        self._key = key
        self._connection = connection
        self._longest = Limit(limits.call_longest, "limits.call_longest")
        self._wake = asyncio.Event()
        self._now = False
        self._heard: deque[Json] = deque(maxlen=_HEARD)
        self._input = TaskInput(store, key, connection, answerer)
        self._result: asyncio.Task[Reply] | None = None
        self._results = 0
        self._strikes = 0

    def poll(self) -> None:
        """Ask now, not when it is time."""
        self._now = True
        self._wake.set()

    def heard(self, raw: Json) -> None:
        """The server said by itself how the task is."""
        self._heard.append(raw)
        self._wake.set()

    async def run(self, *, now: bool) -> None:
        """Follow it; with `now` the first question is not put off. Returns when nothing more can be learnt."""
        self._now = now
        try:
            while (task := self._task) is not None and not task.done:
                await self._settle_result()
                self._take_heard()
                task = self._task or task
                if not task.done and await self._pause(task):
                    await self._ask()
                    self._expire()
        except ConnectionLost:
            return  # the next connection of this server goes on with it
        finally:
            self._input.stop()
            if self._result is not None:
                self._result.cancel()

    @property
    def _task(self) -> Task | None:
        return self._store.get(*self._key)

    @property
    def _number(self) -> int:
        return task.number if (task := self._task) is not None else 0

    async def _pause(self, task: Task) -> bool:
        """Wait until it is time to ask; False when something else came first."""
        if not self._now:
            wish = min(max(task.poll or POLL, SHORTEST), LONGEST) * 2**self._strikes
            try:
                async with asyncio.timeout(min(wish, LONGEST)):
                    await self._wake.wait()
            except TimeoutError:
                return True
        self._wake.clear()
        now, self._now = self._now, False
        return now

    # ------------------------------------------------------------------ how it is

    async def _ask(self) -> None:
        try:
            reply = await self._connection.request("tasks/get", {"taskId": self._key[1]}, under=self._number)
        except ConnectionLost:
            raise
        except StudioError as error:
            self._strike(error.message)
            return
        if isinstance(reply.event, Answered):
            self._take(reply.event.result, reply)
        elif reply.event.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            self._lost(reply.event.said)
        else:
            self._strike(reply.event.said)

    def _take_heard(self) -> None:
        while self._heard:
            raw, task = self._heard.popleft(), self._task
            if task is not None and not task.knows_newer(read_state(raw, task.kind)):
                self._take(raw, None)

    def _take(self, raw: Json, reply: Reply | None) -> None:
        task = self._task
        if task is None:
            return
        state = read_state(raw, task.kind)
        if state.id != task.id or state.status is None:
            self._store.put(task.wrong(state.problems or ("The server speaks of another task.",)))
            self._strike("what the server says of it cannot be used")
            return
        self._strikes = 0
        task = task.heard(state, raw)
        inlined = task.kind == "extension" and state.status == task.status
        self._store.put(_with_result(task, raw, reply) if inlined else task)
        self._act(raw)

    def _act(self, raw: Json) -> None:
        """Do what its state asks of us."""
        task = self._task
        if task is None or task.done:
            return
        if task.kind == "core":
            if task.status == "input_required" or task.ended:
                self._fetch()
        elif task.status == "input_required":
            self._input.wanted(raw)
        else:
            self._input.stop()

    # ------------------------------------------------------------------ result of a core task

    def _fetch(self) -> None:
        """Ask for the result: it comes when the task ends, and what the server asks meanwhile comes with it.

        Specification 2025-11-25, basic/utilities/tasks: the receiver blocks `tasks/result` until the task ends.
        """
        if self._result is not None or self._results >= _RESULTS:
            return
        self._results += 1
        request = self._connection.request(
            "tasks/result", {"taskId": self._key[1]},
            deadline=Deadline(self._longest, self._longest), on_progress=_ignore,
            under=self._number,
        )  # fmt: skip
        self._result = asyncio.get_running_loop().create_task(request)
        self._result.add_done_callback(lambda _: self._wake.set())

    async def _settle_result(self) -> None:
        if self._result is None or not self._result.done():
            return
        done, self._result = self._result, None
        try:
            reply = done.result()
        except ConnectionLost:
            raise
        except StudioError as error:
            if (task := self._task) is not None and self._results >= _RESULTS:
                self._store.put(replace(task, gone=f"Its result cannot be had: {error.message}"))
            return
        if (task := self._task) is not None and not task.ended:
            await self._ask()
        if (task := self._task) is not None and not task.done:
            self._store.put(self._concluded(task, reply))

    def _concluded(self, task: Task, reply: Reply) -> Task:
        """It with the answer to `tasks/result`."""
        event = reply.event
        size, request = reply.size, reply.request_id
        if isinstance(event, Answered):
            if not task.ended:
                task = task.wrong((f"The server gave its result while it was {task.status}.",))
                task = replace(task, status="completed")
            task = replace(task, result=event.result, has_result=True, size=size, request_id=request)
            return task.wrong(event.problems)
        error = TaskError(event.code, event.message, event.data)
        if task.ended or self._results >= _RESULTS:
            if task.status == "completed":
                task = task.wrong(("It is completed, but the server refuses its result.",))
            status = task.status if task.ended else "failed"
            return replace(task, status=status, error=error, size=size, request_id=request)
        return task.wrong(("The server refused its result before it had ended.",))

    # ------------------------------------------------------------------ what goes wrong

    def _strike(self, why: str) -> None:
        self._strikes += 1
        task = self._task
        if task is not None and self._strikes >= _STRIKES:
            self._store.put(replace(task, gone=f"Given up after {_STRIKES} attempts: {why}.".replace("..", ".")))

    def _lost(self, why: str) -> None:
        task = self._task
        if task is None or task.done:
            return
        over = task.expires is not None and time.time() > task.expires
        text = f"Its time to live of {task.ttl:g} s is over" if over else "The server does not know it any more"
        self._store.put(replace(task, gone=f"{text}: {why}"))

    def _expire(self) -> None:
        """Specification, both: after its time to live a task that has not ended may be taken for lost."""
        task = self._task
        if task is not None and not task.ended and task.expires and time.time() > task.expires + _GRACE:
            self._store.put(replace(task, gone=f"Its time to live of {task.ttl:g} s is over, and it has not ended."))


def _with_result(task: Task, raw: Json, reply: Reply | None) -> Task:
    """An extension task with the result or error that stands in it (2026-07-28, tasks/get)."""
    known = mapping(raw)
    if reply is not None:
        task = replace(task, size=reply.size, request_id=reply.request_id)
    if task.status == "completed":
        if "result" not in known:
            task = task.wrong(("It is completed, but has no result.",))
        return replace(task, result=known.get("result"), has_result=True)
    if task.status == "failed":
        error = known.get("error")
        body = mapping(error)
        if not body:
            task = task.wrong(("It has failed, but has no error.",))
        code, message = body.get("code"), body.get("message")
        said = message if isinstance(message, str) else task.message
        return replace(task, error=TaskError(code if isinstance(code, int) else 0, said, body.get("data")))
    return task


def _ignore(done: float, total: float | None, message: str) -> None:
    """What is asked meanwhile belongs to this request: it is one that wants to hear of progress."""
