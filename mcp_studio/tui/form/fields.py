"""The fields of a form: walking, keys, clicks and typing. `form_view` is its public face."""

from __future__ import annotations

from typing import Self

from textual import events
from textual.message import Message
from textual.widgets import Input

from mcp_studio.schema.field import AS_JSON, Choice, Field, Text
from mcp_studio.tui.form.choosing import Chooser, Outcome
from mcp_studio.tui.form.drawing import DrawnFields
from mcp_studio.tui.form.editors import LineEditor
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.offers import PAUSE
from mcp_studio.tui.form.painter import inline
from mcp_studio.tui.form.rows import FormRows

_LEAVING = frozenset(("tab", "shift+tab", "up", "down", "enter"))
"""Keys in a line that may end typing into its field."""
_OFFER = "alt+down"
"""Asks for what the server offers, before anything is typed."""


class Fields(DrawnFields):
    """The rows and their editor, with walking, keys, clicks and typing.

    Exactly one of both can have the focus at a time: the editor while the current field is text, a number or JSON,
    else the rows.
    """

    DEFAULT_CSS = """
    Fields { layers: rows editor; width: 1fr; height: 1fr; }
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
            self._draw_current()

    def edited(self) -> None:
        """The person changed the value."""

    def focus(self, scroll_visible: bool = True) -> Self:
        """Give the focus to the current field."""
        (self._overlay.editor or self._rows).focus(scroll_visible)
        return self

    # Walking

    def on_descendant_focus(self) -> None:
        """The form got the focus: the current field shows it, and gets the keys."""
        if self._overlay.editor is None or not self._overlay.editor.has_focus:
            self._open()
            self._hand_over()
        self._draw_current()

    def on_descendant_blur(self) -> None:
        """The form may have lost the focus."""
        self.call_later(self._blurred)

    def _blurred(self) -> None:
        if not self.has_focus_within:
            self._offers.close()
        self._draw_current()

    def go(self, index: int) -> None:
        """Make a field the current one, and take the focus."""
        self._offers.close()
        before, self._at = self._at, index
        self._chooser.picker = None
        self._open()
        if before != index:
            self._drawn[before] = self._draw(before)
        if not self.has_focus_within:
            self._rows.can_focus = True
            self.screen.set_focus(self._rows, scroll_visible=False)
        self._moved()

    def _open(self) -> None:
        self._overlay.open(self._model, self.current, self.complete)

    def _hand_over(self) -> None:
        """Give the focus to the editor of the current field, else to the rows."""
        wanted = self._overlay.editor or self._rows
        self._rows.can_focus = wanted is self._rows
        wanted.display = True
        if self.has_focus_within and not wanted.has_focus:
            self.screen.set_focus(wanted, scroll_visible=False)

    def _moved(self) -> None:
        self._hand_over()
        self._draw_current()
        if self._drawn:
            self._rows.reveal(self._at)

    def _walk(self, by: int) -> bool:
        """Go to the next or previous field; False at the end."""
        if not 0 <= self._at + by < len(self._drawn):
            return False
        self.go(self._at + by)
        return True

    # Keys and clicks

    def on_key(self, event: events.Key) -> None:
        """Keys that editors leave to the form."""
        if self._pressed(event):
            event.stop()
            event.prevent_default()

    def _pressed(self, event: events.Key) -> bool:
        key, field = event.key, self.current
        if key in ("tab", "shift+tab"):
            if not self._walk(1 if key == "tab" else -1):
                (self.screen.focus_next if key == "tab" else self.screen.focus_previous)()
            return True
        if field is None:
            return False
        if self._overlay.tall:
            return key == "escape" and self._shrunk()
        if self._overlay.editor is None and self._did(
            self._chooser.press(field, key, event.character, inline=self._inline(field))
        ):
            return True
        if key in ("up", "down"):
            self._walk(-1 if key == "up" else 1)
        elif key == "ctrl+d":
            self._model.next_nothing(field)
            self._open()
            self._changed()
        elif key == "enter" and isinstance(field, AS_JSON):
            self._overlay.grow(self._model, field)
            self._moved()
        elif key == "enter":
            self._walk(1)
        else:
            return False
        return True

    def _left(self, event: events.Key) -> bool:
        """A key in the line that leaves it: the text so far is taken over first, its own message is still under way."""
        if event.key == _OFFER:
            self._offer(self._overlay.text, 0)
            return True
        if did := self._offers.press(event.key):
            if did == "taken":
                self._take(self._offers.value)
            self._moved()
            if event.key != "tab":
                return True
        if event.key not in _LEAVING:
            return False
        self._typed(self._overlay.text)
        return self._pressed(event)

    def on_form_rows_clicked(self, event: FormRows.Clicked) -> None:
        """Go to the field; a click on an option takes it."""
        event.stop()
        if event.field == self._at and self._offers.open and event.option is not None and event.option >= 0:
            self._take(self._offers.values[event.option])
            self._moved()
            return
        if event.field != self._at or not self.has_focus_within:
            self.go(event.field)
        field = self.current
        if field is not None and self._overlay.editor is None:
            self._did(self._chooser.click(field, event.option, inline=self._inline(field)))

    def _did(self, outcome: Outcome) -> bool:
        if outcome == "edited":
            self._changed()
        if outcome:
            self._moved()
        return bool(outcome)

    def _inline(self, field: Field) -> bool:
        return isinstance(field, Choice) and inline(field, self._painter.room)

    def _shrunk(self) -> bool:
        """Back from the area to the line, unless the text needs the area."""
        before = self._overlay.editor
        self._open()
        if self._overlay.editor is before:
            return False
        self._moved()
        return True

    # Typing

    def on_input_changed(self, event: Input.Changed) -> None:
        """Text was typed into the line; when it has another one by now, that is what counts."""
        event.stop()
        if event.value == event.input.value and self._overlay.editor is event.input:
            self._typed(event.value)

    def on_text_area_changed(self, event: Message) -> None:
        """Text was typed into the area."""
        event.stop()
        self._typed(self._overlay.text)

    def on_line_editor_lines(self, event: LineEditor.Lines) -> None:
        """Text of several lines was pasted into the line: it goes on in the area."""
        event.stop()
        field = self.current
        if isinstance(field, (Text, *AS_JSON)):
            self._overlay.grow(self._model, field, event.text)
            self._moved()
            self._typed(event.text)

    def _typed(self, text: str) -> None:
        field = self.current
        if field is not None and text != self._model.text(field):
            self._model.type(field, text)
            self._offer(text)
            self._changed()

    def _offer(self, text: str, pause: float = PAUSE) -> None:
        """Have the server asked what it offers, where the field is one that it completes."""
        field = self.current
        if self.complete is not None and isinstance(field, Text) and self._overlay.editor is self._overlay.line:
            self._offers.want(field.name, text, self.complete, pause=pause)

    def _offered(self) -> None:
        """There is another list of offers."""
        if self.is_attached and self._drawn and self.has_focus_within:
            self._moved()

    def _take(self, value: str) -> None:
        """Take a value that the server offers into the field."""
        if self.current is not None:
            self._offers.took(self.current.name, value)
            self._overlay.line.value = value
            self._overlay.line.cursor_position = len(value)
            self._typed(value)

    def _changed(self) -> None:
        self._draw_current()
        self.edited()
