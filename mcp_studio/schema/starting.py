"""With which values a form, a new item, a new entry or a chosen variant begins."""

from __future__ import annotations

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Choice, Choices, Const, Field, Flag, Form, List, Map, Number, Object, Text, Union
from mcp_studio.schema.walk import settled

_DEPTH = 8
"""Objects in objects that are begun; further ones are left to the person."""


def defaults(form: Form) -> dict[str, Json]:
    """The value to start with: all defaults, as elicitation wants them, and what can only be one thing.

    Required objects are begun where there is something to be known inside; where the schema has conditions, so is what
    they add.
    """
    value = _of(form.fields, _DEPTH)
    for _ in range(_DEPTH if isinstance(form.root, Union) and form.root.by_value else 0):
        root = settled(form.root, value) if form.root else None
        more = _of(root.fields(), _DEPTH) if isinstance(root, Object) else {}
        if more.keys() <= value.keys():
            break
        value = {**more, **value}
    return value


def starter(field: Field) -> Json:
    """The value with which a new item of a list, entry of a map or chosen variant begins.

    Its default or only value; an object with what is known of its required properties; `""`, `false`, `[]` or `{}`
    where the kind of field says no more; the first variant of a union; null where nothing can be said, as for a number.
    """
    return _starter(field, _DEPTH)


def _starter(field: Field, depth: int) -> Json:
    if field.has_default:
        return field.default
    match field:
        case Const():
            return field.value
        case Object():
            return _begun(field, depth)
        case List():
            return [_starter(item, depth - 1) for item in field.first()] if depth > 0 else []
        case Choices():
            return []
        case Map():
            return {}
        case Text():
            return ""
        case Flag():
            return False
        case Choice() if len(field.options) == 1:
            return field.options[0].value
        case Union() if field.variants and depth > 0:
            return _starter(field.variants[max(0, field.choose(None) if field.by_value else 0)].field(), depth - 1)
        case Number():
            return _amount(field)
        case _:
            return None


def _amount(field: Number) -> float | int:
    """The number nearest to 0 that the bounds allow."""
    low, high = field.minimum, field.maximum
    if low is not None and (low > 0 or (low == 0 and field.above_minimum)):
        return low + 1 if field.above_minimum else low
    if high is not None and (high < 0 or (high == 0 and field.below_maximum)):
        return high - 1 if field.below_maximum else high
    return 0


def _begun(field: Object, depth: int) -> dict[str, Json]:
    """An object with its defaults, and with what is known of its required properties."""
    return _of(field.fields(), depth - 1) if depth > 0 else {}


def _of(fields: tuple[Field, ...], depth: int) -> dict[str, Json]:
    """What is known of these properties, by their names."""
    value: dict[str, Json] = {}
    for field in fields:
        known, item = _known(field, depth)
        if known:
            value[field.name] = item
    return value


def _known(field: Field, depth: int) -> tuple[bool, Json]:
    """Whether it is known how a property begins, and how."""
    if field.has_default:
        return True, field.default
    if not field.required:
        return False, None
    if isinstance(field, Const):
        return True, field.value
    if isinstance(field, Choice) and len(field.options) == 1:
        return True, field.options[0].value
    if isinstance(field, Union) and field.by_value:
        field = settled(field, None)
    if isinstance(field, Object):
        begun = _begun(field, depth)
        only = depth > 0 and field.rest is None and not field.fields()  # {} is all that it can be
        return bool(begun) or only, begun
    return False, None
