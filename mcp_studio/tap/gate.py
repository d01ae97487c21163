"""Holds or changes passing messages: breakpoints for a person, and faults by rules."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, get_args

from mcp_studio.config.model import Problem
from mcp_studio.config.table import Table, read_file
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps, items_of, loads_or, mapping
from mcp_studio.limits import MB
from mcp_studio.protocol.events import RequestId
from mcp_studio.protocol.message import Request, parse
from mcp_studio.protocol.versions import INTERNAL_ERROR
from mcp_studio.redact import Redactor
from mcp_studio.trace.message import GREETINGS, WireMessage
from mcp_studio.trace.query.parser import parse as parse_query
from mcp_studio.trace.query.terms import Query
from mcp_studio.trace.search import fits
from mcp_studio.trace.store import TraceStore

MOST_HELD, MOST_BYTES = 100, 64 * MB
"""The most messages that are held at a time, and their bytes; further messages pass."""
HOLD = 20.0
"""Seconds until a held message passes without a decision. A request and its answer may both be held, and clients give
up a call after 60 seconds."""


Note = Callable[[str], None]
"""Records a sentence in the trace."""
_HANDSHAKE = (*GREETINGS, "notifications/initialized")
LONGEST = 3_600
"""The most seconds that a message may be delayed."""
FaultKind = Literal["delay", "error", "drop", "cut"]
Action = Literal["release", "drop", "answer", "cut"]


class Decision(NamedTuple):
    """What happens to a message."""

    action: Action = "release"
    frame: bytes = b""
    """The frame that replaces the message, or answers it; empty for the unchanged message."""
    delay: float = 0.0
    """Seconds to wait first."""


class HeldMessage(NamedTuple):
    """A message that waits for a person's decision."""

    number: int
    """The number of its entry in the trace."""
    query: str
    """The breakpoint that matches it."""
    since: float
    until: float
    """When the message passes without a decision; epoch seconds, like `since`."""


class _HeldMessage(NamedTuple):
    waiting: HeldMessage
    frame: bytes
    """The unchanged frame, with its secrets."""
    decision: asyncio.Future[Decision]


_DEFAULTS: dict[FaultKind, float] = {"delay": 1.0, "error": float(INTERNAL_ERROR), "drop": 0.0, "cut": 0.0}
"""The value of a fault that names none: seconds, or the error's code."""


