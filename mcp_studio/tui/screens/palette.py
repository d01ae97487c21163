"""The command palette: actions, tools, saved calls, servers, themes and pages of the documentation by name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

from rapidfuzz import fuzz, process
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider

from mcp_studio.catalog.listing import KINDS, Entry
from mcp_studio.present.browser import open_page
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import PANES, scoped, spell_all
from mcp_studio.tui.panes.catalog import NameFilter, name_of

if TYPE_CHECKING:
    from mcp_studio.tui.main_screen import MainScreen

DOCS = ("guide", "calls", "trace", "remote", "search", "safety", "configuration", "cli", "keys", "reference")
"""Pages under docs/."""
_SITE = "https://github.com/mcp-studio/mcp-studio/blob/main/docs/{}.md"
_MOST = 30
"""Tools and other entries shown for what is typed."""
_NEAR = 75
"""From 0 to 100: how much two words must be alike, so that one may be the other with a slip."""
_SHORTEST = 4


class Command(NamedTuple):
    """Something the palette can do."""

    title: str
    run: Callable[[], object]
    help: str = ""
    also: str = ""


def open_palette(main: MainScreen) -> None:
    """Open the palette over the main screen."""
    providers = (ActionProvider, NameProvider, EntryProvider)
    main.app.push_screen(CommandPalette(providers, placeholder="Actions, tools, servers, saved calls, themes, docs …"))


class StudioProvider(Provider):
    """A provider that works on the main screen. Only actions are shown before something is typed."""

    @property
    def main(self) -> MainScreen:
        """The main screen."""
        return cast("MainScreen", self.screen)

    def commands(self) -> Iterable[Command]:
        """What it offers."""
        return ()

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, run, help, also in self.commands():
            shown = safe(title, 200)
            if score := closeness(query, shown, also) or 0.3 * matcher.match(shown):
                yield Hit(score, matcher.highlight(shown), run, shown, help or None)


def closeness(query: str, title: str, also: str = "") -> float:
    """From 0 to 1: whether all words of the query are in a title, in other words for it, or nearly so by a slip."""
    words, text = query.casefold().split(), title.casefold()
    everything = f"{text} {also}".casefold()
    if all(word in text for word in words):
        return 1.0 if text.startswith(words[0]) else 0.95
    if all(word in everything for word in words):
        return 0.8
    return min(_likeness(word, everything) for word in words) / 200


def _likeness(word: str, text: str) -> float:
    """From 0 to 100: how much the word is like one in the text, or like the beginning of one."""
    if word in text:
        return 100
    found = max(max(fuzz.ratio(word, one), fuzz.ratio(word, one[: len(word)])) for one in text.split())
    return found if len(word) >= _SHORTEST and found >= _NEAR else 0


class ActionProvider(StudioProvider):
    """Every action of the main screen and its panes, those of the pane that has the focus first."""

    def commands(self) -> Iterable[Command]:
        keys, pane = self.main.app.keys, self.main.focused_pane
        here = scoped(pane.scope) if pane is not None else ()
        for action in (*here, *(one for one in scoped("main", *PANES) if one not in here)):
            where = action.scope.capitalize() if action.scope in PANES else ""
            help = " · ".join(filter(None, (where, spell_all(keys.get(action.id, action.keys)))))
            yield Command(action.title, partial(self.main.do, action), help, action.also)

    async def discover(self) -> AsyncIterator[DiscoveryHit]:
        for title, run, help, _ in self.commands():
            if title not in ("Back", "Quit"):  # which the footer has, always
                yield DiscoveryHit(title, run, title, help or None)


class NameProvider(StudioProvider):
    """Servers, saved calls, themes, and pages of the documentation."""

    _saved: Sequence[tuple[str, Callable[[], object]]] = ()

    async def startup(self) -> None:
        self._saved = await self.main.call.saved.commands()

    def commands(self) -> Iterable[Command]:
        app = self.main.app
        for name in app.studio.manager.names():
            yield Command(f"Server {name}", partial(self._show_server, name), "Go to it in the list of servers")
        for name, run in self._saved:
            yield Command(f"Saved call {name}", run, "Fill the form with it")
        for name in sorted(app.own_themes):
            yield Command(f"Theme {name}", partial(app.keep_theme, name), "Use it from now on", "colours colors")
        for page in DOCS:
            run = partial(open_page, _SITE.format(page))
            yield Command(f"Documentation: {page}", run, "Open it in the browser", "help docs manual")

    def _show_server(self, name: str) -> None:
        self.main.go_to(self.main.servers)
        self.main.servers.go_to(name)


class EntryProvider(StudioProvider):
    """Tools, resources, templates and prompts by name. Their names are read once, in a thread."""

    _filter = NameFilter(())
    _entries: Sequence[Entry] = ()

    async def startup(self) -> None:
        catalog = self.main.app.studio.catalog
        self._entries = [entry for kind in KINDS for entry in catalog.entries(kind)]
        self._filter = NameFilter(self._entries)
        await asyncio.to_thread(self._filter.find, " ")

    async def search(self, query: str) -> Hits:
        places = (await asyncio.to_thread(self._filter.find, query)).places[:_MOST]
        if not places and len(query) >= _SHORTEST:
            names = [name_of(entry) for entry in self._entries]
            places = [at for _, _, at in process.extract(query, names, scorer=fuzz.ratio, score_cutoff=_NEAR, limit=5)]
        matcher = self.matcher(query)
        for rank, place in enumerate(places):
            entry = self._entries[place]
            title = safe(entry.ref, 120)
            help = f"{entry.ref.kind} · {safe(entry.view.description, 100)}".strip(" ·")
            run = partial(self.main.open_ref, entry.ref)
            yield Hit(0.9 - rank / 100, matcher.highlight(title), run, title, help)
