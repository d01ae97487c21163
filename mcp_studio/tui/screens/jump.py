"""Jump mode: a letter at the corner of every pane, and behind every tab; pressing it goes there."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Click, Key
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widgets import Static, Tab

from mcp_studio.tui.panes.pane import Pane

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class Jump(ModalScreen[tuple[str, str]]):
    """Answers the id of a pane, and of one of its tabs or an empty string."""

    DEFAULT_CSS = """
    Jump { background: transparent; }
    Jump > Static {
        position: absolute; width: 1; height: 1; background: $accent; color: $background; text-style: bold;
    }
    """
    BINDINGS = [Binding("escape", "dismiss(None)", "Back", id="back")]  # noqa: RUF012

    def __init__(self, panes: Iterable[Pane]) -> None:
        super().__init__()
        targets: list[tuple[tuple[str, str], Offset]] = []
        for pane in panes:
            if pane.display and pane.region:
                targets.append(((pane.scope, ""), pane.region.offset))  # in the corner of its frame
                for tab in pane.query(Tab):
                    if tab.display and tab.region:  # in the gap behind its label
                        targets.append(((pane.scope, tab.id or ""), tab.region.top_right - Offset(1, 0)))
        self._targets = dict(zip(_LETTERS, targets, strict=False))

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

    def on_click(self, event: Click) -> None:
        self.dismiss(None)
