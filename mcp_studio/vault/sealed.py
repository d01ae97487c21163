"""The text of the encrypted file: Scrypt makes a key of the passphrase (RFC 7914), AES-256-GCM seals all secrets and
their names under it.

    {"format": "mcp-studio secrets", "version": 1,
     "kdf": {"name": "scrypt", "n": …, "r": …, "p": …, "salt": base64},
     "check": base64, "sealed": base64, "digest": SHA-256 of all the others}

`check` is a known text sealed under the key, so that a wrong passphrase is told apart from a damaged file; `digest`
shows damage to what stands around. Both sealed values are bound to the rest by the associated data.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from mcp_studio.record import record
from mcp_studio.vault.base import PassphraseWrong, VaultDamaged

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
