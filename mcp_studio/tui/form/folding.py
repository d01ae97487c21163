"""Folding and unfolding the parts of a form."""

from __future__ import annotations

from mcp_studio.schema.place import Path
from mcp_studio.tui.form.fields import Fields
from mcp_studio.tui.form.outline import Row


class Folding(Fields):
    """Rows of which some can be folded; the arrows go in and out of them."""

    def _go_out(self, row: Row) -> bool:
        above = self._model.row_at(row.path if row.kind in ("add", "inner") else row.path[:-1])
        if above is None or above == self._at:
            return False
        self.go(above)
        return True

    def action_fold_here(self) -> None:
        """Fold the part that the cursor is on, or else the one it is in."""
        row = self.row
        if row is not None and row.fold is not True:
            out = row.path if row.kind in ("add", "inner") else row.path[:-1]
            above = self._model.row_at(out) if row.path else None
            if above is None:
                self.refuse("Here is nothing to be folded.")
                return
            self.go(above)
            row = self.row
        self._set_fold(row, False)

    def action_unfold_here(self) -> None:
        """Unfold the part that the cursor is on."""
        self._set_fold(self.row, True)

    def _set_fold(self, row: Row | None, open: bool) -> None:
        if row is not None and row.fold is not None:
            self._model.fold(row.path, open)
            self._find()
            self._moved()
            self.row_changed()

    def action_fold_all(self) -> None:
        """Fold all parts beside the cursor, as the items of its list; once all are folded, unfold them."""
        row = self.row
        if row is None:
            return
        holder = row.path if row.fold and row.kind not in ("item", "entry") else row.path[:-1]
        parts = self._parts(holder)
        while not parts and holder:
            holder = holder[:-1]
            parts = self._parts(holder)
        if not parts:
            self.refuse("Here is nothing to be folded.")
            return
        self._model.fold_many((one.path for one in parts), not any(one.fold for one in parts))
        if self._model.row_at(row.path) is None and (above := self._model.nearest(row.path)) is not None:
            self.go(above)
        self._find()
        self._moved()
        self.row_changed()

    def _parts(self, holder: Path) -> list[Row]:
        """What can be folded directly inside a part."""
        depth = len(holder)
        rows = (one for one in self._model.rows if len(one.path) == depth + 1 and one.path[:depth] == holder)
        return [one for one in rows if one.fold is not None and one.kind not in ("add", "inner")]
