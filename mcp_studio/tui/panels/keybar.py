"""The line at the bottom: at most seven keys that act where the focus is."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.events import Click
from textual.widget import Widget


class KeyBar(Widget):
    """Keys with their titles; a click does what the key does."""

    MOST = 7

    def __init__(self) -> None:
        super().__init__(id="keys")
        self._items: tuple[tuple[str, str, str], ...] = ()
        self._spans: list[tuple[int, int, str]] = []

    def show(self, items: Sequence[tuple[str, str, str]]) -> None:
        """Show (key to press, key as written, title), as many as fit."""
        chosen = tuple(items[: self.MOST])
        if chosen != self._items:
            self._items = chosen
            self.refresh()

    def render(self) -> Content:
        """The line as text; what does not fit is left out as a whole."""
        self._spans = []
        parts: list[str | tuple[str, str]] = []
        x = 1
        for press, key, title in self._items:
            width = len(key) + 1 + len(title)
            if x + width > self.size.width:
                break
            parts += [" " if x == 1 else "   ", (key, "b $primary"), (f" {title}", "$quiet")]
            self._spans.append((x, x + width, press))
            x += width + 3
        return Content.assemble(*parts)

    def on_click(self, event: Click) -> None:
        """Press the key under the pointer."""
        for start, end, press in self._spans:
            if start <= event.x < end:
                self.app.simulate_key(press)
