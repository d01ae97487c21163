"""From a saved call to arguments that can be sent: variables and secrets in their places."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, cast

from mcp_studio.call.saved import REFERENCE, SavedCall, Variable
from mcp_studio.config.nearest import nearest
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.schema.place import Path, pointer
from mcp_studio.vault.keyring import lookup

Lookup = Callable[[str], str]
"""Gives a secret by its name; raises ConfigError."""


class Filled(NamedTuple):
    """What came of it."""

    arguments: Json
    hidden: frozenset[str] = frozenset()
    """Pointers of the places where secrets stand, or stood before they were left out."""
    secrets: tuple[str, ...] = ()
    """The secrets themselves, for the redactor."""


class _Absent:
    """An optional variable without a value: the place is not there."""


_ABSENT = _Absent()


def missing(saved: SavedCall, values: Mapping[str, Json]) -> tuple[Variable, ...]:
    """The variables without which it cannot be run, and that have no value yet."""
    return tuple(one for one in saved.variables if one.name not in values and one.required and not one.has_default)


def fill(
    saved: SavedCall,
    values: Mapping[str, Json],
    *,
    secrets: bool = True,
    environ: Mapping[str, str] = os.environ,
    keyring: Lookup = lookup,
) -> Filled:
    """The arguments with every `${…}` replaced. May wait for the keyring: it belongs into a thread.

    Args:
        values: of the variables; where there is none, the default counts.
        secrets: False leaves out what is secret, and asks neither environment nor keyring.

    Raises:
        ConfigError: a secret is not there; it names its place.
    """
    filling = _Filling(saved, values, secrets, environ, keyring)
    found = filling.value(saved.arguments, ())
    return Filled(None if isinstance(found, _Absent) else found, frozenset(filling.hidden), tuple(filling.secrets))


class _Filling:
    """One pass over the arguments."""

    def __init__(
        self, saved: SavedCall, values: Mapping[str, Json], secrets: bool, environ: Mapping[str, str], keyring: Lookup
    ) -> None:
        self._saved = saved
        self._values = values
        self._with_secrets = secrets
        self._environ = environ
        self._keyring = keyring
        self.hidden: set[str] = set()
        self.secrets: dict[str, None] = {}

    def value(self, value: Json, path: Path) -> Json | _Absent:
        """The value with what it refers to; absent where that is nothing."""
        if isinstance(value, str):
            return self._text(value, path) if "${" in value else value
        if isinstance(value, dict):
            members = cast("dict[str, Json]", value).items()
            filled = ((key, self.value(item, (*path, key))) for key, item in members)
            return {key: item for key, item in filled if not isinstance(item, _Absent)}
        if isinstance(value, list):
            items: list[Json] = []
            for inner in cast("list[Json]", value):
                item = self.value(inner, (*path, len(items)))  # places are those of what is sent
                items += [] if isinstance(item, _Absent) else [item]
            return items
        return value

    def _text(self, text: str, path: Path) -> Json | _Absent:
        whole = REFERENCE.fullmatch(text)
        if whole and not whole[1]:
            return self._reference(whole, path)
        parts: list[str] = []
        at = 0
        for found in REFERENCE.finditer(text):
            item = "${" if found[1] else self._reference(found, path)
            parts += (text[at : found.start()], _spelled(item))
            at = found.end()
        if not self._with_secrets and pointer(*path) in self.hidden:
            return _ABSENT
        return "".join((*parts, text[at:]))

    def _reference(self, found: re.Match[str], path: Path) -> Json | _Absent:
        """What one `${…}` stands for."""
        scheme, name = found[2], found[3]
        if scheme is None:
            return self._variable(name, path)
        if not self._with_secrets:
            self.hidden.add(pointer(*path))
            return _ABSENT
        return self._secret(self._looked_up(scheme, name, path), path)

    def _variable(self, name: str, path: Path) -> Json | _Absent:
        variable = self._saved.variable(name)
        if name in self._values:
            value = self._values[name]
        elif variable is not None and variable.has_default:
            value = variable.schema["default"]
        else:
            return _ABSENT
        if variable is None or not variable.secret:
            return value
        if not self._with_secrets:
            self.hidden.add(pointer(*path))
            return _ABSENT
        return self._secret(value, path)

    def _secret(self, value: Json, path: Path) -> Json:
        self.hidden.add(pointer(*path))
        if isinstance(value, str):
            self.secrets[value] = None
        return value

    def _looked_up(self, scheme: str, name: str, path: Path) -> str:
        place = ".".join(("arguments", *map(str, path)))
        file = str(self._saved.file)
        if scheme == "env":
            if name not in self._environ:
                hint = nearest(name, (other for other in self._environ if len(other) > 3))
                raise ConfigError(
                    f"{self._saved.name}: {place}: the environment variable {name} is not set.", file=file, hint=hint
                )
            return self._environ[name]
        try:
            return self._keyring(name)
        except ConfigError as problem:
            raise ConfigError(f"{self._saved.name}: {place}: {problem.message}", file=file, hint=problem.hint) from None


def _spelled(item: Json | _Absent) -> str:
    """A value inside a longer text."""
    if isinstance(item, _Absent) or item is None:
        return ""
    return item if isinstance(item, str) else dumps(item).decode()
