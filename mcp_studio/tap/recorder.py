"""What passes between a client that is not ours and a server: into a trace, and on as it came."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Literal

from mcp_studio.limits import Limits
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.lines import size_text
from mcp_studio.protocol.message import Message, Notification, parse
from mcp_studio.redact import Redactor
from mcp_studio.tap.gate import LONGEST, Decision, Gate, error_answer
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.server_tap import ServerTap, outgoing
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import Tasks
from mcp_studio.transport.stdio import WriterClosed

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

    def record(self, way: Way, frame: bytes) -> WireMessage | None:
        """The entry of a frame that passes."""
        if self._failed:
            return None
        try:
            return self.store.entry((self._sent if way == "out" else self._received)(frame))
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

    def _sent(self, frame: bytes) -> int:
        messages = parse(frame, self.limits).messages
        if len(messages) == 1 and (out := outgoing(frame, messages[0])) is not None:
            self.tap.expect(out)
        self.tap.sent(frame)
        number = self.store.total
        for identity in _cancelled(messages):
            self.tap.gave_up(identity)
        return number

    def _received(self, frame: bytes) -> int:
        self.tap.received(frame)
        number, parsed = self.store.total, parse(frame, self.limits)
        self.tap.understood(parsed)
        for identity in _cancelled(parsed.messages):
            self.tap.withdrawn(identity)
        return number


def _cancelled(messages: Iterable[Message]) -> list[RequestId]:
    """The requests that are given up."""
    told = [one for one in messages if isinstance(one, Notification) and one.method == "notifications/cancelled"]
    return [number for one in told if isinstance(number := one.params.get("requestId"), (int, str))]


class Flow:
    """One direction of a connection: passes lines on once they are whole, and has each recorded.

    While the gate is closed, each is recorded and judged before that.

    Args:
        read: the frame on a line; empty where it holds none.
        write: to the receiver.
        cut: ends the connection.
    """

    def __init__(
        self,
        recorder: Recorder,
        gate: Gate,
        way: Way,
        read: Callable[[bytes], bytes],
        write: Callable[[bytes], Awaitable[None]],
        cut: Callable[[], object],
    ) -> None:
        self.way: Way = way
        self._recorder, self._gate, self._read = recorder, gate, read
        self._write, self._cut = write, cut
        self.back: Flow | None = None
        """The other direction, which an answer takes."""
        self._begun = bytearray()
        """The line that has begun, searched for its end up to there."""
        self._searched = 0
        self._oversize = 0
        """Bytes of it that have passed already: it is larger than a message may be."""
        self._between = asyncio.Event()
        """No line has passed in part."""
        self._between.set()
        self._tasks = Tasks(lambda *_: None)

    async def feed(self, data: bytes) -> None:
        """Take the next bytes; returns when what is whole is written, or held."""
        self._begun += data
        while (end := self._begun.find(b"\n", self._searched)) >= 0:
            await self._take(end + 1)
        self._searched = len(self._begun)
        if len(self._begun) > self._recorder.limits.message:
            self._between.clear()
            self._oversize += len(self._begun)
            await self._write(self._cut_off(len(self._begun)))

    async def finish(self) -> None:
        """The sender has ended: pass on what is left, and wait for what is held."""
        if self._begun or self._oversize:
            await self._take(len(self._begun))
        await self._tasks.end(1.0, grace=LONGEST)

    async def insert(self, frame: bytes) -> None:
        """Write a frame between two others; a newline in it is white space to JSON, and would end it here."""
        await self._pass(frame.replace(b"\n", b" ") + b"\n")

    async def _pass(self, line: bytes) -> None:
        await self._between.wait()
        await self._write(line)

    def _cut_off(self, size: int) -> bytes:
        line, self._searched = bytes(self._begun[:size]), 0
        del self._begun[:size]
        return line

    async def _take(self, size: int) -> None:
        line, whole = self._cut_off(size), self._oversize + size
        frame, closed, recorder = b"", self._gate.closed, self._recorder
        if whole > recorder.limits.message:
            recorder.tap.note(f"a message of {size_text(whole)} went by: it is larger than what is recorded")
        else:
            frame = self._read(line)
        if not closed:  # first: to record it takes its time
            await self._write(line)
        caught = None
        if frame and (entry := recorder.record(self.way, frame)) and closed:
            caught = self._gate.catch(recorder.store, entry, frame, recorder.tap.note)
        if caught:
            self._tasks.spawn(self._follow(caught, line))
        elif closed:
            await self._write(line)
        self._oversize = 0
        self._between.set()

    async def _follow(self, caught: Awaitable[Decision], line: bytes) -> None:
        decision = await caught
        with suppress(OSError, WriterClosed):  # the receiver has left meanwhile
            if decision.action == "release":
                await (self.insert(decision.frame) if decision.frame else self._pass(line))
            elif decision.action == "answer" and self.back is not None:
                self._recorder.record(self.back.way, decision.frame)
                await self.back.insert(decision.frame)
            elif decision.action == "cut":
                self._cut()
