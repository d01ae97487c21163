"""The base of the five panes: a numbered frame with a title, and tabs on top if the pane has several views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import getters
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key, MouseDown
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.tui.actions import PANES, Scope, bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.views.lines import TabLine
from mcp_studio.tui.views.rows import Steady


class Place(Vertical, Steady):
    """Where a pane puts its views."""


class Pane(Vertical, Steady):
    """A pane owns its calls to the studio and its dialogs; news for other panes it posts as messages.

    A subclass names its `scope`, which is also its id, in the class statement.
    """

    app = getters.app(StudioApp)
    number: ClassVar[int]
    scope: ClassVar[Scope]
    ALLOW_MAXIMIZE = True
    tabs_line = getters.query_one(TabLine)
    """The tabs of a pane that always has them."""
    filter: Input
    """The filter of a pane that has one; mounted with its first use, and shown only while in use."""

    def __init_subclass__(cls, scope: Scope) -> None:
        cls.scope, cls.number = scope, PANES.index(scope) + 1
        cls.BINDINGS = bindings(scope)  # pyright: ignore[reportConstantRedefinition]
        super().__init_subclass__()

    def __init__(self) -> None:
        super().__init__(id=self.scope)
        self.show_title(self.scope.title())
        self._wanted: Sequence[Widget] = ()

    def show_title(self, title: str) -> None:
        """Put a title after the number; foreign text is made safe here."""
        content = Content(f"{self.number} {safe(title, 200)}")
        if content.markup != self.border_title:  # setting the title redraws the whole pane
            self.border_title = content

    def show_note(self, note: str | Content) -> None:
        """Put a few words into the bottom border, at the right."""
        content = note if isinstance(note, Content) else Content(safe(note, 200))
        if content.markup != self.border_subtitle:
            self.border_subtitle = content

    def show_text(self, id: str, text: Content) -> None:
        """Show a text in a widget; the screen is laid out again only if the text takes another place."""
        if (widget := self.query_one(f"#{id}", Static)).content != text:
            widget.update(text, layout=False)
            box, (width, height) = self.size, widget.content_size
            widget.refresh(layout=widget.styles.is_auto_width or widget.get_content_height(box, box, width) != height)

    def put(self, place: Widget, views: Sequence[Widget], removed: str = "*") -> None:
        """Put other views into the pane's place for them; if the pane has the focus, they get it."""
        self._wanted = views
        if place.has_focus_within and self.tabs is not None:  # the focus of a removed view could go to another pane
            self.screen.set_focus(self.tabs)
        # Not exclusive: if Textual's removal is cancelled, widgets stay, half removed, and end the app once drawn.
        self.run_worker(self._put(place, views, removed, self.has_focus_within), group="view")

    async def _put(self, place: Widget, views: Sequence[Widget], removed: str, focus: bool) -> None:
        async with place.batch():
            if views is self._wanted:
                await place.remove_children(removed)
                await place.mount_all(views)
        if focus or self.has_focus_within:
            self.screen.set_focus(self.entry_point())

    @property
    def tabs(self) -> TabLine | None:
        """The tabs of the pane, where it has any."""
        return self.query_one_optional(TabLine)

    @property
    def tab(self) -> str:
        """The active tab of a pane that has tabs."""
        return self.tabs_line.active

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In a field, the key of this action is a letter."""
        return action != "find" or not isinstance(self.screen.focused, Input)

    def action_find(self) -> object:
        self.filter.display = True
        if not self.filter.is_attached:
            self.mount(self.filter, before=self.entry_point())
        self.screen.set_focus(self.filter)  # at once: the keys typed next belong to the field

    def end_filter(self) -> bool:
        """Show everything again; False if there was no filter."""
        was_shown, self.filter.display, self.filter.value = self.filter.display, False, ""
        if self.filter.has_focus:
            self.screen.set_focus(self.entry_point())
        return was_shown

    def mark(self, name: str, on: bool) -> None:
        """Set a class that changes the frame alone; `set_class` would restyle everything inside, too."""
        if on != self.has_class(name):
            self.set_class(on, name, update=False)
            self.app.stylesheet.apply(self)

    def on_descendant_focus(self) -> None:
        """Show in the frame whether the focus is inside."""
        self.mark("-focused", self.has_focus_within)

    on_descendant_blur = on_descendant_focus

    async def on_mouse_down(self, event: MouseDown) -> None:
        """The right button opens what can be done in the pane, as a menu does."""
        if event.button == 3:
            event.stop()
            if not self.has_focus_within:
                self.screen.set_focus(self.entry_point())
            await self.run_action("screen.help(True)")

    def stops(self) -> Sequence[Widget]:
        """What Tab walks over before it leaves the pane."""
        return ()

    def on_key(self, event: Key) -> None:
        step = {"tab": 1, "shift+tab": -1}.get(event.key)
        wanted = self.stops() if step is not None else ()
        stops = [widget for widget in self.screen.focus_chain if widget in wanted]
        if step is not None and self.screen.focused in stops:
            to = stops.index(self.screen.focused) + step
            if 0 <= to < len(stops):
                event.stop()
                self.screen.set_focus(stops[to])

    def step_back(self) -> bool:
        """Go one step back inside the pane; False if there is nothing to go back from."""
        return False

    def entry_point(self) -> Widget:
        """The widget that gets the focus when the person goes to the pane."""
        return next((widget for widget in self.walk_children(Widget) if widget.focusable), self)
