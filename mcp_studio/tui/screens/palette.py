"""The command palette: actions, tools, saved calls, servers, themes and pages of the documentation by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.style import Style
from textual.widgets import Input
from textual.worker import Worker, WorkerCancelled

from mcp_studio.catalog.listing import KINDS
from mcp_studio.present.browser import open_page
from mcp_studio.safetext import safe
from mcp_studio.search import names
from mcp_studio.tui.actions import PANES, scoped, spell_all
from mcp_studio.tui.panes.catalog import NameFilter
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.views.lines import KeyBar
from mcp_studio.tui.views.rows import cut, mark_matches, spread

if TYPE_CHECKING:
    from mcp_studio.tui.main_screen import MainScreen

DOCS = "guide calls trace remote servers workflows search safety configuration cli keys python reference".split()
"""Pages under docs/."""
_DOCS = "https://github.com/mcp-studio/mcp-studio/blob/main/docs"
_MOST = 30
"""Catalog entries that are shown for a typed text at most."""
_WIDTH = 76
"""The cells of a row, unless the screen is narrower."""
_BESIDE = 11
"""The cells of the screen beside a row at least."""


class Command(NamedTuple):
    """A command of the palette."""

    title: str
    run: Callable[[], object]
    note: str = ""
    """The text at the right: the pane and key of an action, or what the command does."""
    also: str = ""


class Palette(CommandPalette):
    """The palette over the main screen. Enter waits until the search for the typed text has ended."""

    def __init__(self) -> None:
        providers = (ActionProvider, NameProvider, EntryProvider)
        super().__init__(providers, placeholder="Actions, tools, servers, saved calls, themes, docs …")

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield KeyBar(lambda bound: {"escape": "Close"}.get(bound.binding.action, ""))

    def on_mount(self) -> None:
        self.query_one("#--container").border_title = "Palette"

    @on(Input.Submitted)
    def take(self, event: Input.Submitted) -> None:
        """Wait with enter while the list may still belong to an earlier text."""
        if looking := [worker for worker in self.workers if worker.node is self and not worker.is_finished]:
            event.prevent_default()
            self.app.run_worker(self._take_later(looking, event.input))

    async def _take_later(self, looking: list[Worker[object]], field: Input) -> None:
        with suppress(WorkerCancelled):  # the person has typed something else
            await self.workers.wait_for_complete(looking)
            await field.action_submit()


class StudioProvider(Provider):
    """A provider for the main screen. Before the person types, the palette shows only actions."""

    weight = 0.5
    """Of two similar commands, the one of the provider with more weight comes first."""

    def __init__(self, screen: MainScreen, match_style: Style | None = None) -> None:
        super().__init__(screen, match_style)
        self.main = screen

    def commands(self) -> Iterable[Command]:
        """The commands of this provider."""
        return ()

    async def search(self, query: str) -> Hits:
        commands = [one._replace(title=safe(one.title, 200)) for one in self.commands()]
        rows = [names.row(one.title, one.also) for one in commands]
        for place, score in zip(*names.Matcher(query).nearest(rows), strict=True):
            title, run, note, _ = commands[place]
            if score > 1 or len(query) > 1:  # a single letter occurs in nearly every title
                yield Hit(score * self.weight, self.row(title, note, query), run, title)

    def row(self, title: str, note: str, query: str = "") -> Content:
        """A row: a title in which the words of the query are marked, and a note at the right."""
        room = min(_WIDTH, self.main.size.width - _BESIDE)
        marked = mark_matches(cut(title, room), query.split(), "", "underline")
        pieces = spread(marked, [(f"  {note}", "$quiet")] if note else [], room)
        return Content.assemble(*((text, str(look)) for text, look in pieces))


class ActionProvider(StudioProvider):
    """Every action of the main screen and its panes; those of the focused pane come first."""

    def commands(self) -> Iterable[Command]:
        keys, pane = self.main.app.keys, self.main.focused_pane
        here = scoped(pane.scope) if pane is not None else ()
        for action in (*here, *(one for one in scoped("main", *PANES) if one not in here)):
            where = action.scope.capitalize() if action.scope in PANES else ""
            note = "  ".join(filter(None, (where, spell_all(keys.get(action.id, action.keys)))))
            yield Command(action.title, partial(self.main.do, action), note, action.also)

    async def discover(self) -> AsyncIterator[DiscoveryHit]:
        for title, run, note, _ in self.commands():
            if title not in ("Back", "Quit"):  # the footer always shows these two
                yield DiscoveryHit(self.row(title, note), run, title)


class NameProvider(StudioProvider):
    """Tabs, servers, saved calls, themes, and pages of the documentation."""

    weight = 0.49
    _saved: Sequence[tuple[str, Callable[[], object]]] = ()

    async def startup(self) -> None:
        self._saved = await self.main.call.saved.commands()

    def commands(self) -> Iterable[Command]:
        app = self.main.app
        for pane in self.main.panes:
            if (tabs := pane.tabs) is not None and tabs.region:
                for tab, label in tabs.labels.items():
                    yield Command(f"Tab {label}", partial(self._show_tab, pane, tab), pane.scope.capitalize())
        for name in app.studio.manager.names():
            yield Command(f"Server {name}", partial(self._show_server, name), "in the list")
        for name, run in self._saved:
            yield Command(f"Saved call {name}", run, "fills the form")
        for name in sorted(app.own_themes):
            yield Command(f"Use the theme {name}", partial(app.keep_theme, name), "from now on", "colours colors")
        for page in DOCS:
            yield Command(f"Documentation: {page}", partial(self._open_page, page), "in the browser", "help docs")

    async def _open_page(self, page: str) -> None:
        url = f"{_DOCS}/{page}.md"
        if not await open_page(url, browser=self.main.app.studio.config.settings.browser):
            self.main.app.copy(url, "the address, since no browser could be opened")

    def _show_tab(self, pane: Pane, tab: str) -> None:
        self.main.go_to(pane)
        pane.tabs_line.active = tab

    def _show_server(self, name: str) -> None:
        self.main.go_to(self.main.servers)
        self.main.servers.go_to(name)


class EntryProvider(StudioProvider):
    """Tools, resources, templates and prompts by name. A thread reads their names once."""

    weight = 0.48
    _filter = NameFilter(())

    async def startup(self) -> None:
        catalog = self.main.app.studio.catalog
        self._filter = NameFilter([entry for kind in KINDS for entry in catalog.entries(kind)])
        await asyncio.to_thread(self._filter.find, " ")

    async def search(self, query: str) -> Hits:
        found = await asyncio.to_thread(self._filter.find, query, near=True)
        for place, score in zip(found.places[:_MOST], found.scores, strict=False):
            entry = self._filter.entries[place]
            title = safe(entry.ref, 120)
            shown = self.row(f"{title}  {safe(entry.view.description, 200)}".rstrip(), entry.ref.kind, query)
            yield Hit(score * self.weight, shown, partial(self.main.open_ref, entry.ref), title)
