"""One live connection: the protocol core over a transport."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Any, Literal, NamedTuple

from mcp_studio.catalog.listing import Ask
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ConnectionLost, ProtocolError, StudioError, Unreachable
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.events import Answered, Outgoing, Progressed, Ready, Refused, RequestId
from mcp_studio.protocol.message import PART, Parsed, parse
from mcp_studio.protocol.versions import METHOD_NOT_FOUND
from mcp_studio.record import record
from mcp_studio.session.state import Progress, Spawn
from mcp_studio.trace.message import Span
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.transport.base import Opened, Transport


class Limit(NamedTuple):
    """A number of seconds, and the option or key that sets it."""

    seconds: float
    name: str

    def __str__(self) -> str:
        return f"{self.seconds:g} s ({self.name})"


def limit_of(key: Literal["connect", "idle", "total"], default: Limit, timeouts: Timeouts) -> Limit:
    """The limit of timeouts, or the default."""
    seconds = getattr(timeouts, key)
    return default if seconds is None else Limit(seconds, timeouts.option or f"timeouts.{key}")


_AHEAD = 20.0
"""Seconds before the end of a watched deadline from which on it has a timer."""


class Deadline:
    """An idle limit that `extend` renews, within a total limit; both pause together.

    Args:
        idle: the limit without a sign of life.
        total: the limit in all, without pauses.
        longest: seconds in all, with pauses; None is without end.
    """

    def __init__(self, idle: Limit | float, total: Limit | float, longest: float | None = None) -> None:
        self._now = asyncio.get_running_loop().time
        self._idle = idle if isinstance(idle, Limit) else Limit(idle, "timeouts.idle")
        self._total = total if isinstance(total, Limit) else Limit(total, "timeouts.total")
        now = self._now()
        self._end = now + self._total.seconds
        self._last = float("inf") if longest is None else now + max(longest, self._total.seconds)
        self._longest = longest
        self.patience: float | None = None
        """Seconds of silence after which a request is given up while another server can answer it."""
        self.replaceable: Callable[[], bool] = bool
        """Returns whether another server can take over now, which may change while the request is open."""
        self._paused_at: float | None = None

    def begin(self, *, watched: bool = False) -> asyncio.Timeout:
        """The timeout scope of a request, or of the next of several requests that share the total limit.

        Args:
            watched: whether `watch` is called often until the scope ends.
        """
        now = self._now()
        if self._paused_at is not None:  # only the earlier request could have ended the pause
            self._end += now - self._paused_at
            self._paused_at = None
        self._ahead = _AHEAD if watched else float("inf")
        self._when = min(now + self._idle.seconds, self._end, self._last)
        self._scope = asyncio.timeout_at(self._when if self._when < now + self._ahead else None)
        return self._scope

    def watch(self) -> None:
        """Start the timer if the end is near: most answers come long before, so most requests need none."""
        timer = self._when if self._when < self._now() + self._ahead else None
        if timer != self._scope.when() and not self._scope.expired():
            self._scope.reschedule(timer)

    def extend(self) -> None:
        """Start the idle limit anew, because something came."""
        if self._paused_at is None:
            self._when = min(self._now() + self._idle.seconds, self._end, self._last)
            self.watch()

    def pause(self) -> None:
        """Stop the clock while a person is asked."""
        if self._paused_at is None and not self._scope.expired():
            self._paused_at, self._when = self._now(), self._last
            self.watch()

    def resume(self) -> None:
        """Continue after the person has answered; without a pause nothing happens."""
        if self._paused_at is not None:
            self._end += self._now() - self._paused_at
            self._paused_at = None
            self.extend()

    @property
    def paused(self) -> bool:
        """Whether a person is being asked."""
        return self._paused_at is not None

    @property
    def limit(self) -> str:
        """The limit that passed, in words."""
        if self.paused:
            return f"{self._longest:g} s with all that a person was asked (limits.call_longest)"
        if self._now() >= self._end:
            return f"{self._total.seconds:g} s in all ({self._total.name})"
        return f"{self._idle.seconds:g} s without a sign of life ({self._idle.name})"


GATEWAY = (502, 503, 504)
"""HTTP statuses of a proxy whose server is down."""


OnProgress = Callable[[float, float | None, str], None]
"""Called with progress, total and message of a request."""


class Opening(NamedTuple):
    """A ready connection, and the duration of its phases in milliseconds."""

    opened: Opened
    ready: Ready
    started_ms: float
    negotiated_ms: float


class DeadlinePassed(StudioError):
    """A request got no answer in time; `limit` names the limit in words."""

    how = "timeout"

    def __init__(self, method: str, limit: str) -> None:
        self.limit = limit
        super().__init__(f"No answer to {method} within {limit}.")


class RequestStopped(StudioError):
    """Nobody wants the answer to a request any more."""


class Reply(NamedTuple):
    """The answer to a request, with the size of its frame."""

    event: Answered | Refused
    size: int
    request_id: RequestId
    span: Span | None = None
    """The trace's span of request and answer."""


