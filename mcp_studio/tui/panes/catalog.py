"""Pane 2: tools, resources, templates and prompts of all servers; the cursor previews, enter opens."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

from rich.cells import cell_len
from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.jsontext import Json
from mcp_studio.present import connections, definition, units
from mcp_studio.protocol.views import PromptView, ResourceView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.search import names
from mcp_studio.session.groups import MARK
from mcp_studio.tui.call_draft import draft_of
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.panes.tasks import TaskList
from mcp_studio.tui.views.lines import FilterInput, TabLine
from mcp_studio.tui.views.rows import Line, Piece, VirtualList, cut, cut_inside, glyphs, mark_matches, spread, width_of

TASKS = "tasks"
TITLES: Mapping[str, tuple[str, str]] = {
    "tool": ("Tools", "Tools"), "resource": ("Resources", "Res"), "template": ("Templates", "Tpl"),
    "prompt": ("Prompts", "Pr"), TASKS: ("Tasks", "Tasks"),
}  # fmt: skip
"""The name of each tab, and a shorter name."""
_LONGEST = ("template", "resource", "prompt")
"""The tabs in the order in which they switch to their shorter name."""
RISKS = {"read": "r", "write": "w", "destructive": "d"}
"""The glyph of each risk; the risk itself is the look of the glyph."""
_LEGENDS: Mapping[EntryKind, str] = {
    "tool": "[$risk-read]r[/] reads [$risk-write]w[/] writes [$risk-destructive]d[/] destroys",
    "resource": "enter reads it", "template": "enter fills in the URI", "prompt": "enter gets it",
}  # fmt: skip
"""The last line of the pane, by kind."""
_DESCRIBED = 44
"""The least width of a row, in cells, that shows a description after the name."""
_LEAST = 12
"""The least width of a description."""


class Heading(NamedTuple):
    """The heading above the entries of one server, or above the tools of a group."""

    server: str
    """The name of the server, or the group's name with its mark."""
    entries: int
    folded: bool


class Item(NamedTuple):
    """An entry as a row."""

    entry: Entry
    group: str = ""
    """It stands for the tool of that name of whichever member of the group is the best."""


Row = Heading | Item


def row_key(row: Row) -> Hashable:
    """The identity of a row after the list was read again."""
    if isinstance(row, Heading):
        return row.server
    return (row.group, row.entry.ref.name) if row.group else row.entry.ref


def _start_of(rows: Sequence[Row]) -> int:
    """The first entry that no heading hides."""
    return next((at for at, row in enumerate(rows) if isinstance(row, Item)), 0)


def _group_of(row: Row) -> str:
    """The server or `@group` whose heading is above the row."""
    return row.server if isinstance(row, Heading) else f"{MARK}{row.group}" if row.group else row.entry.ref.server


