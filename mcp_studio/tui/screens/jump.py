"""Jump mode: a letter over every pane and every tab; pressing it goes there."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.events import Click, Key
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widgets import Static

from mcp_studio.tui.painter import Painted

LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class Jump(Painted[str], ModalScreen[str]):
    """Answers the name of the target that was chosen."""

    DEFAULT_CSS = """
    Jump { background: $background 40%; }
    Jump > Static {
        position: absolute; width: 3; height: 1; background: $accent; color: $background; text-style: bold;
    }
    """
    BINDINGS = [Binding("escape", "leave", "Back", id="jump-back")]  # noqa: RUF012

    def __init__(self, targets: Iterable[tuple[str, Offset]]) -> None:
        super().__init__()
        self._targets = dict(zip(LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        """A label at the place of each target."""
        for letter, (_, place) in self._targets.items():
            label = Static(Content(f" {letter} "))
            label.styles.offset = (place.x, place.y)
            yield label

    def on_key(self, event: Key) -> None:
        """A letter goes there; anything else leaves."""
        event.stop()
        target = self._targets.get(event.character or "")
        self.dismiss(target[0] if target else None)

    def on_click(self, event: Click) -> None:
        """A click leaves."""
        self.dismiss(None)

    def action_leave(self) -> None:
        """Go nowhere."""
        self.dismiss(None)