class Fault(NamedTuple):
    """A rule that delays, answers or drops messages, or cuts the connection."""

    kind: FaultKind
    value: float
    """Seconds, or the error's code."""
    rate: float
    """The share of matching messages that the fault affects, from 0 to 1."""
    query: Query
    text: str
    """The rule as the person wrote it."""

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Parse a rule: `KIND[=VALUE][@RATE] [QUERY]`, such as `delay=0.5@0.1 tool:search`.

        Raises:
            UsageError: the text is no rule.
        """
        head, _, query = text.strip().partition(" ")
        what, _, rate = head.partition("@")
        word, _, value = what.partition("=")
        if kind := next((one for one in get_args(FaultKind) if one == word), None):
            with suppress(ValueError):
                fault = cls(kind, float(value or _DEFAULTS[kind]), float(rate or 1), parse_query(query), text.strip())
                most = LONGEST if kind == "delay" else 0
                if 0 <= fault.rate <= 1 and (fault.value.is_integer() if kind == "error" else 0 <= fault.value <= most):
                    return fault
        hint = "KIND[=VALUE][@RATE] [QUERY]: delay=SECONDS, error=CODE, drop or cut, at a rate from 0 to 1."
        raise UsageError(f"`{text}` is no fault.", hint=hint)

    def decision(self, frame: bytes) -> Decision | None:
        """What happens to a message; None if the fault cannot apply to it."""
        if self.kind == "error":
            why, identity = "a fault of the tap", id_of(frame)
            return None if identity is None else Decision("answer", error_answer(identity, why, int(self.value)))
        return Decision(delay=self.value) if self.kind == "delay" else Decision(self.kind)


def faults_in(file: Path) -> list[Fault]:
    """The rules in the `[[fault]]` tables of a file: `kind`, `value`, `rate` and `query`.

    Raises:
        UsageError: the file cannot be read, or contains something else.
    """
    problems, texts = list[Problem](), list[str]()
    document = read_file(file.expanduser(), problems, required=True)
    table = Table(document.values if document else {}, str(file), "", problems)
    for row in table.rows("fault"):
        signs = zip(("", "=", "@", " "), map(row.take, ("kind", "value", "rate", "query")), strict=True)
        texts.append("".join(f"{sign}{part}" for sign, part in signs if part is not None))
        row.refuse_rest()
    table.refuse_rest()
    if problems:
        raise UsageError(str(problems[0]))
    return [Fault.parse(text) for text in texts]


def error_answer(identity: RequestId, why: str, code: int = INTERNAL_ERROR) -> bytes:
    """The frame that answers a request with an error."""
    error: dict[str, Json] = {"code": code, "message": why}
    return dumps({"jsonrpc": "2.0", "id": identity, "error": error})


def id_of(frame: bytes) -> RequestId | None:
    """The id of a request; None for any other frame."""
    messages = parse(frame).messages
    return messages[0].id if len(messages) == 1 and isinstance(messages[0], Request) else None


class Gate:
    """Judges passing messages. An open gate lets all messages pass without a look at them.

    Args:
        redactor: masks secrets for the person; the gate restores them in the parts that the person has not changed.
        faults: the rules; the first one that applies counts.
        seed: with the same seed, the same messages meet the same faults.
        patience: seconds until a held message passes without a decision.
    """

    def __init__(
        self, redactor: Redactor, faults: Sequence[Fault] = (), seed: str = "", patience: float = HOLD
    ) -> None:
        self._redactor, self._patience = redactor, patience
        self._faults = [(one, {way: Random(f"{seed} {place} {way}") for way in ("in", "out")})
                        for place, one in enumerate(faults)]  # fmt: skip
        self._queries: tuple[Query, ...] = ()
        self.closed = bool(faults)
        """Whether messages have to be judged."""
        self._closing = asyncio.Event()
        self._held: dict[int, _HeldMessage] = {}

    @property
    def breakpoints(self) -> tuple[str, ...]:
        """The queries whose messages are held."""
        return tuple(query.text for query in self._queries)

    @property
    def waiting(self) -> list[HeldMessage]:
        """The held messages, oldest first."""
        return [message.waiting for message in self._held.values()]

    def set(self, breakpoints: Iterable[str]) -> None:
        """Hold the messages that match these queries from now on; no queries release all held messages.

        A message of the handshake is held only by a query that names its method: otherwise no server could connect.

        Raises:
            QueryError: a query is invalid.
        """
        self._queries = tuple(parse_query(text) for text in breakpoints)
        self.closed = bool(self._faults or self._queries)
        if not self._queries:
            self._release()

    def open(self) -> None:
        """Release all messages and end all delays, because the connection ends."""
        self._closing.set()
        self._release()

    def _release(self) -> None:
        for message in self._held.values():
            if not message.decision.done():
                message.decision.set_result(Decision())

    def decide(self, number: int, decision: Decision) -> bool:
        """Decide about a held message; False if it is not held any more."""
        message = self._held.get(number)
        if message is None or message.decision.done():
            return False
        if decision.action == "release" and (edited := loads_or(decision.frame, exact=True)) is not None:
            view, real = (loads_or(frame, exact=True) for frame in (self._redactor.bytes(message.frame), message.frame))
            decision = decision._replace(frame=b"" if edited == view else dumps(_restored(edited, view, real)))
        message.decision.set_result(decision)
        return True

    def catch(self, store: TraceStore, entry: WireMessage, frame: bytes, note: Note) -> Awaitable[Decision] | None:
        """Return the decision about a message that was just recorded, and note it; None if the message passes."""
        way = "→" if entry.direction == "out" else "←"
        label = " ".join(filter(None, (way, entry.kind, entry.method, entry.target)))
        for one, chances in self._faults:
            if fits(store, entry, one.query) and chances[entry.direction].random() < one.rate:
                if (decision := one.decision(frame)) is not None:
                    note(f"{label} meets the fault {one.text}")
                    return self._due(decision)
        queries = [one for one in self._queries if entry.method not in _HANDSHAKE or entry.method in one.text]
        query = next((one for one in queries if fits(store, entry, one)), None)
        if query is None or self._closing.is_set():
            return None
        if len(self._held) >= MOST_HELD or sum(len(message.frame) for message in self._held.values()) > MOST_BYTES:
            note(f"{label} went on: too much is held already")
            return None
        now = time.time()
        waiting = HeldMessage(entry.number, query.text, now, now + self._patience)
        message = self._held[entry.number] = _HeldMessage(waiting, frame, asyncio.get_running_loop().create_future())
        note(f"{label} is held: {query.text}")
        return self._hold(message, note, label)

    async def _hold(self, held: _HeldMessage, note: Note, label: str) -> Decision:
        try:
            await asyncio.wait((held.decision,), timeout=self._patience)
            decision = await self._due(held.decision.result() if held.decision.done() else Decision())
        finally:
            del self._held[held.waiting.number]
        verbs = {"release": "went on", "drop": "was dropped", "answer": "was answered here", "cut": "ended it all"}
        after = f" after {time.time() - held.waiting.since:.1f} s"
        content = f": {decision.frame.decode('utf-8', 'replace')}" if decision.frame else ""
        note(f"{label} {verbs[decision.action]}{after}{content}")
        return decision

    async def _due(self, decision: Decision) -> Decision:
        """Return a decision after its delay."""
        if decision.delay > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), decision.delay)
        return decision


def _restored(edited: Json, shown: Json, real: Json) -> Json:
    """A message as the person edited it, with the masked secrets restored."""
    if edited == shown:
        return real
    if isinstance(edited, dict):
        masked, original = mapping(shown), mapping(real)
        return {key: _restored(value, masked.get(key), original.get(key)) for key, value in edited.items()}
    rows = items_of(edited), items_of(shown), items_of(real)
    if rows[0] and len(rows[0]) == len(rows[1]):
        return [_restored(*items) for items in zip(*rows, strict=True)]
    return edited
