"""Frames that are written by hand: sent as they are, with what comes back collected, beside all that we send ourselves.

An answer to such a frame never reaches the protocol core, which would take it for an answer to nothing, or for one to
a request of ours. What answers no request at all, as with the id `null`, is taken for an answer to the newest frame.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConnectionLost, StudioError, Unreachable
from mcp_studio.jsontext import Json, mapping
from mcp_studio.limits import Limits
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.message import Failure, Malformed, Message, Parsed, Request, Response, parse
from mcp_studio.protocol.versions import LATEST_MODERN, era_of
from mcp_studio.session.connection import Connection
from mcp_studio.session.state import Spawn
from mcp_studio.trace.message import ACKNOWLEDGED, WireMessage
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.transport.base import Opened, Tasks, Transport

SILENCE = 2.0
"""Seconds to wait for what comes back after a frame that nobody has to answer."""
SETTLE = 0.2
"""Seconds to go on collecting after the answer came."""
_MOST = 10_000
"""The newest entries of the trace among which it is looked for what came back."""


class RawExchange:
    """Made by `RawSender.send`; readers poll it on a timer of theirs."""

    def __init__(self, tap: ServerTap, frame: bytes, parsed: Parsed) -> None:
        self._tap = tap
        self._first = self._last = self._http = 0
        self._done = asyncio.Event()
        self._began = time.perf_counter()
        self.server = tap.server
        self.frame = frame
        self.parsed = parsed
        self.waits_for: list[RequestId] = [one.id for one in parsed.messages if isinstance(one, Request)]
        """Ids whose answer is its answer."""
        self.wants_answer = bool(self.waits_for)
        """It is a request that can be answered: the protocol says that it must be."""
        self.answers: list[bytes] = []
        """The frames that answer it, as they came."""
        self.answered = asyncio.Event()
        self.error: StudioError | None = None
        """Why it could not be sent, or what ended the connection before it was answered."""
        self.ms: float | None = None
        """Milliseconds until its answer."""

    @property
    def problem(self) -> str:
        """Why the frame is no JSON-RPC message; empty where it is."""
        reasons = (one.reason for one in self.parsed.messages if isinstance(one, Malformed))
        return next(reasons, "").partition(";")[0]

    @property
    def done(self) -> bool:
        """Nothing more is collected."""
        return self._done.is_set()

    async def wait(self) -> None:
        """Wait until it is over."""
        await self._done.wait()

    def came_back(self) -> list[WireMessage]:
        """What arrived on this server since it was sent: messages, HTTP status, stray output, standard error, notes.

        Left out is what belongs to requests of our own alone; the answers that we give to the server are part of it.
        """
        store, server = self._tap.store, self.server
        if not self._first:
            return []
        last = self._last if self.done else store.total
        numbers = range(max(self._first + 1, store.first_number, last + 1 - _MOST), last + 1)
        entries = (entry for number in numbers if (entry := store.entry(number)) is not None)
        return [entry for entry in entries if entry.server == server and self._concerns(entry)]

    def _concerns(self, entry: WireMessage) -> bool:
        if entry.kind == "http":
            return entry.exchange == self._http
        if entry.method == ACKNOWLEDGED and entry.exchange != self._http:
            return False  # it answers a subscription of ours
        asked = entry.span.request if entry.span is not None else entry
        return asked.direction != "out" or asked.by_hand

    # ------------------------------------------------------------------ told by `RawSender`

    def sent(self, entry: WireMessage) -> None:
        """It has left."""
        self._first, self._http = entry.number, entry.exchange

    def answer(self, frame: bytes, identity: Json) -> None:
        """A frame came that answers it."""
        if self.ms is None:
            self.ms = (time.perf_counter() - self._began) * 1000
        if frame not in self.answers:
            self.answers.append(frame)
        if identity in self.waits_for:
            self.waits_for.remove(identity)
            if self.waits_for:
                return
        self.answered.set()

    def end(self) -> None:
        """Nothing more is collected."""
        self._last = self._tap.store.total
        self._done.set()


class RawSender:
    """What one connection sends by hand.

    Args:
        spawn: starts a task that ends with the connection.
        alone: nothing else happens on the connection: no handshake, and nobody answers what the server asks.
    """

    def __init__(
        self, connection: Connection, transport: Transport, tap: ServerTap, limits: Limits, spawn: Spawn,
        *, alone: bool = False,
    ) -> None:  # fmt: skip
        self._connection = connection
        self._transport = transport
        self._core = connection.core
        self._tap = tap
        self._limits = limits
        self._spawn = spawn
        self._alone = alone
        self._running: list[RawExchange] = []
        connection.sift = self._sift if alone else None

    @property
    def stamp(self) -> dict[str, Json]:
        """What a request of ours would have in its `_meta` now; empty in the handshake era."""
        return self._core.stamp()

    def spare_id(self) -> int:
        """An id that none of our own requests has, or will have."""
        return self._core.requests.spare()

    def send(self, frame: bytes, *, wait: float | None = None, newlines: bool = False) -> RawExchange:
        """Send a frame, well-formed or not; returns at once.

        Args:
            wait: seconds to wait for what comes back, which ends `SETTLE` after the answer; None waits as long as for
                any request where the frame is one, else `SILENCE`.
            newlines: let newlines through where they end a frame (stdio).
        """
        parsed = parse(frame, self._limits)
        exchange = RawExchange(self._tap, frame, parsed)
        for identity in exchange.waits_for:
            self._core.requests.avoid(identity)
        if wait is None:
            wait = self._limits.call_idle if exchange.wants_answer else SILENCE
        self._running.append(exchange)
        self._connection.sift = self._sift
        # A task that is cancelled before its first step never runs: its end is the only thing to rely on.
        self._spawn(self._run(exchange, wait, newlines)).add_done_callback(lambda _: self._over(exchange))
        return exchange

    async def _run(self, exchange: RawExchange, wait: float, newlines: bool) -> None:
        frame = exchange.frame
        try:
            self._tap.expect_by_hand(frame, exchange.parsed, exchange.sent)
            for message in exchange.parsed.messages:
                if isinstance(message, (Response, Failure)):
                    self._connection.ignore(message.id)
            await self._transport.send_raw(frame, newlines=newlines)
            await self._collect(exchange, wait)
        except StudioError as error:
            exchange.error = self._tap.cleaned(error)

    def _over(self, exchange: RawExchange) -> None:
        ended = self._connection.ended
        if ended.done() and exchange.error is None and not exchange.answered.is_set():
            exchange.error = ended.result() or ConnectionLost("The connection was closed.")
        self._running.remove(exchange)
        if not self._running and not self._alone:
            self._connection.sift = None
        exchange.end()

    async def _collect(self, exchange: RawExchange, wait: float) -> None:
        ended, answered = self._connection.ended, asyncio.ensure_future(exchange.answered.wait())
        try:
            await asyncio.wait((answered, ended), timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                await asyncio.wait((ended,), timeout=SETTLE)
        finally:
            answered.cancel()

    # ------------------------------------------------------------------ what comes back

    def _sift(self, frame: bytes, parsed: Parsed) -> Parsed:
        """Take out what answers a frame of ours that was written by hand; the rest is for the protocol core."""
        rest = [message for message in parsed.messages if not self._takes(message, frame)]
        if self._alone:
            self._shake_hands(parsed)
            return Parsed(())
        return parsed if len(rest) == len(parsed.messages) else Parsed(tuple(rest), parsed.batch and bool(rest))

    def _takes(self, message: Message, frame: bytes) -> bool:
        """Whether a message answers something that was written by hand, and not a request of ours."""
        if not isinstance(message, (Response, Failure, Malformed)) or message.id in self._core.requests:
            return False  # The same id may be ours too: the first answer settles ours.
        waiting = [one for one in self._running if message.id in one.waits_for]
        for exchange in (waiting or self._running[-1:])[:1]:
            exchange.answer(frame, message.id)
            return True
        return False

    def _shake_hands(self, parsed: Parsed) -> None:
        """A handshake that was made by hand settles the version for the transport's headers."""
        version = mapping(mapping(parsed.value).get("result")).get("protocolVersion")
        if isinstance(version, str) and era_of(version) == "legacy":
            self._transport.negotiated(version)


