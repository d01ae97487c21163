"""All tasks of all servers: begun by calls, listed by servers, picked up from an earlier run, followed to their end."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import ConnectionLost, ProtocolError, StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Answered, Refused
from mcp_studio.protocol.tasks import NOTIFICATIONS, TaskKind, has, read_state
from mcp_studio.protocol.versions import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_studio.session.connection import Connection, Deadline, Limit, Reply
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.server_requests import Answerer, Refusal
from mcp_studio.session.state import Spawn
from mcp_studio.session.tasks import Early, Kept, Task, TaskError, TaskFile, TaskKeeper, TaskStore, address_of

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


async def list_tasks(connection: Connection, limits: Limits) -> list[Json]:
    """All pages of `tasks/list`, as far as `limits` go.

    Raises:
        StudioError: not connected, or the server refused.
    """
    found: list[Json] = []
    cursor: Json = None
    deadline = connection.deadline()
    for _ in range(limits.pages):
        reply = await connection.request("tasks/list", {} if cursor is None else {"cursor": cursor}, deadline=deadline)
        if isinstance(reply.event, Refused):
            raise ProtocolError(f"The server refused tasks/list: {reply.event.said}.")
        result: Json = reply.event.result
        page = mapping(result)
        tasks = page.get("tasks")
        found += items_of(tasks)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or len(found) >= limits.tasks:
            break
    return found[: limits.tasks]


def unreachable(manager: ConnectionManager, server: str) -> StudioError | None:
    """Why nothing more will be heard of a server's tasks by itself; None while it is connected or on its way."""
    if server not in manager.names():
        return Unreachable(f"{server} is not configured any more.")
    status = manager.status(server)
    if status.state in ("failed", "needs_auth"):
        return status.error or Unreachable(f"{server} has failed.")
    if status.state == "disabled":
        return Unreachable(f"{server} was disconnected.")
    return None


_SELDOM = 2.0
"""Seconds between two questions from which on the server is asked to tell by itself."""
_REMOVED = "Its server is not configured any more."


