"""From the arguments of a form to a saved call: some of them become variables, and none of the secrets is written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.saved import REFERENCE, SavedCall, Variable, Where, literal
from mcp_studio.call.secrets import Keeper
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.table import nearest
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.schema.field import Form, field_at
from mcp_studio.schema.place import NoPlace, Path, found, get, has, path_of, pointer, put
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
        for match in REFERENCE.finditer(text):
            item = "${" if match[1] else self._reference(match, path)
            parts += (text[at : match.start()], _spelled(item))
            at = match.end()
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


_KEPT = (
    "title description enum format minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern"
).split()
_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_MOST = 500


class Leaf(NamedTuple):
    """One argument that may become a variable."""

    path: Path
    value: Json
    secret: bool


def leaves(arguments: Json, keeper: Keeper, hidden: Collection[str] = ()) -> tuple[Leaf, ...]:
    """The scalars in a value, and whatever of it is secret, in their order; not more than a person can look at."""
    secret = [path_of(place, arguments) for place in keeper.kept(arguments, hidden)[1]]
    seen: list[Leaf] = []
    todo: list[Path] = [()]
    while todo and len(seen) < _MOST:
        path = todo.pop()
        value = get(arguments, path)
        if path in secret or not isinstance(value, dict | list):
            seen.append(Leaf(path, value, path in secret))
        elif isinstance(value, dict):
            todo += [(*path, key) for key in reversed(cast("dict[str, Json]", value))]
        else:
            todo += [(*path, index) for index in reversed(range(len(cast("list[Json]", value))))]
    return tuple(leaf for leaf in seen if leaf.path or leaf.secret)


def made(
    name: str,
    ref: Ref,
    arguments: Json,
    form: Form,
    *,
    keeper: Keeper,
    hidden: Collection[str] = (),
    variables: Collection[Path] = (),
    keyring: Mapping[Path, str] | None = None,
    description: str = "",
    where: Where = "personal",
) -> SavedCall:
    """A saved call of these arguments. What is secret and not in `keyring` becomes a secret variable.

    Args:
        variables: the places whose values are asked for; what stands there now is the default.
        keyring: for places of secrets, the name under which the keyring has them.
    """
    value = literal(arguments)
    variables_made: list[Variable] = []
    names: set[str] = set()
    for leaf in leaves(arguments, keeper, hidden):
        if leaf.secret and (stored := (keyring or {}).get(leaf.path)):
            value = put(value, leaf.path, f"${{keyring:{stored}}}")
        elif leaf.secret or leaf.path in variables:
            variable = _variable(leaf, form, arguments, names.__contains__)
            names.add(variable.name)
            variables_made.append(variable)
            value = put(value, leaf.path, f"${{{variable.name}}}")
    return SavedCall(name, ref, value, description, tuple(variables_made), where)


def _variable(leaf: Leaf, form: Form, arguments: Json, taken: Callable[[str], bool]) -> Variable:
    """A variable for a place: named after its key, of the type that its field has, else its value."""
    field = field_at(form.top, leaf.path, arguments)
    schema: dict[str, Json] = {}
    said = cast("dict[str, Json]", field.schema) if field and isinstance(field.schema, dict) else {}
    kind = said.get("type")
    if not isinstance(kind, str):
        kind = next((word for known, word in _TYPES.items() if isinstance(leaf.value, known)), "")
    if kind and leaf.value is not None and not (field and field.nullable):
        schema["type"] = kind
    schema |= {key: said[key] for key in _KEPT if key in said and _fine(said[key])}
    if leaf.value is not None and not leaf.secret:
        schema["default"] = leaf.value
    base = re.sub(
        r"[^A-Za-z0-9_-]+", "_", str(next((part for part in reversed(leaf.path) if isinstance(part, str)), ""))
    )
    base = base if re.match(r"[A-Za-z_]", base) else f"value_{base}".rstrip("_")
    name, number = base[:70], 1
    while taken(name):
        number += 1
        name = f"{base[:70]}_{number}"
    return Variable(name, schema, "default" not in schema, leaf.secret)


def _fine(value: Json) -> bool:
    """Whether TOML can say it."""
    return value is not None and not (isinstance(value, list) and None in value)


def with_secrets_of(earlier: SavedCall | None, saved: SavedCall) -> SavedCall:
    """The call with the secrets that an earlier one has, and that a form which was filled with it never saw."""
    if earlier is None or earlier.ref != saved.ref:
        return saved
    value, variables = saved.arguments, list(saved.variables)
    for place in fill(earlier, {}, secrets=False).hidden:
        path = path_of(place, earlier.arguments)
        text = found(earlier.arguments, path)
        if has(value, path) or not isinstance(text, str):
            continue
        names = [match[3] for match in REFERENCE.finditer(text) if not match[1] and not match[2]]
        try:
            value = put(value, path, text, tuple(_keys(earlier.arguments, path)))
        except NoPlace:
            continue
        taken = {variable.name for variable in variables}
        variables += [one for one in earlier.variables if one.name in names and one.name not in taken]
    return replace(saved, arguments=value, variables=tuple(variables))


def _keys(value: Json, path: Path) -> list[str]:
    """The keys before one, in its object."""
    holder = found(value, path[:-1])
    keys = list(cast("dict[str, Json]", holder)) if isinstance(holder, dict) else []
    return keys[: keys.index(str(path[-1]))] if path[-1] in keys else []
