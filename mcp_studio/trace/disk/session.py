"""A session that is over, or that another process is writing, as a recording that can be read, marked and followed."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
import zlib
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, JsonProblem, dumps, loads
from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import Materialiser
from mcp_studio.trace.disk import format
from mcp_studio.trace.disk.format import WIDTH, ends_of, join_bodies, native, packed, split, unpacked
from mcp_studio.trace.disk.sessions import SessionInfo, describe
from mcp_studio.trace.message import CODES, DIRECTIONS, KINDS, OUTCOMES, Block, Columns, Names, Reader, WireMessage

_MOST_ENTRIES = 10_000_000
_MOST_LINKS = 1_000_000
_PATIENCE = 20.0
"""Seconds for reading all of it; an honest file of a million entries takes 0.2."""
_BLOCK = 1 << 16
"""Entries of one block."""
_GAP = 1_000_000
"""Missing entries, all together, in whose place empty ones are put."""
_HIGHEST = (1 << 32) - 1
_LATEST = 1e11
"""The year 5138: later moments cannot be shown everywhere."""
_LONGEST = 4_000
"""Characters of one name."""
_GOOD = {
    "kind": bytes(way << 4 | kind for way in range(len(DIRECTIONS)) for kind in range(len(KINDS))),
    "outcome": bytes(range(len(OUTCOMES) + 1)),
    "flags": bytes(range(256)),
}
_NOTE = DIRECTIONS.index("none") << 4 | KINDS.index("note")
_SHARED = {"server": "servers", "method": "methods", "target": "targets"}


class Loader:
    """Brings columns up to what a file holds, as often as it is asked to."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._path, self._db = path, db
        self.columns = Columns()
        self._names = dict.fromkeys(_SHARED, 1)
        self._seq = 0
        self._missing = 0
        self._began = False
        self._deadline = 0.0
        self.problem = ""
        """What could not be read, in a sentence."""

    def load(self) -> list[int]:
        """Take what is new; returns the numbers of the entries known before that have changed.

        Raises:
            StudioError: the file cannot be read at all.
        """
        self._deadline = time.monotonic() + _PATIENCE
        known = len(self.columns)
        with format.told(self._path):
            self._db.execute("BEGIN")  # all of one moment: a change may be about the newest entry
        try:
            with format.told(self._path):
                self._load_names()
            self._load_blocks()
            self._check_links(known)
            return self._load_changes()
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("COMMIT")

    def _load_names(self) -> None:
        for kind, shared in _SHARED.items():
            names: Names = getattr(self.columns, shared)
            rows = self._db.execute(
                "SELECT number, substr(text, 1, ?) FROM name WHERE kind = ? AND number > ? ORDER BY number",
                (_LONGEST, kind, self._names[kind]),
            )
            for number, text in rows:
                # Several may have the same text: what SQLite cannot keep of them has been replaced.
                if number != len(names.texts) or not isinstance(text, str) or not names.append(text):
                    self._damaged()
                    break
                self._names[kind] = number

    # ------------------------------------------------------------------ blocks

    def _load_blocks(self) -> None:
        columns = self.columns
        keys = self._keys()
        for place, (first, said) in enumerate(keys):
            after = columns.first + len(columns) if self._began else first
            count = min(said, _BLOCK, keys[place + 1][0] - first if place + 1 < len(keys) else _BLOCK)
            if first < 1 or count < 1 or first + count > _HIGHEST or not self._fill(first - after):
                self._damaged()
                return
            if not self._began:
                self._began, columns.first = True, first
            known = columns.first + len(columns) - first
            if known < count:
                self._take(first, count, known)
            if self._late():
                return

    def _keys(self) -> list[tuple[int, int]]:
        """The blocks in which there is something new, the oldest first."""
        last = self.columns.first + len(self.columns) - 1 if self._began else 0
        # One block may begin among what is known, and reach beyond.
        query = "SELECT first, count, length(columns) FROM block WHERE first >= ? ORDER BY first"
        keys: list[tuple[int, int]] = []
        try:
            with format.told(self._path):
                row = self._db.execute("SELECT max(first) FROM block WHERE first <= ?", (last + 1,)).fetchone()
                for first, count, size in self._db.execute(query, (row[0] or 0,)):
                    if not isinstance(first, int) or not isinstance(count, int) or (keys and first <= keys[-1][0]):
                        self._damaged()
                        break
                    if isinstance(size, int) and size >= WIDTH and size != count * WIDTH:
                        self._damaged()
                        count = size // WIDTH
                    keys.append((first, count))
        except StudioError as error:
            self.problem = error.message
        return keys

    def _take(self, first: int, count: int, known: int) -> None:
        """Append the rows of one block but the first `known`."""
        try:
            with format.told(self._path):
                row = self._db.execute("SELECT columns FROM block WHERE first = ?", (first,)).fetchone()
        except StudioError:
            row = None
        raw = row[0] if row else None
        if not isinstance(raw, bytes) or len(raw) != count * WIDTH:
            self._damaged()
            self._fill(count - known)
            return
        for name, values in split(raw, count).items():
            column: array[Any] = array(CODES[name])
            column.frombytes(values)
            native(column)
            fresh = column[known:] if known else column
            getattr(self.columns, name).extend(self._checked(name, fresh))

    def _checked(self, name: str, values: array[Any]) -> array[Any]:
        """The values, those that mean nothing replaced."""
        if good := _GOOD.get(name):
            raw = values.tobytes()
            if not raw.translate(None, good):
                return values
            substitute = _NOTE if name == "kind" else 0
            return self._replaced(values, lambda value: value if value in good else substitute)
        if name == "time":
            # A sum is only finite where all of them are.
            if -1.0 < sum(values) < _LATEST * len(values) and min(values) >= 0 and max(values) < _LATEST:
                return values
            return self._replaced(values, lambda value: value if 0 <= value < _LATEST else 0.0)
        if name in _SHARED:
            most = len(getattr(self.columns, _SHARED[name]).texts)
            if max(values) < most:
                return values
            return self._replaced(values, lambda value: value if value < most else 1)
        return values

    def _replaced(self, values: array[Any], by: Any) -> array[Any]:
        self._damaged()
        return array(values.typecode, map(by, values))

    def _check_links(self, known: int) -> None:
        """None leads to an entry that is not there."""
        links, after = self.columns.link, self.columns.first + len(self.columns)
        for start in range(known, len(links), _BLOCK):  # in pieces: other threads want to run too
            piece = links[start : start + _BLOCK]
            if max(piece) >= after:
                links[start : start + _BLOCK] = self._replaced(piece, lambda number: number if number < after else 0)

    def _fill(self, count: int) -> bool:
        """Empty rows in the place of missing entries; False where too many are missing."""
        if count <= 0:
            return count == 0 or self._began
        self._missing += count
        if self._missing > _GAP:
            return False
        columns = self.columns
        last = columns.time[-1] if len(columns) else 0.0
        for name, code in CODES.items():
            value = last if name == "time" else _NOTE if name == "kind" else 0
            getattr(columns, name).extend(array(code, [value]) * count)
        return True

    # ------------------------------------------------------------------ changes

    def _load_changes(self) -> list[int]:
        known = len(self.columns)
        changed: list[int] = []
        query = "SELECT seq, field, numbers, news FROM change WHERE seq > ? ORDER BY seq"
        try:
            with format.told(self._path):
                for seq, field, numbers, news in self._db.execute(query, (self._seq,)):
                    if not isinstance(seq, int) or seq <= self._seq:
                        self._damaged()
                        break
                    self._seq = seq
                    if isinstance(numbers, bytes) and isinstance(news, bytes) and len(numbers) == len(news):
                        touched = self._change(field, numbers, news)
                        changed += touched if known else ()
                    else:
                        self._damaged()
                    if self._late():
                        break
        except StudioError as error:
            self.problem = error.message
        return changed

    def _change(self, field: str, raw: bytes, news: bytes) -> array[int]:
        """Put the changes of one column in their places, those that make sense."""
        columns = self.columns
        if len(raw) % 4:
            self._damaged()
            return array("I")
        numbers, values = unpacked(raw), unpacked(news)
        first, after = columns.first, columns.first + len(columns)
        if field in ("parent", "follows"):
            links = columns.parents if field == "parent" else columns.follows
            for number, value in zip(numbers, values, strict=True):
                if value < number < after and len(links) < _MOST_LINKS:
                    links[number] = value
            return numbers
        most = self._most(field)
        if not numbers or not most:
            return array("I")
        column = getattr(columns, field)
        if min(numbers) >= first and max(numbers) < after and max(values) < most and field != "kind":
            for number, value in zip(numbers, values, strict=True):
                column[number - first] = value
            return numbers
        for number, value in zip(numbers, values, strict=True):
            if first <= number < after and value < most and (field != "kind" or value in _GOOD["kind"]):
                column[number - first] = value
        return numbers

    def _most(self, field: str) -> int:
        """What the values of a changeable column stay below; 0 for what is none."""
        if field in ("method", "target"):
            return len(getattr(self.columns, _SHARED[field]).texts)
        after = self.columns.first + len(self.columns)
        return {"link": after, "outcome": len(OUTCOMES) + 1, "flags": 256, "kind": 256}.get(field, 0)

    def _late(self) -> bool:
        late = len(self.columns) > _MOST_ENTRIES or time.monotonic() > self._deadline
        if late:
            self.problem = f"The session {self._path.name} is too long: only its beginning is read."
        return late

    def _damaged(self) -> None:
        self.problem = self.problem or f"The session {self._path.name} is damaged: what can be read is shown."


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


