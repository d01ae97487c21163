"""From the field of a whole value down to the fields of places in it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Field, List, Map, Object, Union
from mcp_studio.schema.place import Path, found

NONE_CHOSEN: Mapping[Path, int] = MappingProxyType({})


def settled(field: Field, value: Json, chosen: int | None = None) -> Field:
    """The field itself; of a union the variant that was chosen, or else the one that the value is of.

    It stays a union where neither says anything.
    """
    for _ in range(_UNIONS):
        if not isinstance(field, Union):
            break
        own = chosen if not field.by_value else None
        at = field.choose(value) if own is None else own
        if not 0 <= at < len(field.variants):
            break
        field, chosen = field.variants[at].field(), chosen if field.by_value else None
    return field


def inner(field: Field, part: str | int) -> Field | None:
    """The field of what lies under a key or index of a value of this field; None where the schema says nothing."""
    if isinstance(field, Object) and isinstance(part, str):
        known = next((one for one in field.fields() if one.name == part), None)
        return known or (inner(field.rest, part) if field.rest else None)
    if isinstance(field, Map) and isinstance(part, str):
        return field.of(part)
    if isinstance(field, List) and isinstance(part, int):
        return field.item(part)
    return None


def field_at(root: Field, path: Path, value: Json, chosen: Mapping[Path, int] = NONE_CHOSEN) -> Field | None:
    """The field of a place in a value; None where the schema says nothing of it.

    Args:
        chosen: the variants of unions that the person chose, by their places; else the value says which is meant.
    """
    field: Field | None = root
    for depth, part in enumerate(path):
        field = inner(settled(field, found(value, path[:depth]), chosen.get(path[:depth])), part)
        if field is None:
            return None
    return field


_UNIONS = 48
"""Unions of unions that are followed."""
