"""What the keys of a form do with its rows; each is an action of `form_keys`."""

from __future__ import annotations

from textual.events import Paste

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Flag, List, Map, Object, Union
from mcp_studio.schema.place import Path
from mcp_studio.schema.text import from_text
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.form.editing import LARGEST
from mcp_studio.tui.form.listing import Listing, removable
from mcp_studio.tui.form.outline import Row


class Acting(Listing):
    """Rows on which the keys of the table act. Those that do nothing on a row say why."""

    BINDINGS = bindings("form")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that an editor has a use for are left to it."""
        row = self.row
        if action == "delete_row":
            typing = self._overlay.editor is not None and self._overlay.text != ""
            return row is not None and removable(row) and not typing and self._chooser.picker is None
        if action == "shift_row" and self._overlay.naming is not None:
            return False
        return True

    def _on_row(self, key: str, character: str | None = None) -> bool:
        """Keys on a row without an editor."""
        row = self.row
        if row is None:
            return False
        if key == "delete-clicked":
            self.action_remove_row()
        elif row.kind == "add" and key in ("enter", "space"):
            self.action_add_row()
        elif character in ("{", "[") and row.kind != "add" and isinstance(row.field, (Object, Map, List)):
            self._start_json(row, character)
        elif key == "left" and row.path and row.fold is not True and not _chooses(row) and self._chooser.picker is None:
            return self._go_out(row)
        elif key == "right" and row.fold is True and not _chooses(row):
            self._walk(1)
        else:
            return False
        return True

    # The value of a row

    def action_nothing(self) -> None:
        """What the value can be without being anything."""
        row = self.row
        if row is not None and row.kind not in ("add", "rest") and self._overlay.naming is None:
            self._model.next_nothing(row)
            self._reopen()

    def _reopen(self) -> None:
        """The value of the current row is another one."""
        self._find()
        self._open()
        self._hand_over()
        self._changed()
        self.row_changed()

    def action_as_json(self) -> None:
        """Edit the part as JSON, or by its rows again."""
        row = self.row
        if row is None or row.kind in ("rest",):
            return
        path = row.path
        on = path not in self._model.json_places
        if on and not isinstance(self._model.settle(path, row.given, self._model.get(path)), AS_JSON):
            path = path[:-1]
        index = self._model.row_at(path)
        if index is None and path:
            return
        self._leave()
        self._model.as_json(path, on)
        self._key = path, "field"
        index = self._model.row_at(path)
        self._redraw()
        self.go(index or 0)
        if on and self.row is not None and self._overlay.editor is not None:
            self._overlay.grow(self._model, self.row)
            self._moved()

    def _start_json(self, row: Row, text: str) -> None:
        """JSON is typed, or pasted and not right, on a part that has rows."""
        self._model.as_json(row.path, True)
        self._redraw()
        self._open()
        if "\n" in text and self.row is not None:
            self._overlay.grow(self._model, self.row, text)
        else:
            self._overlay.line.value = text
            self._overlay.line.cursor_position = len(text)
        self._moved()
        self._typed(text)

    def action_undo(self) -> None:
        """Bring back what was before the last edit."""
        self._typed(self._overlay.text)
        self._turned(self._model.undo(), "Nothing is left to be undone.")

    def action_redo(self) -> None:
        """Bring back what was undone."""
        self._turned(self._model.redo(), "Nothing was undone.")

    def _turned(self, at: Path | None, why: str) -> None:
        if at is None:
            self.refuse(why)
            return
        self._chooser.picker = None
        self._overlay.close()
        index = self._model.row_at(at)
        self._changed()
        self.go(self._at if index is None else index)

    def action_next_problem(self) -> None:
        """Go to the next problem, also into what is folded."""
        if not self.go_to_problem(self._at):
            self.refuse("The fields know of no problem.")

    def go_to_problem(self, after: int) -> bool:
        """Go to the first error behind a row, around the end; False when there is none."""
        self._model.ask()
        row = self._model.rows[after] if 0 <= after < len(self._model.rows) else None
        place = self._model.told.next_error(after, inside=row is not None and row.fold is False)
        if place is None:
            self._redraw()
            return False
        self._model.open_to(place)
        self._redraw()
        self.go(self._model.nearest(place) or 0)
        return True

    # Pasting

    def on_paste(self, event: Paste) -> None:
        """JSON that is pasted on a row without an editor becomes its value."""
        row = self.row
        if row is None or row.kind == "rest" or self._overlay.editor is not None:
            return
        event.stop()
        self.paste(row, event.text)

    def paste(self, row: Row, text: str) -> None:
        """Take pasted text as the value of a row, as a new item on the row that adds one."""
        try:
            if row.fold is None and not isinstance(row.field, AS_JSON) and row.kind != "add":
                value: Json = from_text(row.field, text)
            else:
                value = loads(text, exact=True)
        except (JsonProblem, LimitExceeded, ValueError) as problem:
            meant = row.kind != "add" and isinstance(row.field, (Object, Map, List)) and text.lstrip()[:1] in ("{", "[")
            if meant and len(text) <= LARGEST:
                self._start_json(row, text.strip("\n"))  # it waits there, with what is wrong with it
            else:
                self.refuse(f"What was pasted is no JSON: {problem}")
            return
        if row.kind == "add" and isinstance(row.field, Map):
            self.refuse("An entry needs a key first.")
            return
        path = row.path
        if row.kind == "add":
            path = self._model.insert((*row.path, len(self._model.items(row.path))), value)
        else:
            self._model.put(path, value)
        self._act_at(path, inside=False)


def _chooses(row: Row) -> bool:
    return isinstance(row.field, (Choice, Choices, Flag, Union))
