"""Pane 2: tools, resources, templates and prompts of all servers, filtered as one types."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message

from mcp_studio.catalog.listing import Entry
from mcp_studio.catalog.ref import KINDS, EntryKind
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.safetext import safe
from mcp_studio.tui.bindings import refuse
from mcp_studio.tui.panels.filter_line import FilterLine
from mcp_studio.tui.panels.pane import Pane, Tab
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, mark_matches, spread, width_of
from mcp_studio.tui.views.matcher import Matcher, words_of
from mcp_studio.tui.views.virtual_list import VirtualList

_NAMES: Mapping[EntryKind, tuple[str, str]] = {
    "tool": ("Tools", "Tools"), "resource": ("Resources", "Res"), "template": ("Templates", "Tpl"),
    "prompt": ("Prompts", "Pr"),
}  # fmt: skip
RISKS = {"read": ("r", "risk-read"), "write": ("w", "risk-write"), "destructive": ("!", "risk-destructive")}
"""Risk of a tool -> its mark and its colour."""


class Row(NamedTuple):
    """One entry as the list shows it."""

    entry: Entry
    twin: int
    """1, 2 … where a server lists the same name more than once, else 0."""


def rows_of(entries: Iterable[Entry]) -> list[Row]:
    """Rows of entries, duplicates numbered."""
    rows: list[Row] = []
    seen: dict[object, int] = {}
    for entry in entries:
        number = seen[entry.ref] = seen.get(entry.ref, 0) + 1
        rows.append(Row(entry, number))
    return [row if seen[row.entry.ref] > 1 else Row(row.entry, 0) for row in rows]


def _key(row: Row) -> Hashable:
    return row.entry.ref, row.twin


def _searched(row: Row) -> tuple[str, str]:
    ref, view = row.entry.ref, row.entry.view
    return f"{ref.server}.{ref.name}", f"{view.name} {view.title}\n{view.description[:500]}"


class EntryList(VirtualList[Row]):
    """A list whose risk marks have the theme's colours."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"view--risk-read", "view--risk-write", "view--risk-destructive"}


