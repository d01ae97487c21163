"""One life of a server's connection: opened, served, questioned, closed - all by the same owner task."""

from __future__ import annotations

import asyncio
import logging

from mcp_studio.errors import Unreachable
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore
from mcp_studio.session.answering import Answerer
from mcp_studio.session.connection import Connection, Opening
from mcp_studio.session.owner import Owner, Seat
from mcp_studio.session.questions import Questions
from mcp_studio.transport.base import Transport
from mcp_studio.transport.tasks import Tasks

log = logging.getLogger(__name__)

REMOTE_PROBE = 5.0
"""Seconds that a remote server may take to answer `server/discover` before the handshake is tried."""


class Life:
    """Opens in `open`, ends in `close`; everything in between runs in tasks of its own that `close` ends."""

    def __init__(self, seat: Seat, owner: Owner, answerer: Answerer, remembered: str) -> None:
        config, limits = seat.config, owner.limits
        self._seat = seat
        self._owner = owner
        # The other half of the boundary in Supervisor.run: a failing helper task ends this connection only.
        self.tasks = Tasks(lambda _, error: self.connection.closed(error))
        """What ends with this life at the latest."""
        self._deadline: asyncio.Timeout | None = None
        self.stopped = False
        """Somebody wants it ended."""
        transport: Transport = owner.transport(config, seat.tap)
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
        self.connection = Connection(
            transport,
            core,
            seat.tap,
            limits,
            probe=limits.probe if config.kind == "stdio" else REMOTE_PROBE,
            on_event=self._on_event,
            spawn=self.tasks.spawn,
            inflight=owner.inflight,
            server=config.name,
        )
        self._questions = Questions(answerer, self.connection, limits.server_requests, self.tasks.spawn)
        self.connection.on_given_up = self._questions.given_up
        self.connection.on_dropped = seat.dropped

    async def open(self) -> Opening:
        """Connect within the deadline.

        Raises:
            StudioError: why it did not work, in words.
        """
        limit = self._seat.config.timeouts.connect or self._owner.limits.connect
        try:
            async with asyncio.timeout(limit) as self._deadline:
                if self.stopped:
                    raise Unreachable("Stopped before it was started.")
                return await self.connection.open()
        except TimeoutError:
            raise Unreachable(
                f"No connection within {limit:g} s (timeouts.connect).",
                hint="Start the server by hand to see what it waits for.",
            ) from None
        finally:
            self._deadline = None

    def interrupt(self) -> None:
        """Whatever it is doing, it shall end; returns at once."""
        self.stopped = True
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time())
        self.connection.closed_on_purpose()

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


def unexpected(error: Exception) -> Unreachable:
    """What is told of a failure that nobody foresaw."""
    return Unreachable(
        f"The connection failed in an unexpected way ({type(error).__name__}).", hint="The log has more."
    )
