"""Messages on their way that something happens to: breakpoints for a person, faults by a rule."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from random import Random
from typing import Literal, NamedTuple

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import MB
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.message import Request, parse
from mcp_studio.protocol.versions import INTERNAL_ERROR
from mcp_studio.record import record
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.query.parser import parse as parse_query
from mcp_studio.trace.query.terms import Query
from mcp_studio.trace.search import scan_some, take
from mcp_studio.trace.store import LiveReader, TraceStore

MOST_HELD, MOST_BYTES = 100, 64 * MB
"""Messages that are held at a time, and their bytes; further ones go on."""
HOLD = 30.0
"""Seconds for which a message is held unless a person decides: clients give up a call after 60."""


class Decision(NamedTuple):
    """What becomes of a message."""

    action: Literal["release", "drop", "answer", "cut"] = "release"
    frame: bytes = b""
    """What goes on in its place, or answers it; empty for the message as it is."""
    delay: float = 0.0
    """Seconds until then."""


@record()
class Held:
    """A message that waits for a person."""

    entry: WireMessage
    frame: bytes
    """As it came, with its secrets."""
    query: str
    """The breakpoint."""
    since: float
    until: float
    """When it goes on by itself; seconds since the epoch, as `since`."""
    decision: asyncio.Future[Decision]


class Fault(NamedTuple):
    """A rule that harms messages."""

    kind: str
    value: float
    rate: float
    query: Query
    text: str


_KINDS = {"delay": 1.0, "error": float(INTERNAL_ERROR), "drop": 0.0, "cut": 0.0}
"""Kinds of faults, and the values that they have without one: seconds, the code of an error."""


def fault(text: str) -> Fault:
    """A rule as it is written: `KIND[=VALUE][@RATE] [QUERY]`, such as `delay=0.5@0.1 tool:search`.

    Raises:
        UsageError: it is none.
    """
    head, _, query = text.strip().partition(" ")
    what, _, rate = head.partition("@")
    kind, _, value = what.partition("=")
    with suppress(ValueError):
        made = Fault(kind, float(value or _KINDS.get(kind, 0)), float(rate or 1), parse_query(query), text.strip())
        if kind in _KINDS and 0 <= made.rate <= 1 and (kind == "error" or 0 <= made.value <= 3_600):
            return made
    hint = "KIND[=VALUE][@RATE] [QUERY]: delay=SECONDS, error=CODE, drop or cut, at a rate from 0 to 1."
    raise UsageError(f"`{text}` is no fault.", hint=hint)


def error_answer(identity: RequestId, why: str, code: int = INTERNAL_ERROR) -> bytes:
    """The frame that refuses a request."""
    error: dict[str, Json] = {"code": code, "message": why}
    return dumps({"jsonrpc": "2.0", "id": identity, "error": error})


def id_of(frame: bytes) -> RequestId | None:
    """The id of a request; None for a frame that is none."""
    messages = parse(frame).messages
    return messages[0].id if len(messages) == 1 and isinstance(messages[0], Request) else None


class Gate:
    """Judges messages on their way; open, it lets all of them through unseen.

    Args:
        note: puts what was done to a message into the trace.
        faults: the first that strikes counts.
        seed: the same messages meet the same faults again.
        patience: seconds for which a message is held.
    """

    def __init__(
        self,
        note: Callable[[str], None],
        faults: Sequence[Fault] = (),
        seed: str = "",
        patience: float = HOLD,
    ) -> None:
        self._note = note
        self._faults = [(one, {way: Random(f"{seed} {place} {way}") for way in ("in", "out")})
                        for place, one in enumerate(faults)]  # fmt: skip
        self._patience = patience
        self._queries: tuple[Query, ...] = ()
        self._leaving = asyncio.Event()
        self.held: dict[int, Held] = {}
        """By the numbers of their entries."""

    @property
    def closed(self) -> bool:
        """Whether messages have to be judged."""
        return bool(self._faults or self._queries)

    @property
    def breakpoints(self) -> tuple[str, ...]:
        """The queries whose messages are held."""
        return tuple(query.text for query in self._queries)

    def set(self, breakpoints: Iterable[str]) -> None:
        """Hold the messages of these queries from now on; without any, what is held goes on.

        Raises:
            QueryError: one is none.
        """
        self._queries = tuple(parse_query(text) for text in breakpoints)
        if not self._queries:
            self._release()

    def open(self) -> None:
        """The connection ends: nothing waits any longer."""
        self._leaving.set()
        self._release()

    def _release(self) -> None:
        for held in self.held.values():
            if not held.decision.done():
                held.decision.set_result(Decision())

    def decide(self, number: int, decision: Decision) -> bool:
        """What becomes of a message that is held; False where it is not any more."""
        held = self.held.get(number)
        if held is None or held.decision.done():
            return False
        held.decision.set_result(decision)
        return True

    def catch(self, store: TraceStore, entry: WireMessage, frame: bytes) -> Awaitable[Decision] | None:
        """What becomes of a message that was just recorded; None where it simply goes on."""
        for one, chances in self._faults:
            if _fits(store, entry, one.query) and chances[entry.direction].random() < one.rate:
                if one.kind == "error" and id_of(frame) is None:
                    continue
                return self._harm(one, entry, frame)
        query = next((one for one in self._queries if _fits(store, entry, one)), None)
        if query is None or len(self.held) >= MOST_HELD:
            return None
        if sum(len(held.frame) for held in self.held.values()) + len(frame) > MOST_BYTES:
            return None
        now = time.time()
        decision = asyncio.get_running_loop().create_future()
        held = self.held[entry.number] = Held(entry, frame, query.text, now, now + self._patience, decision)
        self._note(f"message {entry.number} is held by the breakpoint {query.text}")
        return self._hold(held)

    async def _harm(self, one: Fault, entry: WireMessage, frame: bytes) -> Decision:
        self._note(f"message {entry.number} meets the fault {one.text}")
        if one.kind == "delay":
            await self._sleep(one.value)
            return Decision()
        if one.kind == "error" and (identity := id_of(frame)) is not None:
            return Decision("answer", error_answer(identity, "a fault of the tap", int(one.value)))
        return Decision("cut" if one.kind == "cut" else "drop")

    async def _hold(self, held: Held) -> Decision:
        try:
            await asyncio.wait((held.decision,), timeout=self._patience)
            decision = held.decision.result() if held.decision.done() else Decision()
            await self._sleep(decision.delay)
        finally:
            del self.held[held.entry.number]
        told = {"release": "went on", "drop": "was dropped", "answer": "was answered here", "cut": "ended it all"}
        changed = f" as {decision.frame.decode('utf-8', 'replace')}" if decision.frame else ""
        after = f" after {time.time() - held.since:.1f} s"
        self._note(f"message {held.entry.number} {told[decision.action]}{after}{changed}")
        return decision

    async def _sleep(self, seconds: float) -> None:
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), seconds)


def _fits(store: TraceStore, entry: WireMessage, query: Query) -> bool:
    """Whether a query asks for an entry. A regex that comes to no end asks for nothing."""
    with suppress(StudioError):
        return any(part.numbers for part in scan_some(take(store), query, LiveReader(entry.number, [entry]), [entry.number]))
    return False
