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

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{self.name}-{'width' if self.wide else 'height'}"


_BORDERS = (
    Border("side", True, 20), Border("servers", False, 3), Border("call", False, 5), Border("call", True, 30),
    Border("trace", False, 5),
)  # fmt: skip


class Layout:
    """What the person has changed, over the style sheet."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._sizes: dict[str, int] = {}
        self._saved: dict[str, Json] = {}
        self._dragged: Border | None = None
        self._file = screen.app.studio.paths.state / "layout.json"

    # Remembering

    def restore(self) -> None:
        """Arrange the panes as in the last run; what cannot be read in the file costs that alone."""
        found = read_object(self._file, largest=10_000)
        for key, size in mapping(found.get("sizes")).items():
            if isinstance(size, int) and 0 < size < 1_000:
                self._sizes[key] = size
        self.apply()
        tabs = mapping(found.get("tabs"))
        for pane in self._screen.panes:
            if (tab := tabs.get(pane.scope)) and pane.tabs is not None:
                pane.tabs.active = str(tab) if pane.tabs.query(Tab).filter(f"#{tab}") else pane.tabs.active
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

    def apply(self) -> None:
        """Give the widgets the sizes that fit the arrangement of now."""
        for border in _BORDERS:
            if (size := self._sizes.get(border.key)) is not None and self._fits(border):
                self._resize(border, size)

    def reset(self) -> None:
        """Give every pane the size of the style sheet again."""
        self._sizes.clear()
        for name in {border.name for border in _BORDERS}:
            for rule in ("width", "height", "max_height"):
                self._screen.query_one(f"#{name}").styles.clear_rule(rule)

    # Dragging

    def grab(self, x: int, y: int) -> bool:
        """Take the border at a place of the screen; False where there is none."""
        self._dragged = next(
            (border for border in _BORDERS if self._fits(border) and self._lies_at(border, x, y)), None
        )
        return self._dragged is not None

    def drag(self, event: MouseMove) -> None:
        """Move the border with the pointer."""
        if (border := self._dragged) is not None:
            region = self._screen.query_one(f"#{border.name}").region
            size = event.screen_x - region.x + 1 if border.wide else event.screen_y - region.y + 1
            if border.name == "trace":
                size = region.bottom - event.screen_y
            self._sizes[border.key] = max(border.least, size)
            self._resize(border, self._sizes[border.key])

    def release(self) -> None:
        """Leave the border where it is."""
        self._dragged = None

    def _lies_at(self, border: Border, x: int, y: int) -> bool:
        region = self._screen.query_one(f"#{border.name}").region
        if border.wide:
            return x in (region.right - 1, region.right) and region.y <= y < region.bottom
        return y == (region.y if border.name == "trace" else region.bottom - 1) and region.x <= x < region.right

    def _fits(self, border: Border) -> bool:
        """Call and result stand beside each other on a huge screen; the trace may cover all other panes."""
        screen = self._screen
        if border.name == "trace":
            return not screen.has_class("-trace")
        return border.name != "call" or border.wide == screen.has_class("-huge")

    def _resize(self, border: Border, size: int) -> None:
        styles = self._screen.query_one(f"#{border.name}").styles
        if border.wide:
            styles.width = size
        else:
            styles.height, styles.max_height = size, "80%"
