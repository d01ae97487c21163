"""The interface of every vault, and the errors by which a vault refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from mcp_studio.config.model import Keeping

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

    kind: Keeping
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

    kind: Keeping = "memory"
    place = "memory, until the studio ends"

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.secrets.get(name)

    def set(self, name: str, value: str) -> None:
        self.secrets[name] = value

    def delete(self, name: str) -> bool:
        return self.secrets.pop(name, None) is not None
