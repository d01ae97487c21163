"""Under which names a person has kept secrets. A keyring does not list what it holds, so that stands in a file;
values never do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple, get_args

from mcp_studio.atomic import write_atomically
from mcp_studio.config.model import Keeping
from mcp_studio.errors import ConfigError
from mcp_studio.vault.lock import FileLock, LockHeld

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
