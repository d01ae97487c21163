"""Cutting a byte stream into lines, linear in their length and bounded in memory."""

from __future__ import annotations

import re
from io import BytesIO

from mcp_studio.errors import LimitExceeded
from mcp_studio.limits import size_text
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import id_at_an_end
from mcp_studio.record import record

EDGE = 4096
"""Bytes that are kept of each end of a line that is too long."""


@record(frozen=True)
class Oversize:
    """A line longer than the limit: its two ends, and its length without the newline."""

    head: bytes
    tail: bytes
    size: int


Line = bytes | Oversize


class Joiner:
    """Joins the parts of one line or message; of a line longer than `limit` bytes only the ends are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._clear()

    def hold(self, part: bytes | memoryview) -> None:
        """Add the next part."""
        self.size += len(part)
        if self._head is None:
            self._parts.write(part)
            if self.size <= self._limit:
                return
            part = self._parts.getvalue()
            self._parts = BytesIO()
            self._head = b""
        self._head += part[: EDGE - len(self._head)]
        self._tail = (self._tail + part[-EDGE:])[-EDGE:]

    def take(self) -> Line:
        """Return the whole line; the next part begins another."""
        whole = self._parts.getvalue() if self._head is None else Oversize(self._head, self._tail, self.size)
        self._clear()
        return whole

    def _clear(self) -> None:
        # One buffer, which is freed as a whole: many small ones leave holes where a large line was.
        self._parts = BytesIO()
        self.size = 0
        """Bytes of the line so far."""
        self._head: bytes | None = None
        self._tail = b""


class LineSplitter:
    """Splits chunks into lines without their newline; a line longer than `limit` bytes becomes an `Oversize`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = Joiner(limit)

    def feed(self, chunk: bytes) -> list[Line]:
        """Return the lines that this chunk completes."""
        *lines, rest = chunk.split(b"\n")
        found: list[Line] = []
        for line in lines:
            if self._begun.size or len(line) > self._limit:
                self._begun.hold(line)
                found.append(self._begun.take())
            else:
                found.append(line)
        if rest:
            self._begun.hold(rest)
        return found

    @property
    def held(self) -> int:
        """Bytes of the unfinished line."""
        return self._begun.size

    def finish(self) -> list[Line]:
        """Return the text after the last newline, if there is any, when the stream has ended."""
        return [self._begun.take()] if self._begun.size else []


_CALL = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:[^,]{0,1000},\s*)?"method"')


def dropped_text(line: Oversize, limit: int) -> str:
    """The trace's text on a message that is too long."""
    return f"dropped a message of {size_text(line.size)}: longer than {size_text(limit)}, the limit called message"


def too_large(line: Oversize, limit: int) -> LimitExceeded:
    """The error of a call whose answer was too long."""
    return LimitExceeded(
        f"The answer of {size_text(line.size)} is longer than {size_text(limit)}, the limit called message: it was "
        "dropped.",
        limit="message",
    )


def answered_request(line: Oversize) -> Outgoing | None:
    """The request whose response was dropped, with its id alone; None where the line is no response with a known id."""
    request_id = None if _CALL.match(line.head) else id_at_an_end(line.head, line.tail)
    return None if request_id is None else Outgoing(b"", "request", request_id)
