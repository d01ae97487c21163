"""Folding and unfolding the parts of a form."""

from __future__ import annotations

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
        """Fold everything in the list or object that the cursor is in; once all is folded, unfold it."""
        row = self.row
        if row is None:
            return
        holder = row.path if row.fold is not None and self._model.is_open(row.path) else row.path[:-1]
        level = len(holder) + 1
        paths = [one for one in self._model.rows if one.path[:-1] == holder and len(one.path) == level]
        parts = [one for one in paths if one.fold is not None and one.kind not in ("add", "inner")]
        self._model.fold_many((one.path for one in parts), not any(one.fold for one in parts))
        self._find()
        self._moved()
