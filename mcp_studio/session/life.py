"""One life of a server's connection: opened, served, questioned, closed - all by the same owner task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore
from mcp_studio.session.answering import Answerer
from mcp_studio.session.connection import Connection, Opening
from mcp_studio.session.deadline import Deadline, limit_of
from mcp_studio.session.owner import Owner, Seat
from mcp_studio.session.questions import Questions
from mcp_studio.session.sign_in_words import add_hint
from mcp_studio.transport.base import Transport
from mcp_studio.transport.http_errors import HttpDown
from mcp_studio.transport.tasks import Tasks

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
