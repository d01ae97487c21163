"""The main screen: five panes in three arrangements, and who does what a person asks for in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import DescendantFocus, Resize

from mcp_studio.catalog.listing import KINDS, EntryKind
from mcp_studio.tui.bindings import bindings
from mcp_studio.tui.bridge import Bridge, StudioChanged
from mcp_studio.tui.painter import COLUMNS, ROWS
from mcp_studio.tui.panels.call import CallPanel
from mcp_studio.tui.panels.catalog import CatalogPanel
from mcp_studio.tui.panels.keybar import KeyBar
from mcp_studio.tui.panels.pane import Pane
from mcp_studio.tui.panels.result import ResultPanel
from mcp_studio.tui.panels.servers import ServersPanel
from mcp_studio.tui.panels.status import StatusLine
from mcp_studio.tui.panels.task_list import TaskList
from mcp_studio.tui.panels.trace import TracePanel
from mcp_studio.tui.panels.trace_beside import DetailPane
from mcp_studio.tui.screens.arranging import Arranging
from mcp_studio.tui.screens.asking import Asking
from mcp_studio.tui.screens.calling import Calling
from mcp_studio.tui.screens.facts import catalog_entries, status_facts, teach
from mcp_studio.tui.screens.frame import Frame
from mcp_studio.tui.screens.handling import Handling
from mcp_studio.tui.screens.looking import Looking
from mcp_studio.tui.screens.pulse import Pulse
from mcp_studio.tui.screens.serving import Serving
from mcp_studio.tui.screens.tasking import Tasking
from mcp_studio.tui.screens.watching import Watching

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.panels.history import HistoryList

SPLIT = 180
"""Cells from which on the trace has the exchange under its cursor beside it."""


class MainScreen(Frame):
    """The five panes. What they need is done by `Arranging`, `Serving`, `Calling` and `Asking`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("main")
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (COLUMNS, "-narrow"), (110, "-wide"), (160, "-huge")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (ROWS, "-short"), (36, "-tall")]  # noqa: RUF012

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self.studio = studio
        self.status = StatusLine()
        self.servers = ServersPanel()
        self.catalog = CatalogPanel()
        self.call = CallPanel()
        self.result = ResultPanel()
        self.trace = TracePanel(studio.trace)
        self.detail = DetailPane(self.trace)
        self.keys = KeyBar()
        self.bridge = Bridge(studio, self)
        self.arranging = Arranging(self)
        self.serving = Serving(self)
        self.calling = Calling(self)
        self.looking = Looking(self)
        self.watching = Watching(self)
        self.asking = Asking(self)
        self.tasking = Tasking(self)
        self.handling = Handling(self)
        self.pulse = Pulse(self)

    def compose(self) -> ComposeResult:
        """Status, panes, keys."""
        yield self.status
        with Container(id="work", classes="work"):
            with Container(id="side", classes="side"):
                yield self.servers
                yield self.catalog
            with Container(id="desk", classes="desk"):
                yield self.call
                yield self.result
        with Container(id="bottom", classes="bottom"):
            yield self.trace
            yield self.detail
        yield self.keys

    def on_mount(self) -> None:
        """Show what is known before the first paint, then listen."""
        self.bridge.open()
        self.refresh_servers()
        for kind in KINDS:
            self.refresh_catalog(kind)
        self.set_interval(1, self._second)
        self.set_focus((self.catalog if self.studio.manager.names() else self.servers).entry_point())
        self.call_after_refresh(self.serving.first_questions)
        self.call_after_refresh(self.tasking.begin)

    def on_unmount(self) -> None:
        """Stop listening."""
        self.bridge.close()

    # What changed

    def on_studio_changed(self, event: StudioChanged) -> None:
        """Pull what changed out of the stores."""
        if event.servers or "tool" in event.kinds:
            self.refresh_servers()
        for kind in KINDS:
            if kind in event.kinds or event.servers:
                self.refresh_catalog(kind)
        if event.inbox:
            self.asking.inbox_changed()
        if event.watched:
            self.watching.changed(event.watched)
        if event.tasks or event.servers:
            self.tasking.refresh()
        if event.called:
            self.calling.remembering.changed(event.called)
        self.calling.state_changed()

    def refresh_servers(self) -> None:
        """Show every server as it is now."""
        self.status.show(status_facts(self.studio))
        self.serving.show()
        self.arranging.servers_changed()

    def refresh_catalog(self, kind: EntryKind) -> None:
        """Show one kind as it is now."""
        entries, servers = catalog_entries(self.studio, kind), len(self.studio.manager.names())
        self.catalog.show(kind, entries, servers, teach(self.studio, kind))

    def _second(self) -> None:
        if any(self.studio.manager.status(name).state == "retrying" for name in self.studio.manager.names()):
            self.refresh_servers()
        else:
            self.status.show(status_facts(self.studio))
        self.looking.tick()
        self.watching.tick()
        self.tasking.tick()

    # What panes ask for

    def on_servers_panel_wanted(self, event: ServersPanel.Wanted) -> None:
        """Something is to be done with a server."""
        self.serving.wanted(event.what, event.server)

    async def on_catalog_panel_opened(self, event: CatalogPanel.Opened) -> None:
        """An entry is to be shown. No worker does it: what is typed meanwhile waits, and goes into its form."""
        self.workers.cancel_group(self, "open")
        await self.calling.open(event.entry, go=event.enter)

    def on_catalog_panel_wanted(self, event: CatalogPanel.Wanted) -> None:
        """Something is to be done with a list."""
        self.looking.wanted(event.what, event.kind, event.ref)

    def on_task_list_wanted(self, event: TaskList.Wanted) -> None:
        """Something is to be done with a task."""
        self.tasking.wanted(event.what, event.task)

    def on_history_list_wanted(self, event: HistoryList.Wanted) -> None:
        """Something is to be done with an earlier or a saved call."""
        self.calling.remembering.wanted(event.what, event.row)

    def on_call_panel_edited(self, event: CallPanel.Edited) -> None:
        """Something was typed."""
        self.calling.edited(event.value, event.pending)

    def on_call_panel_wanted(self, event: CallPanel.Wanted) -> None:
        """Something is to be done with what is open."""
        self.calling.wanted(event.what)

    def on_catalog_panel_copy_wanted(self, event: CatalogPanel.CopyWanted) -> None:
        """An entry is to be copied: its name, or the call of it."""
        self.calling.copying.wanted(event.what, event.entry)

    def on_result_panel_wanted(self, event: ResultPanel.Wanted) -> None:
        """Something is to be done with the result."""
        self.calling.wanted(event.what)

    def on_result_panel_block_wanted(self, event: ResultPanel.BlockWanted) -> None:
        """Something is to be done with a part of the result."""
        self.handling.wanted(event.what, event.block)

    def on_trace_panel_highlighted(self, event: TracePanel.Highlighted) -> None:
        """Show the exchange beside the trace, where there is room."""
        self.detail.show(event.entry)

    def on_trace_panel_opened(self, event: TracePanel.Opened) -> None:
        """Show the exchange: beside the trace, or over everything."""
        self.looking.exchange(event.entry)

    def on_resize(self, event: Resize) -> None:
        """A wide screen has room for the exchange beside the trace."""
        self.set_class(event.size.width >= SPLIT, "-split")

    # Panes

    def pane(self, name: str) -> Pane:
        """The pane of that name."""
        return self.arranging.pane(name)

    @property
    def focused_pane(self) -> Pane | None:
        """The pane that has the focus."""
        return self.arranging.focused

    def go_to(self, pane: Pane) -> None:
        """Show a pane and give it the focus."""
        self.arranging.go_to(pane)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Other keys act now."""
        self.arranging.focus_moved()

    @property
    def studio_app(self) -> StudioApp:
        """The app, as what it is."""
        return cast("StudioApp", self.app)

    # Actions

    def action_focus_pane(self, name: str) -> None:
        """Go to a pane; the trace overlay goes away when it is already there."""
        self.arranging.visit(name)

    def action_turn_tab(self, step: int) -> None:
        """The next or previous tab of the focused pane."""
        pane = self.focused_pane
        if pane is None or not pane.turn_tab(step):
            self.studio_app.say("This pane has no tabs.")

    def action_zoom(self) -> None:
        """Make the focused pane fill the screen, or put all panes back."""
        self.arranging.toggle_zoom()

    def action_sidebar(self) -> None:
        """Hide or show servers and catalog."""
        self.arranging.toggle_side()

    def action_back(self) -> None:
        """One step back: out of zoom, out of the trace, from the form to the catalog."""
        pane = self.focused_pane
        if self.has_class("-zoom"):
            self.arranging.zoom(None)
        elif pane is self.detail:
            self.go_to(self.trace)
        elif pane is self.trace and self.trace.filter.text:
            self.run_worker(self.arranging.end_filter(self.trace))
        elif pane is self.trace:
            self.arranging.leave_trace()
        elif self.calling.cancellable and pane in (self.call, self.result):
            self.calling.cancel()
        elif pane in (self.call, self.result):
            self.go_to(self.catalog)
        elif isinstance(pane, CatalogPanel | ServersPanel):
            self.run_worker(self.arranging.end_filter(pane))

    def action_jump(self) -> None:
        """Letters over the panes."""
        self.arranging.jump()

    def action_save_call(self) -> None:
        """Save the call that is open."""
        self.calling.remembering.save()

    def action_saved_calls(self) -> None:
        """Choose a saved call."""
        self.calling.remembering.choose()

    def action_sessions(self) -> None:
        """Open a session."""
        self.trace.action_sessions()

    def action_call(self) -> None:
        """Run what is open."""
        self.calling.run()

    def action_watch(self) -> None:
        """Watch the open resource, or no longer."""
        self.watching.switch_open()

    def action_as_task(self) -> None:
        """Run the open tool as a task, or not."""
        self.calling.switch_task()

    def action_background(self) -> None:
        """Let go of the task that runs here."""
        self.calling.leave()

    def action_new_server(self) -> None:
        """Add a server."""
        self.serving.add()

    def action_refresh(self) -> None:
        """List again what the server offers."""
        self.serving.refresh()
