"""The owner of one server: one task opens and closes its connection, and starts it again where that helps."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from mcp_studio.auth.hints import add_hint
from mcp_studio.config.expand import effective_roots
from mcp_studio.config.model import Root, ServerConfig
from mcp_studio.errors import ConnectionLost, SignInNeeded, StudioError, Unreachable, renamed
from mcp_studio.jsontext import mapping
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore
from mcp_studio.session.connection import GATEWAY, Connection, Opening
from mcp_studio.session.raw import RawSender
from mcp_studio.session.server_requests import Answerer, PendingQuestions
from mcp_studio.session.state import ConnectPhase, Status, at_most
from mcp_studio.trace.message import Recording
from mcp_studio.trace.postmortem import Ending, How, Mortem, examine
from mcp_studio.transport.base import Tasks
from mcp_studio.transport.http_errors import HttpDown, HttpFailure

if TYPE_CHECKING:
    from mcp_studio.session.manager import ConnectionManager

log = logging.getLogger(__name__)

REMOTE_PROBE = 5.0
"""Seconds that a remote server may take to answer `server/discover` before the handshake is tried."""
_STEADY = 30.0
"""Seconds after which a connection's earlier restarts no longer count."""
_WARNINGS = 20
_FINAL = (2, 3)
"""Exit codes of errors that another attempt cannot repair: configuration, sign-in."""
_MORTEMS = 10
"""The most endings of one server that are kept."""


class LiveConnection:
    """A connection with all its tasks, which end in `close`."""

    def __init__(
        self, supervisor: Supervisor, manager: ConnectionManager, config: ServerConfig, remembered: str
    ) -> None:
        limits, answerer = manager.limits, supervisor.answerer
        self.config = config
        self._supervisor = supervisor
        self._manager = manager
        # The other half of the boundary in Supervisor._open: a failing helper task ends only this connection.
        self.tasks = Tasks(lambda _, error: self.connection.closed(error))
        self._transport = manager.transport(config, supervisor.tap)
        core = ClientCore(
            manager.client_info if config.client_info is None else config.client_info,
            answerer.capabilities,
            # HTTP+SSE belongs to the older era, so nothing else is tried there.
            era="legacy" if config.kind == "sse" else config.era,
            pin=config.protocol_version,
            remembered=remembered,
            streams=config.kind == "http",
            stateless=answerer.stateless,
        )
        core.traced = manager.traced
        probe = limits.probe if config.kind == "stdio" else REMOTE_PROBE
        if remembered == "modern":  # it will answer in the end, so only the time that a handshake may need is kept back
            probe = max(probe, (config.timeouts.connect or limits.connect) - probe)
        self.connection = Connection(
            self._transport, core, supervisor.tap, limits, config.timeouts, probe=probe, on_event=self._on_event,
            spawn=self.tasks.spawn,
        )  # fmt: skip
        self._questions = PendingQuestions(
            answerer, self.connection, limits.server_requests, self.tasks.spawn, supervisor.tap
        )
        self.connection.on_given_up = self._questions.given_up
        self.by_hand = RawSender(self.connection, self._transport, supervisor.tap, limits, self.tasks.spawn)

    async def open(self) -> Opening:
        """Connect within the deadline.

        Raises:
            StudioError: a sentence says what failed.
        """
        config = self.config
        try:
            async with asyncio.timeout(self.connection.connect.seconds):
                return await self.connection.open()
        except TimeoutError:
            printed = self._supervisor.tap.stray_lines
            silent = "" if config.url else "Start the server by hand to see what it waits for."
            late = (HttpDown if config.url else Unreachable)(
                f"No connection within {self.connection.connect}.",
                hint=f'It prints text to standard output: "{printed[0][:80]}".' if printed else silent,
            )
            late.how = "timeout"
            raise late from None
        except StudioError as error:
            add_hint(error, config)
            raise

    async def close(self) -> None:
        """End all tasks and the transport in a bounded time."""
        self.tasks.cancel()
        try:
            await self.connection.close()
        except TimeoutError:
            log.warning("closing %s took too long", self.config.name)
        except Exception:
            log.exception("closing %s failed", self.config.name)

    def _on_event(self, event: ev.Event) -> None:
        """Handle an event of the protocol core other than an answer."""
        if isinstance(event, ev.Notified):
            self._manager.on_notification(self._supervisor, event.method, event.params)
        elif isinstance(event, ev.Violation):
            self._supervisor.warn(event.text)
        elif isinstance(event, ev.Asked):
            self._questions.asked(event)
        elif isinstance(event, ev.Withdrawn):
            self._questions.withdrawn(event.id)
        elif isinstance(event, ev.Discovered):
            self._supervisor.tap.note(
                "server/discover was answered after initialize had been sent: the answer to initialize decides, "
                "and the next start waits longer for this one"
            )
            self._manager.refresher.discovered(self._supervisor.config)


