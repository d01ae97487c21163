"""From the arguments of a form to a saved call: some of them become variables, and none of the secrets is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.private import Keeper
from mcp_studio.call.saved import REFERENCE, SavedCall, Variable, Where, literal
from mcp_studio.call.saved_fill import fill
from mcp_studio.catalog.ref import Ref
from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Form
from mcp_studio.schema.place import NoPlace, Path, found, get, has, path_of, put
from mcp_studio.schema.walk import field_at

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
