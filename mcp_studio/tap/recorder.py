"""What passes between a client that is not ours and a server: into a trace, and on as it came."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from mcp_studio.limits import Limits
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.lines import size_text
from mcp_studio.protocol.message import Failure, Notification, Request, Response, parse
from mcp_studio.redact import Redactor
from mcp_studio.tap.gate import Decision, Gate, error_answer, id_of
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.server_tap import ServerTap, outgoing
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import Tasks
from mcp_studio.transport.stdio import WriterClosed

_PENDING = 10_000
"""Requests without an answer that are remembered."""
_LONGEST = 3_600.0
"""Seconds that a message may be held, or delayed."""
Say = Callable[[str], None]
"""Tells the person something, in a sentence."""


class Recorder:
    """Puts the frames of one connection into a trace, as those of a client of ours are.

    Args:
        say: is told once where recording fails: the connection goes on without it.
    """

    def __init__(self, store: TraceStore, redactor: Redactor, server: str, limits: Limits, say: Say) -> None:
        self.store = store
        self.tap = ServerTap(store, redactor, server, limits)
        self.limits = limits
        self.pending: dict[RequestId, None] = {}
        """Requests of the client that have no answer yet."""
        self.renewed = partial(Recorder, store, redactor, server, limits, say)
        """Makes the recorder of another connection of the same server."""
        self._say = say
        self._failed = False

    def sent(self, frame: bytes, exchange: int = 0) -> WireMessage | None:
        """The client has sent a frame; its entry."""
        return self._attempt(self._sent, frame, exchange)

    def received(self, frame: bytes, exchange: int = 0) -> WireMessage | None:
        """The server has sent a frame; its entry."""
        return self._attempt(self._received, frame, exchange)

    def answered(self, frame: bytes, exchange: int = 0) -> None:
        """A person or a rule has answered a request, whoever sent it."""
        identity = id_of(frame, Response, Failure)
        (self.received if identity in self.pending else self.sent)(frame, exchange)

    def lost(self, why: str) -> list[bytes]:
        """Errors that answer every request of the client that has none: nothing else will."""
        frames = [error_answer(identity, why) for identity in self.pending]
        for frame in frames:
            self.received(frame)
        return frames

    def _attempt(
        self, record: Callable[[bytes, int], WireMessage | None], frame: bytes, exchange: int
    ) -> WireMessage | None:
        if self._failed:
            return None
        try:
            return record(frame, exchange)
        except Exception as problem:  # what goes wrong in here must not cost the client its answer
            self._failed = True
            self.pending.clear()
            self._say(f"The tap records no more: {type(problem).__name__}: {problem}. Messages still pass.")
            return None

    def _sent(self, frame: bytes, exchange: int) -> WireMessage | None:
        parsed = parse(frame, self.limits)
        out = None if parsed.batch else outgoing(frame, parsed.messages[0])
        if out is None:
            self.tap.expect_by_hand(frame, parsed, lambda entry: None)
        else:
            self.tap.expect(out)
        self.tap.sent(frame, exchange)
        for message in parsed.messages:
            if isinstance(message, Request):
                self.pending[message.id] = None
            elif isinstance(message, Notification) and message.method == "notifications/cancelled":
                self.forget(message.params.get("requestId"))
        if len(self.pending) > _PENDING:
            self.forget(next(iter(self.pending)))
        return self.store.entry(self.store.total)

    def forget(self, identity: object) -> None:
        """Nobody waits for this request any more."""
        if isinstance(identity, (int, str)):
            self.pending.pop(identity, None)
            self.tap.gave_up(identity)

    def _received(self, frame: bytes, exchange: int) -> WireMessage | None:
        self.tap.received(frame, exchange)
        number, parsed = self.store.total, parse(frame, self.limits)
        self.tap.understood(parsed)
        for message in parsed.messages:
            if isinstance(message, (Response, Failure)) and message.id is not None:
                self.pending.pop(message.id, None)
            elif isinstance(message, Notification) and message.method == "notifications/cancelled":
                if isinstance(identity := message.params.get("requestId"), (int, str)):
                    self.tap.withdrawn(identity)
        return self.store.entry(number)


LINE = re.compile(rb"\n")
"""Ends a frame of the transport stdio."""
EVENT = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""Ends an event of a stream (HTML standard, server-sent events)."""


