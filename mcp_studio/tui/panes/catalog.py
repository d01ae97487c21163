"""Pane 2: tools, resources, templates and prompts of all servers; the cursor previews, enter opens."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len
from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static, Tab, Tabs

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.errors import StudioError
from mcp_studio.present import servers, units
from mcp_studio.protocol.views import PromptView, ResourceView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.search.method import Scope
from mcp_studio.search.names import Matcher
from mcp_studio.tui.name_filter import NameFilter, name_of
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.panes.tasks import TaskList
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, cut_inside, mark_matches, spread, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

TASKS = "tasks"
TITLES: Mapping[str, tuple[str, str]] = {
    "tool": ("Tools", "Tools"), "resource": ("Resources", "Res"), "template": ("Templates", "Tpl"),
    "prompt": ("Prompts", "Pr"), TASKS: ("Tasks", "Tasks"),
}  # fmt: skip
"""The word of each tab, and a shorter one."""
RISKS = {"read": "r", "write": "w", "destructive": "!"}
"""Risk of a tool, which is the look of its glyph."""
_LEGENDS: Mapping[str, tuple[str, str]] = {
    "tool": ("r reads  w writes  ! destructive", "r read  w write  ! destroy"),
    "resource": ("size and type as the server says", "enter reads it"),
    "template": ("enter fills in the URI", "enter fills in the URI"),
    "prompt": ("enter gets it", "enter gets it"),
}
"""The last line, and a shorter one."""
_DESCRIBED = 44
"""Cells of a row from which on a description stands behind the name."""
_SIMILAR = 60
"""Entries that the index adds where no name has all that was typed."""


class Heading(NamedTuple):
    """Stands above the entries of one server."""

    server: str
    entries: int
    folded: bool
    text: str = ""
    """Where it is no server's: what stands there instead."""


class Item(NamedTuple):
    """One entry as a row."""

    entry: Entry
    twin: int = 0
    """1, 2 … where a server lists the same name more than once."""
    pieces: tuple[str, ...] = ()
    """What of its name the filter matches."""


Row = Heading | Item


def row_key(row: Row) -> Hashable:
    """What makes a row the same after the list was read again."""
    return (row.server, row.text) if isinstance(row, Heading) else (row.entry.ref, row.twin)


