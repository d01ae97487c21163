"""What every place for secrets can do, and why one refuses."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, ParamSpec, Protocol, TypeVar

from mcp_studio.config.model import Keeping
from mcp_studio.errors import ConfigError, StudioError

Drawer = Literal["secrets", "tokens"]
"""What a person named and may use by `${keyring:NAME}`, and what signing in brought: no reference reaches a token."""
AskPassphrase = Callable[[bool], str]
"""Asks a person for the passphrase of the encrypted file, in the thread of the caller; True: it is a new one, to be
typed twice. An empty answer means that nobody gave one."""
Waiting = Callable[[], None]
"""Told, in the thread of the caller, that a keyring takes long: somebody may have to unlock it."""

PATIENCE = 60.0
"""Seconds that one call may take: a keyring may be asking the person to unlock it."""
CHOICES = (
    '`[secrets] store = "file"` in config.toml keeps secrets in a file encrypted under a passphrase '
    "(mcp-studio config set secrets.store file), "
    '`store = "memory"` keeps them until the studio ends.'
)
"""What else there is, for hints."""


class VaultRefused(ConfigError):
    """Secrets cannot be kept or read there; says why, and what to do about it."""


class VaultLocked(VaultRefused):
    """There is a keyring, but nobody has unlocked it."""


class PassphraseNeeded(VaultRefused):
    """The file is encrypted and nobody has given its passphrase."""


class PassphraseWrong(VaultRefused):
    """The passphrase that was given does not open the file."""


class VaultDamaged(VaultRefused):
    """What is kept there is not what was written."""


class Vault(Protocol):
    """A place for secrets by their names. Every call blocks, maybe until a person has unlocked something: in a
    coroutine it belongs into a thread (`vault.beside`)."""

    kind: Keeping
    place: str
    """Where it is, in words: `the Secret Service keyring`."""

    def get(self, name: str) -> str | None:
        """The secret, or None where there is none of that name.

        Raises:
            VaultRefused: it cannot be read.
        """
        ...

    def set(self, name: str, value: str) -> None:
        """Keep a secret in place of what had that name, and make sure that it can be read back.

        Raises:
            VaultRefused: it is not kept; what had that name still is, as far as the place allows.
        """
        ...

    def delete(self, name: str) -> bool:
        """Forget a secret; False where there was none.

        Raises:
            VaultRefused: it may still be there.
        """
        ...


class MemoryVault:
    """A vault without a place."""

    kind: Keeping = "memory"
    place = "memory, until the studio ends"

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        """The secret, or None where there is none of that name."""
        return self._kept.get(name)

    def set(self, name: str, value: str) -> None:
        """Keep a secret in place of what had that name."""
        self._kept[name] = value

    def delete(self, name: str) -> bool:
        """Forget a secret; False where there was none."""
        return self._kept.pop(name, None) is not None


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_PATIENCE = 30.0
"""Seconds that another process may hold a lock before waiting for it is given up."""
_PAUSE = 0.02
"""Seconds between looking whether it is free."""


class LockHeld(StudioError):
    """Another process has kept a lock for too long."""


class FileLock:
    """Held by one holder at a time, in this process or any other. Taking it blocks: in a coroutine it belongs into a
    thread (`vault.beside`); giving it back does not.

    The file stays: taking it away while somebody waits for it would give the lock to two.
    """

    def __init__(self, file: Path, what: str = "") -> None:
        self._file = file
        self._what = what or file.name
        self._handle: int | None = None

    def acquire(self, patience: float = LOCK_PATIENCE) -> None:
        """Wait until nobody else holds it.

        Args:
            patience: seconds; 0 tries once.

        Raises:
            LockHeld: somebody holds it, and went on doing so.
            OSError: the file cannot be made.
        """
        assert self._handle is None, "a lock is taken once"
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        until = time.monotonic() + patience
        try:
            while not _lock(handle):
                if time.monotonic() >= until:
                    raise LockHeld(
                        f"Another studio has been busy with {self._what} for more than {patience:g} s.",
                        hint=f"Where none is running, something else holds {self._file} open.",
                    )
                time.sleep(_PAUSE)
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def release(self) -> None:
        """Give it back; does nothing where it is not held."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                os.lseek(handle, 0, os.SEEK_SET)
                msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        os.close(handle)

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(self, *how: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


P = ParamSpec("P")
T = TypeVar("T")


async def beside(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Do something that may wait for a person, in a thread of its own that nobody waits for at the end.

    Cancelled, it is not waited for any longer; what it does still happens.

    Raises:
        Exception: what the work raised.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, problem: Exception | None) -> None:
        if done.done():
            return
        if problem is not None:
            done.set_exception(problem)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        answer: tuple[T | None, Exception | None]
        try:
            answer = work(*args, **named), None
        except Exception as problem:  # boundary: whoever waits would do so for ever
            answer = None, problem
        with suppress(RuntimeError):  # the loop may have ended meanwhile
            loop.call_soon_threadsafe(tell, *answer)

    threading.Thread(target=run, name="vault", daemon=True).start()
    return await done
