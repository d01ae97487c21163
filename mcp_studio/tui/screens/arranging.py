"""Which pane is seen and has the keys: focus, zoom, the left side, the trace that lies over a small screen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.containers import Container
from textual.widget import Widget

from mcp_studio.tui import late
from mcp_studio.tui.actions import BY_ID, PANES, Action, scoped, spell
from mcp_studio.tui.form_keys import SHORT
from mcp_studio.tui.panels.filter_line import FilterLine, typing_keys
from mcp_studio.tui.panels.pane import Pane, first_focusable

if TYPE_CHECKING:
    from textual.widget import AwaitMount

    from mcp_studio.tui.panels.catalog import CatalogPanel
    from mcp_studio.tui.panels.servers import ServersPanel
    from mcp_studio.tui.panels.trace import TracePanel
    from mcp_studio.tui.screens.main import MainScreen

_ORDER = {"call": 0, "search": 2, "commands": 3, "help": 4, "focus-trace": 5, "jump": 6}
"""Where actions of the whole screen stand in the footer; the pane's own come second."""
_OWN = 3
_LOOKS, _LOOK = 50, 0.02
"""How often it is looked whether a viewer is there that takes the focus, and the seconds in between."""
_END = ("escape", "End filter")


class Arranging:
    """The panes of the main screen as a person moves between them."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._last: Pane = screen.catalog
        screen.regain = self._regain

    def pane(self, name: str) -> Pane:
        """The pane of that name."""
        screen = self._screen
        return {
            "servers": screen.servers, "catalog": screen.catalog, "call": screen.call, "result": screen.result,
            "trace": screen.trace,
        }[name]  # fmt: skip

    @property
    def focused(self) -> Pane | None:
        """The pane that has the focus."""
        node: Widget | None = self._screen.focused
        while node is not None and not isinstance(node, Pane):
            node = node.parent if isinstance(node.parent, Widget) else None
        return node

    def go_to(self, pane: Pane) -> None:
        """Show a pane, and give it the focus."""
        self._reveal(pane)
        # Not `focus()`, which waits in a queue: the next key may be there already.
        self._screen.set_focus(pane.entry_point())

    def _reveal(self, pane: Pane) -> None:
        """Show a pane also where another fills the screen, or the left side is hidden."""
        screen = self._screen
        if screen.has_class("-zoom") and not pane.has_class("-zoomed"):
            self.zoom(pane)
        if pane in (screen.servers, screen.catalog):
            screen.remove_class("-no-side")
        if pane in (screen.trace, screen.detail):
            screen.add_class("-trace")

    def visit(self, name: str) -> None:
        """Go to a pane; the trace goes away when it is already there."""
        pane = self.pane(name)
        if pane is self._screen.trace and self.focused is pane:
            self.leave_trace()
        else:
            self.go_to(pane)

    def jump(self) -> None:
        """Letters over the panes, and their tabs."""
        panes = [self.pane(name) for name in PANES]
        targets = [target for pane in panes if pane.display and pane.region for target in pane.jump_targets()]
        self._screen.app.push_screen(late.jump(targets), self._jumped)

    def _jumped(self, target: str | None) -> None:
        if target:
            name, _, tab = target.partition("/")
            self.go_to(self.pane(name))
            if tab:
                self.pane(name).post_message(Pane.TabChosen(self.pane(name), tab))

    def leave_trace(self) -> None:
        """Put the trace away, or out of its zoom first."""
        if self._screen.has_class("-zoom"):
            self.zoom(None)
        else:
            self.go_to(self._screen.calling.home)

    def focus_moved(self) -> None:
        """What has the focus is seen, whoever gave it, and the trace goes; the footer shows the keys that act here."""
        screen = self._screen
        if self.focused is not None:
            self._last = self.focused
            self._reveal(self.focused)
        if self.focused not in (screen.trace, screen.detail) and screen.has_class("-trace"):
            screen.remove_class("-trace")
        self.show_keys()

    def _regain(self) -> None:
        """What had the focus is not there any more: the same pane has it, or one that is seen."""
        screen, seen = self._screen, bool(self._last.region)
        there = seen and first_focusable(self._last)
        if seen and not there and self._last is screen.result and (coming := screen.result.mounting) is not None:
            screen.run_worker(self._regain_in(coming), group="regain", exclusive=True)
        else:
            self.go_to(self._last if there else screen.calling.home)

    async def _regain_in(self, coming: AwaitMount) -> None:
        """A result that has come takes the focus once its viewer is there."""
        await coming
        for _ in range(_LOOKS):  # what is inside the viewer comes a moment later
            if first_focusable(self._last):
                break
            await asyncio.sleep(_LOOK)
        if self._screen.focused is None:
            self.go_to(self._last if first_focusable(self._last) else self._screen.calling.home)

    def servers_changed(self) -> None:
        """What can be done in the servers pane depends on whether there are any."""
        if self.focused is self._screen.servers:
            self.show_keys()

    def show_keys(self) -> None:
        """The footer for the focused pane, or for the line in it that something is typed into."""
        pane = self.focused
        useless = set[str]() if self._screen.calling.opened else {"call"}
        if pane is self._screen.call and self._screen.call.acts:
            useless |= {"focus-trace", "jump", "search"}  # what acts on the row is worth more
        if pane is None or not pane.has_tabs:
            useless.add("tab-next")
        general = sorted(
            (a for a in scoped("main", "app") if a.show and a.id not in useless), key=lambda a: _ORDER.get(a.id, 7)
        )
        rest = [self._named(action) for action in general]
        own = [*typing_keys(self._screen.focused)]
        if not own:
            first = 1 if "call" not in useless else 0
            own = [*rest[:first], *[self._named(action) for action in self._own(pane)[:_OWN]]]
            rest = rest[first:]
            if isinstance(line := getattr(pane, "filter", None), FilterLine) and line.text:
                own.insert(first + _OWN - 1, _END)
        self._screen.keys.show([(key, spell(key), title) for key, title in (*own, *rest)])

    def _named(self, action: Action) -> tuple[str, str]:
        return self._screen.studio_app.key_of(action.id), action.short

    def _own(self, pane: Pane | None) -> tuple[Action, ...]:
        """The actions of a pane."""
        screen = self._screen
        if pane is screen.call and (acts := screen.call.acts):
            return tuple(BY_ID[act]._replace(short=SHORT[act]) for act in acts)
        if pane is screen.servers and not screen.studio.manager.names():
            return (BY_ID["server-add"],)
        listed = pane.id if pane is not None else None
        listed = "tasks" if pane is screen.catalog and screen.catalog.on_tasks else listed
        listed = "history" if pane is screen.call and screen.call.tab == "history" else listed
        return tuple(a for name in (*PANES, "tasks", "history") if listed == name for a in scoped(name) if a.show)

    async def end_filter(self, pane: CatalogPanel | ServersPanel | TracePanel) -> None:
        """Show everything in a pane again; esc has another meaning then."""
        await pane.end_filter()
        self.show_keys()

    def zoom(self, pane: Pane | None) -> None:
        """Let one pane fill the screen, or put all back."""
        screen = self._screen
        screen.set_class(pane is not None, "-zoom")
        for each in screen.query(Pane):
            each.set_class(each is pane, "-zoomed")
        screen.servers.keep_height()
        for box in screen.query(Container):
            box.set_class(pane is not None and pane in box.query(Pane), "-holds")

    def toggle_zoom(self) -> None:
        """Zoom the focused pane, or put all back."""
        self.zoom(None if self._screen.has_class("-zoom") else self.focused)

    def toggle_side(self) -> None:
        """Hide or show servers and catalog."""
        screen = self._screen
        screen.toggle_class("-no-side")
        if screen.has_class("-no-side") and self.focused in (screen.servers, screen.catalog, None):
            self.go_to(screen.call)
