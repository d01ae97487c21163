"""The keyring of the operating system.

All that is asked of it is asked in one thread, one thing after the other: a keyring that waits for its unlock dialog
cannot be interrupted. Who has waited long enough leaves; what was not begun by then never is.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from mcp_studio.config.model import Keeping
from mcp_studio.vault import backends
from mcp_studio.vault.base import CHOICES, PATIENCE, Drawer, VaultDamaged, VaultLocked, VaultRefused, Waiting
from mcp_studio.vault.lock import FileLock, LockHeld
from mcp_studio.vault.secret_service import SecretService
from mcp_studio.vault.splitting import Split

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
_found: backends.Found | None = None


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


def _find() -> backends.Found:
    global _found
    if _found is None:
        _found = backends.find()
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
