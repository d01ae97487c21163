"""The quick check while a person types: what the drawn fields say, nothing that could take long. Pure, stdlib only."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.jsontext import ExactFloat, Json
from mcp_studio.schema.field import Choice, Choices, Const, Field, Flag, Form, Number, Text, json_types
from mcp_studio.schema.formats import wrong_format
from mcp_studio.schema.place import pointer
from mcp_studio.schema.problem import SchemaProblem
from mcp_studio.schema.wording import REQUIRED, limit, not_among, spell, wrong_type


def quick(form: Form, value: Json) -> tuple[SchemaProblem, ...]:
    """Problems of the drawn fields: missing, wrong type, none of the options, out of bounds, wrong format.

    Patterns and everything a field does not draw are left to the whole check (`worker.Checker`).
    """
    if form.whole:
        return ()
    if not isinstance(value, dict):
        return (SchemaProblem("", wrong_type("object", value)),)
    found: list[SchemaProblem] = []
    for field in form.fields:
        if field.name not in value:
            found += [SchemaProblem(pointer(field.name), REQUIRED)] if field.required else []
        else:
            found += _field(field, value[field.name], strict=form.strict)
    return tuple(found)


def equal(one: Json, two: Json) -> bool:
    """Equality of JSON Schema: 1 is 1.0, but true is not 1."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, (list, dict)) or isinstance(two, (list, dict)):
        return spell(one) == spell(two)
    return one == two


def _field(field: Field, value: Json, *, strict: bool) -> Iterator[SchemaProblem]:
    if value is None and field.nullable:
        return
    for message in _messages(field, value):
        yield SchemaProblem(pointer(field.name), message)
    if isinstance(field, Text) and isinstance(value, str) and (message := wrong_format(field.format, value)):
        yield SchemaProblem(pointer(field.name), message, "error" if strict else "warning")


def _messages(field: Field, value: Json) -> Iterator[str]:
    if isinstance(field, Text):
        yield from _text(field, value)
    elif isinstance(field, Number):
        yield from _number(field, value)
    elif isinstance(field, Flag):
        if not isinstance(value, bool):
            yield wrong_type("boolean", value)
    elif isinstance(field, Choice):
        if not any(equal(option.value, value) for option in field.options):
            yield not_among([option.value for option in field.options], value)
    elif isinstance(field, Choices):
        yield from _choices(field, value)
    elif isinstance(field, Const):
        if not equal(field.value, value):
            yield not_among([field.value], value)
    elif (kinds := json_types(field)) and not any(is_type(kind, value) for kind in kinds):
        yield wrong_type(list(kinds), value)


def _text(field: Text, value: Json) -> Iterator[str]:
    if not isinstance(value, str):
        yield wrong_type("string", value)
    elif field.min_length is not None and len(value) < field.min_length:
        yield limit("minLength", field.min_length, value)
    elif field.max_length is not None and len(value) > field.max_length:
        yield limit("maxLength", field.max_length, value)


def _number(field: Number, value: Json) -> Iterator[str]:
    if not is_type("integer" if field.integer else "number", value):
        yield wrong_type("integer" if field.integer else "number", value)
        return
    low, high = field.minimum, field.maximum
    if low is not None and (value <= low if field.above_minimum else value < low):
        yield limit("exclusiveMinimum" if field.above_minimum else "minimum", low, value)
    if high is not None and (value >= high if field.below_maximum else value > high):
        yield limit("exclusiveMaximum" if field.below_maximum else "maximum", high, value)


def _choices(field: Choices, value: Json) -> Iterator[str]:
    if not isinstance(value, list):
        yield wrong_type("array", value)
        return
    for item in value:
        if not any(equal(option.value, item) for option in field.options):
            yield not_among([option.value for option in field.options], item)
            return
    if field.min_items is not None and len(value) < field.min_items:
        yield limit("minItems", field.min_items, value)
    if field.max_items is not None and len(value) > field.max_items:
        yield limit("maxItems", field.max_items, value)


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
