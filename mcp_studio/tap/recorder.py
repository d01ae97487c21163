"""What passes between a client that is not ours and a server: into a trace, and on as it came."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

from mcp_studio.limits import Limits
from mcp_studio.protocol.lines import size_text
from mcp_studio.protocol.message import Notification, parse
from mcp_studio.redact import Redactor
from mcp_studio.tap.gate import Decision, Gate, error_answer
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.server_tap import ServerTap, outgoing
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import Tasks

_LONGEST = 3_600.0
"""Seconds that a message may be held, or delayed."""
Say = Callable[[str], None]
"""Tells the person something, in a sentence."""
Way = Literal["out", "in"]
"""To the server, or from it."""


class Recorder:
    """Puts the frames of one connection into a trace, as those of a client of ours are.

    Args:
        say: is told once where recording fails: the connection goes on without it.
    """

    def __init__(self, store: TraceStore, redactor: Redactor, server: str, limits: Limits, say: Say) -> None:
        self.store, self.limits = store, limits
        self.tap = ServerTap(store, redactor, server, limits)
        self._say = say
        self._failed = False

    def record(self, way: Way, frame: bytes, exchange: int = 0) -> WireMessage | None:
        """The entry of a frame that passes."""
        if self._failed:
            return None
        try:
            return self.store.entry((self._sent if way == "out" else self._received)(frame, exchange))
        except Exception as problem:  # what goes wrong in here must not cost the client its answer
            self._failed = True
            self._say(f"The tap records no more: {type(problem).__name__}: {problem}. Messages still pass.")
            return None

    def lost(self, why: str) -> list[bytes]:
        """Errors that answer every request of the client that has none: nothing else will."""
        frames = [error_answer(identity, why) for identity in self.tap.unanswered]
        for frame in frames:
            self.record("in", frame)
        return frames

    def forget(self, identity: object) -> None:
        """Nobody waits for this request any more."""
        if isinstance(identity, (int, str)):
            self.tap.gave_up(identity)

    def _sent(self, frame: bytes, exchange: int) -> int:
        messages = parse(frame, self.limits).messages
        if len(messages) == 1 and (out := outgoing(frame, messages[0])) is not None:
            self.tap.expect(out)
        self.tap.sent(frame, exchange)
        number = self.store.total
        for message in messages:
            if isinstance(message, Notification) and message.method == "notifications/cancelled":
                self.forget(message.params.get("requestId"))
        return number

    def _received(self, frame: bytes, exchange: int) -> int:
        self.tap.received(frame, exchange)
        number = self.store.total
        self.tap.understood(parse(frame, self.limits))
        return number


class Form(NamedTuple):
    """How the frames of a stream of bytes are told apart, each a unit."""

    end: re.Pattern[bytes]
    """Ends a unit."""
    read: Callable[[bytes], bytes]
    """The frame in a unit; empty where it holds none."""
    made: Callable[[bytes, bytes], bytes]
    """A unit with another frame in it."""


class Flow:
    """One direction of a connection: passes units on once they are whole, and has each recorded.

    While the gate is closed, each is recorded and judged before that.

    Args:
        write: to the receiver.
        cut: ends the connection.
        exchange: that of HTTP.
    """

    def __init__(
        self,
        recorder: Recorder,
        gate: Gate,
        way: Way,
        form: Form,
        write: Callable[[bytes], Awaitable[None]],
        cut: Callable[[], object],
        exchange: int = 0,
    ) -> None:
        self._recorder, self._gate, self._way, self._form = recorder, gate, way, form
        self._write, self._cut, self._exchange = write, cut, exchange
        self.back: Flow | None = None
        """The other direction; over HTTP there is none that an answer could take."""
        self._begun = bytearray()
        """The unit that has begun, searched for its end up to there."""
        self._searched = 0
        self._oversize = 0
        """Bytes of it that have passed already: it is larger than a message may be."""
        self._between = asyncio.Event()
        """No unit has passed in part."""
        self._between.set()
        self._tasks = Tasks(lambda *_: None)

    async def feed(self, data: bytes) -> None:
        """Take the next bytes; returns when what is whole is written, or held."""
        self._begun += data
        while found := self._form.end.search(self._begun, self._searched):
            await self._take(found.end())
        self._searched = max(0, len(self._begun) - 3)
        if len(self._begun) > self._recorder.limits.message:
            self._between.clear()
            self._oversize += len(self._begun)
            await self._write(self._cut_off(len(self._begun)))

    async def finish(self) -> None:
        """The sender has ended: pass on what is left, and wait for what is held."""
        if self._begun or self._oversize:
            await self._take(len(self._begun))
        await self._tasks.end(1.0, grace=_LONGEST)

    async def insert(self, frame: bytes, unit: bytes = b"") -> None:
        """Write a frame, in the form of a unit, between two others."""
        await self._between.wait()
        await self._write(self._form.made(unit, frame) if frame else unit)

    def _cut_off(self, size: int) -> bytes:
        unit, self._searched = bytes(self._begun[:size]), 0
        del self._begun[:size]
        return unit

    async def _take(self, size: int) -> None:
        unit, whole = self._cut_off(size), self._oversize + size
        frame, closed = b"", self._gate.closed
        if whole > self._recorder.limits.message:
            text = f"a message of {size_text(whole)} went by: it is larger than what is recorded"
            self._recorder.tap.note(text)
        else:
            frame = self._form.read(unit)
        if not closed:  # first: to record it takes its time
            await self._write(unit)
        caught, recorder = None, self._recorder
        if frame and (entry := recorder.record(self._way, frame, self._exchange)) and closed:
            caught = self._gate.catch(recorder.store, entry, frame, recorder.tap.note)
        if caught:
            self._tasks.spawn(self._follow(caught, unit))
        elif closed:
            await self._write(unit)
        self._oversize = 0
        self._between.set()

    async def _follow(self, caught: Awaitable[Decision], unit: bytes) -> None:
        decision = await caught
        if decision.action == "release":
            await self.insert(decision.frame, unit)
        elif decision.action == "answer":
            back: Way = "in" if self._way == "out" else "out"
            self._recorder.record(back, decision.frame, self._exchange)
            if self.back is not None:
                await self.back.insert(decision.frame)
        elif decision.action == "cut":
            self._cut()
        elif self.back is None:
            await asyncio.Event().wait()  # a client of HTTP hears nothing as long as it waits
