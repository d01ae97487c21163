"""Records the messages between another client and a server in a trace, and passes them on unchanged."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from typing import Any, Literal, NamedTuple

from mcp_studio.limits import Limits, size_text
from mcp_studio.protocol.message import Notification, parse
from mcp_studio.record import record
from mcp_studio.redact import Redactor
from mcp_studio.tap.gate import LONGEST, Decision, Gate, error_answer
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.server_tap import ServerTap, outgoing
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import HttpRequest, HttpResponse, Tasks
from mcp_studio.transport.sse import SseParser
from mcp_studio.transport.stdio import WriterClosed, frame_of

Say = Callable[[str], None]
"""Reports something to the person, as a sentence."""
Way = Literal["out", "in"]
"""The direction: to the server, or from it."""
Back = Callable[[bytes], Awaitable[object]]


class Recorder:
    """Records the frames of one connection, as if a client of ours exchanged them, and has the gate judge them.

    Args:
        say: called once if recording fails: the connection continues unrecorded.
    """

    def __init__(
        self, store: TraceStore, gate: Gate, redactor: Redactor, server: str, limits: Limits, say: Say
    ) -> None:
        self.store, self.gate, self.limits = store, gate, limits
        self.tap = ServerTap(store, redactor, server, limits)
        self.note = self.tap.note
        """Records what happened to a message."""
        self._say: Say | None = say

    def record(self, way: Way, frame: bytes, exchange: int = 0) -> WireMessage | None:
        """Record a passing frame and return its entry; `exchange` is the number of its HTTP exchange."""
        number = self._safely(self._record_frame, way, frame, exchange)
        return self.store.entry(number) if number else None

    def head(self, facts: HttpRequest | HttpResponse, frame: bytes = b"") -> None:
        """Record the head of an HTTP request or response, and the body unless it is a frame."""
        record_head = self.tap.http_request if isinstance(facts, HttpRequest) else self.tap.http_response
        self._safely(record_head, facts._replace(body=b"") if frame else facts)

    def judge(self, way: Way, frame: bytes, exchange: int = 0) -> Awaitable[Decision] | None:
        """Record a frame before it passes; returns the gate's decision, or None if the frame simply passes."""
        entry = self.record(way, frame, exchange)
        return entry and self.gate.catch(self.store, entry, frame, self.note)

    async def settle(
        self, way: Way, hold: Awaitable[Decision] | None, back: Back, cut: Callable[[], object], exchange: int = 0
    ) -> Decision:
        """Carry out the decision about a frame that has not passed yet; the caller passes on what is released.

        Args:
            hold: the result of `judge` for the frame.
            back: takes an answer, which goes in the other direction.
            cut: ends the connection.
        """
        decision = await hold if hold else Decision()
        if decision.action == "answer":
            self.record("in" if way == "out" else "out", decision.frame, exchange)
            await back(decision.frame)
        elif decision.action == "cut":
            cut()
        return decision

    def lost(self, why: str) -> list[bytes]:
        """Errors for all requests that the client has sent and nobody will answer any more."""
        frames = [error_answer(identity, why) for identity in self.tap.unanswered]
        for frame in frames:
            self.record("in", frame)
        return frames

    def _safely(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the recorder; its failure must not cost the client its answer."""
        try:
            return function(*args) if self._say else None
        except Exception as problem:
            say, self._say = self._say, None
            if say:
                say(f"The tap records no more: {type(problem).__name__}: {problem}. Messages still pass.")

    def _record_frame(self, way: Way, frame: bytes, exchange: int) -> int:
        parsed, tap = parse(frame, self.limits), self.tap
        if way == "in":
            tap.received(frame, exchange)
        else:
            if len(parsed.messages) == 1 and (out := outgoing(frame, parsed.messages[0])) is not None:
                tap.expect(out)
            tap.sent(frame, exchange)
        number = self.store.total
        if way == "in":
            tap.understood(parsed)
        for one in parsed.messages:
            if isinstance(one, Notification) and one.method == "notifications/cancelled":
                if isinstance(identity := one.params.get("requestId"), (int, str)):
                    (tap.withdrawn if way == "in" else tap.gave_up)(identity)
        return number


class Unit(NamedTuple):
    """The form in which the wire carries a frame."""

    end: re.Pattern[bytes] | None
    """Matches the end of a unit; None if the whole body is one unit."""
    make: Callable[[bytes, bytes], bytes]
    """Makes a unit with another frame from an existing unit (empty if there is none)."""


def frame_in_event(event: bytes) -> bytes:
    """The frame in a server-sent event."""
    message = next(SseParser(len(event)).feed(event), None)
    return frame_of(message.data) if message and isinstance(message.data, bytes) else b""


def _event(event: bytes, frame: bytes) -> bytes:
    others = [line for line in event.splitlines() if line and not line.startswith(b"data")]
    return b"\n".join((*others, *(b"data: " + line for line in frame.splitlines()))) + b"\n\n"


BODY = Unit(None, lambda _, frame: frame)
EVENT = Unit(re.compile(rb"\n\r?\n|\r\r"), _event)
"""An event ends with a blank line (HTML standard, server-sent events)."""
LINE = Unit(re.compile(rb"\n"), lambda _, frame: frame.replace(b"\n", b" ") + b"\n")
"""A newline in a frame is white space in JSON, but would end the line."""


@record(eq=False)
class Flow:
    """One direction of a connection: passes bytes on as they come, and then records each frame.

    While the gate is closed, each unit with a frame is recorded and judged before it passes.
    """

    recorder: Recorder
    way: Way
    unit: Unit
    read: Callable[[bytes], bytes]
    """Returns the frame in a unit; empty if the unit has none."""
    write: Callable[[bytes], Awaitable[None]]
    """Sends bytes to the receiver."""
    cut: Callable[[], object]
    """Ends the connection."""
    back: Back | None = None
    """Takes an answer, which goes in the other direction."""
    exchange: int = 0
    """The number of the HTTP exchange."""
    lost: bool = False
    """Whether a message was dropped."""
    _buffer: bytearray = field(default_factory=bytearray)
    """The bytes of the unit that has begun."""
    _searched: int = 0
    """How far the buffer has been searched for the end of the unit."""
    _passed: int = 0
    """The bytes of the current unit that have left the buffer: the unit is larger than a message may be."""
    _holding: bool = False
    """Whether the unit passes only once it is complete."""
    _boundary: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no unit has passed in part."""
    _tasks: Tasks = field(default_factory=lambda: Tasks(lambda *_: None))

    def __post_init__(self) -> None:
        self._boundary.set()

    async def feed(self, data: bytes) -> None:
        """Take the next bytes; returns once they are written or held."""
        if not self._buffer and not self._passed:
            self._holding = self.recorder.gate.closed
        if not self._holding:
            await self._pass(data)  # before searching and recording, which take time
        self._buffer += data
        while self.unit.end and (found := self.unit.end.search(self._buffer, self._searched)):
            await self._take(found.end())
        size = len(self._buffer)
        self._searched = max(0, size - 3)
        if size > self.recorder.limits.message:
            if self._holding:
                await self._pass(bytes(self._buffer))
            self._passed, self._searched, self._holding, self._buffer = self._passed + size, 0, False, bytearray()
        if self._holding or not (self._buffer or self._passed):
            self._boundary.set()

    async def finish(self) -> None:
        """The sender has ended: pass on the rest, and wait for held messages."""
        await self._take(len(self._buffer))
        try:
            await self._tasks.end(1.0, grace=LONGEST)
        finally:
            self._tasks.cancel()

    async def tear(self) -> None:
        """End the line that has passed in part: the rest of it will not come."""
        if not self._boundary.is_set():
            self._boundary.set()
            await self.write(b"\n")

    async def insert(self, frame: bytes, unit: bytes = b"") -> None:
        """Write a unit with this frame between two others."""
        await self._boundary.wait()
        await self.write(self.unit.make(unit, frame) if frame else unit)

    async def _pass(self, data: bytes) -> None:
        self._boundary.clear()
        await self.write(data)

    async def _take(self, size: int) -> None:
        recorder, unit, whole = self.recorder, bytes(self._buffer[:size]), self._passed + size
        del self._buffer[:size]
        self._searched = self._passed = 0
        if large := whole > recorder.limits.message:
            recorder.note(f"a message of {size_text(whole)} went by: it is larger than what is recorded")
        frame = b"" if large else self.read(unit)
        if not self._holding:
            if frame:
                recorder.record(self.way, frame, self.exchange)
        elif frame and (hold := recorder.judge(self.way, frame, self.exchange)):
            self._tasks.spawn(self._follow(hold, unit))
        else:
            await self.write(unit)

    async def _follow(self, hold: Awaitable[Decision], unit: bytes) -> None:
        with suppress(OSError, WriterClosed):  # the receiver has left meanwhile
            decision = await self.recorder.settle(self.way, hold, self.back or self.write, self.cut, self.exchange)
            self.lost |= decision.action == "drop"
            if decision.action == "release":
                await self.insert(decision.frame, unit)
