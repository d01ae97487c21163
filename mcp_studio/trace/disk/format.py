"""The file of a session: its tables, and opening it.

A file may come from anybody: it is opened without trust, and every value is checked when it is read. A `block` holds
the columns of some neighbouring entries (one column after the other, in the order of `message.CODES`, little-endian),
`bodies` their bodies in one piece; a large body is stored once in `body`. `ends`, `numbers` and `news` are arrays of
32-bit numbers.
"""

from __future__ import annotations

import sqlite3
import stat
import time
from array import array
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.trace.message import CODES

ENDING = ".trace"
APPLICATION = 0x4D435054
"""The id in the file's header (`PRAGMA application_id`)."""
FORMAT = 1
"""The version of files that are written now (`PRAGMA user_version`)."""
TABLES = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE name(kind TEXT, number INTEGER, text TEXT, PRIMARY KEY(kind, number)) WITHOUT ROWID",
    "CREATE TABLE block(first INTEGER PRIMARY KEY, count INTEGER, columns BLOB)",
    "CREATE TABLE bodies(first INTEGER PRIMARY KEY, ends BLOB, data BLOB)",
    "CREATE TABLE change(seq INTEGER PRIMARY KEY AUTOINCREMENT, field TEXT, numbers BLOB, news BLOB)",
    "CREATE TABLE extra(number INTEGER, name TEXT, value TEXT, PRIMARY KEY(number, name)) WITHOUT ROWID",
    "CREATE TABLE large(number INTEGER PRIMARY KEY, hash BLOB)",
    "CREATE TABLE body(hash BLOB PRIMARY KEY, size INTEGER, packed BLOB)",
)
"""A file with any other table is not a session."""
_BY_ITSELF = "sqlite_sequence"
_PAGE = 4_096
_LONGEST = 300 << 20
"""Bytes of the largest value that is read from a file."""
_BUSY, _BUSY_WRITER = 2.0, 30.0
"""Seconds that a statement waits for another process, as a reader and as the writer."""
PATIENCE = 10.0
"""Seconds for the first statements of a connection (see `unhurried`), so that no file can waste more time."""


def create(path: Path) -> sqlite3.Connection:
    """Create the private file of a new session, for its single writer.

    Raises:
        sqlite3.Error, OSError: the file cannot be created.
    """
    path.touch(0o600, exist_ok=False)
    db = sqlite3.connect(path, timeout=_BUSY_WRITER, isolation_level=None, check_same_thread=False)
    # An empty file can lose nothing, and waiting for the disk would take longer than everything else.
    # The writer only appends, so it would hardly reread the 2 MB of pages that SQLite caches by default.
    for pragma in (
        f"page_size={_PAGE}", "synchronous=OFF", "journal_mode=WAL", "trusted_schema=OFF", "cache_size=-256",
    ):  # fmt: skip
        db.execute(f"PRAGMA {pragma}")
    db.execute("BEGIN")
    for table in TABLES:
        db.execute(table)
    db.execute(f"PRAGMA application_id={APPLICATION}")
    db.execute(f"PRAGMA user_version={FORMAT}")
    db.execute("COMMIT")
    # A killed process loses no committed data. With NORMAL a power failure may take the last moments.
    db.execute("PRAGMA synchronous=NORMAL")
    return db


def unhurried(db: sqlite3.Connection) -> None:
    """Lift the time limit of a connection that will run only small statements."""
    db.set_progress_handler(None, 0)


def connect(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """Open a session's file for reading, or for adding to it. See `unhurried`.

    Raises:
        StudioError: the file is missing, no session, damaged, or of a newer version.
    """
    with as_studio_errors(path):
        if not stat.S_ISREG(path.stat().st_mode):
            raise _foreign(path)
        place = f"{path.absolute().as_uri()}?mode={'rw' if write else 'ro'}"
        db = sqlite3.connect(place, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        try:
            _bound(db)
            _check(db, path)
        except BaseException:
            db.close()
            raise
    return db


@contextmanager
def as_studio_errors(path: Path) -> Generator[None]:
    """Turn errors of SQLite and the system on a session's file into `StudioError`."""
    try:
        yield
    except FileNotFoundError:
        raise StudioError(f"There is no session {path}.") from None
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        # SQLite's own message causes the latter when it quotes a damaged file.
        if "not a database" in str(problem):
            raise _foreign(path) from None
        raise StudioError(f"The session {path.name} cannot be read: {problem}.") from None
    except OSError as problem:
        raise StudioError(f"The session {path.name} cannot be read: {problem.strerror}.") from None


def _foreign(path: Path) -> StudioError:
    return StudioError(f"{path.name} is not a session of the studio.")


def _bound(db: sqlite3.Connection) -> None:
    """Limit the memory and time that a file can take."""
    db.text_factory = _text
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "cache_size=-2000"):
        db.execute(f"PRAGMA {pragma}")
    deadline = time.monotonic() + PATIENCE
    db.set_progress_handler(lambda: time.monotonic() > deadline, 1_000_000)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a session, or contains anything else."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION or version < 1:
        raise _foreign(path)
    if version > FORMAT:
        raise StudioError(
            f"The session {path.name} was written by a newer version of the studio.",
            hint=f"It has format {version}; this version reads formats up to {FORMAT}.",
        )
    known = {*TABLES}
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_schema LIMIT 100"):
        automatic = kind == "index" and sql is None and name.startswith("sqlite_autoindex_")
        if not (automatic or name == _BY_ITSELF or (kind == "table" and sql in known)):
            raise _foreign(path)
        known.discard(sql)
    if known:
        raise _foreign(path)


WIDTHS = {name: array(code).itemsize for name, code in CODES.items()}
"""Bytes of one value of each column."""
WIDTH = sum(WIDTHS.values())


def split(columns: bytes, count: int) -> dict[str, memoryview]:
    """The columns of a block, by name."""
    view, at = memoryview(columns), 0
    found: dict[str, memoryview] = {}
    for name, width in WIDTHS.items():
        found[name] = view[at : at + count * width]
        at += count * width
    return found


class Batch(NamedTuple):
    """Some redacted entries, numbered from `first`, and changes to these and earlier ones."""

    first: int
    columns: Mapping[str, bytes]
    """The new values of each column as bytes, see `message.CODES`."""
    bodies: tuple[bytes, ...]
    names: tuple[tuple[str, int, str], ...] = ()
    """New names: `server`, `method` or `target`, number, text."""
    changes: Mapping[str, Mapping[int, int]] = {}
    """Values by column and entry. `parent` and `follows`, which are not columns, come only here."""
    extras: Mapping[tuple[int, str], Json] = {}
    """Rare members, `findings` and `comment`, by entry and name; None deletes one."""
