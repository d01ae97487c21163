"""Fields with fields inside: objects, maps, lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Field, Lazy, List, Map, Object, Text
from mcp_studio.schema.keys import Match, key_rule, matcher
from mcp_studio.schema.kinds import Schema, count, impossible, required_names, says_more
from mcp_studio.schema.scalars import common, looks_secret
from mcp_studio.schema.shape import shape, span

if TYPE_CHECKING:
    from mcp_studio.schema.building import Builder

MAX_FIELDS = 300
"""Fields drawn for one object; further properties are edited as JSON."""
_PATTERNS = 100
"""Patterns of keys that are looked at."""
_NAMES = 50
"""Names out of which an object's keys are chosen that are drawn each with a field of its own."""
_KEYS = 20_000
"""Keys of a map whose fields are kept."""


def object_or_map(builder: Builder, base: dict[str, Any], schema: Schema) -> Field:
    """An object where the schema names properties, or no others are allowed; else a map."""
    known = schema.get("properties")
    extra = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
    closed = extra is False
    names = builder.resolver.flat(schema.get("propertyNames")).get("enum")
    if not known and isinstance(names, list) and len(cast("list[Json]", names)) <= _NAMES and not closed:
        listed = {name: extra for name in cast("list[Json]", names) if isinstance(name, str)}
        return object_field(builder, base, {**schema, "properties": listed, "additionalProperties": False})
    if known or required_names(schema) or (closed and "patternProperties" not in schema):
        return object_field(builder, base, schema)
    return map_field(builder, base, schema)


def object_field(builder: Builder, base: dict[str, Any], schema: Schema) -> Object:
    """The field of an object with known properties."""
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    names = required_names(schema)
    free = map_field(builder, common("", {}, False), schema)

    def fields() -> tuple[Field, ...]:
        builder.resolver.fresh()
        allowed = [name for name in known if name in names or not _forbidden(known[name])]
        drawn = [builder.field(name, known[name], name in names) for name in allowed[:MAX_FIELDS]]
        unknown = sorted(names - known.keys())[: MAX_FIELDS - len(drawn)]
        return (*drawn, *(_named(free.of(name), name, required=True) for name in unknown))

    low, high = count(schema, "minProperties"), count(schema, "maxProperties")
    return Object(
        **base,
        hint=_entries(builder, schema, low, high),
        fields=Lazy(fields),
        rest=free if says_more(schema) else None,
        more=max(0, len(known.keys() | names) - MAX_FIELDS),
        min_entries=low,
        max_entries=high,
    )


def _forbidden(schema: Json) -> bool:
    """Whether a property with this schema cannot be there at all."""
    return schema is False or (isinstance(schema, dict) and len(cast("Schema", schema)) == 1 and impossible(schema))


def _entries(builder: Builder, schema: Schema, low: int | None, high: int | None) -> str:
    parts = (shape(schema, builder.resolver), span(low or None, high, unit="entries"))
    return ", ".join(part for part in parts if part)


def map_field(builder: Builder, base: dict[str, Any], schema: Schema) -> Map:
    """The field of an object with free keys."""
    listed = schema.get("patternProperties")
    patterns: list[tuple[str, Match, Json]] = []
    for pattern, inner in list((listed if isinstance(listed, dict) else {}).items())[:_PATTERNS]:
        patterns.append((pattern, matcher(pattern), inner))
    rest = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
    made: dict[str, Field] = {}

    def of(key: str) -> Field:
        if key not in made:
            if len(made) > _KEYS:
                made.clear()
            builder.resolver.fresh()
            found = [(fits(key), inner) for _, fits, inner in patterns]
            fitting = [inner for fit, inner in found if fit] or [inner for fit, inner in found if fit is None][:1]
            if rest is False and patterns and not fitting:
                fitting = [patterns[0][2]]  # the key is wrong, and will be one that fits
            inner: Json = rest if not fitting else True
            for one in fitting:
                inner = builder.resolver.both(inner, one)
            made[key] = _named(builder.field("", inner if inner is not False else True), key)
        return made[key]

    names = builder.resolver.flat(schema.get("propertyNames"))
    rule = key_rule(names, [(pattern, fits) for pattern, fits, _ in patterns], rest is False)
    low, high = count(schema, "minProperties"), count(schema, "maxProperties")
    hint = _entries(builder, schema, low, high)
    wanted = [pattern for pattern, _, _ in patterns] if rest is False else []
    wanted = [names["pattern"]] if isinstance(names.get("pattern"), str) else wanted
    if wanted:
        hint = f"{hint}, names matching {' or '.join(wanted[:3])}"
    return Map(**base, of=of, wrong_key=rule, min_entries=low, max_entries=high, hint=hint)


def list_field(builder: Builder, base: dict[str, Any], schema: Schema) -> List:
    """The field of a list."""
    places, others = schema.get("prefixItems"), schema.get("items")
    if others is None and "contains" not in schema:
        others = schema.get("unevaluatedItems")
    starts: list[Json] = places[:MAX_FIELDS] if isinstance(places, list) else []
    if isinstance(places, list) and len(cast("list[Json]", places)) > MAX_FIELDS:
        others = True
        base["remark"] = "It describes too many items one by one: the further ones are not checked here."
    low, high = count(schema, "minItems"), count(schema, "maxItems")

    def first() -> tuple[Field, ...]:
        builder.resolver.fresh()
        return tuple(builder.field("", place) for place in starts)

    def items() -> Field | None:
        if others is False or (high is not None and 0 < high <= len(starts)):
            return None
        builder.resolver.fresh()
        return builder.field("", True if others is None else others)

    unique = schema.get("uniqueItems") is True
    hint = [shape(schema, builder.resolver), span(low or None, high, unit="items"), "no two alike" if unique else ""]
    hint.append(_contains(builder, schema))
    return List(
        **base,
        hint=", ".join(part for part in hint if part),
        first=Lazy(first),
        items=Lazy(items),
        min_items=low,
        max_items=high,
        unique=unique,
    )


def _contains(builder: Builder, schema: Schema) -> str:
    """Items of one kind that there must be, in words."""
    if "contains" not in schema:
        return ""
    low, high = count(schema, "minContains"), count(schema, "maxContains")
    often = span(1 if low is None else low, high)
    return f"{often} of {shape(builder.resolver.flat(schema['contains']), builder.resolver)}"


def _named(field: Field, name: str, *, required: bool = False) -> Field:
    """The same field at another key."""
    kind = type(field)
    copy = object.__new__(kind)
    copy.__setstate__(field.__getstate__())  # pyright: ignore
    object.__setattr__(copy, "name", name)
    object.__setattr__(copy, "required", required)
    if isinstance(copy, Text) and looks_secret(name):
        object.__setattr__(copy, "secret", True)
    return copy
