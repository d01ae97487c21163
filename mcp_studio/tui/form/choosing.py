"""What keys and clicks do to flags, choices, variants and folds. No widget: the form draws what comes of it."""

from __future__ import annotations

from typing import Literal

from mcp_studio.schema.field import Choice, Choices, Const, Flag, Union
from mcp_studio.tui.form import words
from mcp_studio.tui.form.drawn import Target
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.outline import Row
from mcp_studio.tui.form.picker import NOTHING, Picker

Outcome = Literal["", "moved", "edited"]
"""Nothing to do with it; something else is shown; the value is another one."""
_MOVES = {"up": -1, "down": 1, "pageup": -7, "pagedown": 7}
_STEPS = {"space": 1, "enter": 1, "right": 1, "left": -1}


class Chooser:
    """Acts on one row at a time; `picker` is its open list of options."""

    def __init__(self, model: FormModel) -> None:
        self._model = model
        self.picker: Picker | None = None
        self._row: Row | None = None

    def press(self, row: Row, key: str, character: str | None, *, inline: bool) -> Outcome:
        """A key; `inline` when the options of the choice stand side by side."""
        if self.picker is not None:
            return self._pick(self.picker, row, key, character)
        if row.kind in ("add", "rest"):
            return ""
        if isinstance(row.field, (Flag, Choice, Choices, Const)):
            return self._choose(row, key, character, inline)
        if isinstance(row.field, Union):
            return self._vary(row, key, character, inline)
        return self._fold(row, key)

    def _choose(self, row: Row, key: str, character: str | None, inline: bool) -> Outcome:
        field, model = row.field, self._model
        if key in ("backspace", "delete") and model.has(row.path) and not row.stays:
            model.drop(row.path)
            return "edited"
        if isinstance(field, Flag) and key in _STEPS:
            model.toggle(row)
            return "edited"
        if isinstance(field, Const):
            if key == "space":
                model.choose(row, 0) if model.chosen(row) < 0 else model.clear(row)
            return "edited" if key == "space" else ""
        if isinstance(field, Choice) and inline:
            if key in _STEPS:
                model.step(row, _STEPS[key])
            return "edited" if key in _STEPS else ""
        if not isinstance(field, Flag) and (key in ("space", "enter") or _letter(character)):
            return self._open_with(row, key, character)
        return ""

    def _vary(self, row: Row, key: str, character: str | None, inline: bool) -> Outcome:
        """Keys on the chooser of a union: the arrows go through what stands side by side, space folds."""
        if key in ("backspace", "delete") and self._model.has(row.path) and not row.stays:
            self._model.drop(row.path)
            return "edited"
        if inline and row.fold is not False and key in ("left", "right"):
            self._model.step(row, _STEPS[key])
            return "edited"
        if row.fold is not None and key in ("space", "left", "right"):
            return self._fold(row, key)
        if inline and key == "space":
            self._model.step(row, 1)
            return "edited"
        if key in ("space", "enter") or _letter(character):
            return self._open_with(row, key, character)
        return ""

    def _fold(self, row: Row, key: str) -> Outcome:
        if row.fold is None or key not in ("space", "enter", "left", "right"):
            return ""
        wanted = not row.fold if key in ("space", "enter") else key == "right"
        if wanted == row.fold:
            return ""
        self._model.fold(row.path, wanted)
        return "moved"

    def click(self, row: Row, target: Target | None, *, inline: bool) -> Outcome:
        """A click on an option, on what folds, or on the value."""
        if target == "fold":
            return self._fold(row, "space")
        if target is None or target in ("remove", "add"):
            return ""
        field = row.field
        if isinstance(field, Flag):
            self._model.toggle(row)
            return "edited"
        if self.picker is not None and isinstance(target, int):
            self.picker.at = target
            return self._pick(self.picker, row, "space" if self.picker.many else "enter", None)
        if isinstance(field, (Choice, Union)) and inline and isinstance(target, int):
            self._model.choose(row, target)
            return "edited"
        if isinstance(field, (Choice, Choices, Union)):
            if self.picker is None:
                self.open(row)
            else:
                self.picker = None
            return "moved"
        return ""

    def open(self, row: Row) -> None:
        """Open the list of options."""
        many = isinstance(row.field, Choices)
        marked = self._model.picked(row) if many else {self._model.chosen(row)}
        optional = not row.given.required and not row.stays
        labels = words.options(row.field)
        marked = marked if self._model.has(row.path) else {NOTHING}
        self.picker = Picker(labels, marked, many=many, optional=optional)

    def _open_with(self, row: Row, key: str, character: str | None) -> Outcome:
        self.open(row)
        if self.picker and key not in ("space", "enter"):
            self.picker.narrow(character or "")
        return "moved"

    def _pick(self, picker: Picker, row: Row, key: str, character: str | None) -> Outcome:
        if key in _MOVES:
            picker.move(_MOVES[key])
        elif key == "escape" or (key == "enter" and picker.many):
            self.picker = None
        elif key == "enter" or (key == "space" and not picker.words):
            return self._take(picker, row)
        elif key == "backspace":
            picker.narrow(picker.words[:-1])
        elif _letter(character) or key == "space":
            picker.narrow(picker.words + (character or " "))
        else:
            return ""
        return "moved"

    def _take(self, picker: Picker, row: Row) -> Outcome:
        option, model = picker.option, self._model
        if option is None:
            return "moved"
        if option == NOTHING:
            model.drop(row.path)
        elif picker.many:
            model.pick(row, option)
        else:
            model.choose(row, option)
        if picker.many:
            picker.marked = model.picked(row) if model.has(row.path) else {NOTHING}
        else:
            self.picker = None
        return "edited"


def _letter(character: str | None) -> bool:
    return character is not None and character.isprintable() and character != " "
