"""Breakpoints on the studio's own connections."""

from __future__ import annotations

from collections.abc import Awaitable

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConnectionLost, StudioError
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import Parsed, parse
from mcp_studio.redact import Redactor
from mcp_studio.session.manager import MakeTransport
from mcp_studio.tap.gate import Decision, Gate
from mcp_studio.tap.recorder import Recorder
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import Opened, Sink, Tasks, Transport


class Breakpoints:
    """One gate for all connections of the studio. A closed gate judges messages in a trace of its own, in memory."""

    def __init__(self, redactor: Redactor, limits: Limits) -> None:
        self.trace, self.gate = TraceStore(redactor, limits), Gate(redactor)
        self._redactor = redactor

    def over(self, make: MakeTransport, config: ServerConfig, limits: Limits, tap: ServerTap) -> Transport:
        """A transport whose messages pass the gate."""
        recorder = Recorder(self.trace, self.gate, self._redactor, config.name, limits, tap.note)
        recorder.note = tap.note
        return _GatedTransport(make(config, limits, tap), tap, recorder)


class _GatedTransport:
    """Implements `transport.base.Transport` on top of another transport, and `Sink` for that one."""

    def __init__(self, inner: Transport, tap: ServerTap, recorder: Recorder) -> None:
        self._inner, self._tap, self._recorder, self._gate = inner, tap, recorder, recorder.gate
        self._tasks = Tasks(lambda *_: None)
        self._sink: Sink
        self.send_raw, self.negotiated, self.abandon = inner.send_raw, inner.negotiated, inner.abandon

    async def open(self, sink: Sink) -> Opened:
        self._sink, self.undelivered = sink, sink.undelivered
        return await self._inner.open(self)

    async def close(self) -> None:
        self._tasks.cancel()
        await self._inner.close()

    async def send(self, out: Outgoing) -> None:
        hold = self._recorder.judge("out", out.frame) if self._gate.closed else None
        if hold is None:
            return await self._inner.send(out)
        decision = await self._recorder.settle("out", hold, self._answer, self._cut)
        if decision.action == "release":
            if decision.frame:
                out = out._replace(frame=decision.frame)
                self._tap.expect(out)
            await self._inner.send(out)

    def frame(self, data: bytes) -> Parsed:
        if self._gate.closed and (hold := self._recorder.judge("in", data)):
            self._tap.understood(parsed := parse(data))
            self._tasks.spawn(self._follow(hold, data))
            return parsed
        return self._sink.frame(data)

    def closed(self, error: StudioError | None) -> None:
        self._tasks.cancel()
        self._sink.closed(error)

    async def _answer(self, frame: bytes) -> None:
        self._tap.received(frame)
        self._sink.frame(frame)

    def _cut(self) -> None:
        self.closed(ConnectionLost("The connection was cut at a breakpoint."))

    async def _follow(self, hold: Awaitable[Decision], data: bytes) -> None:
        decision = await self._recorder.settle("in", hold, self._inner.send_raw, self._cut)
        if decision.action == "release":
            self._sink.frame(decision.frame or data)
