"""Vectors: those of documents in memory, and a file of those that were computed before."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mcp_studio.search.model import SIZE

log = logging.getLogger(__name__)
Vector = NDArray[np.float32]


class Packed(NamedTuple):
    """A vector as bytes, and what they are to be multiplied with. The error of a product is below 0.003."""

    numbers: NDArray[np.int8]
    scale: float


def packed(vector: Vector) -> Packed:
    """Pack a vector."""
    scale = max(float(np.abs(vector).max()), 1e-9) / 127
    return Packed(np.rint(vector / scale).astype(np.int8), scale)


_BLOCK = 512
"""Rows that are made floats at a time: they stay in the processor's cache."""


class Matrix:
    """Rows of vectors by number; a row that was not set is as far from everything as can be."""

    def __init__(self) -> None:
        self._rows = np.zeros((0, SIZE), np.int8)
        self._scales = np.zeros(0, np.float32)
        self.known: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def grow(self, size: int) -> None:
        """Have room for rows below `size`."""
        have = len(self._scales)
        if size > have:
            more = max(size, have + have // 4 + 64) - have
            self._rows = np.concatenate((self._rows, np.zeros((more, SIZE), np.int8)))
            self._scales = np.concatenate((self._scales, np.zeros(more, np.float32)))
            self.known = np.concatenate((self.known, np.zeros(more, np.bool_)))

    def put(self, row: int, vector: Packed) -> None:
        """Set a row."""
        self._rows[row], self._scales[row], self.known[row] = vector.numbers, vector.scale, True

    def cosines(self, vectors: NDArray[np.float32], size: int) -> NDArray[np.float32]:
        """The cosine of each of some vectors with each of the first `size` rows; 0 for those that are not known."""
        out = np.empty((len(vectors), size), np.float32)
        for start in range(0, size, _BLOCK):
            end = min(start + _BLOCK, size)
            floats = self._rows[start:end].astype(np.float32)
            for place, vector in enumerate(vectors):  # all at once is slower, by far so beside busy processors
                np.dot(floats, vector, out=out[place, start:end])
        out *= self._scales[:size]
        return out


FILE = "meanings-1.db"
"""The number changes with the format."""
MOST = 200_000
"""Vectors that are kept, 90 MB; those that were not used for longest go."""
_TOGETHER = 64
"""Vectors that are written together."""
_BUSY = 0.5
"""Seconds for which another process may write."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, used INTEGER, scale REAL, numbers BLOB) WITHOUT ROWID"
)
_OLDEST = "DELETE FROM vector WHERE key IN (SELECT key FROM vector ORDER BY used, key LIMIT ?)"
_DAY = 86_400


def key_of(ident: str, text: str) -> bytes:
    """The key of a text's vector."""
    return hashlib.sha256(f"{ident}\n{text}".encode(errors="surrogatepass")).digest()[:16]


class VectorCache:
    """Vectors in a file of the cache folder, by a hash of model and text. A fault of it costs time, never an answer.

    Several processes may use the file at once; of one cache one thread at a time.

    Args:
        folder: None keeps nothing but what was put last.
    """

    def __init__(self, folder: Path | None, most: int = MOST) -> None:
        self._file = folder / FILE if folder is not None else None
        self._most = most
        self._db: sqlite3.Connection | None = None
        self._unwritten: dict[bytes, Packed] = {}

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Packed]:
        """Those of them that are known."""
        found = {key: self._unwritten[key] for key in keys if key in self._unwritten}

        def look_up(db: sqlite3.Connection) -> None:
            today = int(time.time() // _DAY)
            for key in (key for key in keys if key not in found):
                row = db.execute("SELECT used, scale, numbers FROM vector WHERE key = ?", (key,)).fetchone()
                if row and isinstance(row[1], float) and isinstance(row[2], bytes) and len(row[2]) == SIZE:
                    found[key] = Packed(np.frombuffer(row[2], np.int8), row[1])
                    if row[0] != today:
                        db.execute("UPDATE vector SET used = ? WHERE key = ?", (today, key))

        if self._db is not None or (self._file is not None and self._file.exists()):
            self._use(look_up)
        return found

    def put(self, key: bytes, vector: Packed) -> None:
        """Keep a vector."""
        self._unwritten[key] = vector
        if len(self._unwritten) >= _TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what was not written yet."""
        if self._unwritten:
            today = int(time.time() // _DAY)
            rows = [(key, today, scale, numbers.tobytes()) for key, (numbers, scale) in self._unwritten.items()]
            self._unwritten.clear()
            self._use(lambda db: db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)", rows))

    def close(self) -> None:
        """Write the rest; nothing is kept from then on."""
        self.flush()
        self._file = None
        self._disconnect()

    def _use(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Use the file in a transaction, or do without it."""
        if self._file is None:
            return
        try:
            db = self._db or self._connect(self._file)
            with db:
                work(db)
        except sqlite3.OperationalError as problem:  # locked, full, read-only: another time perhaps
            log.info("vectors are not kept this time: %s", problem)
        except (sqlite3.Error, OSError) as problem:
            log.info("the file of vectors is thrown away: %s", problem)
            self._disconnect()
            with suppress(OSError):
                self._file.unlink(missing_ok=True)

    def _connect(self, file: Path) -> sqlite3.Connection:
        file.parent.mkdir(parents=True, exist_ok=True)
        db = self._db = sqlite3.connect(file, timeout=_BUSY, check_same_thread=False)  # another thread may close it
        db.execute("PRAGMA synchronous=OFF")  # what a power failure takes is computed again
        with db:
            db.execute(_TABLE)
            (count,) = db.execute("SELECT count(*) FROM vector").fetchone()
            if count > self._most:
                db.execute(_OLDEST, (count - self._most * 9 // 10,))
        return db

    def _disconnect(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None
