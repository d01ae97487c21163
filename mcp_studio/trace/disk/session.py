"""A session that is over, or that another process is writing, as a recording that can be read, marked and followed."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import dumps
from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import Materialiser
from mcp_studio.trace.disk import format
from mcp_studio.trace.disk.format import WIDTH, packed, split, unpacked
from mcp_studio.trace.disk.reader import DiskReader
from mcp_studio.trace.disk.sessions import SessionInfo, describe
from mcp_studio.trace.message import CODES, DIRECTIONS, KINDS, OUTCOMES, Columns, Names, Reader, WireMessage

_MOST_ENTRIES = 10_000_000
_MOST_LINKS = 1_000_000
_PATIENCE = 20.0
"""Seconds for reading all of it; an honest file of a million entries takes 0.2."""
_BLOCK = 1 << 16
"""Entries of one block."""
_GAP = 1_000_000
"""Missing entries, all together, in whose place empty ones are put."""
_LATEST = 1e11
"""The year 5138: later moments cannot be shown everywhere."""
_LONGEST = 4_000
"""Characters of one name."""
_NOTE = DIRECTIONS.index("none") << 4 | KINDS.index("note")
_KINDS = bytes(value if value >> 4 < len(DIRECTIONS) and value & 15 < len(KINDS) else _NOTE for value in range(256))
"""What a byte of the column `kind` is taken for."""
_SHARED = {"server": "servers", "method": "methods", "target": "targets"}


class Loader:
    """Brings columns up to what a file holds, as often as it is asked to. Nothing in the file is trusted."""

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

    def load(self) -> set[int]:
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
            changed = set[int]()
            try:
                with format.told(self._path):
                    self._load_blocks()
                    self._check_links(known)
                    changed = self._load_changes()
            except StudioError as error:
                self.problem = error.message
            return changed if known else set()
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

    def _load_blocks(self) -> None:
        columns = self.columns
        last = columns.first + len(columns) - 1 if self._began else 0
        # One block may begin among what is known, and reach beyond.
        (begin,) = self._db.execute("SELECT max(first) FROM block WHERE first <= ?", (last + 1,)).fetchone()
        query = "SELECT first, count, columns FROM block WHERE first >= ? ORDER BY first"
        for first, count, raw in self._db.execute(query, (begin or 0,)):
            if not isinstance(first, int) or not isinstance(count, int) or not 0 < first < (1 << 32) - _BLOCK:
                return self._damaged()
            whole = isinstance(raw, bytes) and len(raw) >= WIDTH and not len(raw) % WIDTH
            if whole and len(raw) != count * WIDTH:
                self._damaged()
                count = len(raw) // WIDTH
            if not self._began:
                self._began, columns.first = True, first
            after = columns.first + len(columns)
            if not 0 < count <= _BLOCK or not self._fill(first - after):
                return self._damaged()
            self._take(raw if whole else None, count, max(0, after - first))
            if self._too_long():
                return None
        return None

    def _take(self, raw: bytes | None, count: int, known: int) -> None:
        """Append the rows of one block but the first `known`."""
        if known >= count:
            return
        if raw is None:
            self._damaged()
            self._fill(count - known)
            return
        for name, values in split(raw, count).items():
            column: array[Any] = array(CODES[name])
            column.frombytes(values[known * column.itemsize :])
            getattr(self.columns, name).extend(self._checked(name, column))

    def _checked(self, name: str, values: array[Any]) -> array[Any]:
        """The values, those that mean nothing replaced."""
        if name == "time":
            if min(values) >= 0 and max(values) < _LATEST and math.isfinite(sum(values)):
                return values
            good = [value if 0 <= value < _LATEST else 0.0 for value in values]
        elif name == "kind":
            good = list(values.tobytes().translate(_KINDS))
        elif name == "outcome" or name in _SHARED:
            most, other = (
                (len(getattr(self.columns, _SHARED[name]).texts), 1) if name in _SHARED else (len(OUTCOMES) + 1, 0)
            )
            if max(values) < most:
                return values
            good = [value if value < most else other for value in values]
        else:
            return values
        checked = array(values.typecode, good)
        if checked != values:
            self._damaged()
        return checked

    def _check_links(self, known: int) -> None:
        """None leads to an entry that is not there."""
        links, after = self.columns.link, self.columns.first + len(self.columns)
        if max(links[known:], default=0) >= after:
            self._damaged()
            links[known:] = array("I", [number if number < after else 0 for number in links[known:]])

    def _fill(self, count: int) -> bool:
        """Empty rows in the place of missing entries; False where too many are missing."""
        count = max(0, count)
        self._missing += count
        if self._missing > _GAP:
            return False
        columns = self.columns
        last = columns.time[-1] if len(columns) else 0.0
        for name, code in CODES.items():
            value = last if name == "time" else _NOTE if name == "kind" else 0
            getattr(columns, name).extend(array(code, [value]) * count)
        return True

    def _load_changes(self) -> set[int]:
        changed: set[int] = set()
        query = "SELECT seq, field, numbers, news FROM change WHERE seq > ? ORDER BY seq"
        for seq, field, numbers, news in self._db.execute(query, (self._seq,)):
            self._seq = seq
            if (
                not isinstance(numbers, bytes)
                or not isinstance(news, bytes)
                or len(numbers) != len(news)
                or len(news) % 4
            ):
                self._damaged()
                continue
            pairs = zip(unpacked(numbers), unpacked(news), strict=True)
            if field in ("parent", "follows"):
                self._link(self.columns.parents if field == "parent" else self.columns.follows, pairs)
            else:
                changed |= self._change(field, pairs)
            if self._too_long():
                break
        return changed

    def _link(self, links: dict[int, int], pairs: Iterable[tuple[int, int]]) -> None:
        last = self.columns.first + len(self.columns) - 1
        for number, above in pairs:
            if 0 < above < number <= last and len(links) < _MOST_LINKS:
                links[number] = above

    def _change(self, field: object, pairs: Iterable[tuple[int, int]]) -> set[int]:
        """Put the changes of one column in their places, those that make sense."""
        columns, after = self.columns, self.columns.first + len(self.columns)
        mosts = {
            "link": after, "outcome": len(OUTCOMES) + 1, "flags": 256, "kind": 256,
            "method": len(columns.methods.texts), "target": len(columns.targets.texts),
        }  # fmt: skip
        if not isinstance(field, str) or field not in mosts:
            self._damaged()
            return set()
        most, values, changed = mosts[field], getattr(columns, field), set[int]()
        for number, value in pairs:
            if columns.first <= number < after and value < most and (field != "kind" or _KINDS[value] == value):
                values[number - columns.first] = value
                changed.add(number)
        return changed

    def _too_long(self) -> bool:
        too_long = len(self.columns) > _MOST_ENTRIES or time.monotonic() > self._deadline
        if too_long:
            self.problem = f"The session {self._path.name} is too long: only its beginning is read."
        return too_long

    def _damaged(self) -> None:
        self.problem = self.problem or f"The session {self._path.name} is damaged: what can be read is shown."


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
        self._reader = DiskReader(path)
        self._worker = ThreadPoolExecutor(1, "session")
        self._materialiser = Materialiser(lambda: self.columns, self._reader.body, self._reader.extra)

    def close(self) -> None:
        """Wait for what is being written, and let the file go; any number of times."""
        self._worker.shutdown()
        self._reader.close()
        self._db.close()

    @property
    def problem(self) -> str:
        """What could not be read or written, in a sentence; empty where all is well."""
        lost = self.info.lost
        said = (
            f"Of {lost:,} message{'s' if lost != 1 else ''} only the size was kept: the disk was slow." if lost else ""
        )
        return self._trouble or self._loader.problem or self._reader.problem or said

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
        return await asyncio.to_thread(entry.held)

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
        for number in self._loader.load():
            self.columns.revise(number)
        self._materialiser.forget()
        self._reader.forget()
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
        kept = self._reader.extra(number, "comment")
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
        self._materialiser.forget()

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
