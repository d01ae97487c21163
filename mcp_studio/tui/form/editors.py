"""The editors that lie over the value of the current field: one line, or several for JSON and long text."""

from __future__ import annotations

from collections.abc import Callable

from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import Input, TextArea

from mcp_studio.tui.form.model import LARGEST


class LineEditor(Input):
    """An input without a frame. Text of several lines is not cut: the form opens a larger editor for it."""

    DEFAULT_CSS = """
    LineEditor, LineEditor:focus { padding: 0 1; background: $foreground 15%; background-tint: transparent; }
    """

    class LinesPasted(Message):
        """Text of several lines was pasted; `text` is all that the editor would hold."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, leaves: Callable[[str], bool]) -> None:
        """`leaves` takes a key that leaves the field, before the keys typed after it reach the editor."""
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._leaves = leaves

    def on_key(self, event: Key) -> None:
        """Keep fast typing in order: what follows a key that leaves the field belongs to the next one."""
        focused = self.screen.focused
        if focused is not self and focused is not None:
            event.stop()
            event.prevent_default()
            focused.post_message(Key(event.key, event.character))
        elif self._leaves(event.key):
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

    class TooLong(Message):
        """So much was pasted that it is not taken."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, text: str = "", *, numbers: bool = False) -> None:
        super().__init__(text, compact=True, show_line_numbers=numbers, highlight_cursor_line=False)
        self.cursor_blink = False

    def on_paste(self, event: Paste) -> None:
        """A text area that has megabytes holds everything up."""
        if len(event.text) + len(self.text) > 2 * LARGEST or len(event.text) > LARGEST:
            event.stop()
            event.prevent_default()
            self.post_message(self.TooLong(event.text))
