"""Where the parts of a row stand: how far it is indented, and where its value begins."""

from __future__ import annotations

from typing import cast

from rich.cells import cell_len

from mcp_studio.safetext import safe
from mcp_studio.schema.field import Field, List, Object
from mcp_studio.schema.place import Path
from mcp_studio.tui.form import words
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.outline import Row

_INDENT = 2
_LEAST = 16
"""Cells that a value has at least."""
_SAMPLED = 200
"""Keys of a map that are looked at for the longest."""


class Columns:
    """Columns at a width: the rows of one object, list or map begin their values in the same one.

    Objects inside share the column of the top as far as their labels leave room for that.
    """

    def __init__(self, model: FormModel, width: int) -> None:
        self._model = model
        self.width = max(20, width)
        longest = max((cell_len(words.name(field)) for field in self._top()), default=0)
        self.top = min(longest + 2, max(10, self.width * 2 // 5), 30)
        self._known: dict[tuple[int, int, Path | None], int] = {}

    def _top(self) -> tuple[Field, ...]:
        root = self._model.settle((), self._model.root, self._model.value)
        return root.fields() if isinstance(root, Object) else ()

    def indent(self, row: Row) -> int:
        """Cells in front of a label."""
        return min(row.level * _INDENT, self.width // 3)

    def value(self, row: Row) -> int:
        """The column of a value."""
        if row.kind in ("add", "rest"):
            return self.indent(row)
        holder: Path | None = row.path[:-1] if row.kind in ("item", "entry", "other") else None
        key = (id(row.parent) if row.kind != "inner" else -1, row.level, holder)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._column(row)
        return known

    def room(self, row: Row) -> int:
        """Cells for a value."""
        return self.width - self.value(row)

    def _column(self, row: Row) -> int:
        indent = self.indent(row)
        if row.kind == "inner":
            return indent + 2
        if row.kind == "item":
            items = self._model.items(row.path[:-1])
            titles = [0, *(cell_len(words.item_title(one)) for one in self._first(row))]
            return min(indent + max(len(str(max(1, len(items)))), *titles) + 1, max(indent + 6, self.width - _LEAST))
        longest = max(map(cell_len, self._labels(row)), default=0)
        own = min(indent + longest + 2, max(indent + 18, self.width * 2 // 5), indent + 30, self.width - _LEAST)
        return max(self.top, own) if row.level else max(own, min(self.top, self.width - _LEAST))

    def _first(self, row: Row) -> tuple[Field, ...]:
        return row.parent.first() if isinstance(row.parent, List) else ()

    def _labels(self, row: Row) -> list[str]:
        parent, found = row.parent, [words.label(row)]
        if isinstance(parent, Object) and row.kind != "entry":
            found += [words.name(field) for field in parent.fields()]
        there = self._model.get(row.path[:-1]) if row.path else None
        if isinstance(there, dict) and row.kind in ("entry", "other"):
            found += [safe(key, 60) for key in list(cast("dict[str, object]", there))[:_SAMPLED]]
        return found
