"""What a screen draws when a little of it has changed: only the widgets that are seen there, and only those lines.

Textual renders all widgets of the rectangle around everything that has changed, also those behind others: for a letter
in a dialog its whole frame and the screen below it. It also renders widgets that were taken away and have lost their
styles when the screen is drawn before it is laid out anew, and finds them under the mouse; many end the app then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from rich.console import RenderableType
from textual._compositor import ChopsUpdate, Compositor
from textual.await_complete import AwaitComplete
from textual.events import Event, Resize, ScreenResume
from textual.geometry import Region
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from mcp_studio.tui.saying import Telling

T = TypeVar("T")
COLUMNS, ROWS = 40, 10
"""The smallest terminal with room for the studio."""


class Painter(Compositor):
    """A compositor that leaves out what is not seen in what has changed."""

    _changed: tuple[Region, ...] = ()

    def render_partial_update(self) -> ChopsUpdate | None:
        """Draw what has changed."""
        self._changed = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._changed = ()

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        self._forget_removed()
        if not self._changed:
            yield from super()._get_renders(crop)
            return
        wanted = list(self._changed)
        for widget, (region, clip) in self.visible_widgets.items():  # the foremost come first
            seen = region.intersection(clip)
            parts = [part for one in wanted if (part := seen.intersection(one))]
            if not parts:
                continue
            first, last = min(part.y for part in parts), max(part.bottom for part in parts)
            lines = Region(seen.x, first, seen.width, last - first)
            yield region, lines, widget.render_lines(lines.translate(-region.offset))
            wanted = [one for one in wanted if not seen.contains_region(one)]
            if not wanted:
                return

    def get_widget_at(self, x: int, y: int) -> tuple[Widget, Region]:
        """The widget under the mouse, and its place."""
        self._forget_removed()
        return super().get_widget_at(x, y)

    def get_widgets_at(self, x: int, y: int) -> Iterable[tuple[Widget, Region]]:
        """All widgets under the mouse, and their places."""
        self._forget_removed()
        return super().get_widgets_at(x, y)

    def _forget_removed(self) -> None:
        visible = self.visible_widgets
        if any(widget.parent is None for widget in visible):
            self._visible_widgets = {widget: place for widget, place in visible.items() if widget.parent is not None}
            self._layers_visible = None


class Once(Screen[T]):
    """A screen that is drawn once as it opens: Textual draws it empty, with its widgets, and then as a whole."""

    # Textual draws the whole screen anew for every change of this, though widgets see to their own looks.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def _on_screen_resume(self, event: ScreenResume) -> None:
        self.refresh()

    def _compositor_refresh(self) -> None:
        if self._repaint_required and self is self.app.screen and not self.app.is_inline:
            self.check_idle()  # all of it is drawn in a moment
        else:
            super()._compositor_refresh()


class Painted(Telling, Once[T]):
    """A screen that draws so, keeps what has the focus in sight, and goes when it is left, not another in its place."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (COLUMNS, "-narrow")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (ROWS, "-short")]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self._compositor = Painter()
        self._had_focus: Widget | None = None

    def render(self) -> RenderableType:
        """What is behind all widgets, which a terminal that is too small does not show."""
        return f"The terminal is too small (needs {COLUMNS}x{ROWS})" if self.has_class("-tiny") else super().render()

    def watch_focused(self, focused: Widget | None) -> None:
        """What had the focus has been hidden or removed: the keys must go somewhere."""
        if focused is None:
            self.call_after_refresh(self._keep_focus)
        else:
            self._had_focus = focused

    async def on_event(self, event: Event) -> None:
        """A size that the terminal no longer has is passed over.

        A screen that is laid out in another size tells itself so: two sizes on their way would follow each other for
        good, and nothing would be drawn any more.
        """
        if not isinstance(event, Resize) or event.size == self.app.size:
            await super().on_event(event)

    def on_resize(self, event: Resize) -> None:
        """What has the focus may lie outside of a smaller terminal, or have been given no place at all."""
        self.call_after_refresh(self._keep_focus)

    def on_screen_resume(self) -> None:
        """The terminal may have another size by now."""
        self.call_after_refresh(self._keep_focus)

    def _keep_focus(self) -> None:
        if self.focused is None:
            # Without it on purpose is a terminal that is in the background itself.
            if self.is_attached and self.app.app_focus:
                self._regain()
        elif self.focused not in self._compositor.visible_widgets:
            self.focused.scroll_visible(animate=False)

    def _regain(self) -> None:
        """Give the focus to what had it, or to the first that can have it."""
        chain = self.focus_chain
        if chain:
            self.set_focus(self._had_focus if self._had_focus in chain else chain[0])

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Leave with a result; one that has been left already, or lies under another, stays as it is.

        Textual would take away whatever screen is on top: keys and server messages can come twice.
        """
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()
