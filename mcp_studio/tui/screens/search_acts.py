"""Searching on the main screen: the palette, the question that is kept, and what is done with a hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.catalog.listing import Entry
from mcp_studio.safetext import safe
from mcp_studio.search.method import Hit
from mcp_studio.tui.screens.search_box import Chosen
from mcp_studio.tui.screens.search_palette import SearchPalette
from mcp_studio.tui.screens.search_question import Question

if TYPE_CHECKING:
    from mcp_studio.tui.screens.main import MainScreen


class Searching:
    """Opens the palette; keeps its question while the studio runs."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self.question = Question(method=screen.studio.config.settings.search_method)
        """What was asked last."""
        self.picked = False
        """The servers of the question were chosen from the list."""
        self.complete = False
        """Some answer looked at everything that there was: it is known what the best hits are."""
        self.told: set[str] = set()
        """What was said about ways of searching that cannot be used."""

    def open(self) -> None:
        """Search everything."""
        known = frozenset(self._studio.manager.names())
        if self.question.servers is not None:
            self.question = self.question._replace(servers=self.question.servers & known or None)
        self._screen.app.push_screen(SearchPalette(self._studio, self), self._done)

    @property
    def server(self) -> str:
        """The server that the person is busy with."""
        if self._screen.focused_pane is self._screen.servers:
            return self._screen.servers.current
        opened = self._screen.calling.opened
        return opened.entry.ref.server if opened is not None else ""

    async def _done(self, chosen: Chosen | None) -> None:
        if chosen is None:
            return
        screen = self._screen
        ref = chosen.hit.ref
        if chosen.what == "server":
            screen.servers.go_to(ref.server)
            screen.go_to(screen.servers)
            return
        entry = self._entry(chosen.hit)
        if entry is None:
            screen.studio_app.say(f"{safe(ref)} is not listed any more.", "warning")
            return
        self._studio.usage.opened(ref)
        # No worker opens it: what is typed meanwhile waits, and goes into its form.
        screen.workers.cancel_group(screen, "open")
        await screen.calling.open(entry, go=True)
        if chosen.what == "run":
            screen.calling.run()

    def _entry(self, hit: Hit) -> Entry | None:
        """The entry as it is listed now; as it was found where it is not."""
        found = self._studio.catalog.find(hit.ref)
        return next((entry for entry in found if entry is hit.entry), found[0] if found else hit.entry)
