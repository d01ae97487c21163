"""Adding, removing, moving and naming the items of lists and the entries of maps in a form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from mcp_studio.schema.field import List, Map, Object
from mcp_studio.schema.place import Path
from mcp_studio.tui.form.choices import Target
from mcp_studio.tui.form.editors import Overlay
from mcp_studio.tui.form.rows import Row

if TYPE_CHECKING:
    from mcp_studio.tui.form.view import FormView


class Items:
    """Acts on the item or entry that the cursor of a form is in."""

    def __init__(self, form: FormView, overlay: Overlay) -> None:
        self._form = form
        self._overlay = overlay
        self.buttons: dict[Target, Callable[[], None]] = {
            "add": self.add, "remove": self.remove, "up": partial(self.move, -1), "down": partial(self.move, 1),
        }  # fmt: skip

    def _rows(self) -> Iterator[Row]:
        """The current row, and those that it lies in, from the inside out."""
        model, row = self._form.model, self._form.row
        while row is not None:
            yield row
            index = model.row_at(row.path[:-1]) if row.path else None
            row = model.rows[index] if index is not None else None

    @property
    def row(self) -> Row | None:
        """The row of the item or entry that the cursor is in."""
        return next((row for row in self._rows() if row.removable), None)

    @property
    def holder(self) -> tuple[Path, List | Map] | None:
        """The list or map that the current row is, adds to or lies in."""
        for row in self._rows():
            field = self._form.model.settle(row.path, row.given, self._form.model.get(row.path))
            if isinstance(field, (List, Map)) and (row.fold is not None or row.kind == "add"):
                return row.path, field
            if row.kind == "add" and isinstance(field, Object) and field.rest is not None:
                return row.path, field.rest
            if row.kind in ("item", "entry") and isinstance(row.parent, (List, Map)):
                return row.path[:-1], row.parent
        return None

    def add(self) -> None:
        """Add an item behind the current one, or at the end of the list; or begin an entry of the map."""
        form, row, found = self._form, self._form.row, self.holder
        if row is None or found is None:
            return
        form.typed()
        holder, field = found
        if isinstance(field, Map):
            self._begin_entry(holder)
            return
        items = len(form.model.items(holder))
        if (field.max_items is not None and items >= field.max_items) or field.item(items) is None:
            form.refuse(f"There are {items} items: more are not allowed.")
            return
        behind = row.kind == "item" and row.path[:-1] == holder
        form.go_to(form.model.add(holder, field, int(row.path[-1]) + 1 if behind else items), inside=True)
        self._overlay.line.select_all()  # what it begins with gives way to what is typed

    def remove(self) -> None:
        """Remove the item or entry."""
        form, row = self._form, self.row
        if row is None:
            return
        holder, last = row.path[:-1], row.path[-1]
        form.leave()
        self._overlay.close()
        form.model.remove(row.path)
        left = len(form.model.items(holder)) if isinstance(last, int) else 0
        form.go_to((*holder, min(int(last), left - 1)) if left else holder)

    def move(self, by: int) -> None:
        """Move the item in its list; the cursor goes along."""
        form, item, row = self._form, self.row, self._form.row
        if item is not None and row is not None and item.kind == "item":
            form.typed()
            form.follow((*form.model.move(item.path, by), *row.path[len(item.path) :]), row.kind)

    def duplicate(self) -> None:
        """Put a copy of the item behind it."""
        form, item = self._form, self.row
        if item is not None and item.kind == "item":
            form.typed()
            form.go_to(form.model.duplicate(item.path))

    # Keys of entries

    def rename(self) -> None:
        """Change the key of the current entry."""
        row = self._form.row
        if row is not None and row.kind in ("entry", "other"):
            self._overlay.name(str(row.path[-1]), "the key of the entry")
            self._form.show_current()

    def _begin_entry(self, holder: Path) -> None:
        form = self._form
        form.model.fold([holder], True)
        rows = form.model.rows
        at = next((at for at, row in enumerate(rows) if row.kind == "add" and row.path == holder), None)
        if at is None:
            form.refuse("There are as many entries as are allowed.")
            return
        form.go(at)
        self._overlay.name("", "the key of the new entry")
        form.show_current()

    def press(self, key: str) -> bool:
        """A key while a key is typed: enter and tab take it, escape leaves it as it was."""
        if key not in ("enter", "tab", "shift+tab", "up", "down", "escape"):
            return False
        form, row, now, text = self._form, self._form.row, self._overlay.naming, self._overlay.line.value
        if row is None or key == "escape" or (not text and not now) or text == now:
            form.reopen()
            if key not in ("escape", "enter"):
                form.walk(1 if key in ("tab", "down") else -1)
            return True
        holder = row.path if row.kind == "add" else row.path[:-1]
        if problem := form.model.key_problem(holder, text, now or None):
            form.refuse(problem)
            return True
        self._overlay.close()
        if row.kind == "add" and isinstance(row.field, Map):
            form.go_to(form.model.enter(holder, row.field, text), inside=True)
            self._overlay.line.select_all()
        else:
            form.go_to(form.model.rename(row.path, text))
        return True
