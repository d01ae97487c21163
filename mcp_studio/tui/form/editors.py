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


def pass_on(widget: Widget, event: Key) -> bool:
    """Keep fast typing in order: a key that follows one that moved the focus belongs to where that is now."""
    focused = widget.screen.focused
    if focused is widget or focused is None:
        return False
    event.stop()
    event.prevent_default()
    focused.post_message(Key(event.key, event.character))
    return True


class LineEditor(Input):
    """An input without a frame. Text of several lines is not cut: the form opens a larger editor for it."""

    DEFAULT_CSS = """
    LineEditor, LineEditor:focus { padding: 0 1; background: $foreground 15%; background-tint: transparent; }
    """

    @dataclass
    class LinesPasted(Message):
        """Text of several lines was pasted; `text` is all that the editor would hold."""

        text: str

    def __init__(self, leaves: Callable[[str], bool]) -> None:
        """`leaves` takes a key that leaves the field, before the keys typed after it reach the editor."""
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._leaves = leaves

    def on_key(self, event: Key) -> None:
        if not pass_on(self, event) and self._leaves(event.key):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        """Input itself would keep the first line alone."""
        text = event.text.strip("\n")
        if "\n" in text:
            event.prevent_default()
            event.stop()
            start, end = sorted(self.selection)
            self.post_message(self.LinesPasted(self.value[:start] + text + self.value[end:]))


class AreaEditor(TextArea):
    """A text area without a frame, which takes no more than can be edited; Tab goes on to the next field."""

    DEFAULT_CSS = """
    AreaEditor, AreaEditor:focus { padding: 0 1; background: $foreground 15%; background-tint: transparent; }
    """

    leaves: Callable[[str], bool] | None = None
    """Takes Tab, before the keys typed after it reach the editor."""

    @dataclass
    class TooLong(Message):
        """So much was pasted that it is not taken."""

        text: str

    def __init__(self, text: str = "", *, numbers: bool = False) -> None:
        super().__init__(text, compact=True, show_line_numbers=numbers, highlight_cursor_line=False)
        self.cursor_blink = False

    def on_key(self, event: Key) -> None:
        if not pass_on(self, event) and event.key in ("tab", "shift+tab") and self.leaves and self.leaves(event.key):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        """A text area that has megabytes holds everything up."""
        if len(event.text) + len(self.text) > 2 * LARGEST or len(event.text) > LARGEST:
            event.stop()
            event.prevent_default()
            self.post_message(self.TooLong(event.text))


class Overlay:
    """Owns both editors and says which of them the current row has. The area is made when one is first needed.

    Args:
        owner: the form, on which the editors lie.
        leaves: takes a key that leaves the line; says whether it did.
    """

    def __init__(self, owner: Widget, leaves: Callable[[str], bool]) -> None:
        self._owner = owner
        self._leaves = leaves
        self.line = LineEditor(leaves)
        self._area: AreaEditor | None = None
        self.editor: LineEditor | AreaEditor | None = None
        """The editor in use."""
        self.naming: str | None = None
        """The key that is being changed, while the line lies over that and not over a value; empty for a new one."""
        self.revealed: Path | None = None
        """The place whose secret is shown in clear, while the cursor is there."""
        self._lowest = 1
        self.line.styles.position, self.line.styles.layer = "absolute", "editor"
        self.line.display = False

    @property
    def is_tall(self) -> bool:
        """Whether the area is in use."""
        return isinstance(self.editor, AreaEditor)

    @property
    def height(self) -> int:
        """Lines that the editor takes; 0 when there is none."""
        if isinstance(self.editor, AreaEditor):
            return max(self._lowest, min(self.editor.wrapped_document.height, _HIGHEST))
        return int(self.editor is not None)

    @property
    def text(self) -> str:
        """What the editor holds."""
        return self.editor.text if isinstance(self.editor, AreaEditor) else self.line.value

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

    def watch(self, row: Row) -> None:
        """Something was typed into the field of the row: a reference to a secret need not be hidden."""
        if self.editor is self.line:
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
        area, self._lowest = self._area, lowest
        if area is None:
            area = self._area = AreaEditor()
            area.leaves = self._leaves
            area.styles.position, area.styles.layer = "absolute", "editor"
            self._owner.mount(area)
        self.editor = area
        if text != area.text:
            with area.prevent(area.Changed):
                area.load_text(text)
            area.cursor_location = area.document.end

    def place(self, x: int, y: int, width: int) -> None:
        """Put the editor in use where the row's field is; the other is not on screen."""
        for editor in filter(None, (self.line, self._area)):
            editor.display = editor is self.editor
        if self.editor is not None:
            styles = self.editor.styles
            styles.offset, styles.width, styles.height = (x, y), width, self.height
