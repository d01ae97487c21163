"""The quick check while a person types: what the drawn fields say, nothing that could take long. Pure, stdlib only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Field, Form, List, Map, Object, Text, Union
from mcp_studio.schema.formats import wrong_format
from mcp_studio.schema.own import SIMPLE, own, severity
from mcp_studio.schema.own import equal as equal
from mcp_studio.schema.own import is_type as is_type
from mcp_studio.schema.place import Path, found, pointer
from mcp_studio.schema.problem import SchemaProblem
from mcp_studio.schema.walk import NONE_CHOSEN, field_at, inner, settled
from mcp_studio.schema.wording import NOT_ALLOWED, REQUIRED

_MOST = 100_000
"""Places of a value that are looked at; further ones are left to the whole check."""
_PROBLEMS = 1_000
_DEEPEST = 100


def quick(form: Form, value: Json, chosen: Mapping[Path, int] = NONE_CHOSEN) -> tuple[SchemaProblem, ...]:
    """Problems of the drawn fields: missing, wrong type, none of the options, out of bounds, wrong format, wrong key.

    Patterns and everything a field does not draw are left to the whole check (`worker.Checker`).

    Args:
        chosen: the variants of unions that the person chose, by their places; else the value says which is meant.
    """
    return quick_at(form.top, (), value, chosen, strict=form.strict)


def quick_at(
    root: Field, path: Path, value: Json, chosen: Mapping[Path, int] = NONE_CHOSEN, *, strict: bool = False
) -> tuple[SchemaProblem, ...]:
    """The same for one place of a value and all that is inside it, at pointers from the top of the value."""
    field = field_at(root, path, value, chosen)
    walk = _Walk(chosen, strict)
    if field is not None:
        walk.go(field, found(value, path), path)
    return tuple(walk.found)


class _Walk:
    """Goes through a value and its fields, as far as `_MOST` and `_DEEPEST` allow."""

    def __init__(self, chosen: Mapping[Path, int], strict: bool) -> None:
        self.found: list[SchemaProblem] = []
        self._chosen = chosen
        self._strict = strict
        self._left = _MOST

    def go(self, field: Field, value: Json, path: Path) -> None:
        if value is None and field.nullable:
            return
        if isinstance(field, Union):
            field = settled(field, value, self._chosen.get(path))
        for message, weight in own(field, value, strict=self._strict):
            self.found.append(SchemaProblem(pointer(*path), message, weight))
        if len(path) >= _DEEPEST:
            return
        for part, message in wrong_members(field, value):
            self.found.append(SchemaProblem(pointer(*path, part), message))
        if isinstance(value, dict) and isinstance(field, (Object, Map)):
            self._members(field, cast("dict[str, Json]", value), path)
        elif isinstance(value, list) and isinstance(field, List):
            for index, item in enumerate(cast("list[Json]", value)):
                if (one := field.item(index)) is None or not self._into(one, item, path, index):
                    break

    def _members(self, field: Object | Map, value: dict[str, Json], path: Path) -> None:
        if isinstance(field, Object):
            for one in field.fields():
                if one.name in value and not self._into(one, value[one.name], path, one.name):
                    return
            if field.rest is None:
                return
            names = {one.name for one in field.fields()}
            value = {key: item for key, item in value.items() if key not in names}
        for key, item in value.items():
            if (one := inner(field, key)) is not None and not self._into(one, item, path, key):
                return

    def _into(self, field: Field, value: Json, path: Path, part: str | int) -> bool:
        """Look at a place inside; False when enough was looked at."""
        self._left -= 1
        simple = SIMPLE.get(type(field))
        if simple is None:
            self.go(field, value, (*path, part))
        elif value is not None or not field.nullable:
            for message in simple(field, value):
                self.found.append(SchemaProblem(pointer(*path, part), message, severity(field, value)))
            if isinstance(field, Text) and field.format and isinstance(value, str):
                self._format(field, value, (*path, part))
        return self._left > 0 and len(self.found) < _PROBLEMS

    def _format(self, field: Text, value: str, path: Path) -> None:
        if message := wrong_format(field.format, value):
            self.found.append(SchemaProblem(pointer(*path), message, "error" if self._strict else "warning"))


def wrong_members(field: Field, value: Json) -> Iterable[tuple[str, str]]:
    """What is wrong with the keys of an object: those that are missing, and those that are not allowed."""
    if not isinstance(value, dict):
        return
    if isinstance(field, Object):
        for one in field.fields():
            if one.required and one.name not in value:
                yield one.name, REQUIRED
    free = field.rest if isinstance(field, Object) else field if isinstance(field, Map) else None
    if free is not None:
        names = {one.name for one in field.fields()} if isinstance(field, Object) else ()
        for key in cast("dict[str, Json]", value):
            if key not in names and (message := free.wrong_key(key)):
                yield key, message if message == NOT_ALLOWED else f"is a name that {message}"
