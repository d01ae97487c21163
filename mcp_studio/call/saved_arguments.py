"""From a saved call to the arguments of a call, and back: variables are filled in or made, and no secret is written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.saved import REFERENCE, SavedCall, Variable, Where, literal
from mcp_studio.call.secrets import SecretFilter, walk
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.table import nearest
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.schema.field import Form, field_at
from mcp_studio.schema.place import NoPlace, Path, get_or_none, has, path_of, pointer, put
from mcp_studio.vault.keyring import lookup

Lookup = Callable[[str], str]
"""Gives a secret by its name; raises ConfigError."""
_MOST = 500
"""Places that a person can look at."""
_OF_FIELD = (
    "title description enum format minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern"
).split()
"""Keywords of a field that its variable has too."""
_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


class Filled(NamedTuple):
    """What came of it."""

    arguments: Json
    hidden: frozenset[str] = frozenset()
    """Pointers of the places where secrets stand, or stood before they were left out."""
    secrets: tuple[str, ...] = ()
    """The secrets themselves, for the redactor."""


_ABSENT = object()
"""Stands for an optional variable without a value: the place is not there."""


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
    hidden: set[str] = set()
    known: dict[str, None] = {}

    def filled(value: Json, path: Path) -> Json:
        if isinstance(value, str):
            return text(value, path) if "${" in value else value
        if isinstance(value, dict):
            members = ((key, filled(item, (*path, key))) for key, item in cast("dict[str, Json]", value).items())
            return {key: item for key, item in members if item is not _ABSENT}
        if isinstance(value, list):
            items: list[Json] = []
            for inner in cast("list[Json]", value):
                item = filled(inner, (*path, len(items)))  # places are those of what is sent
                items += [] if item is _ABSENT else [item]
            return items
        return value

    def text(value: str, path: Path) -> Json:
        whole = REFERENCE.fullmatch(value)
        if whole and not whole[1]:
            return reference(whole, path)
        made = REFERENCE.sub(lambda one: "${" if one[1] else _spelled(reference(one, path)), value)
        return _ABSENT if not secrets and pointer(*path) in hidden else made

    def reference(one: re.Match[str], path: Path) -> Json:
        variable = saved.variable(one[3])
        if one[2] is None and (variable is None or not variable.secret):
            return values.get(one[3], variable.schema.get("default", _ABSENT) if variable else _ABSENT)
        if one[2] is None and one[3] not in values:
            return _ABSENT
        hidden.add(pointer(*path))
        if not secrets:
            return _ABSENT
        value = values[one[3]] if one[2] is None else _looked_up(saved, one, path, environ, keyring)
        if isinstance(value, str):
            known[value] = None
        return value

    made = filled(saved.arguments, ())
    return Filled(None if made is _ABSENT else made, frozenset(hidden), tuple(known))


def _looked_up(saved: SavedCall, one: re.Match[str], path: Path, environ: Mapping[str, str], keyring: Lookup) -> str:
    scheme, name = one[2], one[3]
    where = f"{saved.name}: {'.'.join(('arguments', *map(str, path)))}"
    if scheme == "keyring":
        try:
            return keyring(name)
        except ConfigError as problem:
            raise ConfigError(f"{where}: {problem.message}", file=str(saved.file), hint=problem.hint) from None
    if name not in environ:
        hint = nearest(name, (other for other in environ if len(other) > 3))
        raise ConfigError(f"{where}: the environment variable {name} is not set.", file=str(saved.file), hint=hint)
    return environ[name]


def _spelled(item: Json) -> str:
    """A value inside a longer text."""
    if item is _ABSENT or item is None:
        return ""
    return item if isinstance(item, str) else dumps(item).decode()


class Leaf(NamedTuple):
    """One argument that may become a variable."""

    path: Path
    value: Json
    secret: bool


def leaves(arguments: Json, keeper: SecretFilter, hidden: Collection[str] = ()) -> tuple[Leaf, ...]:
    """The scalars in a value, and whatever of it is secret, in their order; not more than a person can look at."""
    secret = [path_of(place, arguments) for place in keeper.without(arguments, hidden)[1]]

    def get_or_none() -> Iterator[Leaf]:
        for path, value in walk(arguments):
            if path in secret:
                yield Leaf(path, value, True)
            elif path and not isinstance(value, dict | list) and not any(path[: len(one)] == one for one in secret):
                yield Leaf(path, value, False)

    return tuple(leaf for leaf, _ in zip(get_or_none(), range(_MOST), strict=False))


def made(
    name: str,
    ref: Ref,
    arguments: Json,
    form: Form,
    *,
    keeper: SecretFilter,
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
    asked: dict[str, Variable] = {}
    for leaf in leaves(arguments, keeper, hidden):
        if leaf.secret and (stored := (keyring or {}).get(leaf.path)):
            value = put(value, leaf.path, f"${{keyring:{stored}}}")
        elif leaf.secret or leaf.path in variables:
            variable = _variable(leaf, form, arguments, asked)
            asked[variable.name] = variable
            value = put(value, leaf.path, f"${{{variable.name}}}")
    return SavedCall(name, ref, value, description, tuple(asked.values()), where)


def _variable(leaf: Leaf, form: Form, arguments: Json, taken: Collection[str]) -> Variable:
    """A variable for a place: named after its key, of the type that its field has, else its value."""
    field = field_at(form.top, leaf.path, arguments)
    of_field = mapping(field.schema) if field else {}
    kind = of_field.get("type")
    if not isinstance(kind, str):
        kind = next((word for known, word in _TYPES.items() if isinstance(leaf.value, known)), "")
    schema: dict[str, Json] = {}
    if kind and leaf.value is not None and not (field and field.nullable):
        schema["type"] = kind
    for key in _OF_FIELD:
        item = of_field.get(key)
        if item is not None and not (isinstance(item, list) and None in item):  # TOML has no null
            schema[key] = item
    if leaf.value is not None and not leaf.secret:
        schema["default"] = leaf.value
    key = next((part for part in reversed(leaf.path) if isinstance(part, str)), "")
    base = re.sub(r"[^A-Za-z0-9_-]+", "_", key)[:70]
    base = base if re.match(r"[A-Za-z_]", base) else f"value_{base}".rstrip("_")
    numbered = (f"{base}_{number}" for number in range(2, _MOST + 2))
    name = next(name for name in (base, *numbered) if name not in taken)
    return Variable(name, schema, "default" not in schema, leaf.secret)


def with_secrets_of(earlier: SavedCall | None, saved: SavedCall) -> SavedCall:
    """The call with the secrets that an earlier one has, and that a form which was filled with it never saw."""
    if earlier is None or earlier.ref != saved.ref:
        return saved
    value, variables = saved.arguments, {variable.name: variable for variable in saved.variables}
    for place in fill(earlier, {}, secrets=False).hidden:
        path = path_of(place, earlier.arguments)
        text = get_or_none(earlier.arguments, path)
        if has(value, path) or not isinstance(text, str):
            continue
        keys = list(mapping(get_or_none(earlier.arguments, path[:-1])))
        before = keys[: keys.index(str(path[-1]))] if path[-1] in keys else []
        try:
            value = put(value, path, text, tuple(before))
        except NoPlace:
            continue
        names = [match[3] for match in REFERENCE.finditer(text) if not match[1] and not match[2]]
        variables |= {one.name: one for one in earlier.variables if one.name in names and one.name not in variables}
    return replace(saved, arguments=value, variables=tuple(variables.values()))
