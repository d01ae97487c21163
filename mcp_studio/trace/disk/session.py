"""A session that has ended, or that another process writes, as a recording to read and to follow."""

from __future__ import annotations

import asyncio
import contextlib
import math
import shutil
import sqlite3
import time
import weakref
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import EntryMaker
from mcp_studio.trace.disk import format
from mcp_studio.trace.disk.format import WIDTH, split
from mcp_studio.trace.disk.reader import DiskReader
from mcp_studio.trace.disk.sessions import SessionInfo, describe, is_locked, lock_of
from mcp_studio.trace.message import CODES, DIRECTIONS, KINDS, OUTCOMES, Columns, Reader, WireMessage

_MOST_ENTRIES = 10_000_000
_MOST_LINKS = 1_000_000
PATIENCE = 20.0
"""Seconds for reading all columns; an honest file of a million entries takes 0.2."""
_LATEST = 1e11
"""Seconds of the year 5138: later times cannot be shown everywhere."""
_LONGEST = 4_000
"""Characters of the longest name."""
_NOTE = DIRECTIONS.index("none") << 4 | KINDS.index("note")
_ALL_KINDS = frozenset(way << 4 | kind for way in range(len(DIRECTIONS)) for kind in range(len(KINDS)))


class Loader:
    """Updates columns from a file, any number of times.

    The file is not trusted: the first invalid value ends the reading.
    """

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self._path, self._db = path, db
        self.columns = Columns()
        self._names = {"server": self.columns.servers, "method": self.columns.methods, "target": self.columns.targets}
        self._seq = 0
        self._deadline = 0.0
        self.problem = ""
        """A sentence on what could not be read."""

    def load(self) -> set[int]:
        """Read new data; returns the numbers of changed entries.

        Raises:
            StudioError: the file cannot be read at all.
        """
        self._deadline = time.monotonic() + PATIENCE
        changed: set[int] = set()
        with format.as_studio_errors(self._path):
            self._db.execute("BEGIN")  # one transaction, because a change may concern the newest entry
        try:
            with format.as_studio_errors(self._path):
                self._load_names()
                known = len(self.columns)
                try:
                    self._load_blocks(known)
                finally:
                    self._check_links(known)
                self._load_changes(changed)
        except (ValueError, TypeError, LookupError):
            self.problem = f"The session {self._path.name} is damaged: what can be read is shown."
        except StudioError as error:
            self.problem = error.message
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("COMMIT")
        return changed

    def _load_names(self) -> None:
        for kind, names in self._names.items():
            query = "SELECT number, substr(text, 1, ?) FROM name WHERE kind = ? AND number >= ? ORDER BY number"
            for number, text in self._db.execute(query, (_LONGEST, kind, len(names.texts))):
                # Texts may repeat, because characters that SQLite cannot store were replaced.
                if number != len(names.texts) or not isinstance(text, str) or not names.append(text):
                    raise ValueError

    def _load_blocks(self, known: int) -> None:
        columns = self.columns
        newest = "SELECT max(first) FROM block WHERE first <= ?"
        (begin,) = self._db.execute(newest, (columns.first + known,)).fetchone()  # the last known block may have grown
        query = "SELECT first, count, columns FROM block WHERE first >= ? ORDER BY first"
        for first, count, raw in self._db.execute(query, (begin if begin and known else 0,)):
            values = self._values(count, raw)
            if not 0 < first < first + count < 1 << 32:
                raise ValueError
            if not len(columns):
                columns.first = first
            after = columns.first + len(columns)
            self._check_bounds(first + count - columns.first)
            self._fill(first - after)
            for name, column in values.items():
                getattr(columns, name).extend(column[max(0, after - first) :])

    def _values(self, count: int, raw: bytes) -> dict[str, array[Any]]:
        """The columns of one block.

        Raises:
            ValueError, TypeError: a value in them is invalid.
        """
        if count < 1 or len(raw) != count * WIDTH:
            raise ValueError
        found = {name: array(CODES[name], bytes(part)) for name, part in split(raw, count).items()}
        named = all(max(found[name]) < len(names.texts) for name, names in self._names.items())
        timed = min(found["time"]) >= 0 and max(found["time"]) < _LATEST and math.isfinite(sum(found["time"]))
        if not named or not timed or not _ALL_KINDS.issuperset(found["kind"]) or max(found["outcome"]) > len(OUTCOMES):
            raise ValueError
        return found

    def _fill(self, count: int) -> None:
        """Add empty rows for entries that the writer never got."""
        columns = self.columns
        if count > 0:
            values: dict[str, Any] = {"time": columns.time[-1], "kind": _NOTE}
            for name, code in CODES.items():
                getattr(columns, name).extend(array(code, [values.get(name, 0)]) * count)

    def _check_links(self, known: int) -> None:
        """Clear links to entries that do not exist."""
        links, after = self.columns.link, self.columns.first + len(self.columns)
        if max(links[known:], default=0) >= after:
            links[known:] = array("I", [number if number < after else 0 for number in links[known:]])

    def _check_bounds(self, entries: int) -> None:
        if entries > _MOST_ENTRIES or time.monotonic() > self._deadline:
            raise StudioError(f"The session {self._path.name} is too long: only its beginning is read.")

    def _load_changes(self, changed: set[int]) -> None:
        """Apply the valid changes; a change may concern an entry that was deleted to save space."""
        columns = self.columns
        first, after = columns.first, columns.first + len(columns)
        links = {"parent": columns.parents, "follows": columns.follows}
        limits = {
            "link": after, "outcome": len(OUTCOMES) + 1, "flags": 256, "kind": 256,
            "method": len(columns.methods.texts), "target": len(columns.targets.texts),
        }  # fmt: skip
        query = "SELECT seq, field, numbers, news FROM change WHERE seq > ? ORDER BY seq"
        for seq, field, numbers, news in self._db.execute(query, (self._seq,)):
            self._check_bounds(len(columns))
            self._seq = seq
            pairs = zip(array("I", numbers), array("I", news), strict=True)
            if field in links:
                valid = [(number, above) for number, above in pairs if 0 < above < number < after]
                links[field].update(valid[: _MOST_LINKS - len(links[field])])
                continue
            limit, values = limits[field], getattr(columns, field)
            for number, value in pairs:
                if first <= number < after and value < limit and (field != "kind" or value in _ALL_KINDS):
                    values[number - first] = value
                    changed.add(number)


