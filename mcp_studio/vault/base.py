"""The interface of every vault, and how files that several processes share are changed: under a lock."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, Protocol

from mcp_studio.config.model import VaultKind
from mcp_studio.errors import ConfigError, LockHeld
from mcp_studio.jsontext import Json, loads_or, mapping, pretty
from mcp_studio.paths import write_atomically

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

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


class Vault(Protocol):
    """Stores secrets by their names.

    Every call may block until a person has unlocked the vault, so that coroutines call it in a thread (`beside`). Every
    call may raise `VaultRefused`, and one that writes a file `ConfigError`.
    """

    kind: VaultKind
    place: str
    """The name of the place, for people: `the Secret Service keyring`."""

    def get(self, name: str) -> str | None:
        """Return a secret, or None if the name has none."""

    def set(self, name: str, value: str) -> None:
        """Store a secret, replacing the old one, and make sure that it can be read back."""

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
