"""The base of the main screen: what looks the same when the focus moves is neither styled nor drawn again."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget

from mcp_studio.tui.painter import Painted


class Frame(Painted[None]):
    """A screen that the focus crosses often, as from row to row of a form."""

    regain: Callable[[], None] = staticmethod(lambda: None)
    """Gives the focus to something that is seen."""

    def _update_focus_styles(self, focused: Widget | None = None, blurred: Widget | None = None) -> None:
        # Around both the focus is within, as before; how they look themselves is seen to when they are told of it.
        if focused is None or blurred is None or focused.parent is not blurred.parent:
            super()._update_focus_styles(focused, blurred)

    def _regain(self) -> None:
        self.regain()