class Flow:
    """One direction of a connection: passes bytes on as they come, and has each unit recorded once it is whole.

    While the gate is closed, units are passed on one by one, each after it was recorded and judged.

    Args:
        record: puts a frame into the trace.
        write: to the receiver.
        read: the frame in a unit; empty where it holds none.
        made: a unit with another frame in it.
        cut: ends the connection.
        end: what ends a unit.
    """

    def __init__(
        self,
        recorder: Recorder,
        gate: Gate,
        record: Callable[[bytes], WireMessage | None],
        write: Callable[[bytes], Awaitable[None]],
        read: Callable[[bytes], bytes],
        made: Callable[[bytes, bytes], bytes],
        cut: Callable[[], object],
        end: re.Pattern[bytes] = LINE,
    ) -> None:
        self._recorder, self._gate = recorder, gate
        self._record, self._write, self._read, self._made, self._cut, self._end = record, write, read, made, cut, end
        self.back: Flow | None = None
        """The other direction; over HTTP there is none that an answer could take."""
        self._begun = bytearray()
        """The unit that has begun; of these bytes so many were passed on, and searched for its end."""
        self._passed = self._searched = 0
        self._oversize = 0
        """Bytes of it that are not kept: it is larger than a message may be."""
        self._between = asyncio.Event()
        """No unit is passed on in part."""
        self._between.set()
        self._tasks = Tasks(lambda *_: None)

    async def feed(self, data: bytes) -> None:
        """Take the next bytes; returns when they are written, or held."""
        if not self._gate.closed and self._passed == len(self._begun):
            self._between.clear()
            await self._write(data)
            self._passed += len(data)
        self._begun += data
        while found := self._end.search(self._begun, self._searched):
            await self._take(found.end())
        self._searched = max(0, len(self._begun) - 3)
        if len(self._begun) > self._recorder.limits.message:
            self._between.clear()
            await self._write(bytes(self._begun[self._passed :]))
            self._oversize += len(self._begun)
            self._begun.clear()
            self._passed = self._searched = 0
        if not self._passed and not self._oversize:
            self._between.set()

    async def finish(self) -> None:
        """The sender has ended: pass on what is left, and wait for what is held."""
        if self._begun:
            await self._take(len(self._begun))
        self._between.set()
        await self._tasks.end(1.0, grace=_LONGEST)

    async def insert(self, frame: bytes, unit: bytes = b"") -> None:
        """Write a frame, in the form of a unit, between two others."""
        await self._between.wait()
        await self._write(self._made(unit, frame) if frame else unit)

    async def _take(self, size: int) -> None:
        unit = bytes(self._begun[:size])
        del self._begun[:size]
        ahead, self._passed, self._searched = self._passed, max(0, self._passed - size), 0
        frame, entry = b"", None
        if self._oversize or size > self._recorder.limits.message:
            text = f"a message of {size_text(self._oversize + size)} went by: it is larger than what is recorded"
            self._oversize = 0
            self._recorder.tap.note(text)
        elif frame := self._read(unit):
            entry = self._record(frame)
        if ahead >= size:
            return
        caught = None if ahead or entry is None else self._gate.catch(self._recorder.store, entry, frame)
        if caught is None:
            await self._write(unit[ahead:])
        else:
            self._tasks.spawn(self._follow(caught, unit))

    async def _follow(self, caught: Awaitable[Decision], unit: bytes) -> None:
        decision = await caught
        with suppress(WriterClosed):  # the receiver has left meanwhile
            if decision.action == "release":
                await self.insert(decision.frame, unit)
            elif decision.action == "answer":
                self._recorder.answered(decision.frame)
                if self.back is not None:
                    await self.back.insert(decision.frame)
            elif decision.action == "cut":
                self._cut()
