"""`${keyring:NAME}`: the secrets that a person has named, wherever the settings say that secrets are kept."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.config.model import Keeping
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths
from mcp_studio.vault.base import AskPassphrase, Vault, VaultRefused
from mcp_studio.vault.choose import open_vault

SERVICE = "mcp-studio"
"""The service name that named secrets are kept under in the keyring of the operating system."""

_WHERE: dict[Keeping, str] = {
    "keyring": "The keyring",
    "file": "The encrypted file",
    "memory": "The memory of this studio",
}


class _Store:
    """Where to look: one for the process, as references are replaced in many places."""

    def __init__(self) -> None:
        self.keeping: Keeping = "keyring"
        self.state: Path | None = None
        self.ask: AskPassphrase | None = None


_store = _Store()


def use(keeping: Keeping, state: Path) -> None:
    """From now on named secrets are looked for in a place of this kind."""
    _store.keeping, _store.state = keeping, state


def ask_with(ask: AskPassphrase | None) -> None:
    """How a person is asked for the passphrase of the encrypted file, should it be needed."""
    _store.ask = ask


def named() -> Vault:
    """The vault of named secrets.

    Raises:
        VaultRefused: there is none that can be used, and how to get one.
    """
    return open_vault(_store.keeping, _store.state or Paths.default().state, passphrase=_store.ask, drawer="secrets")


def lookup(name: str) -> str:
    """The secret kept under a name. Blocks, maybe until a person has unlocked something.

    Raises:
        ConfigError: nothing usable keeps secrets here, or nothing is kept under that name.
    """
    try:
        vault = named()
        found = vault.get(name)
    except VaultRefused as problem:
        hint = f"{problem.hint} Or use an environment variable instead of ${{keyring:{name}}}.".strip()
        raise type(problem)(problem.message, file=problem.file, hint=hint) from None
    if found is None:
        hint = f"Store it: mcp-studio config secrets set {name}"
        if vault.kind == "memory":
            hint = 'A studio that keeps secrets in memory begins without any: [secrets] store = "keyring" keeps them.'
        raise ConfigError(f"{_WHERE[vault.kind]} holds nothing under `{name}`.", hint=hint)
    return found
