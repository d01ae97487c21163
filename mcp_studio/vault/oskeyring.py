"""The keyring of the operating system.

All that is asked of it is asked in one thread, one thing after the other: a keyring that waits for its unlock dialog
cannot be interrupted. Who has waited long enough leaves; what was not begun by then never is.
"""

from __future__ import annotations

import configparser
import hashlib
import importlib
import os
import queue
import re
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from mcp_studio.config.model import Keeping
from mcp_studio.vault.base import (
    CHOICES,
    PATIENCE,
    Drawer,
    FileLock,
    LockHeld,
    VaultDamaged,
    VaultLocked,
    VaultRefused,
    Waiting,
)


class SecretService:
    """What `keyring` offers, for the Secret Service; to be used in one thread."""

    def __init__(self, backend: Any) -> None:
        """Args:
        backend: `keyring.backends.SecretService.Keyring()`, with what the person has configured for it.
        """
        from keyring.backends import SecretService as module

        self._backend = backend
        self._library: Any = vars(module)["secretstorage"]
        self._connection: Any = None
        self._collection: Any = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection, which may have become useless."""
        return self._connection is not None

    def close(self) -> None:
        """Close the connection; the next call makes another."""
        connection, self._connection, self._collection = self._connection, None, None
        if connection is not None:
            connection.close()

    def get_password(self, service: str, name: str) -> str | None:
        """The secret, or None."""
        for item in self._open().search_items(self._backend._query(service, name)):
            return self._unlocked(item).get_secret().decode("utf-8", "surrogatepass")
        return None

    def set_password(self, service: str, name: str, value: str) -> None:
        """Keep a secret in place of what had that name."""
        said = self._backend._query(service, name, application=self._backend.appid)
        label = f"Password for '{name}' on '{service}'"
        self._open().create_item(label, said, value.encode("utf-8", "surrogatepass"), replace=True)

    def delete_password(self, service: str, name: str) -> None:
        """Forget a secret; does nothing where there is none."""
        for item in self._open().search_items(self._backend._query(service, name)):
            return self._unlocked(item).delete()

    def _open(self) -> Any:
        """The collection, unlocked: a person may be asked for that."""
        return self._unlocked(self._closed())

    def locked(self) -> bool:
        """Whether it has to be unlocked first; nobody is asked for that here."""
        return bool(self._closed().is_locked())

    def _closed(self) -> Any:
        """The collection as it is."""
        if self._collection is None:
            self._connection = self._library.dbus_init()
            path = getattr(self._backend, "preferred_collection", "")
            if path:
                self._collection = self._library.Collection(self._connection, path)
            else:
                self._collection = self._library.get_default_collection(self._connection)
            self._collection.session = self._library.util.open_session(self._connection)
        return self._collection

    def _unlocked(self, what: Any) -> Any:
        """The same collection or item."""
        from keyring.errors import KeyringLocked

        if what.is_locked():
            what.unlock()
            if what.is_locked():
                raise KeyringLocked("Nobody has unlocked it.")
        return what


WINDOWS_LIMIT = 1_200
"""UTF-16 units of one Windows credential: 2,560 bytes at most (CRED_MAX_CREDENTIAL_BLOB_SIZE)."""


class Known(NamedTuple):
    """A keyring that keeps secrets."""

    path: str
    place: str
    limit: int = 0
    """UTF-16 units of one value; 0 is no limit that matters."""


KNOWN = (
    Known("keyring.backends.SecretService.Keyring", "the Secret Service keyring"),
    Known("keyring.backends.libsecret.Keyring", "the Secret Service keyring"),
    Known("keyring.backends.kwallet.DBusKeyring", "the KDE wallet"),
    Known("keyring.backends.kwallet.DBusKeyringKWallet4", "the KDE wallet"),
    Known("keyring.backends.macOS.Keyring", "the macOS keychain"),
    Known("keyring.backends.Windows.WinVaultKeyring", "the Windows Credential Manager", WINDOWS_LIMIT),
)
"""The only ones that are used."""
_OF_PLATFORM = {"win32": "Windows", "darwin": "macOS"}
_CHAINER = "keyring.backends.chainer.ChainerBackend"
_OFF = ("keyring.backends.null.Keyring", "keyring.backends.fail.Keyring")


class Found(NamedTuple):
    """A keyring that answers."""

    backend: Any
    known: Known
    priority: float


def find(environ: Mapping[str, str] = os.environ) -> Found:
    """The keyring to use: what the person has configured, else the best that is here.

    Raises:
        VaultRefused: why there is none, and how to get one.
    """
    wanted, said_by = _configured(environ)
    if wanted and wanted != _CHAINER:
        for known in KNOWN:
            if known.path == wanted:
                return _made(known)
        raise _refused(wanted, said_by)
    reasons: dict[str, str] = {}
    usable: list[Found] = []
    for known in KNOWN:
        if usable and usable[0].known.place == known.place:
            continue  # another way to the same
        try:
            usable.append(_made(known))
        except VaultRefused as problem:
            reasons[known.path] = problem.message
    if not usable:
        raise _none(environ, reasons)
    return max(usable, key=lambda found: found.priority)


def _made(known: Known) -> Found:
    platform = _OF_PLATFORM.get(sys.platform, "")
    module, _, name = known.path.rpartition(".")
    own = module.rpartition(".")[2]
    if own in _OF_PLATFORM.values() and own != platform:
        raise VaultRefused(f"{known.place} is not on this system.")
    try:
        kind = getattr(importlib.import_module(module), name)
        if not kind.priority > 0:
            raise VaultRefused(f"{known.place} is not usable.")
        backend = kind()
        return Found(SecretService(backend) if known is KNOWN[0] else backend, known, float(kind.priority))
    except VaultRefused:
        raise
    except ImportError as problem:
        raise VaultRefused(f"It cannot be loaded: {problem}.") from None
    except Exception as problem:  # boundary: whatever a library of the system raises means "not here"
        raise VaultRefused(f"{known.place}: {problem}.") from None


def _configured(environ: Mapping[str, str]) -> tuple[str, str]:
    """The class that the person told `keyring` to use, and where that is said."""
    if name := environ.get("PYTHON_KEYRING_BACKEND", "").strip():
        return name, "PYTHON_KEYRING_BACKEND"
    try:
        from keyring.util.platform_ import config_root

        file = Path(str(config_root())) / "keyringrc.cfg"
        parser = configparser.RawConfigParser()
        parser.read(file, encoding="utf-8")
        return parser.get("backend", "default-keyring", fallback="").strip(), str(file)
    except ImportError as problem:
        raise VaultRefused(f"The keyring cannot be used: {problem}.", hint=CHOICES) from None
    except (configparser.Error, OSError, UnicodeDecodeError):
        return "", ""


def _refused(name: str, said_by: str) -> VaultRefused:
    if name in _OFF:
        why = f"{said_by} turns the keyring off ({name}): it would forget every secret."
    elif "plaintext" in name.lower():
        why = f"{said_by} names {name}, which keeps secrets in clear text in a file; that is refused."
    else:
        why = f"{said_by} names {name}, of which it is not known that it keeps secrets encrypted; that is refused."
    return VaultRefused(why, hint=f"Take that setting away, or: {CHOICES}")


def _none(environ: Mapping[str, str], reasons: Mapping[str, str]) -> VaultRefused:
    """Why there is no keyring here, and how to get one."""
    if sys.platform == "win32":
        why, how = "The Windows Credential Manager cannot be used", "pip install pywin32-ctypes gives access to it."
        why = f"{why}: {reasons.get(KNOWN[-1].path, '')}"
    elif sys.platform == "darwin":
        why, how = f"The macOS keychain cannot be used: {reasons.get(KNOWN[-2].path, '')}", "Unlock it."
    else:
        why, how = _no_service(environ, reasons.get(KNOWN[0].path, ""))
    if others := _others():
        named = ", ".join(others)
        why += f" {named} is installed, but it is not known to keep secrets encrypted: it is refused."
    return VaultRefused(why, hint=f"{how} {CHOICES}")


def _no_service(environ: Mapping[str, str], reason: str) -> tuple[str, str]:
    remote = "SSH_CONNECTION" in environ or "SSH_TTY" in environ
    address = environ.get("DBUS_SESSION_BUS_ADDRESS", "")
    start = "Install and start one: gnome-keyring, KeePassXC (with its Secret Service switched on) or KDE's wallet."
    if not address:
        bus = Path(environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "bus"  # type: ignore[attr-defined]
        why = "There is no keyring here: there is no D-Bus session (DBUS_SESSION_BUS_ADDRESS is not set"
        why += ", as is usual over SSH)." if remote else ")."
        if bus.is_socket():
            return why, f"There is one to try: export DBUS_SESSION_BUS_ADDRESS=unix:path={bus}"
        return why, "`dbus-run-session` starts one; a keyring such as gnome-keyring has to run and be unlocked in it."
    if "activatable" in reason:
        return "There is no keyring here: no Secret Service runs in this D-Bus session.", start
    return f"There is no keyring here: the D-Bus session at {address} does not answer. {reason}", (
        "Log in anew, or correct DBUS_SESSION_BUS_ADDRESS."
    )


def _others() -> list[str]:
    """Packages with further keyrings; they are named, never loaded."""
    from importlib.metadata import entry_points

    names = {point.dist.name for point in entry_points(group="keyring.backends") if point.dist is not None}
    return sorted(names - {"keyring"})


_MARK = "mcp-studio parts "
_HEADER = re.compile(re.escape(_MARK) + r"1 ([ab]) ([0-9]{1,4}) ([0-9a-f]{64})\Z")
_MOST = 1_000
"""Parts of one value."""
_ATTEMPTS = 3


class Shelf(Protocol):
    """What holds single values."""

    def get(self, name: str) -> str | None: ...
    def set(self, name: str, value: str) -> None: ...
    def delete(self, name: str) -> bool: ...


class Split:
    """A shelf for values of any size above one that takes `limit` UTF-16 units at a time."""

    def __init__(self, shelf: Shelf, limit: int) -> None:
        self._shelf = shelf
        self._limit = limit

    def get(self, name: str) -> str | None:
        """The whole value, or None.

        Raises:
            VaultDamaged: parts are missing or from different values.
        """
        for _ in range(_ATTEMPTS):
            stored = self._shelf.get(name)
            header = _HEADER.match(stored) if stored is not None else None
            if header is None:
                return stored
            parts = [self._shelf.get(part) for part in _names(name, header[1], int(header[2]))]
            whole = "".join(part or "" for part in parts)
            if _digest(whole) == header[3]:
                return whole
        raise VaultDamaged(
            f"What is kept under `{name}` is incomplete: it was written in parts, and not all of them are there.",
            hint="Store it again, or sign in again.",
        )

    def set(self, name: str, value: str) -> None:
        """Keep a value; what had the name is there until all of the new one is."""
        before = self._letter(name)
        if len(value.encode("utf-16-le", "surrogatepass")) // 2 <= self._limit and not value.startswith(_MARK):
            self._shelf.set(name, value)
            self._sweep(name, "a")
            self._sweep(name, "b")
            return
        letter = "b" if before == "a" else "a"
        parts = list(_cut(value, self._limit))
        if len(parts) > _MOST:
            raise VaultDamaged(f"What is to be kept under `{name}` is too large: {len(value):,} characters.")
        for part, text in zip(_names(name, letter, len(parts)), parts, strict=True):
            self._shelf.set(part, text)
        self._shelf.set(name, f"{_MARK}1 {letter} {len(parts)} {_digest(value)}")
        self._sweep(name, letter, len(parts) + 1)
        self._sweep(name, "a" if letter == "b" else "b")

    def delete(self, name: str) -> bool:
        """Forget a value and all its parts; False where there was none."""
        there = self._shelf.delete(name)
        self._sweep(name, "a")
        self._sweep(name, "b")
        return there

    def _letter(self, name: str) -> str:
        stored = self._shelf.get(name)
        header = _HEADER.match(stored) if stored is not None else None
        return header[1] if header else ""

    def _sweep(self, name: str, letter: str, first: int = 1) -> None:
        """Take parts away, also those of a write that never came to its end. The last goes first: whoever ends in the
        middle leaves no gap that would hide what is behind it."""
        end = first
        while end <= _MOST and self._shelf.get(f"{name}#{letter}{end}") is not None:
            end += 1
        for number in range(end - 1, first - 1, -1):
            self._shelf.delete(f"{name}#{letter}{number}")


def _names(name: str, letter: str, count: int) -> list[str]:
    return [f"{name}#{letter}{number}" for number in range(1, min(count, _MOST) + 1)]


def _cut(value: str, limit: int) -> Iterator[str]:
    """Pieces of at most `limit` UTF-16 units; no character is in two of them."""
    start = size = 0
    for at, character in enumerate(value):
        width = 1 + (ord(character) > 0xFFFF)
        if size + width > limit:
            yield value[start:at]
            start, size = at, 0
        size += width
    yield value[start:]


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


T = TypeVar("T")
SERVICES: dict[Drawer, str] = {"secrets": "mcp-studio", "tokens": "mcp-studio sign-in"}
"""The service names that our passwords are kept under."""
_NOTICED = 1.5
"""Seconds after which a person wonders what is waited for."""
_IDLE = 1.0
"""Seconds after which a connection that nobody uses is closed."""
_SAME_NAME = 5
_GONE = ("org.freedesktop.secrets", "DBus.Error.ServiceUnknown", "DBus.Error.NoReply")
"""What D-Bus says where the Secret Service has ended."""


class _Job:
    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.begun = self.given_up = False
        self.done = threading.Event()
        self.result: Any = None
        self.problem: VaultRefused | None = None


class _Worker:
    """The thread, and what waits for it."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._running: _Job | None = None
        self._started = False

    def run(self, work: Callable[[], T], patience: float, waiting: Waiting | None = None) -> T:
        """Have it done and wait for it.

        Args:
            waiting: called where it takes so long that somebody may have to unlock the keyring.

        Raises:
            VaultRefused: what the work raised, or it took too long.
        """
        job = _Job(work)
        with self._guard:
            stuck = self._running is not None and self._running.given_up
            if not self._started:
                threading.Thread(target=self._loop, name="keyring", daemon=True).start()
                self._started = True
        if stuck:  # somebody has waited already: now it answers at once or not at all
            patience = min(patience, 0.2)
        self._jobs.put(job)
        if waiting and not stuck and not job.done.wait(min(_NOTICED, patience)):
            waiting()
            patience -= min(_NOTICED, patience)
        if not job.done.wait(patience):
            with self._guard:
                job.given_up = True
            raise VaultLocked(
                "The keyring does not answer: it may be waiting to be unlocked.",
                hint=f"Unlock it and try again. {CHOICES}",
            )
        if job.problem is not None:
            raise job.problem
        return job.result

    def _loop(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_IDLE)
            except queue.Empty:
                _close()
                job = self._jobs.get()
            with self._guard:
                if job.given_up:
                    continue
                self._running = job
            try:
                job.result = job.work()
            except VaultRefused as problem:
                job.problem = problem
            except Exception as problem:  # boundary: keyring lets through what D-Bus libraries raise
                job.problem = _told(problem)
            with self._guard:
                self._running = None
            job.done.set()


