"""`${keyring:NAME}`: the secrets that a person has named, in the place that the settings name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import get_args

from mcp_studio.config.model import Keeping, ServerConfig
from mcp_studio.config.secrets import offers, placed
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import mapping
from mcp_studio.paths import Paths, read_object, write_object
from mcp_studio.record import record
from mcp_studio.redact import Redactor
from mcp_studio.vault.base import AskPassphrase, Drawer, MemoryVault, Vault, VaultDamaged, VaultRefused
from mcp_studio.vault.file import FileVault, Keys, file_in
from mcp_studio.vault.oskeyring import KeyringVault

_GOOD = re.compile(r"\w[\w.@ -]{0,98}[\w.@-]|\w")

_memory: dict[tuple[Path, Drawer], MemoryVault] = {}
_keys: Keys = {}


def open_vault(keeping: Keeping, state: Path, drawer: Drawer = "tokens") -> Vault:
    """The vault of a kind. Looking for a keyring blocks: in a coroutine it belongs into a thread (`beside`).

    Args:
        state: the state folder, for the encrypted file; what is kept in memory belongs to it too.
        drawer: `secrets` is for what `${keyring:NAME}` may name.

    Raises:
        VaultRefused: there is no keyring that can be used: why, and how to get one.
    """
    if keeping == "memory":
        return _memory.setdefault((state, drawer), MemoryVault())
    if keeping == "file":
        return FileVault(file_in(state), drawer, lambda new: _store.ask(new) if _store.ask else "", _keys)
    return KeyringVault(drawer)


@record()
class _Store:
    """Where to look: one for the process, as references are replaced in many places."""

    keeping: Keeping = "keyring"
    state: Path | None = None
    ask: AskPassphrase | None = None


_store = _Store()


def use(keeping: Keeping, state: Path) -> None:
    """Look for named secrets in a place of this kind from now on."""
    _store.keeping, _store.state = keeping, state


def ask_with(ask: AskPassphrase | None) -> None:
    """Set how a person is asked for the passphrase of the encrypted file."""
    _store.ask = ask


def _state() -> Path:
    return _store.state or Paths.default().state


def named() -> Vault:
    """The vault of named secrets.

    Raises:
        VaultRefused: there is none that can be used, and how to get one.
    """
    return open_vault(_store.keeping, _state(), "secrets")


def place_in_words(keeping: Keeping, state: Path) -> str:
    """Where secrets and sign-ins are kept; begins with ✗ where they cannot be. Blocks, and unlocks nothing."""
    try:
        return open_vault(keeping, state).place
    except VaultRefused as error:
        return f"✗ {error.message} {error.hint}".rstrip()


def _names_file() -> Path:
    return _state() / "secret-names.json"


def names() -> dict[str, Keeping]:
    """The names that a person has kept secrets under, sorted, and the kind of place that each was put in."""
    found = mapping(read_object(_names_file()).get("names"))  # only lists depend on the file
    return {name: kept for name, kept in sorted(found.items()) if kept in get_args(Keeping)}


def _save_name(name: str, kept: Keeping | None) -> None:
    """Remember where the secret of a name is; None forgets the name."""
    file = _names_file()
    known = {key: value for key, value in {**names(), name: kept}.items() if value is not None}
    try:
        write_object(file, {"version": 1, "names": known})
    except OSError as problem:
        raise ConfigError(f"Cannot be written: {problem.strerror or problem}.", file=str(file)) from None


def check_name(name: str) -> str:
    """The name itself, where a reference to it can be written.

    Raises:
        ConfigError: it is none for `${keyring:NAME}`.
    """
    if not _GOOD.fullmatch(name):
        hint = "Letters, digits and . _ - @ make one, and spaces inside, up to 100 of them."
        raise ConfigError(f"`{name}` is no name for a secret.", hint=hint)
    return name


def keep(name: str, value: str) -> str:
    """Keep a secret under a name that `${keyring:NAME}` then stands for, in place of what had it; says where it is.

    Raises:
        ConfigError: the name is none, the secret is empty, or it could not be stored: why, and what else there is.
    """
    check_name(name)
    if not value:
        raise ConfigError("The secret is empty: it is not stored.")
    vault = named()
    vault.set(name, value)
    _save_name(name, vault.kind)
    return vault.place


def move(servers: Iterable[ServerConfig], redactor: Redactor) -> list[ServerConfig]:
    """The entries with references in the places of their secrets, which are kept now. Blocks.

    Raises:
        ConfigError: a secret could not be stored: why, and what else there is; those before stay kept.
    """
    moved: list[ServerConfig] = []
    for server in servers:
        found, free = offers(server), dict[str, str]()
        for name, value in {one.name: one.value for one in found}.items():
            redactor.learn(value)
            # No list knows of all names: another secret keeps the one that it has.
            further = (name, *(f"{name}-{number}" for number in range(2, 100)))
            free[name] = next(one for one in further if named().get(one) in (None, value))
            keep(free[name], value)
        moved.append(placed(server, [one._replace(name=free[one.name]) for one in found]))
    return moved


def remove(name: str) -> bool:
    """Forget the secret of a name, and the name; False where there was none.

    Raises:
        ConfigError: it may still be there.
    """
    there = named().delete(name)
    if name in names():
        _save_name(name, None)
    return there


def lookup(name: str) -> str:
    """The secret kept under a name. Blocks, maybe until a person has unlocked something.

    Raises:
        ConfigError: nothing usable keeps secrets here, or nothing is kept under that name.
    """
    return session()(name)


def session() -> Callable[[str], str]:
    """`lookup` for many names: a store that refuses is asked only once."""
    vault: Vault | None = None
    refusal: VaultRefused | None = None

    def ask(name: str) -> str:
        nonlocal vault, refusal
        try:
            if refusal is not None:
                raise refusal
            vault = vault or named()
            found = vault.get(name)
        except VaultRefused as problem:
            if not isinstance(problem, VaultDamaged):  # which may be of one name alone
                refusal = problem
            hint = f"{problem.hint} Or use an environment variable instead of ${{keyring:{name}}}.".strip()
            raise type(problem)(problem.message, file=problem.file, hint=hint) from None
        if found is None:
            hint = f"Store it: mcp-studio config secrets set {name}"
            if vault.kind == "memory":
                hint = 'Memory begins empty with each studio: [secrets] store = "keyring" keeps secrets.'
            raise ConfigError(f"There is nothing under `{name}` in {vault.place}.", hint=hint)
        return found

    return ask