class Supervisor:
    """Runs one server as long as it is configured; `run` is its owner task, other tasks give commands."""

    def __init__(self, config: ServerConfig, manager: ConnectionManager) -> None:
        self.config = config
        self._manager = manager
        self.on_demand = config.enabled and config.start == "demand"
        """Whether the server starts at its first use."""
        self.wanted = config.enabled and not self.on_demand
        """Whether the server should be connected."""
        self.status = Status(config.name, "idle" if self.wanted else "disabled")
        self.tap = manager.tap(config)
        self.tap.on_stray = self._on_stray
        self.log_level = config.log_level
        """The wished level of log messages; empty leaves it to the server."""
        self.calls: list[str] = []
        """Subjects of the running calls, newest last."""
        self.answerer = Answerer(self, manager)
        self.settled = asyncio.Event()
        """Set while the state is stable: ready, failed, disabled, or waiting to retry."""
        self.task: asyncio.Task[None] | None = None
        """The task of `run`."""
        self._leaving = False
        self._wake = asyncio.Event()
        self._live: LiveConnection | None = None
        self._opening: asyncio.Timeout | None = None
        """Limits the wait for a turn and for the connection."""
        self._legacy_next = self._cut = False
        self._refusal: StudioError | None = None
        """The refusal of Streamable HTTP, after which HTTP+SSE is tried."""
        self._held = 0.0
        self._last = 0
        """The number of the last entry before the note on the loss; 0 means the newest entry."""
        self.first = 0
        """The number of the trace's first entry of the present or last connection."""
        self.mortems: list[Mortem] = []
        """The endings of its connections, newest last."""

    @property
    def live(self) -> LiveConnection | None:
        """The ready connection with its tasks, or None; one that has just ended by itself does not count."""
        live = self._live if self.status.state == "ready" else None
        return None if live is None or live.connection.ended.done() else live

    @property
    def connection(self) -> Connection | None:
        """The ready connection, or None."""
        live = self.live
        return None if live is None else live.connection

    @property
    def healthy(self) -> bool:
        """Whether the server is ready, and not silent."""
        return self.connection is not None and not self.connection.silent

    # ------------------------------------------------------------------ commands

    def start(self) -> None:
        """Connect, or try again at once."""
        self.wanted = not self._leaving
        if self.connection is None:
            self.settled.clear()
            if self.status.state not in ("idle", "connecting"):
                self._wake.set()

    def stop(self) -> None:
        """Disconnect until the next `start`."""
        self.wanted = False
        self._interrupt()

    def restart(self) -> None:
        """Disconnect if connected, and connect again."""
        self.wanted = not self._leaving
        self._interrupt()

    def leave(self) -> None:
        """Disconnect and end `run`."""
        self._leaving = True
        self.stop()

    def set_roots(self, roots: tuple[Root, ...]) -> None:
        """Change the server's roots, and notify the server where its version allows it (client/roots)."""
        old = self.config
        written = replace(old.written, roots=roots) if old.written else None
        self.config = replace(old, roots=effective_roots(roots, old), written=written)
        declared = mapping(self.answerer.capabilities.get("roots")).get("listChanged") is True
        if declared and self.connection is not None and not self.connection.core.modern:
            self.connection.notify("notifications/roots/list_changed")
        self._manager.changed.emit(old.name)

    def warn(self, text: str) -> None:
        """Record a fault of the server once; the text starts with a verb."""
        text = self.tap.clean(text)
        covered = self.tap.says(text)
        if text not in self.status.warnings and len(self.status.warnings) < _WARNINGS:
            self._set_status(warnings=(*self.status.warnings, text))
            if not covered:
                self.tap.note(f"the server {text}")

    def _on_stray(self, line: str) -> None:
        if self.tap.stray_count == 1:
            said = f'prints to standard output, which belongs to the protocol ("{line[:60]}")'
            self.warn(f"{said}; what it wants to say to people must go to standard error")

    def _set_status(self, **changes: object) -> None:
        before, self.status = self.status, self.status._replace(**changes)
        self._manager.on_status(self, before)
        self._manager.changed.emit(self.config.name)

    def _interrupt(self) -> None:
        self.settled.clear()
        self._wake.set()
        if self._opening is not None:
            self._opening.reschedule(asyncio.get_running_loop().time())
            self._opening = None
        elif self._live is not None:
            self._cut = bool(self._live.connection.calls)
            if self.status.state == "ready":
                self._set_status(state="stopping")
            self._live.connection.end()

    # ------------------------------------------------------------------ the owner task

    async def run(self) -> None:
        """Run until `leave`; every failure becomes a status with a reason."""
        try:
            attempt = 0
            while not self._leaving:
                attempt = await self._once(attempt) if self.wanted else await self._rest()
        finally:
            self.settled.set()

    async def _rest(self) -> int:
        if self.status.state not in ("failed", "needs_auth"):
            self._set_status(state="disabled", error=None, pid=0, attempt=0)
        self._legacy_next, self._refusal = False, None
        self.settled.set()
        await self._sleep(None)
        return 0

    async def _once(self, attempt: int) -> int:
        """Run one connection and the pause after it; returns the number of the next attempt."""
        self._held = 0.0
        self._wake.clear()
        self.settled.clear()
        self._set_status(state="idle", pid=0)
        error = await self._connect()
        if (self._legacy_next or self._refusal) and error is not None and self.wanted:
            return attempt
        if self._cut or (self.wanted and error is not None):
            self._examine(error)
        if self.wanted and error is not None:
            return await self._after(error, 0 if self._held > _STEADY else attempt)
        if not self.wanted:
            self._set_status(state="disabled", error=None, pid=0)
        return 0

    async def _connect(self) -> StudioError | None:
        """Connect and serve; returns why the connection ended or could not be opened, None when that was wanted."""
        try:
            async with asyncio.timeout(None) as self._opening, self._manager.turn(self.config):
                opened = await self._open()
        except TimeoutError:
            return None
        finally:
            self._opening = None
        if not isinstance(opened, LiveConnection):
            return opened
        began = time.monotonic()
        try:
            opened.tasks.spawn(self._manager.serve(self))
            error = await asyncio.shield(opened.connection.ended)
            self._last = self.tap.store.total
            if self.status.state == "ready":
                self._set_status(state="stopping", error=error)
            return error
        finally:
            self._held = time.monotonic() - began
            await self._end(opened)

    async def _open(self) -> LiveConnection | StudioError:
        """Open a connection; on failure close it and return the reason."""
        live, opened = None, False
        refusal, self._refusal = self._refusal, None
        self.tap.begins(again=self._legacy_next or refusal is not None or self.status.attempt > 0)
        self._set_status(state="connecting", error=None, warnings=(), steps=())
        # crash reports begin after the note that the server is connecting
        self.first, self._last, self._cut = self.tap.store.total + 1, 0, False
        remembered = "legacy" if self._legacy_next else self._manager.memories.recall(self.config).era
        self._legacy_next = False
        config = self.config if refusal is None else replace(self.config, transport="sse")
        try:
            live = self._live = LiveConnection(self, self._manager, config, remembered)
            opening = await live.open()
            self._opening = None  # from here on an interruption ends the connection
            self._ready(opening, live)
            opened = True
            return live
        except StudioError as error:
            if live is not None and live.connection.ended.done() and live.connection.core.probing:
                # It ended while only the probe was out, so the older handshake is tried at once.
                self._legacy_next = self.config.kind in ("stdio", "websocket")
            if refusal is not None:
                self.tap.note(f"no HTTP+SSE at this address either: {self.tap.cleaned(error).message}")
                return error if isinstance(error, SignInNeeded) else refusal
            refused = isinstance(error, HttpFailure) and error.code in (400, 404, 405)
            if refused and self.config.kind == "http" and not self.config.transport:
                # Specification, basic/transports, Backwards Compatibility.
                self.tap.note("the handshake was refused: looking for HTTP+SSE (2024-11-05) at this address")
                self._refusal = error
            return self.tap.cleaned(error)
        except Exception as error:  # boundary: one server's failure is a state with a reason, never a crash
            log.exception("connecting %s", self.config.name)
            return Unreachable(
                f"The connection failed in an unexpected way ({type(error).__name__}).", hint="The log has more."
            )
        finally:
            self._opening = None  # closing is not interrupted
            if live is not None and not opened:
                await self._end(live)

    def _ready(self, opening: Opening, live: LiveConnection) -> None:
        connection = live.connection
        self._set_status(
            state="ready",
            attempt=0,
            spoken=live.config.kind,
            declared=connection.core.capabilities,
            client_info=connection.core.info,
            **opening.ready._asdict(),
            pid=opening.opened.pid,
            steps=(
                ConnectPhase("started", opening.started_ms, self.tap.clean(opening.opened.target)),
                ConnectPhase("negotiated", opening.negotiated_ms, opening.ready.version),
            ),
        )
        self._manager.refresher.begin(self.config.name, connection)
        self.settled.set()

    async def _end(self, live: LiveConnection) -> None:
        try:
            await live.close()
        finally:
            self._live = None

    async def _after(self, error: StudioError, attempt: int) -> int:
        """Give up, or wait before another attempt; returns its number.

        A `start` meanwhile ends the wait, and resets the number of attempts.
        """
        first = self._held == 0.0 and attempt == 0
        if (first and not self._down(error)) or error.exit_code in _FINAL:
            return self._give_up(error)
        limits = self._manager.limits
        attempt = 1 if self._wake.is_set() else attempt + 1
        if attempt > limits.restarts:
            hint = f"{limits.restarts} more attempts failed too. Reconnect it once the reason is gone."
            return self._give_up(renamed(error, Unreachable, hint))
        pause = min(max(2.0 ** (attempt - 1), error.retry_after), limits.retry_max)
        self._set_status(state="retrying", error=error, attempt=attempt, retry_at=time.monotonic() + pause, pid=0)
        if not self._wake.is_set():
            self.settled.set()
        await self._sleep(pause)
        return attempt

    def _down(self, error: StudioError) -> bool:
        """Whether a remote server may be down for now; one that refuses, or asks for more time, is not down."""
        gateway = error.http is not None and error.http.status in GATEWAY
        down = gateway or isinstance(error, (HttpDown, ConnectionLost))
        return down and self.config.kind != "stdio" and error.retry_after <= self._manager.limits.retry_max

    def _give_up(self, error: StudioError) -> int:
        self.wanted = False
        self._set_status(state="needs_auth" if error.exit_code == 3 else "failed", error=error, pid=0)
        return 0

    async def _sleep(self, seconds: float | None) -> None:
        await at_most(seconds, self._wake.wait())
        self._wake.clear()

    # ------------------------------------------------------------------ crash reports

    def _examine(self, error: StudioError | None) -> None:
        """Store a report on an ended connection; `error` is None where the end was wanted."""
        trace, ready = cast("Recording", self.tap.store), self._held > 0
        if trace.total < self.first or (error is not None and error.exit_code in _FINAL):
            return
        ending = Ending("closed") if error is None else Ending(cast("How", error.how), error.code)
        found = examine(
            trace, self.config.name, ending, first=self.first, last=self._last, ready=ready,
            message=error.message if error else "",
            time=0.0 if ending.gone else time.time(),  # the note on a process's end has its time
        )  # fmt: skip
        if (error is None and not found.flights) or not (found.frames or found.stderr or found.began):
            return
        if error is not None and not found.ending.gone and ready:
            self.tap.note(f"the connection ended: {error.message}", f"{error.how} {error.code}")
        self.mortems = [*self.mortems, found][-_MORTEMS:]