class Session:
    """Implements `message.Recording`. After opening, a session belongs to one thread; `refresh` reads new data.

    Opening reads the columns of all entries, 0.2 s for a million, so it should be done in a thread.

    Args:
        path: the session's file, from anybody.
        clean: removes secrets from comments that are added.

    Raises:
        StudioError: the file is missing, no session, of a newer version, or cannot be read at all.
    """

    def __init__(self, path: Path, clean: Callable[[str], str] = str) -> None:
        self.path = path
        self._clean = clean
        self._db = format.connect(path)
        self._loader = Loader(path, self._db)
        try:
            with format.as_studio_errors(path):
                self._version = self._data_version()
            self._loader.load()
        except BaseException:
            self._db.close()
            raise
        format.unhurried(self._db)
        self.info: SessionInfo = describe(path)
        """The description of the session when it was opened or last refreshed with new data."""
        self.revision = 1
        """A number that changes with every change."""
        self._comments: dict[int, str] = {}
        self._reader = DiskReader(path)
        self._maker = EntryMaker(lambda: self.columns, self._reader.body, self._reader.findings)

    def close(self) -> None:
        """Close the file; may be called any number of times."""
        self._reader.close()
        self._db.close()

    @property
    def problem(self) -> str:
        """A sentence on what could not be read; empty where everything could."""
        lost = self.info.lost
        loss = (
            f"Of {lost:,} message{'s' if lost != 1 else ''} only the size was kept: the disk was slow." if lost else ""
        )
        return self._loader.problem or self._reader.problem or loss

    @property
    def columns(self) -> Columns:
        """The columns of all entries."""
        return self._loader.columns

    @property
    def total(self) -> int:
        return self.columns.first + len(self.columns) - 1

    @property
    def first_number(self) -> int:
        """The number of the oldest entry that is kept."""
        return self.columns.first

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, index: int, /) -> WireMessage:
        entry = self.entry(self.first_number + index) if index >= 0 else None
        if entry is None:
            raise IndexError(index)
        return entry

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number, with its span; None where it is not kept."""
        return self._maker.entry(number)

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body, also a large one, without blocking the event loop."""
        return entry.held if isinstance(entry.held, bytes) else await asyncio.to_thread(entry.held)

    def reader(self) -> Reader:
        """A reader for another thread."""
        return DiskReader(self.path)

    def refresh(self) -> bool:
        """Read data that was written since; returns whether there was any. Cheap if there was none.

        Raises:
            StudioError: the file can no longer be read.
        """
        with format.as_studio_errors(self.path):
            version = self._data_version()
        if version == self._version and (self.info.state != "running" or is_locked(lock_of(self.path))):
            return False
        self._version = version
        for number in self._loader.load():
            self.columns.revise(number)
        self._maker.forget()
        self.info = describe(self.path)
        self.revision += 1
        return True

    # ------------------------------------------------------------------ marks and comments, while the session is open

    def mark(self, number: int, on: bool) -> None:
        """Set or remove the mark of an entry."""
        self._flag(number, bits.MARKED, on)

    def comment(self, number: int, text: str) -> None:
        """Set the comment on an entry, without secrets; an empty one removes it."""
        if 0 <= number - self.first_number < len(self):
            self._comments[number] = self._clean(text)
            self._flag(number, bits.COMMENTED, bool(text))

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or an empty text."""
        known = self._comments.get(number)
        if known is not None:
            return known
        row = number - self.first_number
        if not 0 <= row < len(self) or not self.columns.flags[row] & bits.COMMENTED:
            return ""
        comment = self._reader.extra(number, "comment")
        return comment if isinstance(comment, str) else ""

    def _flag(self, number: int, bit: int, on: bool) -> None:
        row = number - self.first_number
        if not 0 <= row < len(self):
            return
        flags = self.columns.flags
        flags[row] = flags[row] | bit if on else flags[row] & ~bit
        self.columns.revise(number)
        self._maker.forget()
        self.revision += 1

    def _data_version(self) -> int:
        return self._db.execute("PRAGMA data_version").fetchone()[0]


class Bundle(Session):
    """The recording in an exported file."""

    def __init__(self, path: Path, head: Mapping[str, Json], problem: str = "") -> None:
        super().__init__(path)
        self.head = head
        """The members of the file's first line: `made`, `by`, `title`, `servers`."""
        self._cut = problem
        self._delete = weakref.finalize(self, shutil.rmtree, path.parent, ignore_errors=True)

    @property
    def problem(self) -> str:
        """A sentence on what is wrong with the file, although it could be opened."""
        return self._cut or super().problem

    def close(self) -> None:
        """Close the file; may be called any number of times."""
        super().close()
        self._delete()
