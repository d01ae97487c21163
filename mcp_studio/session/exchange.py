"""One frame that was written by hand, and what came back."""

from __future__ import annotations

import asyncio
import time
from typing import cast

from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.limits import MB
from mcp_studio.protocol.message import Malformed, Parsed, Request
from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.signal import Signal
from mcp_studio.trace.message import ACKNOWLEDGED, WireMessage
from mcp_studio.trace.server_tap import ServerTap

_MOST = 10_000
"""The newest entries of the trace among which it is looked for what came back."""
_KEPT = 32 * MB
"""Bytes of frames that are kept as they came; of later ones there is what the trace has."""


class RawExchange:
    """Made by `ByHand.send`; `changed` fires whenever something came, and when it is over."""

    def __init__(self, tap: ServerTap, frame: bytes, parsed: Parsed) -> None:
        self._tap = tap
        self._bodies: dict[int, bytes] = {}
        self._size = 0
        self._first = self._last = self._http = 0
        self._done = asyncio.Event()
        self._began = time.perf_counter()
        self.server = tap.server
        self.frame = frame
        self.parsed = parsed
        self.changed: Signal[RawExchange] = Signal()
        self.waits_for: list[RequestId] = [one.id for one in parsed.messages if isinstance(one, Request)]
        """Ids whose answer is its answer."""
        self.wants_answer = bool(self.waits_for)
        """It is a request that can be answered: the protocol says that it must be."""
        self.odd: list[Json] = [None, *_odd_ids(frame, parsed)]
        """Ids that are no ids, and which an answer may carry all the same; null is the one for what cannot be read."""
        self.collides = False
        """An id of it is one of an open request of ours: the first answer is taken for that one."""
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

    @property
    def number(self) -> int:
        """Where the frame stands in the trace; 0 while it has not left."""
        return self._first

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
        return asked.direction != "out" or asked.by_hand or (self.collides and entry.direction == "in")

    def body(self, entry: WireMessage) -> bytes:
        """What an entry says, as it crossed the wire where that is still known; else as the trace has it."""
        return self._bodies.get(entry.number, entry.body)

    # ------------------------------------------------------------------ told by the connection

    def sent(self, entry: WireMessage) -> None:
        """It has left."""
        self._first, self._http = entry.number, entry.exchange
        self.changed.emit(self)

    def came(self, frame: bytes) -> None:
        """A frame came in."""
        if self._size + len(frame) <= _KEPT:
            self._size += len(frame)
            self._bodies[self._tap.store.total] = frame
        self.changed.emit(self)

    def answer(self, frame: bytes, identity: RequestId | None) -> None:
        """A frame came that answers it."""
        if self.ms is None:
            self.ms = (time.perf_counter() - self._began) * 1000
        if frame not in self.answers:
            self.answers.append(frame)
        if identity in self.waits_for:
            self.waits_for.remove(identity)
        if not self.waits_for or identity is None:
            self.answered.set()

    def end(self) -> None:
        """Nothing more is collected."""
        self._last = self._tap.store.total
        self._done.set()
        self.changed.emit(self)


def _odd_ids(frame: bytes, parsed: Parsed) -> list[Json]:
    """Ids of a frame that no request may have, and an answer may repeat."""
    if not any(isinstance(one, Malformed) for one in parsed.messages):
        return []
    guessed: list[Json] = [one.id for one in parsed.messages if isinstance(one, Malformed) and one.id is not None]
    try:
        value = loads(frame)
    except (JsonProblem, LimitExceeded):
        return guessed
    items = cast("list[Json]", value) if isinstance(value, list) else [value]
    found = [cast("dict[str, Json]", item)["id"] for item in items if isinstance(item, dict) and "id" in item]
    return [*guessed, *(identity for identity in found if identity is not None)]
