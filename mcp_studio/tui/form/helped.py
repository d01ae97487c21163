"""A form with help for its fields: what helps is opened by `late_aids`; here is what only the form can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mcp_studio.tui import late_aids
from mcp_studio.tui.form.acting import Acting

if TYPE_CHECKING:
    from mcp_studio.tui.form.form_view import FormView


class Helped(Acting):
    """Rows with help; a secret is shown while the person is in its field and wants to see it."""

    def action_aid(self, name: str) -> None:
        """Help with the current field; `name` is one aid, or empty to choose."""
        self._typed(self._overlay.text)
        late_aids.aid(cast("FormView", self), name)

    @property
    def revealed(self) -> bool:
        """Whether the secret of the current field is shown in clear."""
        row = self.row
        return row is not None and self._overlay.revealed == row.path

    def toggle_revealed(self) -> None:
        """Show the secret of the current field, or hide it again; it is hidden once the cursor leaves the field."""
        row = self.row
        if row is not None:
            self._typed(self._overlay.text)
            self._overlay.revealed = None if self.revealed else row.path
            self._open()
            self._moved()

    def _blurred(self) -> None:
        if not self.has_focus_within and self._overlay.revealed is not None:
            self._overlay.revealed = None
            self._open()
        super()._blurred()

    @property
    def can_undo(self) -> bool:
        """Whether an edit is there to be undone."""
        return self._model.history.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether an edit was undone last."""
        return self._model.history.can_redo
