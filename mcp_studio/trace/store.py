"""The trace: every frame, HTTP exchange, stderr and stray line of every server, bounded and in order."""

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
"""Bodies with more bytes are redacted beside the event loop."""
_BLOCK = 200
"""Entries of one block in memory."""
_OVERHEAD = 200
"""Bytes that an entry costs besides its body."""
_EVERY = 0.15
"""Seconds after which what is new goes to the disk; with writing it, a quarter second at the most can be lost."""
_AT_FIRST = 0.01
"""The same for what comes first: what writing needs is got ready while the first server is starting."""
_MOMENT = 0.02
"""Seconds for which everything may be stopped at the end."""
_BATCH = 96 * 1024
"""Bytes after which it goes at once: as little as never holds the event loop for long."""
_ENTRY = 100
_ENTRIES, _BYTES = 2_000, 8 << 20
"""What stays in memory although it is on disk."""
_MOST = 128 << 20
"""Bytes that wait in memory for a disk that does not answer: twice of what `disk.writer.Writer` takes."""
_SMALL = 4_096
"""Bytes of a body that may as well stay with whoever holds its entry."""
_INDEX = 2_000_000
"""Entries whose columns are kept; older ones are on disk alone."""
_FORGOTTEN = 1 << 17
"""As many are forgotten at once."""
_PATIENCE = 0.3
"""Seconds before a large body is redacted: the result in it is shown first, which needs the interpreter too."""
_TRIMMED = 2_000
"""Rows of dropped entries that the columns may still have: cutting them copies the rest."""


class LiveReader:
    """Implements `message.Reader` over entries in memory, and what a disk has of those before them.

    Args:
        first: the number of the first entry in memory.
        entries: from that one on.
        older: reads the disk, which may have more than the trace; None where nothing is there.
    """

    def __init__(self, first: int, entries: Sequence[WireMessage], older: Reader | None = None) -> None:
        self._first, self._entries, self._older = first, entries, older

    def blocks(self, below: int) -> Iterator[Block]:
        """All bodies of entries with numbers under `below`, the newest block first."""
        stop = min(max(0, below - self._first), len(self._entries))
        while stop > 0:
            start = max(0, stop - _BLOCK)
            yield Block(self._first + start, [entry.body for entry in self._entries[start:stop]])
            stop = start
        if self._older is not None:
            yield from self._older.blocks(min(below, self._first))

    def body(self, number: int) -> bytes:
        """The body of one entry; empty where it is not kept any more."""
        place = number - self._first
        if 0 <= place < len(self._entries):
            return self._entries[place].body
        return b"" if self._older is None else self._older.body(number)

    def findings(self, number: int) -> tuple[Finding, ...]:
        """What the lint says about one entry."""
        place = number - self._first
        if 0 <= place < len(self._entries):
            return self._entries[place].findings
        return () if self._older is None else self._older.findings(number)

    def close(self) -> None:
        """No more reading."""
        if self._older is not None:
            self._older.close()


class Window:
    """The newest entries, numbered without gaps, and what they cost."""

    def __init__(self) -> None:
        self.entries: dict[int, WireMessage] = {}
        self.oldest = 1
        """The number of the first of them; while there is none, of the next one."""
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, entry: WireMessage) -> None:
        """Another one."""
        self.entries[entry.number] = entry
        self.bytes += entry.size + _OVERHEAD

    def pop(self) -> WireMessage:
        """Take the oldest one out."""
        entry = self.entries.pop(self.oldest)
        self.oldest += 1
        self.bytes -= entry.size + _OVERHEAD
        return entry

    def since(self, first: int) -> list[WireMessage]:
        """From the entry with a number on."""
        return [self.entries[number] for number in range(first, self.oldest + len(self.entries))]


