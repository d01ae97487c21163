"""What is wrong with a value at its own place: type, bounds, options, counts. Pure, stdlib only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from mcp_studio.jsontext import ExactFloat, Json
from mcp_studio.schema.field import (
    Choice,
    Choices,
    Const,
    Field,
    Flag,
    JsonField,
    List,
    Map,
    Number,
    Object,
    Scalar,
    Text,
    Union,
    json_types,
)
from mcp_studio.schema.formats import wrong_format
from mcp_studio.schema.problem import Severity
from mcp_studio.schema.wording import NO_KIND, TOO_MANY, TWICE, limit, not_among, spell, wrong_type

Said = tuple[str, Severity]
"""A message and how bad it is."""


def own(field: Field, value: Json, *, strict: bool = False) -> Iterable[Said]:
    """What is wrong with a value at its own place: type, bounds, options, counts, format; nothing of what is inside it.

    A union is to be settled before; one that is not says that the value is of none of its kinds.
    """
    if value is None and field.nullable:
        return ()
    check = SIMPLE.get(type(field)) or _OWN.get(type(field))
    messages = check(field, value) if check else ()
    said: list[Said] = [(message, severity(field, value)) for message in messages]
    if isinstance(field, Text) and isinstance(value, str) and (message := wrong_format(field.format, value)):
        said.append((message, "error" if strict else "warning"))
    return said


def severity(field: Field, value: Json) -> Severity:
    """How bad a wrong value is: a schema that only speaks of objects, say, without asking for one, allows the rest."""
    return "warning" if field.implied and not any(is_type(kind, value) for kind in json_types(field)) else "error"


def equal(one: Json, two: Json) -> bool:
    """Equality of JSON Schema: 1 is 1.0, but true is not 1."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if not isinstance(one, (list, dict)) and not isinstance(two, (list, dict)):
        return one == two
    return _same(one, two, _DEEPEST)


def _same(one: Json, two: Json, depth: int) -> bool:
    """Equality of lists and objects; too deep ones are compared as they are written."""
    if depth < 0:
        return spell(one) == spell(two)
    if isinstance(one, dict) and isinstance(two, dict):
        first, second = cast("dict[str, Json]", one), cast("dict[str, Json]", two)
        return first.keys() == second.keys() and all(_equal(first[key], second[key], depth) for key in first)
    if isinstance(one, list) and isinstance(two, list):
        items, others = cast("list[Json]", one), cast("list[Json]", two)
        return len(items) == len(others) and all(_equal(a, b, depth) for a, b in zip(items, others, strict=True))
    return False


def _equal(one: Json, two: Json, depth: int) -> bool:
    held = isinstance(one, (list, dict)) or isinstance(two, (list, dict))
    return _same(one, two, depth - 1) if held else equal(one, two)


_DEEPEST = 50


def is_type(kind: str, value: Json) -> bool:
    """Whether a value is of a JSON Schema type; 2.0 is an integer."""
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return kind == "number" or isinstance(value, int) or value.is_integer() or _long(value)
    names = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, names[kind])


def _long(value: float) -> bool:
    # An integer of absurd length is kept as written, and reads as infinity.
    return isinstance(value, ExactFloat) and value.text.lstrip("-").isdecimal()


def _text(field: Text, value: Json) -> Iterable[str]:
    if not isinstance(value, str):
        return (wrong_type("string", value),)
    if field.min_length is not None and len(value) < field.min_length:
        return (limit("minLength", field.min_length, value),)
    if field.max_length is not None and len(value) > field.max_length:
        return (limit("maxLength", field.max_length, value),)
    return ()


def _number(field: Number, value: Json) -> Iterable[str]:
    if not is_type("integer" if field.integer else "number", value):
        return (wrong_type("integer" if field.integer else "number", value),)
    low, high, step = field.minimum, field.maximum, field.multiple_of
    said: list[str] = []
    if low is not None and (value <= low if field.above_minimum else value < low):
        said.append(limit("exclusiveMinimum" if field.above_minimum else "minimum", low, value))
    if high is not None and (value >= high if field.below_maximum else value > high):
        said.append(limit("exclusiveMaximum" if field.below_maximum else "maximum", high, value))
    # Fractions are left to the whole check, which counts in decimals.
    if isinstance(step, int) and isinstance(value, int) and step and value % step:
        said.append(limit("multipleOf", step, value))
    return said


