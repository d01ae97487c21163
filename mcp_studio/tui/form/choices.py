"""Keys and clicks on the rows of a form, except typing: options and completions in a list below the value; flags,
variants and folds; items and entries. No widgets: the form draws the results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Literal

from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Choices, Const, Flag, List, Map, Text, Union
from mcp_studio.schema.place import Path
from mcp_studio.tui.form.editors import Overlay
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.row_text import options
from mcp_studio.tui.form.rows import Row

if TYPE_CHECKING:
    from mcp_studio.tui.form.view import FormView

PAUSE = 0.15
"""Seconds without a key after which the form asks the server for completions."""
NOTHING = -1
"""The option that means not sent."""


Target = int | Literal["value", "fold", "add", "remove", "up", "down", "menu"]
"""The meaning of a click: the number of an option; the whole value; a fold; a button of the row."""
_STEPS = {"space": 1, "enter": 1, "right": 1, "left": -1}


Offer = tuple[Sequence[str], str]
"""Values of a server, foreign and unchanged, and `20 of 120` if the server has more values than these."""
Complete = Callable[[str, str], Awaitable[Offer]]
"""Asks the server for values, given a field's name and the typed text; it never raises."""


class DropDown:
    """An open list of labels, with a cursor.

    Args:
        labels: the options, as the server names them.
        marked: the numbers of the chosen options, which may include `NOTHING`; empty if the list marks no choice.
        many: whether the person can choose several options.
        optional: whether the person can also choose nothing.
        note: text below the list.
    """

    HEIGHT = 8
    """Labels on screen at the same time."""

    def __init__(
        self, labels: Sequence[str], marked: Set[int] = frozenset(), many: bool = False, optional: bool = False,
        note: str = "",
    ) -> None:  # fmt: skip
        self.labels = {**({NOTHING: "not sent"} if optional else {}), **dict(enumerate(labels))}
        self.marked, self.many, self.note = marked, many, note
        self.words = ""
        """The text that the person typed to narrow the list."""
        self.options = [*self.labels]
        """The numbers of the labels that are listed."""
        self._lowest = 0 if marked else -1
        """-1 means that the cursor is still in the text above the list."""
        self.at = next((index for index, option in enumerate(self.options) if option in marked), self._lowest)

    @property
    def option(self) -> int | None:
        """The option under the cursor; None when there is none."""
        return self.options[self.at] if 0 <= self.at < len(self.options) else None

    def move(self, key: str) -> bool:
        """Move the cursor by a key, within the ends; False if lists do not use the key."""
        by = {"up": -1, "down": 1, "pageup": 1 - self.HEIGHT, "pagedown": self.HEIGHT - 1}.get(key, 0)
        if not by or (self.at < 0 and key != "down"):
            return False
        self.at = max(self._lowest, min(self.at + by, len(self.options) - 1))
        return True

    def narrow(self, words: str) -> None:
        """List only the options whose names contain the words."""
        self.words, self.at = words, 0
        fitting = (option for option, label in self.labels.items() if words.casefold() in label.casefold())
        self.options = [option for option in fitting if option != NOTHING or not words]

    def window(self) -> range:
        """The part of the list that is on screen, around the cursor."""
        top = max(0, min(self.at - self.HEIGHT // 2, len(self.options) - self.HEIGHT))
        return range(top, min(top + self.HEIGHT, len(self.options)))


def offered(values: Sequence[str], count: str, text: str) -> DropDown | None:
    """The list of a server's values for a text; None if no other value can be shown unchanged."""
    usable = [value for value in values if safe(value) == value]
    left_out = len(values) - len(usable)
    labels = [value for value in usable if value != text]
    if not labels:
        return None
    parts = [count, f"{left_out} unsafe left out" if left_out else "", "↓ and enter take one"]
    return DropDown(labels, note=" · ".join(filter(None, parts)))


class Chooser:
    """Handles keys and clicks on one row at a time; `drop_down` is its open list of options or completions."""

    def __init__(self, model: FormModel) -> None:
        self._model = model
        self.drop_down: DropDown | None = None

    def chooses(self, row: Row) -> bool:
        """Whether the arrow keys have a meaning on a row, or in its open list."""
        return self.drop_down is not None or isinstance(row.field, (Choice, Choices, Flag, Union))

    def press(self, row: Row, key: str, character: str | None, *, inline: bool) -> bool:
        """Take a key; `inline` if the options are side by side. Returns False if the key has no meaning here."""
        if self.drop_down is not None:
            return self._press_list(self.drop_down, row, key, character)
        field, model = row.field, self._model
        if not isinstance(field, (Flag, Choice, Choices, Const, Union)):
            return self._fold(row, key)
        if key in ("backspace", "delete") and model.has(row.path) and not row.stays:
            model.clear(row)
        elif isinstance(field, Flag) and key in _STEPS:
            model.toggle(row)
        elif isinstance(field, Const) and key == "space":
            model.choose(row, 0) if model.chosen(row) < 0 else model.clear(row)
        else:
            return not isinstance(field, (Flag, Const)) and self._choose(row, key, character, inline)
        return True

    def _choose(self, row: Row, key: str, character: str | None, inline: bool) -> bool:
        """Take a key on a choice or a union: the arrows step through options that are side by side."""
        union = isinstance(row.field, Union)
        folds = union and row.fold is not None and key in ("space", "left", "right")
        if folds and (key == "space" or not inline or row.fold is False):
            return self._fold(row, key)
        if inline and not isinstance(row.field, Choices) and key in _STEPS and not (union and key == "enter"):
            self._model.step(row, _STEPS[key])
        elif key in ("space", "enter"):
            self.drop_down = self._drop_down(row)
        elif character and (character.isalpha() or character in "".join(options(row.field))):  # else `2` is a pane
            self.drop_down = self._drop_down(row)
            self.drop_down.narrow(character)
        else:
            return False
        return True

    def _fold(self, row: Row, key: str) -> bool:
        if row.fold is None or key not in ("space", "enter", "left", "right"):
            return False
        wanted = not row.fold if key in ("space", "enter") else key == "right"
        self._model.fold([row.path], wanted)
        return wanted != row.fold

    def click(self, row: Row, target: Target, *, inline: bool) -> bool:
        """Take a click on an option, on a fold, or on the value."""
        if target == "fold":
            return self._fold(row, "space")
        field, listed = row.field, self.drop_down
        if listed is not None and isinstance(target, int):
            listed.at = target
            return self._press_list(listed, row, "space" if listed.many else "enter", None)
        if isinstance(field, Flag):
            self._model.toggle(row)
        elif isinstance(field, (Choice, Union)) and inline and isinstance(target, int):
            self._model.choose(row, target)
        elif isinstance(field, (Choice, Choices, Union)):
            self.drop_down = self._drop_down(row) if listed is None else None
        else:
            return False
        return True

    def _drop_down(self, row: Row) -> DropDown:
        many, optional = isinstance(row.field, Choices), not row.given.required and not row.stays
        return DropDown(options(row.field), self._marked(row), many, optional)

    def _marked(self, row: Row) -> set[int]:
        if not self._model.has(row.path):
            return {NOTHING}
        return self._model.picked(row) if isinstance(row.field, Choices) else {self._model.chosen(row)}

    def _press_list(self, listed: DropDown, row: Row, key: str, character: str | None) -> bool:
        if listed.move(key):
            return True
        if key == "escape" or (key == "enter" and listed.many):
            self.drop_down = None
        elif key == "enter" or (key == "space" and not listed.words):
            self._take(listed, row)
        elif key == "backspace":
            listed.narrow(listed.words[:-1])
        elif character and character.isprintable():
            listed.narrow(listed.words + character)
        else:
            return False
        return True

    def _take(self, listed: DropDown, row: Row) -> None:
        option, model = listed.option, self._model
        if option is None:
            return
        if option == NOTHING:
            model.clear(row)
        elif listed.many:
            model.pick(row, option)
        else:
            model.choose(row, option)
        listed.marked = self._marked(row)
        self.drop_down = listed if listed.many else None


class Completions:
    """Asks the server for completions while the person types into the current field."""

    def __init__(self, form: FormView, overlay: Overlay) -> None:
        self._form, self._overlay = form, overlay
        self.source: Complete | None = None

    @property
    def possible(self) -> bool:
        """Whether the server may have values for the current field."""
        row = self._form.row
        plain = row is not None and len(row.path) == 1 and isinstance(row.field, Text)
        return self.source is not None and plain and self._overlay.editor is self._overlay.line

    def ask(self, pause: float = 0) -> None:
        """Ask the server for values for the current field, if the server completes this field."""
        form = self._form
        form.chooser.drop_down = None
        if self.source is not None and form.row is not None and self.possible:
            work = self._ask(self.source, form.row, self._overlay.text, pause)
            form.run_worker(work, group="completions", exclusive=True)

    async def _ask(self, source: Complete, row: Row, text: str, pause: float) -> None:
        await asyncio.sleep(pause)
        (values, count), form = await source(row.field.name, text), self._form
        if form.row is not None and form.row.key == row.key and self._overlay.text == text and form.has_focus_within:
            form.chooser.drop_down = offered(values, count, text)
            if not pause and form.chooser.drop_down is None:
                form.refuse("The server offers nothing here.")
            form.show_current()

    def take(self, value: str) -> None:
        """Put a value from the list into the field."""
        form, row = self._form, self._form.row
        if row is not None:
            form.leave()
            form.model.type(row, value)
            form.reopen()


class Items:
    """Edits the item or entry that contains the cursor."""

    def __init__(self, form: FormView, overlay: Overlay) -> None:
        self._form, self._overlay = form, overlay
        self.buttons: dict[Target, Callable[[], None]] = {
            "add": self.add, "remove": self.remove, "up": partial(self.move, -1), "down": partial(self.move, 1),
        }  # fmt: skip

    def _rows(self) -> Iterator[Row]:
        """The current row and the rows around it, from the inside out."""
        model, row = self._form.model, self._form.row
        while row is not None:
            yield row
            index = model.row_at(row.path[:-1]) if row.path else None
            row = model.rows[index] if index is not None else None

    @property
    def row(self) -> Row | None:
        """The row of the item or entry that contains the cursor."""
        return next((row for row in self._rows() if row.removable), None)

    @property
    def holder(self) -> tuple[Path, List | Map] | None:
        """The list or map that the current row is, adds to, or lies in."""
        for row in self._rows():
            field = self._form.model.settle(row.path, row.given, self._form.model.get(row.path))
            if isinstance(field, (List, Map)) and (row.fold is not None or row.kind == "add"):
                return row.path, field
            if row.kind in ("item", "entry") and isinstance(row.parent, (List, Map)):
                return row.path[:-1], row.parent
        return None

    def add(self) -> None:
        """Add an item after the current item or at the end of the list, or start an entry of the map."""
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
        after_row = row.kind == "item" and row.path[:-1] == holder
        self._go_into(form.model.add(holder, field, int(row.path[-1]) + 1 if after_row else items))

    def _go_into(self, path: Path) -> None:
        """Go to the first row of a new part, and select its text, so that typing replaces it."""
        self._form.go_to(path, inside=True)
        self._overlay.line.select_all()

    def remove(self) -> None:
        """Remove the item or entry that contains the cursor."""
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
        """Move the item in its list; the cursor moves with it."""
        form, item, row = self._form, self.row, self._form.row
        if item is not None and row is not None and item.kind == "item":
            form.typed()
            form.go_to((*form.model.move(item.path, by), *row.path[len(item.path) :]))

    def duplicate(self) -> None:
        """Insert a copy of the item after it."""
        form, item = self._form, self.row
        if item is not None and item.kind == "item":
            form.typed()
            form.go_to(form.model.duplicate(item.path))

    # Keys of entries

    def rename(self) -> None:
        """Let the person change the key of the current entry."""
        row = self._form.row
        if row is not None and row.kind in ("entry", "other"):
            self._overlay.name(str(row.path[-1]), "the key of the entry")
            self._form.show_current()

    def _begin_entry(self, holder: Path) -> None:
        form = self._form
        form.model.fold([holder], True)
        rows = enumerate(form.model.rows)
        at = next((at for at, row in rows if row.kind == "add" and row.path == holder), None)
        if at is None:
            form.refuse("No more entries are allowed.")
            return
        form.go(at)
        self._overlay.name("", "the key of the new entry")
        form.show_current()

    def press(self, key: str) -> bool:
        """Take a key while the person types an entry's key: enter and tab accept it, escape cancels."""
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
            self._go_into(form.model.enter(holder, row.field, text))
        else:
            form.go_to(form.model.rename(row.path, text))
        return True
