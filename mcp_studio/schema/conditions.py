"""What a schema asks depending on the value itself: `if`, `dependentSchemas`, `dependentRequired`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.record import record
from mcp_studio.schema.field import Field, Lazy, Union, Variant
from mcp_studio.schema.fits import Judge
from mcp_studio.schema.kinds import REMARK, Schema, kinds_of
from mcp_studio.schema.shape import shape

if TYPE_CHECKING:
    from mcp_studio.schema.building import Builder

MAX_CONDITIONS = 40
"""Conditions of one place that the form follows."""
KEYS = frozenset(("if", "dependentSchemas", "dependentRequired"))
_IF = ("if", "then", "else")
_TOO_MANY = "There are too many conditions for the form to follow."


@record(frozen=True)
class Condition:
    """What holds besides, when a value is so and when it is not."""

    test: Json
    """A schema; a name where it is whether there is such a property."""
    then: Json
    other: Json
    label: str


def conditional(builder: Builder, base: dict[str, Any], schema: Schema) -> Field | None:
    """The field of a schema with conditions: a union that follows the value; None when it has none."""
    if KEYS.isdisjoint(schema) and "allOf" not in schema:
        return None
    found: list[Condition] = []
    rest = _taken(schema, found)
    if not found:
        return None
    if len(found) > MAX_CONDITIONS:
        rest = {**rest, REMARK: _TOO_MANY}
    return _split(builder, base, rest, found[:MAX_CONDITIONS])


def _split(builder: Builder, base: dict[str, Any], rest: Schema, conditions: list[Condition]) -> Field:
    """The field that follows the first condition, and the others in each of its variants."""
    if not conditions:
        return builder.drawn(base["name"], rest, base["required"])
    first, others = conditions[0], conditions[1:]

    def way(besides: Json) -> Callable[[], Field]:
        def make() -> Field:
            builder.resolver.fresh()
            merged = builder.resolver.merge(rest, builder.resolver.flat(besides))
            return _split(builder, base, merged, others)

        return make

    kinds = kinds_of(rest)

    def choose(value: Json) -> int:
        if value is None and kinds == frozenset(("object",)):  # absent: as if nothing were in it yet
            value = {}
        if isinstance(first.test, str):
            return 0 if isinstance(value, dict) and first.test in value else 1
        return 1 if Judge(builder.resolver).wrong(first.test, value) else 0

    variants = (Variant(first.label, Lazy(way(first.then))), Variant("otherwise", Lazy(way(first.other))))
    return Union(
        **base,
        hint=shape(rest, builder.resolver),
        variants=variants,
        by_value=True,
        choose=choose,
        types=tuple(sorted(kinds - {"null"})),
    )


def _taken(schema: Schema, found: list[Condition]) -> Schema:
    """The schema without its conditions, which are added to those found."""
    listed = items_of(schema.get("allOf"))
    for part in listed:
        if isinstance(part, dict) and not KEYS.isdisjoint(cast("Schema", part)):
            parts = [_taken(cast("Schema", one), found) if isinstance(one, dict) else one for one in listed]
            left = [one for one in parts if one != {}]
            schema = {key: item for key, item in schema.items() if key != "allOf"}
            schema = {**schema, "allOf": left} if left else schema
            break
    if KEYS.isdisjoint(schema):
        return schema
    if "if" in schema and ("then" in schema or "else" in schema):
        found.append(Condition(schema["if"], schema.get("then", True), schema.get("else", True), "if"))
    for name, inner in mapping(schema.get("dependentSchemas")).items():
        found.append(Condition(name, inner, True, f"with {name}"))
    for name, names in mapping(schema.get("dependentRequired")).items():
        if isinstance(names, list) and names:
            found.append(Condition(name, {"required": names}, True, f"with {name}"))
    return {key: item for key, item in schema.items() if key not in KEYS and key not in _IF}
