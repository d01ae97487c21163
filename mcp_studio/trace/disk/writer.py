"""Writes the running trace to disk in a thread of its own; never blocks the caller, never raises."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
import zlib
from array import array
from collections.abc import Mapping
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from queue import SimpleQueue

from mcp_studio import __version__
from mcp_studio.jsontext import Json, dumps
from mcp_studio.trace.disk import format, sessions
from mcp_studio.trace.disk.format import Batch
from mcp_studio.trace.message import CODES

LARGE = 16 * 1024
"""Bytes of the largest body that a block holds; a larger one is stored once, compressed."""
_BLOCK_ENTRIES, _BLOCK_BYTES = 1_000, 32 * 1024
"""The entries and bytes that complete a block. An incomplete block is written again with each batch."""
_ROWS = 300
"""Rows of one statement: after each statement the thread has to wait for a busy event loop."""
_PRUNE = 16 << 20
"""Bytes written after which old sessions are pruned again."""
_SHORT = 1 << 20
"""A session with fewer bytes ends without waiting for the disk; a power failure right afterwards may lose it."""
_TRIES = 50
_SIZES = ("page_count", "freelist_count", "page_size")


class _Block:
    """The newest block of a file: neighbouring entries."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.columns = {name: bytearray() for name in CODES}
        self.ends: array[int] = array("I")
        self.data = bytearray()


