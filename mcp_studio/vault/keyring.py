"""`${keyring:NAME}`: the secrets that a person has named, wherever the settings say that secrets are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.config.model import Keeping
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths
from mcp_studio.vault.base import PATIENCE, AskPassphrase, Vault, VaultDamaged, VaultRefused, Waiting
from mcp_studio.vault.choose import open_names, open_vault

if TYPE_CHECKING:
    from mcp_studio.vault.names import Names

LOOKUP_PATIENCE = 30.0
"""Seconds that a keyring may take, maybe asking the person to unlock it, while the studio starts."""
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
        self.waiting: Waiting | None = None


_store = _Store()


def use(keeping: Keeping, state: Path) -> None:
    """From now on named secrets are looked for in a place of this kind."""
    _store.keeping, _store.state = keeping, state


def ask_with(ask: AskPassphrase | None) -> None:
    """How a person is asked for the passphrase of the encrypted file, should it be needed."""
    _store.ask = ask


def passphrase() -> AskPassphrase | None:
    """What was given to `ask_with`."""
    return _store.ask


def wait_with(waiting: Waiting | None) -> None:
    """How a person is told that a keyring takes long, and may have to be unlocked."""
    _store.waiting = waiting


def _state() -> Path:
    return _store.state or Paths.default().state


def named(patience: float = PATIENCE) -> Vault:
    """The vault of named secrets.

    Raises:
        VaultRefused: there is none that can be used, and how to get one.
    """
    return open_vault(
        _store.keeping,
        _state(),
        passphrase=_store.ask,
        drawer="secrets",
        patience=patience,
        waiting=_store.waiting,
    )


def names() -> Names:
    """The names that a person has kept secrets under."""
    return open_names(_state())


def keep(name: str, value: str) -> str:
    """Keep a secret under a name that `${keyring:NAME}` then stands for, in place of what had it; says where it is.

    Raises:
        ConfigError: the name is none, the secret is empty, or it could not be kept: why, and what else there is.
    """
    names().check(name)
    if not value:
        raise ConfigError("The secret is empty: it is not kept.")
    vault = named()
    vault.set(name, value)
    names().add(name, vault.kind)
    return vault.place


def unused(name: str, value: str) -> str:
    """The name itself, or a further one where something else is kept under it: no list knows of everything.

    Raises:
        VaultRefused: there is no place for secrets that can be used.
    """
    vault = named()
    further = (name, *(f"{name}-{number}" for number in range(2, 100)))
    return next((one for one in further if vault.get(one) in (None, value)), f"{name}-100")


def remove(name: str) -> bool:
    """Forget the secret of a name, and the name; False where there was none.

    Raises:
        ConfigError: it may still be there.
    """
    there = named().delete(name)
    names().remove(name)
    return there


def lookup(name: str) -> str:
    """The secret kept under a name. Blocks, maybe until a person has unlocked something.

    Raises:
        ConfigError: nothing usable keeps secrets here, or nothing is kept under that name.
    """
    return _found(name, None)


def session() -> Callable[[str], str]:
    """`lookup` for many names: each is asked for once, and a store that refuses only once."""
    known: dict[str, str | ConfigError] = {}
    store = _Once()

    def ask(name: str) -> str:
        if name not in known:
            try:
                known[name] = _found(name, store)
            except ConfigError as problem:
                known[name] = problem
        answer = known[name]
        if isinstance(answer, ConfigError):
            raise answer
        return answer

    return ask


class _Once:
    """A vault that is opened when it is first needed, or the refusal of it."""

    def __init__(self) -> None:
        self._answer: Vault | VaultRefused | None = None

    def vault(self) -> Vault:
        if self._answer is None:
            try:
                self._answer = named(LOOKUP_PATIENCE)
            except VaultRefused as problem:
                self._answer = problem
        if isinstance(self._answer, VaultRefused):
            raise self._answer
        return self._answer

    def refused(self, problem: VaultRefused) -> None:
        self._answer = problem


def _found(name: str, store: _Once | None) -> str:
    store = store or _Once()
    try:
        vault = store.vault()
        found = vault.get(name)
    except VaultRefused as problem:
        if not isinstance(problem, VaultDamaged):  # of one name alone, maybe
            store.refused(problem)
        hint = f"{problem.hint} Or use an environment variable instead of ${{keyring:{name}}}.".strip()
        raise type(problem)(problem.message, file=problem.file, hint=hint) from None
    if found is None:
        hint = f"Store it: mcp-studio config secrets set {name}"
        if vault.kind == "memory":
            hint = 'A studio that keeps secrets in memory begins without any: [secrets] store = "keyring" keeps them.'
        raise ConfigError(f"{_WHERE[vault.kind]} holds nothing under `{name}`.", hint=hint)
    return found
