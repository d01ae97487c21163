"""What of a value goes along into another variant of a union. Pure."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.schema.check import equal
from mcp_studio.schema.field import Choice, Const, Field, Object, json_types, starter, type_of
from mcp_studio.tui.form.outline import ABSENT


def turned(value: object, into: Field, kept: object) -> Json:
    """The value of a variant that is chosen now.

    Args:
        value: what was there until now, `ABSENT` for nothing.
        into: the field of the variant.
        kept: what this variant held when it was left, `ABSENT` for nothing.
    """
    if isinstance(into, Object) and isinstance(value, dict):
        before = cast("dict[str, Json]", value)
        names = {field.name: field for field in into.fields()}
        same = {key: item for key, item in before.items() if key in names and goes(names[key], item)}
        if isinstance(kept, dict):
            return {**cast("dict[str, Json]", kept), **same}
        begun = starter(into)
        begun = cast("dict[str, Json]", begun) if isinstance(begun, dict) else {}
        return {key: same.get(key, begun.get(key)) for key in names if key in same or key in begun}
    if kept is not ABSENT:
        return kept
    return value if value is not ABSENT and goes(into, value) else starter(into)


def goes(field: Field, value: object) -> bool:
    """Whether a value is of a kind that the field takes."""
    if value is None:
        return field.nullable
    if isinstance(field, Const):
        return equal(field.value, value)
    if isinstance(field, Choice):
        return any(equal(option.value, value) for option in field.options)
    kinds = json_types(field)
    kind = type_of(cast("Json", value))
    return not kinds or kind in kinds or (kind == "integer" and "number" in kinds)
