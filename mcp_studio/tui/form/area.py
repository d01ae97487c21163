"""The editor of several lines, for JSON and long text. Imported when one is first opened."""

from __future__ import annotations

from textual.widgets import TextArea


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
