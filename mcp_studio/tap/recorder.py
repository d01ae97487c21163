"""What passes between a client that is not ours and a server: into a trace, and on as it came."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import field
from typing import Any, Literal, NamedTuple

from mcp_studio.limits import Limits
from mcp_studio.protocol.lines import size_text
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
"""Tells the person something, in a sentence."""
Way = Literal["out", "in"]
"""To the server, or from it."""
Back = Callable[[bytes], Awaitable[object]]


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
        number = self._safely(self._recorded, way, frame, exchange)
        return self.store.entry(number) if number else None

    def head(self, facts: HttpRequest | HttpResponse, frame: bytes = b"") -> None:
        """Record the head of a request or an answer over HTTP, and its body where that is no frame."""
        told = self.tap.http_request if isinstance(facts, HttpRequest) else self.tap.http_response
        self._safely(told, facts._replace(body=b"") if frame else facts)

    def judge(self, way: Way, frame: bytes, exchange: int = 0) -> Awaitable[Decision] | None:
        """Record a frame that has not passed yet: what becomes of it; None where it simply goes on."""
        entry = self.record(way, frame, exchange)
        return entry and self.gate.catch(self.store, entry, frame, self.note)

    async def settle(
        self, way: Way, caught: Awaitable[Decision] | None, back: Back, cut: Callable[[], object], exchange: int = 0
    ) -> Decision:
        """Do what was decided about a message that has not passed yet; what goes on is left to the caller.

        Args:
            caught: what `judge` has given for it.
            back: takes an answer, which goes the other way.
            cut: ends the connection.
        """
        decision = await caught if caught else Decision()
        if decision.action == "answer":
            self.record("in" if way == "out" else "out", decision.frame, exchange)
            await back(decision.frame)
        elif decision.action == "cut":
            cut()
        return decision

    def lost(self, why: str) -> list[bytes]:
        """Errors that answer every request of the client that has none: nothing else will."""
        frames = [error_answer(identity, why) for identity in self.tap.unanswered]
        for frame in frames:
            self.record("in", frame)
        return frames

    def _safely(self, act: Callable[..., Any], *given: Any) -> Any:
        """What goes wrong in here must not cost the client its answer."""
        try:
            return act(*given) if self._say else None
        except Exception as problem:
            said, self._say = self._say, None
            if said:
                said(f"The tap records no more: {type(problem).__name__}: {problem}. Messages still pass.")

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


class Unit(NamedTuple):
    """What holds a frame on the wire."""

    end: re.Pattern[bytes] | None
    """Where it ends; None where all of a body is one."""
    made: Callable[[bytes, bytes], bytes]
    """Makes one like this (empty where there is none) with another frame in it."""


def frame_in_event(event: bytes) -> bytes:
    """The frame in a server-sent event."""
    found = next(SseParser(len(event)).feed(event), None)
    return frame_of(found.data) if found and isinstance(found.data, bytes) else b""


def _event(event: bytes, frame: bytes) -> bytes:
    others = [line for line in event.splitlines() if line and not line.startswith(b"data")]
    return b"\n".join((*others, *(b"data: " + line for line in frame.splitlines()))) + b"\n\n"


BODY = Unit(None, lambda _, frame: frame)
EVENT = Unit(re.compile(rb"\n\r?\n|\r\r"), _event)
"""It ends with a blank line (HTML standard, server-sent events)."""
LINE = Unit(re.compile(rb"\n"), lambda _, frame: frame.replace(b"\n", b" ") + b"\n")
"""A newline in a frame is white space to JSON, and would end it."""


@record(eq=False)
class Flow:
    """One direction of a connection: passes bytes on as they come, and then has each frame recorded.

    While the gate is closed, each unit with a frame is recorded and judged before it passes.
    """

    recorder: Recorder
    way: Way
    unit: Unit
    read: Callable[[bytes], bytes]
    """Finds the frame in a unit; empty where it holds none."""
    write: Callable[[bytes], Awaitable[None]]
    """To the receiver."""
    cut: Callable[[], object]
    """Ends the connection."""
    back: Back | None = None
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
        while self.unit.end and (found := self.unit.end.search(self._begun, self._searched)):
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
        await self.write(self.unit.made(unit, frame) if frame else unit)

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
        with suppress(OSError, WriterClosed):  # the receiver has left meanwhile
            decision = await self.recorder.settle(self.way, caught, self.back or self.write, self.cut, self.exchange)
            self.lost |= decision.action == "drop"
            if decision.action == "release":
                await self.insert(decision.frame, unit)
