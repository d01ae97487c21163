"""Choosing: the list that opens below a value, of options or of what a server offers; and what keys and clicks do to
flags, choices, variants and folds. No widget: the form draws what comes of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from mcp_studio.record import record
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Choices, Const, Flag, Text, Union
from mcp_studio.tui.form.editors import Overlay
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.row_text import options
from mcp_studio.tui.form.rows import Row

if TYPE_CHECKING:
    from mcp_studio.tui.form.view import FormView

PAUSE = 0.15
"""Seconds without a key after which a server is asked for completions."""
NOTHING = -1
"""The option that means not sent."""


Target = int | Literal["value", "fold", "add", "remove", "up", "down", "menu"]
"""What a click means: an option by its number; the value as a whole; what folds; a button of the row."""
Outcome = Literal["", "moved", "edited"]
"""Nothing to do with it; something else is shown; the value is another one."""
_STEPS = {"space": 1, "enter": 1, "right": 1, "left": -1}


@record(frozen=True)
class Offer:
    """One answer of a server (server/utilities/completion)."""

    values: Sequence[str] = field(default=())
    """Foreign text as it came."""
    count: str = ""
    """`20 of 120`, where these are not all."""


Complete = Callable[[str, str], Awaitable[Offer]]
"""Given a field's name and what is typed, what the server offers for it; it never raises."""


class DropDown:
    """An open list of labels, with a cursor.

    Args:
        labels: what can be chosen, as the server names it.
        marked: the numbers of what is chosen now, `NOTHING` among them; empty where nothing is chosen for good.
        many: any number can be chosen.
        optional: nothing can be chosen, too.
        note: said below the list.
    """

    HEIGHT = 8
    """Labels on screen at a time."""

    def __init__(
        self, labels: Sequence[str], marked: Set[int] = frozenset(), many: bool = False, optional: bool = False,
        note: str = "",
    ) -> None:  # fmt: skip
        self.labels = labels
        self.marked = marked
        self.many = many
        self.note = note
        self.words = ""
        """What was typed to narrow the list."""
        self._all = [*([NOTHING] if optional else []), *range(len(labels))]
        self.options = self._all
        """The numbers of the labels that are listed."""
        self._lowest = 0 if marked else -1
        """While the cursor is at -1, it is still in the text above the list."""
        self.at = next((index for index, option in enumerate(self._all) if option in marked), self._lowest)
        self._top = 0

    def label(self, option: int) -> str:
        """How an option is named."""
        return "not sent" if option == NOTHING else self.labels[option]

    @property
    def option(self) -> int | None:
        """The option under the cursor; None when there is none."""
        return self.options[self.at] if 0 <= self.at < len(self.options) else None

    def move(self, key: str) -> bool:
        """Move the cursor by a key, not beyond the ends; False when the key is for no list."""
        by = {"up": -1, "down": 1, "pageup": 1 - self.HEIGHT, "pagedown": self.HEIGHT - 1}.get(key, 0)
        if not by or (self.at < 0 and key != "down"):
            return False
        self.at = max(self._lowest, min(self.at + by, len(self.options) - 1))
        return True

    def narrow(self, words: str) -> None:
        """List only the options with these words in their names."""
        self.words, wanted = words, words.casefold()
        fitting = [option for option in self._all if option >= 0 and wanted in self.label(option).casefold()]
        self.options = fitting if words else self._all
        self.at = self._top = 0

    def window(self) -> range:
        """The part of the list that is on screen; it follows the cursor."""
        self._top = max(self.at - self.HEIGHT + 1, min(self._top, self.at), 0)
        return range(self._top, min(self._top + self.HEIGHT, len(self.options)))


def offered(offer: Offer, text: str) -> DropDown | None:
    """The list of what a server offers for a text; None where it offers nothing else that can be shown as it is."""
    usable = [value for value in offer.values if safe(value) == value]
    left_out = len(offer.values) - len(usable)
    labels = [value for value in usable if value != text]
    if not labels:
        return None
    parts = [offer.count, f"{left_out} unsafe left out" if left_out else "", "↓ and enter take one"]
    return DropDown(labels, note=" · ".join(filter(None, parts)))