class CatalogPanel(Pane, scope="catalog"):
    """Tabs with counts, a filter, and one list."""

    number = 2

    class Opened(Message):
        """An entry is to be shown in the call pane; `enter` says that the person wants to go there."""

        def __init__(self, entry: Entry, enter: bool) -> None:
            super().__init__()
            self.entry = entry
            self.enter = enter

    class CopyWanted(Message):
        """The person wants the name of an entry, or the command line that calls it, on the clipboard."""

        def __init__(self, entry: Entry, command: bool) -> None:
            super().__init__()
            self.entry = entry
            self.command = command

    def __init__(self) -> None:
        super().__init__(id="catalog")
        self._rows: dict[EntryKind, list[Row]] = {kind: [] for kind in KINDS}
        self._servers = 0
        self._query = ""
        self._why: dict[EntryKind, str] = dict.fromkeys(KINDS, "")
        self._matcher: Matcher | None = None
        self.kind: EntryKind = "tool"
        self.filter = FilterLine()
        self.list = EntryList(self._draw_row, key=_key)
        self._home: Hashable = None

    def compose(self) -> ComposeResult:
        """A filter above a list."""
        yield self.filter
        yield self.list

    def on_mount(self) -> None:
        """Draw the tabs before anything is known."""
        self._draw_tabs()

    def show(self, kind: EntryKind, entries: Sequence[Entry], servers: int, why: str) -> None:
        """Show what all servers offer of one kind; `why` is said where there is nothing."""
        self._why[kind] = why
        self._rows[kind] = rows_of(entries)
        self._servers = servers
        if kind == self.kind:
            self._matcher = None
            self._fill(keep=True)
        self._draw_tabs()

    def show_kind(self, kind: EntryKind) -> None:
        """Go to the tab of a kind."""
        self.kind = kind
        self._matcher = None
        self._fill(keep=False)
        self._draw_tabs()

    def _teach(self) -> None:
        text = "Nothing here has all these words; esc ends the filter." if self._words else self._why[self.kind]
        if text != self.list.empty:
            self.list.empty = text

    def on_pane_tab_chosen(self, event: Pane.TabChosen) -> None:
        """Another kind."""
        event.stop()
        for kind in KINDS:
            if kind == event.tab:
                self.show_kind(kind)

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        """Show only what has all the words."""
        event.stop()
        if not self._query:
            self._note_home()
        self._query = event.text
        self._fill(keep=not self._words)

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        """Back to the list; enter opens what is under the cursor, esc goes back to where the filter began."""
        event.stop()
        self.screen.set_focus(self.list)
        if event.how == "escape" and self._home is not None:
            self.list.go_to_key(self._home)
        if event.how == "enter":
            self.action_open()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Keep it to this pane."""
        event.stop()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click opens."""
        event.stop()
        self.action_open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a filter is typed, enter and slash belong to its input: what was typed before counts."""
        return action not in ("open", "filter") or not self.filter.has_focus_within

    def action_open(self) -> None:
        """Open the entry under the cursor."""
        if self.list.row is None:
            refuse(self, "There is nothing to open here.")
        else:
            self._note_home()
            self.post_message(self.Opened(self.list.row.entry, True))

    async def action_filter(self) -> None:
        """Start typing a filter."""
        self._note_home()
        await self.filter.open()

    def _note_home(self) -> None:
        """The row under the cursor is the one to come back to."""
        self._home = _key(self.list.row) if self.list.row else None

    def action_copy(self) -> None:
        """Copy the name of the entry under the cursor."""
        self._copy(command=False)

    def action_copy_command(self) -> None:
        """Copy the command line for the entry under the cursor."""
        self._copy(command=True)

    def _copy(self, *, command: bool) -> None:
        if self.list.row is None:
            refuse(self, "There is nothing to copy here.")
        else:
            self.post_message(self.CopyWanted(self.list.row.entry, command))

    @property
    def _words(self) -> tuple[str, ...]:
        return words_of(self._query)

    def _fill(self, keep: bool) -> None:
        rows = self._rows[self.kind]
        if self._words:
            if self._matcher is None:
                self._matcher = Matcher(map(_searched, rows))
            rows = [rows[place] for place in self._matcher.find(self._query)]
        self.list.set_rows(rows, keep=keep)
        self._teach()
        shown = f"{len(rows):,} of {len(self._rows[self.kind]):,}" if self._words else ""
        if not shown and any(row.entry.remembered for row in rows):
            shown = f"{glyphs().half} remembered"
        self.show_note(Content(shown) if shown else None)

    def _draw_tabs(self) -> None:
        tabs = [Tab(kind, *_NAMES[kind], count=f"{len(self._rows[kind]):,}") for kind in KINDS]
        self.show_tabs(tabs, self.kind)

    def _draw_row(self, row: Row, width: int, selected: bool) -> Line:
        entry, view = row.entry, row.entry.view
        if entry.problem:
            mark: Piece = (f"{glyphs().bad} ", "bad")
        elif isinstance(view, ToolView):
            sign, colour = RISKS[view.risk]
            mark = (f"{sign} ", colour)
        else:
            mark = (f"{glyphs().dot} ", "dim")
        look = "dim" if entry.remembered or entry.problem else ""
        name = safe(entry.ref.name if self.kind in ("tool", "prompt") else view.title or view.name or entry.ref.name)
        pieces = [mark, *mark_matches(name or "(no name)", self._words, look)]
        if row.twin:
            pieces.append((f" #{row.twin}", "warn"))
        return spread(pieces, self._tail(row, width - width_of(pieces)), width)

    def _tail(self, row: Row, room: int) -> list[Piece]:
        """What stands at the right: what is wrong, the address, the server."""
        entry = row.entry
        pieces: list[Piece] = []
        if entry.remembered:
            pieces.append((f" {glyphs().half}", "dim"))
        if entry.problem:
            return [(f" {cut(safe(entry.problem), max(0, room - 1), more=glyphs().more)}", "bad")]
        text = safe(entry.ref.server) if self._servers > 1 else ""
        if isinstance(entry.view, PromptView) and entry.view.arguments and room > 30:
            text = f"{len(entry.view.arguments)} args  {text}"
        if text and room >= len(text) + 3:
            pieces.insert(0, (f" {text}", "dim"))
        return pieces
