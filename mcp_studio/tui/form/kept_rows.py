"""Rows that were made before: what is the same at the same place, folded as it was, has the same rows. No widget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Field
from mcp_studio.schema.place import Path

if TYPE_CHECKING:
    from mcp_studio.tui.form.outline import Row

_MOST = 20_000


class _Known(NamedTuple):
    value: Json
    given: Field
    parent: Field
    level: int
    rows: Sequence[Row]


class KeptRows:
    """Rows of the items and entries of an outline, by place. Values are never changed in place."""

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self._marks: tuple[Mapping[Path, bool], Set[Path], Mapping[Path, int]] = ({}, frozenset(), {})

    def begin(self, folds: Mapping[Path, bool], as_json: Set[Path], chosen: Mapping[Path, int]) -> None:
        """The next outline is made with these; what lies around a place where they differ is forgotten."""
        before, self._marks = self._marks, (folds, as_json, chosen)
        if len(self._known) > _MOST:
            self._known.clear()
        differing = (*_differing(before[0], folds), *(before[1] ^ as_json), *_differing(before[2], chosen))
        for path in differing:
            for depth in range(len(path) + 1):
                self._known.pop(path[:depth], None)

    def get(self, path: Path, given: Field, value: Json, level: int, parent: Field) -> Sequence[Row] | None:
        """The rows of a place and of what is in it; None where they have to be made."""
        known = self._known.get(path)
        if known is None or known.value is not value or known.given is not given:
            return None
        return known.rows if known.parent is parent and known.level == level else None

    def put(self, path: Path, given: Field, value: Json, level: int, parent: Field, rows: Sequence[Row]) -> None:
        """Keep the rows of a place."""
        self._known[path] = _Known(value, given, parent, level, rows)


def _differing(before: Mapping[Path, object], now: Mapping[Path, object]) -> list[Path]:
    if before is now:
        return []
    missing = object()
    found = [path for path, mark in now.items() if before.get(path, missing) != mark]
    return found + [path for path in before if path not in now]