class SessionFile:
    """The file of a session that is being written; created at once.

    Args:
        folder: the folder of all sessions, created if missing.
        meta: facts about the session.
        most_bytes: the bound on all sessions.
        max_age: seconds after which a session is deleted.

    Raises:
        sqlite3.Error, OSError: any method: the file cannot be written.
    """

    def __init__(self, folder: Path, meta: Mapping[str, object], most_bytes: float, max_age: float) -> None:
        self._folder, self._most, self._age = folder, most_bytes, max_age
        folder.mkdir(0o700, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
        self.path, self._lock = _reserve(folder)
        try:
            self._db = format.create(self.path)
        except BaseException:
            sessions.release_lock(sessions.lock_of(self.path), self._lock)
            raise
        self._put_meta({"began": time.time(), "pid": os.getpid(), **meta})
        self.first = 0
        """The number of the oldest entry that is kept."""
        self.newest = 0
        self._block = _Block(1)
        self._lost_bodies = 0
        self._growth = 0
        sessions.prune(folder, most_bytes, time.time() - max_age)
        sessions.tidy(folder)

    def write(self, batch: Batch, lost: int = 0) -> None:
        """Write a batch completely or not at all; `lost` is the number of bodies that were left out so far."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            if batch.names:
                db.executemany("INSERT OR REPLACE INTO name VALUES (?, ?, ?)", map(_storable, batch.names))
            if batch.bodies:
                self._add_entries(batch)
            self._add_changes(batch.changes)
            self._add_extras(batch.extras)
            if lost != self._lost_bodies:
                self._lost_bodies = lost
                self._put_meta({"lost": lost})
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
        if self._growth > _PRUNE:
            self._growth = 0
            sessions.prune(self._folder, self._most, time.time() - self._age)
        if self._used_bytes() > self._most:
            self._trim()

    def finish(self) -> None:
        """End the session; leaves a single file."""
        try:
            with contextlib.suppress(sqlite3.Error):  # another process may be reading
                self._put_meta({"ended": time.time()})
                self._db.execute("PRAGMA busy_timeout=0")
                if self._used_bytes() < _SHORT:  # as after a single call, which should not wait for the disk
                    self._db.execute("PRAGMA synchronous=OFF")
                self._db.execute("PRAGMA journal_mode=DELETE")
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            sessions.release_lock(sessions.lock_of(self.path), self._lock)

    # ------------------------------------------------------------------ inside a transaction

    def _add_entries(self, batch: Batch) -> None:
        block = self._block
        full = len(block.ends) >= _BLOCK_ENTRIES or len(block.data) >= _BLOCK_BYTES
        if full or batch.first != self.newest + 1:
            block = self._block = _Block(batch.first)
        for name in CODES:
            block.columns[name] += batch.columns[name]
            self._growth += len(batch.columns[name])
        for number, body in enumerate(batch.bodies, batch.first):
            if len(body) > LARGE:
                self._add_large(number, body)
            else:
                block.data += body
                self._growth += len(body)
            block.ends.append(len(block.data))
        columns = b"".join(block.columns.values())
        self._db.execute("INSERT OR REPLACE INTO block VALUES (?, ?, ?)", (block.first, len(block.ends), columns))
        row = (block.first, block.ends.tobytes(), bytes(block.data))
        self._db.execute("INSERT OR REPLACE INTO bodies VALUES (?, ?, ?)", row)
        self.first = self.first or batch.first
        self.newest = batch.first + len(batch.bodies) - 1

    def _add_large(self, number: int, body: bytes) -> None:
        digest = blake2b(body, digest_size=16).digest()
        if not self._db.execute("SELECT 1 FROM body WHERE hash = ?", (digest,)).fetchone():
            small = zlib.compress(body, 1)
            self._db.execute("INSERT INTO body VALUES (?, ?, ?)", (digest, len(body), small))
            self._growth += len(small)
        self._db.execute("INSERT OR REPLACE INTO large VALUES (?, ?)", (number, digest))

    def _add_changes(self, changes: Mapping[str, Mapping[int, int]]) -> None:
        """Add a row for each column; readers apply rows in order, so the last value counts."""
        for column, values in changes.items():
            if values:
                row = (column, array("I", values).tobytes(), array("I", values.values()).tobytes())
                self._db.execute("INSERT INTO change(field, numbers, news) VALUES (?, ?, ?)", row)

    def _add_extras(self, extras: Mapping[tuple[int, str], Json]) -> None:
        removed = [key for key, value in extras.items() if value is None]
        self._db.executemany("DELETE FROM extra WHERE number = ? AND name = ?", removed)
        rows = [(*key, dumps(value).decode("utf-8", "replace")) for key, value in extras.items() if value is not None]
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            values = ", ".join(["(?, ?, ?)"] * len(some))
            self._db.execute(f"INSERT OR REPLACE INTO extra VALUES {values}", [*chain.from_iterable(some)])

    def _put_meta(self, values: Mapping[str, object]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    # ------------------------------------------------------------------ bounds

    def _used_bytes(self) -> int:
        pages, free, size = (self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in _SIZES)
        return (pages - free) * size

    def _trim(self) -> None:
        """Delete the oldest blocks of a session that is too large by itself; the file reuses their space."""
        db = self._db
        while self._used_bytes() > self._most * 0.9:
            (blocks,) = db.execute("SELECT count(*) FROM block").fetchone()
            keep = db.execute("SELECT first FROM block ORDER BY first LIMIT 1 OFFSET ?", (blocks // 20 + 1,)).fetchone()
            if keep is None:
                return
            db.execute("BEGIN IMMEDIATE")
            for table, column in (("block", "first"), ("bodies", "first"), ("large", "number"), ("extra", "number")):
                db.execute(f"DELETE FROM {table} WHERE {column} < ?", keep)
            db.execute("DELETE FROM body WHERE hash NOT IN (SELECT hash FROM large)")
            for seq, numbers in db.execute("SELECT seq, numbers FROM change ORDER BY seq").fetchall():
                if max(array("I", numbers), default=0) >= keep[0]:
                    break
                db.execute("DELETE FROM change WHERE seq = ?", (seq,))
            db.execute("COMMIT")
            self.first = keep[0]


def _reserve(folder: Path) -> tuple[Path, int]:
    """A free name for a session, and its lock."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for number in range(1, _TRIES):
        path = folder / f"{stem}{f'-{number}' if number > 1 else ''}{format.ENDING}"
        if not path.exists() and (handle := sessions.take_lock(sessions.lock_of(path))) is not None:
            return path, handle
    raise FileExistsError(17, "no name is left for a session", str(folder))


def _storable(name: tuple[str, int, str]) -> tuple[str, int, str]:
    # SQLite refuses lone surrogates, and some of its functions end a text at NUL.
    return name[0], name[1], name[2].encode("utf-8", "replace").decode().replace("\0", "␀")


MB = 1 << 20
DAY = 86_400.0
_ENTRY = 64
"""Bytes that count for an entry in the queue besides its body."""


class Writer:
    """The running session on disk. The first batch creates the file.

    Args:
        folder: the folder of all sessions.
        origin: the front end, such as `tui`.
        max_bytes: the bound on all sessions; the oldest sessions are deleted first, then the session's oldest entries.
        max_age: seconds after which a session is deleted.
        queue_bytes: the bytes that may wait for a slow disk; beyond them bodies are left out and counted in `lost`.
    """

    def __init__(
        self,
        folder: Path,
        origin: str = "",
        *,
        max_bytes: int = 256 * MB,
        max_age: float = 14 * DAY,
        title: str = "",
        queue_bytes: int = 64 * MB,
    ) -> None:
        self._folder, self._bounds, self._room = folder, (max_bytes, max_age), queue_bytes
        self._meta = {"origin": origin, "title": title, "version": __version__}
        self._queue: SimpleQueue[tuple[int, Batch] | None] = SimpleQueue()
        """Batches with their sizes; None ends the thread."""
        # Each of the two is changed by one thread alone, so no lock is needed.
        self._put = self._done = 0
        self._closing = False
        self._thread: threading.Thread | None = None
        self.written = 0
        """The number of the newest entry on disk."""
        self.trimmed = 0
        """The number of the newest entry that was deleted to save space; all earlier ones were deleted too."""
        self.lost = 0
        """Entries without bodies, because the disk was too slow."""
        self.failed = ""
        """A sentence on why the recording ended; empty while it runs."""
        self.path: Path | None = None

    def put(self, batch: Batch) -> None:
        """Queue new entries; their numbers continue the last batch."""
        if self.failed or self._closing:
            return
        size = sum(map(len, batch.bodies)) + _ENTRY * len(batch.bodies)
        waiting = self._put - self._done
        if waiting and waiting + size > self._room:
            self.lost += sum(1 for body in batch.bodies if body)
            batch = batch._replace(bodies=(b"",) * len(batch.bodies))
            size = _ENTRY * (len(batch.bodies) + 1)
            if waiting + size > 2 * self._room:
                self._fail("the disk does not answer")
                return
        self._put += size
        self._queue.put((size, batch))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="trace", daemon=True)
            self._thread.start()

    def close(self, timeout: float = 2.0) -> bool:
        """Write the rest and end the session; blocks at most `timeout` seconds.

        Returns whether everything is on disk.
        """
        self._closing = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(timeout)
        return not self.failed and not (self._thread and self._thread.is_alive())

    # ------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        try:
            self._write_all()
        except Exception as problem:  # nobody waits for this thread, so every failure has to be recorded here
            full = getattr(problem, "errno", 0) in (errno.ENOSPC, errno.EDQUOT) or "is full" in str(problem)
            why = str(problem) or type(problem).__name__
            if isinstance(problem, OSError) and problem.strerror:
                why = f"{problem.filename or self._folder} cannot be written, {problem.strerror}"
            self._fail("the disk is full" if full else why)

    def _write_all(self) -> None:
        file = SessionFile(self._folder, self._meta, *self._bounds)
        self.path = file.path
        try:
            while (item := self._queue.get()) is not None and not self.failed:
                size, batch = item
                file.write(batch, self.lost)
                self._done += size
                self.trimmed = max(self.trimmed, file.first - 1)
                self.written = max(self.written, file.newest)
        finally:
            file.finish()

    def _fail(self, why: str) -> None:
        self.failed = f"The trace is no longer recorded: {why}."
        self._queue = SimpleQueue()  # the thread no longer reads the old queue