class TraceStore:
    """Implements `message.Recording` for what is going on.

    With a disk all entries are kept there, the newest also in memory. Without one, or once it has failed, entries are
    in memory up to a number and a size; the oldest go first.

    Readers look at `total`, which only grows, or `revision`; index 0 is the entry with the number `first_number`.
    """

    def __init__(self, redactor: Redactor, limits: Limits = DEFAULT, disk: Writer | None = None) -> None:
        self._redactor = redactor
        self._limits = limits
        self._window = Window()
        self._comments: dict[int, str] = {}
        self._redacting: dict[int, asyncio.Future[bytes]] = {}
        self._closing = threading.Event()
        self._capture = Capture(Columns(), noted=disk is not None)
        self._disk = disk
        self._disk_reader: DiskReader | None = None
        self._writing = disk is not None
        self._timer: asyncio.TimerHandle | None = None
        self._pending = 0
        self._maker = EntryMaker(lambda: self.columns, self._body, self._findings, self._window.entries.get)
        self.first_number = 1
        """The number of the oldest entry still kept."""
        self.total = 0
        """The number of the newest entry."""
        self.revision = 0
        """Changes with every entry and every answer."""
        self._ledgers: dict[str, Ledger] = {}
        self.wronged: Signal[str] = Signal()
        """The server on which the lint has found its first error or warning, or that has printed a stray line."""
        self.changed: Signal[None] = Signal()
        """Something has come or is another than it was: emitted a moment after the first of many changes."""
        self.troubled: Signal[str] = Signal()
        """Emitted once, with a sentence, when nothing is kept on disk any more."""

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
        """What is known of every entry kept, up to this moment."""
        self._capture.columns.trim(self.first_number)
        return self._capture.columns

    @property
    def problem(self) -> str:
        """What is not kept on disk, and why, in a sentence; empty where all is, or nothing is meant to be."""
        if self._disk is None:
            return ""
        lost = self._disk.lost
        many = f"{lost:,} messages are" if lost > 1 else "One message is"
        return self._disk.failed or (f"The disk is slow: {many} kept without content." if lost else "")

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number, its span with it; None when it is not kept."""
        entry = self._window.entries.get(number)
        if entry is None and self.first_number <= number <= self.total:
            entry = self._maker.entry(number)
        return entry

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body, also of what is large and on disk, without blocking the event loop."""
        if (redacting := self._redacting.get(entry.number)) is not None:
            await asyncio.wait((redacting,))
        return entry.held if isinstance(entry.held, bytes) else await asyncio.to_thread(entry.held)

    def reader(self) -> Reader:
        """For another thread; made on the event loop, it knows all entries up to that moment."""
        first, older = self._window.oldest, None
        if self._disk is not None:
            first = max(first, self._disk.written + 1)
            older = DiskReader(self._disk.path) if self._disk.path is not None else None
        return LiveReader(first, self._window.since(first), older)

    def mark(self, number: int, on: bool) -> None:
        """Mark an entry, or no longer."""
        self._flag(number, bits.MARKED, on)

    def comment(self, number: int, text: str) -> None:
        """Keep a comment on an entry, without secrets; empty removes it."""
        if self._flag(number, bits.COMMENTED, bool(text)):
            self._comments[number] = self._redactor.text(text)
            if not text:
                del self._comments[number]
            self._capture.note(number, "comment", self._comments.get(number))

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or nothing."""
        return self._comments.get(number, "")

    # ------------------------------------------------------------------ writing

    def add(
        self, server: str, direction: Direction, kind: MessageKind, body: bytes, method: str = "", target: str = "",
        identity: RequestId | None = None, *, exchange: int = 0, probe: bool = False,
    ) -> WireMessage:  # fmt: skip
        """Redact, number and keep one entry. The body of a large one is empty until it is redacted.

        Whoever changes the entry afterwards calls `revised`.
        """
        size = len(body)
        if self._pending and self._pending + size > _BATCH:
            self.flush()  # what came before is as it will be
        self._pending += size + _ENTRY
        if self._timer is None:
            self._wake()
        self.total += 1
        self.revision += 1
        clean = self._redactor.bytes(body) if size <= LARGE else b""
        if target and clean is not body:  # it stands in the body: where nothing of that was secret, it is not either
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
        """Something of an entry has changed since it was added, other than by the methods below."""
        self._capture.update(entry)
        self._changed(entry.number)

    def judged(self, entry: WireMessage) -> None:
        """The lint has found something on an entry."""
        self._capture.findings(entry)
        self._changed(0)

    def opened(self, request: WireMessage, parent: Span | None = None) -> Span:
        """Begin the span of a request; `revised` where that was not added as one, or comes under another."""
        span = Span(
            request.number, request.server, request.direction, request.method, request.target, request, parent=parent
        )
        request.span = span
        if parent is not None and request.direction == "in" and not parent.asked:
            parent.asked = True
            self.revised(parent.request)
        return span

    def settled(self, span: Span, response: WireMessage, outcome: Outcome) -> None:
        """Put the answer into its span."""
        span.response, span.outcome = response, outcome
        response.span, response.method, response.target = span, span.method, span.target
        response.probe |= span.request.probe
        self.revised(span.request)
        self.revised(response)

    def gave_up(self, span: Span, outcome: Outcome) -> None:
        """Nobody waits for the answer of a span any more."""
        span.outcome = outcome
        self.revised(span.request)

    def begin(self, method: str, target: str, params: Json, parent: Span | None = None) -> Span:
        """Begin the span of what crosses no wire, such as a step of a workflow: its entries have no direction."""
        body, target = dumps({"method": method, "params": params}), self._redactor.text(target)
        span = self.opened(self.add("", "none", "request", body, method, target), parent)
        self.revised(span.request)
        return span

    def end(self, span: Span, outcome: Outcome, answer: Json) -> None:
        """End such a span; `answer` has `result` or `error`."""
        self.settled(span, self.add("", "none", "error" if outcome == "error" else "result", dumps(answer)), outcome)

    def ledger(self, server: str) -> Ledger:
        """What the lint has found on a server."""
        known = self._ledgers.get(server)
        if known is None:
            known = self._ledgers[server] = Ledger(partial(self.wronged.emit, server))
        return known

    async def examine(self, server: str) -> None:
        """Check the newest messages of a server more closely, some of each kind; see `ledger` for what is found."""
        newest_first = (self[index] for index in range(len(self) - 1, -1, -1))
        await self.look(typical(newest_first, server))

    async def look(self, entries: Iterable[WireMessage]) -> None:
        """Check these messages more closely; what is found is on them afterwards."""
        for entry in await examine(entries, self.ledger):
            self.judged(entry)

    def flush(self) -> None:
        """Hand over what is not on disk yet."""
        self._pending = 0
        if self._disk is None or not self._writing:
            return
        if self._disk.failed:
            self._fail(self._disk.failed)
            return
        self._hand_over(self._disk)
        self._let_go(self._disk)

    async def close(self, timeout: float = 2.0) -> None:
        """Write what is not on disk yet, in a bounded time."""
        self._closing.set()
        if self._disk is None:
            return
        if self._redacting:
            await asyncio.wait(tuple(self._redacting.values()), timeout=timeout)
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
        # Most often there is next to nothing left: a thread to wait in would take longer to start.
        if not self._disk.close(min(timeout, _MOMENT)) and not self._disk.failed:
            await asyncio.to_thread(self._disk.close, timeout)
        if self._disk.failed and self._writing:
            self._fail(self._disk.failed)
        self._writing = False
        if self._disk_reader is not None:
            self._disk_reader.close()

    # ------------------------------------------------------------------ inside

    def _redact(self, entry: WireMessage, body: bytes) -> None:
        """Redact a large body beside the event loop, where there is one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            entry.body = self._redactor.bytes(body)
            return
        future = self._redacting[entry.number] = loop.run_in_executor(None, self._without_secrets, body)
        future.add_done_callback(partial(self._redacted, entry))

    def _without_secrets(self, body: bytes) -> bytes:
        self._closing.wait(_PATIENCE)
        return self._redactor.bytes(body)

    def _redacted(self, entry: WireMessage, future: asyncio.Future[bytes]) -> None:
        del self._redacting[entry.number]
        if not future.cancelled():
            entry.body = future.result()
            self.revised(entry)

    def _body(self, number: int) -> bytes:
        """A body from the disk, in any thread; b"" where there is none."""
        reader = self._opened()
        return b"" if reader is None else reader.body(number)

    def _findings(self, number: int) -> tuple[Finding, ...]:
        reader = self._opened()
        return () if reader is None else reader.findings(number)

    def _opened(self) -> DiskReader | None:
        if self._disk_reader is None and self._disk is not None and self._disk.path is not None:
            self._disk_reader = DiskReader(self._disk.path)
        return self._disk_reader

    def _changed(self, number: int) -> None:
        self.revision += 1
        if 0 < number < self._window.oldest:
            self._maker.forget()
        if self._timer is None:
            self._wake()

    def _wake(self) -> None:
        """Something has changed: it is told, and goes to the disk, soon."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # it goes with what comes, or at the end
        at_first = self._writing and not self._capture.handed
        self._timer = loop.call_later(_AT_FIRST if at_first else _EVERY, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self.flush()
        if self._writing and self._disk is not None and self._disk.written < self._capture.handed:
            self._wake()
        self.changed.emit(None)

    def _hand_over(self, disk: Writer) -> None:
        """Give the disk what it has not got yet, in batches of bounded size."""
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
        """What is on disk leaves the memory, once newer entries have taken its place."""
        window, handed = self._window, self._capture.handed
        while len(window) > _ENTRIES or window.bytes > _BYTES:
            if window.oldest > (handed if window.bytes > _MOST else min(disk.written, handed)):
                break
            entry = window.pop()
            if entry.size > _SMALL:  # others may hold it still
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
        """Entries before this number are not kept any more."""
        self.first_number = max(self.first_number, min(first, self.total + 1))
        while self._window.oldest < self.first_number and len(self._window):
            self._window.pop()
        self._capture.columns.trim(self.first_number)
        for number in [number for number in self._comments if number < self.first_number]:
            del self._comments[number]
        self.revision += 1

    def _fail(self, why: str) -> None:
        """The disk is full, or does not take anything: the trace goes on in memory."""
        self._writing = False
        self._capture.stop()
        self.revision += 1
        self.troubled.emit(why)

    def _flag(self, number: int, bit: int, on: bool) -> bool:
        if not self.columns.first <= number <= self.total:
            return False
        self._capture.flag(number, bit, on)
        self._changed(0)
        return True


def disk_for(folder: Path, settings: Settings, origin: str) -> Writer | None:
    """Where sessions are recorded; None where that is not wanted, or nobody is named whose session it is."""
    if not (settings.record and origin):
        return None
    return Writer(folder, origin, max_bytes=settings.record_bytes, max_age=settings.record_age)
