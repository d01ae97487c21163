"""What passes between a client that is not ours and a server: into a trace, and on as it came."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal

from mcp_studio.limits import Limits
from mcp_studio.protocol.lines import size_text
from mcp_studio.protocol.message import Notification, parse
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
    """Puts the frames of one connection into a trace, as those of a client of ours are, and has them judged.

    Args:
        say: is told once where recording fails: the connection goes on without it.
    """

    def __init__(
        self, store: TraceStore, gate: Gate, redactor: Redactor, server: str, limits: Limits, say: Say
    ) -> None:
        self.store, self.gate, self.limits = store, gate, limits
        self.tap = ServerTap(store, redactor, server, limits)
        self.note = self.tap.note
        """Where it is told what becomes of a message."""
        self._say = say
        self._failed = False

    def record(self, way: Way, frame: bytes, exchange: int = 0) -> WireMessage | None:
        """The entry of a frame that passes; `exchange` is that of HTTP."""
        if self._failed:
            return None
        try:
            return self.store.entry(self._recorded(way, frame, exchange))
        except Exception as problem:  # what goes wrong in here must not cost the client its answer
            self._failed = True
            self._say(f"The tap records no more: {type(problem).__name__}: {problem}. Messages still pass.")
            return None

    def judge(self, way: Way, frame: bytes, exchange: int = 0) -> Awaitable[Decision] | None:
        """Record a frame that has not passed yet: what becomes of it; None where it simply goes on."""
        entry = self.record(way, frame, exchange)
        return entry and self.gate.catch(self.store, entry, frame, self.note)

    def lost(self, why: str) -> list[bytes]:
        """Errors that answer every request of the client that has none: nothing else will."""
        frames = [error_answer(identity, why) for identity in self.tap.unanswered]
        for frame in frames:
            self.record("in", frame)
        return frames

    def _recorded(self, way: Way, frame: bytes, exchange: int) -> int:
        parsed, tap = parse(frame, self.limits), self.tap
        if way == "in":
            tap.received(frame, exchange)
            number, ends = self.store.total, tap.withdrawn
            tap.understood(parsed)
        else:
            if len(parsed.messages) == 1 and (out := outgoing(frame, parsed.messages[0])) is not None:
                tap.expect(out)
            tap.sent(frame, exchange)
            number, ends = self.store.total, tap.gave_up
        for one in parsed.messages:
            if isinstance(one, Notification) and one.method == "notifications/cancelled":
                if isinstance(identity := one.params.get("requestId"), (int, str)):
                    ends(identity)
        return number


class Flow:
    """One direction of a connection: passes bytes on as they come, and has each frame recorded once its unit is whole.

    While the gate is closed, each unit with a frame is recorded and judged before it passes.

    Args:
        end: ends a unit, such as a line.
        read: the frame in a unit; empty where it holds none.
        made: a unit like this one (empty where there is none) with another frame in it.
        write: to the receiver.
        cut: ends the connection.
        exchange: that of HTTP.
    """

    def __init__(
        self,
        recorder: Recorder,
        way: Way,
        end: re.Pattern[bytes],
        read: Callable[[bytes], bytes],
        made: Callable[[bytes, bytes], bytes],
        write: Callable[[bytes], Awaitable[None]],
        cut: Callable[[], object],
        exchange: int = 0,
    ) -> None:
        self.way: Way = way
        self._recorder, self._end, self._read, self._made = recorder, end, read, made
        self._write, self._cut, self._exchange = write, cut, exchange
        self.back: Callable[[bytes], Awaitable[None]] | None = None
        """Takes an answer, which goes the other way."""
        self.lost = False
        """Whether a message was dropped."""
        self._begun = bytearray()
        """The line that has begun."""
        self._searched = self._passed = 0
        """How far it was searched for its end, and how far it has passed."""
        self._dropped = 0
        """Bytes before those, which have passed: it is larger than a message may be."""
        self._between = asyncio.Event()
        """No line has passed in part."""
        self._between.set()
        self._torn = False
        """The last line had no end."""
        self._tasks = Tasks(lambda *_: None)

    async def feed(self, data: bytes) -> None:
        """Take the next bytes; returns when they are written, or held."""
        self._begun += data
        while found := self._end.search(self._begun, self._searched):
            await self._take(found.end())
        size = len(self._begun)
        self._searched, large = max(0, size - 3), size > self._recorder.limits.message
        if self._begun and (large or not self._recorder.gate.closed or not self._between.is_set()):
            self._between.clear()
            part, self._passed = bytes(self._begun[self._passed :]), size
            if large:
                self._dropped += size
                self._begun, self._searched, self._passed = bytearray(), 0, 0
            await self._write(part)

    async def finish(self) -> None:
        """The sender has ended: pass on what is left, and wait for what is held."""
        if self._begun or self._dropped:
            await self._take(len(self._begun))
            self._torn = True
        await self._tasks.end(1.0, grace=LONGEST)

    async def tear(self) -> None:
        """End the line that has passed in part: the rest of it will not come."""
        if self._torn or not self._between.is_set():
            self._between.set()
            await self._write(b"\n")

    async def insert(self, frame: bytes, unit: bytes = b"") -> None:
        """Write a unit with this frame between two others."""
        await self._between.wait()
        await self._write(self._made(unit, frame) if frame else unit)

    async def _take(self, size: int) -> None:
        line, passed, whole = bytes(self._begun[:size]), self._passed, self._dropped + size
        del self._begun[:size]
        self._searched = self._passed = self._dropped = 0
        recorder, held = self._recorder, self._recorder.gate.closed and self._between.is_set()
        if not held:  # first: to record it takes its time
            await self._write(line[passed:])
        self._between.set()
        if large := whole > recorder.limits.message:
            recorder.note(f"a message of {size_text(whole)} went by: it is larger than what is recorded")
        frame = b"" if large else self._read(line)
        if not held:
            if frame:
                recorder.record(self.way, frame, self._exchange)
        elif frame and (caught := recorder.judge(self.way, frame, self._exchange)):
            self._tasks.spawn(self._follow(caught, line))
        else:
            await self._write(line)

    async def _follow(self, caught: Awaitable[Decision], line: bytes) -> None:
        decision = await caught
        with suppress(OSError, WriterClosed):  # the receiver has left meanwhile
            if decision.action == "release":
                await self.insert(decision.frame, line)
            elif decision.action == "answer" and self.back is not None:
                self._recorder.record("in" if self.way == "out" else "out", decision.frame, self._exchange)
                await self.back(decision.frame)
            elif decision.action == "cut":
                self._cut()
            else:
                self.lost = True
