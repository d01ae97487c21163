"""The interface of every vault, and the errors by which a vault refuses."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, ParamSpec, Protocol, TypeVar

from mcp_studio.config.model import VaultKind
from mcp_studio.errors import VaultRefused
from mcp_studio.paths import try_lock

Drawer = Literal["secrets", "tokens"]
"""The secrets that a person named for `${keyring:NAME}`, and the tokens of sign-ins, which no reference can read."""
AskPassphrase = Callable[[bool], str]
"""Asks a person for the passphrase of the encrypted file, in the caller's thread. True asks for a new one, typed twice.
An empty answer means that nobody entered one."""

PATIENCE = 60.0
"""The most seconds that one call may take: a keyring may be asking the person to unlock it."""
CHOICES = (
    '`[secrets] store = "file"` in config.toml keeps secrets in a file encrypted under a passphrase '
    "(mcp-studio config set secrets.store file), "
    '`store = "memory"` keeps them until the studio ends.'
)
"""Hints that name the other places for secrets."""


class VaultDamaged(VaultRefused):
    """The stored content is not what was written."""


class LockHeld(VaultRefused):
    """Another process has held a lock for too long."""


class Vault(Protocol):
    """Stores secrets by their names.

    Every call may block until a person has unlocked the vault, so that coroutines call it in a thread (`beside`). Every
    call may raise `VaultRefused`.
    """

    kind: VaultKind
    place: str
    """The name of the place, for people: `the Secret Service keyring`."""

    def get(self, name: str) -> str | None:
        """Return a secret, or None if the name has none."""
        ...

    def set(self, name: str, value: str) -> None:
        """Store a secret, replacing the old one, and make sure that it can be read back."""
        ...

    def delete(self, name: str) -> bool:
        """Delete a secret; False if there was none."""
        ...


class MemoryVault:
    """A vault that lasts as long as the process."""

    kind: VaultKind = "memory"
    place = "memory, until the studio ends"

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.secrets.get(name)

    def set(self, name: str, value: str) -> None:
        self.secrets[name] = value

    def delete(self, name: str) -> bool:
        return self.secrets.pop(name, None) is not None


@contextmanager
def file_lock(file: Path, what: str, patience: float = 30.0) -> Generator[None]:
    """Hold a lock against other processes and threads. Waiting blocks; with a patience of 0 seconds it tries once.

    The file stays: deleting it while another process waits for it would give the lock to both.

    Raises:
        LockHeld: another process holds the lock for longer.
        OSError: the file cannot be created.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(file, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as opened:
        until = time.monotonic() + patience
        while not try_lock(opened.fileno()):
            if time.monotonic() >= until:
                hint = f"Where none is running, something else holds {file} open."
                raise LockHeld(f"Another studio has been busy with {what} for more than {patience:g} s.", hint=hint)
            time.sleep(0.02)
        yield  # closing the file releases the lock


P = ParamSpec("P")
T = TypeVar("T")


def in_thread(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> Future[T]:
    """Run a function in a thread of its own; the program can end without waiting for it."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = work(*args, **named)
        except BaseException as problem:  # boundary: a library of the system may raise anything
            future.set_exception(problem)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="vault", daemon=True).start()
    return future


async def beside(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Await a function that may wait for a person. Cancelling the caller ends the wait; the function goes on."""
    return await asyncio.wrap_future(in_thread(work, *args, **named))
