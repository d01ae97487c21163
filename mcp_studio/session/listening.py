"""One purpose of listening to a server of the stateless era: a stream that is replaced as wishes change.

Specification 2026-07-28, basic/utilities/subscriptions: a stream begins with an acknowledgement of what is honoured, a
response ends it gracefully, and an end without one is a drop. Nothing is replayed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import field
from typing import Any, Literal, NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Refused
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.record import record
from mcp_studio.session.connection import Connection
from mcp_studio.session.deadline import Deadline

Purpose = Literal["lists", "resources", "tasks"]
"""What a stream is for: each purpose has its own, so that one wish can change without a gap in the others."""
StreamState = Literal["opening", "open", "waiting", "refused", "lost"]
"""`opening`: not acknowledged yet; `waiting`: ended, and is opened again; `refused`, `lost`: not tried any more."""

_FOREVER = 3e8
"""A subscription stream has no end of its own."""
_GRACE = 2.0
"""Seconds that a server has to acknowledge before we go on as if it had."""
_HELD = 30.0
"""A stream that held this many seconds has its reconnects forgiven."""


class Stream(NamedTuple):
    """What is known about listening for one purpose."""

    purpose: Purpose
    state: StreamState = "opening"
    id: RequestId | None = None
    asked: dict[str, Json] = {}  # noqa: RUF012 - never written to
    honoured: dict[str, Json] | None = None
    """What the server acknowledged; None while it has not."""
    detail: str = ""
    """Why it ended or was refused, in words."""


@record(eq=False)
class _Attempt:
    """One stream from its request to its end."""

    asked: dict[str, Json]
    began: float = field(default_factory=time.monotonic)
    id: RequestId | None = None
    honoured: dict[str, Json] | None = None
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    refused: bool = False
    why: str = ""

    @property
    def over(self) -> bool:
        """The stream has ended."""
        return self.task is not None and self.task.done()

    def end(self) -> None:
        """Nobody wants it any more: the server is told."""
        if self.task is not None:
            self.task.cancel()


class Listening:
    """Keeps one stream open for what is wanted at the moment; `run` is its task.

    Args:
        on_change: told whenever `stream` is another.
        on_again: told when it listens again after an end: what changed in between was missed.
    """

    def __init__(
        self,
        purpose: Purpose,
        connection: Connection,
        limits: Limits,
        *,
        on_change: Callable[[], None],
        on_again: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._on_change = on_change
        self._on_again = on_again
        self._wanted: dict[str, Json] = {}
        self._wake = asyncio.Event()
        self._attempts: list[_Attempt] = []
        self._failures = 0
        self.stream = Stream(purpose)
        self.settled = asyncio.Event()
        """Set while the stream is as wanted, or will not be."""

    def want(self, asked: dict[str, Json]) -> None:
        """Listen for this from now on; nothing ends listening."""
        if asked != self._wanted or self.stream.state in ("refused", "lost"):
            self._wanted = asked
            self._failures = 0
            self.settled.clear()
            self._wake.set()

    def acknowledge(self, identity: str, honoured: dict[str, Json]) -> None:
        """Take an acknowledgement, where it is of a stream of ours; only the first one counts."""
        attempt = self._find(identity)
        if attempt is not None and attempt.honoured is None:
            attempt.honoured, attempt.why = honoured, ""
            attempt.acknowledged.set()
            if attempt is self._attempts[-1]:
                self._show("open")

    def current(self, identity: str) -> bool:
        """Whether it is the stream whose news count: while one replaces another, the older until the new one stands."""
        known = reversed(self._attempts)
        standing = next((one for one in known if one.acknowledged.is_set() and not one.over), None)
        return str(standing.id) == identity if standing is not None else self._find(identity) is not None

    async def run(self) -> None:
        """Listen until cancelled."""
        try:
            while True:
                self._wake.clear()
                if self._wanted:
                    await self._listen(self._wanted)
                else:
                    self._end_all()
                    self._show("opening")
                    self.settled.set()
                    await self._wake.wait()
        finally:
            self._end_all()

    async def _listen(self, wanted: dict[str, Json]) -> None:
        """Open a stream, put it in the place of the one before, and stay with it until it ends or is not wanted."""
        again = self._failures > 0
        attempt = self._open(wanted)
        await self._either(attempt, attempt.acknowledged.wait(), _GRACE)
        if attempt.refused and any(not one.over for one in self._attempts if one is not attempt):
            self._end_all()  # perhaps it allows only one at a time
            attempt = self._open(wanted)
            await self._either(attempt, attempt.acknowledged.wait(), _GRACE)
        for one in self._attempts[:-1]:
            one.end()
        if not attempt.over:
            if again:
                self._on_again()
            attempt.why = "" if attempt.honoured is not None else "the server has not acknowledged it"
            self._show("open" if attempt.honoured is not None else "opening")
            if not self._wake.is_set():  # else something else is wanted by now, and the server not told yet
                self.settled.set()
            await self._either(attempt, self._wake.wait(), None)
        if attempt.over and not self._wake.is_set():
            await self._ended(attempt)

    async def _ended(self, attempt: _Attempt) -> None:
        """Wait a little before it is opened again; for good where the server refuses, or it never holds."""
        self._failures = 1 if time.monotonic() - attempt.began > _HELD else self._failures + 1
        gone = self._connection.ended.done()
        if attempt.refused or gone or self._failures > self._limits.reconnects:
            self._show("refused" if attempt.refused else "lost")
            self.settled.set()
            await self._wake.wait()
            return
        self._show("waiting")
        # There is a stream for each of three purposes: together they are opened no more than ten times in four seconds.
        pause = min(self._limits.retry_min * 2 ** (self._failures + 1), self._limits.retry_max)
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return

    def _open(self, wanted: dict[str, Json]) -> _Attempt:
        attempt = _Attempt(wanted)
        # The one before the newest may still have news under way.
        self._attempts = [*self._attempts[-3:], attempt]
        attempt.task = asyncio.get_running_loop().create_task(self._hold(attempt))
        self._show("opening")
        return attempt

    async def _hold(self, attempt: _Attempt) -> None:
        def sent(identity: RequestId) -> None:
            attempt.id = identity

        try:
            reply = await self._connection.request(
                "subscriptions/listen",
                {"notifications": attempt.asked},
                deadline=Deadline(_FOREVER, _FOREVER),
                on_id=sent,
            )
        except StudioError as error:
            attempt.why = error.message
            return
        if isinstance(reply.event, Refused):
            attempt.refused = True
            attempt.why = reply.event.said
        else:
            attempt.why = "The server ended the subscription."

    async def _either(self, attempt: _Attempt, waiting: Coroutine[Any, Any, object], limit: float | None) -> None:
        """Wait until the stream ends or something else happens, at most `limit` seconds."""
        assert attempt.task is not None
        other = asyncio.get_running_loop().create_task(waiting)
        try:
            await asyncio.wait((attempt.task, other), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            other.cancel()

    def _find(self, identity: str) -> _Attempt | None:
        return next((one for one in self._attempts if one.id is not None and str(one.id) == identity), None)

    def _end_all(self) -> None:
        for attempt in self._attempts:
            attempt.end()

    def _show(self, state: StreamState) -> None:
        newest = self._attempts[-1] if self._attempts else _Attempt({})
        stream = Stream(self.stream.purpose, state, newest.id, self._wanted, newest.honoured, newest.why)
        if stream != self.stream:
            self.stream = stream
            self._on_change()
