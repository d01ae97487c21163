"""The one-line editor that lies over the value of the current field."""

from __future__ import annotations

from collections.abc import Callable

from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import Input


class LineEditor(Input):
    """An input without a frame. Text of several lines is not cut: the form opens a larger editor for it."""

    DEFAULT_CSS = """
    LineEditor {
        position: absolute;
        layer: editor;
        background: $surface;
        &:focus { background-tint: $foreground 8%; }
    }
    """

    class Lines(Message):
        """Text of several lines was pasted; `text` is all that the editor would hold."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, walks: Callable[[Key], bool]) -> None:
        """`walks` takes a key that leaves the field, before the keys typed after it reach the editor."""
        super().__init__(compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._walks = walks

    def on_key(self, event: Key) -> None:
        """Keep fast typing in order: what follows a key that leaves the field belongs to the next one."""
        focused = self.screen.focused
        if focused is not self and focused is not None:
            event.stop()
            event.prevent_default()
            focused.post_message(Key(event.key, event.character))
        elif self._walks(event):
            event.stop()
            event.prevent_default()

    def _on_paste(self, event: Paste) -> None:
        text = event.text.strip("\n")
        if "\n" in text:
            # Input keeps the first line alone.
            event.prevent_default()
            event.stop()
            start, end = sorted(self.selection)
            self.post_message(self.Lines(self.value[:start] + text + self.value[end:]))
