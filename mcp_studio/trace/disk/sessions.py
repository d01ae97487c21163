"""The sessions in a folder: listing, finding, deleting and bounding them. No entries are read."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.trace.disk import format
from mcp_studio.vault.base import try_lock

_MOST = 1_000
"""The most sessions that are kept and listed."""
_SERVERS = 100
_LONGEST = 1_000
"""Characters of the longest name or title."""
_WAL = "-wal"
_LOCK_ENDING = ".lock"
_META = {"origin": str, "title": str, "version": str, "pid": int, "lost": int}
_BESIDE = (_WAL, "-shm", "-journal")
NAMES = ("last", "running")
"""Words for a session: the newest other one with entries, and the newest that is being recorded."""


class SessionInfo(NamedTuple):
    """The description of a session, without reading its entries. Texts may be foreign: sanitize them before showing."""

    path: Path
    name: str
    """The file's name without its ending; starts with the date, so that names sort by age."""
    state: Literal["running", "ended", "crashed", "unreadable"] = "unreadable"
    """`running`: a process writes the session now; `crashed`: its process ended without closing it."""
    origin: str = ""
    """The front end that wrote the session, such as `tui`."""
    title: str = ""
    began: float = 0.0
    """Seconds since the epoch."""
    ended: float | None = None
    pid: int = 0
    version: str = ""
    """The version of the studio that wrote the session."""
    first: int = 1
    """The number of the oldest entry that is kept; earlier ones were deleted to save space."""
    entries: int = 0
    lost: int = 0
    """Entries without bodies, because the disk was too slow."""
    bytes: int = 0
    """Bytes on disk."""
    servers: tuple[str, ...] = ()
    problem: str = ""
    """Why the session cannot be read."""


def sessions(folder: Path, most: int = _MOST) -> list[SessionInfo]:
    """The sessions in a folder, newest first; never raises."""
    files = sorted(_files(folder), reverse=True)[:most]
    return [describe(file) for file in files]


def describe(path: Path) -> SessionInfo:
    """The description of one session; `problem` says what cannot be read."""
    info = SessionInfo(path, path.stem, bytes=size_of(path))
    running = is_locked(lock_of(path))
    try:
        with contextlib.closing(format.connect(path)) as db, format.as_studio_errors(path):
            info = _read(db, info)
    except StudioError as error:
        return info._replace(problem=" ".join(part for part in (error.message, error.hint) if part))
    return info._replace(state="running" if running else "crashed" if info.ended is None else "ended")


