"""Secrets of the operating system's keyring, for `${keyring:NAME}`."""

from __future__ import annotations

import threading

from mcp_studio.errors import ConfigError

SERVICE = "mcp-studio"
"""The service name that our passwords are kept under."""
PATIENCE = 10.0
"""Seconds that a keyring may take: it may be asking the person to unlock it."""
KNOWN = (
    "keyring.backends.SecretService.Keyring",
    "keyring.backends.libsecret.Keyring",
    "keyring.backends.kwallet.DBusKeyring",
    "keyring.backends.kwallet.DBusKeyringKWallet4",
    "keyring.backends.macOS.Keyring",
    "keyring.backends.Windows.WinVaultKeyring",
)
"""The only backends that are used: others may keep passwords in clear text in a file without saying so."""


def lookup(name: str) -> str:
    """The password kept under a name.

    Raises:
        ConfigError: there is no usable keyring, no such password in it, or it did not answer in time.
    """
    found: list[str | None] = []
    failed: list[str] = []

    def ask() -> None:
        try:
            found.append(_get(name))
        except ConfigError as problem:
            failed.append(problem.message)

    # A keyring that waits for its unlock dialog cannot be interrupted: the thread is left behind.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if failed:
        raise ConfigError(failed[0], hint=f"Use an environment variable instead of ${{keyring:{name}}}.")
    if not found:
        raise ConfigError(f"The keyring did not answer within {PATIENCE:g} s.", hint="Unlock it and start again.")
    if found[0] is None:
        raise ConfigError(f"The keyring holds nothing under `{name}`.", hint=f"Store it: keyring set {SERVICE} {name}")
    return found[0]


def _get(name: str) -> str | None:
    try:
        from keyring.backend import get_all_keyring
        from keyring.errors import KeyringError
    except ImportError as problem:
        raise ConfigError(f"The keyring cannot be used: {problem}.") from None
    try:
        usable = [one for one in get_all_keyring() if _path(one) in KNOWN and one.priority > 0]
        if not usable:
            raise ConfigError("There is no operating system keyring here.")
        return max(usable, key=lambda one: one.priority).get_password(SERVICE, name)
    except (KeyringError, RuntimeError, OSError) as problem:
        raise ConfigError(f"The keyring failed: {problem}.") from None


def _path(backend: object) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"
