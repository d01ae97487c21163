"""Server-sent events: bytes in, events out; linear in its input and bounded per event.

The format is that of the HTML standard, "Server-sent events": lines end in CR, LF or CRLF, a blank line ends an event,
an event that the end of the stream cuts off is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mcp_studio.errors import LimitExceeded
from mcp_studio.record import record
from mcp_studio.transport.lines import EDGE, Oversize, size_text

_BOM = b"\xef\xbb\xbf"
_DIGITS = re.compile(rb"[0-9]{1,9}")


@record(frozen=True)
class SseEvent:
    """One event that carries data; events without data only move `SseParser.last_id` and `SseParser.retry`."""

    data: bytes
    """The `data` lines, joined by newlines."""
    kind: str = "message"
    """The `event` field."""


class SseParser:
    """Parses one stream."""

    def __init__(self, limit: int, dropped: Callable[[Oversize], None] | None = None) -> None:
        """`limit` is the largest size in bytes of one event, and of one line.

        `dropped` is told of a larger one, which is left out; without it, such an event is an error.
        """
        self.last_id = ""
        """The id of the newest complete event: what `Last-Event-ID` says when the stream is resumed."""
        self.retry: int | None = None
        """Milliseconds to wait before reconnecting, as the server asked."""
        self.events = 0
        """Complete events so far, with or without data."""
        self._limit = limit
        self._dropped = dropped
        self._over: Oversize | None = None
        self._rest = bytearray()
        self._held = 0
        self._comment = False
        self._after_cr = False
        self._first = True
        self._clear("")

    @property
    def inside(self) -> bool:
        """Whether an event has begun and not ended."""
        return self._size > 0 or self._held > 0

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """Take the next bytes; iterate to the end before the next call.

        Raises:
            LimitExceeded: an event or a line is larger than the limit, and `dropped` is not given.
        """
        if not chunk:
            return
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        for line in chunk.splitlines(keepends=True):
            content = line.rstrip(b"\r\n")
            if self._over is not None:
                self._skip(self._over, content, whole=len(content) < len(line))
                continue
            if len(content) == len(line):
                self._hold(content)
                continue
            event = self._line(self._whole(content))
            if event is not None:
                yield event
        # Inside a chunk splitlines joins CR and LF; only a CR at its end can be half of a CRLF.
        self._after_cr = chunk.endswith(b"\r")

    def _hold(self, part: bytes) -> None:
        """Keep the beginning of a line; of a comment, only the knowledge that it is one."""
        if not self._held and not self._comment:
            self._comment = part.startswith(b":")
        if self._comment:
            return
        self._rest += part
        self._held += len(part)
        if self._held > self._limit:
            self._exceeded(bytes(self._rest))

    def _whole(self, end: bytes) -> bytes:
        if self._comment:
            self._comment = False
            return b":"
        if not self._held:
            return end
        self._rest += end
        line = bytes(self._rest)
        self._rest = bytearray()
        self._held = 0
        return line

    def _line(self, line: bytes) -> SseEvent | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end()
        if line.startswith(b":"):
            return None
        self._size += len(line) + 1
        if self._size > self._limit:
            self._exceeded(line)
            return None
        # Sliced once: a value can be as large as a message may be.
        colon = line.find(b":")
        if colon < 0:
            self._field(line, b"")
        else:
            self._field(line[:colon], line[colon + 2 :] if line[colon + 1 : colon + 2] == b" " else line[colon + 1 :])
        return None

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data(value)
        elif name == b"event":
            self._kind = value.decode("utf-8", "replace")
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and _DIGITS.fullmatch(value):
            self.retry = int(value)

    def _data(self, value: bytes) -> None:
        # One line is the usual case, and may be large: it is not copied again.
        if self._one is None and not self._many:
            self._one = value
            return
        if self._one is not None:
            self._many += self._one
            self._one = None
        self._many += b"\n"
        self._many += value

    def _end(self) -> SseEvent | None:
        data = bytes(self._many) if self._one is None else self._one
        kind = self._kind or "message"
        self.last_id = self._id
        self.events += self._size > 0
        self._clear(self._id)
        return SseEvent(data, kind) if data else None

    def _clear(self, last_id: str) -> None:
        self._one: bytes | None = None
        self._many = bytearray()
        self._kind = ""
        self._id = last_id
        self._size = 0

    def _exceeded(self, line: bytes) -> None:
        """The event is too large with this line, which may not be complete: leave it out from here."""
        if self._dropped is None:
            raise LimitExceeded(f"A server-sent event is larger than {size_text(self._limit)}.", limit="message")
        before = bytes(self._many) if self._one is None else self._one
        data = before + line.removeprefix(b"data:") if len(before) < EDGE else before
        self._over = Oversize(data[:EDGE].lstrip(), line[-EDGE:], self._size + self._held)
        self._rest = bytearray()
        self._clear(self._id)

    def _skip(self, over: Oversize, part: bytes, *, whole: bool) -> None:
        """Go on to the blank line that ends an event which is left out; only its ends are kept."""
        if whole and not part and not self._held:
            self._over = None
            self.events += 1
            if self._dropped is not None:
                self._dropped(over)
            return
        self._held = 0 if whole else self._held + len(part)
        self._over = Oversize(over.head, (over.tail + part[-EDGE:])[-EDGE:], over.size + len(part))
