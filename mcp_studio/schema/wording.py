"""What is wrong with a value, in plain sentences. Stdlib only: the checking process uses it too."""

from __future__ import annotations

import json
from typing import Any

from mcp_studio.jsontext import Json, dumps

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
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, (str, list, dict)):
        return {str: "text", list: "a list", dict: "an object"}[type(value)]
    return "a number"


def spell(value: Json, width: int = 0) -> str:
    """A value as JSON on one line, cut at `width` if that is not 0; never raises."""
    try:
        text = dumps(value).decode()
    except (ValueError, RecursionError):
        text = _plain(value)
    return text if not width or len(text) <= width else text[: width - 1] + "…"


def _plain(value: Json) -> str:
    # Infinity and NaN come from schemas with numbers such as 1e999.
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return noun(value)


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
