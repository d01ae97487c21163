"""All tasks of all servers: begun by calls, listed by servers, picked up from an earlier run, followed to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from mcp_studio.catalog.ref import Ref
from mcp_studio.errors import ProtocolError, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.tasks import NOTIFICATIONS, TaskKind, has, read_state
from mcp_studio.session.connection import Connection
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.request import Spawn
from mcp_studio.session.task_early import Early
from mcp_studio.session.task_file import Kept, TaskFile, address_of
from mcp_studio.session.task_follower import Follower
from mcp_studio.session.task_keeper import TaskKeeper
from mcp_studio.session.task_listing import list_tasks
from mcp_studio.session.tasks import Task, TaskStore

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
