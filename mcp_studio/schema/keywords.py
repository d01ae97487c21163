"""The plain keywords of a schema: types, amounts, counts, formats, patterns (ECMA-262)."""

from __future__ import annotations

import math
import os
import re
from datetime import date
from typing import Any, cast

from mcp_studio.jsontext import Json, dumps, items_of, mapping

Schema = dict[str, Any]


REMARK = f"remark {os.urandom(8).hex()}"
"""The key of a sentence on what was lost when a schema was simplified; no server can guess the key."""

FORBIDDEN = "Another part of the schema does not allow this property."
"""The remark of a property that one part of a schema names and another part excludes."""

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def types(schema: Schema) -> tuple[str, ...]:
    """The JSON types that `type` names; empty when it is missing or nonsense."""
    found = schema.get("type")
    names = items_of(found) if isinstance(found, list) else [found]
    return tuple(dict.fromkeys(name for name in names if name in _TYPES))


def implied(schema: Schema) -> str:
    """The type that the keywords of a schema without `type` imply, or an empty string."""
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
    """The types of a schema's values, by `type`, `const`, `enum` or other keywords; empty when no keyword tells."""
    named = types(schema)
    if named:
        return frozenset(named)
    if values := listed(schema):
        return frozenset(type_of(value) for value in values)
    kind = implied(schema)
    return frozenset((kind,)) if kind else frozenset()


def listed(schema: Schema) -> list[Json] | None:
    """The values that `const` or `enum` allows; None where the schema has neither."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return cast("list[Json]", values) if isinstance(values, list) else None


def type_of(value: Json) -> str:
    """The JSON type of a value; 2.0 is a number, not an integer."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def amount(value: Json) -> float | int | None:
    """The value if it is a finite number; infinite numbers bound nothing."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) != math.inf
    return value if known else None


def count(schema: Schema, key: str) -> int | None:
    """The count that a keyword states; None where it states none."""
    value = schema.get(key)
    if isinstance(value, float) and value.is_integer() and 0 <= value < 1e15:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def impossible(schema: Schema) -> bool:
    """Whether no value fits the schema, which is how some libraries say that a property may be missing."""
    return "not" in schema and (schema["not"] is True or schema["not"] == {})


def only_null(schema: Schema) -> bool:
    if types(schema) == ("null",):
        return True
    return schema.get("enum") == [None] or ("const" in schema and schema["const"] is None)


def required_names(schema: Schema) -> frozenset[str]:
    """The names of required properties."""
    return frozenset(name for name in items_of(schema.get("required")) if isinstance(name, str))


def says_more(schema: Schema) -> bool:
    """Whether the schema describes properties that it does not name."""
    extra = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    return isinstance(extra, dict) or extra is True or "patternProperties" in schema


def normal(schema: Schema) -> Schema:
    """Rewrite keywords of older drafts as those of 2020-12; an unchanged schema is returned itself."""
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
"""JSON types in words."""
TYPE_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
"""The simple types as names of a choice."""


def noun(value: Json) -> str:
    """The type of a value in words."""
    return TYPE_NAMES[type_of(value)]


def spell(value: Json, width: int = 0) -> str:
    """A value as one line of JSON, cut at `width` unless that is 0; never raises."""
    try:
        text = dumps(value).decode()
    except (ValueError, RecursionError):
        text = noun(value)  # numbers such as 1e999 in a schema become infinity
    return text if not width or len(text) <= width else text[: width - 1] + "…"


def got(value: Json) -> str:
    """A value for the end of a sentence: `'two'`, `5`, `a list of 3`."""
    if isinstance(value, str):
        return "''" if not value else f"'{value if len(value) <= _WIDTH else value[: _WIDTH - 1] + '…'}'"
    if isinstance(value, (list, dict)) and len(value) > 0:
        return f"a list of {len(value)}" if isinstance(value, list) else "an object"
    return spell(value, _WIDTH)


def wrong_type(expected: object, value: Json) -> str:
    """The message for a wrong type; `expected` is the name of a type or a list of such names."""
    names = expected if isinstance(expected, list) else [expected]
    words = [TYPE_NAMES.get(name, str(name)) if isinstance(name, str) else str(name) for name in names]
    return f"must be {_either(words)}, got {got(value)}"


def not_among(values: list[Json], value: Json) -> str:
    """The message for a value that is not among the allowed ones."""
    words = [value if isinstance(value, str) else spell(value, _WIDTH) for value in values[:8]]
    words += [f"… ({len(values) - 8} more)"] if len(values) > 8 else []
    if len(values) == 1:
        return f"must be {words[0]}, got {got(value)}"
    return f"must be one of {', '.join(words)}; got {got(value)}"


def limit(keyword: str, bound: Json, value: Any) -> str:
    """The message for a broken bound, by any keyword such as `minimum`."""
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
"""The keywords that `limit` takes."""

REQUIRED = "is required"
NOT_ALLOWED = "is not a property that the schema allows"
NO_KIND = "is none of the kinds that the schema allows"
TOO_MANY = "has more items than the schema allows"
TWICE = "has the same item more than once"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,12})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
# Compiled at the first use, because most starts use none.
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
    """Why a text does not have a format, as a sentence; empty when it has it, or when the format is unknown."""
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
