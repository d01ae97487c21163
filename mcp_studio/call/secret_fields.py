"""Where in a value the fields of a form call something secret, however deep."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json, mapping
from mcp_studio.schema.field import Field, Form, List, Map, Object, Text, Union
from mcp_studio.schema.place import Path, pointer
from mcp_studio.schema.walk import inner, settled

_FIELDS = 400
"""Fields that are looked at before any value is there."""
_MOST = 20_000
"""Places that are looked at: a value may be larger than its form is ever shown."""


def secret_places(form: Form, value: Json) -> frozenset[str]:
    """The pointers of what stands in fields for passwords and the like."""
    found: set[str] = set()
    todo: list[tuple[Field, Json, Path]] = [(form.top, value, ())]
    for _ in range(_MOST):
        if not todo:
            break
        outer, item, path = todo.pop()
        field = settled(outer, item)
        if (_secret(field) or _secret(outer)) and item not in (None, ""):
            found.add(pointer(*path))
        for part, below in _parts(item):
            if (next_field := inner(field, part)) is not None:
                todo.append((next_field, below, (*path, part)))
    return frozenset(found)


def may_hold_secrets(form: Form) -> bool:
    """Whether a value of this form could have a secret in it: looked up once, where values are many."""
    todo: list[Field] = [form.top]
    seen: dict[int, Field] = {}
    while todo:
        field = todo.pop()
        if id(field) in seen:
            continue
        seen[id(field)] = field
        if len(seen) > _FIELDS or isinstance(field, Map) or _secret(field):
            return True
        if isinstance(field, Object):
            todo += [*field.fields(), *([field.rest] if field.rest else [])]
        elif isinstance(field, List):
            todo += [*field.first(), *([items] if (items := field.items()) else [])]
        elif isinstance(field, Union):
            todo += [variant.field() for variant in field.variants]
    return False


def _secret(field: Field) -> bool:
    """Whether a field is for a secret: one that is masked, or one of another kind that its schema calls one."""
    if isinstance(field, Text):
        return field.secret
    schema = mapping(field.schema)
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def _parts(value: Json) -> list[tuple[str | int, Json]]:
    if isinstance(value, dict):
        return list(cast("dict[str | int, Json]", value).items())
    return list(enumerate(cast("list[Json]", value))) if isinstance(value, list) else []
