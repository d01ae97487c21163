"""Jump mode: a letter at the corner of every pane, and on the first cell of every tab; pressing it goes there."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.events import Key
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static, Tab

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class Jump(ModalScreen[Widget]):
    """Answers a pane, or a tab of one."""

    DEFAULT_CSS = """
    Jump { background: transparent; }
    Jump > Static {
        position: absolute; width: 1; height: 1; background: $accent; color: $background; text-style: bold;
    }
    """

    def __init__(self, panes: Iterable[Widget]) -> None:
        super().__init__()
        targets: list[tuple[Widget, Offset]] = []
        for pane in panes:
            targets.append((pane, pane.region.offset))  # in the corner of its frame
            targets += [(tab, tab.region.offset) for tab in pane.query(Tab)]
        self._targets = dict(zip(_LETTERS, (target for target in targets if target[0].region), strict=False))

    def compose(self) -> ComposeResult:
        for letter, (_, place) in self._targets.items():
            label = Static(letter, markup=False)
            label.styles.offset = (place.x, place.y)
            yield label

    def on_key(self, event: Key) -> None:
        """A letter goes there; anything else leaves."""
        event.stop()
        target = self._targets.get(event.character or "")
        self.dismiss(target[0] if target else None)

    def on_click(self) -> None:
        self.dismiss(None)
