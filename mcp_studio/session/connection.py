"""One live connection: the protocol core over a transport."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mcp_studio.config.model import Kind, Timeouts
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.message import parse
from mcp_studio.protocol.outgoing import Outgoing, RequestId
from mcp_studio.protocol.skim import Node
from mcp_studio.session.deadline import Deadline, limit_of
from mcp_studio.session.inflight import InFlight
from mcp_studio.session.raw import ByHand
from mcp_studio.session.request import DeadlinePassed, OnProgress, Opening, Reply, Spawn, fail, wait
from mcp_studio.session.waiting import Waiting
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.transport.base import Opened, Transport

__all__ = ["Connection", "DeadlinePassed", "OnProgress", "Opening", "Reply"]


class Connection:
    """Sends requests and settles them; implements `transport.base.Sink`.

    Args:
        probe: seconds that `server/discover` may stay without an answer before the handshake is tried.
        on_event: told everything that is not the answer to a request.
        spawn: starts a task that belongs to this connection's owner.
    """

    def __init__(
        self,
        transport: Transport,
        core: ClientCore,
        tap: ServerTap,
        limits: Limits,
        timeouts: Timeouts,
        *,
        probe: float,
        on_event: Callable[[ev.Event], None],
        spawn: Spawn,
        inflight: InFlight,
    ) -> None:
        self._transport = transport
        self._tap = tap
        self._limits = limits
        self.timeouts = timeouts
        self._probe_time = probe
        self._on_event = on_event
        self._spawn = spawn
        self.waiting = Waiting(inflight, tap.server, core, self._stop)
        self._frame_size = 0
        self._flushing = False
        self._turn = asyncio.Lock()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[ev.Ready] = loop.create_future()
        self.ended: asyncio.Future[StudioError | None] = loop.create_future()
        """Settled when the connection is over: why, or None when it was closed on purpose."""
        self.died = False
        """The transport ended by itself."""
        self.on_given_up: Callable[[RequestId], None] = lambda identity: None
        """Told of each request that somebody has stopped waiting for."""
        self.on_dropped: Callable[[Outgoing, StudioError], None] = lambda out, error: None
        """Told of each request that the transport got no answer to."""
        self.patience = wait
        self.core = core
        self.by_hand = ByHand(transport, core, tap, limits, ended=self.ended, handle=on_event, spawn=spawn)
        """Frames that a person writes."""

    async def open(self) -> Opening:
        """Start the transport and agree on era and version.

        Raises:
            StudioError: in words that a person understands.
        """
        began = time.perf_counter()
        opened = await self._transport.open(self)
        started = time.perf_counter()
        self.core.start()
        await self._flush()
        if self.core.probing and not self.core.modern:
            await self._probe()
        ready = await self._ready
        # Also when another task is sending it: nothing may overtake `notifications/initialized`.
        await self._flush()
        self._transport.negotiated(ready.version)
        return Opening(opened, ready, (started - began) * 1000, (time.perf_counter() - started) * 1000)

    async def open_alone(self) -> Opened:
        """Start the transport and nothing else: what is sent is written by hand.

        Raises:
            StudioError: in words that a person understands.
        """
        self.by_hand.alone = True
        return await self._transport.open(self)

    @property
    def spoken(self) -> Kind:
        """The transport in use; it holds once the connection is open."""
        return self._transport.kind

    def closed_on_purpose(self) -> None:
        """Somebody wants it closed: whoever waits for `ended` goes on and closes it."""
        self._end(None)

    async def _probe(self) -> None:
        """A server that stays silent on the probe is asked in the older way."""
        await self.patience(self._ready, self._probe_time)
        if self.core.probing and not self._ready.done():
            self._tap.note(f"no answer to server/discover within {self._probe_time:g} s: trying initialize")
            self.core.fall_back()
            await self._flush()

    async def close(self) -> None:
        """End the transport in a bounded time."""
        self._end(None)
        try:
            await self._transport.close()
        finally:
            self._tap.ended()

    # ------------------------------------------------------------------ asking

    def deadline(self, *own: Timeouts) -> Deadline:
        """For a request, or several together: what is set for it, else for the server, else for all."""
        idle = limit_of("idle", self._limits.call_idle, "limits.call_idle", *own, self.timeouts)
        total = limit_of("total", self._limits.call_total, "limits.call_total", *own, self.timeouts)
        return Deadline(idle, total, self._limits.call_longest)

    async def request(
        self,
        method: str,
        params: dict[str, Json] | None = None,
        *,
        deadline: Deadline | None = None,
        on_progress: OnProgress | None = None,
        on_sent: Callable[[], None] | None = None,
        on_id: Callable[[RequestId], None] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        follows: RequestId | None = None,
        under: int = 0,
    ) -> Reply:
        """Send a request and wait for its answer; cancelling the caller cancels it at the server.

        Args:
            deadline: shared by several requests; the server's own where there is none.
            follows: the request whose answer asked for what this one brings, or which is sent once more.
            under: the request, by its number in the trace, on behalf of which this one is sent.
            on_sent, on_id: called when it is written or under way; told its id before that.

        Raises:
            DeadlinePassed: no answer in time.
            ConnectionLost: the connection ended, or had ended before.
            StudioError: the answer cannot be read, or the transport could not get one.
        """
        if self.ended.done():
            raise self._lost()
        params = self._tap.continued(params, follows, under)
        out = self.core.request(method, params, progress=on_progress is not None, headers=headers)
        assert out.id is not None
        if on_id is not None:
            on_id(out.id)
        deadline = deadline or self.deadline()
        waiter = self.waiting.add(out, deadline, on_progress)
        try:
            async with deadline.begin():
                self.waiting.begin(deadline)
                await self._send(out, follows, under)
                if on_sent is not None:
                    on_sent()
                return await waiter.answer
        except TimeoutError:
            self._give_up(out.id, "timed out")
            raise DeadlinePassed(method, deadline.limit, self._transport.standing(out.id)) from None
        except asyncio.CancelledError:
            self._give_up(out.id, "cancelled")
            raise
        finally:
            self.waiting.remove(out.id)

    def notify(self, method: str, params: dict[str, Json] | None = None) -> None:
        """Send a notification with what is sent next."""
        self._put(self.core.notify(method, params))

    def respond(self, identity: RequestId, result: Json) -> None:
        """Answer a request of the server."""
        self._put(self.core.respond(identity, result))

    def refuse(self, identity: RequestId, code: int, message: str) -> None:
        """Answer a request of the server with an error."""
        self._put(self.core.refuse(identity, code, message))

    # ------------------------------------------------------------------ told by the transport

    def frame(self, data: bytes, root: Node | None = None) -> None:
        """One frame came in."""
        self._tap.understood(parsed := parse(data, depth=self._limits.depth, root=root))
        if self.ended.done():
            return
        parsed = self.by_hand.sift(data, parsed)
        self._frame_size = len(data)
        for event in self.core.receive(parsed):
            self._handle(event)
        self._flush_soon()

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        """A message got no answer on the transport's level."""
        self._tap.cleaned(error)
        if out.kind != "request" or out.id is None:
            return self._tap.note(f"could not deliver {out.method or out.kind}: {error.message}")
        self._tap.gave_up(out.id, lost=True)
        for event in self.core.undelivered(out.id, error):
            self._handle(event)
        self.on_dropped(out, error)
        self._flush_soon()

    def closed(self, error: StudioError | None) -> None:
        """The transport ended by itself."""
        self.died = True
        self._end(self._tap.cleaned(error or ConnectionLost("The server closed the connection.")))

    # ------------------------------------------------------------------ inside

    def _handle(self, event: ev.Event) -> None:
        if isinstance(event, (ev.Answered, ev.Refused)):
            self._tap.matched(event.id)
            self.waiting.answered(event, self._frame_size)
        elif isinstance(event, ev.Progressed):
            self.waiting.progressed(event)
        elif isinstance(event, ev.Broken):
            self._tap.matched(event.id)
            self.waiting.fail(event.id, event.error)
        elif isinstance(event, ev.Ready):
            if not self._ready.done():
                self._ready.set_result(event)
        elif isinstance(event, ev.NegotiationFailed):
            fail(self._ready, event.error)
        else:
            if isinstance(event, ev.Withdrawn):
                self._tap.withdrawn(event.id)
            self._on_event(event)

    async def _send(self, out: Outgoing, follows: RequestId | None = None, under: int = 0) -> None:
        self._tap.expect(out, follows, under)
        await self._transport.send(out)

    def _put(self, out: Outgoing | None) -> None:
        self.core.put(out)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flushing and not self.ended.done() and self.core.has_outgoing:
            self._flushing = True
            self._spawn(self._flush_quietly())

    async def _flush_quietly(self) -> None:
        try:
            await self._flush()
        except StudioError as error:
            self._tap.note(f"could not send: {error.message}")
            fail(self._ready, error)
        finally:
            self._flushing = False

    async def _flush(self) -> None:
        async with self._turn:
            while self.core.has_outgoing:
                for out in self.core.take():
                    await self._send(out)

    def _stop(self, identity: RequestId) -> None:
        """Somebody no longer wants the answer to a request that is no call."""
        self._give_up(identity, "cancelled")
        self.waiting.fail(identity, StudioError("The request was cancelled."))

    def _give_up(self, identity: RequestId, reason: str) -> None:
        self._tap.gave_up(identity)
        self._transport.abandon(identity)
        self._put(self.core.cancel(identity, reason))
        self.on_given_up(identity)

    def _end(self, error: StudioError | None) -> None:
        if self.ended.done():
            return
        self.ended.set_result(error)
        self.waiting.fail_all(self._lost)
        fail(self._ready, error or Unreachable("The connection was closed before it was ready."))

    def _lost(self) -> ConnectionLost:
        error = self.ended.result() or StudioError("The connection was closed.")
        hint = error.hint if isinstance(error, ConnectionLost) else ""
        return ConnectionLost(error.message, hint=hint)
