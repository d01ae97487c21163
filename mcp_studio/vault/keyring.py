"""`${keyring:NAME}`: the secrets that a person has named, wherever the settings say that secrets are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args

from mcp_studio.config.model import Keeping
from mcp_studio.errors import ConfigError
from mcp_studio.paths import Paths, write_atomically
from mcp_studio.vault.base import (
    PATIENCE,
    AskPassphrase,
    Drawer,
    FileLock,
    LockHeld,
    MemoryVault,
    Vault,
    VaultDamaged,
    VaultRefused,
    Waiting,
)

VERSION = 1
"""Version of the format: {"version": 1, "names": {name: kind of place}}."""
_GOOD = re.compile(r"\w[\w.@ -]{0,98}[\w.@-]|\w")


class Named(NamedTuple):
    """One name, and the kind of place that its secret was put in."""

    name: str
    kept: Keeping


def names_file(state: Path) -> Path:
    """The file, below the state folder."""
    return state / "secret-names.json"


class Names:
    """The names in one file; a damaged one counts as empty, since only lists depend on it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def list(self) -> tuple[Named, ...]:
        """All names, in their order."""
        return tuple(Named(name, kept) for name, kept in sorted(self._read().items()))

    def check(self, name: str) -> str:
        """The name itself, where a reference to it can be written.

        Raises:
            ConfigError: it is none for `${keyring:NAME}`.
        """
        if not _GOOD.fullmatch(name):
            raise ConfigError(
                f"`{name}` is no name for a secret.",
                hint="Letters, digits and . _ - @ make one, and spaces inside, up to 100 of them.",
            )
        return name

    def add(self, name: str, kept: Keeping) -> None:
        """Remember a name.

        Raises:
            ConfigError: it cannot be written.
        """
        self._change(name, kept)

    def remove(self, name: str) -> None:
        """Forget a name.

        Raises:
            ConfigError: it cannot be written.
        """
        if name in self._read():
            self._change(name, None)

    def _change(self, name: str, kept: Keeping | None) -> None:
        try:
            with FileLock(self._file.with_suffix(".lock"), "the names of secrets"):
                known = {key: value for key, value in self._read().items() if key != name}
                if kept is not None:
                    known[name] = kept
                text = json.dumps({"version": VERSION, "names": known}, indent=2, sort_keys=True) + "\n"
                write_atomically(self._file, text.encode())
        except LockHeld as problem:
            raise ConfigError(problem.message, file=str(self._file), hint=problem.hint) from None
        except OSError as problem:
            raise ConfigError(f"Cannot be written: {problem.strerror or problem}.", file=str(self._file)) from None

    def _read(self) -> dict[str, Keeping]:
        try:
            stored: Any = json.loads(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        names = stored.get("names") if isinstance(stored, dict) and stored.get("version") == VERSION else None
        if not isinstance(names, dict):
            return {}
        return {name: kept for name, kept in names.items() if kept in get_args(Keeping)}


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

    return Names(names_file(state))


def forget_memory() -> None:
    """Empty what is kept in memory."""
    _memory.clear()


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
