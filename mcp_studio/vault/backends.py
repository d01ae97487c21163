"""Which keyring of the operating system to use: only known classes, looked for in a fixed order.

Plugins are never loaded: one that keeps passwords in clear text in a file would be chosen without a word where no
other keyring is. What the person has configured for `keyring` counts as far as it is a keyring that keeps secrets.
"""

from __future__ import annotations

import configparser
import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio.vault.base import CHOICES, VaultRefused
from mcp_studio.vault.secret_service import SecretService

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
