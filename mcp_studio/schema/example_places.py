"""The places of a made-up value, at each of which one thing can be changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mcp_studio.jsontext import Json, mapping
from mcp_studio.schema import place
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
    Text,
    Union,
)
from mcp_studio.schema.kinds import type_of
from mcp_studio.schema.place import Path
from mcp_studio.schema.walk import inner, settled

MOST = 60
"""Places of one value that are changed."""
_DEPTH = 6
_VARIANTS = 20


class _Absent:
    """What is taken away."""


ABSENT: Final = _Absent()


class Place(NamedTuple):
    """A place that has a value."""

    path: Path
    field: Field
    """Its field; of a union the variant that the value is of."""
    value: Json
    types: frozenset[str]
    """The JSON types that are allowed here; empty when that is not known."""
    loose: bool
    """It lies in a value of several kinds: what is wrong for one may be right for another."""


class Change(NamedTuple):
    """Another value at a place."""

    words: str
    path: Path
    value: Json | _Absent
    remark: str = ""
    """Why it may not be what it says, as a sentence."""

    def made(self, whole: Json) -> Json:
        """The whole value with the change."""
        if isinstance(self.value, _Absent):
            return place.remove(whole, self.path)
        return place.put(whole, self.path, self.value)


def places(root: Field, value: Json) -> list[Place]:
    """The whole value and what is inside it, the outer before the inner, of lists the first items alone."""
    found: list[Place] = []
    todo: list[tuple[Path, Field, Json, bool]] = [((), root, value, False)]
    while todo and len(found) < MOST:
        path, field, item, loose = todo.pop(0)
        own = settled(field, item)
        loose = loose or isinstance(field, Union)
        found.append(Place(path, own, item, types_of(field), loose))
        if len(path) < _DEPTH:
            todo += [(*one, loose) for one in _inside(path, own, item)]
    return found


def _inside(path: Path, field: Field, value: Json) -> Iterator[tuple[Path, Field, Json]]:
    many = max(1, len(field.first())) if isinstance(field, List) and "contains" not in mapping(field.schema) else 0
    parts = list(value) if isinstance(value, dict) else range(min(len(value), many)) if isinstance(value, list) else ()
    for part in parts:
        below = inner(field, part)
        if below is not None:
            yield (*path, part), below, value[part]


def types_of(field: Field, depth: int = 0) -> frozenset[str]:
    """The JSON types of a field's values; empty when that is not known."""
    null = frozenset(("null",)) if field.nullable else frozenset[str]()
    if not isinstance(field, Union | Choice | Const | JsonField) and "type" not in mapping(field.schema):
        return frozenset()  # what is said of one type allows all others
    match field:
        case Text():
            found = frozenset(("string",))
        case Number():
            found = frozenset(("integer",) if field.integer else ("integer", "number"))
        case Flag():
            found = frozenset(("boolean",))
        case Choice():
            found = frozenset(type_of(option.value) for option in field.options)
        case Const():
            found = frozenset((type_of(field.value),))
        case Choices() | List():
            found = frozenset(("array",))
        case Object() | Map():
            found = frozenset(("object",))
        case Union():
            if depth > 3 or len(field.variants) > _VARIANTS:
                return frozenset()
            parts = [types_of(variant.field(), depth + 1) for variant in field.variants]
            found = frozenset[str]().union(*parts) if all(parts) else frozenset[str]()
        case JsonField():
            found = frozenset(field.types) | (frozenset(("integer",)) if "number" in field.types else frozenset())
        case _:
            found = frozenset[str]()
    return found | null if found else found


def spoken(path: Path) -> str:
    """A path as people say it: `customer › name`, `items › 1`, counted from 1; foreign text."""
    return " › ".join(str(part + 1) if isinstance(part, int) else part for part in path)
