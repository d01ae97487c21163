"""The fields of a form on screen: drawing, walking, keys, clicks and typing. `form_view` is its public face."""

from __future__ import annotations

from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from mcp_studio.schema.field import Choice, Field, JsonField, Text
from mcp_studio.tui.form.choosing import Chooser, Outcome
from mcp_studio.tui.form.editors import Complete, LineEditor
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.overlay import Overlay
from mcp_studio.tui.form.painter import Drawn, Painter, inline
from mcp_studio.tui.form.rows import FormRows

_LEAVING = frozenset(("tab", "shift+tab", "up", "down", "enter"))
"""Keys in a line that may end typing into its field."""


class Fields(Widget):
    """One widget draws all rows, and one editor lies over the value of the current one.

    So three hundred fields cost no more than three. Exactly one of both can have the focus at a time: the editor
    while the current field is text, a number or JSON, else the rows.
    """

    DEFAULT_CSS = """
    Fields { layers: rows editor; width: 1fr; height: 1fr; }
    """

    def __init__(
        self, model: FormModel, complete: Complete | None, empty: str, *, id: str | None, classes: str | None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.complete = complete
        self._model = model
        self._chooser = Chooser(model)
        self._painter = Painter(model, 80)
        self._drawn: list[Drawn] = []
        self._at = 0
        self._rows = FormRows(self._fit)
        self._rows.empty = empty
        self._overlay = Overlay(self, self._left)

    def compose(self) -> ComposeResult:
        """The drawn rows, and the editor over them."""
        yield self._rows
        yield self._overlay.line

    def on_mount(self) -> None:
        """Draw what was given."""
        self.draw_all()

    @property
    def current(self) -> Field | None:
        """The field that the keys go to."""
        return self._model.form.fields[self._at] if self._at < len(self._drawn) else None

    def take(self, model: FormModel) -> None:
        """Show another form or another value."""
        self._model = model
        self._chooser = Chooser(model)
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

    # Drawing

    def draw_all(self, width: int = 0) -> None:
        """Draw every field anew."""
        self._painter = Painter(self._model, width or self._rows.row_width or 80)
        fields = self._model.form.fields if self._model.drawable else ()
        self._at = min(self._at, max(0, len(fields) - 1))
        self._drawn = [self._draw(index) for index in range(len(fields))]
        self._show_lines()

    def _draw_current(self) -> None:
        if self._drawn:
            self._drawn[self._at] = self._draw(self._at)
        self._show_lines()

    def _draw(self, index: int) -> Drawn:
        current = index == self._at
        return self._painter.draw(
            self._model.form.fields[index],
            current=current and self.has_focus_within,
            picker=self._chooser.picker if current else None,
            editor=self._overlay.height if current else 0,
        )

    def _show_lines(self) -> None:
        if self.is_attached:
            self._rows.show([*self._painter.notices()], self._drawn, [*self._painter.remarks()])
            height = self.styles.height
            if height is not None and height.is_auto:
                # A child of relative height would make us as high as there is room.
                self._rows.styles.height = max(1, self._rows.row_count)
            self._place()

    def _place(self) -> None:
        line = self._rows.start(self._at) - self._rows.top if self._drawn else 0
        self._overlay.place(self._painter.label_width, line, self._painter.room)

    def _fit(self) -> None:
        """The rows were scrolled, or have another width."""
        if self.is_attached:
            if self._rows.row_width != self._painter.width:
                self.draw_all()
            self._place()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """All lines, where the form is as high as its content."""
        if width - 1 != self._painter.width:
            self.draw_all(width - 1)
        return max(1, self._rows.row_count)

    # Walking

    def on_descendant_focus(self) -> None:
        """The form got the focus: the current field shows it, and gets the keys."""
        if self._overlay.editor is None or not self._overlay.editor.has_focus:
            self._open()
            self._hand_over()
        self._draw_current()

    def on_descendant_blur(self) -> None:
        """The form may have lost the focus."""
        self.call_later(self._draw_current)

    def go(self, index: int) -> None:
        """Make a field the current one, and take the focus."""
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
        elif key == "enter" and isinstance(field, JsonField):
            self._overlay.grow(self._model, field)
            self._moved()
        elif key == "enter":
            self._walk(1)
        else:
            return False
        return True

    def _left(self, event: events.Key) -> bool:
        """A key in the line that leaves it: the text so far is taken over first, its own message is still under way."""
        if event.key not in _LEAVING:
            return False
        self._typed(self._overlay.text)
        return self._pressed(event)

    def on_form_rows_clicked(self, event: FormRows.Clicked) -> None:
        """Go to the field; a click on an option takes it."""
        event.stop()
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
        if isinstance(field, (Text, JsonField)):
            self._overlay.grow(self._model, field, event.text)
            self._moved()
            self._typed(event.text)

    def _typed(self, text: str) -> None:
        field = self.current
        if field is not None and text != self._model.text(field):
            self._model.type(field, text)
            self._changed()

    def _changed(self) -> None:
        self._draw_current()
        self.edited()
