"""Watched resources on the main screen: the switch, the marks, and what is said when one changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcp_studio.safetext import safe
from mcp_studio.session.subscriptions import Subscription
from mcp_studio.tui import watched

if TYPE_CHECKING:
    from mcp_studio.catalog.listing import Ref
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen


class Watching:
    """Switches watching on and off; nothing is read again by itself."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self._known: dict[tuple[str, str], tuple[str, int]] = {}
        """State and unread updates of each subscription when they were told last."""
        self._fresh: set[tuple[str, str]] = set()
        """Switched on, and the person does not know yet whether it worked."""
        self._news = ""
        screen.result.news = self.news

    # The switch

    def switch_ref(self, ref: Ref | None) -> None:
        """Watch an entry of the catalog, or no longer; a template once its variables are known."""
        app, calling = self._screen.studio_app, self._screen.calling
        if ref is not None and ref.kind == "resource":
            self._switch(ref.server, ref.name)
        elif ref is not None and ref.kind == "template":
            if calling.opened is not None and calling.opened.entry.ref == ref:
                self.switch_open()
            else:
                app.say("Open the template, fill in its variables, and watch what it gives.", "warning")
        else:
            app.say("Only resources can be watched.", "warning")

    def switch_open(self) -> None:
        """Watch what is open, or no longer."""
        opened = self._screen.calling.opened
        if opened is None or opened.entry.ref.kind not in ("resource", "template"):
            self._screen.studio_app.say("Only resources can be watched; open one first.", "warning")
            return
        if problems := opened.problems():
            self._screen.studio_app.say(f"Its URI is not complete: {safe(problems[0].message, 200)}", "warning")
            return
        ref = opened.entry.ref
        self._switch(ref.server, opened.uri(), ref.name if ref.kind == "template" else "")

    def _switch(self, server: str, uri: str, template: str = "") -> None:
        on = self._studio.subscriptions.switch(server, uri, template=template)
        self._known.pop((server, uri), None)
        self._fresh.add((server, uri))
        if not on:
            self._fresh.discard((server, uri))
            self._screen.studio_app.say(f"{safe(uri, 200)} is not watched any more.")
        self.show()

    # What changed

    def changed(self, servers: Iterable[str]) -> None:
        """Tell what is new of these servers, once for each resource until it is read."""
        for server in servers:
            for one in self._studio.subscriptions.of(server):
                self._tell(one)
        self.show()

    def _tell(self, one: Subscription) -> None:
        key, app = (one.server, one.uri), self._screen.studio_app
        state, unread = self._known.get(key, ("", 0))
        self._known[key] = (one.state, one.unread)
        name = f"{safe(one.server, 60)}: {safe(one.uri, 200)}"
        if one.state == "active" and key in self._fresh:
            self._fresh.discard(key)
            app.say(f"{name} is watched.")
        elif one.state != state and one.state in ("refused", "lost"):
            app.say(f"{name} is {watched.state_words(one)}.", "warning")
        elif one.unread and not unread and one is not self._open_one():
            app.say(f"{name} was updated.")

    def show(self) -> None:
        """Draw marks and news as they are now."""
        catalog = self._screen.catalog
        found = watched.marks(self._studio.subscriptions.all())
        if found != catalog.marks:
            catalog.marks = found
            catalog.list.redraw()
        self.tick()

    # The open resource

    def news(self) -> str:
        """What is to be said beside the result of the open resource."""
        one = self._open_one()
        if one is None:
            return ""
        app, read = self._screen.studio_app, self._screen.calling.call is not None
        again = f"{app.spell('result-again')} reads it again" if read else f"{app.spell('call')} reads it"
        return watched.newest(one, again)

    def tick(self) -> None:
        """Time has passed, or something came: the line beside the result is drawn where it is another."""
        if (text := self.news()) != self._news:
            self._news = text
            self._screen.result.tick()

    def _open_one(self) -> Subscription | None:
        opened: Opened | None = self._screen.calling.opened
        if opened is None or opened.entry.ref.kind not in ("resource", "template"):
            return None
        try:
            return self._studio.subscriptions.get(opened.entry.ref.server, opened.uri())
        except ValueError:  # the template is not filled in yet
            return None
