"""Adding, removing, moving and renaming the items and entries of a form."""

from __future__ import annotations

from mcp_studio.schema.field import List, Map, Object
from mcp_studio.schema.place import Path
from mcp_studio.tui.form.folding import Folding
from mcp_studio.tui.form.outline import Row


class Listing(Folding):
    """Rows of lists and maps. Keys that do nothing on a row say why."""

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
        self._overlay.line.select_all()  # what it begins with gives way to what is typed

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
        while row is not None and not (removable(row)):
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
            else:
                self.refuse("Only items of a list can be moved.")
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
            self._overlay.line.select_all()
        else:
            self._act_at(self._model.rename(row.path, text), inside=False)
        return True


def removable(row: Row) -> bool:
    """Whether a row can be taken away as a whole."""
    return row.kind in ("item", "entry", "other")
