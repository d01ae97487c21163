"""What a schema says in its plain keywords: types, amounts, counts, formats, patterns (ECMA-262)."""

from __future__ import annotations

import math
import os
import re
from datetime import date
from typing import Any, cast

from mcp_studio.jsontext import Json, dumps, items_of, mapping

Schema = dict[str, Any]


REMARK = f"remark {os.urandom(8).hex()}"
"""Under this key, which no server can guess, a schema that was made simple says in a sentence what of it was lost."""

FORBIDDEN = "Another part of the schema does not allow this property."
"""The remark of a property that one part of a schema names and another one excludes."""

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def types(schema: Schema) -> tuple[str, ...]:
    """The JSON types that `type` names; empty when it is missing or nonsense."""
    found = schema.get("type")
    names = items_of(found) if isinstance(found, list) else [found]
    return tuple(dict.fromkeys(name for name in names if name in _TYPES))


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
    """The value where it is a number; none that is too large for a float, which is no bound for anything."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) != math.inf
    return value if known else None


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


_WIDTH = 60
TYPE_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
"""JSON types as people say them."""
TYPE_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
"""The simple ones as the name of a choice."""


def noun(value: Json) -> str:
    """What kind of thing a value is."""
    return TYPE_NAMES[type_of(value)]


def spell(value: Json, width: int = 0) -> str:
    """A value as JSON on one line, cut at `width` if that is not 0; never raises."""
    try:
        text = dumps(value).decode()
    except (ValueError, RecursionError):
        text = noun(value)  # infinity comes from schemas with numbers such as 1e999
    return text if not width or len(text) <= width else text[: width - 1] + "…"


def got(value: Json) -> str:
    """The value at the end of a sentence: `'two'`, `5`, `a list of 3`."""
    if isinstance(value, str):
        return "''" if not value else f"'{value if len(value) <= _WIDTH else value[: _WIDTH - 1] + '…'}'"
    if isinstance(value, (list, dict)) and len(value) > 0:
        return f"a list of {len(value)}" if isinstance(value, list) else "an object"
    return spell(value, _WIDTH)


def wrong_type(expected: object, value: Json) -> str:
    """`expected` is a type's name or a list of such names, as in a schema."""
    names = expected if isinstance(expected, list) else [expected]
    words = [TYPE_NAMES.get(name, str(name)) if isinstance(name, str) else str(name) for name in names]
    return f"must be {_either(words)}, got {got(value)}"


def not_among(values: list[Json], value: Json) -> str:
    """The value is none of those allowed."""
    words = [value if isinstance(value, str) else spell(value, _WIDTH) for value in values[:8]]
    words += [f"… ({len(values) - 8} more)"] if len(values) > 8 else []
    if len(values) == 1:
        return f"must be {words[0]}, got {got(value)}"
    return f"must be one of {', '.join(words)}; got {got(value)}"


def limit(keyword: str, bound: Json, value: Any) -> str:
    """A bound that is not kept: any `minimum`-like keyword of JSON Schema."""
    edge = spell(bound, 30)
    if keyword in _AMOUNTS:
        return f"must be {_AMOUNTS[keyword]} {edge}, got {spell(value, 30)}"
    words, unit = _COUNTS[keyword]
    return f"must have {words} {edge} {unit if bound != 1 else _ONE[unit]}, has {len(value)}"


_AMOUNTS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}
_COUNTS = {
    "minLength": ("at least", "characters"),
    "maxLength": ("at most", "characters"),
    "minItems": ("at least", "items"),
    "maxItems": ("at most", "items"),
    "minProperties": ("at least", "properties"),
    "maxProperties": ("at most", "properties"),
}
_ONE = {"characters": "character", "items": "item", "properties": "property"}
LIMITS = frozenset((*_AMOUNTS, *_COUNTS))
"""The keywords that `limit` knows."""

REQUIRED = "is required"
NOT_ALLOWED = "is not a property that the schema allows"
NO_KIND = "is none of the kinds that the schema allows"
TOO_MANY = "has more items than the schema allows"
TWICE = "has the same item more than once"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,12})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
# Compiled when first asked for, which at most starts is never.
_PATTERNS = {
    "email": r"[^@\s<>,;]{1,64}@[^@\s<>,;]{1,255}",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`\x00-\x20\x7f]+",
    "date": _DATE,
    "date-time": f"{_DATE}[Tt]{_TIME}".replace("Z", "[Zz]"),
    "time": _TIME,
    "uuid": r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
}
_WANTED = {
    "email": "an email address, such as ada@example.com",
    "uri": "a URI, such as https://example.com/page",
    "date": "a date, such as 2027-01-31",
    "date-time": "a date and time with its zone, such as 2027-01-31T09:30:00Z",
    "time": "a time with its zone, such as 09:30:00Z",
    "uuid": "a UUID",
}


def wrong_format(format: str, text: str) -> str:
    """Why a text is not of its format, as a sentence; empty when it is, or when the format is unknown."""
    pattern = _PATTERNS.get(format)
    if pattern is None or (len(text) <= 10_000 and re.fullmatch(pattern, text) and _exists(format, text)):
        return ""
    return f"must be {_WANTED[format]}"


def _exists(format: str, text: str) -> bool:
    if not format.startswith("date"):
        return True
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True
