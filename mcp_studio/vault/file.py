"""Secrets in one file that is encrypted under a passphrase and readable by its owner alone."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_studio.config.model import VaultKind
from mcp_studio.errors import VaultDamaged, VaultRefused
from mcp_studio.vault.base import AskPassphrase, Drawer, change_file

FORMAT = "mcp-studio secrets"
VERSION = 1
VARIABLE = "MCP_STUDIO_PASSPHRASE"
"""The environment variable that may contain the passphrase."""
SHORTEST = 8
"""The fewest characters of a new passphrase."""
COST = {"n": 1 << 16, "r": 8, "p": 2}
"""The cost of deriving a new key: 64 MB of memory, about 0.3 s."""
_CHECK = b"mcp-studio"
_NONCE = 12
_TRIES = 3

Json = dict[str, Any]
Keys = dict[Path, tuple[Json, bytes]]
"""The parameters of each file's key, and the key, so that a person enters the passphrase once. It is not stored."""
_prompt_lock = threading.RLock()


def file_in(state: Path) -> Path:
    """The encrypted file, in a folder of its own below the state folder."""
    return state / "secrets" / "secrets.json"


class FileVault:
    """One drawer of the encrypted file. Storing the first secret creates the file and asks for a new passphrase."""

    kind: VaultKind = "file"

    def __init__(
        self, file: Path, drawer: Drawer = "secrets", passphrase: AskPassphrase | None = None, keys: Keys | None = None
    ) -> None:
        """Vaults that share their `keys` ask for a passphrase once."""
        self._file = file.absolute()
        self._prefix = f"{drawer}/"
        self._ask = passphrase
        self._keys: Keys = {} if keys is None else keys
        self.place = f"the encrypted file {file}"

    def get(self, name: str) -> str | None:
        return self._load().get(self._prefix + name)

    def set(self, name: str, value: str) -> None:
        self._change(lambda secrets: secrets.update({self._prefix + name: value}))

    def delete(self, name: str) -> bool:
        if self.get(name) is None:
            return False
        self._change(lambda secrets: secrets.pop(self._prefix + name, None))
        return True

    def _change(self, change: Callable[[dict[str, str]], object]) -> None:
        """Read the file, change it and write it, under a lock against other processes."""
        self._load()  # a person may have to enter the passphrase, which must not happen while the lock is held

        def edit(text: bytes) -> bytes:
            secrets = self._secrets(text) if text else {}
            change(secrets)
            kdf, key = self._keys[self._file] if text else self._new_key()
            return _encoded(secrets, kdf, key)

        change_file(self._file, edit, "the encrypted secrets")

    def _load(self) -> dict[str, str]:
        """All secrets of the file; none if there is no file."""
        try:
            return self._secrets(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as problem:
            reason = f"The encrypted file {self._file} cannot be read: {problem.strerror or problem}."
            raise VaultRefused(reason, file=str(self._file)) from None

    def _secrets(self, text: bytes) -> dict[str, str]:
        content = self._content(text)
        kdf = content["kdf"]
        with _prompt_lock:
            for _ in range(_TRIES):
                entry = self._keys.get(self._file)
                key = entry[1] if entry and entry[0] == kdf else self._derive(self._passphrase(new=False), kdf)
                if _decrypt(content["check"], key, b"check", kdf) == _CHECK:
                    self._keys[self._file] = kdf, key
                    secrets = _decrypt(content["sealed"], key, b"sealed", kdf)
                    if secrets is None:
                        raise self._damaged("The passphrase is right, but the file was changed.")
                    return json.loads(secrets)
                self._keys.pop(self._file, None)
                if os.environ.get(VARIABLE):
                    break
        hint = f"Try again; {VARIABLE} may be another's."
        raise VaultRefused(f"{self._file}: The passphrase is not the one of this file.", hint=hint)

    def _content(self, text: bytes) -> Json:
        try:
            content: Any = json.loads(text)
            if content["format"] == FORMAT and content["version"] != VERSION:
                raise self._damaged(f"It has version {content['version']}, made by a newer studio.")
            if content["format"] != FORMAT or content.pop("digest") != _digest(content):
                raise ValueError
            return {name: content[name] for name in ("kdf", "check", "sealed")}
        except (ValueError, RecursionError, KeyError, TypeError):
            raise self._damaged("It is damaged, or no file of ours.") from None

    def _derive(self, passphrase: str, kdf: Json) -> bytes:
        from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

        try:
            salt, n, r, p = b64decode(kdf["salt"], validate=True), kdf["n"], kdf["r"], kdf["p"]
            if kdf["name"] != "scrypt" or len(salt) < 8 or n * r > 1 << 21 or p > 16:
                raise ValueError
            return Scrypt(salt, 32, n, r, p).derive(passphrase.encode("utf-8", "surrogatepass"))
        except (KeyError, TypeError, ValueError):
            raise self._damaged("What it says about its key cannot be right.") from None

    def _new_key(self) -> tuple[Json, bytes]:
        passphrase = self._passphrase(new=True)
        if len(passphrase) < SHORTEST:
            raise VaultRefused(f"A passphrase needs at least {SHORTEST} characters.", file=str(self._file))
        kdf = {"name": "scrypt", **COST, "salt": b64encode(os.urandom(16)).decode()}
        self._keys[self._file] = kdf, self._derive(passphrase, kdf)
        return self._keys[self._file]

    def _passphrase(self, *, new: bool) -> str:
        passphrase = os.environ.get(VARIABLE, "") or (self._ask(new) if self._ask else "")
        if not passphrase:
            hint = f"Set {VARIABLE}, or use the studio on a terminal, which asks."
            raise VaultRefused(f"{self._file} is encrypted under a passphrase, and nobody gave it.", hint=hint)
        return passphrase

    def _damaged(self, reason: str) -> VaultDamaged:
        hint = "Put a copy back, or take it away and store the secrets again."
        return VaultDamaged(f"{self._file}: {reason}", file=str(self._file), hint=hint)


def _encoded(secrets: dict[str, str], kdf: Json, key: bytes) -> bytes:
    content: Json = {"format": FORMAT, "version": VERSION, "kdf": kdf}
    content["check"] = _encrypt(_CHECK, key, b"check", kdf)
    content["sealed"] = _encrypt(json.dumps(secrets).encode(), key, b"sealed", kdf)
    return json.dumps({**content, "digest": _digest(content)}, indent=1).encode() + b"\n"


def _digest(content: Json) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _associated_data(purpose: bytes, kdf: Json) -> bytes:
    """Data that is authenticated besides the secret, so that nobody can move a part of the file to another place."""
    return purpose + json.dumps([FORMAT, VERSION, kdf], sort_keys=True).encode()


def _encrypt(data: bytes, key: bytes, purpose: bytes, kdf: Json) -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(_NONCE)
    return b64encode(nonce + AESGCM(key).encrypt(nonce, data, _associated_data(purpose, kdf))).decode()


def _decrypt(text: str, key: bytes, purpose: bytes, kdf: Json) -> bytes | None:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        data = b64decode(text, validate=True)
        return AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], _associated_data(purpose, kdf))
    except (InvalidTag, ValueError, TypeError):
        return None
