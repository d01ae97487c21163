"""The quick check of a whole value, so cheap that it can follow every key: what has not changed is not looked at again.

Values are never changed in place, so that the same object still has the same problems.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.schema.check import problems_here, wrong_members
from mcp_studio.schema.field import Field, List, Map, Object, SchemaProblem, Severity, inner
from mcp_studio.schema.place import Path, pointer
from mcp_studio.tui.form.outline import Settle

MOST = 2_000
"""Problems that are told."""
_DEEPEST = 60
_KEEP = (dict, list)


class Checks:
    """Problems of all drawn places, remembered by field and value.

    Args:
        settle: resolves unions; the same for the same field and value, unless the place is among `varied`.
        strict: wrong formats are errors.
    """

    def __init__(self, settle: Settle, *, strict: bool) -> None:
        self._settle = settle
        self._strict = strict
        self._known: dict[tuple[int, int], tuple[Field, Json, _Problems]] = {}
        self._next: dict[tuple[int, int], tuple[Field, Json, _Problems]] = {}
        self._varied: set[Path] = set()

    def problems(self, root: Field, value: Json, varied: Iterable[Path]) -> tuple[SchemaProblem, ...]:
        """Everything wrong that the fields know of.

        Args:
            varied: places at which the person chose a variant that the value alone does not tell.
        """
        self._varied = {path[:depth] for path in varied for depth in range(len(path) + 1)}
        self._next = {}
        found = self._problems((), root, value, 0)
        self._known = self._next
        return tuple(SchemaProblem(*problem) for problem in found[:MOST])

    def _problems(self, path: Path, given: Field, value: Json, depth: int) -> _Problems:
        if not isinstance(value, _KEEP):
            return self._here(path, given, value)
        plain = path not in self._varied
        key = (id(given), id(value))
        if plain and (known := self._known.get(key)) is not None:
            self._next[key] = known
            return known[2]
        field = self._settle(path, given, value)
        found = self._own(field, value)
        if depth < _DEEPEST:
            found += self._inside(path, field, value, depth)
        if plain:
            self._next[key] = given, value, found
        return found

    def _here(self, path: Path, given: Field, value: Json) -> _Problems:
        field = self._settle(path, given, value)
        if value is None and (given.nullable or field.nullable):
            return _NONE
        return self._own(field, value)

    def _own(self, field: Field, value: Json) -> _Problems:
        return [("", message, severity) for message, severity in problems_here(field, value, strict=self._strict)]

    def _inside(self, path: Path, field: Field, value: Json, depth: int) -> _Problems:
        found: _Problems = []
        for part, message in wrong_members(field, value):
            found.append((pointer(part), message, "error"))
        if isinstance(field, List) and isinstance(value, list):
            for index, item in enumerate(cast("list[Json]", value)):
                known = field.item(index)
                if known is not None and (told := self._problems((*path, index), known, item, depth + 1)):
                    found += _below(f"/{index}", told)
                if len(found) > MOST:
                    break
        elif isinstance(field, (Object, Map)) and isinstance(value, dict):
            members = cast("dict[str, Json]", value)
            known_names = {one.name: one for one in field.fields()} if isinstance(field, Object) else {}
            for key, item in members.items():
                known = known_names.get(key) or inner(field, key)
                if known is not None and (told := self._problems((*path, key), known, item, depth + 1)):
                    found += _below(pointer(key), told)
        return found


_Problems = list[tuple[str, str, Severity]]


def _below(start: str, told: _Problems) -> _Problems:
    return [(start + place, message, severity) for place, message, severity in told]


_NONE: _Problems = []
