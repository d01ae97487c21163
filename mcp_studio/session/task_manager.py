"""The tasks of all servers: begun by calls, listed by servers, followed to their end."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_studio.catalog.listing import Ref, fetch_all
from mcp_studio.catalog.refresh import asker
from mcp_studio.errors import ConnectionLost, ProtocolError, StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Answered, Refused
from mcp_studio.protocol.tasks import NOTIFICATIONS, TaskKind, has, read_state
from mcp_studio.protocol.versions import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_studio.session.connection import Connection, Deadline, Limit, Reply
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.server_requests import CANCELLED, Answerer, Refusal, answers_to
from mcp_studio.session.state import Spawn, at_most, until
from mcp_studio.session.tasks import Task, TaskError
from mcp_studio.signal import Signal

_BYTES = 128 * 1024 * 1024
"""Bytes of all results of finished tasks that are kept."""
_KEYS = 50
"""The most questions of one message that are answered."""
_MOST = 1_000
"""The most questions of one task that are answered; then the person cancels it, or it waits forever."""
POLL = 1.0
"""Seconds between two questions for the state where the server wishes none."""
SHORTEST, LONGEST = 0.25, 30.0
"""Bounds in seconds on the server's wish."""
_STRIKES = 5
"""Unusable answers in a row after which a task is given up."""
_GRACE = 1.0

_EARLY = 50
"""Unknown ids that are remembered, because a notification may overtake the answer that begins its task."""


