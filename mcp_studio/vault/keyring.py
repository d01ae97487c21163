"""`${keyring:NAME}`: the secrets that a person has named, in the place that the settings choose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import get_args

from mcp_studio.config.model import ServerConfig, VaultKind
from mcp_studio.config.secrets import offers, placed
from mcp_studio.errors import ConfigError, VaultDamaged, VaultRefused
from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import Paths, read_object
from mcp_studio.record import record
from mcp_studio.redact import Redactor
from mcp_studio.vault.base import AskPassphrase, Drawer, MemoryVault, Vault, change_object
from mcp_studio.vault.file import FileVault, Keys, file_in
from mcp_studio.vault.oskeyring import KeyringVault

_GOOD = r"\w[\w.@ -]{0,98}[\w.@-]|\w"

_memory: dict[tuple[Path, Drawer], MemoryVault] = {}
_keys: Keys = {}


def open_vault(keeping: VaultKind, state: Path, drawer: Drawer = "tokens") -> Vault:
    """Open the vault of a kind. Finding a keyring blocks: coroutines call this in a thread (`beside`).

    Args:
        state: the state folder, which has the encrypted file; each folder has its own secrets in memory too.
        drawer: `secrets` holds what `${keyring:NAME}` may name.

    Raises:
        VaultRefused: there is no usable keyring; the error says why, and how to get one.
    """
    if keeping == "memory":
        return _memory.setdefault((state, drawer), MemoryVault())
    if keeping == "file":
        return FileVault(file_in(state), drawer, lambda new: _store.ask(new) if _store.ask else "", _keys)
    return KeyringVault(drawer)


@record()
class _Store:
    """Where named secrets are stored: one place per process, because references are replaced in many parts of it."""

    keeping: VaultKind = "keyring"
    state: Path | None = None
    ask: AskPassphrase | None = None


_store = _Store()


def use(keeping: VaultKind, state: Path) -> None:
    """Store and read named secrets in this kind of place from now on."""
    _store.keeping, _store.state = keeping, state


def ask_with(ask: AskPassphrase | None) -> None:
    """Set the function that asks a person for the passphrase of the encrypted file."""
    _store.ask = ask


def _state() -> Path:
    return _store.state or Paths.default().state


def named() -> Vault:
    """Open the vault of named secrets.

    Raises:
        VaultRefused: there is no usable one; the error says how to get one.
    """
    return open_vault(_store.keeping, _state(), "secrets")


def place_in_words(keeping: VaultKind, state: Path) -> str:
    """The place of secrets and sign-ins, for people; begins with ✗ if there is none. Blocks, and unlocks nothing."""
    try:
        return open_vault(keeping, state).place
    except VaultRefused as error:
        return f"✗ {error.message} {error.hint}".rstrip()


def _names_file() -> Path:
    return _state() / "secret-names.json"


def names() -> dict[str, VaultKind]:
    """The names under which a person has stored secrets, sorted, and the kind of place of each."""
    return _names(read_object(_names_file()))  # only listings depend on this file


def _names(stored: dict[str, Json]) -> dict[str, VaultKind]:
    return {name: kind for name, kind in sorted(mapping(stored.get("names")).items()) if kind in get_args(VaultKind)}


def _save_name(name: str, keeping: VaultKind | None) -> None:
    """Remember the place of a name's secret; None forgets the name."""

    def edit(stored: dict[str, Json]) -> dict[str, Json]:
        entries = {**_names(stored), name: keeping}
        return {"version": 1, "names": {key: value for key, value in entries.items() if value is not None}}

    change_object(_names_file(), edit)


def check_name(name: str) -> str:
    """Return a name that a reference can contain.

    Raises:
        ConfigError: `${keyring:NAME}` cannot contain the name.
    """
    if not re.fullmatch(_GOOD, name):
        hint = "Letters, digits and . _ - @ make one, and spaces inside, up to 100 of them."
        raise ConfigError(f"`{name}` is no name for a secret.", hint=hint)
    return name


def keep(name: str, value: str) -> str:
    """Store a secret for `${keyring:NAME}`, replacing the old one, and say where.

    Raises:
        ConfigError: the name is invalid, the secret is empty, or it could not be stored; the error says what to do.
    """
    check_name(name)
    if not value:
        raise ConfigError("The secret is empty: it is not stored.")
    vault = named()
    vault.set(name, value)
    _save_name(name, vault.kind)
    return vault.place


def move(servers: Iterable[ServerConfig], redactor: Redactor) -> list[ServerConfig]:
    """Store the secrets of entries, and return the entries with references instead. Blocks.

    Raises:
        ConfigError: a secret could not be stored; the error says what to do. The earlier ones stay stored.
    """
    entries: list[ServerConfig] = []
    for server in servers:
        found, free = offers(server), dict[str, str]()
        for name, value in {one.name: one.value for one in found}.items():
            redactor.learn(value)
            # Nothing lists all names: a name that another secret has is not used.
            further = (name, *(f"{name}-{number}" for number in range(2, 100)))
            free[name] = next(one for one in further if named().get(one) in (None, value))
            keep(free[name], value)
        entries.append(placed(server, [one._replace(name=free[one.name]) for one in found]))
    return entries


def remove(name: str) -> bool:
    """Delete the secret of a name, and the name; False if there was no secret.

    Raises:
        ConfigError: the secret may still be there.
    """
    deleted = named().delete(name)
    if name in names():
        _save_name(name, None)
    return deleted


def lookup(name: str) -> str:
    """Read the secret of a name. Blocks, maybe until a person has unlocked the vault.

    Raises:
        ConfigError: there is no usable vault here, or it has no such name.
    """
    return session()(name)


def session() -> Callable[[str], str]:
    """`lookup` for many names: a vault that refuses is opened only once."""
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
            if not isinstance(problem, VaultDamaged):  # damage may affect one name alone
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