def _flag(field: Flag, value: Json) -> Iterable[str]:
    return () if isinstance(value, bool) else (wrong_type("boolean", value),)


def _choice(field: Choice, value: Json) -> Iterable[str]:
    if isinstance(value, str):  # the usual case, and there may be many options in many rows
        for option in field.options:
            if option.value == value:
                return ()
    elif any(equal(option.value, value) for option in field.options):
        return ()
    return (not_among([option.value for option in field.options], value),)


def _const(field: Const, value: Json) -> Iterable[str]:
    return () if equal(field.value, value) else (not_among([field.value], value),)


def _json(field: JsonField, value: Json) -> Iterable[str]:
    kinds = field.types
    return () if not kinds or any(is_type(kind, value) for kind in kinds) else (wrong_type(list(kinds), value),)


def _scalar(field: Scalar, value: Json) -> Iterable[str]:
    """A value that is right for one of the parts is right; else what the parts of its kind say."""
    if wrong := tuple(_json(field, value)):
        return wrong
    said = [tuple(SIMPLE[type(part)](part, value)) for part in field.parts if type(part) in SIMPLE]
    if not said or not all(said):
        return ()
    fitting = [
        messages
        for part, messages in zip(field.parts, said, strict=False)
        if isinstance(part, (Choice, Const)) or is_type(_KIND[type(part)], value)
    ]
    return fitting[0] if len(fitting) == 1 else (NO_KIND,)


def _choices(field: Choices, value: Json) -> Iterable[str]:
    if not isinstance(value, list):
        return (wrong_type("array", value),)
    for item in cast("list[Json]", value):
        if not any(equal(option.value, item) for option in field.options):
            return (not_among([option.value for option in field.options], item),)
    return _counts(cast("list[Json]", value), "Items", field.min_items, field.max_items)


def _list(field: List, value: Json) -> Iterable[str]:
    if not isinstance(value, list):
        return (wrong_type("array", value),)
    items = cast("list[Json]", value)
    said = list(_counts(items, "Items", field.min_items, field.max_items))
    if not said and field.items() is None and len(items) > len(field.first()):
        said.append(TOO_MANY)
    if field.unique and len({_key(item) for item in items}) < len(items):
        said.append(TWICE)
    return said


def _key(value: Json) -> object:
    """Two values have the same key only if they are the same."""
    if isinstance(value, (bool, list, dict)):
        return (spell(value),)
    return value


def _entries(field: Object | Map, value: Json) -> Iterable[str]:
    if not isinstance(value, dict):
        return (wrong_type("object", value),)
    return _counts(cast("dict[str, Json]", value), "Properties", field.min_entries, field.max_entries)


def _counts(value: list[Json] | dict[str, Json], what: str, low: int | None, high: int | None) -> Iterable[str]:
    if low is not None and len(value) < low:
        return (limit(f"min{what}", low, value),)
    if high is not None and len(value) > high:
        return (limit(f"max{what}", high, value),)
    return ()


def _union(field: Union, value: Json) -> Iterable[str]:
    kinds = field.types
    if kinds and not any(is_type(kind, value) for kind in kinds):
        return (wrong_type(list(kinds), value),)
    return (NO_KIND,)


_Check = Callable[[Any, Json], Iterable[str]]
SIMPLE: dict[type[Field], _Check] = {
    Text: _text,
    Number: _number,
    Flag: _flag,
    Choice: _choice,
    Const: _const,
    JsonField: _json,
    Scalar: _scalar,
}
"""Kinds of fields with nothing inside."""
_OWN: dict[type[Field], _Check] = {Choices: _choices, List: _list, Object: _entries, Map: _entries, Union: _union}
_KIND: dict[type[Field], str] = {Text: "string", Number: "number", Flag: "boolean"}