class TaskManager:
    """Tasks by server and id, oldest first, followed over reconnects.

    Whenever a server is ready again, the state of its open tasks is read. At most `limits.tasks` tasks of a server are
    kept; beyond that, and beyond `_BYTES` of results, finished tasks are dropped first.
    """

    def __init__(self, manager: ConnectionManager, limits: Limits, spawn: Spawn) -> None:
        self.changed: Signal[Task] = Signal()
        """Emits each new or changed task."""
        self.removed: Signal[Task] = Signal()
        self._tasks: dict[tuple[str, str], Task] = {}
        self._manager = manager
        self._limits = limits
        self._spawn = spawn
        self._connections: dict[str, Connection] = {}
        self._followers: dict[tuple[str, str], Follower] = {}
        self._listing = False
        self._early: deque[tuple[str, str]] = deque(maxlen=_EARLY)
        manager.changed.connect(self._server_changed)
        manager.notified.connect(self._notified)
        manager.removed.connect(self._server_removed)

    def all(self, server: str = "") -> tuple[Task, ...]:
        """All tasks, or those of one server, oldest first."""
        return tuple(task for task in self._tasks.values() if not server or task.server == server)

    def get(self, server: str, identity: str) -> Task | None:
        """A task, or None."""
        return self._tasks.get((server, identity))

    def put(self, task: Task) -> None:
        """Add a task, or replace its earlier state."""
        if self._tasks.get(task.key) == task:
            return
        more = task.done or task.key not in self._tasks
        self._tasks[task.key] = task
        if more:
            self._make_room(task)
        self.changed.emit(task)

    def remove(self, server: str, identity: str) -> None:
        if task := self._tasks.pop((server, identity), None):
            self.removed.emit(task)

    def begin(
        self, server: str, kind: TaskKind, raw: Json, *, ref: Ref, arguments: Json, method: str, number: int = 0
    ) -> Task:
        """Follow the task of a call, which has this number in the trace.

        Raises:
            ProtocolError: the server gave no task id.
        """
        state = read_state(raw, kind)
        if not state.id:
            raise ProtocolError("The server made the call a task, but gave no task id.")
        task = Task(server, state.id, kind, ref=ref, arguments=arguments, method=method, number=number)
        task = task.heard(state, raw)
        if self.get(server, state.id) is not None:
            task = task.wrong(("The server gave the id of another task to this one.",))
            self.remove(server, state.id)
        self.put(task)
        self._follow(task, now=task.ended or task.key in self._early)
        return self.get(server, task.id) or task

    def list_all(self) -> None:
        """Add the tasks that servers list, now and whenever one becomes ready."""
        self._listing = True
        for name in self._connections:
            self._spawn(self._refresh_quietly(name))

    def adopt(self, server: str, identity: str) -> Task:
        """Add a task by its id, of the kind that the server's version has; it is not followed automatically.

        Raises:
            StudioError: the server is not connected.
        """
        if task := self.get(server, identity):
            return task
        kind: TaskKind = "extension" if self._manager.connection(server).core.modern else "core"
        self.put(Task(server, identity, kind, followed=False))
        return self._known(server, identity)

    async def refresh(self, server: str) -> None:
        """Read a server's list of tasks (2025-11-25, `tasks/list`); does nothing where the server has no list.

        Raises:
            StudioError: the server is not connected, or refused.
        """
        connection = self._manager.connection(server)
        if connection.core.modern or not has(self._manager.status(server).capabilities, "tasks", "list"):
            return
        found = await fetch_all("tasks/list", "tasks", asker(connection), self._limits)
        if found.error and not found.items:
            raise ProtocolError(found.error)
        for raw in found.items[: self._limits.tasks]:
            state = read_state(raw, "core")
            known = self.get(server, state.id)
            if known is None and state.id and len(self.all(server)) < self._limits.tasks:
                known = Task(server, state.id, "core", followed=False)
            if known is not None and not known.done:
                self.put(known.heard(state, raw))

    def poll(self, server: str, identity: str) -> None:
        """Read the state of a task now, and follow it from now on.

        Raises:
            StudioError: there is no such task, or its server is not connected.
        """
        task = self._known(server, identity)
        self._manager.connection(server)
        self.put(replace(task, gone="", followed=True))
        self._follow(task, now=True)

    async def cancel(self, server: str, identity: str) -> None:
        """Ask the server to cancel a task; its state will show whether the server does (tasks, cancellation).

        Raises:
            StudioError: there is no such task, or the server is not connected, does not offer it, or refused.
        """
        task = self._known(server, identity)
        connection = self._manager.connection(server)
        if task.kind == "core" and not has(self._manager.status(server).capabilities, "tasks", "cancel"):
            raise ProtocolError(f"{server} does not offer to cancel tasks.")
        reply = await connection.request("tasks/cancel", {"taskId": identity}, under=task.number)
        if not isinstance(reply.event, Answered):
            raise ProtocolError(f"The server refused to cancel it: {reply.event.text}.")
        task = self._known(server, identity)
        state = read_state(reply.event.result, task.kind)
        if task.kind == "core" and state.id == identity and state.status is not None:
            self.put(task.heard(state, reply.event.result))
        if not self._known(server, identity).done:
            self._follow(task, now=True)

    async def cancel_noting(self, server: str, identity: str) -> None:
        """Cancel a task; a refusal is noted at the task, an unreachable server is not."""
        try:
            await self.cancel(server, identity)
        except StudioError as error:
            task = self.get(server, identity)
            if isinstance(error, ProtocolError) and task is not None and not task.done:
                self.put(task.wrong((f"It could not be cancelled and goes on: {error.message}",)))

    async def until(self, server: str, identity: str, true: Callable[[Task], bool]) -> Task:
        """Wait until a condition is true of a task.

        Raises:
            UsageError: there is no such task, or it was removed.
        """
        look = lambda: task if true(task := self._known(server, identity)) else None  # noqa: E731
        return await until(look, self.changed, self.removed)

    # ------------------------------------------------------------------ inside

    def _known(self, server: str, identity: str) -> Task:
        if task := self.get(server, identity):
            return task
        raise UsageError(f"{server} has no task {identity!r}.")

    def _make_room(self, newest: Task) -> None:
        """Drop the oldest tasks, finished ones first, beyond the bounds on number and bytes."""
        mine = [task for task in self.all(newest.server) if task is not newest]
        over = max(0, len(mine) + 1 - self._limits.tasks)
        for task in sorted(mine, key=lambda task: not task.done)[:over]:
            self.remove(*task.key)
        size = sum(task.size for task in self._tasks.values())
        for task in self.all():
            if size > _BYTES and task.done and task is not newest:
                size -= task.size
                self.remove(*task.key)

    def _follow(self, task: Task, *, now: bool) -> None:
        connection = self._connections.get(task.server)
        if connection is None or connection.ended.done():
            return
        running = self._followers.get(task.key)
        if running is not None and running.connection is connection:
            if now:
                running.wake.set()
            return
        answerer = self._manager.supervisor(task.server).answerer
        follower = self._followers[task.key] = Follower(self, task.key, connection, answerer, self._limits)
        self._spawn(follower.run(now=now)).add_done_callback(lambda _: self._unfollow(task.key, follower))

    def _unfollow(self, key: tuple[str, str], follower: Follower) -> None:
        if self._followers.get(key) is follower:
            del self._followers[key]

    def _server_changed(self, name: str) -> None:
        if name not in self._manager.names():
            return
        connection = self._manager.supervisor(name).connection
        if connection is None or connection is self._connections.get(name):
            return
        self._connections[name] = connection
        self._manager.supervisor(name).answerer.subject_of_task = partial(self._subject, name)
        if self._listing:
            self._spawn(self._refresh_quietly(name))
        for task in self.all(name):
            if task.followed and not task.done:
                self._follow(task, now=True)

    def _subject(self, server: str, identity: str) -> str:
        return task.subject if (task := self.get(server, identity)) else ""

    def _server_removed(self, name: str) -> None:
        self._connections.pop(name, None)
        for task in self.all(name):
            self.remove(*task.key)

    async def _refresh_quietly(self, server: str) -> None:
        with suppress(StudioError):  # the list is only one of the ways to learn of tasks
            await self.refresh(server)

    def _notified(self, event: tuple[str, str, dict[str, Json]]) -> None:
        server, method, params = event
        kind, identity = NOTIFICATIONS.get(method), params.get("taskId")
        if kind is None or not isinstance(identity, str):
            return
        task = self.get(server, identity)
        if task is None:
            self._early.append((server, identity[:1_000]))
        elif task.kind != kind:
            return
        elif follower := self._followers.get(task.key):
            follower.heard(params)
        elif not task.done and (state := read_state(params, task.kind)).status is not None:
            self.put(task.heard(state, params))