def find(folder: Path, name: str) -> Path:
    """The session of a name: a word of `NAMES`, a name in the folder, or the beginning of exactly one name.

    Raises:
        UsageError: no session fits, or several do.
    """
    if name in NAMES:
        return _newest(folder, name)
    stem = name.removesuffix(format.ENDING)
    files = sorted(_files(folder))
    fitting = [file for file in files if file.stem == stem] or [file for file in files if file.stem.startswith(stem)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting and stem:
        shown = ", ".join(file.stem for file in fitting[-3:])
        raise UsageError(f"{len(fitting)} sessions begin with `{name}`.", hint=f"Say more of its name: {shown}")
    hint = f"The newest one is {files[-1].stem}." if files else f"There is no session in {folder}."
    raise UsageError(f"There is no session `{name}`.", hint=hint)


def _newest(folder: Path, name: str) -> Path:
    for file in sorted(_files(folder), reverse=True):
        info = describe(file)
        running = info.state == "running"
        if running if name == "running" else info.entries and not (running and info.pid in _above()):
            return file
    if name == "running":
        raise UsageError("Nothing is being recorded now.", hint="`mcp-studio trace` lists all sessions.")
    raise UsageError(f"There is no session in {folder}.")


def _above() -> list[int]:
    """This process and its ancestors, where the system tells: a client that records may have started this mock."""
    pids = [os.getpid()]
    with contextlib.suppress(OSError):
        while pids[-1] > 1:
            stat = Path(f"/proc/{pids[-1]}/stat").read_text("utf-8", "replace")
            pids.append(int(stat.rpartition(")")[2].split()[1]))
    return pids


def size_of(path: Path) -> int:
    """Bytes on disk, with the files that SQLite keeps beside the session."""
    return sum(one.st_size for one in _stats(path))


def used(folder: Path) -> tuple[int, int]:
    """The number of sessions, and their bytes on disk."""
    found = [size_of(file) for file in _files(folder)]
    return len(found), sum(found)


def delete(path: Path) -> None:
    """Delete a session that no process writes.

    Raises:
        StudioError: a process still writes the session, or it cannot be deleted.
    """
    if is_locked(lock_of(path)):
        raise StudioError(f"The session {path.stem} is still being recorded.")
    try:
        for one in (path, *_beside(path), lock_of(path)):
            one.unlink(missing_ok=True)
    except OSError as problem:
        raise StudioError(f"The session {path.stem} cannot be deleted: {problem.strerror}.") from None


def prune(folder: Path, most_bytes: float, oldest: float, most: int = _MOST) -> int:
    """Delete sessions older than `oldest` (seconds since the epoch), then the oldest ones until the rest fits.

    Sessions that are being written stay. Returns how many were deleted.
    """
    for file in folder.glob(f"*{_LOCK_ENDING}"):
        if not file.with_suffix(format.ENDING).exists() and not is_locked(file):
            file.unlink(missing_ok=True)  # its studio ended before the session began
    found = sorted((max((one.st_mtime for one in _stats(file)), default=0), file) for file in _files(folder))
    sizes = {file: size_of(file) for _, file in found}
    total, deleted = sum(sizes.values()), 0
    for written, file in found:
        if written >= oldest and total <= most_bytes and len(found) - deleted <= most:
            break
        with contextlib.suppress(StudioError):
            delete(file)
            deleted, total = deleted + 1, total - sizes[file]
    return deleted


def tidy(folder: Path) -> None:
    """Merge the files of each session whose process ended without closing it into one file."""
    for beside in folder.glob(f"*{format.ENDING}{_WAL}"):
        path = beside.with_name(beside.name.removesuffix(_WAL))
        lock = lock_of(path)
        if path.exists() and not is_locked(lock):
            with contextlib.suppress(StudioError, sqlite3.Error):
                # The last process that closes a database merges its log into it.
                with contextlib.closing(format.connect(path, write=True)) as db:
                    db.execute("PRAGMA journal_mode=DELETE")
            lock.unlink(missing_ok=True)


def _read(db: sqlite3.Connection, info: SessionInfo) -> SessionInfo:
    values = db.execute("SELECT key, value FROM meta WHERE length(value) < ? LIMIT 50", (_LONGEST,))
    meta: dict[str, Any] = dict(values)
    wanted = "SELECT text FROM name WHERE kind = 'server' AND number > 1 ORDER BY number LIMIT ?"
    names = db.execute(wanted, (_SERVERS,))
    servers = tuple(text[:_LONGEST] for (text,) in names if isinstance(text, str))
    known = {key: meta[key] for key, kind in _META.items() if isinstance(meta.get(key), kind)}
    began, ended = _moment(meta.get("began")) or 0.0, _moment(meta.get("ended"))
    info = info._replace(began=began, ended=ended, servers=servers, **known)
    first = db.execute("SELECT min(first) FROM block").fetchone()[0]
    last = db.execute("SELECT first, count FROM block ORDER BY first DESC LIMIT 1").fetchone()
    if not (last and all(isinstance(one, int) for one in (first, *last))):
        return info
    return info._replace(first=first, entries=max(0, last[0] + last[1] - first))


def _moment(value: object) -> float | None:
    # 1e11 is the year 5138: later times cannot be shown everywhere.
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e11 else None


def _files(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (file for file in folder.iterdir() if file.suffix == format.ENDING)


def _beside(path: Path) -> tuple[Path, ...]:
    return tuple(path.with_name(path.name + ending) for ending in _BESIDE)


def _stats(path: Path) -> list[os.stat_result]:
    """The file status of a session and of the files beside it."""
    found: list[os.stat_result] = []
    for one in (path, *_beside(path)):
        with contextlib.suppress(OSError):
            found.append(one.stat())
    return found


def lock_of(session: Path) -> Path:
    """The file whose lock says that a session is being written."""
    return session.with_suffix(_LOCK_ENDING)


def take_lock(file: Path) -> int | None:
    """Create a lock file and lock it; None where it exists already.

    Raises:
        OSError: the folder cannot be written.
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return None
    if not try_lock(handle) or not os.fstat(handle).st_nlink:
        # Another studio deleted the file before it was locked.
        os.close(handle)
        return None
    return handle


def is_locked(file: Path) -> bool:
    """Whether any process, including this one, holds the lock."""
    try:
        handle = os.open(file, os.O_RDWR)
    except OSError:
        return False
    try:
        return not try_lock(handle)
    finally:
        os.close(handle)


def release_lock(file: Path, handle: int) -> None:
    """Release a lock and delete its file."""
    os.close(handle)  # first, because Windows cannot delete an open file
    file.unlink(missing_ok=True)
