"""The one-line editor that lies over the value of the current field, and its completions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from textual.events import Key, Paste
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from mcp_studio.safetext import safe

Complete = Callable[[str, str], Awaitable[Sequence[str]]]
"""Given a field's name and what is typed, what the server offers for it (server/utilities/completion)."""
_PAUSE = 0.15


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


class Completions(Suggester):
    """Asks the server, after a pause in typing; what cannot be shown as it is, is not offered."""

    def __init__(self, name: str, complete: Complete) -> None:
        super().__init__(use_cache=True, case_sensitive=True)
        self._name = name
        self._complete = complete
        self._newest = ""

    async def get_suggestion(self, value: str) -> str | None:
        """The first completion that goes on from what is typed."""
        self._newest = value
        await asyncio.sleep(_PAUSE)
        if self._newest != value:
            return None
        for offered in await self._complete(self._name, value):
            if offered.startswith(value) and offered != value and safe(offered) == offered:
                return offered
        return None
