"""What passes between a client that is not ours and a server: into a trace, and on as it came."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from typing import Literal

from mcp_studio.limits import Limits
from mcp_studio.protocol.lines import size_text
from mcp_studio.protocol.message import Notification, parse
from mcp_studio.record import record
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
        self._say: Say | None = say

    def record(self, way: Way, frame: bytes, exchange: int = 0) -> WireMessage | None:
        """The entry of a frame that passes; `exchange` is that of HTTP."""
        if self._say is None:
            return None
        try:
            return self.store.entry(self._recorded(way, frame, exchange))
        except Exception as problem:  # what goes wrong in here must not cost the client its answer
            self._say(f"The tap records no more: {type(problem).__name__}: {problem}. Messages still pass.")
            self._say = None
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


@record(eq=False)
class Flow:
    """One direction of a connection: passes bytes on as they come, and then has each frame recorded.

    While the gate is closed, each unit with a frame is recorded and judged before it passes.
    """

    recorder: Recorder
    way: Way
    end: re.Pattern[bytes] | None
    """Ends a unit, such as a line; None where all is one."""
    read: Callable[[bytes], bytes]
    """Finds the frame in a unit; empty where it holds none."""
    made: Callable[[bytes, bytes], bytes]
    """Makes a unit like this one (empty where there is none) with another frame in it."""
    write: Callable[[bytes], Awaitable[None]]
    """To the receiver."""
    cut: Callable[[], object]
    """Ends the connection."""
    back: Callable[[bytes], Awaitable[None]] | None = None
    """Takes an answer, which goes the other way."""
    exchange: int = 0
    """That of HTTP."""
    lost: bool = False
    """Whether a message was dropped."""
    _begun: bytearray = field(default_factory=bytearray)
    """The unit that has begun."""
    _searched: int = 0
    """How far it was searched for its end."""
    _dropped: int = 0
    """Bytes before it, which have passed: it is larger than a message may be."""
    _held: bool = False
    """It passes only when it is whole."""
    _between: asyncio.Event = field(default_factory=asyncio.Event)
    """No unit has passed in part."""
    _tasks: Tasks = field(default_factory=lambda: Tasks(lambda *_: None))

    def __post_init__(self) -> None:
        self._between.set()

    async def feed(self, data: bytes) -> None:
        """Take the next bytes; returns when they are written, or held."""
        if not self._begun and not self._dropped:
            self._held = self.recorder.gate.closed
        if not self._held:
            await self._pass(data)  # first: to search and record it takes its time
        self._begun += data
        while self.end and (found := self.end.search(self._begun, self._searched)):
            await self._take(found.end())
        size = len(self._begun)
        self._searched = max(0, size - 3)
        if size > self.recorder.limits.message:
            if self._held:
                await self._pass(bytes(self._begun))
            self._dropped, self._searched, self._held, self._begun = self._dropped + size, 0, False, bytearray()
        if self._held or not (self._begun or self._dropped):
            self._between.set()

    async def finish(self) -> None:
        """The sender has ended: pass on what is left, and wait for what is held."""
        await self._take(len(self._begun))
        try:
            await self._tasks.end(1.0, grace=LONGEST)
        finally:
            self._tasks.cancel()

    async def tear(self) -> None:
        """End the line that has passed in part: the rest of it will not come."""
        if not self._between.is_set():
            self._between.set()
            await self.write(b"\n")

    async def insert(self, frame: bytes, unit: bytes = b"") -> None:
        """Write a unit with this frame between two others."""
        await self._between.wait()
        await self.write(self.made(unit, frame) if frame else unit)

    async def _pass(self, data: bytes) -> None:
        self._between.clear()
        await self.write(data)

    async def _take(self, size: int) -> None:
        recorder, unit, whole = self.recorder, bytes(self._begun[:size]), self._dropped + size
        del self._begun[:size]
        self._searched = self._dropped = 0
        if large := whole > recorder.limits.message:
            recorder.note(f"a message of {size_text(whole)} went by: it is larger than what is recorded")
        frame = b"" if large else self.read(unit)
        if not self._held:
            if frame:
                recorder.record(self.way, frame, self.exchange)
        elif frame and (caught := recorder.judge(self.way, frame, self.exchange)):
            self._tasks.spawn(self._follow(caught, unit))
        else:
            await self.write(unit)

    async def _follow(self, caught: Awaitable[Decision], unit: bytes) -> None:
        decision = await caught
        with suppress(OSError, WriterClosed):  # the receiver has left meanwhile
            if decision.action == "release":
                await self.insert(decision.frame, unit)
            elif decision.action == "answer" and self.back is not None:
                self.recorder.record("in" if self.way == "out" else "out", decision.frame, self.exchange)
                await self.back(decision.frame)
            elif decision.action == "cut":
                self.cut()
            else:
                self.lost = True