class RawConnection(RawSender):
    """A connection without a handshake: open it, `send`, close it; it ends by itself when the server does.

    Questions of the server stay without an answer, unless one is written by hand.

    Args:
        info: our `Implementation` object, for stamps.
    """

    def __init__(self, config: ServerConfig, transport: Transport, tap: ServerTap, limits: Limits, info: Json) -> None:
        self.config = config
        self._tasks = Tasks(lambda _, error: self._connection.closed(error))
        info = info if config.client_info is None else config.client_info
        core = ClientCore(info, {} if config.capabilities is None else config.capabilities)
        connection = Connection(
            transport, core, tap, limits, config.timeouts, probe=0, on_event=lambda event: None,
            spawn=self._tasks.spawn,
        )  # fmt: skip
        super().__init__(connection, transport, tap, limits, self._tasks.spawn, alone=True)

    @property
    def ended(self) -> asyncio.Future[StudioError | None]:
        """Settled when it is over: why, or None when it was closed on purpose."""
        return self._connection.ended

    @property
    def stamp(self) -> dict[str, Json]:
        """What a request says in its `_meta` where the server's entry names the stateless era; else nothing."""
        modern = LATEST_MODERN if self.config.era == "modern" else ""
        return self._core.stamp(self.config.protocol_version or modern)

    async def open(self) -> Opened:
        """Start or reach the server; what cannot be opened is closed.

        Raises:
            StudioError: why it did not work, in words.
        """
        try:
            async with asyncio.timeout(self._connection.connect.seconds):
                return await self._transport.open(self._connection)
        except BaseException as problem:
            await self.close()
            if isinstance(problem, TimeoutError):
                raise Unreachable(f"No connection within {self._connection.connect}.") from None
            raise

    async def close(self) -> None:
        """End it in a bounded time; any number of times."""
        await self._tasks.end(self._limits.close)
        with suppress(TimeoutError):
            await self._connection.close()
