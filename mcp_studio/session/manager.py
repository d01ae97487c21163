"""All connections: their states, and commands to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager

from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.refresh import Refresher
from mcp_studio.catalog.remembered import Memories, Memory
from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.errors import Unreachable, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.session.connection import Connection, RunningRequest
from mcp_studio.session.events import ServerEvent, ServerRemoved, event_of
from mcp_studio.session.inbox import Inbox
from mcp_studio.session.logs import LogStore, begin_level
from mcp_studio.session.raw import RawSender
from mcp_studio.session.rules import AnswerRules
from mcp_studio.session.state import Spawn, Status, at_most
from mcp_studio.session.subscriptions import Subscriptions
from mcp_studio.session.supervisor import LiveConnection, Supervisor
from mcp_studio.signal import Signal
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import Transport

_TURN = 3.0
"""Seconds after which a slowly connecting server no longer blocks others."""
MakeTransport = Callable[[ServerConfig, Limits, ServerTap], Transport]


class ConnectionManager:
    """Starts, stops and watches servers.

    Args:
        spawn: starts a task in the studio's task group.
        make_transport: makes the transport of a configuration.
        memories: the last offers of servers, and the eras that worked.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        inbox: Inbox,
        rules: AnswerRules,
        catalog: Catalog,
        trace: TraceStore,
        redactor: Redactor,
        can_ask: bool,
        client_info: Json,
        spawn: Spawn,
        make_transport: MakeTransport,
        memories: Memories,
    ) -> None:
        self.limits = settings.limits
        self.inbox = inbox
        self.rules = rules
        self.can_ask = can_ask
        self.traced = settings.traceparent
        self.client_info = client_info
        self.changed: Signal[str] = Signal()
        """Emits the name of a server whose status or presence changed."""
        self.events: Signal[ServerEvent] = Signal()
        """Emits typed events on servers, in order."""
        self.removed: Signal[str] = Signal()
        """Emits the name of a server that was removed for good."""
        self.notified: Signal[tuple[str, str, dict[str, Json]]] = Signal()
        """Emits server, method and parameters of every notification except progress and withdrawals."""
        self._trace = trace
        self.redactor = redactor
        self._spawn = spawn
        self._make_transport = make_transport
        self.memories = memories
        self._catalog = catalog
        self.refresher = Refresher(catalog, settings.limits, self._keep)
        self.subscriptions = Subscriptions(settings.limits, self.refresher.again)
        self.logs = LogStore(settings.limits, redactor.text)
        self._supervisors: dict[str, Supervisor] = {}
        self._process_slots = asyncio.Semaphore(max(1, settings.start_processes))
        self._remote_slots = asyncio.Semaphore(max(1, settings.start_remote))

    def names(self) -> tuple[str, ...]:
        """All servers, in the order of the configuration."""
        return tuple(self._supervisors)

    @property
    def running(self) -> tuple[RunningRequest, ...]:
        """The open requests to all servers, oldest first."""
        connections = (supervisor.connection for supervisor in self._supervisors.values())
        found = [request for connection in connections if connection is not None for request in connection.running]
        return tuple(sorted(found, key=lambda request: request.started))

    def config(self, name: str) -> ServerConfig:
        """The configuration of a server.

        Raises:
            UsageError: there is no such server; the message suggests similar names.
        """
        return self.supervisor(name).config

    def status(self, name: str) -> Status:
        """The status of a server (see `config` for errors)."""
        return self.supervisor(name).status

    def supervisor(self, name: str) -> Supervisor:
        """The supervisor of a server (see `config` for errors)."""
        try:
            return self._supervisors[name]
        except KeyError:
            raise UsageError(
                f"There is no server {name!r}.{suggestion(name, self._supervisors)}",
                hint="`mcp-studio list servers` shows the configured servers.",
            ) from None

    # ------------------------------------------------------------------ commands

    def add(self, config: ServerConfig) -> None:
        """Add a server, which starts if it is enabled.

        Raises:
            UsageError: a server of this name exists already.
        """
        if config.name in self._supervisors:
            raise UsageError(f"There is a server {config.name!r} already.", hint="Choose another name.")
        supervisor = Supervisor(config, self)
        self._supervisors[config.name] = supervisor
        self._catalog.arrange(self._supervisors)
        self.refresher.show_remembered(config, self.memories.recall(config))
        supervisor.task = self._spawn(supervisor.run())
        self.changed.emit(config.name)

    async def remove(self, name: str) -> None:
        """Close a server and forget it; completes even if the caller is cancelled, and may be called twice."""
        await asyncio.shield(self._spawn(self._remove(self.supervisor(name), for_good=True)))

    async def _remove(self, supervisor: Supervisor, *, for_good: bool) -> None:
        name = supervisor.config.name
        supervisor.leave()
        if supervisor.task is not None:
            await asyncio.wait((supervisor.task,))
        if self._supervisors.get(name) is not supervisor:
            return  # another call was faster
        del self._supervisors[name]
        self.refresher.forget(name)
        if for_good:  # an entry that replaces this one keeps subscriptions and log messages
            self.subscriptions.forget(name)
            self.logs.forget(name)
        self._catalog.forget(name)
        self.changed.emit(name)
        if for_good:
            self.removed.emit(name)
            event = ServerRemoved(name, "it was taken out of the configuration")
            supervisor.tap.note(event.text)
            self.events.emit(event)

    async def replace(self, config: ServerConfig, old_name: str = "") -> None:
        """Replace a server's configuration, or add a new one; `old_name` is its earlier name.

        The caller writes the configuration to its file.
        """
        watched = self.subscriptions.of(old_name)  # subscriptions under the same name stay by themselves
        if old_name != config.name and old_name in self._supervisors:
            await self.remove(old_name)
        order = self.names()
        while config.name in self._supervisors:
            await asyncio.shield(self._spawn(self._remove(self.supervisor(config.name), for_good=False)))
        self.add(config)
        known = self._supervisors
        self._supervisors = {name: known[name] for name in order if name in known} | known
        self._catalog.arrange(self._supervisors)
        for one in watched:
            self.subscriptions.watch(config.name, one.uri, template=one.template)

    def start(self, name: str) -> None:
        self.supervisor(name).start()

    def restart(self, name: str) -> None:
        self.supervisor(name).restart()

    async def stop(self, name: str) -> None:
        """Disconnect a server and wait until it has ended."""
        supervisor = self.supervisor(name)
        supervisor.stop()
        await supervisor.settled.wait()

    async def settle(self, name: str) -> Status:
        """Wait until a server is ready, has failed, is disabled, or waits to be tried again."""
        supervisor = self.supervisor(name)
        await supervisor.settled.wait()
        return supervisor.status

    async def listed(self, name: str) -> None:
        """Wait until a ready server's lists are read; returns at once for other servers."""
        if self.supervisor(name).connection is not None:
            await self.refresher.done(name)

    def connection(self, name: str) -> Connection:
        """The ready connection of a server; a `StudioError` says why there is none."""
        return self._live(name).connection

    def by_hand(self, name: str) -> RawSender:
        """The sender of frames that a person wrote, on that connection (see `connection` for errors)."""
        return self._live(name).by_hand

    def _live(self, name: str) -> LiveConnection:
        supervisor = self.supervisor(name)
        if supervisor.live is not None:
            return supervisor.live
        status = supervisor.status
        if status.error is not None:
            raise status.error.with_traceback(None)  # otherwise its traceback would grow with every caller
        what = {"connecting": "still connecting", "idle": "waiting for its turn to start"}
        raise Unreachable(f"{name} is {what.get(status.state, 'not connected')}.", hint="Connect it first.")

    async def ready(self, name: str, patience: float | None = None) -> Connection:
        """The connection of a server, once it has connected or failed; a server that ended by itself is started again.

        A server that a person disabled, or has to sign in to, is not started. After `patience` seconds the wait ends.
        """
        supervisor = self.supervisor(name)
        if (live := supervisor.live) is not None:
            return live.connection
        if supervisor.wanted or supervisor.on_demand or supervisor.status.state == "failed":
            supervisor.start()
        await at_most(patience, supervisor.settled.wait())
        return self.connection(name)

    async def close(self) -> None:
        """Close all servers at once, within `limits.close_all`."""
        for supervisor in self._supervisors.values():
            supervisor.leave()
        if tasks := [one.task for one in self._supervisors.values() if one.task is not None]:
            await asyncio.wait(tasks, timeout=self.limits.close_all)
        for supervisor in self._supervisors.values():
            supervisor.settled.set()

    # ------------------------------------------------------------------ for supervisors

    def transport(self, config: ServerConfig, tap: ServerTap) -> Transport:
        """Make the transport of a server."""
        return self._make_transport(config, self.limits, tap)

    def tap(self, config: ServerConfig, ledger: Ledger | None = None) -> ServerTap:
        """Make the tap of a server or of a further connection to it; the redactor first learns the server's secrets."""
        for secret in config.secrets:
            self.redactor.learn(secret)
        return ServerTap(self._trace, self.redactor, config.name, self.limits, ledger=ledger)

    @asynccontextmanager
    async def turn(self, config: ServerConfig) -> AsyncGenerator[None]:
        """Wait for a turn to connect, which few servers have at a time; a slow one passes it on after a while."""
        slots = self._process_slots if config.kind == "stdio" else self._remote_slots
        await slots.acquire()
        with ExitStack() as turn:
            turn.callback(slots.release)
            timer = asyncio.get_running_loop().call_later(_TURN, turn.close)
            turn.callback(timer.cancel)
            yield

    def on_status(self, supervisor: Supervisor, before: Status) -> None:
        """Emit and trace the event of a status change."""
        if (event := event_of(before, supervisor.status, self.limits.restarts)) is not None:
            supervisor.tap.note(event.text)
            if supervisor.status.state == "failed":
                self._catalog.clear(supervisor.config.name)
            self.events.emit(event)

    async def serve(self, supervisor: Supervisor) -> None:
        """Serve a ready connection: read all lists, set level and subscriptions, and listen for changes."""
        if (connection := supervisor.connection) is not None:
            config, status = supervisor.config, supervisor.status
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(begin_level(supervisor, connection))
                tasks.create_task(self.subscriptions.serve(config.name, connection, status.capabilities))
                tasks.create_task(self.refresher.serve(config, connection, status))
                if status.spoken == "http":
                    tasks.create_task(connection.probe(config.probe))

    def on_notification(self, supervisor: Supervisor, method: str, params: dict[str, Json]) -> None:
        """Handle a notification; cheap, because a server may send any number."""
        name, tap = supervisor.config.name, supervisor.tap
        if method == "notifications/elicitation/complete":
            self.inbox.completed(name, str(params.get("elicitationId", "")))
        elif method == "notifications/message":
            entry = tap.newest
            request = f"{on.method} {on.target}".rstrip() if supervisor.status.modern and (on := tap.carrier) else ""
            number = entry.number if entry is not None else 0
            self.logs.add(name, params, request=request, entry=number, plain=entry is not None and tap.plain)
        self.refresher.on_notification(name, method)
        self.subscriptions.on_notification(name, method, params)
        self.notified.emit((name, method, params))

    def _keep(self, config: ServerConfig, memory: Memory) -> None:
        if file := self.memories.keep(config, memory):
            self._spawn(asyncio.to_thread(self.memories.write, file))
