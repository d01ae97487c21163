"""The file of the running session: written by one thread, whole after every step."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path

from mcp_studio.jsontext import dumps
from mcp_studio.trace.disk import format, lock, sessions
from mcp_studio.trace.disk.batch import Batch, Change, Extra
from mcp_studio.trace.disk.pieces import Piece, cut, join, packed, unpacked

LARGE = 16 * 1024
"""Larger bodies stand once, compressed, beside the blocks."""
_TAIL_ENTRIES, _TAIL_BYTES = 4_096, 256 * 1024
"""Small blocks at the end become one when together they are that large."""
_SMALL = 64 * 1024
_CHANGES = 256
"""Rows of changes that become one for each column."""
_ROWS = 300
"""Rows of one statement: after each statement the thread waits until the event loop, if it is busy, lets it go on."""
_PRUNE = 16 << 20
"""Bytes written after which older sessions are looked at again."""
_SHORT = 1 << 20
"""A session of fewer bytes ends without waiting for the disk; a power failure right after it may take it."""
_TRIES = 50


class SessionFile:
    """Makes the file at once.

    Args:
        folder: of all sessions; made where it is missing.
        meta: what is kept of the session besides its entries.
        most_bytes: of all sessions.
        max_age: seconds after which a session goes.

    Raises:
        sqlite3.Error, OSError: from any method: it cannot be written.
    """

    def __init__(self, folder: Path, meta: Mapping[str, object], most_bytes: int, max_age: float) -> None:
        self._folder, self._most, self._age = folder, most_bytes, max_age
        folder.mkdir(0o700, parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
        self.path, self._lock = _reserve(folder)
        try:
            self._db = format.create(self.path)
        except BaseException:
            lock.release(lock.lock_of(self.path), self._lock)
            raise
        self._put_meta({"began": time.time(), "pid": os.getpid(), **meta})
        self.first = 0
        """The number of the oldest entry kept."""
        self.newest = 0
        self._sound, self._lost = True, 0
        self._tail: list[int] = []
        self._tail_count = self._tail_bytes = 0
        self._changes = self._changes_since = 0
        self._grown = 0
        self._prune()
        sessions.tidy(folder)

    def write(self, batches: Sequence[Batch], lost: int = 0) -> None:
        """Add all of it, or nothing; `lost` bodies had to be left out until now."""
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            for batch in batches:
                self._write(batch)
            if lost != self._lost:
                self._lost = lost
                self._put_meta({"lost": lost})
            db.execute("COMMIT")
        except BaseException:
            self._sound = False
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise
        if self._grown > _PRUNE:
            self._grown = 0
            self._prune()
        self._trim()

    def finish(self) -> None:
        """The session is over: tidy up, and leave a single plain file."""
        try:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("BEGIN IMMEDIATE")
                if self._sound:
                    self._merge()
                self._put_meta({"ended": time.time()})
                self._db.execute("COMMIT")
            with contextlib.suppress(sqlite3.Error):  # somebody is reading it
                self._db.execute("PRAGMA busy_timeout=0")
                if self._used() < _SHORT:  # such as one call has: nobody waits for the disk at the end of each
                    self._db.execute("PRAGMA synchronous=OFF")
                self._db.execute("PRAGMA journal_mode=DELETE")
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
            lock.release(lock.lock_of(self.path), self._lock)

    # ------------------------------------------------------------------ inside a transaction

    def _write(self, batch: Batch) -> None:
        db = self._db
        if batch.names:
            db.executemany("INSERT OR REPLACE INTO name VALUES (?, ?, ?)", map(_storable, batch.names))
        if batch.bodies:
            self._entries(batch)
        for number, body in batch.late:
            self._large(number, body)
        self._change(batch.changes)
        self._extra(batch.extras)

    def _entries(self, batch: Batch) -> None:
        bodies = batch.bodies
        if batch.first != self.newest + 1:
            self._merge_tail()  # it ends here: only what follows without a gap becomes one
        large = [place for place, body in enumerate(bodies) if len(body) > LARGE]
        if large:
            kept = list(bodies)
            for place in large:
                self._large(batch.first + place, bodies[place])
                kept[place] = b""
            bodies = tuple(kept)
        for piece in cut(batch.first, batch.columns, bodies):
            self._insert(piece)
            if piece.entries * 4 > _TAIL_ENTRIES or len(piece.data) > _SMALL:
                self._merge_tail()
                continue
            self._tail.append(piece.first)
            self._tail_count += piece.entries
            self._tail_bytes += len(piece.data)
            if self._tail_count >= _TAIL_ENTRIES or self._tail_bytes >= _TAIL_BYTES:
                self._merge_tail()
        self.first = self.first or batch.first
        self.newest = batch.first + len(bodies) - 1

    def _insert(self, piece: Piece) -> None:
        self._db.execute("INSERT INTO block VALUES (?, ?, ?)", (piece.first, piece.entries, piece.columns))
        self._db.execute("INSERT INTO bodies VALUES (?, ?, ?)", (piece.first, piece.ends, piece.data))
        self._grown += len(piece.columns) + len(piece.data)

    def _merge(self) -> None:
        self._merge_tail()
        self._merge_changes()

    def _merge_tail(self) -> None:
        """Small blocks that follow each other become one."""
        tail, self._tail = self._tail, []
        self._tail_count = self._tail_bytes = 0
        if len(tail) < 2:
            return
        db, ends = self._db, (tail[0], tail[-1])
        rows = db.execute(
            "SELECT first, count, columns, ends, data FROM block JOIN bodies USING (first)"
            " WHERE first BETWEEN ? AND ? ORDER BY first",
            ends,
        )
        piece = join([Piece(*row) for row in rows])
        db.execute("DELETE FROM block WHERE first BETWEEN ? AND ?", ends)
        db.execute("DELETE FROM bodies WHERE first BETWEEN ? AND ?", ends)
        self._insert(piece)

    def _large(self, number: int, body: bytes) -> None:
        digest = blake2b(body, digest_size=16).digest()
        if not self._db.execute("SELECT 1 FROM body WHERE hash = ?", (digest,)).fetchone():
            small = zlib.compress(body, 1)
            self._db.execute("INSERT INTO body VALUES (?, ?, ?)", (digest, len(body), small))
            self._grown += len(small)
        self._db.execute("INSERT OR REPLACE INTO large VALUES (?, ?)", (number, digest))

    def _change(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        known: dict[str, dict[int, int]] = {}
        for number, column, value in changes:
            known.setdefault(column, {})[number] = value
        self._put_changes(known)
        if self._changes > _CHANGES:
            self._merge_changes()

    def _put_changes(self, changes: Mapping[str, Mapping[int, int]]) -> None:
        for column, values in changes.items():
            row = (column, packed(values.keys()), packed(values.values()))
            self._db.execute("INSERT INTO change(field, numbers, news) VALUES (?, ?, ?)", row)
            self._changes += 1

    def _merge_changes(self) -> None:
        """Many rows of changes become one for each column; readers take them in order, so the last one counts."""
        if self._changes < 2:
            return
        known: dict[str, dict[int, int]] = {}
        rows = self._db.execute(
            "SELECT seq, field, numbers, news FROM change WHERE seq > ? ORDER BY seq", (self._changes_since,)
        )
        for _, column, numbers, news in rows.fetchall():
            known.setdefault(column, {}).update(zip(unpacked(numbers), unpacked(news), strict=True))
        self._db.execute("DELETE FROM change WHERE seq > ?", (self._changes_since,))
        self._put_changes(known)
        self._changes = 0
        self._changes_since = self._db.execute("SELECT max(seq) FROM change").fetchone()[0] or 0

    def _extra(self, extras: Iterable[Extra]) -> None:
        latest = {(number, name): value for number, name, value in extras}
        gone = [key for key, value in latest.items() if value is None]
        self._db.executemany("DELETE FROM extra WHERE number = ? AND name = ?", gone)
        rows = [(*key, dumps(value).decode("utf-8", "replace")) for key, value in latest.items() if value is not None]
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            values = ", ".join(["(?, ?, ?)"] * len(some))
            self._db.execute(f"INSERT OR REPLACE INTO extra VALUES {values}", [*chain.from_iterable(some)])

    def _put_meta(self, values: Mapping[str, object]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    # ------------------------------------------------------------------ bounds

    def _prune(self) -> None:
        sessions.prune(self._folder, self._most, time.time() - self._age)

    def _used(self) -> int:
        pages, free, size = (self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in _PAGES)
        return (pages - free) * size

    def _trim(self) -> None:
        """Where this session alone is too large, its oldest blocks go; the file itself is filled again."""
        if self._used() <= self._most:
            return
        db = self._db
        while self._used() > self._most * 0.9:
            (blocks,) = db.execute("SELECT count(*) FROM block").fetchone()
            keep = db.execute("SELECT first FROM block ORDER BY first LIMIT 1 OFFSET ?", (blocks // 20 + 1,)).fetchone()
            if keep is None:
                return
            db.execute("BEGIN IMMEDIATE")
            for table, column in (("block", "first"), ("bodies", "first"), ("large", "number"), ("extra", "number")):
                db.execute(f"DELETE FROM {table} WHERE {column} < ?", keep)
            db.execute("DELETE FROM body WHERE hash NOT IN (SELECT hash FROM large)")
            for seq, numbers in db.execute("SELECT seq, numbers FROM change ORDER BY seq").fetchall():
                if max(unpacked(numbers), default=0) >= keep[0]:
                    break
                db.execute("DELETE FROM change WHERE seq = ?", (seq,))
            db.execute("COMMIT")
            self.first = keep[0]
            self._tail = [first for first in self._tail if first >= self.first]


_PAGES = ("page_count", "freelist_count", "page_size")


def _reserve(folder: Path) -> tuple[Path, int]:
    """A name that nobody has, and its lock."""
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    for number in range(1, _TRIES):
        path = folder / f"{stem}{f'-{number}' if number > 1 else ''}{format.ENDING}"
        if not path.exists() and (handle := lock.take(lock.lock_of(path))) is not None:
            return path, handle
    raise FileExistsError(17, "no name is left for a session", str(folder))


def _storable(name: tuple[str, int, str]) -> tuple[str, int, str]:
    # Half a surrogate is no text for SQLite, and some of its functions take NUL for the end.
    return name[0], name[1], name[2].encode("utf-8", "replace").decode().replace("\0", "␀")
