"""Secrets in one file, encrypted under a passphrase and readable by its owner alone: only where it was asked for."""

from __future__ import annotations

import binascii
import hashlib
import json
import os
import stat
import sys
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcp_studio.config.model import Keeping
from mcp_studio.paths import write_atomically
from mcp_studio.record import record
from mcp_studio.vault.base import (
    AskPassphrase,
    Drawer,
    FileLock,
    LockHeld,
    PassphraseNeeded,
    PassphraseWrong,
    VaultDamaged,
    VaultRefused,
)

FORMAT = "mcp-studio secrets"
VERSION = 1
_CHECK = b"mcp-studio"
_NONCE = 12
_MOST_MEMORY = 256 << 20
_MOST_ROUNDS = 16


@record(frozen=True)
class Cost:
    """What making a key costs, and the salt."""

    salt: bytes
    n: int = 1 << 16
    """With r = 8 it takes 64 MB; with p = 2 about 0.3 s."""
    r: int = 8
    p: int = 2

    def as_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {"name": "scrypt", "n": self.n, "r": self.r, "p": self.p, "salt": b64encode(self.salt).decode()}


def new_cost() -> Cost:
    """The cost of now, with a salt of its own."""
    return Cost(os.urandom(16))


def derive(passphrase: str, cost: Cost) -> bytes:
    """The key; takes a noticeable time on purpose."""
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    made = Scrypt(salt=cost.salt, length=32, n=cost.n, r=cost.r, p=cost.p)
    return made.derive(passphrase.encode("utf-8", "surrogatepass"))


def seal(secrets: Mapping[str, str], key: bytes, cost: Cost) -> bytes:
    """The text of the file."""
    bound = _bound(cost)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kdf": cost.as_json(),
        "check": _sealed(_CHECK, key, b"check" + bound),
        "sealed": _sealed(json.dumps(dict(secrets)).encode(), key, b"sealed" + bound),
    }
    return json.dumps({**content, "digest": _digest(content)}, indent=1).encode() + b"\n"


def cost_of(text: bytes) -> Cost:
    """What the file says about its key.

    Raises:
        VaultDamaged: it is no such file, of a newer version, or not as it was written.
    """
    content = _content(text)
    try:
        kdf = content["kdf"]
        cost = Cost(b64decode(kdf["salt"], validate=True), kdf["n"], kdf["r"], kdf["p"])
        good = kdf["name"] == "scrypt" and all(type(one) is int and one > 0 for one in (cost.n, cost.r, cost.p))
        good = good and cost.n & (cost.n - 1) == 0 and cost.n > 1 and len(cost.salt) >= 8
        good = good and 128 * cost.n * cost.r <= _MOST_MEMORY and cost.p <= _MOST_ROUNDS
    except (KeyError, TypeError, ValueError, binascii.Error):
        good, cost = False, Cost(b"")
    if not good:
        raise VaultDamaged("What it says about its key cannot be right.")
    return cost


def unseal(text: bytes, key: bytes) -> dict[str, str]:
    """The secrets in the file.

    Raises:
        PassphraseWrong: the key is not the one it was sealed under.
        VaultDamaged: it is not as it was written.
    """
    content, bound = _content(text), _bound(cost_of(text))
    if _opened(content.get("check"), key, b"check" + bound) != _CHECK:
        raise PassphraseWrong("The passphrase is not the one of this file.")
    inner = _opened(content.get("sealed"), key, b"sealed" + bound)
    try:
        secrets = json.loads(inner or b"")
    except (ValueError, RecursionError):
        secrets = None
    if not isinstance(secrets, dict) or not all(isinstance(value, str) for value in secrets.values()):
        raise VaultDamaged("The passphrase is right, but what is sealed cannot be read: the file was changed.")
    return secrets


def _content(text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise VaultDamaged("It is no file of ours, or it is damaged.")
    if content.get("version") != VERSION:
        raise VaultDamaged(f"It has version {content.get('version')}, made by a newer studio.")
    if content.pop("digest", None) != _digest(content):
        raise VaultDamaged("It is damaged: it is not as it was written.")
    return content


def _bound(cost: Cost) -> bytes:
    return json.dumps([FORMAT, VERSION, cost.as_json()], sort_keys=True).encode()


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _sealed(data: bytes, key: bytes, bound: bytes) -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE)
    return b64encode(nonce + AESGCM(key).encrypt(nonce, data, bound)).decode()


def _opened(text: object, key: bytes, bound: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        data = b64decode(text, validate=True) if isinstance(text, str) else b""
        return AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], bound)
    except (InvalidTag, ValueError, binascii.Error):
        return None


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
        self.cost: Cost | None = None
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
                write_atomically(self._file, seal(change(secrets), key, cost))
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
                cost = cost_of(text)
                if self._key.cost != cost:
                    self._unlock(text, cost)
                return unseal(text, self._key.key)
            except PassphraseWrong as problem:
                self._key.cost = None
                hint = f"{VARIABLE} may be another's." if os.environ.get(VARIABLE) else "Try again."
                raise PassphraseWrong(f"{self._file}: {problem.message}", file=str(self._file), hint=hint) from None
            except VaultDamaged as problem:
                raise VaultDamaged(f"{self._file}: {problem.message}", file=str(self._file), hint=_REPAIR) from None

    def _unlock(self, text: bytes, cost: Cost) -> None:
        """Make the key of a passphrase that opens the file."""
        for attempt in range(_TRIES):
            key = derive(self._passphrase(new=False), cost)
            try:
                unseal(text, key)
            except PassphraseWrong:
                if os.environ.get(VARIABLE) or attempt == _TRIES - 1:
                    raise
            else:
                self._key.cost, self._key.key = cost, key
                return

    def _current(self, text: bytes) -> tuple[bytes, Cost]:
        """The key that is in use; a new one for a new file."""
        with self._key.guard:
            if not text:
                cost = new_cost()
                passphrase = self._passphrase(new=True)
                if len(passphrase) < SHORTEST:
                    raise PassphraseNeeded(f"A passphrase needs at least {SHORTEST} characters.", file=str(self._file))
                self._key.cost, self._key.key = cost, derive(passphrase, cost)
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
