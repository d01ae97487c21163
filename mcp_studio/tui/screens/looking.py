"""What a person sees of the lists on the main screen: going to one, having seen all of it, reading it page by page."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcp_studio.catalog.listing import EntryKind
from mcp_studio.present import units
from mcp_studio.trace.message import WireMessage
from mcp_studio.tui import late, late_filter, late_trace
from mcp_studio.tui.screens.facts import freshness

if TYPE_CHECKING:
    from mcp_studio.catalog.listing import Ref
    from mcp_studio.tui.screens.filtering import Filtering
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.search_acts import Searching
    from mcp_studio.tui.screens.usage import Usage

_USE = ("tools/call", "resources/read", "prompts/get")
"""Before any of these nothing was used, and there is nothing to import for its figures."""


class Looking:
    """Tells the engine what is looked at, and the catalog how fresh it is."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio

    @cached_property
    def usage(self) -> Usage:
        """What is known from use."""
        return late_trace.usage(self._screen)

    @cached_property
    def searching(self) -> Searching:
        """Searching everything."""
        return late.searching(self._screen)

    @cached_property
    def filtering(self) -> Filtering:
        """Asking the index for what a filter does not find."""
        return late_filter.filtering(self._screen)

    def wanted(self, what: str, kind: EntryKind, ref: Ref | None) -> None:
        """Do what the catalog asks for."""
        match what:
            case "looked":
                self.looked(kind)
            case "seen":
                self.seen(kind)
            case "sought":
                self.filtering.ask(*self._screen.catalog.sought)
            case "watch":
                self._screen.watching.switch_ref(ref)
            case _:
                self.pages(kind, ref)

    def exchange(self, entry: WireMessage) -> None:
        """An exchange of the trace: beside it, or over everything."""
        screen = self._screen
        if screen.detail.display:
            screen.detail.show(entry)
            screen.go_to(screen.detail)
        else:
            screen.app.push_screen(late_trace.trace_dialog(screen.trace.recording, entry, screen.trace))

    def looked(self, kind: EntryKind) -> None:
        """The lists of a kind are on screen: those that are fresh no longer are read again."""
        for name in self._studio.manager.names():
            self._studio.manager.look(name, kind)
        self.tick()

    def seen(self, kind: EntryKind) -> None:
        """All of a kind counts as looked at."""
        count = self._studio.catalog.acknowledge_all(kind)
        app = self._screen.studio_app
        if count:
            app.say(f"{units.plural(count, 'change')} marked as seen.")
        else:
            app.say("Nothing here is new, changed or gone since you last looked.")

    def pages(self, kind: EntryKind, ref: Ref | None) -> None:
        """Read a list page by page."""
        manager = self._studio.manager
        ready = [name for name in manager.names() if manager.status(name).state == "ready"]
        name = ref.server if ref is not None else ready[0] if len(ready) == 1 else ""
        if name not in ready:
            what = "Its server is not connected" if ref else "Put the cursor on an entry of a connected server"
            self._screen.studio_app.say(f"{what}, so there is no list to read.", "warning")
            return
        self._screen.app.push_screen(late.pages(self._studio, name, kind))

    def tick(self) -> None:
        """Time has passed: the list in the catalog is fresh for less time."""
        self._screen.catalog.show_fresh(freshness(self._studio, self._screen.catalog.kind))
        if "usage" in self.__dict__ or any(map(self._studio.trace.columns.methods.known, _USE)):
            self.usage.tick()
