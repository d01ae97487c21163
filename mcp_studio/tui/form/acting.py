"""What the keys of a form do with its rows: adding, moving, folding, undoing. Each is an action of `form_keys`."""

from __future__ import annotations

from textual.events import Paste

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Flag, List, Map, Object, Union
from mcp_studio.schema.options import label as label_of
from mcp_studio.schema.place import Path, pointer
from mcp_studio.schema.text import from_text
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.form.fields import Fields
from mcp_studio.tui.form.offer import Offer
from mcp_studio.tui.form.outline import Row


class Acting(Fields):
    """Rows on which the keys of the table act. Those that do nothing on a row say why."""

    BINDINGS = bindings("form")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that an editor has a use for are left to it."""
        row = self.row
        if action == "delete_row":
            typing = self._overlay.editor is not None and self._overlay.text != ""
            return row is not None and _removable(row) and not typing and self._chooser.picker is None
        if action == "shift_row" and self._overlay.naming is not None:
            return False
        return True

    def refuse(self, why: str) -> None:
        """Say why a key does nothing here."""
        say = getattr(self.app, "say", None)
        if say is not None:
            say(why, "warning")

    # Lists and maps

    def _holder(self) -> tuple[Path, List | Map] | None:
        """The list or map that the current row is, adds to or lies in."""
        row = self.row
        while row is not None:
            field = self._model.settle(row.path, row.given, self._model.get(row.path))
            if isinstance(field, (List, Map)) and (row.fold is not None or row.kind == "add"):
                return row.path, field
            if row.kind == "add" and isinstance(field, Object) and field.rest is not None:
                return row.path, field.rest
            if row.kind in ("item", "entry") and isinstance(row.parent, (List, Map)):
                return row.path[:-1], row.parent
            above = self._model.row_at(row.path[:-1]) if row.path else None
            row = self._model.rows[above] if above is not None else None
        return None

    def action_add_row(self) -> None:
        """Add an item behind the current one, or at the end of the list; or an entry."""
        row, found = self.row, self._holder()
        if row is None or found is None:
            self.refuse("Items are added in lists, entries in maps: here is neither.")
            return
        self._typed(self._overlay.text)
        holder, field = found
        if isinstance(field, Map):
            self._name_new(holder)
            return
        items = len(self._model.items(holder))
        at = int(row.path[-1]) + 1 if row.kind == "item" and row.path[:-1] == holder else items
        if (field.max_items is not None and items >= field.max_items) or field.item(items) is None:
            self.refuse(f"There are {items} items: more are not allowed.")
            return
        self._act_at(self._model.add(holder, field, at))

    def _act_at(self, path: Path, *, inside: bool = True) -> None:
        """An edit was done: go to its place, and into it where it is open."""
        index = self._model.row_at(path)
        self._changed()
        if index is None:
            return
        rows = self._model.rows
        deeper = index + 1 < len(rows) and rows[index + 1].path[: len(path)] == path and rows[index + 1].kind != "add"
        self.go(index + 1 if inside and rows[index].fold and deeper else index)

    def action_delete_row(self) -> None:
        """Remove the current item or entry."""
        self.action_remove_row()

    def action_remove_row(self) -> None:
        """Remove the item or entry that the cursor is in."""
        row = self._removable_row()
        if row is None:
            self.refuse("Only items of lists and entries of maps can be removed; ^d takes a value away.")
            return
        path = row.path
        self._leave()
        self._overlay.close()
        self._model.remove(path)
        nearest = self._model.row_at(path) if isinstance(path[-1], int) else None
        if nearest is None:
            before = (*path[:-1], path[-1] - 1) if isinstance(path[-1], int) and path[-1] > 0 else path[:-1]
            nearest = self._model.row_at(before)
        self._changed()
        self.go(self._at if nearest is None else nearest)

    def _removable_row(self) -> Row | None:
        row = self.row
        while row is not None and not (_removable(row)):
            above = self._model.row_at(row.path[:-1]) if row.path else None
            row = self._model.rows[above] if above is not None else None
        return row

    def action_shift_row(self, by: int) -> None:
        """Move the current item; elsewhere the key asks for what can be taken into the field."""
        row = self.row
        while row is not None and row.kind != "item" and row.path:
            above = self._model.row_at(row.path[:-1])
            row = self._model.rows[above] if above is not None else None
        if row is None or row.kind != "item":
            if by > 0:
                self._ask_offers()
            return
        rest = self.row.path[len(row.path) :] if self.row is not None else ()
        kind = self.row.kind if self.row is not None else "item"
        self._typed(self._overlay.text)
        new = self._model.move(row.path, by)
        self._key = ((*new, *rest), kind)
        self._changed()
        self._find()
        self.go(self._at)

    def action_duplicate_row(self) -> None:
        """Put a copy of the current item behind it."""
        self._typed(self._overlay.text)
        row = self._removable_row()
        if row is None or row.kind != "item":
            self.refuse("Only items of lists can be copied.")
            return
        self._act_at(self._model.duplicate(row.path), inside=False)

    # Keys of maps

    def _name_new(self, holder: Path) -> None:
        self._model.fold(holder, True)
        rows = self._model.rows
        at = next((at for at, row in enumerate(rows) if row.kind == "add" and row.path == holder), None)
        if at is None:
            self.refuse("There are as many entries as are allowed.")
            return
        self.go(at)
        self._overlay.name("", "the key of the new entry")
        self._moved()

    def action_rename_key(self) -> None:
        """Change the key of the current entry."""
        row = self.row
        if row is None or row.kind not in ("entry", "other"):
            self.refuse("Only keys of entries can be changed.")
            return
        key = str(row.path[-1])
        self._overlay.name(key, "the key of the entry")
        self._moved()

    def _named(self, key: str) -> bool:
        """Enter and Tab take the key that was typed, Esc leaves it as it was."""
        if key not in ("enter", "tab", "shift+tab", "up", "down", "escape"):
            return False
        row, now, text = self.row, self._overlay.naming, self._overlay.line.value
        if row is None or key == "escape" or (not text and not now) or text == now:
            self._open()
            self._moved()
            return key in ("escape", "enter") or self._walk(1 if key in ("tab", "down") else -1) or True
        holder = row.path if row.kind == "add" else row.path[:-1]
        problem = self._model.key_problem(holder, text, now or None)
        if problem:
            self.refuse(problem)
            return True
        self._overlay.close()
        if row.kind == "add" and isinstance(row.field, Map):
            self._act_at(self._model.enter(holder, row.field, text))
        else:
            self._act_at(self._model.rename(row.path, text), inside=False)
        return True

    # Folds

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
        """JSON is typed on a part that has rows."""
        self._model.as_json(row.path, True)
        self._redraw()
        self._open()
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

    # Offers and pasting

    def _ask_offers(self) -> None:
        """The server's completions, else the examples of the schema."""
        row = self.row
        if row is None or self._overlay.editor is not self._overlay.line:
            return
        if self.complete is not None and self._at_top():
            self._offer(self._overlay.text, 0)
            return
        found = [one if isinstance(one, str) else label_of(one) for one in row.given.examples]
        if found:

            async def given(name: str, text: str) -> Offer:
                return Offer(tuple(found))

            self._offers.want(pointer(*row.path), self._overlay.text, given, pause=0)

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


def _removable(row: Row) -> bool:
    return row.kind in ("item", "entry", "other")


def _chooses(row: Row) -> bool:
    return isinstance(row.field, (Choice, Choices, Flag, Union))
