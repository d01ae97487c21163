"""Reading the bodies of a session on disk, during and after the recording."""

from __future__ import annotations

import sqlite3
import threading
import zlib
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, loads_or
from mcp_studio.trace.disk import format
from mcp_studio.trace.lint.rules import Finding, findings_from_json
from mcp_studio.trace.message import Block

_EMPTY = Block(0, [])
_BODIES = "SELECT first, ends, data FROM bodies WHERE first < ? ORDER BY first DESC LIMIT 1"
_LONGEST, _MOST = 1 << 20, 1 << 27
"""Bytes of the largest extra, and of the largest body that is returned whole."""


class DiskReader:
    """Implements `message.Reader`, for any thread. The first access opens the file.

    Args:
        path: the session, which may still be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._block = _EMPTY
        self.problem = ""
        """A sentence on what could not be read."""

    def blocks(self, below: int) -> Iterator[Block]:
        """The bodies of all entries below a number, the newest block first, without damaged blocks."""
        while found := self._rows(_BODIES, below):
            first = found[0][0]
            if not isinstance(first, int) or not 0 < first < below:
                return
            if (block := self._checked(found[0])) is not None:
                yield Block(first, block.bodies[: below - first])
            below = first

    def body(self, number: int) -> bytes:
        """The body of an entry; empty where it is not kept or cannot be read."""
        block = self._block
        if not block.first <= number < block.first + len(block.bodies):
            found = self._rows(_BODIES, number + 1)
            block = (self._checked(found[0]) if found else None) or _EMPTY
            if number >= block.first + len(block.bodies):
                return self._large_body(number)
            self._block = block
        return block.bodies[number - block.first] or self._large_body(number)

    def extra(self, number: int, name: str) -> Json:
        """An extra of an entry, see `format.Batch`; None where it has none or it cannot be read."""
        found = self._rows(
            "SELECT value FROM extra WHERE number = ? AND name = ? AND length(value) < ?", number, name, _LONGEST
        )
        return loads_or(found[0][0]) if found and isinstance(found[0][0], str) else None

    def findings(self, number: int) -> tuple[Finding, ...]:
        """The lint's findings on an entry."""
        return findings_from_json(self.extra(number, "findings"), number)

    def close(self) -> None:
        """Close the file; another access opens it again."""
        with self._lock:
            db, self._db = self._db, None
        if db is not None:
            db.close()

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        # All rows at once: an open statement would keep the writer from truncating its log.
        try:
            with self._lock, format.as_studio_errors(self._path):
                if self._db is None:
                    self._db = format.connect(self._path)
                    format.unhurried(self._db)
                return self._db.execute(query, values).fetchall()
        except StudioError as error:
            self.problem = error.message
            return []

    def _checked(self, row: tuple[Any, ...]) -> Block | None:
        first, raw, data = row
        if isinstance(first, int) and isinstance(raw, bytes) and isinstance(data, bytes) and not len(raw) % 4:
            ends = array("I", raw).tolist()
            if 0 < first < 1 << 32 and ends and ends[-1] == len(data) and ends == sorted(ends):
                return Block(first, [data[start:end] for start, end in pairwise((0, *ends))])
        self.problem = self.problem or f"The session {self._path.name} is damaged."
        return None

    def _large_body(self, number: int) -> bytes:
        found = self._rows("SELECT packed, size FROM large JOIN body USING (hash) WHERE number = ?", number)
        if not found or not isinstance(found[0][0], bytes) or not isinstance(found[0][1], int):
            return b""
        raw, size = found[0]
        try:
            return zlib.decompressobj().decompress(raw, max(1, min(_MOST, size)))
        except zlib.error:
            self.problem = f"The session {self._path.name} is damaged."
            return b""