def unreachable(manager: ConnectionManager, server: str) -> StudioError | None:
    """Why no news of a server's tasks will come by itself; None while it is connected or connecting."""
    if server not in manager.names():
        return Unreachable(f"{server} is not configured any more.")
    status = manager.status(server)
    if status.state in ("failed", "needs_auth"):
        return status.error or Unreachable(f"{server} has failed.")
    if status.state == "disabled":
        return Unreachable(f"{server} was disconnected.")
    return None


class Follower:
    """Follows one task: reads its state, answers its questions, and reads its result."""

    def __init__(
        self, tasks: TaskManager, key: tuple[str, str], connection: Connection, answerer: Answerer, limits: Limits
    ) -> None:
        self._tasks = tasks
        self._key = key
        self.connection = connection
        self._longest = Limit(limits.call_longest, "limits.call_longest")
        self.wake = asyncio.Event()
        """Set when the state should be read now, or when the task has ended."""
        self._answerer = answerer
        self._answered: set[str] = set()
        self._asking: asyncio.Task[None] | None = None
        self._result: asyncio.Task[None] | None = None
        self._strikes = 0

    def heard(self, raw: Json) -> None:
        """Handle a state that the server sent by itself."""
        if not self._over:
            self._take(raw, None)
            if self._over:
                self.wake.set()

    async def run(self, *, now: bool) -> None:
        """Follow the task; `now` reads the state at once. Returns when there is nothing more to learn."""
        if now:
            self.wake.set()
        try:
            while (task := self._task) is not None and not task.done:
                wish = min(max(task.poll or POLL, SHORTEST), LONGEST) * 2**self._strikes
                await at_most(min(wish, LONGEST), self.wake.wait())
                self.wake.clear()
                if not self._over:
                    await self._ask()
                    self._expire()
        except ConnectionLost:
            return  # the next connection of this server continues
        finally:
            self._stop_asking()
            if self._result is not None:
                self._result.cancel()

    @property
    def _task(self) -> Task | None:
        return self._tasks.get(*self._key)

    @property
    def _over(self) -> bool:
        task = self._task
        return task is None or task.done

    @property
    def _number(self) -> int:
        return task.number if (task := self._task) is not None else 0

    async def _ask(self) -> None:
        before = self._task
        try:
            reply = await self.connection.request("tasks/get", {"taskId": self._key[1]}, under=self._number)
        except ConnectionLost:
            raise
        except StudioError as error:
            self._strike(error.message)
            return
        now = self._task
        if now is not None and now.ended and before is not None and not before.ended:
            return  # a notification of the end overtook this answer
        if isinstance(reply.event, Answered):
            self._take(reply.event.result, reply)
        elif reply.event.code in (INVALID_PARAMS, METHOD_NOT_FOUND):
            self._change(gone=f"The server does not know it any more: {reply.event.text}")
        else:
            self._strike(reply.event.text)

    def _take(self, raw: Json, reply: Reply | None) -> None:
        """Record the state that the server sent, and do what it asks for."""
        task = self._task
        if task is None:
            return
        state = read_state(raw, task.kind)
        if state.id != task.id or state.status is None:
            self._tasks.put(task.wrong(state.problems or ("The server speaks of another task.",)))
            self._strike("what the server says of it cannot be used")
            return
        self._strikes = 0
        task = task.heard(state, raw)
        if task.kind == "extension" and state.status == task.status:
            task = _with_result(task, raw, reply)
        self._tasks.put(task)
        if task.done:
            return
        if task.kind == "core":
            if task.status == "input_required" or task.ended:
                # Specification 2025-11-25, basic/utilities/tasks: `tasks/result` blocks until the task ends, and
                # questions meanwhile come with it.
                self._result = self._result or asyncio.get_running_loop().create_task(self._fetch())
        elif task.status == "input_required":
            self._take_questions(task, mapping(mapping(raw).get("inputRequests")))
        else:
            self._stop_asking()

    # ------------------------------------------------------------------ result of a core task

    async def _fetch(self) -> None:
        try:
            reply = await self.connection.request(
                "tasks/result", {"taskId": self._key[1]}, deadline=Deadline(self._longest, self._longest),
                # Questions meanwhile belong to this request as to a call, so it asks for progress like one.
                on_progress=lambda done, total, message: None, under=self._number,
            )  # fmt: skip
            if (task := self._task) is not None and not task.ended:
                await self._ask()
            if (task := self._task) is not None and not task.done:
                self._tasks.put(self._concluded(task, reply))
        except ConnectionLost:
            self.wake.set()  # the loop will notice it
        except StudioError as error:
            if (task := self._task) is not None and task.ended:
                self._change(gone=f"Its result cannot be had: {error.message}")
        finally:
            self._result = None
            if self._over:
                self.wake.set()

    def _concluded(self, task: Task, reply: Reply) -> Task:
        """The task with the answer to `tasks/result`."""
        event = reply.event
        answered = replace(task, size=reply.size, request_id=reply.request_id)
        if isinstance(event, Answered):
            if not task.ended:
                answered = answered.wrong((f"The server gave its result while it was {task.status}.",))
                answered = replace(answered, status="completed")
            return replace(answered, result=event.result, has_result=True).wrong(event.problems)
        if not task.ended:
            return task.wrong(("The server refused its result before it had ended.",))
        if task.status == "completed":
            answered = answered.wrong(("It is completed, but the server refuses its result.",))
        return replace(answered, error=TaskError(event.code, event.message, event.data))

    # ------------------------------------------------------------------ what an extension task asks

    def _take_questions(self, task: Task, found: dict[str, Json]) -> None:
        """Those of one message are asked together and answered together; what was asked before is not asked again."""
        if not found:
            self._note("It waits for input, but does not say for which.")
        if self._asking is not None and not self._asking.done():
            return
        fresh = [(key, request) for key, request in found.items() if key not in self._answered]
        if fresh and len(self._answered) >= _MOST:
            self._note(f"It has asked {_MOST:,} times: nothing more is answered.")
        elif fresh:
            self._asking = asyncio.get_running_loop().create_task(self._answer(task, dict(fresh[:_KEYS])))

    def _stop_asking(self) -> None:
        """Withdraw open questions, because the server no longer needs answers."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def _answer(self, task: Task, questions: dict[str, Json]) -> None:
        self._change(asking=True)
        try:
            answers = await answers_to(questions, partial(self._answer_one, task))
            self._answered |= answers.keys()
            answers = {key: answer for key, answer in answers.items() if answer is not None}
            if not answers:
                return
            params: dict[str, Json] = {"taskId": task.id, "inputResponses": answers}
            reply = await self.connection.request("tasks/update", params, under=task.number)
        except StudioError as error:
            self._answered -= questions.keys()
            self._note(f"The answer could not be given: {error.message}")
            return
        finally:
            self._change(asking=False)
        if isinstance(reply.event, Refused):
            self._note(f"The server refused the answer: {reply.event.text[:500]}")

    async def _answer_one(self, task: Task, request: dict[str, Json]) -> Json:
        """The answer to one question; None where there is none."""
        method = str(request.get("method", ""))
        answer = await self._answerer.answer(method, mapping(request.get("params")), task.subject)
        if not isinstance(answer, Refusal):
            return answer
        wanted = f"The server asked for {method[:80] or 'nothing'}: {answer.message}."
        if method == "elicitation/create":
            self._note(wanted)
            return CANCELLED
        self._note(f"{wanted} There is no result that says so: cancel the task, or it waits on.")
        return None

    def _change(self, **changes: Any) -> None:
        if (task := self._task) is not None:
            self._tasks.put(replace(task, **changes))

    # ------------------------------------------------------------------ what goes wrong

    def _note(self, problem: str) -> None:
        if (task := self._task) is not None:
            self._tasks.put(task.wrong((problem,)))

    def _strike(self, why: str) -> None:
        self._strikes += 1
        if self._strikes >= _STRIKES:
            self._change(gone=f"Given up after {_STRIKES} attempts: {why}.".replace("..", "."))

    def _expire(self) -> None:
        """Specification, both kinds: a task that has not ended after its time to live may be taken for lost."""
        task = self._task
        if task is not None and not task.ended and task.expires and time.time() > task.expires + _GRACE:
            self._change(gone=f"Its time to live of {task.ttl:g} s is over, and it has not ended.")


def _with_result(task: Task, raw: Json, reply: Reply | None) -> Task:
    """An extension task with the result or error of its task object (2026-07-28, tasks/get)."""
    known = mapping(raw)
    if reply is not None:
        task = replace(task, size=reply.size, request_id=reply.request_id)
    if task.status == "completed":
        if "result" not in known:
            task = task.wrong(("It is completed, but has no result.",))
        return replace(task, result=known.get("result"), has_result=True)
    if task.status == "failed":
        body = mapping(known.get("error"))
        if not body:
            task = task.wrong(("It has failed, but has no error.",))
        code, message = body.get("code"), body.get("message")
        text = message if isinstance(message, str) else task.message
        return replace(task, error=TaskError(code if isinstance(code, int) else 0, text, body.get("data")))
    return task
