"""Jumping to a pane or tab by a letter."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.app import ComposeResult
from textual.geometry import Offset
from textual.screen import ModalScreen
from textual.widgets import Static

from mcp_studio.tui.panes.pane import Pane

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


class Jump(ModalScreen[tuple[Pane, str]]):
    """Shows a letter at each pane and tab; answers the pane and the tab, if any, whose letter the person pressed."""

    def __init__(self, panes: Iterable[Pane]) -> None:
        super().__init__()
        targets: list[tuple[tuple[Pane, str], Offset]] = []
        for pane in panes:
            targets += [((pane, ""), pane.region.offset)] if pane.region else []  # in the corner of the pane's frame
            if (tabs := pane.tabs) is not None and tabs.region:  # in the gap before the label of a tab
                targets += [((pane, tab), tabs.region.offset + Offset(x - 1)) for tab, x in tabs.places.items()]
        self._targets = dict(zip(_LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        for letter, (_, place) in self._targets.items():
            label = Static(letter, markup=False)
            label.styles.offset = (place.x, place.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        """Go to the target of a letter; any other key closes the screen."""
        event.stop()
        target = self._targets.get(event.character or "")
        self.dismiss(target[0] if target else None)

    def on_click(self) -> None:
        self.dismiss(None)
