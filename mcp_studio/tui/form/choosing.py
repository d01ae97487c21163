"""What keys and clicks do to flags and choices. No widget: the form draws what comes of it."""

from __future__ import annotations

from typing import Literal

from mcp_studio.schema.field import Choice, Choices, Field, Flag
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.picker import NOTHING, Picker

Outcome = Literal["", "moved", "edited"]
"""Nothing to do with it; something else is shown; the value is another one."""
_MOVES = {"up": -1, "down": 1, "pageup": -7, "pagedown": 7}
_STEPS = {"space": 1, "enter": 1, "right": 1, "left": -1}


class Chooser:
    """Acts on one field at a time; `picker` is its open list of options."""

    def __init__(self, model: FormModel) -> None:
        self._model = model
        self.picker: Picker | None = None

    def press(self, field: Field, key: str, character: str | None, *, inline: bool) -> Outcome:
        """A key; `inline` when the options of the choice stand side by side."""
        if self.picker is not None:
            return self._pick(self.picker, key, character)
        if not isinstance(field, (Flag, Choice, Choices)):
            return ""
        if key in ("backspace", "delete") and self._model.has(field):
            self._model.clear(field)
            return "edited"
        if isinstance(field, Flag) and key in _STEPS:
            self._model.toggle(field)
            return "edited"
        if isinstance(field, Choice) and inline:
            if key in _STEPS:
                self._model.step(field, _STEPS[key])
            return "edited" if key in _STEPS else ""
        if not isinstance(field, Flag) and (key in ("space", "enter") or _letter(character)):
            self.open(field)
            if self.picker and key not in ("space", "enter"):
                self.picker.narrow(character or "")
            return "moved"
        return ""

    def click(self, field: Field, option: int | None, *, inline: bool) -> Outcome:
        """A click on an option, or (-1) on the value."""
        if option is None:
            return ""
        if isinstance(field, Flag):
            self._model.toggle(field)
            return "edited"
        if isinstance(field, Choice) and inline and option >= 0:
            self._model.put(field, field.options[option].value)
            return "edited"
        if self.picker is not None and option >= 0:
            self.picker.at = option
            return self._pick(self.picker, "space" if self.picker.many else "enter", None)
        if isinstance(field, (Choice, Choices)):
            if self.picker is None:
                self.open(field)
            else:
                self.picker = None
            return "moved"
        return ""

    def open(self, field: Choice | Choices) -> None:
        """Open the list of options."""
        if isinstance(field, Choices):
            marked = self._model.picked(field)
        else:
            marked = {self._model.chosen(field)}
        self.picker = Picker(field, marked if self._model.has(field) else {NOTHING})

    def _pick(self, picker: Picker, key: str, character: str | None) -> Outcome:
        if key in _MOVES:
            picker.move(_MOVES[key])
        elif key == "escape" or (key == "enter" and picker.many):
            self.picker = None
        elif key == "enter" or (key == "space" and not picker.words):
            return self._take(picker)
        elif key == "backspace":
            picker.narrow(picker.words[:-1])
        elif _letter(character) or key == "space":
            picker.narrow(picker.words + (character or " "))
        else:
            return ""
        return "moved"

    def _take(self, picker: Picker) -> Outcome:
        field, option = picker.field, picker.option
        if option is None:
            return "moved"
        if option == NOTHING:
            self._model.clear(field)
        elif isinstance(field, Choices):
            self._model.pick(field, option)
        else:
            self._model.put(field, field.options[option].value)
        if isinstance(field, Choices):
            picker.marked = self._model.picked(field) if self._model.has(field) else {NOTHING}
        else:
            self.picker = None
        return "edited"


def _letter(character: str | None) -> bool:
    return character is not None and character.isprintable() and character != " "
