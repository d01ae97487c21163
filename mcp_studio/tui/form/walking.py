"""Walking over the rows of a form: which one is current, and which widget has the keys there."""

from __future__ import annotations

from typing import Self

from mcp_studio.schema.field import Field
from mcp_studio.tui.form.choosing import Chooser
from mcp_studio.tui.form.drawing import DrawnFields
from mcp_studio.tui.form.model import FormModel


class Walking(DrawnFields):
    """Rows of which one is current.

    Exactly one of rows and editor can have the focus at a time: the editor while the current row is text, a number or
    JSON, else the rows.
    """

    DEFAULT_CSS = """
    Walking { layers: rows editor; width: 1fr; height: 1fr; }
    """

    def take(self, model: FormModel) -> None:
        """Show another form or another value."""
        self._model = model
        self._chooser = Chooser(model)
        self._offers.close()
        self._overlay.close()
        self.draw_all()
        if self.is_attached:
            if self.has_focus_within:
                self._open()
            self._hand_over()
            self._show_lines()
        self.row_changed()

    def edited(self) -> None:
        """The person changed the value."""

    def row_changed(self) -> None:
        """The cursor is on another row, or that is another kind of row now."""

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the focus to the current row."""
        self._rows.can_focus = self._rows.can_focus or self._overlay.editor is None
        (self._overlay.editor or self._rows).focus(scroll_visible)
        return self

    @property
    def current(self) -> Field | None:
        """The field that the keys go to."""
        return self.row.given if self.row is not None else None

    # Walking

    def on_descendant_focus(self) -> None:
        """The form got the focus: the current row shows it, and gets the keys."""
        if self._overlay.editor is None or not self._overlay.editor.has_focus:
            self._open()
            self._hand_over()
        self._show_lines()
        self.row_changed()

    def on_descendant_blur(self) -> None:
        """The form may have lost the focus."""
        self.call_later(self._blurred)

    def _blurred(self) -> None:
        if not self.has_focus_within:
            self._offers.close()
            self._model.history.pause()
        self._show_lines()

    def go(self, index: int) -> None:
        """Make a row the current one, and take the focus."""
        rows = self._model.rows
        index = max(0, min(index, len(rows) - 1))
        wanted = rows[index].key if rows else None
        before = self.row
        if wanted != self._key:
            self._leave()
            if before is not None:
                self._model.settle_json(before.path)
        self._at, self._key = index, wanted
        self._find()
        self._open()
        if not self.has_focus_within:
            self._rows.can_focus = True
            self.screen.set_focus(self._rows, scroll_visible=False)
        self._moved()
        self.row_changed()

    def _leave(self) -> None:
        """What belongs to the row that is left ends."""
        self._offers.close()
        self._chooser.picker = None
        self._model.history.pause()

    def _open(self) -> None:
        self._overlay.open(self._model, self.row, self.complete if self._at_top() else None)

    def _at_top(self) -> bool:
        """Whether the current row is an argument by itself: what a server completes."""
        return self.row is not None and len(self.row.path) == 1

    def _hand_over(self) -> None:
        """Give the focus to the editor of the current row, else to the rows."""
        wanted = self._overlay.editor or self._rows
        self._rows.can_focus = wanted is self._rows
        wanted.display = True
        if self.has_focus_within and not wanted.has_focus:
            self.screen.set_focus(wanted, scroll_visible=False)

    def _moved(self) -> None:
        self._hand_over()
        self._redraw()
        if self.row is not None and self.is_attached:
            self._rows.reveal(self._at)

    def _walk(self, by: int) -> bool:
        """Go to the next or previous row; False at the end."""
        if not 0 <= self._at + by < len(self._model.rows):
            return False
        self.go(self._at + by)
        return True

    def refuse(self, why: str) -> None:
        """Say why a key does nothing here."""
        say = getattr(self.app, "say", None)
        if say is not None:
            say(why, "warning")