@record(eq=False)
class RunningRequest:
    """A request that was sent and has no answer yet."""

    server: str
    method: str
    target: str
    """The tool, resource or prompt; empty for other methods."""
    answer: asyncio.Future[Reply]
    deadline: Deadline
    """Pauses while a person is asked."""
    on_progress: OnProgress | None
    """Called with progress; only requests of calls have it."""
    started: float
    """Monotonic time."""
    parts: bool = False
    """Whether large parts of the answer stay JSON text."""
    progress: Progress | None = None

    def cancel(self) -> None:
        """Stop waiting and tell the server."""
        fail(self.answer, RequestStopped("The request was cancelled."))


def fail(future: asyncio.Future[Any], error: StudioError) -> None:
    """Fail a future that perhaps nobody awaits; the event loop then does not complain of an unread exception."""
    if not future.done():
        future.set_exception(error)
        future.exception()


class Connection:
    """Sends requests and settles them; implements `transport.base.Sink`.

    Args:
        probe: seconds to wait for the answer to `server/discover` before the handshake is tried.
        on_event: called with every event that is no answer to a request.
        spawn: starts a task that ends with the connection.
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
    ) -> None:
        self._transport = transport
        self._tap = tap
        self._limits = limits
        self.connect = limit_of("connect", Limit(limits.connect, "limits.connect"), timeouts)
        """The limit for connecting."""
        self._idle = limit_of("idle", Limit(limits.call_idle, "limits.call_idle"), timeouts)
        self.total = limit_of("total", Limit(limits.call_total, "limits.call_total"), timeouts)
        """The total limit of requests that set none."""
        self._probe_time = probe
        self._on_event = on_event
        self._spawn = spawn
        self._running: dict[RequestId, RunningRequest] = {}
        self._lasting: dict[RequestId, tuple[OnProgress, Deadline]] = {}
        self._pauses = self._frame_size = 0
        self.heard = time.monotonic()
        """Monotonic time of the newest frame."""
        self._silence = 0.0
        """The time since which the server has not answered the question whether it is there."""
        self._attending: asyncio.Task[None] | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._flushing = False
        self._turn = asyncio.Lock()
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[ev.Ready] = loop.create_future()
        self.ended: asyncio.Future[StudioError | None] = loop.create_future()
        """Settled when the connection ends: with the error, or None when it was closed on purpose."""
        self.on_given_up: Callable[[RequestId], None] = lambda identity: None
        """Called with each request that nobody waits for any more."""
        self.core = core
        self.sift: Callable[[bytes, Parsed], Parsed] | None = None
        """Removes messages from a frame that the protocol core must not see: answers to frames written by hand."""

    async def open(self) -> Opening:
        """Start the transport and negotiate era and version.

        Raises:
            StudioError: a sentence says what failed.
        """
        began = time.perf_counter()
        opened = await self._transport.open(self)
        started = time.perf_counter()
        self.core.start()
        await self._flush()
        if self.core.probing and not self.core.modern:
            await self._probe()
        ready = await self._ready
        # Wait even if another task is sending, because nothing may overtake `notifications/initialized`.
        await self._flush()
        self._transport.negotiated(ready.version)
        return Opening(opened, ready, (started - began) * 1000, (time.perf_counter() - started) * 1000)

    async def _probe(self) -> None:
        """Try the handshake of the older era if the server does not answer the probe."""
        await asyncio.wait((self._ready,), timeout=self._probe_time)
        if self.core.probing and not self._ready.done():
            self._tap.note(f"no answer to server/discover within {self._probe_time:g} s: trying initialize")
            self.core.fall_back()
            await self._flush()

    async def close(self) -> None:
        """Close the transport.

        Raises:
            TimeoutError: closing took too long.
        """
        self.end(None)
        try:
            async with asyncio.timeout(self._limits.close + 1):
                await self._transport.close()
        finally:
            self._tap.ended()

    # ------------------------------------------------------------------ asking

    def deadline(self, own: Timeouts | None = None) -> Deadline:
        """The deadline of one or several requests: by own timeouts, those of the server, or the general limits."""
        idle, total = self._idle, self.total
        if own is not None:
            idle, total = limit_of("idle", idle, own), limit_of("total", total, own)
        return Deadline(idle, total, self._limits.call_longest)

    async def request(
        self, method: str, params: dict[str, Json] | None = None, *, deadline: Deadline | None = None,
        on_progress: OnProgress | None = None, on_sent: Callable[[], None] = lambda: None,
        on_id: Callable[[RequestId], None] = lambda identity: None, headers: tuple[tuple[str, str], ...] = (),
        follows: RequestId | None = None, under: int = 0, parts: bool = False,
    ) -> Reply:  # fmt: skip
        """Send a request and wait for its answer; cancelling the caller cancels it at the server.

        Args:
            deadline: shared by several requests; by default the server's own.
            follows: the request that asked for the content of this one, or that this one repeats.
            under: the trace's number of the request for which this one is sent.
            parts: whether large parts of the answer stay JSON text, see `parse`.
            on_sent, on_id: called when the request was sent, and with its id before that.

        Raises:
            DeadlinePassed: no answer came in time.
            RequestStopped: nobody waits for the answer any more, or the server is silent.
            ConnectionLost: the connection has ended.
            StudioError: the answer cannot be read, or the transport got none.
        """
        if self.ended.done():
            raise self._lost()
        if follows is not None or under:
            params = self._tap.continued(params, follows, under)
        out = self.core.request(method, params, progress=on_progress is not None, headers=headers)
        assert out.id is not None
        on_id(out.id)
        deadline = deadline or self.deadline()
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._running[out.id] = RunningRequest(
            self._tap.server, out.method, out.target, answer, deadline, on_progress, time.monotonic(), parts
        )
        if deadline.patience is not None and (self._attending is None or self._attending.done()):
            self._attending = self._spawn(self._attend())
        try:
            async with deadline.begin(watched=True):
                if self._pauses:
                    deadline.pause()
                if self._watching is None:
                    self._watch()
                self._tap.expect(out, follows, under)
                await self._transport.send(out)
                on_sent()
                return await answer
        except TimeoutError:
            self._give_up(out.id, "timed out")
            raise DeadlinePassed(method, deadline.limit) from None
        except (asyncio.CancelledError, RequestStopped):
            self._give_up(out.id, "cancelled")
            raise
        finally:
            del self._running[out.id]

    def _watch(self) -> None:
        """Watch the deadlines of the open requests; one timer serves all of them."""
        for running in self._running.values():
            running.deadline.watch()
        self._watching = asyncio.get_running_loop().call_later(_AHEAD / 2, self._watch) if self._running else None

    @property
    def silent(self) -> bool:
        """Whether the server did not answer the question whether it is there, and has sent nothing since."""
        return self._silence > self.heard

    async def _attend(self) -> None:
        """Give up movable requests of a silent server, after asking it whether it is there.

        A silent server is asked again until it sends something.
        """
        asked, asking = 0.0, None
        while (movable := [one for one in self._running.values() if one.deadline.patience]) or self.silent:
            waiting = [one for one in movable if one.deadline.replaceable()]
            patience = max((one.deadline.patience or 0.0 for one in movable), default=self._limits.failover)
            now = time.monotonic()
            since = max(self.heard, min((one.started for one in waiting if not one.deadline.paused), default=now))
            if not (waiting or self.silent):
                pass  # a server that does one thing at a time is silent meanwhile, and no other server is ready
            elif now - since >= patience and asked > since:
                self._silence = now
                self._tap.note(f"it has said nothing for {now - since:.1f} s, though it was asked whether it is there")
                for one in waiting:
                    fail(one.answer, RequestStopped(f"It says nothing, and did not answer {patience:g} s long."))
            elif (now - since >= patience / 2 and asked <= since) or not (waiting or (asking and not asking.done())):
                asked, asking = now, self._spawn(self._greet())
            await asyncio.sleep(patience / 2)

    def _ask(self, deadline: Deadline | None = None) -> Coroutine[Any, Any, Reply]:
        """Ask the server whether it is there."""
        return self.request("server/discover" if self.core.modern else "ping", deadline=deadline)

    async def _greet(self) -> None:
        """Ask the server whether it is there, and ignore the result: any answer or refusal counts as heard."""
        with suppress(StudioError):
            await self._ask()

    async def probe(self, every: float) -> None:
        """Ask from time to time whether an HTTP server is still there, because often no socket breaks when it stops.

        Any answer will do. The server is not asked during a call, because it may do one thing at a time.

        Args:
            every: seconds without a frame after which the server is asked; 0 is never. The connection is lost if no
            answer comes within the time for connecting.
        """
        while every > 0:
            if (wait := self.heard + every - time.monotonic()) > 0 or self.calls:
                await asyncio.sleep(max(wait, min(every, 1.0)))
                continue
            try:
                await self._ask(Deadline(self.connect, self.connect))
            except StudioError as error:
                if error.http is None or error.http.status in GATEWAY:
                    return self.closed(error)
                self.heard = time.monotonic()

    @property
    def running(self) -> tuple[RunningRequest, ...]:
        """The requests without an answer, oldest first; readers poll it."""
        return tuple(self._running.values())

    @property
    def calls(self) -> set[RequestId]:
        """The open requests that want progress, which are those of calls."""
        return {identity for identity, running in self._running.items() if running.on_progress is not None}

    @contextmanager
    def lasting(self, identity: RequestId, on_progress: OnProgress, deadline: Deadline) -> Generator[None]:
        """Keep progress and deadline of a request alive after its answer, for a task of 2025-11-25."""
        self._lasting[identity] = on_progress, deadline
        self.core.lasting.add(identity)
        try:
            yield
        finally:
            del self._lasting[identity]
            self.core.lasting.discard(identity)

    def pause(self) -> None:
        """Stop all deadlines, also those of later requests, while the server asks a person; pauses nest."""
        self._pauses += 1
        self._set_paused()

    def resume(self) -> None:
        """Continue the deadlines after the person has answered."""
        self._pauses -= 1
        self._set_paused()

    def notify(self, method: str, params: dict[str, Json] | None = None) -> None:
        """Send a notification with the next messages."""
        self._put(self.core.notify(method, params))

    def respond(self, identity: RequestId, result: Json) -> None:
        """Answer a request of the server."""
        self._put(self.core.respond(identity, result))

    def refuse(self, identity: RequestId, code: int, message: str) -> None:
        """Answer a request of the server with an error."""
        self._put(self.core.refuse(identity, code, message))

    def ignore(self, identity: RequestId | None) -> None:
        """Give no answer to a request of the server, because a person answers it by hand."""
        for event in self.core.ignore(identity):
            self._on_event(event)

    # ------------------------------------------------------------------ called by the transport

    def frame(self, data: bytes) -> Parsed:
        """Handle an incoming frame."""
        parts = [identity for identity, one in self._running.items() if one.parts] if len(data) > PART else ()
        parsed = parse(data, self._limits, parts)
        self._tap.understood(parsed)
        if not self.ended.done():
            self._frame_size, self.heard = len(data), time.monotonic()
            for event in self.core.receive(self.sift(data, parsed) if self.sift is not None else parsed):
                self._handle(event)
            self._flush_soon()
        return parsed

    def undelivered(self, out: Outgoing, error: StudioError) -> None:
        """Handle a message that got no answer on the transport's level."""
        self._tap.cleaned(error)
        if out.kind != "request" or out.id is None:
            return self._tap.note(f"could not deliver {out.method or out.kind}: {error.message}")
        self._tap.gave_up(out.id, lost=True)
        for event in self.core.undelivered(out.id, error):
            self._handle(event)
        self._flush_soon()

    def closed(self, error: StudioError | None) -> None:
        """Handle that the transport ended by itself."""
        self.end(self._tap.cleaned(error or ConnectionLost("The server closed the connection.")))

    # ------------------------------------------------------------------ inside

    def _handle(self, event: ev.Event) -> None:
        if isinstance(event, (ev.Answered, ev.Refused)):
            span = self._tap.matched(event.id)
            if (running := self._running.get(event.id)) and not running.answer.done():
                running.answer.set_result(Reply(event, self._frame_size, event.id, span))
        elif isinstance(event, ev.Progressed):
            self._on_progress(event)
        elif isinstance(event, ev.Broken):
            self._tap.matched(event.id)
            if running := self._running.get(event.id):
                fail(running.answer, event.error)
        elif isinstance(event, ev.Ready):
            if not self._ready.done():
                self._ready.set_result(event)
        elif isinstance(event, ev.NegotiationFailed):
            fail(self._ready, event.error)
        else:
            if isinstance(event, ev.Withdrawn):
                self._tap.withdrawn(event.id)
            self._on_event(event)

    def _set_paused(self) -> None:
        lasting = (deadline for _, deadline in self._lasting.values())
        for deadline in (*lasting, *(running.deadline for running in self._running.values())):
            deadline.pause() if self._pauses else deadline.resume()

    def _on_progress(self, event: Progressed) -> None:
        """Pass progress on; it starts the idle limit anew."""
        running = self._running.get(event.id)
        if running is None:
            if lasting := self._lasting.get(event.id):
                lasting[0](event.progress, event.total, event.message)
            return
        running.deadline.extend()
        running.progress = Progress(event.progress, event.total, event.message, time.monotonic())
        if running.on_progress is not None:
            running.on_progress(event.progress, event.total, event.message)

    def _put(self, out: Outgoing | None) -> None:
        self.core.put(out)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not (self._flushing or self.ended.done()) and self.core.outbox:
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
            while self.core.outbox:
                for out in self.core.take():
                    self._tap.expect(out)
                    await self._transport.send(out)

    def _give_up(self, identity: RequestId, reason: str) -> None:
        self._tap.gave_up(identity, lost=reason == "timed out")
        self._transport.abandon(identity)
        self._put(self.core.cancel(identity, reason))
        self.on_given_up(identity)

    def end(self, error: StudioError | None = None) -> None:
        """End the connection, on purpose if there is no error; whoever awaits `ended` closes it."""
        if self.ended.done():
            return
        self.ended.set_result(error)
        for running in self._running.values():
            fail(running.answer, self._lost())
        fail(self._ready, error or Unreachable("The connection was closed before it was ready."))

    def _lost(self) -> ConnectionLost:
        error = self.ended.result() or StudioError("The connection was closed.")
        hint = error.hint if isinstance(error, ConnectionLost) else ""
        return ConnectionLost(error.message, hint=hint)


def asker(connection: Connection, under: int = 0) -> Ask:
    """A function that sends requests over a connection, for the request with the number `under` if it is given.

    All its requests share one deadline. A refusal is an error, except for a server that has no templates.
    """
    deadline = connection.deadline()

    async def ask(method: str, params: dict[str, Json]) -> Json:
        reply = await connection.request(method, params or None, deadline=deadline, under=under)
        event = reply.event
        if not isinstance(event, Refused):
            if event.problems:
                raise ProtocolError(f"The answer to {method} is invalid. {event.problems[0]}")
            return event.result
        if event.code == METHOD_NOT_FOUND and method == "resources/templates/list":
            return {"resourceTemplates": []}
        raise ProtocolError(f"The server refused {method}: {event.text}.")

    return ask
