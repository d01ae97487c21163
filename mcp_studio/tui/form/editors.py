"""The editors that lie over the field of the current row: one line, or several for JSON and long text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.events import Key, Paste
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, TextArea

from mcp_studio.jsontext import printable
from mcp_studio.schema.field import AS_JSON, Choice, Choices, Const, Field, Flag, List, Map, Object, Text, Union
from mcp_studio.schema.place import Path
from mcp_studio.tui.form.model import LARGEST, FormModel
from mcp_studio.tui.form.row_text import masked, placeholder
from mcp_studio.tui.form.rows import Row

_LOWEST, _HIGHEST = 3, 10
"""The least number of lines of an area for JSON, and the most of any area."""
_DRAWN = (Flag, Choice, Choices, Const, Union, Object, Map, List)
"""Fields that take no typed text."""


def take_key(widget: Widget, event: Key, press: Callable[[], bool]) -> None:
    """Stop a key that `press` takes. If an earlier key moved the focus, the key goes to the widget that has it now."""
    focused = widget.screen.focused
    if focused is not None and focused is not widget:
        focused.post_message(Key(event.key, event.character))
    elif not press():
        return
    event.stop()
    event.prevent_default()


class LineEditor(Input):
    """An input without a frame. Pasted text of several lines is not cut: the form opens a larger editor for it."""

    def __init__(self, leaves: Callable[[str], bool], pasted: Callable[[str], None]) -> None:
        """`leaves` takes a key that leaves the field, before the editor gets the keys typed after it.

        `pasted` takes the whole text of the editor after the person pasted several lines.
        """
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._leaves, self._pasted = leaves, pasted

    def on_key(self, event: Key) -> None:
        take_key(self, event, lambda: self._leaves(event.key))

    def on_paste(self, event: Paste) -> None:
        """Hand over pasted lines: Input itself would keep only the first line."""
        text = event.text.strip("\n")
        if "\n" in text:
            event.prevent_default()
            event.stop()
            start, end = sorted(self.selection)
            self._pasted(self.value[:start] + text + self.value[end:])


class AreaEditor(TextArea):
    """A text area without a frame, with a bound on its text; Tab goes to the next field."""

    @dataclass
    class TooLong(Message):
        """The person pasted more text than the area takes."""

        text: str

    def __init__(
        self, text: str = "", *, numbers: bool = False, leaves: Callable[[str], bool] = lambda _: False
    ) -> None:
        """`leaves` takes Tab and escape, before the editor gets the keys typed after it."""
        super().__init__(text, compact=True, show_line_numbers=numbers, highlight_cursor_line=False)
        self.cursor_blink = False
        self._leaves = leaves

    def on_key(self, event: Key) -> None:
        take_key(self, event, lambda: event.key in ("tab", "shift+tab", "escape") and self._leaves(event.key))

    def on_paste(self, event: Paste) -> None:
        """Refuse megabytes, because a text area with so much text blocks the app."""
        if len(event.text) + len(self.text) > 2 * LARGEST or len(event.text) > LARGEST:
            event.stop()
            event.prevent_default()
            self.post_message(self.TooLong(event.text))


class Overlay:
    """Owns both editors, which are mounted with their first use, and decides which of them the current row uses.

    Args:
        leaves: takes a key that leaves the editor; returns whether it took the key.
        pasted: takes text of several lines that was pasted into the line.
    """

    def __init__(self, leaves: Callable[[str], bool], pasted: Callable[[str], None]) -> None:
        self.line, self.area = LineEditor(leaves, pasted), AreaEditor(leaves=leaves)
        self.editor: LineEditor | AreaEditor | None = None
        """The editor in use."""
        self.naming: str | None = None
        """The key that the line edits instead of a value; empty for a new key, None while the line edits a value."""
        self.revealed: Path | None = None
        """The place whose secret is shown in clear while the cursor is there."""
        self._lowest = 1
        for editor in (self.line, self.area):
            editor.styles.position, editor.styles.layer = "absolute", "editor"
            editor.display = False

    @property
    def height(self) -> int:
        """Lines that the editor takes; 0 if none is open."""
        if self.editor is self.area:
            return max(self._lowest, min(self.area.wrapped_document.height, _HIGHEST))
        return int(self.editor is not None)

    @property
    def text(self) -> str:
        """The text of the open editor."""
        return self.area.text if self.editor is self.area else self.line.value

    def open(self, model: FormModel, row: Row | None) -> None:
        """Open the editor that suits a row, with the row's text."""
        self.editor = self.naming = None
        self.revealed = self.revealed if row is not None and row.path == self.revealed else None
        if row is None or row.kind in ("add", "rest") or row.fold is not None or isinstance(row.field, _DRAWN):
            return
        if model.is_closed(row):
            return
        text, field = model.text(row), row.field
        hidden, tall = self._masks(field, text), "\n" in text
        if not hidden and (tall or (isinstance(field, Text) and field.multiline)):
            self._open_area(text, _LOWEST if isinstance(field, AS_JSON) else 1)
        elif not tall:  # a line cannot show several lines as dots
            self._open_line(text, placeholder(model, row), secret=hidden)

    def _masks(self, field: Field, text: str) -> bool:
        return self.revealed is None and masked(field, text)

    def watch(self, model: FormModel, row: Row) -> None:
        """Follow typed text: a reference to a secret need not be hidden."""
        if self.editor is self.line:
            self.line.placeholder = placeholder(model, row)
            self.line.password = self._masks(row.field, self.line.value)

    def name(self, key: str, words: str) -> None:
        """Edit a key in the line; `words` is the placeholder."""
        self._open_line(key, words)
        self.naming = key

    def _open_line(self, text: str, words: str, *, secret: bool = False) -> None:
        self.editor = self.line
        if text != self.line.value:
            with self.line.prevent(Input.Changed):
                self.line.value = text
            self.line.cursor_position = len(text)
        self.line.password = secret
        self.line.placeholder = words

    def grow(self, model: FormModel, row: Row, text: str = "") -> None:
        """Edit in the area, on several lines: JSON is laid out; `text` replaces it after a paste."""
        if model.is_closed(row) or len(text) > LARGEST:
            return
        if not text:
            text = model.text(row)
            if isinstance(row.field, AS_JSON) and row.path not in model.pending and model.has(row.path):
                text = printable(model.get(row.path))
        self._open_area(text, _LOWEST)

    def close(self) -> None:
        self.editor = self.naming = None

    def _open_area(self, text: str, lowest: int) -> None:
        self.editor, self._lowest = self.area, lowest
        area = self.area
        if text != area.text:
            with area.prevent(area.Changed):
                area.load_text(text)
            area.cursor_location = area.document.end

    def place(self, x: int, y: int, width: int) -> None:
        """Put the open editor over the field of the row, and hide the other editor."""
        for editor in (self.line, self.area):
            editor.display = editor is self.editor
        if self.editor is not None:
            styles = self.editor.styles
            styles.offset, styles.width, styles.height = (x, y), width, self.height
