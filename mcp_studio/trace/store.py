"""The trace: every frame, HTTP exchange, stderr and stray line of every server, bounded and in order."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from functools import partial

from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.redact import Redactor
from mcp_studio.signal import Signal
from mcp_studio.trace.lint.examine import Examiner, typical
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.message import Direction, MessageKind, Span, WireMessage

_COMPACT = 4_096
_DURATIONS = 1_000
_LARGE = 1 << 20
"""Larger bodies are redacted in a thread, so that the event loop goes on."""
_OVERHEAD = 200
"""Bytes that an entry costs besides its body."""
_GONE = WireMessage(0, 0.0, "", "none", "note", b"", 0)
"""Stands where an entry was dropped, until the list is compacted: nothing else may keep the entry alive."""
_GREETINGS = frozenset({"initialize", "server/discover", "subscriptions/listen"})
"""Requests whose time says how long a server takes to start, or stays open, not how long it takes to answer."""
_PATIENCE = 0.3
"""Seconds before a large body is redacted: the result in it is shown first, which needs the interpreter too."""


class TraceStore:
    """Entries in memory up to a number and a size; the oldest go first and are counted in `dropped`.

    Readers poll `total`, which only grows; index 0 is the entry with the number `first_number`.
    """

    def __init__(self, redactor: Redactor, limits: Limits = DEFAULT) -> None:
        self._redactor = redactor
        self._limits = limits
        self._entries: list[WireMessage] = []
        self._start = 0
        self._bytes = 0
        self.total = 0
        self.revision = 0
        """Changes with every entry and every answer."""
        self.durations: deque[float] = deque(maxlen=_DURATIONS)
        """Milliseconds of the newest answered requests of ours; handshakes and waiting for a person do not count."""
        self._ledgers: dict[str, Ledger] = {}
        self.wronged: Signal[str] = Signal()
        """The server on which the lint has found its first error or warning."""
        self.examiner = Examiner(self.ledger, self._revised)
        """Checks messages more closely when somebody looks at them."""

    def __len__(self) -> int:
        return len(self._entries) - self._start

    def __getitem__(self, index: int) -> WireMessage:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._entries[self._start + index]

    def __iter__(self) -> Iterator[WireMessage]:
        for index in range(self._start, len(self._entries)):
            yield self._entries[index]

    @property
    def dropped(self) -> int:
        """Entries that had to go."""
        return self.total - len(self)

    @property
    def first_number(self) -> int:
        """The number of the oldest entry still kept."""
        return self.dropped + 1

    def add(
        self, server: str, direction: Direction, kind: MessageKind, body: bytes, *, exchange: int = 0
    ) -> WireMessage:
        """Redact, number and keep one entry. The body of a large one is empty until it is redacted."""
        self.total += 1
        self.revision += 1
        clean = self._redactor.bytes(body) if len(body) <= _LARGE else b""
        entry = WireMessage(self.total, time.time(), server, direction, kind, clean, len(body), exchange=exchange)
        if len(body) > _LARGE:
            self._redact_later(entry, body)
        self._entries.append(entry)
        self._bytes += entry.size + _OVERHEAD
        while len(self) > 1 and (len(self) > self._limits.trace_entries or self._bytes > self._limits.trace_bytes):
            self._drop()
        return entry

    def opened(self, request: WireMessage, parent: Span | None = None) -> Span:
        """Begin the span of a request."""
        span = Span(
            request.number, request.server, request.direction, request.method, request.target, request, parent=parent
        )
        request.span = span
        if parent is not None:
            parent.asked = True
        return span

    def settled(self, span: Span, response: WireMessage, failed: bool) -> None:
        """Put the answer into its span."""
        self.revision += 1
        span.response = response
        span.outcome = "error" if failed else "ok"
        response.span, response.method, response.target = span, span.method, span.target
        if span.direction == "out" and span.ms is not None and not span.asked and span.method not in _GREETINGS:
            self.durations.append(span.ms)

    def ledger(self, server: str) -> Ledger:
        """What the lint has found on a server."""
        known = self._ledgers.get(server)
        if known is None:
            known = self._ledgers[server] = Ledger(partial(self.wronged.emit, server))
        return known

    async def examine(self, server: str) -> None:
        """Check the newest messages of a server more closely, some of each kind; see `ledger` for what is found."""
        newest_first = (self[index] for index in range(len(self) - 1, -1, -1))
        await self.examiner.look(typical(newest_first, server))

    def percentile(self, share: float) -> float | None:
        """The duration in milliseconds that this share of the newest requests stayed under; None without any."""
        if not self.durations:
            return None
        ordered = sorted(self.durations)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def clear(self) -> None:
        """Forget all entries; numbers go on."""
        self._entries, self._start, self._bytes = [], 0, 0
        self.revision += 1

    def _revised(self) -> None:
        self.revision += 1

    def _redact_later(self, entry: WireMessage, body: bytes) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            entry.body = self._redactor.bytes(body)
            return
        loop.call_later(_PATIENCE, self._redact_beside, entry, body)

    def _redact_beside(self, entry: WireMessage, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, self._redactor.bytes, body).add_done_callback(partial(self._redacted, entry))

    def _redacted(self, entry: WireMessage, future: asyncio.Future[bytes]) -> None:
        if not future.cancelled():
            entry.body = future.result()
            self.revision += 1

    def _drop(self) -> None:
        self._bytes -= self._entries[self._start].size + _OVERHEAD
        self._entries[self._start] = _GONE
        self._start += 1
        if self._start >= _COMPACT:
            del self._entries[: self._start]
            self._start = 0
