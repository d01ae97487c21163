"""What every place for secrets can do, and why one refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from mcp_studio.config.model import Keeping
from mcp_studio.errors import ConfigError

Drawer = Literal["secrets", "tokens"]
"""What a person named and may use by `${keyring:NAME}`, and what signing in brought: no reference reaches a token."""
AskPassphrase = Callable[[bool], str]
"""Asks a person for the passphrase of the encrypted file, in the thread of the caller; True: it is a new one, to be
typed twice. An empty answer means that nobody gave one."""
Waiting = Callable[[], None]
"""Told, in the thread of the caller, that a keyring takes long: somebody may have to unlock it."""

PATIENCE = 60.0
"""Seconds that one call may take: a keyring may be asking the person to unlock it."""
CHOICES = (
    '`[secrets] store = "file"` in config.toml keeps secrets in a file encrypted under a passphrase '
    "(mcp-studio config set secrets.store file), "
    '`store = "memory"` keeps them until the studio ends.'
)
"""What else there is, for hints."""


class VaultRefused(ConfigError):
    """Secrets cannot be kept or read there; says why, and what to do about it."""


class VaultLocked(VaultRefused):
    """There is a keyring, but nobody has unlocked it."""


class PassphraseNeeded(VaultRefused):
    """The file is encrypted and nobody has given its passphrase."""


class PassphraseWrong(VaultRefused):
    """The passphrase that was given does not open the file."""


class VaultDamaged(VaultRefused):
    """What is kept there is not what was written."""


class Vault(Protocol):
    """A place for secrets by their names. Every call blocks, maybe until a person has unlocked something: in a
    coroutine it belongs into a thread (`vault.beside`)."""

    kind: Keeping
    place: str
    """Where it is, in words: `the Secret Service keyring`."""

    def get(self, name: str) -> str | None:
        """The secret, or None where there is none of that name.

        Raises:
            VaultRefused: it cannot be read.
        """
        ...

    def set(self, name: str, value: str) -> None:
        """Keep a secret in place of what had that name, and make sure that it can be read back.

        Raises:
            VaultRefused: it is not kept; what had that name still is, as far as the place allows.
        """
        ...

    def delete(self, name: str) -> bool:
        """Forget a secret; False where there was none.

        Raises:
            VaultRefused: it may still be there.
        """
        ...
