"""Where files are stored, and how small ones are read and changed: as a whole, one process at a time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from mcp_studio.errors import ConfigError, LockHeld
from mcp_studio.jsontext import Json, loads_or, mapping, pretty
from mcp_studio.limits import MB
from mcp_studio.record import record

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

APP = "mcp-studio"


@record(frozen=True)
class Paths:
    """The three folders of one person; none of them needs to exist."""

    config: Path
    """Settings, servers and own themes: written by the person."""
    state: Path
    """What the studio remembers: drafts, agreed project files, catalogs."""
    cache: Path
    """Files that the person can delete at any time."""

    @classmethod
    def default(cls, environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Paths:
        """The usual folders of the operating system.

        `MCP_STUDIO_HOME` puts all three below one folder. The XDG variables are honoured wherever they are set to an
        absolute path, as the XDG base directory specification asks.
        """
        if own := environ.get("MCP_STUDIO_HOME"):
            root = Path(own).expanduser().absolute()
            return cls(root / "config", root / "state", root / "cache")
        usual = zip(("CONFIG", "STATE", "CACHE"), _usual(environ, platform), strict=True)
        wished = [(Path(environ.get(f"XDG_{name}_HOME", "")) / APP, folder) for name, folder in usual]
        return cls(*(wish if wish.is_absolute() else folder for wish, folder in wished))

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def answers_file(self) -> Path:
        """The rules by which the studio answers servers without asking the person."""
        return self.config / "answers.toml"

    @property
    def trust_file(self) -> Path:
        """The list of project files that the person has agreed to."""
        return self.state / "trusted.json"


def home(environ: Mapping[str, str] = os.environ) -> Path:
    """The person's home folder; `environ` decides where it names one."""
    return Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())


def _usual(environ: Mapping[str, str], platform: str) -> tuple[Path, Path, Path]:
    if platform == "win32":
        roaming = Path(environ.get("APPDATA") or home(environ) / "AppData" / "Roaming") / APP
        local = Path(environ.get("LOCALAPPDATA") or home(environ) / "AppData" / "Local") / APP
        return roaming, local / "state", local / "cache"
    if platform == "darwin":
        library = home(environ) / "Library"
        support = library / "Application Support" / APP
        return support, support / "state", library / "Caches" / APP
    base = home(environ)
    return base / ".config" / APP, base / ".local" / "state" / APP, base / ".cache" / APP


def write_atomically(file: Path, data: bytes | Iterable[bytes], *, mode: int = 0o600) -> None:
    """Replace a file's content, which may come in parts. A missing folder is made; a symbolic link is followed, not
    replaced.

    Raises:
        OSError: it cannot be written; the old content is still there.
    """
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: importing it costs 8 ms of every start.
    draft = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines((data,) if isinstance(data, bytes) else data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(draft, target.stat().st_mode & 0o777 if target.exists() else mode)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def read_object(file: Path, *, largest: int = 8 * MB, exact: bool = False) -> dict[str, Json]:
    """The JSON object in a small file of ours; empty where there is no such file or it cannot be read."""
    try:
        return mapping(loads_or(file.read_bytes(), exact=exact)) if file.stat().st_size <= largest else {}
    except OSError:
        return {}


def write_object(file: Path, value: Mapping[str, Json]) -> None:
    """Replace a small file of ours as `write_atomically` does; the JSON is indented for people.

    Raises:
        OSError: the file cannot be written; the old content is still there.
    """
    write_atomically(file, pretty(dict(value)).encode() + b"\n")


def change_file(file: Path, edit: Callable[[bytes], bytes], what: str = "") -> None:
    """Replace a file's content by what `edit` makes of it, while no other process or thread changes it.

    `edit` gets no bytes where there is no file. If it raises an error or changes nothing, the file stays as it is.

    Raises:
        ConfigError: the file cannot be read or written; `LockHeld` if another process is busy with it (`file_lock`).
    """
    try:
        with file_lock(file, what):
            before = file.read_bytes() if file.exists() else b""
            if (after := edit(before)) != before:
                write_atomically(file, after)
    except OSError as problem:
        raise ConfigError(f"{file} cannot be written: {problem.strerror or problem}.", file=str(file)) from None


def change_object(file: Path, edit: Callable[[dict[str, Json]], Mapping[str, Json]]) -> None:
    """Change the JSON object in a small file of ours as `change_file` does; anything else counts as an empty object."""
    change_file(file, lambda data: pretty(dict(edit(mapping(loads_or(data))))).encode() + b"\n")


@contextmanager
def file_lock(file: Path, what: str = "", patience: float = 30.0) -> Generator[None]:
    """Hold the lock of a file against other processes and threads. Waiting blocks; no patience means to try once.

    The lock is a hidden file beside it, or beside the file that a symbolic link points to. The holder deletes it.

    Args:
        what: names the file, for people.
        patience: seconds.

    Raises:
        LockHeld: another process holds the lock for longer.
        OSError: the lock cannot be created.
    """
    target, until = file.resolve(), time.monotonic() + patience
    lock = target.with_name(f".{target.name}.lock")
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with open(lock, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as opened:
            # A lock that its holder has deleted meanwhile has no name any more, and locks nothing.
            if try_lock(opened.fileno()) and os.fstat(opened.fileno()).st_nlink:
                try:
                    yield
                finally:
                    with suppress(OSError):  # Windows deletes no open file
                        lock.unlink()
                return
        if time.monotonic() >= until:
            hint = f"Where none is running, something else holds {lock} open."
            busy = f"Another studio has been busy with {what or target.name} for more than {patience:g} s."
            raise LockHeld(busy, file=str(file), hint=hint)
        time.sleep(0.02)


def try_lock(handle: int) -> bool:
    """Lock an open file for this process, without waiting; closing the handle releases the lock."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
