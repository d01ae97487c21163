"""Reads the bodies of a session on disk, while it is being recorded and afterwards."""

from __future__ import annotations

import sqlite3
import threading
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.trace.disk import format
from mcp_studio.trace.disk.format import ends_of, join_bodies
from mcp_studio.trace.message import Block

_GATHERED = 256 * 1024
"""Bytes of small neighbouring blocks that are given as one."""
_ROWS = 4_096
_LONGEST_READ = 1 << 20
"""Bytes of one extra."""


class DiskReader:
    """Implements `recording.Reader`. The file is opened when something is first read, in the thread that reads.

    Args:
        path: the session; it may be written meanwhile.
        most: bytes of one body at most; of a larger one only so many are given.
    """

    def __init__(self, path: Path, most: int = 1 << 27) -> None:
        self._path = path
        self._most = most
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._block = Block(0, array("I"), b"")
        self.problem = ""
        """What could not be read, in a sentence."""

    def blocks(self, below: int) -> Iterator[Block]:
        """All bodies of entries with numbers under `below`, the newest block first; damaged ones are left out."""
        while below > 1:
            gathered = self._gather(below)
            if not gathered:
                return
            gathered.reverse()
            ends, data = join_bodies([(some, data) for _, some, data in gathered])
            first = gathered[0][0]
            if ends:
                yield Block(first, ends, data, self._large(first, first + len(ends)))
            below = first

    def body(self, number: int) -> bytes:
        """The body of one entry; empty where it is not kept, or cannot be read."""
        block = self._block
        if not block.first <= number < block.first + len(block.ends):
            row = self._one("SELECT first, ends, data FROM bodies WHERE first <= ? ORDER BY first DESC LIMIT 1", number)
            checked = _checked(row) if row else None
            if checked is None or number >= checked[0] + len(checked[1]):
                return self._large_body(number)
            block = Block(*checked)
            self._block = block
        place = number - block.first
        start, end = block.ends[place - 1] if place else 0, block.ends[place]
        return block.data[start:end] if end > start else self._large_body(number)

    def extra(self, number: int, name: str) -> Json:
        """What an entry has besides the columns, see `batch.Extra`; None where it has none, or it cannot be read."""
        query = "SELECT value FROM extra WHERE number = ? AND name = ? AND length(value) < ?"
        row = self._one(query, number, name, _LONGEST_READ)
        try:
            return loads(row[0]) if row and isinstance(row[0], str) else None
        except (JsonProblem, StudioError):
            return None

    def forget(self) -> None:
        """The newest entries are read again: more may have come."""
        self._block = Block(0, array("I"), b"")

    def close(self) -> None:
        """No more reading; reading once more opens it again."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    # ------------------------------------------------------------------ inside

    def _connected(self) -> sqlite3.Connection:
        with self._lock:
            if self._db is None:
                self._db = format.connect(self._path)
                format.unhurried(self._db)
            return self._db

    def _one(self, query: str, *values: object) -> tuple[Any, ...] | None:
        try:
            with format.told(self._path):
                return self._connected().execute(query, values).fetchone()
        except StudioError as error:
            self.problem = error.message
            return None

    def _gather(self, below: int) -> list[tuple[int, array[int], bytes]]:
        """Neighbouring blocks under a number, the newest first, cut there: some small ones, or a large one."""
        found: list[tuple[int, array[int], bytes]] = []
        size, next_first = 0, below
        try:
            with format.told(self._path):
                query = "SELECT first, ends, data FROM bodies WHERE first < ? ORDER BY first DESC"
                rows = self._connected().execute(query, (below,))
                for row in rows:
                    checked = _checked(row)
                    if checked is None or checked[0] >= next_first:
                        break
                    first, ends, data = checked
                    if first + len(ends) > below:
                        ends = ends[: below - first]
                        data = data[: ends[-1]]
                    if found and (first + len(ends) != next_first or size + len(data) > _GATHERED):
                        break
                    found.append((first, ends, data))
                    size, next_first = size + len(data), first
                    if size >= _GATHERED or len(found) >= _ROWS:
                        break
                # Not kept open: as long as it is, the writer cannot tidy up behind itself.
                rows.close()
        except StudioError as error:
            self.problem = error.message
        return found or self._beyond(below)

    def _beyond(self, below: int) -> list[tuple[int, array[int], bytes]]:
        """An empty block in the place of one that is damaged."""
        row = self._one("SELECT first FROM bodies WHERE first < ? ORDER BY first DESC LIMIT 1", below)
        if not row or not isinstance(row[0], int) or not 0 < row[0] < below:
            return []
        self.problem = self.problem or f"The session {self._path.name} is damaged."
        return [(row[0], array("I"), b"")]

    def _large(self, first: int, end: int) -> tuple[int, ...]:
        try:
            with format.told(self._path):
                query = "SELECT number FROM large WHERE number >= ? AND number < ? ORDER BY number"
                numbers = self._connected().execute(query, (first, end))
                return tuple(number for (number,) in numbers if isinstance(number, int))
        except StudioError as error:
            self.problem = error.message
            return ()

    def _large_body(self, number: int) -> bytes:
        row = self._one("SELECT packed, size FROM large JOIN body USING (hash) WHERE number = ?", number)
        if not row or not isinstance(row[0], bytes) or not isinstance(row[1], int):
            return b""
        unpacking = zlib.decompressobj()
        try:
            return unpacking.decompress(row[0], max(1, min(self._most, row[1])))
        except zlib.error:
            self.problem = f"The session {self._path.name} is damaged."
            return b""


def _checked(row: tuple[Any, ...]) -> tuple[int, array[int], bytes] | None:
    first, raw, data = row
    if not isinstance(first, int) or not 0 < first < 1 << 32 or not isinstance(data, bytes):
        return None
    ends = ends_of(raw, len(data))
    return (first, ends, data) if ends else None