class Chooser:
    """Acts on one row at a time; `drop_down` is its open list, of options or of what a server offers."""

    def __init__(self, model: FormModel) -> None:
        self._model = model
        self.drop_down: DropDown | None = None

    def chooses(self, row: Row) -> bool:
        """Whether the arrows mean something on a row, or in its list."""
        return self.drop_down is not None or isinstance(row.field, (Choice, Choices, Flag, Union))

    def press(self, row: Row, key: str, character: str | None, *, inline: bool) -> Outcome:
        """A key; `inline` when the options of the choice stand side by side."""
        if self.drop_down is not None:
            return self._press_list(self.drop_down, row, key, character)
        field, model = row.field, self._model
        if row.kind in ("add", "rest"):
            return ""
        if not isinstance(field, (Flag, Choice, Choices, Const, Union)):
            return self._fold(row, key)
        if key in ("backspace", "delete") and model.has(row.path) and not row.stays:
            model.clear(row)
        elif isinstance(field, Flag) and key in _STEPS:
            model.toggle(row)
        elif isinstance(field, Const) and key == "space":
            model.choose(row, 0) if model.chosen(row) < 0 else model.clear(row)
        elif isinstance(field, (Flag, Const)):
            return ""
        else:
            return self._choose(row, key, character, inline)
        return "edited"

    def _choose(self, row: Row, key: str, character: str | None, inline: bool) -> Outcome:
        """Keys on a choice or on the chooser of a union: the arrows go through what stands side by side."""
        union = isinstance(row.field, Union)
        folds = union and row.fold is not None and key in ("space", "left", "right")
        if folds and (key == "space" or not inline or row.fold is False):
            return self._fold(row, key)
        if inline and not isinstance(row.field, Choices) and key in _STEPS and not (union and key == "enter"):
            self._model.step(row, _STEPS[key])
            return "edited"
        if key in ("space", "enter") or _is_letter(character):
            self._open(row)
            if self.drop_down and key not in ("space", "enter"):
                self.drop_down.narrow(character or "")
            return "moved"
        return ""

    def _fold(self, row: Row, key: str) -> Outcome:
        if row.fold is None or key not in ("space", "enter", "left", "right"):
            return ""
        wanted = not row.fold if key in ("space", "enter") else key == "right"
        if wanted == row.fold:
            return ""
        self._model.fold([row.path], wanted)
        return "moved"

    def click(self, row: Row, target: Target, *, inline: bool) -> Outcome:
        """A click on an option, on what folds, or on the value."""
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
            self._open(row)
            self.drop_down = self.drop_down if listed is None else None
            return "moved"
        else:
            return ""
        return "edited"

    def _open(self, row: Row) -> None:
        many, optional = isinstance(row.field, Choices), not row.given.required and not row.stays
        self.drop_down = DropDown(options(row.field), self._marked(row), many, optional)

    def _marked(self, row: Row) -> set[int]:
        if not self._model.has(row.path):
            return {NOTHING}
        return self._model.picked(row) if isinstance(row.field, Choices) else {self._model.chosen(row)}

    def _press_list(self, listed: DropDown, row: Row, key: str, character: str | None) -> Outcome:
        if listed.move(key):
            return "moved"
        if key == "escape" or (key == "enter" and listed.many):
            self.drop_down = None
        elif key == "enter" or (key == "space" and not listed.words):
            return self._take(listed, row)
        elif key == "backspace":
            listed.narrow(listed.words[:-1])
        elif _is_letter(character) or key == "space":
            listed.narrow(listed.words + (character or " "))
        else:
            return ""
        return "moved"

    def _take(self, listed: DropDown, row: Row) -> Outcome:
        option, model = listed.option, self._model
        if option is None:
            return "moved"
        if option == NOTHING:
            model.clear(row)
        elif listed.many:
            model.pick(row, option)
        else:
            model.choose(row, option)
        if listed.many:
            listed.marked = self._marked(row)
        else:
            self.drop_down = None
        return "edited"


class Completions:
    """What a server offers for the text of the current field, which is asked while it is typed into."""

    def __init__(self, form: FormView, overlay: Overlay) -> None:
        self._form = form
        self._overlay = overlay
        self.source: Complete | None = None

    @property
    def possible(self) -> bool:
        """Whether the server may offer something for the current field."""
        row = self._form.row
        plain = row is not None and len(row.path) == 1 and isinstance(row.field, Text)
        return self.source is not None and plain and self._overlay.editor is self._overlay.line

    def ask(self, pause: float = 0) -> None:
        """Ask the server what it offers for the current field, where it completes that."""
        form = self._form
        form.chooser.drop_down = None
        if self.source is not None and form.row is not None and self.possible:
            work = self._ask(self.source, form.row, self._overlay.text, pause)
            form.run_worker(work, group="completions", exclusive=True)

    async def _ask(self, source: Complete, row: Row, text: str, pause: float) -> None:
        await asyncio.sleep(pause)
        offer, form = await source(row.field.name, text), self._form
        if form.row is not None and form.row.key == row.key and self._overlay.text == text and form.has_focus_within:
            form.chooser.drop_down = offered(offer, text)
            if not pause and form.chooser.drop_down is None:
                form.refuse("The server offers nothing here.")
            form.show_current()

    def take(self, value: str) -> None:
        """Take a value that is offered into the field."""
        form, row = self._form, self._form.row
        if row is not None:
            form.leave()
            form.model.type(row, value)
            form.tell()
            form.reopen()


def _is_letter(character: str | None) -> bool:
    return character is not None and character.isprintable() and character != " "
