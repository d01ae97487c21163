"""Secrets in one file, encrypted under a passphrase and readable by its owner alone: only where it was asked for."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from mcp_studio.atomic import write_atomically
from mcp_studio.config.model import Keeping
from mcp_studio.vault import sealed
from mcp_studio.vault.base import (
    AskPassphrase,
    Drawer,
    PassphraseNeeded,
    PassphraseWrong,
    VaultDamaged,
    VaultRefused,
)
from mcp_studio.vault.lock import FileLock, LockHeld

VARIABLE = "MCP_STUDIO_PASSPHRASE"
"""The environment variable that the passphrase may stand in."""
SHORTEST = 8
"""Characters of a new passphrase."""
LARGEST = 64 << 20
_TRIES = 3
_REPAIR = "Put a copy back, or take it away and store the secrets anew."


def file_in(state: Path) -> Path:
    """The file, in a folder of its own below the state folder."""
    return state / "secrets" / "secrets.json"


class _Key:
    """The key of one file, made once in this process; nobody keeps the passphrase."""

    def __init__(self) -> None:
        self.guard = threading.RLock()
        self.cost: sealed.Cost | None = None
        self.key = b""


_keys: dict[str, _Key] = {}
_new_key = threading.Lock()


def forget_keys() -> None:
    """Ask for passphrases anew."""
    with _new_key:
        _keys.clear()


class FileVault:
    """One drawer of the encrypted file. Without a file it is empty; the first secret makes it, and asks for a new
    passphrase."""

    kind: Keeping = "file"

    def __init__(self, file: Path, drawer: Drawer = "secrets", passphrase: AskPassphrase | None = None) -> None:
        self._file = file
        self._prefix = f"{drawer}/"
        self._ask = passphrase
        self.place = f"the encrypted file {file}"
        with _new_key:
            self._key = _keys.setdefault(str(file.absolute()), _Key())

    def get(self, name: str) -> str | None:
        """The secret, or None where there is none of that name.

        Raises:
            PassphraseNeeded, PassphraseWrong, VaultDamaged, VaultRefused: it cannot be read, and why.
        """
        text = self._read()
        return self._opened(text).get(self._prefix + name) if text else None

    def set(self, name: str, value: str) -> None:
        """Keep a secret, and read it back.

        Raises:
            PassphraseNeeded, PassphraseWrong, VaultDamaged, VaultRefused: it is not kept, and why.
        """
        self._change(lambda secrets: {**secrets, self._prefix + name: value})
        if self.get(name) != value:
            raise VaultDamaged("What can be read back is not what was written.", file=str(self._file))

    def delete(self, name: str) -> bool:
        """Forget a secret; False where there was none.

        Raises:
            PassphraseNeeded, PassphraseWrong, VaultDamaged, VaultRefused: it is still there, and why.
        """
        if self.get(name) is None:
            return False
        self._change(lambda secrets: {key: value for key, value in secrets.items() if key != self._prefix + name})
        return True

    def _change(self, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
        """Read, change and write, with no other process in between."""
        try:
            # Whoever is asked for the passphrase is asked before others are kept waiting.
            if text := self._read():
                self._opened(text)
            folder = self._file.parent
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._file.with_suffix(".lock"), "the encrypted secrets"):
                text = self._read()
                secrets = self._opened(text) if text else {}
                key, cost = self._current(text)
                write_atomically(self._file, sealed.seal(change(secrets), key, cost))
        except LockHeld as problem:
            raise VaultRefused(problem.message, file=str(self._file), hint=problem.hint) from None
        except OSError as problem:
            said = problem.strerror or str(problem)
            raise VaultRefused(
                f"The encrypted file {self._file} cannot be written: {said}.", file=str(self._file)
            ) from None

    def _read(self) -> bytes:
        """The text of the file; empty where there is none."""
        try:
            # A pipe would be waited for.
            flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
            handle = os.open(self._file, flags)
            with os.fdopen(handle, "rb") as opened:
                self._private(os.fstat(opened.fileno()), self._file)
                text = opened.read(LARGEST + 1)
            self._private(self._file.parent.stat(), self._file.parent)
        except FileNotFoundError:
            return b""
        except OSError as problem:
            said = problem.strerror or str(problem)
            raise VaultRefused(
                f"The encrypted file {self._file} cannot be read: {said}.", file=str(self._file)
            ) from None
        if not text or len(text) > LARGEST:
            raise VaultDamaged(
                f"{self._file} is damaged: it has {len(text):,} bytes.", file=str(self._file), hint=_REPAIR
            )
        return text

    def _private(self, found: os.stat_result, path: Path) -> None:
        if sys.platform == "win32":  # who may read is said by the profile's folder there
            return
        folder = stat.S_ISDIR(found.st_mode)
        if not folder and not stat.S_ISREG(found.st_mode):
            raise VaultRefused(f"{path} is no file: it is not used.", file=str(path))
        if found.st_uid != os.geteuid():
            raise VaultRefused(
                f"{path} belongs to somebody else (user {found.st_uid}): it is not used.", file=str(path)
            )
        if found.st_mode & 0o077:
            right = "700" if folder else "600"
            raise VaultRefused(
                f"Others may get at {path} (mode {stat.S_IMODE(found.st_mode):04o}): it is not used.",
                file=str(path),
                hint=f"chmod {right} {path}",
            )

    def _opened(self, text: bytes) -> dict[str, str]:
        with self._key.guard:
            try:
                cost = sealed.cost_of(text)
                if self._key.cost != cost:
                    self._unlock(text, cost)
                return sealed.unseal(text, self._key.key)
            except PassphraseWrong as problem:
                self._key.cost = None
                hint = f"{VARIABLE} may be another's." if os.environ.get(VARIABLE) else "Try again."
                raise PassphraseWrong(f"{self._file}: {problem.message}", file=str(self._file), hint=hint) from None
            except VaultDamaged as problem:
                raise VaultDamaged(f"{self._file}: {problem.message}", file=str(self._file), hint=_REPAIR) from None

    def _unlock(self, text: bytes, cost: sealed.Cost) -> None:
        """Make the key of a passphrase that opens the file."""
        for attempt in range(_TRIES):
            key = sealed.derive(self._passphrase(new=False), cost)
            try:
                sealed.unseal(text, key)
            except PassphraseWrong:
                if os.environ.get(VARIABLE) or attempt == _TRIES - 1:
                    raise
            else:
                self._key.cost, self._key.key = cost, key
                return

    def _current(self, text: bytes) -> tuple[bytes, sealed.Cost]:
        """The key that is in use; a new one for a new file."""
        with self._key.guard:
            if not text:
                cost = sealed.new_cost()
                passphrase = self._passphrase(new=True)
                if len(passphrase) < SHORTEST:
                    raise PassphraseNeeded(f"A passphrase needs at least {SHORTEST} characters.", file=str(self._file))
                self._key.cost, self._key.key = cost, sealed.derive(passphrase, cost)
            assert self._key.cost is not None
            return self._key.key, self._key.cost

    def _passphrase(self, *, new: bool) -> str:
        given = os.environ.get(VARIABLE, "") or (self._ask(new) if self._ask else "")
        if not given:
            raise PassphraseNeeded(
                "The secrets are in a file encrypted under a passphrase, and nobody gave it.",
                file=str(self._file),
                hint=f"Set {VARIABLE}, or use the studio on a terminal, which asks.",
            )
        return given
