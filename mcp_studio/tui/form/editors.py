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
"""Lines of an area for JSON, at least; of any area, at most."""
_DRAWN = (Flag, Choice, Choices, Const, Union, Object, Map, List)
"""Fields into which nothing is typed."""


def take_key(widget: Widget, event: Key, press: Callable[[], bool]) -> None:
    """Stop a key that `press` takes. One that follows a key that moved the focus belongs to where that is now."""
    focused = widget.screen.focused
    if focused is not None and focused is not widget:
        focused.post_message(Key(event.key, event.character))
    elif not press():
        return
    event.stop()
    event.prevent_default()


class LineEditor(Input):
    """An input without a frame. Text of several lines is not cut: the form opens a larger editor for it."""

    def __init__(self, leaves: Callable[[str], bool], pasted: Callable[[str], None]) -> None:
        """`leaves` takes a key that leaves the field, before the keys typed after it reach the editor.

        `pasted` takes what the editor would hold after several lines were pasted.
        """
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._leaves = leaves
        self._pasted = pasted

    def on_key(self, event: Key) -> None:
        take_key(self, event, lambda: self._leaves(event.key))

    def on_paste(self, event: Paste) -> None:
        """Input itself would keep the first line alone."""
        text = event.text.strip("\n")
        if "\n" in text:
            event.prevent_default()
            event.stop()
            start, end = sorted(self.selection)
            self._pasted(self.value[:start] + text + self.value[end:])


class AreaEditor(TextArea):
    """A text area without a frame, which takes no more than can be edited; Tab goes on to the next field."""

    @dataclass
    class TooLong(Message):
        """So much was pasted that it is not taken."""

        text: str

    def __init__(
        self, text: str = "", *, numbers: bool = False, leaves: Callable[[str], bool] = lambda _: False
    ) -> None:
        """`leaves` takes Tab, before the keys typed after it reach the editor."""
        super().__init__(text, compact=True, show_line_numbers=numbers, highlight_cursor_line=False)
        self.cursor_blink = False
        self._leaves = leaves

    def on_key(self, event: Key) -> None:
        take_key(self, event, lambda: event.key in ("tab", "shift+tab") and self._leaves(event.key))

    def on_paste(self, event: Paste) -> None:
        """A text area that has megabytes holds everything up."""
        if len(event.text) + len(self.text) > 2 * LARGEST or len(event.text) > LARGEST:
            event.stop()
            event.prevent_default()
            self.post_message(self.TooLong(event.text))


class Overlay:
    """Owns both editors and says which of them the current row has.

    Args:
        leaves: takes a key that leaves the editor; says whether it did.
        pasted: takes text of several lines that was pasted into the line.
    """

    def __init__(self, leaves: Callable[[str], bool], pasted: Callable[[str], None]) -> None:
        self.line, self.area = LineEditor(leaves, pasted), AreaEditor(leaves=leaves)
        self.editor: LineEditor | AreaEditor | None = None
        """The editor in use."""
        self.naming: str | None = None
        """The key that is being changed, while the line lies over that and not over a value; empty for a new one."""
        self.revealed: Path | None = None
        """The place whose secret is shown in clear, while the cursor is there."""
        self._lowest = 1
        for editor in (self.line, self.area):
            editor.styles.position, editor.styles.layer = "absolute", "editor"
            editor.display = False

    @property
    def height(self) -> int:
        """Lines that the editor takes; 0 when there is none."""
        if self.editor is self.area:
            return max(self._lowest, min(self.area.wrapped_document.height, _HIGHEST))
        return int(self.editor is not None)

    @property
    def text(self) -> str:
        """What the editor holds."""
        return self.area.text if self.editor is self.area else self.line.value

    def open(self, model: FormModel, row: Row | None) -> None:
        """Take what the row holds into the editor that suits it."""
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
        elif not tall:  # several lines cannot be typed into unseen
            self._open_line(text, placeholder(model, row), secret=hidden)

    def _masks(self, field: Field, text: str) -> bool:
        return self.revealed is None and masked(field, text)

    def watch(self, model: FormModel, row: Row) -> None:
        """Something was typed into the field of the row: a reference to a secret need not be hidden."""
        if self.editor is self.line:
            self.line.placeholder = placeholder(model, row)
            self.line.password = self._masks(row.field, self.line.value)

    def name(self, key: str, words: str) -> None:
        """Change a key: the line lies over it. `words` stand in the line while it is empty."""
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
        """Edit on several lines: JSON is laid out, `text` is what was pasted."""
        if model.is_closed(row) or len(text) > LARGEST:
            return
        if not text:
            text = model.text(row)
            if isinstance(row.field, AS_JSON) and row.path not in model.pending and model.has(row.path):
                text = printable(model.get(row.path))
        self._open_area(text, _LOWEST)

    def close(self) -> None:
        """No editor is in use."""
        self.editor = self.naming = None

    def _open_area(self, text: str, lowest: int) -> None:
        self.editor, self._lowest = self.area, lowest
        area = self.area
        if text != area.text:
            with area.prevent(area.Changed):
                area.load_text(text)
            area.cursor_location = area.document.end

    def place(self, x: int, y: int, width: int) -> None:
        """Put the editor in use where the row's field is; the other is not on screen."""
        for editor in (self.line, self.area):
            editor.display = editor is self.editor
        if self.editor is not None:
            styles = self.editor.styles
            styles.offset, styles.width, styles.height = (x, y), width, self.height
