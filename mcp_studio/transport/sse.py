"""Server-sent events: parses bytes into events, in linear time and with bounds per event.

The format is that of the HTML standard, "Server-sent events": lines end in CR, LF or CRLF, a blank line ends an event,
and an event that the end of the stream cuts off is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcp_studio.limits import Limits
from mcp_studio.protocol.lines import Joiner, Line, LineSplitter, Oversize
from mcp_studio.record import record
from mcp_studio.transport.base import HEADER_VALUE

_BOM = b"\xef\xbb\xbf"
_LONGEST_ID = 4096
_DIGITS = re.compile(rb"[0-9]{1,9}")


@record(frozen=True)
class SseEvent:
    """One event that carries data; events without data only move the cursor."""

    data: Line
    """The `data` lines, joined by newlines; of an event that exceeds the limit only its beginning and end."""
    kind: str = "message"
    """The `event` field."""


@record()
class Cursor:
    """How far a stream was read, which resuming it requires."""

    last_id: str = ""
    """The id of the newest complete event, for `Last-Event-ID`; empty if that header cannot carry it."""
    retry: float = 1.0
    """Seconds to wait before reconnecting, as the server requested."""
    events: int = 0
    """The number of complete events, including those that only carry an id."""
    messages: int = 0
    """The number of events that carry data."""

    def delay(self, tries: int, limits: Limits) -> float:
        """Seconds to wait before reconnecting; they double with every failed attempt."""
        return min(max(self.retry, limits.retry_min) * 2 ** min(tries, 10), limits.retry_max)


class SseParser:
    """Parses one stream; `limit` is the largest size of one event in bytes. It moves `cursor` along."""

    def __init__(self, limit: int, cursor: Cursor | None = None) -> None:
        self.cursor = cursor or Cursor()
        self._lines = LineSplitter(limit)
        self._data = Joiner(limit)
        self._after_cr = False
        self._first = True
        self._id = ""
        self._clear()

    def _clear(self) -> None:
        self._kind = ""
        self._has_fields = self._has_data = False
        self._large: Oversize | None = None
        """A line of data that exceeds the size of a whole event."""

    @property
    def held(self) -> int:
        """The bytes of the current event."""
        return self._lines.held + self._data.size

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Parse the next bytes; the caller has to iterate to the end before the next call."""
        if not chunk:
            return
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        lines = self._lines.feed(chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))[::-1]
        while lines:  # a long line is released before its event is handled
            if (event := self._line(lines.pop())) is not None:
                yield event

    def _line(self, line: Line) -> SseEvent | None:
        if isinstance(line, Oversize):
            name, _, value = line.head.partition(b":")
            if name == b"data":
                self._has_fields, self._large = True, Oversize(value.lstrip(b" "), line.tail, line.size)
            return None
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end()
        name = line[:9].partition(b":")[0]  # the names of fields that mean something are shorter
        if name:
            self._has_fields = True
            value = memoryview(line)[len(name) + 1 :]  # a long line of data is copied once only
            self._field(name, value[1:] if bytes(value[:1]) == b" " else value)
        return None

    def _field(self, name: bytes, value: memoryview) -> None:
        if name == b"data":
            if self._has_data:
                self._data.hold(b"\n")
            self._data.hold(value)
            self._has_data = True
        elif name == b"event":
            self._kind = str(value, "utf-8", "replace")
        elif name == b"id" and 0 not in value:
            self._id = str(value, "utf-8", "replace")
        elif name == b"retry" and _DIGITS.fullmatch(value):
            self.cursor.retry = int(bytes(value)) / 1000

    def _end(self) -> SseEvent | None:
        whole = self._data.take()
        data, kind = self._large or whole, self._kind or "message"
        resumable = (
            len(self._id) <= _LONGEST_ID and self._id == self._id.strip() and re.fullmatch(HEADER_VALUE, self._id)
        )
        self.cursor.last_id = self._id if resumable else ""
        self.cursor.events += self._has_fields
        self.cursor.messages += bool(data)
        self._clear()
        return SseEvent(data, kind) if data else None
