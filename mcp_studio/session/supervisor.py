"""The owner of one server: opens and closes its connection in one task, and starts it again where that helps."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from mcp_studio.config.expand import effective_roots
from mcp_studio.config.model import Root, ServerConfig
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable, renamed
from mcp_studio.jsontext import mapping
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.events import Outgoing
from mcp_studio.session import late
from mcp_studio.session.connection import Connection, Deadline, Opening, limit_of
from mcp_studio.session.server_requests import Answerer, Channel, Questions
from mcp_studio.session.signer import add_hint
from mcp_studio.session.state import Owner, Seat, Status, Step
from mcp_studio.transport.base import Tasks, Transport
from mcp_studio.transport.http_errors import HttpDown

if TYPE_CHECKING:
    from mcp_studio.trace.postmortem import Mortem

log = logging.getLogger(__name__)
T = TypeVar("T")

REMOTE_PROBE = 5.0
"""Seconds that a remote server may take to answer `server/discover` before the handshake is tried."""


class Life:
    """Opens in `open`, ends in `close`; everything in between runs in tasks of its own that `close` ends.

    It is the `signer.Clock` of its transport: a token that is fetched or renewed without a person takes several
    requests to other servers, each with a bound of its own (`limits.sign_in_request`); that is not the server's time.
    """

    def __init__(self, seat: Seat, owner: Owner, answerer: Answerer, remembered: str) -> None:
        config, limits = seat.config, owner.limits
        self._seat = seat
        self._owner = owner
        # The other half of the boundary in Supervisor.run: a failing helper task ends this connection only.
        self.tasks = Tasks(lambda _, error: self.connection.closed(error))
        """What ends with this life at the latest."""
        self._clocks: list[Deadline] = []
        self._fetching = 0
        self.stopped = False
        """Somebody wants it ended."""
        transport: Transport = owner.transport(config, seat.tap, self)
        self._transport = transport
        core = ClientCore(
            owner.client_info if config.client_info is None else config.client_info,
            answerer.capabilities,
            # HTTP+SSE is of the older era: nothing else is ever asked there.
            era="legacy" if config.kind == "sse" else config.era,
            pin=config.protocol_version,
            remembered=remembered,
            streams=config.kind == "http",
            stateless=answerer.stateless,
        )
        core.traced = owner.traced
        probe = limits.probe if config.kind == "stdio" else REMOTE_PROBE
        if remembered == "modern":  # it answers in the end: only what the handshake may need is left of connecting
            probe = max(probe, (config.timeouts.connect or limits.connect) - probe)
        self.connection = Connection(
            transport,
            core,
            seat.tap,
            limits,
            config.timeouts,
            probe=probe,
            on_event=self._on_event,
            spawn=self.tasks.spawn,
            inflight=owner.inflight,
        )
        self._questions = Questions(answerer, self.connection, limits.server_requests, self.tasks.spawn, seat.tap.note)
        self.connection.on_given_up = self._questions.given_up
        self.connection.on_dropped = seat.dropped
        self.connection.patience = self._patience

    @property
    def died_of_probe(self) -> bool:
        """The transport ended by itself while only the probe was out."""
        return self.connection.died and self.connection.core.probing

    async def open(self) -> Opening:
        """Connect within the deadline.

        Raises:
            StudioError: why it did not work, in words.
        """
        longest = limit_of("connect", self._owner.limits.connect, "limits.connect", self._seat.config.timeouts)
        try:
            if self.stopped:
                raise Unreachable("Stopped before it was started.")
            return await self._within(longest.seconds, self.connection.open())
        except TimeoutError:
            standing, stray = self._transport.standing(None), self._seat.tap.stray_count
            printed = f" It printed {stray} lines that are not MCP." if stray else ""
            raise (HttpDown if self._seat.config.url else Unreachable)(
                f"No connection within {longest}{standing and '; '}{standing}.{printed}",
                hint="" if self._seat.config.url else "Start the server by hand to see what it waits for.",
            ) from None
        except StudioError as error:
            add_hint(error, self._seat.config)
            raise

    def interrupt(self) -> None:
        """Whatever it is doing, it shall end; returns at once."""
        self.stopped = True
        for clock in self._clocks:
            if not clock.scope.expired():
                clock.scope.reschedule(asyncio.get_running_loop().time())
        self.connection.closed_on_purpose()

    def pause(self) -> None:
        """Credentials are being fetched: the time of connecting stands still."""
        self._fetching += 1
        for clock in self._clocks:
            clock.pause()

    def resume(self) -> None:
        """They are there, or not to be had."""
        self._fetching -= 1
        for clock in self._clocks:
            clock.resume()

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        """Do something in so many seconds, those for fetching credentials not counted; raises TimeoutError."""
        clock = Deadline(seconds, seconds, seconds + self._owner.limits.sign_in)
        if self._fetching:
            clock.pause()
        self._clocks.append(clock)
        try:
            async with clock.scope:
                return await work
        finally:
            self._clocks.remove(clock)

    async def _patience(self, future: asyncio.Future[T], seconds: float) -> None:
        try:
            await self._within(seconds, asyncio.wait((future,)))
        except TimeoutError:
            return

    async def close(self) -> None:
        """End all tasks and the transport in a bounded time, also when the owner is cancelled meanwhile."""
        self.tasks.cancel()
        closing = asyncio.get_running_loop().create_task(self.connection.close())
        limit = self._owner.limits.close + 1
        try:
            await asyncio.wait((closing,), timeout=limit)
        except asyncio.CancelledError:
            await asyncio.wait((closing,), timeout=limit)
            raise
        finally:
            if not closing.done():
                log.warning("closing %s took too long", self._seat.config.name)
                closing.cancel()
            elif not closing.cancelled() and (error := closing.exception()):
                log.error("closing %s failed", self._seat.config.name, exc_info=error)

    # ------------------------------------------------------------------ what the server says by itself

    def _on_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.Notified):
            self._owner.on_notification(self._seat, event.method, event.params)
        elif isinstance(event, ev.Fault):
            self._seat.warn(event.text)
        elif isinstance(event, ev.Asked):
            self._questions.asked(event)
        elif isinstance(event, ev.Withdrawn):
            self._questions.withdrawn(event.id)
        elif isinstance(event, ev.Discovered):
            self._seat.tap.note(
                "server/discover was answered after initialize had been sent: the answer to initialize decides, "
                "and the next start waits longer for this one"
            )
            self._owner.on_discovered(self._seat)


def unexpected(error: Exception) -> Unreachable:
    """What is told of a failure that nobody foresaw."""
    return Unreachable(
        f"The connection failed in an unexpected way ({type(error).__name__}).", hint="The log has more."
    )


_STEADY = 30.0
"""A connection that held this many seconds has its restarts forgiven."""
_WARNINGS = 20
_FINAL = (2, 3)
"""Exit codes of errors that trying again does not mend: configuration, sign-in."""
_GATEWAY = (502, 503, 504)
"""HTTP statuses of what stands before a server that is not there."""


class Supervisor:
    """Runs one server for as long as it is configured; `run` is its owner task, commands come from any task."""

    def __init__(self, config: ServerConfig, owner: Owner) -> None:
        self.config = config
        self._owner = owner
        self.status = Status(config.name, "idle" if config.enabled else "disabled")
        self.tap = owner.tap(config)
        self.tap.on_stray = self._on_stray
        self.calls: list[str] = []
        """Subjects of the running calls, newest last."""
        self.answerer = Answerer(
            lambda: self.config, owner.inbox, owner.limits, owner.can_ask,
            lambda: self.calls[-1] if self.calls else "", Channel(owner.rules, self.tap.note, owner.learn),
        )  # fmt: skip
        self.settled = asyncio.Event()
        """Set while nothing is under way: ready, failed, disabled, or waiting to retry."""
        self.wanted = config.enabled
        """It is to be connected."""
        self._wake = asyncio.Event()
        self._life: Life | None = None
        self._queueing: asyncio.Timeout | None = None
        self._legacy_next = False
        self._held = 0.0
        self._cut = False
        self.first = 0
        """The number of the first entry that the trace has of the connection that there is, or was last."""
        self.mortems: list[Mortem] = []
        """How its connections ended, the newest last."""

    @property
    def connection(self) -> Connection | None:
        """The ready connection, or None; one that has just ended by itself is none any more."""
        found = self._life.connection if self._life is not None and self.status.state == "ready" else None
        return None if found is None or found.ended.done() else found

    # ------------------------------------------------------------------ commands

    def start(self) -> None:
        """Connect, or try again at once."""
        self.wanted = True
        if self.connection is None:
            self.settled.clear()
            if self.status.state not in ("idle", "connecting"):
                self._wake.set()

    def stop(self) -> None:
        """Disconnect and stay so."""
        self.wanted = False
        self._interrupt()

    def restart(self) -> None:
        """Disconnect where connected, and connect anew."""
        self.wanted = True
        self._interrupt()

    def set_roots(self, roots: tuple[Root, ...]) -> None:
        """Give the server other roots from now on; it is told where its version has a way (client/roots)."""
        old = self.config
        written = replace(old.written, roots=roots) if old.written else None
        self.config = replace(old, roots=effective_roots(roots, old), written=written)
        told = mapping(self.answerer.capabilities.get("roots")).get("listChanged") is True
        if told and self.connection is not None and not self.connection.core.modern:
            self.connection.notify("notifications/roots/list_changed")
        self._owner.on_status(old.name)

    def warn(self, text: str) -> None:
        """Note what the server does wrong, once; starts with a verb."""
        text = self.tap.clean(text)
        covered = self.tap.says(text)
        if text not in self.status.warnings and len(self.status.warnings) < _WARNINGS:
            self.set_status(warnings=(*self.status.warnings, text))
            if not covered:
                self.tap.note(f"the server {text}")

    def _on_stray(self, line: str) -> None:
        if self.tap.stray_count == 1:
            self.warn(
                f'prints to standard output, which belongs to the protocol ("{line[:60]}"); '
                "what it wants to say to people must go to standard error"
            )

    def set_status(self, **changes: object) -> None:
        """Change the status and say so."""
        self.status = self.status.having(**changes)
        self._owner.on_status(self.config.name)

    def dropped(self, out: Outgoing, error: StudioError) -> None:
        """A request got no answer on the transport's level, while the connection goes on."""
        if self.connection is not None and late.dropped(self.mortems, self.tap, out, error, first=self.first):
            self._owner.on_status(self.config.name)

    def _interrupt(self) -> None:
        self.settled.clear()
        self._wake.set()
        if self._life is not None:
            self._cut = bool(self._life.connection.waiting.calls)
            if self.status.state == "ready":
                self.set_status(state="stopping")
            self._life.interrupt()
        if self._queueing is not None and not self.wanted and not self._queueing.expired():
            self._queueing.reschedule(asyncio.get_running_loop().time())

    async def run(self) -> None:
        """Live until cancelled; whatever goes wrong becomes a status with a reason."""
        try:
            await self._run()
        finally:
            self.settled.set()

    async def _run(self) -> None:
        attempt = 0
        while True:
            if not self.wanted:
                if self.status.state not in ("failed", "needs_auth"):
                    self.set_status(state="disabled", error=None, pid=0, attempt=0)
                self.settled.set()
                await self._sleep(None)
                attempt = 0
                continue
            error = await self._live()
            if not self._legacy_next and (self._cut or (self.wanted and error is not None)):
                late.ended(self.mortems, self.tap, error, first=self.first, ready=self._held > 0)
            if not self.wanted or error is None:
                attempt = 0
                if not self.wanted:
                    self.set_status(state="disabled", error=None, pid=0)
                continue
            if self._legacy_next:
                continue
            attempt = await self._after(error, 0 if self._held > _STEADY else attempt)

    async def _live(self) -> StudioError | None:
        """One connection from beginning to end; why it ended, or None when that was wanted."""
        self._held = 0.0
        self._wake.clear()
        self.settled.clear()
        self.set_status(state="idle", pid=0)
        if not await self._turn():
            return None
        try:
            opened = await self._open()
        finally:
            self._owner.slots(self.config).release()
        if not isinstance(opened, Life):
            return opened
        life, began = opened, time.monotonic()
        try:
            life.tasks.spawn(self._owner.serve(self))
            error = await asyncio.shield(life.connection.ended)
            if self.status.state == "ready":
                self.set_status(state="stopping", error=error)
            return error
        finally:
            self._held = time.monotonic() - began
            await self._end(life)

    async def _turn(self) -> bool:
        """Wait for one of the slots of those that connect; False when it is not wanted any more."""
        try:
            async with asyncio.timeout(None) as self._queueing:
                await self._owner.slots(self.config).acquire()
        except TimeoutError:
            return False
        finally:
            self._queueing = None
        return True

    async def _open(self) -> Life | StudioError | None:
        """Open a connection; on failure it is closed again and the reason returned, None when that was wanted."""
        if not self.wanted:
            return None
        opened, life = False, None
        self.first, self._cut = self.tap.store.total + 1, False
        self.tap.begins(again=self._legacy_next or self.status.attempt > 0)
        self.set_status(state="connecting", error=None, warnings=(), steps=())
        try:
            remembered = "legacy" if self._legacy_next else self._owner.era_of(self.config)
            self._legacy_next = False
            life = self._life = Life(self, self._owner, self.answerer, remembered)
            self._ready(await life.open(), life.connection)
            opened = True
            return life
        except StudioError as error:
            if life is not None and life.stopped:
                return None
            # One that ended, or hung up, while only the probe was out gets the older handshake at once.
            lasting = self.config.kind in ("stdio", "websocket")
            self._legacy_next = lasting and life is not None and life.died_of_probe
            return self.tap.cleaned(error)
        except Exception as error:  # boundary: one server's failure is a state with a reason, never a crash
            log.exception("connecting %s", self.config.name)
            return unexpected(error)
        finally:
            if not opened and life is not None:
                await self._end(life)

    def _ready(self, opening: Opening, connection: Connection) -> None:
        ready = opening.ready
        self.set_status(
            state="ready",
            attempt=0,
            spoken=connection.spoken,
            version=ready.version,
            offered=ready.offered,
            hint=ready.hint,
            declared=connection.core.capabilities,
            client_info=connection.core.info,
            modern=ready.modern,
            capabilities=ready.capabilities,
            server_info=ready.server_info,
            instructions=ready.instructions,
            pid=opening.opened.pid,
            steps=(
                Step("started", opening.started_ms, self.tap.clean(opening.opened.target)),
                Step("negotiated", opening.negotiated_ms, ready.version),
            ),
        )
        self._owner.on_ready(self)
        self.settled.set()

    async def _end(self, life: Life) -> None:
        try:
            await life.close()
        finally:
            self._life = None

    async def _after(self, error: StudioError, attempt: int) -> int:
        """Give up or wait before trying again; returns the number of the next attempt.

        Whoever starts it meanwhile does not wait, and is not told that it was tried too often.
        """
        first = self._held == 0.0 and attempt == 0
        if (first and not self._down(error)) or error.exit_code in _FINAL:
            return await self._give_up(error)
        attempt = 1 if self._wake.is_set() else attempt + 1
        if attempt > self._owner.limits.restarts:
            hint = f"It was tried {attempt} times; start it again by hand once the reason is mended."
            return await self._give_up(renamed(error, Unreachable, hint))
        pause = min(max(2.0 ** (attempt - 1), error.retry_after), self._owner.limits.retry_max)
        self.set_status(state="retrying", error=error, attempt=attempt, retry_at=time.monotonic() + pause, pid=0)
        if not self._wake.is_set():
            self.settled.set()
        await self._sleep(pause)
        return attempt

    def _down(self, error: StudioError) -> bool:
        """Whether a remote server may just not be there yet; one that refuses, or asks for more time, is there."""
        gateway = error.http is not None and error.http.status in _GATEWAY
        down = gateway or isinstance(error, (HttpDown, ConnectionLost))
        return down and self.config.kind != "stdio" and error.retry_after <= self._owner.limits.retry_max

    async def _give_up(self, error: StudioError) -> int:
        self.wanted = False
        self.set_status(state="needs_auth" if error.exit_code == 3 else "failed", error=error, pid=0)
        return 0

    async def _sleep(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        self._wake.clear()
