"""Keys, clicks and typing in a form. What acts on whole rows is in `acting`."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.widgets import Input

from mcp_studio.schema.field import AS_JSON, Text
from mcp_studio.schema.place import pointer
from mcp_studio.schema.unions import label as label_of
from mcp_studio.tui.form.choosing import Outcome
from mcp_studio.tui.form.editors import LineEditor
from mcp_studio.tui.form.offer import Offer
from mcp_studio.tui.form.offers import PAUSE
from mcp_studio.tui.form.rows import FormRows
from mcp_studio.tui.form.walking import Walking

_LEAVING = frozenset(("tab", "shift+tab", "up", "down", "enter"))
"""Keys in a line that may end typing into its field."""


class Fields(Walking):
    """Rows that can be typed into."""

    def on_key(self, event: events.Key) -> None:
        """Keys that editors leave to the form."""
        if self._pressed(event):
            event.stop()
            event.prevent_default()

    def _pressed(self, event: events.Key) -> bool:
        key, row = event.key, self.row
        if self._overlay.naming is not None:
            return self._named(key)
        if key in ("tab", "shift+tab"):
            if not self._walk(1 if key == "tab" else -1):
                (self.screen.focus_next if key == "tab" else self.screen.focus_previous)()
            return True
        if row is None:
            return False
        if self._overlay.tall:
            return key == "escape" and self._shrunk()
        if self._overlay.editor is None and (self._on_row(key, event.character) or self._chose(event)):
            return True
        if key in ("up", "down"):
            self._walk(-1 if key == "up" else 1)
        elif key in ("pageup", "pagedown"):
            self._page(-1 if key == "pageup" else 1)
        elif key == "enter" and self._overlay.editor is not None and isinstance(row.field, AS_JSON):
            self._overlay.grow(self._model, row)
            self._moved()
        elif key == "enter":
            self._walk(1)
        elif self._overlay.editor is None and event.character and event.character.isalnum():
            # Left to others, words meant for a field would open panes and dialogs.
            self.refuse("Nothing is typed here: enter or space opens, tab goes on.")
        else:
            return False
        return True

    def _chose(self, event: events.Key) -> bool:
        row = self.row
        return row is not None and self._did(
            self._chooser.press(row, event.key, event.character, inline=self._painter.inline(row))
        )

    def _page(self, by: int) -> None:
        """A screenful of rows up or down."""
        heights, page = self._heights.starts, max(1, self._rows.size.height - 2)
        wanted = heights[self._at] + by * page
        found = self._heights.row_at(max(heights[0], min(wanted, heights[-1] - 1)))
        if found is not None and self._model.rows:
            self.go(found if found != self._at else self._at + by)

    def _on_row(self, key: str, character: str | None = None) -> bool:
        """A key on a row that has no editor; whether it did something."""
        return False

    def _named(self, key: str) -> bool:
        """A key while the key of an entry is typed."""
        return False

    def _left(self, event: events.Key) -> bool:
        """A key in the line that leaves it: the text so far is taken over first, its own message is still under way."""
        if self._overlay.naming is None and (did := self._offers.press(event.key)):
            if did == "taken":
                self._take(self._offers.value)
            self._moved()
            if event.key != "tab":
                return True
        if event.key not in _LEAVING and not (event.key == "escape" and self._overlay.naming is not None):
            if event.key in ("pageup", "pagedown") and not self._overlay.tall:
                self._typed(self._overlay.text)
                return self._pressed(event)
            return False
        self._typed(self._overlay.text)
        return self._pressed(event)

    def on_form_rows_clicked(self, event: FormRows.Clicked) -> None:
        """Go to the row; a click on an option takes it."""
        event.stop()
        target = event.target
        if event.row == self._at and self._offers.open and isinstance(target, int):
            self._take(self._offers.values[target])
            self._moved()
            return
        fresh = event.row != self._at or not self.has_focus_within
        if fresh:
            self.go(event.row)
        row = self.row
        if row is None:
            return
        if target == "add" or target == "remove":
            self._on_row("enter" if target == "add" else "delete-clicked")
        elif self._overlay.editor is None:
            self._did(self._chooser.click(row, target, inline=self._painter.inline(row)))

    def _did(self, outcome: Outcome) -> bool:
        if outcome == "edited":
            self._changed()
        if outcome:
            self._find()
            self._moved()
            self.row_changed()
        return bool(outcome)

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
        row = self.row
        if row is not None and isinstance(row.field, (Text, *AS_JSON)) and self._overlay.naming is None:
            self._overlay.grow(self._model, row, event.text)
            self._moved()
            self._typed(event.text)

    def _typed(self, text: str) -> None:
        row = self.row
        if row is None or self._overlay.naming is not None or self._overlay.editor is None:
            return
        if text != self._model.text(row):
            self._model.type(row, text)
            self._overlay.watch(row)
            self._offer(text)
            self._changed()

    def _offer(self, text: str, pause: float = PAUSE) -> None:
        """Have the server asked what it offers, where the field is one that it completes."""
        row = self.row
        if self.complete is None or row is None or not self._at_top():
            return
        if isinstance(row.field, Text) and self._overlay.editor is self._overlay.line:
            self._offers.want(row.field.name, text, self.complete, pause=pause)

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
        else:
            self.refuse("Neither the schema nor the server offers values here.")

    def _offered(self) -> None:
        """There is another list of offers."""
        if self.is_attached and self.row is not None and self.has_focus_within:
            self._moved()

    def _take(self, value: str) -> None:
        """Take a value that is offered into the field."""
        if self.row is not None:
            self._offers.took(self.row.field.name, value)
            self._overlay.line.value = value
            self._overlay.line.cursor_position = len(value)
            self._typed(value)

    def _changed(self) -> None:
        self._redraw()
        self.edited()
