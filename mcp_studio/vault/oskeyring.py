"""The operating system's keyring, through the public API of the `keyring` package."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp_studio.config.model import Keeping
from mcp_studio.errors import VaultDamaged, VaultRefused
from mcp_studio.threads import T, in_thread
from mcp_studio.vault.base import CHOICES, PATIENCE, Drawer

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICES: dict[Drawer, str] = {"secrets": "mcp-studio", "tokens": "mcp-studio sign-in"}
"""The service names under which our secrets are stored."""
PLACES = {
    "keyring.backends.SecretService.Keyring": "the Secret Service keyring",
    "keyring.backends.libsecret.Keyring": "the Secret Service keyring",
    "keyring.backends.kwallet.DBusKeyring": "the KDE wallet",
    "keyring.backends.kwallet.DBusKeyringKWallet4": "the KDE wallet",
    "keyring.backends.macOS.Keyring": "the macOS keychain",
    "keyring.backends.Windows.WinVaultKeyring": "the Windows Credential Manager",
}
"""The only backends that we use: `keyring` itself would accept one that writes clear text."""
WINDOWS_LIMIT = 600
"""The most characters of one Windows credential, which takes 2,560 bytes of UTF-16: a character has up to 4."""
_UNLOCK = f"Start it, unlock it, and try again. {CHOICES}"
_PARTS = r"mcp-studio parts 1 ([ab]) ([0-9]{1,4}) ([0-9a-f]{64})\Z"

_backend: KeyringBackend | None = None
_lock = threading.Lock()
"""Held while a call runs: two calls at once would each show an unlock dialog."""


class KeyringVault:
    """One drawer of the operating system's keyring."""

    kind: Keeping = "keyring"

    def __init__(self, drawer: Drawer = "secrets", patience: float = PATIENCE) -> None:
        """Find a keyring; `patience` is the most seconds that one call may take.

        Raises:
            VaultRefused: there is no usable keyring; the error says why, and how to get one.
        """
        self._service = SERVICES[drawer]
        self._patience = patience
        self.place = self._run(lambda: PLACES[_name(_find())])

    def get(self, name: str) -> str | None:
        return self._run(lambda: self._get(name))

    def set(self, name: str, value: str) -> None:
        self._run(lambda: self._set(name, value))

    def delete(self, name: str) -> bool:
        return self._run(lambda: self._delete(name, *_parts(name, self._header(name))))

    def _run(self, work: Callable[[], T]) -> T:
        """Run one call with a deadline: a keyring that shows a dialog cannot be interrupted."""
        no_answer = VaultRefused("The keyring does not answer: it may be waiting to be unlocked.", hint=_UNLOCK)
        if not _lock.acquire(timeout=self._patience):
            raise no_answer

        def run() -> T:
            try:
                return work()
            finally:
                _lock.release()

        try:
            return in_thread(run).result(self._patience)
        except VaultRefused:
            raise
        except TimeoutError:
            raise no_answer from None
        except Exception as problem:  # boundary: keyring passes on what the system's libraries raise
            forget()
            if type(problem).__name__ in ("KeyringLocked", "LockedException", "PromptDismissedException"):
                raise VaultRefused("The keyring is locked, and nobody has unlocked it.", hint=_UNLOCK) from None
            reason = f"{problem}".rstrip(".") or type(problem).__name__
            raise VaultRefused(f"The keyring failed: {reason}.", hint=_UNLOCK) from None

    def _get(self, name: str) -> str | None:
        get = _find().get_password
        stored = get(self._service, name)
        marks = re.match(_PARTS, stored or "")
        if marks is None:
            return stored
        whole = "".join(get(self._service, part) or "" for part in _parts(name, marks))
        if _digest(whole) != marks[3]:
            raise VaultDamaged(f"`{name}` is incomplete in the keyring.", hint="Store it again, or sign in again.")
        return whole

    def _set(self, name: str, value: str) -> None:
        backend = _find()
        place = PLACES[_name(backend)]
        before = self._header(name)
        limit = WINDOWS_LIMIT if "Windows" in place else sys.maxsize
        stored = value
        if len(value) > limit or re.match(_PARTS, value):
            letter = "b" if before and before[1] == "a" else "a"  # the old value stays until the new one is complete
            stored = f"mcp-studio parts 1 {letter} {-(-len(value) // limit)} {_digest(value)}"
            for number, part in enumerate(_parts(name, re.match(_PARTS, stored))):
                backend.set_password(self._service, part, value[number * limit :][:limit])
        backend.set_password(self._service, name, stored)
        self._delete(*_parts(name, before))
        if self._get(name) != value:
            raise VaultDamaged(f"What {place} kept as `{name}` is not what was written.", hint=CHOICES)

    def _delete(self, *names: str) -> bool:
        stored = [name for name in names if _find().get_password(self._service, name) is not None]
        for name in stored:
            _find().delete_password(self._service, name)
        return bool(stored)

    def _header(self, name: str) -> re.Match[str] | None:
        return re.match(_PARTS, _find().get_password(self._service, name) or "")


def _parts(name: str, found: re.Match[str] | None) -> list[str]:
    return [f"{name}#{found[1]}{number}" for number in range(1, int(found[2]) + 1)] if found else []


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def forget() -> None:
    """Find the keyring again at the next call."""
    global _backend
    _backend = None


def _name(backend: KeyringBackend | None) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def _find() -> KeyringBackend:
    """The keyring that the person has configured for `keyring`, else the best available one."""
    global _backend
    if _backend is None:
        _backend = _configured() or _best()
    return _backend


def _configured() -> KeyringBackend | None:
    from keyring import core

    backend = core.load_env() if os.environ.get("PYTHON_KEYRING_BACKEND") else core.load_config()
    if backend is None or _name(backend) == "keyring.backends.chainer.ChainerBackend":
        return None
    if _name(backend) not in PLACES:
        reason = f"The configured keyring, {_name(backend)}, is refused: it is not known to keep secrets encrypted."
        raise VaultRefused(reason, hint=f"Take PYTHON_KEYRING_BACKEND or the line in keyringrc.cfg away. {CHOICES}")
    return backend


def _best() -> KeyringBackend:
    from keyring import core

    usable: list[KeyringBackend] = []
    reasons: list[str] = []
    for name in PLACES:
        try:
            usable.append(core.load_keyring(name))
        except Exception as problem:  # boundary: any error of a system library means that its backend is not available
            reasons.append(f"{problem}".rstrip("."))
    if not usable:
        hint = f"Start and unlock one, such as gnome-keyring, KeePassXC or KDE's wallet. {CHOICES}"
        raise VaultRefused(f"There is no keyring here: {reasons[0]}.", hint=hint)
    return max(usable, key=lambda one: one.priority)