class NameFilter:
    """Narrows a shown list at once, even before the index knows the entries; duplicates are rows, too."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._rows: list[names.Row] = []

    @cached_property
    def items(self) -> Sequence[Item]:
        """The entries as rows."""
        return [Item(entry) for entry in self.entries]

    @cached_property
    def column(self) -> int:
        """The characters of the longest name: descriptions begin in one column, behind it."""
        return max((len(name_of(entry)) for entry in self.entries), default=0)

    def find(self, text: str = "", *, near: bool = False) -> names.Matches:
        """The places of the entries that match the typed text. The first search reads all names, which is slow.

        Args:
            near: if no entry matches, find similar names.
        """
        self._rows = self._rows or [_words_of(entry) for entry in self.entries]
        matcher = names.Matcher(text)
        return matcher.nearest(self._rows) if near else matcher.ranked(self._rows)

    def found(self, text: str, *, near: bool = False) -> list[Row]:
        """The rows that match all words of the typed text, the best first."""
        return [self.items[at] for at in self.find(text, near=near).places]


def _words_of(entry: Entry) -> names.Row:
    view, server = entry.view, entry.ref.server
    address = f"{server[: names.LONGEST_NAME]}.{entry.ref.name[: names.LONGEST_NAME]}"
    rest = f"{address} {view.name} {view.description[: names.LONGEST_TEXT]}"
    return names.row(name_of(entry), rest, title=view.title, server=server)


def name_of(entry: Entry) -> str:
    """The name of an entry in a list; foreign, not yet safe."""
    if entry.ref.kind in ("tool", "prompt"):
        return entry.ref.name
    return entry.view.title or entry.view.name or entry.ref.name


class CatalogPane(Pane, scope="catalog"):
    """The tabs with counts, a filter, one list, and a legend."""

    entries = getters.query_one("#entries", VirtualList)

    @dataclass
    class Opened(Message):
        """The person wants to work with an entry."""

        entry: Entry

    def __init__(self) -> None:
        super().__init__()
        self.filter = FilterInput(placeholder="filter: words of a name or description", id="filter", compact=True)
        self.filter.display = False
        self.tasks = TaskList()
        self.tasks.display = False
        self.kind: EntryKind = "tool"
        self.server = ""
        """The only server that is shown; empty for all servers."""
        self._counts: dict[str, str] = {}
        """The count after the name of each tab."""
        self._folded: set[str] = set()
        self._filter_by_kind: dict[EntryKind, NameFilter] = {}
        """The filter of each kind, of the entries that were last shown."""
        self._several = False
        """Whether rows without headings belong to several servers, so that each names its own."""

    def compose(self) -> ComposeResult:
        yield TabLine({tab: words[0] for tab, words in TITLES.items()})
        yield VirtualList(self._draw, key=row_key, id="entries")
        yield self.tasks
        yield Static(id="legend", markup=False)

    def entry_point(self) -> Widget:
        return self.tasks if self.on_tasks else self.entries

    @property
    def on_tasks(self) -> bool:
        """Whether the tab for tasks is active."""
        return self.tab == TASKS

    @property
    def current(self) -> Entry | None:
        """The entry under the cursor, or that of the task under it."""
        if self.on_tasks:
            ref = self.tasks.row and self.tasks.row.ref
            return next(iter(self.app.studio.catalog.find(ref)), None) if ref else None
        return self._entry_of(row) if isinstance(row := self.entries.row, Item) else None

    @property
    def heading(self) -> str:
        """The server or `@group` whose heading is under the cursor, or the only server that is shown; else empty."""
        row, names = self.entries.row, self.app.studio.manager.names()
        return row.server if isinstance(row, Heading) else self.server or (names[0] if len(names) == 1 else "")

    def _entry_of(self, row: Item) -> Entry:
        """The entry of a row; for a tool of a group, the tool of the member that would get a call now."""
        studio, ref = self.app.studio, row.entry.ref
        best = [one.server for one in studio.groups.members(row.group, ref.name)[:1]] if row.group else []
        return next((entry for name in best for entry in studio.catalog.find(ref._replace(server=name))), row.entry)

    # Showing

    def refresh_lists(self, keep: bool | None = None) -> None:
        """Show the present offers of the servers."""
        if self.server not in self.app.studio.manager.names():
            self.server = ""
        for kind in KINDS:
            entries = self._all(kind)
            count = sum(entry.change is None or entry.change.kind != "gone" for entry in entries)
            changed = glyphs().changed if any(entry.change for entry in entries) else ""
            self._counts[kind] = f"{count:,}{changed}" if entries else ""
        self._fill(keep)
        self._label_tabs()

    def refresh_tasks(self) -> None:
        """Show the present tasks."""
        count = self.tasks.reload()
        self._counts[TASKS] = f"{count:,}" if count else ""
        self._label_tabs()

    def show_server(self, server: str) -> bool:
        """Show only one server, or all servers again; False if that changes nothing."""
        if server == self.server or (server and len(self.app.studio.manager.names()) == 1):
            return False
        self.server = server
        self.refresh_lists(keep=False)
        return True

    def show_entry(self, ref: Ref) -> None:
        """Put the cursor on an entry, even if a filter, scope or fold hides it."""
        self.tabs_line.active = self.kind = ref.kind
        self._folded.discard(ref.server)
        self.server = ref.server if self.server == ref.server else ""
        self._fill()
        if not self.entries.go_to(ref) and self.end_filter():
            self.show_entry(ref)

    def _label_tabs(self) -> None:
        """Use full names if they fit, else some short ones; as a last step, drop the counts of inactive tabs."""
        tabs, width = self.tabs_line, self.content_size.width
        labels, most = dict[str, str](), len(_LONGEST)
        only = {tabs.active: self._counts.get(tabs.active, "")}
        for short, counts in (*((short, self._counts) for short in range(most + 1)), (most, only)):
            words = {tab: TITLES[tab][tab in _LONGEST[:short]] for tab in TITLES}
            labels = {tab: f"{word} {counts.get(tab, '')}".strip() for tab, word in words.items()}
            if sum(map(len, labels.values())) + len(labels) <= width:
                break
        tabs.show(labels)

    on_resize = _label_tabs

    def _all(self, kind: EntryKind) -> tuple[Entry, ...]:
        shown = [self.server] if self.server else self.app.studio.manager.names()
        listings = (self.app.studio.catalog.listing(name, kind) for name in shown)
        return tuple(chain.from_iterable((*listing.entries, *listing.gone) for listing in listings))

    def _fill(self, keep: bool | None = None) -> None:
        """Show the rows; the cursor stays on its row if `keep` says so.

        By default it leaves its row only if that was the first, and another server now comes before it.
        """
        text, known = self.filter.value.strip(), self._filter(self.kind)
        rows = known.found(text) if text else self._grouped(known.items)
        if text and not rows and not self._elsewhere(text):
            rows = known.found(text, near=True)
        self._several = bool(text) and len({row.entry.ref.server for row in rows if isinstance(row, Item)}) > 1
        self.entries.empty = "" if rows else self._empty(text)
        start, row = _start_of(rows), self.entries.row
        if keep is None and row and rows and self.entries.cursor == _start_of(self.entries.rows):
            keep = _group_of(row) == _group_of(rows[start])
        self.entries.show(rows, keep=keep is not False, start=start)
        self.show_title(f"Catalog of {self.server}" if self.server else "Catalog")
        news = definition.change_counts([entry.change for entry in known.entries if entry.change])
        note = news or "remembered" * any(entry.remembered for entry in known.entries)
        note = f"{len(rows):,} of {len(known.entries):,}" if text else note
        self.show_note("" if self.on_tasks else note)
        self.show_text("legend", Content.from_markup(_LEGENDS[self.kind]))
        self.query_one("#legend").display = bool(rows) and not self.on_tasks

    def _grouped(self, items: Sequence[Item]) -> list[Row]:
        """The rows under a heading per server if there are several servers; the tools of groups come first."""
        rows = [] if self.server or self.kind != "tool" else [*self._routed(items)]
        for server, group in groupby(items, lambda item: item.entry.ref.server):
            own = list(group)
            if len(own) == len(items):
                return [*items]
            rows += [Heading(server, len(own), server in self._folded), *([] if server in self._folded else own)]
        return rows

    def _routed(self, items: Sequence[Item]) -> Iterator[Row]:
        """The tools of groups with several members, each tool once."""
        found: dict[str, list[Item]] = {}
        for server, own in groupby(items, lambda item: item.entry.ref.server):
            if group := self.app.studio.groups.of(server):
                found.setdefault(group, []).extend(item._replace(group=group) for item in own)
        for group, own in found.items():
            tools, name = {item.entry.ref.name: item for item in reversed(own)}, f"{MARK}{group}"
            if len({item.entry.ref.server for item in own}) > 1:
                yield Heading(name, len(tools), name in self._folded)
                yield from () if name in self._folded else reversed(tools.values())

    def _filter(self, kind: EntryKind) -> NameFilter:
        entries = self._all(kind)
        if kind not in self._filter_by_kind or self._filter_by_kind[kind].entries != entries:
            self._filter_by_kind[kind] = NameFilter(entries)
        return self._filter_by_kind[kind]

    def _elsewhere(self, text: str) -> dict[EntryKind, int]:
        """The number of matching entries of each other kind; kinds without a match are left out."""
        return {kind: count for kind in KINDS if kind != self.kind and (count := len(self._filter(kind).found(text)))}

    def _empty(self, text: str) -> str:
        if text:
            elsewhere = ", ".join(f"{count:,} in {TITLES[kind][0]}" for kind, count in self._elsewhere(text).items())
            here = f"Nothing matches here{f', but {elsewhere}: enter goes there' if elsewhere else ''}."
            return f"{here} Esc ends the filter; {self.app.key_of('search')} searches everything."
        return connections.empty_text(self.app.studio, self.kind, self.app.key_of("new_server"), self.server)

    # Rows

    def _draw(self, row: Row, width: int, selected: bool) -> Line:
        if isinstance(row, Heading):
            fold = glyphs().folded if row.folded else glyphs().unfolded
            return spread([(f"{fold} {safe(row.server, 60)}", "strong")], [(f"{row.entries:,}", "dim")], width)
        entry = self._entry_of(row)
        mark, name = self._sign_of(entry), safe(name_of(entry), 300) or "(no name)"
        where = f"{glyphs().sent} {entry.ref.server}" if row.group else entry.ref.server if self._several else ""
        if row.group and cell_len(name) + len(where) + 4 > width:
            where = ""  # names that begin alike have to be told apart
        beside: list[Piece] = [(f"  {safe(where, 20)}", "dim")] if where else []
        column = min(self._filter_by_kind[self.kind].column, width * 9 // 20) if width >= _DESCRIBED else 0
        gap = max(0, column - cell_len(name)) + 2
        tail = [*self._tail(entry, width - cell_len(name) - gap - width_of(beside) - 2, column), *beside]
        room = width - width_of([mark, *tail])
        gone = entry.change is not None and entry.change.kind == "gone"
        look = "dim" if entry.remembered or entry.problem or gone else ""
        matches = names.Matcher(self.filter.value).pieces(name_of(entry)) if self.filter.value else ()
        left: list[Piece] = [mark, *mark_matches(cut_inside(name, room), matches, look)]
        if column and (rest := room - cell_len(name) - gap) >= _LEAST:
            named = isinstance(entry.view, (ToolView, PromptView))
            about, shorten = (entry.view.description, cut) if named else (entry.ref.name, cut_inside)
            left.append((f"{' ' * gap}{shorten(safe(about, 300).strip(), rest)}", "dim"))
        return spread(left, tail, width)

    def _sign_of(self, entry: Entry) -> Piece:
        if entry.problem:
            return f"{glyphs().bad} ", "bad"
        if entry.ref.kind == "resource" and self.app.studio.subscriptions.get(entry.ref.server, entry.ref.name):
            return f"{glyphs().watched} ", "accent"
        if isinstance(entry.view, ToolView):
            return f"{RISKS[entry.view.risk]} ", entry.view.risk
        return f"{glyphs().dot} ", "dim"

    def _tail(self, entry: Entry, room: int, described: int) -> list[Piece]:
        """The cells at the right: the problem, the change, the type of a resource, the calls of a tool."""
        pieces: list[Piece] = []
        if entry.problem:
            return [(f" {cut(safe(entry.problem, 200), max(0, room))}", "bad")]
        if entry.change is not None:
            pieces.append((f" {entry.change.kind}", {"new": "ok", "changed": "warn", "gone": "dim"}[entry.change.kind]))
        if entry.skill:
            pieces.append((" skill", "accent"))
        facts, numbers = list[str](), self.app.studio.numbers
        if isinstance(entry.view, ResourceView):
            size = units.size(entry.view.size) if entry.view.size else ""
            facts = [entry.view.mime_type, size, "" if described else entry.ref.name]
        elif isinstance(entry.view, PromptView) and entry.view.arguments:
            facts = [units.plural(len(entry.view.arguments), "argument")]
        elif (tally := numbers.of(entry.ref.server, "tools/call", entry.ref.name)) and tally.p50 is not None:
            count = f"{tally.count:,}" if tally.count < 1_000 else f"{tally.count / 1_000:,.1f}k"
            facts = [f"{count}x {units.duration(tally.p50)}"]
        for fact in filter(None, facts):
            text = f"  {cut(safe(fact, 200), 48)}"
            # A description stands between; without one, the blanks of the fact part it from the name.
            if cell_len(text) + width_of(pieces) + (_LEAST if described else -2) <= room:
                pieces.append((text, "dim"))
        return pieces

    # What the person does

    @on(TabLine.Activated)
    def show_tab(self) -> None:
        had_focus = self.has_focus_within
        self.tasks.display, self.entries.display = self.on_tasks, not self.on_tasks
        self._label_tabs()
        before = self.kind
        for kind in KINDS:
            if kind == self.tab and kind != before:
                self.kind = kind
                for server in self.app.studio.manager.names():
                    self.app.studio.manager.refresher.look(server, kind)
        self._fill(keep=self.kind == before)
        if had_focus and not self.tabs_line.has_focus:
            self.screen.set_focus(self.entry_point())

    @on(Input.Changed, "#filter")
    def filter_changed(self) -> None:
        """The best match has the cursor; without a filter the row that had it, even if its heading was folded."""
        if not self.filter.value and isinstance(row := self.entries.row, Item):
            self._folded.discard(_group_of(row))
        self._fill(keep=not self.filter.value)

    def action_find(self) -> None:
        """Read the names in a thread while nothing is typed yet: those of 10,000 tools take 100 ms."""
        super().action_find()
        self.run_worker(self._filter(self.kind).find, thread=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Tasks have actions of their own."""
        return super().check_action(action, parameters) and (not self.on_tasks or action in ("repeat", "pages"))

    @on(VirtualList.Chosen, "#entries")
    @on(Input.Submitted, "#filter")
    def action_open(self) -> None:
        self.screen.set_focus(self.entries)
        row = self.entries.row
        if isinstance(row, Heading):
            self.action_toggle_item()
        elif row is not None:
            entry = self._entry_of(row)
            if row.group:
                self.app.say(f"{MARK}{row.group}.{entry.ref.name} goes to {entry.ref.server} now.")
            self.post_message(self.Opened(entry))
        elif text := self.filter.value.strip():
            self.tabs_line.active = next(iter(self._elsewhere(text)), self.kind)

    def action_toggle_item(self) -> None:
        """Fold or unfold the server of the row."""
        if (row := self.entries.row) is not None and not self.filter.value:
            self._folded ^= {_group_of(row)}
            self._fill()
            self.entries.go_to(_group_of(row))

    def step_back(self) -> bool:
        """End the filter, or else show all servers again; False if there is nothing to go back from."""
        return self.end_filter() or self.show_server("")

    def action_repeat(self) -> None:
        """Refresh the lists of the shown servers."""
        manager = self.app.studio.manager
        shown = [self.server] if self.server else manager.names()
        ready = [name for name in shown if manager.status(name).state == "ready"]
        for name in ready:
            manager.refresher.again(name)
        if ready:
            self.app.say(f"Refreshing the lists of {units.plural(len(ready), 'server')}.")
        else:
            self.app.say("No server is connected, so there is nothing to refresh.", "warning")

    def action_query(self) -> None:
        """Query the shown list by an expression."""
        from mcp_studio.tui.screens.query import Query

        shown: list[Json] = [row.entry.view.raw for row in self.entries.rows if isinstance(row, Item)]
        self.app.push_screen(Query(f"the list of {self.kind}s", lambda: shown))

    def action_copy(self) -> None:
        if (entry := self.current) is not None:
            self.app.copy(entry.ref.name, entry.ref.name)

    def action_follow(self) -> None:
        """Subscribe to the resource, or unsubscribe."""
        if (entry := self.current) is not None:
            self.app.say(draft_of(entry).switch_subscription(self.app.studio))
            self.entries.refresh()

    def action_mark_seen(self) -> None:
        """Mark all entries of this kind as seen, so that none is new, changed or gone any more."""
        count = self.app.studio.catalog.acknowledge_all(self.kind)
        self.app.say(f"{units.plural(count, 'change')} marked as seen." if count else "Nothing has changed.")

    def action_accept_change(self) -> None:
        """Accept the tool's present definition, so that calls no longer ask about the change."""
        entry = self.current
        if entry is not None and entry.change is not None and entry.change.unaccepted:
            self.app.studio.catalog.accept(entry.ref)
            self.app.say(f"The definition of {entry.ref.name} is accepted as it is now.")
        else:
            self.app.say("Its definition has not changed since it was accepted.", "warning")

    def action_forget(self) -> None:
        if (entry := self.current) is not None:
            self.app.forget(entry.ref.server, entry.ref.name)

    def action_pages(self) -> None:
        row = self.entries.row
        server = row.server if isinstance(row, Heading) else row.entry.ref.server if row else self.server
        if not server:
            self.app.say("No server is connected, so there is no list to read.", "warning")
            return
        from mcp_studio.tui.screens.pages import Pages

        self.app.push_screen(Pages(server, self.kind))