def open_session(path: Path, clean: Callable[[str], str] = str) -> Session:
    """Read what is known of every entry: about 0.2 s for a million, so call it in a thread.

    Args:
        path: the session's file, from anybody.
        clean: takes secrets out of comments that are added.

    Raises:
        StudioError: it is not there, no session, of a newer version, or cannot be read at all.
    """
    return Session(path, clean)


class Session:
    """Implements `recording.Recording`. After opening it belongs to one thread; `refresh` takes over what is new."""

    def __init__(self, path: Path, clean: Callable[[str], str] = str) -> None:
        self.path = path
        self._clean = clean
        self._db = format.connect(path)
        self._loader = Loader(path, self._db)
        try:
            with format.told(path):
                self._version = self._data_version()
            self._loader.load()
        except BaseException:
            self._db.close()
            raise
        format.unhurried(self._db)
        self.info: SessionInfo = describe(path)
        """As it was when it was opened, or refreshed with something new."""
        self.revision = 1
        """Changes with everything that changes."""
        self._trouble = ""
        self._comments: dict[int, str] = {}
        self._here, self._there = DiskReader(path), DiskReader(path)
        self._worker = ThreadPoolExecutor(1, "session")
        self._materialiser = Materialiser(lambda: self.columns, self._here.body, self._here.extra)

    def close(self) -> None:
        """Wait for what is being written, and let the file go; any number of times."""
        with contextlib.suppress(RuntimeError):  # it was closed before
            self._worker.submit(self._there.close)
        self._worker.shutdown()
        self._here.close()
        self._db.close()

    @property
    def problem(self) -> str:
        """What could not be read or written, in a sentence; empty where all is well."""
        lost = self.info.lost
        said = (
            f"Of {lost:,} message{'s' if lost != 1 else ''} only the size was kept: the disk was slow." if lost else ""
        )
        return self._trouble or self._loader.problem or self._here.problem or said

    @property
    def columns(self) -> Columns:
        """What is known of every entry."""
        return self._loader.columns

    @property
    def total(self) -> int:
        """The number of the newest entry."""
        return self.columns.first + len(self.columns) - 1

    @property
    def first_number(self) -> int:
        """The number of the oldest entry kept."""
        return self.columns.first

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, index: int, /) -> WireMessage:
        entry = self.entry(self.first_number + index) if index >= 0 else None
        if entry is None:
            raise IndexError(index)
        return entry

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number, its span with it; None when it is not kept."""
        return self._materialiser.entry(number)

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body, also of what is large, without blocking the event loop."""
        if isinstance(entry.held, bytes):
            return entry.held
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._there.body, entry.number)

    def reader(self) -> Reader:
        """For another thread."""
        return DiskReader(self.path)

    def refresh(self) -> bool:
        """Take over what was written since; whether there was anything. Cheap where there was nothing.

        Raises:
            StudioError: the file cannot be read any more.
        """
        with format.told(self.path):
            version = self._data_version()
        if version == self._version:
            return False
        self._version = version
        for number in set(self._loader.load()):
            self._changed(number)
        self._here.forget()
        self._worker.submit(self._there.forget)
        self.info = describe(self.path)
        self.revision += 1
        return True

    # ------------------------------------------------------------------ marks and comments

    def mark(self, number: int, on: bool) -> None:
        """Mark an entry, or no longer."""
        self._flag(number, bits.MARKED, on)

    def comment(self, number: int, text: str) -> None:
        """Keep a comment on an entry, without secrets; empty removes it."""
        if 0 <= number - self.first_number < len(self):
            text = self._comments[number] = self._clean(text)
            self._flag(number, bits.COMMENTED, bool(text), text)

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or nothing."""
        known = self._comments.get(number)
        if known is not None:
            return known
        row = number - self.first_number
        if not 0 <= row < len(self) or not self.columns.flags[row] & bits.COMMENTED:
            return ""
        kept = self._here.extra(number, "comment")
        return kept if isinstance(kept, str) else ""

    def _flag(self, number: int, bit: int, on: bool, comment: str | None = None) -> None:
        row = number - self.first_number
        if not 0 <= row < len(self):
            return
        flags = self.columns.flags
        flags[row] = flags[row] | bit if on else flags[row] & ~bit
        self._changed(number)
        self.revision += 1
        self._worker.submit(self._write, number, flags[row], comment)

    def _changed(self, number: int) -> None:
        self.columns.revise(number)
        self._materialiser.forget(number)

    def _write(self, number: int, flags: int, comment: str | None) -> None:
        """In the worker's thread."""
        try:
            with format.told(self.path), contextlib.closing(format.connect(self.path, write=True)) as db:
                db.execute("BEGIN IMMEDIATE")
                row = ("flags", packed([number]), packed([flags]))
                db.execute("INSERT INTO change(field, numbers, news) VALUES (?, ?, ?)", row)
                if comment:
                    text = dumps(comment).decode("utf-8", "replace")
                    db.execute("INSERT OR REPLACE INTO extra VALUES (?, 'comment', ?)", (number, text))
                elif comment is not None:
                    db.execute("DELETE FROM extra WHERE number = ? AND name = 'comment'", (number,))
                db.execute("COMMIT")
        except StudioError as error:
            self._trouble = error.message.replace("cannot be read", "cannot be written")

    def _data_version(self) -> int:
        return self._db.execute("PRAGMA data_version").fetchone()[0]
