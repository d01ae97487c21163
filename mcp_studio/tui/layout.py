"""Sizes of the panes: dragged at their borders, remembered across runs."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from textual.events import MouseMove
from textual.widget import Widget

from mcp_studio.paths import write_atomically

if TYPE_CHECKING:
    from mcp_studio.tui.main_screen import MainScreen

_LARGEST_FILE = 10_000


class Border(NamedTuple):
    """What a drag changes: the width or height of one widget."""

    name: str
    """Id of the widget."""
    wide: bool
    grows: int
    """1 where moving right or down makes it larger, else -1."""
    least: int


_SIDE = Border("side", True, 1, 20)
_SERVERS = Border("servers", False, 1, 3)
_CALL = Border("call", False, 1, 5)
_CALL_WIDE = Border("call", True, 1, 30)
_TRACE = Border("trace", False, -1, 5)


class Layout:
    """Sizes that the person has given to panes, over those of the style sheet."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._sizes: dict[str, int] = {}
        self._dragged: Border | None = None

    # Remembering

    def restore(self) -> None:
        """Take the sizes and tabs of the last run; a file that cannot be read costs that alone."""
        with suppress(OSError, ValueError):
            file = self._screen.app.studio.paths.state / "layout.json"
            if file.stat().st_size <= _LARGEST_FILE:
                sizes = json.loads(file.read_bytes())["sizes"]
                self._sizes = {str(key): int(size) for key, size in sizes.items() if 0 < int(size) < 1_000}
        for border in (_SIDE, _SERVERS, _CALL, _CALL_WIDE, _TRACE):
            if (size := self._sizes.get(_key(border))) is not None and self._fits(border):
                self._resize(border, size)

    def save(self) -> None:
        """Write the sizes for the next run."""
        if self._sizes:
            with suppress(OSError):
                data = json.dumps({"version": 1, "sizes": self._sizes}).encode()
                write_atomically(self._screen.app.studio.paths.state / "layout.json", data)

    def reset(self) -> None:
        """Give every pane the size of the style sheet again."""
        self._sizes = {}
        for border in (_SIDE, _SERVERS, _CALL, _TRACE):
            widget = self._screen.query_one(f"#{border.name}")
            widget.styles.clear_rule("width")
            widget.styles.clear_rule("height")
            widget.styles.clear_rule("max_height")

    # Dragging

    def grab(self, x: int, y: int) -> bool:
        """Take the border at a place of the screen; False where there is none."""
        self._dragged = self._border_at(x, y)
        return self._dragged is not None

    def drag(self, event: MouseMove) -> None:
        """Move the border with the pointer."""
        border = self._dragged
        if border is not None:
            region = self._screen.query_one(f"#{border.name}").region
            place = event.screen_x if border.wide else event.screen_y
            begin = (region.x if border.wide else region.y) if border.grows > 0 else region.bottom
            size = max(border.least, (place - begin) * border.grows + (border.grows > 0))
            self._sizes[_key(border)] = size
            self._resize(border, size)

    def release(self) -> None:
        """Leave the border where it is."""
        self._dragged = None

    def _border_at(self, x: int, y: int) -> Border | None:
        screen = self._screen
        side, servers, call = (screen.query_one(f"#{name}").region for name in ("side", "servers", "call"))
        if side and x in (side.right - 1, side.right) and side.y <= y < side.bottom:
            return _SIDE
        if servers and y == servers.bottom - 1 and servers.x <= x < servers.right:
            return _SERVERS
        if call and self._fits(_CALL) and y == call.bottom - 1 and call.x <= x < call.right:
            return _CALL
        if call and self._fits(_CALL_WIDE) and x in (call.right - 1, call.right) and call.y <= y < call.bottom:
            return _CALL_WIDE
        trace = screen.trace.region
        return _TRACE if trace and not screen.has_class("-trace") and y == trace.y else None

    def _fits(self, border: Border) -> bool:
        """Call and result stand beside each other on a wide screen, else one above the other."""
        return border.name != "call" or border.wide == self._screen.has_class("-huge")

    def _resize(self, border: Border, size: int) -> None:
        widget: Widget = self._screen.query_one(f"#{border.name}")
        if border.wide:
            widget.styles.width = size
        else:
            widget.styles.height = size
            widget.styles.max_height = "80%"


def _key(border: Border) -> str:
    return f"{border.name}-{'width' if border.wide else 'height'}"