class Tasks(TaskStore):
    """The store, and what is done with what is in it.

    Tasks are followed over reconnects: whenever their server is ready again, those that are not done are asked for.
    """

    def __init__(self, manager: ConnectionManager, limits: Limits, file: TaskFile, spawn: Spawn) -> None:
        super().__init__(limits.tasks)
        self._manager = manager
        self._limits = limits
        self._keeper = TaskKeeper(file)
        self._spawn = spawn
        self._connections: dict[str, Connection] = {}
        self._followers: dict[tuple[str, str], tuple[Connection, Follower]] = {}
        self._earlier: list[Kept] | None = None
        self._listing = False
        self._early = Early()
        manager.changed.connect(self._server_changed)
        manager.notified.connect(self._notified)
        self.changed.connect(self._keep)
        self.removed.connect(self._forget)

    def begin(
        self, server: str, kind: TaskKind, raw: Json, *, ref: Ref, arguments: Json, method: str, number: int = 0
    ) -> Task:
        """A call, which has this number in the trace, became a task: follow it.

        Raises:
            ProtocolError: the server gave no task id.
        """
        state = read_state(raw, kind)
        if not state.id:
            raise ProtocolError("The server made the call a task, but gave no task id.")
        old = self.get(server, state.id)
        if old is not None and not old.done:
            task = old.wrong(("The server gave the id of this task to another call.",))
        else:
            task = Task(server, state.id, kind, ref=ref, arguments=arguments, method=method, number=number)
            task = task.heard(state, raw)
            if old is not None:
                self.remove(server, old.id)
                task = task.wrong(("The server used the id of an earlier task again.",))
        self.put(task)
        heard, early = self._early.take(task.key)
        self._follow(task, now=task.ended or (heard and early is None))
        if early is not None:
            self._told(task, early)
        return self.get(server, task.id) or task

    def pick_up(self, *, listing: bool = True) -> None:
        """Go on with the tasks of earlier runs, and take in what servers list, now and whenever one is ready."""
        if self._earlier is None:
            self._earlier = self._keeper.read()
            self._listing = listing
            for name in self._manager.names():
                self._connections.pop(name, None)
                self._server_changed(name)

    def adopt(self, server: str, identity: str) -> Task:
        """A task by its id alone, of the kind that its server's version has; it is not followed by itself.

        Raises:
            StudioError: the server is not connected, or has no tasks.
        """
        if task := self.get(server, identity):
            return task
        kind: TaskKind = "extension" if self._manager.connection(server).core.modern else "core"
        self.put(Task(server, identity, kind, followed=False))
        return cast("Task", self.get(server, identity))

    async def refresh(self, server: str) -> None:
        """Take in what a server lists (2025-11-25, `tasks/list`); servers without it list nothing.

        Raises:
            StudioError: not connected, or the server refused.
        """
        connection = self._manager.connection(server)
        if connection.core.modern or not has(self._manager.status(server).capabilities, "tasks", "list"):
            return
        for raw in await list_tasks(connection, self._limits):
            self._listed(server, raw)

    def _listed(self, server: str, raw: Json) -> None:
        state = read_state(raw, "core")
        if not state.id:
            return
        known = self.get(server, state.id)
        if known is None and len(self.all(server)) < self._limits.tasks:
            known = Task(server, state.id, "core", followed=False)
        if known is not None and not known.done:
            self.put(known.heard(state, raw))

    def poll(self, server: str, identity: str) -> None:
        """Ask for a task now, and follow it from now on.

        Raises:
            StudioError: there is no such task, or its server is not connected.
        """
        task = self._known(server, identity)
        self._manager.connection(server)
        if task.gone:
            task = replace(task, gone="")
        self.put(replace(task, followed=True))
        self._follow(task, now=True)

    async def cancel(self, server: str, identity: str) -> None:
        """Ask the server to cancel a task; whether it does is seen in its state (tasks, cancellation).

        Raises:
            StudioError: no such task, not connected, not offered, or refused.
        """
        task = self._known(server, identity)
        connection = self._manager.connection(server)
        if task.kind == "core" and not has(self._manager.status(server).capabilities, "tasks", "cancel"):
            raise ProtocolError(f"{server} does not offer to cancel tasks.")
        reply = await connection.request("tasks/cancel", {"taskId": identity}, under=task.number)
        if not isinstance(reply.event, Answered):
            raise ProtocolError(f"The server refused to cancel it: {reply.event.said}.")
        task = self._known(server, identity)
        state = read_state(reply.event.result, task.kind)
        if task.kind == "core" and state.id == identity and state.status is not None:
            self.put(task.heard(state, reply.event.result))
        if not self._known(server, identity).done:
            self._follow(task, now=True)

    def cancel_soon(self, server: str, identity: str) -> None:
        """The same without waiting."""
        self._spawn(self.cancel_noting(server, identity))

    async def cancel_noting(self, server: str, identity: str) -> None:
        """Cancel a task; a server that does not is noted at the task, one that cannot be reached is not."""
        try:
            await self.cancel(server, identity)
        except StudioError as error:
            task = self.get(server, identity)
            if isinstance(error, ProtocolError) and task is not None and not task.done:
                self.put(task.wrong((f"It could not be cancelled and goes on: {error.message}",)))

    async def until(self, server: str, identity: str, true: Callable[[Task], bool]) -> Task:
        """Wait until something is true of a task.

        Raises:
            UsageError: there is no such task, or not any more.
        """
        news = asyncio.Event()
        ends = [signal.connect(lambda _: news.set()) for signal in (self.changed, self.removed)]
        try:
            while not true(task := self._known(server, identity)):
                news.clear()
                await news.wait()
            return task
        finally:
            for end in ends:
                end()

    def _known(self, server: str, identity: str) -> Task:
        if task := self.get(server, identity):
            return task
        raise UsageError(f"{server} has no task {identity!r}.")

    def _follow(self, task: Task, *, now: bool) -> None:
        connection = self._connections.get(task.server)
        if connection is None or connection.ended.done():
            return
        running = self._followers.get(task.key)
        if running is not None and running[0] is connection:
            if now:
                running[1].poll()
            return
        answerer = self._manager.supervisor(task.server).answerer
        answerer.task_subjects[task.id] = task.subject
        follower = Follower(self, task.key, connection, answerer, self._limits)
        self._followers[task.key] = connection, follower
        doing = self._spawn(follower.run(now=now))
        doing.add_done_callback(lambda _: self._unfollow(task.key, follower))
        self._listen(task)

    def _unfollow(self, key: tuple[str, str], follower: Follower) -> None:
        if (running := self._followers.get(key)) and running[1] is follower:
            del self._followers[key]
            if key[0] in self._manager.names():
                self._manager.supervisor(key[0]).answerer.task_subjects.pop(key[1], None)
            if task := self.get(*key):
                self._listen(task)

    def _listen(self, task: Task) -> None:
        """Have the server tell of extension tasks that it wants to be asked for seldom; others gain little by it."""
        if task.kind == "extension" and (task.poll or 0.0) >= _SELDOM:
            mine = [self.get(*key) for key in self._followers if key[0] == task.server]
            wanted = [one.id for one in mine if one and one.kind == "extension" and (one.poll or 0.0) >= _SELDOM]
            self._manager.news.subscriptions.listen_tasks(task.server, wanted)

    def _server_changed(self, name: str) -> None:
        if name not in self._manager.names():
            self._connections.pop(name, None)
            for task in self.all(name):
                self.put(replace(task, gone=task.gone or _REMOVED))
            return
        connection = self._manager.supervisor(name).connection
        if connection is None or connection is self._connections.get(name):
            return
        self._connections[name] = connection
        if self._earlier is not None:
            self._take_up(name, self._earlier)
            if self._listing:
                self._spawn(self._list(name))
        for task in self.all(name):
            if task.gone == _REMOVED:  # it was configured anew, which is removing it and adding it again
                task = replace(task, gone="")
                self.put(task)
            if task.followed and not task.done:
                self._follow(task, now=True)

    def _take_up(self, server: str, earlier: list[Kept]) -> None:
        address = address_of(self._manager.config(server))
        for kept in earlier:
            if kept.address == address and not self._keeper.is_over(kept.key):
                task = kept.task(server)
                if task is not None and self.get(*task.key) is None:
                    self.put(task)

    async def _list(self, server: str) -> None:
        try:
            await self.refresh(server)
        except StudioError:
            return  # the list is one more way to learn of tasks; the others hold without it

    def _notified(self, event: tuple[str, str, dict[str, Json]]) -> None:
        server, method, params = event
        kind = NOTIFICATIONS.get(method)
        identity = params.get("taskId")
        if kind is None or not isinstance(identity, str):
            return
        task = self.get(server, identity)
        if task is None:
            self._early.hear(server, identity, params)
        elif task.kind == kind:
            self._told(task, params)

    def _told(self, task: Task, params: dict[str, Json]) -> None:
        if running := self._followers.get(task.key):
            running[1].heard(params)
        elif not task.done and (state := read_state(params, task.kind)).status is not None:
            self.put(task.heard(state, params))

    def _keep(self, task: Task) -> None:
        if task.server in self._manager.names() and task.ref is not None:
            self._keeper.keep(task, self._manager.config(task.server))

    def _forget(self, task: Task) -> None:
        if task.server in self._manager.names():
            self._keeper.drop(task, self._manager.config(task.server))

    async def close(self) -> None:
        """Write what has not been written yet, if the disk takes it soon."""
        await self._keeper.close()
