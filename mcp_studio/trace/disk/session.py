"""A session that is over, or that another process is writing, as a recording that can be read, marked and followed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import dumps
from mcp_studio.trace import columns as bits
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.disk import format
from mcp_studio.trace.disk.loading import Loader
from mcp_studio.trace.disk.pieces import packed
from mcp_studio.trace.disk.reader import DiskReader
from mcp_studio.trace.disk.sessions import SessionInfo, describe
from mcp_studio.trace.materialise import Materialiser
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.recording import Reader


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