_worker = _Worker()
_found: Found | None = None


class _Shelf:
    """Single values of one service in the keyring; used in the worker alone."""

    def __init__(self, backend: Any, service: str) -> None:
        self._backend = backend
        self._service = service

    def get(self, name: str) -> str | None:
        return self._backend.get_password(self._service, name)

    def set(self, name: str, value: str) -> None:
        self._backend.set_password(self._service, name, value)

    def delete(self, name: str) -> bool:
        there = False
        for _ in range(_SAME_NAME):  # another program may have made several of one name
            if self._backend.get_password(self._service, name) is None:
                return there
            self._backend.delete_password(self._service, name)
            there = True
        return there


class KeyringVault:
    """One drawer of the operating system's keyring."""

    kind: Keeping = "keyring"

    def __init__(
        self,
        drawer: Drawer = "secrets",
        *,
        patience: float = PATIENCE,
        lock: Path | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        """Look for a keyring.

        Args:
            patience: seconds that one call may take.
            lock: the file by which processes wait for each other's changes: what is read back is what was written.
            waiting: called where a call takes long: somebody may have to unlock the keyring.

        Raises:
            VaultRefused: why there is none that can be used, and how to get one.
        """
        self._service = SERVICES[drawer]
        self._patience = patience
        self._lock = lock
        self._waiting = waiting
        self.place = _worker.run(_find, patience, waiting).known.place

    @property
    def locked(self) -> bool:
        """Whether somebody has to unlock it first, where that can be known without asking for it.

        Raises:
            VaultRefused: it does not answer.
        """

        def ask() -> bool:
            backend = _find().backend
            return isinstance(backend, SecretService) and backend.locked()

        return _worker.run(partial(_again, ask), self._patience, self._waiting)

    def get(self, name: str) -> str | None:
        """The secret, or None where there is none of that name.

        Raises:
            VaultRefused: it cannot be read.
        """
        return self._run(lambda shelf: shelf.get(name))

    def set(self, name: str, value: str) -> None:
        """Keep a secret and read it back.

        Raises:
            VaultRefused: it is not kept, or not as it is.
        """
        with self._alone():
            self._run(partial(_kept, name=name, value=value, place=self.place))

    def delete(self, name: str) -> bool:
        """Forget a secret; False where there was none.

        Raises:
            VaultRefused: it may still be there.
        """
        with self._alone():
            return self._run(lambda shelf: shelf.delete(name))

    @contextmanager
    def _alone(self) -> Generator[None]:
        """No other process changes anything meanwhile."""
        lock = FileLock(self._lock, "the keyring") if self._lock else None
        try:
            if lock:
                lock.acquire(self._patience)
        except LockHeld as problem:
            raise VaultRefused(problem.message, hint=problem.hint) from None
        except OSError as problem:
            raise VaultRefused(f"Cannot be written: {problem.strerror}.", file=str(self._lock)) from None
        try:
            yield
        finally:
            if lock:
                lock.release()

    def _run(self, work: Callable[[Split | _Shelf], T]) -> T:
        def do() -> T:
            found = _find()
            shelf = _Shelf(found.backend, self._service)
            return work(Split(shelf, found.known.limit) if found.known.limit else shelf)

        return _worker.run(partial(_again, do), self._patience, self._waiting)


def _again(do: Callable[[], T]) -> T:
    """Do it; once more where it went wrong over a connection that has been used before: the keyring may have been
    started anew meanwhile."""
    used = _found is not None and getattr(_found.backend, "connected", False)
    try:
        return do()
    except VaultRefused:
        raise
    except Exception:  # boundary: as in the worker
        forget()
        if not used:
            raise
    try:
        return do()
    except Exception:  # boundary: as in the worker
        forget()
        raise


def forget() -> None:
    """Look for a keyring anew when it is needed next."""
    global _found
    _close()
    _found = None


def _close() -> None:
    if _found is not None and isinstance(_found.backend, SecretService):
        _found.backend.close()


def _find() -> Found:
    global _found
    if _found is None:
        _found = find()
    return _found


def _kept(shelf: Split | _Shelf, *, name: str, value: str, place: str) -> None:
    shelf.set(name, value)
    if shelf.get(name) != value:
        raise VaultDamaged(
            f"{place[0].upper()}{place[1:]} did not keep `{name}`: what can be read back is not what was written.",
            hint=CHOICES,
        )


def _told(problem: Exception) -> VaultRefused:
    """What went wrong in a library, in words; its own words are kept as far as they say something."""
    said = f"{problem}".rstrip(".") or type(problem).__name__
    kind = type(problem).__name__
    if kind in ("KeyringLocked", "LockedException", "PromptDismissedException"):
        return VaultLocked(
            "The keyring is locked, and nobody has unlocked it.", hint=f"Unlock it and try again. {CHOICES}"
        )
    if any(name in said for name in _GONE):
        return VaultRefused(
            "The keyring service is not there any more: the program that kept the secrets has ended.",
            hint=f"Start it again, unlock it, and try again. {CHOICES}",
        )
    if kind in ("EOFError", "ConnectionResetError", "BrokenPipeError", "SecretServiceNotAvailableException"):
        return VaultRefused(f"The keyring went away: {said}.", hint="Start it again and try again.")
    return VaultRefused(f"The keyring failed: {said}.", hint=f"Try again. {CHOICES}")