class CatalogPane(Pane, scope="catalog"):
    """Tabs with counts, a filter, one list, and a legend."""

    number = 2
    filter = getters.query_one("#filter", Input)
    entries = getters.query_one("#entries", VirtualList)
    tasks = getters.query_one(TaskList)
    legend = getters.query_one("#legend", Static)

    @dataclass
    class Highlighted(Message):
        """The cursor came to another entry; None where there is none."""

        entry: Entry | None

    @dataclass
    class Opened(Message):
        """The person wants to work with an entry."""

        entry: Entry

    @dataclass
    class ScopeLifted(Message):
        """All servers are shown again."""

    def __init__(self) -> None:
        super().__init__()
        self.kind: EntryKind = "tool"
        self.server = ""
        """The one server that is shown; empty for all."""
        self._counts: dict[str, str] = {}
        """What stands behind the word of each tab."""
        self._folded: set[str] = set()
        self._filters: dict[EntryKind, tuple[tuple[Entry, ...], NameFilter]] = {}
        self._similar: tuple[str, EntryKind, tuple[Item, ...]] = ("", "tool", ())
        """What the index found: for which text and kind, and which entries."""

    def compose(self) -> ComposeResult:
        yield Tabs(*(Tab(words[0], id=tab) for tab, words in TITLES.items()))
        yield Input(placeholder="filter: words of a name or description", id="filter", compact=True)
        yield VirtualList(self._draw, key=row_key, id="entries")
        yield TaskList()
        yield Static(id="legend", markup=False)

    def on_mount(self) -> None:
        self.show_title("Catalog")
        self.filter.display = self.tasks.display = False
        self.refresh_kinds(KINDS)

    def entry_point(self) -> Widget:
        return self.tasks if self.on_tasks else self.entries

    @property
    def on_tasks(self) -> bool:
        """Whether the tab with tasks is shown."""
        return self.query_one(Tabs).active == TASKS

    @property
    def current(self) -> Entry | None:
        """The entry under the cursor."""
        row = self.entries.row
        return row.entry if isinstance(row, Item) else None

    # Showing

    def refresh_kinds(self, kinds: Iterable[EntryKind]) -> None:
        """Show what servers offer of these kinds now."""
        for kind in kinds:
            entries = self._all(kind)
            count = sum(entry.change is None or entry.change.kind != "gone" for entry in entries)
            changed = glyphs().changed if any(entry.change for entry in entries) else ""
            self._counts[kind] = f"{count:,}{changed}" if count or entries else ""
            if kind == self.kind:
                self._fill()
        self._label_tabs()

    def refresh_tasks(self) -> None:
        """Show the tasks as they are now."""
        count = self.tasks.reload()
        self._counts[TASKS] = f"{count:,}" if count else ""
        self._label_tabs()

    def show_server(self, server: str) -> None:
        """Show one server alone, or all of them again."""
        if server != self.server:
            self.server = server
            self._fill(keep=False)
            self.refresh_kinds(KINDS)

    def show_entry(self, ref: Ref) -> None:
        """Put the cursor on an entry, whatever hid it."""
        self.query_one(Tabs).active = self.kind = ref.kind
        self._folded.discard(ref.server)
        if self.server and self.server != ref.server:
            self.server = ""
        self._end_filter()
        self._fill()
        if not self.entries.go_to((ref, 0)):
            self.entries.go_to((ref, 1))

    def _label_tabs(self) -> None:
        """Whole words where they fit; else short ones, and no tab for tasks as long as there are none."""
        tabs, width = self.query_one(Tabs), self.content_size.width
        for short in (0, 1):
            labels = {tab: f"{words[short]} {self._counts.get(tab, '')}".strip() for tab, words in TITLES.items()}
            if short and not self._counts.get(TASKS) and not self.on_tasks:
                del labels[TASKS]
            if sum(map(len, labels.values())) + len(labels) - 1 <= width:
                break
        for tab in tabs.query(Tab):
            tab.display = tab.id in labels
            if (label := labels.get(tab.id or "", "")) != tab.label_text:
                tab.label = Content(label)

    def on_resize(self) -> None:
        self._label_tabs()
        self._show_legend()

    def _show_legend(self) -> None:
        long, short = _LEGENDS[self.kind]
        self.legend.update(long if len(long) <= self.content_size.width else short)
        self.legend.display = bool(self.entries.rows) and not self.on_tasks

    def _all(self, kind: EntryKind) -> tuple[Entry, ...]:
        names = self.app.studio.manager.names()
        shown = [self.server] if self.server in names else names
        listings = [self.app.studio.catalog.listing(name, kind) for name in shown]
        return tuple(entry for listing in listings for entry in (*listing.entries, *listing.gone))

    def _fill(self, keep: bool = True) -> None:
        text, entries = self.filter.value.strip(), self._all(self.kind)
        rows = self._matching(entries, text) if text else self._grouped(entries)
        self.entries.empty = self._empty(text)
        self.entries.show(rows, keep=keep)
        self.show_title(f"Catalog of {self.server}" if self.server else "Catalog")
        self._note(text, len(entries), rows)

    def _grouped(self, entries: Sequence[Entry]) -> list[Row]:
        """Under a heading for each server, as soon as there are two of them."""
        items = _items(entries)
        servers = list(dict.fromkeys(entry.ref.server for entry in entries))
        if len(servers) < 2:
            return list(items)
        rows: list[Row] = []
        by_server: dict[str, list[Item]] = {server: [] for server in servers}
        for item in items:
            by_server[item.entry.ref.server].append(item)
        for server, own in by_server.items():
            rows.append(Heading(server, len(own), server in self._folded))
            rows += [] if server in self._folded else own
        return rows

    def _matching(self, entries: tuple[Entry, ...], text: str) -> list[Row]:
        """What has all words of the filter; below it what the index finds similar."""
        known = self._filters.get(self.kind)
        if known is None or known[0] != entries:
            known = self._filters[self.kind] = entries, NameFilter(entries, known[1] if known else None)
        found, pieces = known[1].find(text), Matcher(text).pieces
        rows: list[Row] = [Item(entries[at], 0, pieces(name_of(entries[at]))) for at in found.places]
        if not found.named:
            self._ask_index(text)
            similar = self._similar[2] if self._similar[:2] == (text, self.kind) else ()
            shown = {row_key(row) for row in rows}
            more = [item for item in similar if row_key(item) not in shown]
            rows += [Heading("", len(more), False, "similar"), *more] if more else []
        return rows

    def _ask_index(self, text: str) -> None:
        if self._similar[:2] != (text, self.kind):
            self.app.attempt(self, self._find_similar(text, self.kind), "filter")

    async def _find_similar(self, text: str, kind: EntryKind) -> None:
        scope = Scope(kinds=frozenset((kind,)), servers=frozenset((self.server,)) if self.server else None)
        try:
            found = await self.app.studio.index.ask(text, scope=scope, limit=_SIMILAR, typing=True)
        except StudioError:  # half a pattern, as while typing
            return
        by_ref = {entry.ref: entry for entry in self._all(kind)}
        items = tuple(Item(by_ref[hit.ref]) for hit in found.hits if hit.ref in by_ref)
        self._similar = text, kind, items
        if self.filter.value.strip() == text and self.kind == kind:
            self._fill()

    def _empty(self, text: str) -> str:
        if text:
            return f"Nothing matches. Esc ends the filter; {self.app.key_of('search')} searches everything."
        return servers.nothing(self.app.studio, self.kind, self.app.key_of("new_server"), self.server)

    def _note(self, text: str, count: int, rows: Sequence[Row]) -> None:
        entries = [row.entry for row in rows if isinstance(row, Item)]
        if text:
            self.show_note(f"{len(entries):,} of {count:,}")
        elif changes := servers.changes([entry.change for entry in entries if entry.change]):
            self.show_note(changes)
        else:
            self.show_note("remembered" if any(entry.remembered for entry in entries) else "")
        self._show_legend()

    # Rows

    def _draw(self, row: Row, width: int, selected: bool) -> Line:
        if isinstance(row, Heading):
            if row.text:
                return [(cut(row.text, width, more=glyphs().more), "dim")]
            fold = glyphs().folded if row.folded else glyphs().unfolded
            return spread([(f"{fold} {safe(row.server, 60)}", "strong")], [(f"{row.entries:,}", "dim")], width)
        entry = row.entry
        mark, name = self._sign_of(entry), self._title_of(row)
        tail = self._tail(entry, width - cell_len(name) - 4)
        room = width - width_of([mark, *tail])
        left: list[Piece] = [mark, *mark_matches(cut_inside(name, room, more=glyphs().more), row.pieces, _look(entry))]
        description = safe(entry.view.description, 200).strip()
        left_room = room - cell_len(name) - 2
        if width >= _DESCRIBED and left_room > 12 and description and isinstance(entry.view, (ToolView, PromptView)):
            left.append((f"  {cut(description, left_room, more=glyphs().more)}", "dim"))
        return spread(left, tail, width)

    def _sign_of(self, entry: Entry) -> Piece:
        if entry.problem:
            return f"{glyphs().bad} ", "bad"
        if entry.ref.kind == "resource" and self.app.studio.subscriptions.get(entry.ref.server, entry.ref.name):
            return f"{glyphs().watched} ", "accent"
        if isinstance(entry.view, ToolView):
            return f"{RISKS[entry.view.risk]} ", entry.view.risk
        return f"{glyphs().dot} ", "dim"

    def _title_of(self, row: Item) -> str:
        entry = row.entry
        named = entry.ref.kind in ("tool", "prompt")
        name = safe(entry.ref.name if named else entry.view.title or entry.view.name or entry.ref.name, 300)
        return f"{name or '(no name)'} #{row.twin}" if row.twin else name or "(no name)"

    def _tail(self, entry: Entry, room: int) -> list[Piece]:
        """What stands at the right: what is wrong, what has changed, what a resource is."""
        pieces: list[Piece] = []
        if entry.problem:
            return [(f" {cut(safe(entry.problem, 200), max(0, room), more=glyphs().more)}", "bad")]
        if entry.change is not None:
            pieces.append((f" {entry.change.kind}", {"new": "ok", "changed": "warn", "gone": "dim"}[entry.change.kind]))
        if entry.skill:
            pieces.append((" skill", "accent"))
        facts: list[str] = []
        if isinstance(entry.view, ResourceView):
            facts = [entry.view.mime_type, units.size(entry.view.size) if entry.view.size else "", entry.ref.name]
        elif isinstance(entry.view, PromptView) and entry.view.arguments:
            facts = [units.plural(len(entry.view.arguments), "argument")]
        for fact in filter(None, facts):
            text = f"  {cut(safe(fact, 200), 48, more=glyphs().more)}"
            if cell_len(text) + width_of(pieces) <= room:
                pieces.append((text, "dim"))
        return pieces

    # What the person does

    @on(Tabs.TabActivated)
    def show_tab(self, event: Tabs.TabActivated) -> None:
        event.stop()
        on_tasks = event.tab.id == TASKS
        had_focus = self.has_focus_within
        self.tasks.display, self.entries.display = on_tasks, not on_tasks
        self._label_tabs()
        self._show_legend()
        for kind in KINDS:
            if kind == event.tab.id and kind != self.kind:
                self.kind = kind
                for server in self.app.studio.manager.names():
                    self.app.studio.manager.look(server, kind)
                self._fill(keep=False)
        if had_focus and not self.query_one(Tabs).has_focus:
            self.screen.set_focus(self.entry_point())

    @on(VirtualList.Highlighted, "#entries")
    def preview(self, event: VirtualList.Highlighted) -> None:
        event.stop()
        self.post_message(self.Highlighted(self.current))

    @on(VirtualList.Chosen, "#entries")
    def choose(self, event: VirtualList.Chosen) -> None:
        event.stop()
        self.action_open()

    @on(Input.Changed, "#filter")
    def filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(keep=False)

    @on(Input.Submitted, "#filter")
    def filter_taken(self, event: Input.Submitted) -> None:
        event.stop()
        self.entries.focus()
        self.action_open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tasks have actions of their own."""
        return not self.on_tasks or action not in (
            "open",
            "toggle_item",
            "find",
            "copy",
            "copy_as",
            "follow",
            "mark_seen",
        )

    def action_open(self) -> None:
        row = self.entries.row
        if isinstance(row, Heading):
            self.action_toggle_item()
        elif row is not None:
            self.post_message(self.Opened(row.entry))

    def action_toggle_item(self) -> None:
        """Fold or unfold the server of the row."""
        row = self.entries.row
        server = row.server if isinstance(row, Heading) else row.entry.ref.server if row else ""
        if server and not self.filter.value:
            self._folded ^= {server}
            self._fill()
            self.entries.go_to((server, ""))

    def action_find(self) -> None:
        self.filter.display = True
        self.screen.set_focus(self.filter)  # at once: what is typed next belongs to it

    def step_back(self) -> bool:
        """End the filter, else show all servers again; False where there is nothing to step back from."""
        if self.filter.value or self.filter.has_focus:
            self._end_filter()
            self.entries.focus()
        elif self.server:
            self.show_server("")
            self.post_message(self.ScopeLifted())
        else:
            return False
        return True

    def _end_filter(self) -> None:
        self.filter.value = ""
        self.filter.display = False

    def action_repeat(self) -> None:
        """Refresh the lists."""
        manager = self.app.studio.manager
        ready = [name for name in manager.names() if manager.status(name).state == "ready"]
        shown = [name for name in ready if self.server in ("", name)]
        for name in shown:
            manager.refresh(name)
        if shown:
            self.app.say(f"Refreshing the lists of {units.plural(len(shown), 'server')}.")
        else:
            self.app.say("No server is connected, so there is nothing to refresh.", "warning")

    def action_copy(self) -> None:
        if (entry := self.current) is not None:
            self.app.copy(entry.ref.name, entry.ref.name)

    def action_follow(self) -> None:
        """Subscribe to the resource, or no longer."""
        entry = self.current
        if entry is None or entry.ref.kind != "resource":
            self.app.say("Only resources can be subscribed to.", "warning")
        elif self.app.studio.subscriptions.switch(entry.ref.server, entry.ref.name):
            self.app.say(f"Subscribing to {safe(entry.ref.name, 200)}.")
        else:
            self.app.say(f"Unsubscribed from {safe(entry.ref.name, 200)}.")
        self.entries.refresh()

    def action_mark_seen(self) -> None:
        """Nothing of this kind is new, changed or gone any more."""
        count = self.app.studio.catalog.acknowledge_all(self.kind)
        self.app.say(f"{units.plural(count, 'change')} marked as seen." if count else "Nothing has changed.")

    def action_pages(self) -> None:
        """Read the list of a server page by page."""
        row = self.entries.row
        server = row.server if isinstance(row, Heading) else row.entry.ref.server if row else self.server
        if not server:
            self.app.say("No server is connected, so there is no list to read.", "warning")
            return
        from mcp_studio.tui.screens.pages import Pages

        self.app.push_screen(Pages(server, self.kind))


def _items(entries: Sequence[Entry]) -> list[Item]:
    """Rows of entries, duplicates numbered."""
    count: dict[Ref, int] = {}
    for entry in entries:
        count[entry.ref] = count.get(entry.ref, 0) + 1
    if len(count) == len(entries):
        return [Item(entry) for entry in entries]
    seen: dict[Ref, int] = {}
    rows: list[Item] = []
    for entry in entries:
        seen[entry.ref] = seen.get(entry.ref, 0) + 1
        rows.append(Item(entry, seen[entry.ref] if count[entry.ref] > 1 else 0))
    return rows


def _look(entry: Entry) -> str:
    gone = entry.change is not None and entry.change.kind == "gone"
    return "dim" if entry.remembered or entry.problem or gone else ""
