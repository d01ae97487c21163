"""What a schema says in its plain keywords: types, amounts, counts."""

from __future__ import annotations

from typing import Any, cast

from mcp_studio.jsontext import Json, items_of, mapping

Schema = dict[str, Any]


class _Mark(str):
    """A key that no schema from outside can have."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


REMARK = _Mark("remark")
"""Under this key a schema that was made simple says what of it was lost, in a sentence."""

FORBIDDEN = "Another part of the schema does not allow this property."
"""The remark of a property that one part of a schema names and another one excludes."""

_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_TYPES = {kind: kind for kind in _JSON_TYPES} | {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "none": "null",
}


def types(schema: Schema) -> tuple[str, ...]:
    """The JSON types that `type` names, also in the words of other languages; empty when it is missing or nonsense."""
    found = schema.get("type")
    if isinstance(found, str):
        kind = _TYPES.get(found) or _TYPES.get(found.lower())
        return (kind,) if kind else ()
    if not isinstance(found, list):
        return ()
    names = [name for name in cast("list[Json]", found) if isinstance(name, str)]
    kinds = [_TYPES.get(name) or _TYPES.get(name.lower()) for name in names]
    return tuple(dict.fromkeys(kind for kind in kinds if kind))


def misnamed(schema: Schema) -> tuple[str, ...]:
    """The types in words of other languages, of which `types` knows what is meant."""
    found = schema.get("type")
    names = cast("list[Json]", found) if isinstance(found, list) else [found]
    words = [name for name in names if isinstance(name, str)]
    return tuple(name for name in words if name not in _JSON_TYPES and types({"type": name}))


def implied(schema: Schema) -> str:
    """The type that a schema without `type` plainly speaks of, or an empty string."""
    if types(schema):
        return ""
    return next((kind for kind, keys in _IMPLIES if not keys.isdisjoint(schema)), "")


_IMPLIES = (
    (
        "object",
        frozenset(
            "properties patternProperties additionalProperties required minProperties maxProperties propertyNames "
            "dependentRequired dependentSchemas".split()
        ),
    ),
    ("array", frozenset("items prefixItems minItems maxItems uniqueItems contains".split())),
    ("string", frozenset("pattern minLength maxLength format contentMediaType contentEncoding".split())),
    ("number", frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split())),
)


def kinds_of(schema: Schema) -> frozenset[str]:
    """The types of a schema's values, by `type`, `const`, `enum` or what it speaks of; empty when that is not known."""
    named = types(schema)
    if named:
        return frozenset(named)
    if values := listed(schema):
        return frozenset(type_of(value) for value in values)
    kind = implied(schema)
    return frozenset((kind,)) if kind else frozenset()


def listed(schema: Schema) -> list[Json] | None:
    """The values that `const` or `enum` allow; None where neither says."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return cast("list[Json]", values) if isinstance(values, list) else None


def type_of(value: Json) -> str:
    """The JSON type of a value; a number without a fraction is an integer only where it is written so."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def amount(value: Json) -> float | int | None:
    """The value where it is a number."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def count(schema: Schema, key: str) -> int | None:
    """How many a keyword says; None where it says no such thing."""
    value = schema.get(key)
    if isinstance(value, float) and value.is_integer() and 0 <= value < 1e15:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def impossible(schema: Schema) -> bool:
    """Whether no value at all can be of the schema: how some libraries say that a property may be missing."""
    return "not" in schema and (schema["not"] is True or schema["not"] == {})


def only_null(schema: Schema) -> bool:
    """Whether null is the only value."""
    if types(schema) == ("null",):
        return True
    return schema.get("enum") == [None] or ("const" in schema and schema["const"] is None)


def required_names(schema: Schema) -> frozenset[str]:
    """The names of properties that there must be."""
    return frozenset(name for name in items_of(schema.get("required")) if isinstance(name, str))


def says_more(schema: Schema) -> bool:
    """Whether the schema describes properties besides those it names."""
    extra = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    return isinstance(extra, dict) or extra is True or "patternProperties" in schema


def normal(schema: Schema) -> Schema:
    """Older ways of saying things in those of 2020-12; the schema itself where there is nothing to change."""
    if isinstance(schema.get("items"), list):  # until draft 2019-09
        schema = {**schema, "prefixItems": schema["items"]}
        schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
    for limit in ("Minimum", "Maximum"):  # until draft 4
        key, plain = f"exclusive{limit}", limit.lower()
        if isinstance(excluded := schema.get(key), bool):
            schema = {name: item for name, item in schema.items() if name != key}
            if excluded and amount(schema.get(plain)) is not None:
                schema[key] = schema.pop(plain)
    depends = schema.get("dependencies")
    if isinstance(depends, dict):  # until draft 7
        schema = {name: item for name, item in schema.items() if name != "dependencies"}
        pairs = cast("dict[str, Json]", depends).items()
        names = {key: item for key, item in pairs if isinstance(item, list)}
        parts = {key: item for key, item in pairs if not isinstance(item, list)}
        if names:
            schema["dependentRequired"] = {**names, **mapping(schema.get("dependentRequired"))}
        if parts:
            schema["dependentSchemas"] = {**parts, **mapping(schema.get("dependentSchemas"))}
    return schema
