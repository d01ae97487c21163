"""The editor of several lines, for JSON and long text. Imported when one is first opened."""

from __future__ import annotations

from textual.events import Paste
from textual.message import Message
from textual.widgets import TextArea

from mcp_studio.tui.form.editing import LARGEST


class AreaEditor(TextArea):
    """A text area without a frame; Tab goes on to the next field."""

    DEFAULT_CSS = """
    AreaEditor {
        padding: 0;
        background: $surface;
        &:focus { background-tint: $foreground 8%; }
        &.-over { position: absolute; layer: editor; }
    }
    """

    def __init__(self, text: str = "", *, numbers: bool = False, classes: str = "") -> None:
        super().__init__(text, compact=True, show_line_numbers=numbers, highlight_cursor_line=False, classes=classes)
        self.cursor_blink = False
        for key in ("f6", "f7"):  # they lead elsewhere in the studio, also from here
            self._bindings.key_to_bindings.pop(key, None)

    def on_paste(self, event: Paste) -> None:
        """Do not take more than can be edited: a text area that has it holds everything up."""
        if len(event.text) > LARGEST or len(event.text) + len(self.text) > 2 * LARGEST:
            event.stop()
            event.prevent_default()
            self.too_long(event.text)

    def too_long(self, text: str) -> None:
        """So much was pasted that it is not taken."""
        words = (
            f"That is too much to be edited here: {len(text):,} characters. A file, or a paste on a row, can be larger."
        )
        self.notify(words, severity="warning", markup=False)


class PasteArea(AreaEditor):
    """An editor whose owner keeps what is too long to be shown."""

    class TooLong(Message):
        """So much was pasted that it is not shown."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def too_long(self, text: str) -> None:
        """Tell the owner."""
        self.post_message(self.TooLong(text))
