"""The place for secrets that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.config.model import Keeping
from mcp_studio.vault.base import PATIENCE, AskPassphrase, Drawer, Vault, VaultRefused, Waiting
from mcp_studio.vault.memory import MemoryVault

if TYPE_CHECKING:
    from mcp_studio.vault.names import Names

_LOOK = 5.0
"""Seconds for a keyring to say how it is; it may be waiting for somebody to unlock it."""
_memory: dict[Drawer, MemoryVault] = {}


def open_vault(
    keeping: Keeping,
    state: Path,
    *,
    passphrase: AskPassphrase | None = None,
    drawer: Drawer = "tokens",
    patience: float = PATIENCE,
    waiting: Waiting | None = None,
) -> Vault:
    """The vault of a kind. Looking for a keyring blocks: in a coroutine it belongs into a thread (`vault.beside`).

    Args:
        state: the state folder, for the encrypted file.
        passphrase: asks for the passphrase of the encrypted file, where MCP_STUDIO_PASSPHRASE does not say it.
        drawer: `secrets` is for what `${keyring:NAME}` may name.
        patience: seconds that a keyring may take for one call: it may be asking the person to unlock it.
        waiting: called where it takes long.

    Raises:
        VaultRefused: there is no keyring that can be used: why, and how to get one.
    """
    if keeping == "memory":
        return _memory.setdefault(drawer, MemoryVault())
    if keeping == "file":
        from mcp_studio.vault.file import FileVault, file_in

        return FileVault(file_in(state), drawer, passphrase)
    from mcp_studio.vault.oskeyring import KeyringVault

    return KeyringVault(drawer, patience=patience, lock=state / "keyring.lock", waiting=waiting)


def place_in_words(keeping: Keeping, state: Path) -> str:
    """Where secrets and sign-ins are kept; begins with ✗ where they cannot be. Blocks, and asks nobody to unlock it."""
    if keeping == "memory":
        return "nowhere: they last as long as the studio, or one command, runs"
    if keeping == "file":
        from mcp_studio.vault.file import file_in

        file = file_in(state)
        return f"encrypted under a passphrase in {file}" + ("" if file.exists() else ", which is not there yet")
    from mcp_studio.vault.oskeyring import KeyringVault

    try:
        vault = KeyringVault("tokens", patience=_LOOK)
        return vault.place + (", which is locked: it asks to be unlocked when it is needed" if vault.locked else "")
    except VaultRefused as error:
        return f"✗ {error.message} {error.hint}".rstrip()


def open_names(state: Path) -> Names:
    """The names that a person has kept secrets under."""
    from mcp_studio.vault.names import Names, names_file

    return Names(names_file(state))


def forget_memory() -> None:
    """Empty what is kept in memory."""
    _memory.clear()
