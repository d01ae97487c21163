"""Cutting a byte stream into lines, linear in their length and bounded in memory."""

from __future__ import annotations

import re
from io import BytesIO

from mcp_studio import jsontext
from mcp_studio.errors import StudioError
from mcp_studio.protocol.message import BEGIN, Skim, Skimmed
from mcp_studio.record import record

KEPT = 4096
"""Bytes kept of each end of a line that is too long."""


@record(frozen=True)
class Oversize:
    """A line longer than the limit: its two ends, and how long it was (without its newline)."""

    head: bytes
    tail: bytes
    size: int


Line = bytes | Oversize | Skimmed


class Joiner:
    """Joins the parts of one line, or of one message; of one longer than `limit` bytes only its ends are kept.

    Args:
        skim: look through a large one while it comes, a part at a time, so that its end holds nobody up.
    """

    def __init__(self, limit: int, *, skim: bool = False) -> None:
        self._limit = limit
        self._skims = skim
        self._clear()

    def hold(self, part: bytes) -> None:
        """Take the next part."""
        self.size += len(part)
        if self._head is None:
            self._parts.write(part)
            if self.size <= self._limit:
                if self._skims and self.size >= BEGIN:
                    self._look()
                return
            part = self._parts.getvalue()
            self._parts = BytesIO()
            self._head = b""
        self._head += part[: KEPT - len(self._head)]
        self._tail = (self._tail + part[-KEPT:])[-KEPT:]

    def take(self) -> Line:
        """The whole; what is held next begins another."""
        whole = self._whole() if self._head is None else Oversize(self._head, self._tail, self.size)
        self._clear()
        return whole

    def _look(self) -> None:
        self._skim = self._skim or Skim()
        with self._parts.getbuffer() as data:
            self._skim.advance(data)

    def _whole(self) -> bytes | Skimmed:
        whole = self._parts.getvalue()
        root = self._skim.known(self.size) if self._skim is not None else None
        return whole if root is None else Skimmed(whole, root)

    def _clear(self) -> None:
        # One piece of memory, which goes back as a whole: many small ones leave holes where a large line was. And it is
        # the line in the end: a copy of a large one would hold everybody up.
        self._parts = BytesIO()
        self._skim: Skim | None = None
        self.size = 0
        """Bytes that are held."""
        self._head: bytes | None = None
        self._tail = b""


class LineSplitter:
    """Takes chunks, gives complete lines without their newline. A line longer than `limit` bytes is not kept.

    Args:
        skim: the lines are messages, see `Joiner`.
    """

    def __init__(self, limit: int, *, skim: bool = False) -> None:
        self._limit = limit
        self._begun = Joiner(limit, skim=skim)

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk completes."""
        pieces = chunk.split(b"\n")
        rest = pieces.pop()
        lines: list[Line] = list(pieces)
        if lines and self._begun.size:
            self._begun.hold(pieces[0])
            lines[0] = self._begun.take()
        if len(chunk) > self._limit:
            lines = [self._judge(line) for line in lines]
        if rest:
            self._begun.hold(rest)
        return lines

    def finish(self) -> list[Line]:
        """What came after the last newline, if anything did; the stream has ended."""
        return [self._begun.take()] if self._begun.size else []

    def _judge(self, line: Line) -> Line:
        if not isinstance(line, bytes) or len(line) <= self._limit:
            return line
        return Oversize(line[:KEPT], line[-KEPT:], len(line))


DROPPED = -32000
"""Error code of the answer made here: from the range that JSON-RPC leaves to implementations."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+|"')
# Right before the end of the line: the closing brace is then the message's own. Some servers put the id last.
_LAST_ID = re.compile(rb'"id"\s*:\s*(-?[0-9]+|"(?:[^"\\]|\\.)*")\s*\}\s*\Z')


def size_text(size: int) -> str:
    """A number of bytes for people: `64 MB`, `1.5 KB`, `300 bytes`."""
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} byte{'' if size == 1 else 's'}"


def answer_for(line: Oversize, limit: int) -> bytes | None:
    """The JSON-RPC error frame that stands in for a dropped response; None if it is not known to be one."""
    members = _members(line.head)
    if b'"method"' in members:
        return None
    raw = members.get(b'"id"', b"")
    if not raw and (found := _LAST_ID.search(line.tail)):
        raw = found[1]
    try:
        request_id = jsontext.loads(raw)
    except (ValueError, StudioError):
        return None
    if isinstance(request_id, bool) or not isinstance(request_id, int | str):
        return None
    text = f"The answer of {size_text(line.size)} is longer than the limit of {size_text(limit)} and was dropped."
    error = {"code": DROPPED, "message": text, "data": {"limit": "message", "size": line.size, "local": True}}
    return jsontext.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})


def _members(head: bytes) -> dict[bytes, bytes]:
    """Names (with their quotes) of the outer object's members that begin here, with the raw values of simple ones."""
    members: dict[bytes, bytes] = {}
    depth = 0
    key = b""
    for found in _TOKEN.finditer(head):
        token = found[0]
        if token == b'"':  # a string that goes on beyond the head
            break
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth != 1 or token == b":":
            continue
        elif token == b",":
            key = b""
        elif key:
            members[key] = token
        else:
            key = token
            members[key] = b""
    return members
