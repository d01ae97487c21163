"""The trace: frames, HTTP exchanges, stderr and stray lines of all servers, bounded and in order."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from mcp_studio.config.model import Settings
from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.protocol.events import RequestId
from mcp_studio.redact import Redactor
from mcp_studio.signal import Signal
from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import Capture, EntryMaker
from mcp_studio.trace.disk.reader import DiskReader
from mcp_studio.trace.disk.writer import Writer
from mcp_studio.trace.lint.examiner import examine, typical
from mcp_studio.trace.lint.ledger import Ledger
from mcp_studio.trace.lint.rules import Finding
from mcp_studio.trace.message import Block, Columns, Direction, MessageKind, Outcome, Reader, Span, WireMessage

LARGE = 1 << 20
"""Bytes of the largest body that is redacted on the event loop."""
_BLOCK = 200
"""Entries of one block in memory."""
_OVERHEAD = 200
"""Bytes that count for an entry besides its body."""
_EVERY = 0.15
"""Seconds after which new entries go to the disk; with the writing, a quarter second at most can be lost."""
_AT_FIRST = 0.01
"""Seconds after which the first entries go to the disk, so that the writer starts while the first server starts."""
_MOMENT = 0.02
"""Seconds for which closing may block the event loop."""
_BATCH = 96 * 1024
"""Bytes after which entries go to the disk at once; handing over so few never blocks the event loop for long."""
_ENTRY = 100
_ENTRIES, _BYTES = 2_000, 8 << 20
"""The entries and bytes that stay in memory although they are on disk."""
_MOST = 128 << 20
"""Bytes that may wait in memory for a disk that does not answer: twice those that `disk.writer.Writer` takes."""
_SMALL = 4_096
"""Bytes of the largest body that stays with an entry whose holder may need it."""
_INDEX = 2_000_000
"""The most entries with columns in memory; older ones are only on disk."""
_FORGOTTEN = 1 << 17
"""The entries that are dropped at once."""
_PATIENCE = 0.3
"""Seconds before a large body is redacted: showing its result comes first, and needs the interpreter too."""
_TRIMMED = 2_000
"""Rows of dropped entries that the columns may keep, because trimming copies the rest."""


class LiveReader:
    """Implements `message.Reader` for entries in memory, and for earlier ones on disk.

    Args:
        first: the number of the first entry in memory.
        entries: the entries from that one on.
        older: reads the disk, which may have more entries; None without a disk.
    """

    def __init__(self, first: int, entries: Sequence[WireMessage], older: Reader | None = None) -> None:
        self._first, self._entries, self._older = first, entries, older

    def blocks(self, below: int) -> Iterator[Block]:
        """The bodies of all entries below a number, the newest block first."""
        stop = min(max(0, below - self._first), len(self._entries))
        while stop > 0:
            start = max(0, stop - _BLOCK)
            yield Block(self._first + start, [entry.body for entry in self._entries[start:stop]])
            stop = start
        if self._older is not None:
            yield from self._older.blocks(min(below, self._first))

    def body(self, number: int) -> bytes:
        """The body of an entry; empty where it is no longer kept."""
        place = number - self._first
        if 0 <= place < len(self._entries):
            return self._entries[place].body
        return b"" if self._older is None else self._older.body(number)

    def findings(self, number: int) -> tuple[Finding, ...]:
        place = number - self._first
        if 0 <= place < len(self._entries):
            return self._entries[place].findings
        return () if self._older is None else self._older.findings(number)

    def close(self) -> None:
        if self._older is not None:
            self._older.close()


class Window:
    """The newest entries, numbered without gaps, and their cost."""

    def __init__(self) -> None:
        self.entries: dict[int, WireMessage] = {}
        self.oldest = 1
        """The number of the oldest entry; if there is none, of the next one."""
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, entry: WireMessage) -> None:
        """Add the newest entry."""
        self.entries[entry.number] = entry
        self.bytes += entry.size + _OVERHEAD

    def pop(self) -> WireMessage:
        """Remove and return the oldest entry."""
        entry = self.entries.pop(self.oldest)
        self.oldest += 1
        self.bytes -= entry.size + _OVERHEAD
        return entry

    def since(self, first: int) -> list[WireMessage]:
        """The entries from a number on."""
        return [self.entries[number] for number in range(first, self.oldest + len(self.entries))]


class TraceStore:
    """Implements `message.Recording` for the running trace.

    With a disk, all entries are stored there, and the newest are in memory too. Without a disk, or after it failed,
    entries are in memory within bounds, and the oldest are dropped first. Readers watch `total`, which only grows, or
    `revision`; index 0 is the entry with the number `first_number`.
    """

    def __init__(self, redactor: Redactor, limits: Limits = DEFAULT, disk: Writer | None = None) -> None:
        self._redactor = redactor
        self._limits = limits
        self._window = Window()
        self._comments: dict[int, str] = {}
        self._redacting: dict[int, asyncio.Future[bytes]] = {}
        self._closing = threading.Event()
        self._capture = Capture(Columns(), tracks_changes=disk is not None)
        self._disk = disk
        self._disk_reader: DiskReader | None = None
        self._writing = disk is not None
        self._timer: asyncio.TimerHandle | None = None
        self._pending = 0
        self._maker = EntryMaker(lambda: self.columns, self._body, self._findings, self._window.entries.get)
        self.first_number = 1
        """The number of the oldest entry that is kept."""
        self.total = 0
        """The number of the newest entry."""
        self.revision = 0
        """A number that changes with every entry and every answer."""
        self._ledgers: dict[str, Ledger] = {}
        self.wronged: Signal[str] = Signal()
        """Emits a server when the lint has found its first error or warning, or when it has printed a stray line."""
        self.changed: Signal[None] = Signal()
        """Emitted a moment after the first of several changes."""
        self.troubled: Signal[str] = Signal()
        """Emitted once, with a sentence, when the disk no longer takes entries."""

    # ------------------------------------------------------------------ reading

    def __len__(self) -> int:
        return self.total - self.first_number + 1

    def __getitem__(self, index: int, /) -> WireMessage:
        entry = self.entry(self.first_number + index) if index >= 0 else None
        if entry is None:
            raise IndexError(index)
        return entry

    @property
    def columns(self) -> Columns:
        """The columns of all entries that are kept at this moment."""
        self._capture.columns.trim(self.first_number)
        return self._capture.columns

    @property
    def problem(self) -> str:
        """A sentence on what is missing on disk, and why; empty where nothing is, or no disk is used."""
        if self._disk is None:
            return ""
        lost = self._disk.lost
        many = f"{lost:,} messages are" if lost > 1 else "One message is"
        return self._disk.failed or (f"The disk is slow: {many} kept without content." if lost else "")

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number, with its span; None where it is not kept."""
        entry = self._window.entries.get(number)
        if entry is None and self.first_number <= number <= self.total:
            entry = self._maker.entry(number)
        return entry

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body, also a large one on disk, without blocking the event loop."""
        if (redacting := self._redacting.get(entry.number)) is not None:
            await asyncio.wait((redacting,))
        return entry.held if isinstance(entry.held, bytes) else await asyncio.to_thread(entry.held)

    def reader(self) -> Reader:
        """A reader for another thread; made on the event loop, it has all entries up to that moment."""
        first, older = self._window.oldest, None
        if self._disk is not None:
            first = max(first, self._disk.written + 1)
            older = DiskReader(self._disk.path) if self._disk.path is not None else None
        return LiveReader(first, self._window.since(first), older)

    def mark(self, number: int, on: bool) -> None:
        """Set or remove the mark of an entry."""
        self._flag(number, bits.MARKED, on)

    def comment(self, number: int, text: str) -> None:
        """Set the comment on an entry, without secrets; an empty one removes it."""
        if self._flag(number, bits.COMMENTED, bool(text)):
            self._comments[number] = self._redactor.text(text)
            if not text:
                del self._comments[number]
            self._capture.note(number, "comment", self._comments.get(number))

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or an empty text."""
        return self._comments.get(number, "")

    # ------------------------------------------------------------------ writing

    def add(
        self, server: str, direction: Direction, kind: MessageKind, body: bytes, method: str = "", target: str = "",
        identity: RequestId | None = None, *, exchange: int = 0, probe: bool = False,
    ) -> WireMessage:  # fmt: skip
        """Redact, number and store an entry. A large body stays empty until it is redacted.

        Callers that change the entry afterwards call `revised`.
        """
        size = len(body)
        if self._pending and self._pending + size > _BATCH:
            self.flush()  # earlier entries are complete by now
        self._pending += size + _ENTRY
        if self._timer is None:
            self._wake()
        self.total += 1
        self.revision += 1
        clean = self._redactor.bytes(body) if size <= LARGE else b""
        if target and clean is not body:  # the target is part of the body, so it needs redaction only if the body did
            target = self._redactor.text(target)
        entry = WireMessage(
            self.total, time.time(), server, direction, kind, clean, size, method, target, identity, exchange, probe
        )
        self._window.add(entry)
        self._capture.append(entry)
        if size > LARGE:
            self._redact(entry, body)
        if not self._writing:
            self._make_room()
        return entry

    def revised(self, entry: WireMessage) -> None:
        """Record that an entry has changed, except by the methods below."""
        self._capture.update(entry)
        self._on_change(entry.number)

    def judged(self, entry: WireMessage) -> None:
        """Record that the lint has findings on an entry."""
        self._capture.findings(entry)
        self._on_change(0)

    def opened(self, request: WireMessage, parent: Span | None = None) -> Span:
        """Begin the span of a request; callers call `revised` if the entry was no request before, or has a parent."""
        span = Span(
            request.number, request.server, request.direction, request.method, request.target, request, parent=parent
        )
        request.span = span
        if parent is not None and request.direction == "in" and not parent.asked:
            parent.asked = True
            self.revised(parent.request)
        return span

    def settled(self, span: Span, response: WireMessage, outcome: Outcome) -> None:
        """End a span with its answer."""
        span.response, span.outcome = response, outcome
        response.span, response.method, response.target = span, span.method, span.target
        response.probe |= span.request.probe
        self.revised(span.request)
        self.revised(response)

    def gave_up(self, span: Span, outcome: Outcome) -> None:
        """End a span without an answer, because nobody waits for it."""
        span.outcome = outcome
        self.revised(span.request)

    def begin(self, method: str, target: str, params: Json, parent: Span | None = None) -> Span:
        """Begin the span of an operation without wire messages, such as a step; its entries have no direction."""
        body, target = dumps({"method": method, "params": params}), self._redactor.text(target)
        span = self.opened(self.add("", "none", "request", body, method, target), parent)
        self.revised(span.request)
        return span

    def end(self, span: Span, outcome: Outcome, answer: Json) -> None:
        """End a span of `begin`; `answer` has `result` or `error`."""
        self.settled(span, self.add("", "none", "error" if outcome == "error" else "result", dumps(answer)), outcome)

    def ledger(self, server: str) -> Ledger:
        """The lint's findings on a server."""
        known = self._ledgers.get(server)
        if known is None:
            known = self._ledgers[server] = Ledger(partial(self.wronged.emit, server))
        return known

    async def examine(self, server: str) -> None:
        """Check the newest messages of a server closely, some of each kind; the findings are in its `ledger`."""
        newest_first = (self[index] for index in range(len(self) - 1, -1, -1))
        await self.look(typical(newest_first, server))

    async def look(self, entries: Iterable[WireMessage]) -> None:
        """Check these messages closely; the findings are attached to them."""
        for entry in await examine(entries, self.ledger):
            self.judged(entry)

    def flush(self) -> None:
        """Pass new entries to the disk."""
        self._pending = 0
        if self._disk is None or not self._writing:
            return
        if self._disk.failed:
            self._fail(self._disk.failed)
            return
        self._hand_over(self._disk)
        self._let_go(self._disk)

    async def close(self, timeout: float = 2.0) -> None:
        """Write new entries to the disk, in a bounded time."""
        self._closing.set()
        if self._disk is None:
            return
        if self._redacting:
            await asyncio.wait(tuple(self._redacting.values()), timeout=timeout)
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
        # Usually almost nothing is left, and a thread that waits would take longer to start.
        if not self._disk.close(min(timeout, _MOMENT)) and not self._disk.failed:
            await asyncio.to_thread(self._disk.close, timeout)
        if self._disk.failed and self._writing:
            self._fail(self._disk.failed)
        self._writing = False
        if self._disk_reader is not None:
            self._disk_reader.close()

    # ------------------------------------------------------------------ inside

    def _redact(self, entry: WireMessage, body: bytes) -> None:
        """Redact a large body in a thread; without an event loop, at once."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            entry.body = self._redactor.bytes(body)
            return
        future = self._redacting[entry.number] = loop.run_in_executor(None, self._without_secrets, body)
        future.add_done_callback(partial(self._take_redacted, entry))

    def _without_secrets(self, body: bytes) -> bytes:
        self._closing.wait(_PATIENCE)
        return self._redactor.bytes(body)

    def _take_redacted(self, entry: WireMessage, future: asyncio.Future[bytes]) -> None:
        del self._redacting[entry.number]
        if not future.cancelled():
            entry.body = future.result()
            self.revised(entry)

    def _body(self, number: int) -> bytes:
        """A body from the disk, in any thread; b"" where there is none."""
        reader = self._open_disk_reader()
        return b"" if reader is None else reader.body(number)

    def _findings(self, number: int) -> tuple[Finding, ...]:
        reader = self._open_disk_reader()
        return () if reader is None else reader.findings(number)

    def _open_disk_reader(self) -> DiskReader | None:
        if self._disk_reader is None and self._disk is not None and self._disk.path is not None:
            self._disk_reader = DiskReader(self._disk.path)
        return self._disk_reader

    def _on_change(self, number: int) -> None:
        self.revision += 1
        if 0 < number < self._window.oldest:
            self._maker.forget()
        if self._timer is None:
            self._wake()

    def _wake(self) -> None:
        """Schedule the signal `changed` and the next `flush`."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # the next entry or `close` will flush
        at_first = self._writing and not self._capture.handed
        self._timer = loop.call_later(_AT_FIRST if at_first else _EVERY, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self.flush()
        if self._writing and self._disk is not None and self._disk.written < self._capture.handed:
            self._wake()
        self.changed.emit(None)

    def _hand_over(self, disk: Writer) -> None:
        """Pass new entries to the disk, in batches of bounded size."""
        capture, entries = self._capture, self._window.entries
        news = capture.news()
        if news.names or news.extras or any(news.changes.values()):
            disk.put(news)
        last = min(self._redacting, default=capture.columns.first + len(capture.columns)) - 1
        bodies, size = list[bytes](), 0
        for number in range(capture.handed + 1, last + 1):
            bodies.append(entries[number].body)
            size += len(bodies[-1]) + _ENTRY
            if size >= _BATCH or number == last:
                disk.put(capture.rows(bodies))
                bodies, size = [], 0

    def _let_go(self, disk: Writer) -> None:
        """Release entries that are on disk once newer ones have filled the memory."""
        window, handed = self._window, self._capture.handed
        while len(window) > _ENTRIES or window.bytes > _BYTES:
            if window.oldest > (handed if window.bytes > _MOST else min(disk.written, handed)):
                break
            entry = window.pop()
            if entry.size > _SMALL:  # others may still hold the entry
                entry.held = partial(self._body, entry.number)
        columns = self._capture.columns
        if len(columns) > _INDEX:
            self._forget(columns.first + _FORGOTTEN)
        if disk.trimmed >= columns.first:
            self._forget(disk.trimmed + 1)

    def _make_room(self) -> None:
        window, limits = self._window, self._limits
        entries = window.entries
        while (len(entries) > limits.trace_entries or window.bytes > limits.trace_bytes) and len(entries) > 1:
            window.pop()
            self.first_number = window.oldest
        if self.first_number - self._capture.columns.first > _TRIMMED:
            self._capture.columns.trim(self.first_number)

    def _forget(self, first: int) -> None:
        """Drop the entries before a number."""
        self.first_number = max(self.first_number, min(first, self.total + 1))
        while self._window.oldest < self.first_number and len(self._window):
            self._window.pop()
        self._capture.columns.trim(self.first_number)
        for number in [number for number in self._comments if number < self.first_number]:
            del self._comments[number]
        self.revision += 1

    def _fail(self, why: str) -> None:
        """Continue in memory, because the disk is full or does not answer."""
        self._writing = False
        self._capture.stop()
        self.revision += 1
        self.troubled.emit(why)

    def _flag(self, number: int, bit: int, on: bool) -> bool:
        if not self.columns.first <= number <= self.total:
            return False
        self._capture.flag(number, bit, on)
        self._on_change(0)
        return True


def disk_for(folder: Path, settings: Settings, origin: str) -> Writer | None:
    """The writer that records sessions; None where recording is off, or no front end is named."""
    if not (settings.record and origin):
        return None
    return Writer(folder, origin, max_bytes=settings.record_bytes, max_age=settings.record_age)
