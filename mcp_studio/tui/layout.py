"""How the person has arranged the panes: sizes dragged at their borders, tabs, zoom; remembered across runs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from textual.events import MouseMove
from textual.widgets import Tab

from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import read_object, write_object
from mcp_studio.tui.panes.pane import Pane

if TYPE_CHECKING:
    from mcp_studio.tui.main_screen import MainScreen


class Border(NamedTuple):
    """What a drag changes: the width or height of one widget. That of the trace is its upper one."""

    name: str
    """Id of the widget."""
    wide: bool
    least: int


_BORDERS = {
    "side-width": Border("side", True, 20), "servers-height": Border("servers", False, 3),
    "call-height": Border("call", False, 5), "call-width": Border("call", True, 30),
    "trace-height": Border("trace", False, 5),
}  # fmt: skip
"""By their names in the file."""


class Layout:
    """What the person has changed, over the style sheet."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._sizes: dict[str, int] = {}
        self._saved: dict[str, Json] = {}
        self._file = screen.app.studio.paths.state / "layout.json"
        self.dragged: str | None = None
        """The border that the pointer holds."""

    def restore(self) -> None:
        """Arrange the panes as in the last run; what cannot be read in the file costs that alone."""
        found = read_object(self._file, largest=10_000)
        for key, size in mapping(found.get("sizes")).items():
            if key in _BORDERS and isinstance(size, int) and 0 < size < 1_000:
                self._sizes[key] = size
                if self._fits(_BORDERS[key]):
                    self._resize(key)
        tabs = mapping(found.get("tabs"))
        for pane in self._screen.panes:
            tab = tabs.get(pane.scope)
            if pane.tabs is not None and tab in {one.id for one in pane.tabs.query(Tab)}:
                pane.tabs.active = str(tab)
            if found.get("zoom") == pane.scope:
                self._screen.maximize(pane, container=False)
        self._screen.trace.table.following = found.get("follow") is not False

    def save(self) -> None:
        """Write it for the next run, where something is another than it was."""
        screen = self._screen
        state: dict[str, Json] = {
            "version": 1,
            "sizes": {**self._sizes},
            "tabs": {pane.scope: pane.tabs.active for pane in (screen.catalog, screen.call) if pane.tabs},
            "zoom": screen.maximized.scope if isinstance(screen.maximized, Pane) else "",
            "follow": screen.trace.table.following,
        }
        if state != self._saved:
            self._saved = state
            with suppress(OSError):
                write_object(self._file, state)

    def reset(self) -> None:
        """Give every pane the size of the style sheet again."""
        self._sizes.clear()
        for border in _BORDERS.values():
            self._screen.query_one(f"#{border.name}").styles.reset()

    def grab(self, x: int, y: int) -> bool:
        """Take the border at a place of the screen; False where there is none."""
        held = (key for key, border in _BORDERS.items() if self._fits(border) and self._lies_at(border, x, y))
        self.dragged = next(held, None)
        return self.dragged is not None

    def drag(self, event: MouseMove) -> None:
        """Move the border with the pointer."""
        if self.dragged is not None:
            border = _BORDERS[self.dragged]
            region = self._screen.query_one(f"#{border.name}").region
            size = event.screen_x - region.x + 1 if border.wide else event.screen_y - region.y + 1
            if border.name == "trace":
                size = region.bottom - event.screen_y
            self._sizes[self.dragged] = max(border.least, size)
            self._resize(self.dragged)

    def _lies_at(self, border: Border, x: int, y: int) -> bool:
        region = self._screen.query_one(f"#{border.name}").region
        if border.wide:
            return x in (region.right - 1, region.right) and region.y <= y < region.bottom
        return y == (region.y if border.name == "trace" else region.bottom - 1) and region.x <= x < region.right

    def _fits(self, border: Border) -> bool:
        """Call and result stand beside each other on a huge screen; the trace may cover all other panes."""
        if border.name == "trace":
            return not self._screen.has_class("-trace")
        return border.name != "call" or border.wide == self._screen.has_class("-huge")

    def _resize(self, key: str) -> None:
        styles = self._screen.query_one(f"#{_BORDERS[key].name}").styles
        if _BORDERS[key].wide:
            styles.width = self._sizes[key]
        else:
            styles.height, styles.max_height = self._sizes[key], "80%"
