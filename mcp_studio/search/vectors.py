"""Vectors that were computed before, in a file of the cache folder. A fault of it costs time, never an answer.

Kept by a hash of model and text, not by the text; several processes may use the file at once. Every function that
touches the file is for one thread.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from mcp_studio.search.matrix import Packed
from mcp_studio.search.model import SIZE

log = logging.getLogger(__name__)
FILE = "meanings-1.db"
"""The number changes with the format."""
MOST = 200_000
"""Vectors that are kept, 90 MB; those that were not used for longest go."""
_WAITING = 64
"""Vectors that are written together."""
_BUSY = 0.5
"""Seconds for which another process may write."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, used INTEGER, scale REAL, numbers BLOB) WITHOUT ROWID"
)
_DAY = 86_400
_ASKED = 400
"""Keys of one statement."""
Kept = tuple[Packed, float]


def key_of(ident: str, text: str) -> bytes:
    """What the vector of a text is kept by."""
    return hashlib.sha256(f"{ident}\n{text}".encode(errors="surrogatepass")).digest()[:16]


class VectorCache:
    """Opened when first used.

    Args:
        folder: of the cache; None keeps nothing but what was put last.
        most: vectors that are kept.
    """

    def __init__(self, folder: Path | None, most: int = MOST) -> None:
        self._file = folder / FILE if folder is not None else None
        self._most = most
        self._db: sqlite3.Connection | None = None
        self._waiting: dict[bytes, Kept] = {}
        self._unlooked = 0
        """Vectors that may be written until it is looked whether there are too many."""

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Kept]:
        """Those of them that are known."""
        found = {key: self._waiting[key] for key in keys if key in self._waiting}
        wanted = [key for key in keys if key not in found]
        if wanted:
            self._do(lambda db: found.update(_read(db, wanted)))
        return found

    def put(self, vectors: Mapping[bytes, Kept]) -> None:
        """Keep vectors; written some at a time."""
        self._waiting.update(vectors)
        if len(self._waiting) >= _WAITING:
            self.flush()

    def flush(self) -> None:
        """Write what was not written yet."""
        if not self._waiting:
            return
        today = int(time.time() // _DAY)
        rows = [(key, today, scale, numbers.tobytes()) for key, (numbers, scale) in self._waiting.items()]
        self._waiting.clear()
        self._do(lambda db: self._write(db, rows))

    def close(self) -> None:
        """Write the rest; nothing is kept from then on."""
        self.flush()
        self._file = None
        if self._db is not None:
            self._db.close()
            self._db = None

    def _write(self, db: sqlite3.Connection, rows: Sequence[tuple[bytes, int, float, bytes]]) -> None:
        db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows)
        self._unlooked -= len(rows)
        if self._unlooked > 0:
            return
        self._unlooked = self._most // 50
        (count,) = db.execute("SELECT count(*) FROM vector").fetchone()
        if count > self._most:
            many = count - self._most * 9 // 10
            db.execute("DELETE FROM vector WHERE key IN (SELECT key FROM vector ORDER BY used, key LIMIT ?)", (many,))

    def _do(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Use the file in a transaction, or leave it."""
        if self._file is None:
            return
        try:
            if self._db is None:
                self._db = _opened(self._file)
            with self._db:
                work(self._db)
        except sqlite3.OperationalError as problem:  # locked, full, read-only: another time perhaps
            log.info("vectors are not kept this time: %s", problem)
        except (sqlite3.Error, OSError) as problem:
            log.info("the file of vectors is thrown away: %s", problem)
            self._throw_away(self._file)

    def _throw_away(self, file: Path) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None
        try:
            file.unlink(missing_ok=True)
        except OSError:
            self._file = None  # it stays as it is


def _opened(file: Path) -> sqlite3.Connection:
    file.parent.mkdir(parents=True, exist_ok=True)
    # Used by one thread at a time; the one that closes it may be another.
    db = sqlite3.connect(file, timeout=_BUSY, check_same_thread=False)
    try:
        db.execute("PRAGMA synchronous=OFF")  # what a power failure takes is computed again
        db.execute(_TABLE)
    except BaseException:
        db.close()
        raise
    return db


def _read(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Kept]:
    found: dict[bytes, Kept] = {}
    old: list[tuple[int, bytes]] = []
    today = int(time.time() // _DAY)
    for start in range(0, len(keys), _ASKED):
        part = keys[start : start + _ASKED]
        marks = ",".join("?" * len(part))
        for key, used, scale, numbers in db.execute(f"SELECT * FROM vector WHERE key IN ({marks})", part):
            if isinstance(numbers, bytes) and len(numbers) == SIZE and isinstance(scale, float):
                found[key] = np.frombuffer(numbers, np.int8), scale
                if used != today:
                    old.append((today, key))
    if old:
        db.executemany("UPDATE vector SET used = ? WHERE key = ?", old)
    return found
