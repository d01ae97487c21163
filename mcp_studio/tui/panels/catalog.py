"""Pane 2: tools, resources, templates and prompts of all servers, filtered as one types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.events import Resize
from textual.message import Message
from textual.widget import Widget

from mcp_studio.catalog.listing import KINDS, Entry, EntryKind, Ref
from mcp_studio.session.tasks import Task
from mcp_studio.tui import changed
from mcp_studio.tui.bindings import refuse
from mcp_studio.tui.panels import catalog_rows
from mcp_studio.tui.panels.catalog_filter import CatalogFilter
from mcp_studio.tui.panels.catalog_rows import Row
from mcp_studio.tui.panels.pane import Pane, Tab
from mcp_studio.tui.panels.task_list import TaskList
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece
from mcp_studio.tui.views.virtual_list import VirtualList

_NAMES: Mapping[EntryKind, tuple[str, str]] = {
    "tool": ("Tools", "Tools"), "resource": ("Resources", "Res"), "template": ("Templates", "Tpl"),
    "prompt": ("Prompts", "Pr"),
}  # fmt: skip


TASKS = "tasks"
"""The tab that is of no kind."""
_OF_ENTRIES = ("open", "filter", "watch", "mark_seen", "pages", "copy")
"""Actions on entries, which the list of tasks has not."""


class CatalogPanel(CatalogFilter, scope="catalog"):
    """Tabs with counts, a filter, and one list."""

    number = 2

    class Opened(Message):
        """An entry is to be shown in the call pane; `enter` says that the person wants to go there."""

        def __init__(self, entry: Entry, enter: bool) -> None:
            super().__init__()
            self.entry = entry
            self.enter = enter

    class CopyWanted(Message):
        """The person wants an entry on the clipboard: its `name`, its `command` line, or `as` they choose."""

        def __init__(self, entry: Entry, what: str) -> None:
            super().__init__()
            self.entry = entry
            self.what = what

    class Wanted(Message):
        """Something is to be done with the list of a kind, or of the server of the row under the cursor.

        `looked`: the person went there; `seen`: all of it counts as seen; `pages`: it is to be read page by page;
        `watch`: the entry is to be watched, or no longer; `sought`: the index is to be asked for what is `sought`.
        """

        def __init__(self, what: str, kind: EntryKind, ref: Ref | None = None) -> None:
            super().__init__()
            self.what = what
            self.kind: EntryKind = kind
            self.ref = ref

    def __init__(self) -> None:
        super().__init__(id="catalog")
        self._fresh = ""
        self._servers = 0
        self.tasks = TaskList()
        self.on_tasks = False
        """The tab with tasks is shown in the place of a kind."""
        self._has_tasks = False
        self.marks: Mapping[Ref, list[Piece]] = {}
        """For what is watched: the sign in front of it, and what stands behind its name."""
        self.use: Callable[[Ref], Sequence[Piece]] = lambda ref: ()
        """How an entry did when it was used; nothing where it was not."""

    def compose(self) -> ComposeResult:
        """A filter above a list."""
        yield self.filter
        yield self.list
        yield self.tasks

    def entry_point(self) -> Widget:
        """The list, also while a filter stands above it."""
        return self.tasks if self.on_tasks else self.list

    def on_mount(self) -> None:
        """Draw the tabs before anything is known."""
        self.tasks.display = False
        self._draw_tabs()

    def on_resize(self, event: Resize) -> None:
        """The note may have more or less room."""
        super().on_resize(event)
        self._draw_note()

    def show(self, kind: EntryKind, entries: Sequence[Entry], servers: int, why: str) -> None:
        """Show what all servers offer of one kind; `why` is said where there is nothing."""
        self._why[kind] = why
        self._rows[kind] = catalog_rows.rows_of(entries)
        self._servers = servers
        if kind == self.kind:
            self._fill(keep=self.list.used or self.list.top > 0)
        self._draw_tabs()

    def show_kind(self, kind: EntryKind) -> None:
        """Go to the tab of a kind."""
        self._turn(tasks=False)
        self.kind, self.list.used = kind, False
        self._fill(keep=False)
        self._draw_tabs()
        self.post_message(self.Wanted("looked", kind))

    def show_tasks(self, tasks: tuple[Task, ...], servers: int, wanted: bool) -> None:
        """Show these tasks in their tab, which is there where it is wanted."""
        self.tasks.show(tasks, servers)
        self._has_tasks = wanted or self.on_tasks
        self._draw_tabs()

    def _turn(self, *, tasks: bool) -> None:
        """Show the list of tasks, or that of entries; the focus goes along."""
        if tasks != self.on_tasks:
            had_focus = self.has_focus_within
            self.on_tasks = tasks
            self.list.display, self.tasks.display = not tasks, tasks
            self.filter.display = not tasks
            if had_focus:
                self.screen.set_focus(self.tasks if tasks else self.list)

    def show_fresh(self, text: str) -> None:
        """Say in the border for how long the list is fresh, where nothing more important stands there."""
        if text != self._fresh:
            self._fresh = text
            self._draw_note()

    def on_pane_tab_chosen(self, event: Pane.TabChosen) -> None:
        """Another kind."""
        event.stop()
        if event.tab == TASKS:
            self._turn(tasks=True)
            self._draw_note()
            self._draw_tabs()
        for kind in KINDS:
            if kind == event.tab:
                self.show_kind(kind)

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Keep it to this pane."""
        event.stop()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click opens."""
        event.stop()
        if self.on_tasks:
            self.tasks.action_open_task()
        else:
            self.action_open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a filter is typed, enter and slash belong to its input: what was typed before counts."""
        if self.on_tasks and action in _OF_ENTRIES:
            return False
        return action not in ("open", "filter") or not self.filter.has_focus_within

    def action_open(self) -> None:
        """Open the entry under the cursor."""
        if self.list.row is None:
            refuse(self, "There is nothing to open here.")
        else:
            self._note_home()
            self.post_message(self.Opened(self.list.row.entry, True))

    def action_watch(self) -> None:
        """Watch the resource under the cursor, or no longer."""
        self.post_message(self.Wanted("watch", self.kind, self.list.row.entry.ref if self.list.row else None))

    def action_mark_seen(self) -> None:
        """Nothing of this kind is new, changed or gone any more."""
        self.post_message(self.Wanted("seen", self.kind))

    def action_pages(self) -> None:
        """See the list as it comes, a page at a time."""
        row = self.list.row
        self.post_message(self.Wanted("pages", self.kind, row.entry.ref if row else None))

    def action_copy(self, what: str) -> None:
        """Copy the entry under the cursor: its `name`, its `command` line, or `as` what the person chooses."""
        if self.list.row is None:
            refuse(self, "There is nothing to copy here.")
        else:
            self.post_message(self.CopyWanted(self.list.row.entry, what))

    def _draw_note(self) -> None:
        """What matters most: how much the filter leaves, what is new, what is only remembered, how fresh it is."""
        if self.on_tasks:
            self.show_note(None)
            return
        rows = self._rows[self.kind]
        shown = f"{self._filtered.count:,} of {len(rows):,}" if self._filtered is not None else ""
        shown = shown or changed.summary(
            (row.entry.change for row in rows if row.entry.change), max(0, self.outer_size.width - 8)
        )
        if not shown and any(row.entry.remembered for row in rows):
            shown = f"{glyphs().half} remembered"
        shown = shown or self._fresh
        self.show_note(Content(shown) if shown else None)

    def _draw_tabs(self) -> None:
        tabs = [Tab(kind, *_NAMES[kind], count=self._count(kind)) for kind in KINDS]
        if self._has_tasks:
            tabs.append(Tab(TASKS, "Tasks", "Tk", count=f"{self.tasks.row_count:,}" if self.tasks.row_count else ""))
        self.show_tabs(tabs, TASKS if self.on_tasks else self.kind)

    def _count(self, kind: EntryKind) -> str:
        """How many there are; with a sign where something is new, changed or gone."""
        changes = [row.entry.change for row in self._rows[kind] if row.entry.change]
        count = len(self._rows[kind]) - sum(change.kind == "gone" for change in changes)
        return f"{count:,}{glyphs().changed if changes else ''}"

    def seek(self) -> None:
        """Have the index asked for what is `sought`."""
        # Past the own queue, in which enter may wait for the answer.
        self.screen.post_message(self.Wanted("sought", self.kind))

    def _draw_row(self, row: Row, width: int, selected: bool) -> Line:
        watched = self.marks.get(row.entry.ref, ())
        pieces = self._filtered.pieces(row) if self._filtered is not None else ()
        return catalog_rows.draw(
            row, width, catalog_rows.Marks(pieces, watched, self._servers > 1, self.use(row.entry.ref))
        )
