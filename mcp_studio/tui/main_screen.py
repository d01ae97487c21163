"""The main screen: five panes, the messages between them, and the person's arrangement of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import ClassVar, NamedTuple

from textual import events, getters, on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, BindingType
from textual.containers import Horizontal, Vertical
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.catalog.listing import Entry, Ref
from mcp_studio.jsontext import Json, mapping
from mcp_studio.paths import read_object, write_object
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import ACTIONS, PANES, Action, bindings, scoped
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.bridge import Bridge, StudioChanged
from mcp_studio.tui.panes.call import CallPane
from mcp_studio.tui.panes.catalog import CatalogPane
from mcp_studio.tui.panes.header import StudioHeader
from mcp_studio.tui.panes.history import HistoryList
from mcp_studio.tui.panes.inbox import InboxController
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.panes.result import ResultPane
from mcp_studio.tui.panes.servers import ServersPane
from mcp_studio.tui.panes.tasks import TaskList
from mcp_studio.tui.panes.trace import TracePane
from mcp_studio.tui.views.lines import KeyBar, TabLine
from mcp_studio.tui.views.rows import VirtualList


class Border(NamedTuple):
    """A border that the person can drag, which changes the width or height of one widget. The trace has it on top."""

    name: str
    """The id of the widget."""
    wide: bool
    least: int


_BORDERS = {
    "side-width": Border("side", True, 20), "servers-height": Border("servers", False, 3),
    "call-height": Border("call", False, 5), "call-width": Border("call", True, 30),
    "trace-height": Border("trace", False, 5),
}  # fmt: skip
"""By the name of the border in the file."""


class Layout:
    """The person's changes to the sizes in the style sheet."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._shares: dict[str, float | None] = {}
        """Sizes in hundredths of the screen, so that a small terminal keeps what was arranged on a large one."""
        self._saved: dict[str, Json] = {}
        self._file = screen.app.studio.paths.state / "layout.json"
        self.dragged: str | None = None
        """The border that the person drags."""

    def restore(self) -> None:
        """Arrange the panes as in the last run; an unreadable part of the file is ignored."""
        found = read_object(self._file, largest=10_000)
        shares = mapping(found.get("shares")).items()
        known = ((key, size) for key, size in shares if key in _BORDERS and isinstance(size, (int, float)))
        self._shares = {key: size for key, size in known if 0 < size < 100}
        self.apply()
        tabs = mapping(found.get("tabs"))
        for pane in self._screen.panes:
            tab = tabs.get(pane.scope)
            if pane.tabs is not None and tab in pane.tabs.labels:
                pane.tabs.active = str(tab)
            if found.get("zoom") == pane.scope:
                self._screen.maximize(pane, container=False)
        table = self._screen.trace.table
        table.follows = table.following = found.get("follow") is not False

    def save(self) -> None:
        """Write the arrangement for the next run if it has changed."""
        screen = self._screen
        state: dict[str, Json] = {
            "version": 2,
            "shares": {**self._shares},
            "tabs": {pane.scope: pane.tabs.active for pane in (screen.catalog, screen.call) if pane.tabs},
            "zoom": screen.maximized.scope if isinstance(screen.maximized, Pane) else "",
            "follow": screen.trace.table.follows,
        }
        if state != self._saved:
            self._saved = state
            with suppress(OSError):
                write_object(self._file, state)

    def reset(self) -> None:
        """Give every pane its size from the style sheet again."""
        self._shares = dict.fromkeys(self._shares)
        self.apply()
        self._shares.clear()

    def grab(self, x: int, y: int) -> bool:
        """Start to drag the border at a place of the screen; False if there is no border."""
        borders = (key for key, border in _BORDERS.items() if self._fits(border) and self._lies_at(border, x, y))
        self.dragged = next(borders, None)
        return self.dragged is not None

    def drag(self, event: events.MouseMove) -> None:
        if self.dragged is not None:
            border = _BORDERS[self.dragged]
            region = self._screen.query_one(f"#{border.name}").region
            size = event.screen_x - region.x + 1 if border.wide else event.screen_y - region.y + 1
            if border.name == "trace":
                size = region.bottom - event.screen_y
            self._shares[self.dragged] = round(100 * size / self._screen.size[not border.wide], 2)
            self.apply()

    def _lies_at(self, border: Border, x: int, y: int) -> bool:
        region = self._screen.query_one(f"#{border.name}").region
        if border.wide:
            return x in (region.right - 1, region.right) and region.y <= y < region.bottom
        return y == (region.y if border.name == "trace" else region.bottom - 1) and region.x <= x < region.right

    def _fits(self, border: Border) -> bool:
        """Whether a border exists: only a huge screen has `call-width`; a trace over the other panes has none."""
        if border.name == "trace":
            return not self._screen.has_class("-trace")
        return border.name != "call" or border.wide == self._screen.has_class("-huge")

    def apply(self) -> None:
        """Give panes the person's sizes. Those without one have that of the style sheet; setting it lays out all."""
        for key, wanted in self._shares.items():
            border = _BORDERS[key]
            share = wanted if self._fits(border) else None
            styles = self._screen.query_one(f"#{border.name}").styles
            size = share and max(border.least, round(share * self._screen.size[not border.wide] / 100))
            if border.wide:
                styles.width, styles.max_width = size, size and "80%"
            else:
                styles.height, styles.max_height = size, size and "80%"


class MainScreen(Screen[None]):
    """Connects the panes: each pane knows its own part of the studio, and no other pane."""

    app = getters.app(StudioApp)
    AUTO_FOCUS = ""
    """If a result arrives as a dialog closes, the result pane takes the focus; "*" would focus the tabs."""
    BINDINGS: ClassVar[list[BindingType]] = bindings("main")
    header = getters.query_one(StudioHeader)
    servers = getters.query_one(ServersPane)
    catalog = getters.query_one(CatalogPane)
    call = getters.query_one(CallPane)
    result = getters.query_one(ResultPane)
    trace = getters.query_one(TracePane)

    def __init__(self, ask_passphrases_in: Callable[[StudioApp | None], None] = lambda app: None) -> None:
        super().__init__()
        self._ask_passphrases_in = ask_passphrases_in
        self._now = {"cancel": False, "pending": False}
        """Whether there is something for these keys of the screen."""
        self._stale = False
        """Whether metrics of messages have changed since they were shown."""

    def compose(self) -> ComposeResult:
        self.app.fit(self)
        yield StudioHeader()
        with Horizontal(id="work"):
            with Vertical(id="side"):
                yield ServersPane()
                yield CatalogPane()
            with Vertical(id="desk"):
                yield CallPane()
                yield ResultPane()
        yield TracePane()
        yield KeyBar(self._key_label)
        yield Static("The terminal is too small (needs 40x10).", id="too-small")

    def on_mount(self) -> None:
        self.bridge = Bridge(self.app, self)
        self.inbox = InboxController(self.app, self, lambda call: self.open_ref(call.ref))
        self.arrangement = Layout(self)
        self.arrangement.restore()
        self.on_studio_changed(self.bridge.open())
        self.set_interval(1, self._second)
        self.set_focus(self.catalog.entry_point())
        if self.catalog.current is None:  # forms are imported after the first drawing
            self._preview()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._ask_passphrases_in(self.app)
        self.app.studio.tasks.list_all()
        self.servers.begin()

    def on_unmount(self) -> None:
        self._ask_passphrases_in(None)

    # What changed

    def on_studio_changed(self, event: StudioChanged) -> None:
        """Pull the changes from the stores."""
        if "servers" in event.stores:
            self.servers.refresh_servers()
            self.catalog.refresh_lists()
            self.call.refresh_entry()
        if "inbox" in event.stores:
            self.inbox.refresh_requests()
        if "resources" in event.stores:
            self.call.tell_result()
            self.catalog.entries.refresh()
        if "tasks" in event.stores:
            self.catalog.refresh_tasks()
        if "calls" in event.stores:
            for history in self.query(HistoryList):
                history.reload()
        if event.stores & {"servers", "inbox"}:
            self.header.show()
            self._show_keys()
        if "trace" in event.stores:
            self.trace.table.refresh_entries()
            self._stale = True

    def _second(self) -> None:
        """Show changed counts and countdowns, once per second."""
        self.app.reload_themes()
        self.arrangement.save()
        self.trace.tell_held()
        if self.is_active:  # under a dialog, each change would repaint the whole screen
            self.servers.tick()
            if self._stale:
                self._stale = not self.app.studio.numbers.look()
                self.header.show()
                self.catalog.entries.refresh()
            if self.call.draft is None:
                self.call.refresh_entry()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Show the changes that came while a dialog was open."""
        event.refresh_styles = False  # everything has its styles since it was mounted; Textual would find them again
        self.trace.table.refresh_entries()
        self.header.show()
        self.result.show_progress()

    # What panes say to one another

    @on(VirtualList.Highlighted, "#entries, TaskList")
    @on(TabLine.Activated)
    def catalog_highlighted(self) -> None:
        """Show the entry after the cursor is drawn: forms are slow, and the cursor may move on meanwhile."""
        self.call_after_refresh(self._preview)

    def _preview(self) -> None:
        """Show the entry or the server under the cursor.

        A form or result with the focus stays, even if the cursor moves because its server is gone.
        """
        pane = self.focused_pane
        if pane is self.servers:
            self.call.show_server(self.servers.heading)
        elif pane in (self.catalog, None) and self.catalog.current is not None:
            self.call.preview(self.catalog.current)
        elif pane in (self.catalog, None):
            self.call.show_server("" if self.catalog.on_tasks else self.catalog.heading)

    def on_catalog_pane_opened(self, event: CatalogPane.Opened) -> None:
        self.call.open(event.entry)

    def on_servers_pane_selected(self, event: ServersPane.Selected) -> None:
        self.catalog.show_server(event.server)
        self.call_after_refresh(self._preview)

    def on_servers_pane_trace_requested(self, event: ServersPane.TraceRequested) -> None:
        self.show_message(event.number)

    def on_call_pane_shown(self, event: CallPane.Shown) -> None:
        """Show the newest call. A new call moves the focus from its form to the result, where it can be cancelled and
        answered; and from a filter to the list below it, where letters are keys again.
        """
        if self.result.place.is_attached:  # the result is not attached if the studio is closed while servers start
            self.result.show(event.draft, event.call)
        if event.elsewhere and event.draft is not None:
            self.catalog.show_entry(event.draft.entry.ref)
        pane, typing = self.focused_pane, isinstance(self.focused, Input)
        if event.started and self.app.screen is self and pane is not None and (typing or pane is self.call):
            self.go_to(self.result if pane is self.call else pane)
        self._show_keys()

    def _show_keys(self) -> None:
        """Show the keys for a running call and for pending requests while there are some."""
        before, self._now = self._now, {"cancel": self.call.running, "pending": bool(self.app.studio.inbox.pending)}
        if before != self._now:  # drawing the line of keys draws all that stands beside it
            self.refresh_bindings()

    def _key_label(self, bound: ActiveBinding) -> str | None:
        """Hide the keys for what there is not, and for what has to wait for a running call."""
        waits, now = self._now["cancel"] and bound.node is self.result, self._now if bound.node is self else {}
        return "" if now.get(bound.binding.action, not waits) else None

    def on_result_pane_rerun_requested(self) -> None:
        self.call.action_submit(partial(self.call.start, fresh=True))

    def on_result_pane_read_requested(self, event: ResultPane.ReadRequested) -> None:
        self.call.read_link(event.server, event.uri, event.title)

    def on_trace_pane_fill_requested(self, event: TracePane.FillRequested) -> None:
        if (entry := self.show_entry(event.ref)) is not None:
            self.call.fill(event.value, entry)
            self.go_to(self.call)

    def on_task_list_opened(self, event: TaskList.Opened) -> None:
        from mcp_studio.tui.screens.task import TaskDialog

        def close(result: bool | None) -> None:
            task, ref = self.app.studio.tasks.get(*event.task.key), event.task.ref
            if result and task is not None and ref is not None and (entry := self.show_entry(ref)) is not None:
                self.call.show_task(task, entry)
                self.go_to(self.result)

        self.app.push_screen(TaskDialog(event.task), close)

    def show_entry(self, ref: Ref) -> Entry | None:
        """Show an entry in the catalog and in the call pane; None if no server lists it."""
        found = self.app.studio.catalog.find(ref)
        if not found:
            self.app.say(f"{safe(ref)} is not listed by its server.", "warning")
            return None
        self.catalog.show_entry(ref)
        self.call.preview(found[0])
        return found[0]

    # Panes

    @property
    def panes(self) -> tuple[Pane, ...]:
        """The five panes in the order of their numbers."""
        return self.servers, self.catalog, self.call, self.result, self.trace

    @property
    def focused_pane(self) -> Pane | None:
        nodes = self.focused.ancestors_with_self if self.focused is not None else ()
        return next((node for node in nodes if isinstance(node, Pane)), None)

    def go_to(self, pane: Pane) -> None:
        """Show a pane and give it the focus; the call pane shows the entry under the cursor."""
        self._preview()
        if self.maximized not in (None, pane):
            self.minimize()
        if (pane is self.trace) != self.has_class("-trace"):
            self._show_trace_alone(pane is self.trace)
        self.set_focus(pane.entry_point())  # at once: the keys typed next belong to the pane

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Close a trace that covers the other panes when another pane gets the focus."""
        if (pane := self.focused_pane) is not None:
            if pane is not self.trace and self.has_class("-trace"):
                self._show_trace_alone(False)
            # Only a slim screen uses this class; elsewhere, an update would restyle all widgets for nothing.
            self.set_class(pane in (self.call, self.result), "-desk", update=self.has_class("-slim"))
            self.call_after_refresh(self._preview)

    def _show_trace_alone(self, on: bool) -> None:
        """Let the trace cover the other panes on a small screen, or not."""
        self.set_class(on, "-trace")
        self.arrangement.apply()

    def on_resize(self) -> None:
        self.call_after_refresh(self.arrangement.apply)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start to drag a border between panes."""
        if self.maximized is None and self.arrangement.grab(event.screen_x, event.screen_y):
            self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.arrangement.drag(event)

    def on_mouse_up(self) -> None:
        self.arrangement.dragged = None
        self.release_mouse()

    # Actions

    def action_reset_layout(self) -> None:
        self.arrangement.reset()

    def action_pane_servers(self) -> None:
        self.go_to(self.servers)

    def action_pane_catalog(self) -> None:
        self.go_to(self.catalog)

    def action_catalog(self, kind: str) -> None:
        self._jumped((self.catalog, kind))

    def action_pane_call(self) -> None:
        self.go_to(self.call)

    def action_pane_result(self) -> None:
        self.go_to(self.result)

    def action_pane_trace(self) -> None:
        covers = self.has_class("-short") and self.focused_pane is self.trace
        self.go_to(self.catalog if covers else self.trace)

    def action_next_pane(self, step: int = 1) -> None:
        shown = [pane for pane in self.panes if pane.display and pane.region]
        at = shown.index(self.focused_pane) if self.focused_pane in shown else 0
        if shown:  # no pane is shown before the first layout, or on a terminal that is too small
            self.go_to(shown[(at + step) % len(shown)])

    def action_previous_pane(self) -> None:
        self.action_next_pane(-1)

    def action_next_tab(self, step: int = 1) -> None:
        if self.focused_pane is not None and (tabs := self.focused_pane.tabs) is not None:
            self.app.after_typing(partial(tabs.action_next_tab, step))

    def action_previous_tab(self) -> None:
        self.action_next_tab(-1)

    def action_zoom(self) -> None:
        if self.maximized is not None:
            self.minimize()
        elif self.focused_pane is not None:
            self.maximize(self.focused_pane, container=False)

    def action_back(self) -> None:
        """Go one step back: out of the zoom, a filter, a scope, the trace, or the form; old messages go, too."""
        self.app.clear_notifications()
        pane = self.focused_pane
        if self.maximized is not None:
            self.minimize()
        elif not ((pane and pane.step_back()) or (pane is self.servers and self.catalog.show_server(""))):
            self.go_to(self.catalog)

    def action_submit(self) -> None:
        self.app.after_typing(self._preview)  # the cursor may have moved since the last drawing
        self.app.after_typing(self.call.action_submit)

    def action_cancel(self) -> None:
        self.call.action_cancel()

    def action_copy_as(self) -> None:
        self._preview()
        self.call.action_copy_as()

    def action_save_call(self) -> None:
        self._preview()
        self.call.action_save_call()

    async def action_server(self, action: str, name: str = "") -> None:
        """Run an action on a server, else on the shown one, for buttons in other panes."""
        if (name := name or self.call.server) in self.app.studio.manager.names():
            self.servers.go_to(name)
            await self.servers.run_action(action)

    async def action_trace(self, action: str) -> None:
        """Run an action of the trace from elsewhere, which stays in view."""
        await self.trace.run_action(action)

    def action_workflows(self) -> None:
        from mcp_studio.tui.screens.workflow import WorkflowDialog

        self.app.push_screen(WorkflowDialog(), self.trace.show_query)

    def action_logs(self) -> None:
        from mcp_studio.tui.screens.logs import Logs

        self.app.push_screen(Logs(""), self.show_message)

    def show_message(self, number: int | None) -> None:
        if number is not None:
            self.go_to(self.trace)
            self.trace.show_message(number)

    def action_new_server(self) -> None:
        self.servers.action_add()

    def action_pending(self) -> None:
        self.inbox.open()

    def action_answer_rule(self) -> None:
        self.inbox.make_rule()

    def action_activity(self) -> None:
        self.inbox.open_activity()

    async def action_search(self) -> None:
        """Wait until the dialog is there, because the keys typed next belong to it."""
        from mcp_studio.tui.screens.search import Search

        await self.app.push_screen(Search(), lambda found: self.open_ref(*found) if found else None)

    def action_jump(self) -> None:
        from mcp_studio.tui.screens.jump import Jump

        self.app.push_screen(Jump(self.panes), self._jumped)

    def _jumped(self, target: tuple[Pane, str] | None) -> None:
        if target is not None:
            self.go_to(target[0])
            if target[1]:
                target[0].tabs_line.active = target[1]

    def action_help(self, menu: bool = False) -> None:
        """List what can be done here, even in a dialog: in the pane, with the focused widget; everywhere, unless this
        is a menu.
        """
        from mcp_studio.tui.screens.help import Help

        screen, pane = self.app.screen, self.focused_pane if self.app.screen is self else None
        known = {(action.id, action.title): action for action in reversed(ACTIONS)}
        bound = [known.get((bound.binding.id or "", bound.tooltip)) for bound in screen.active_bindings.values()]
        here = [action for action in ACTIONS if action in bound and action.scope not in (*PANES, "main", "app", "list")]
        sections = [("Here", here), *([] if menu else [("In lists", scoped("list"))])]
        if pane is not None:
            sections.insert(0, (f"In the {pane.scope} pane", scoped(pane.scope)))
            sections[2:2] = [] if menu else [("Everywhere", scoped("main"))]
        self.app.push_screen(Help(pane.scope if pane is not None else "this dialog", sections), self.do)

    async def do(self, action: Action | None) -> None:
        """Run an action chosen in help or palette: in its pane, or on the focused widget and its ancestors."""
        if action is None:
            return
        nodes: Sequence[DOMNode] = (self.app.screen.focused or self.app.screen).ancestors_with_self
        before, shown = self.focused, self.call.server or (self.call.draft.entry.ref.server if self.call.draft else "")
        if action.scope == "servers" and shown and self.focused_pane is not self.servers:
            self.servers.go_to(shown)  # the action is for the server that is seen, and the focus stays with it
            nodes = [self.servers]
        elif action.scope in PANES:
            nodes = [pane for pane in self.panes if pane.scope == action.scope]
            self.go_to(nodes[0])
        elif action.scope == "main":
            nodes = [self]
        able = (node for node in nodes if isinstance(node, Widget) and hasattr(node, f"action_{action.id}"))
        if (node := next(able, None)) is not None:
            await node.run_action(action.id)
        if self.app.screen is not self:  # a dialog was opened, after which all is as before
            self.set_focus(before)

    def open_ref(self, ref: Ref, submit: bool = False) -> None:
        """Go to the form of an entry; with `submit`, call it, too."""
        if (entry := self.show_entry(ref)) is not None:
            self.call.open(entry, submit=submit)

    async def action_palette(self) -> None:
        """Wait until the palette is there, because the keys typed next belong to it."""
        from mcp_studio.tui.screens.palette import Palette

        await self.app.push_screen(Palette())

    def action_change_theme(self) -> None:
        from mcp_studio.tui.screens.theme_picker import ThemePicker

        self.app.push_screen(ThemePicker(), lambda name: self.app.keep_theme(name) if name else None)

    def action_forget(self) -> None:
        self.app.forget()

    def action_about(self) -> None:
        from mcp_studio.tui.screens.about import About

        self.app.push_screen(About())

    def action_quit(self) -> None:
        """Leave the studio, after a question if calls run."""
        running = self.app.studio.caller.running
        if not running:
            self.call_after_refresh(self.app.exit, 0)  # the key may come before everything is mounted
            return
        from mcp_studio.tui.screens.dialog import Confirm

        what = f"{units.plural(len(running), 'call')} still run{'s' if len(running) == 1 else ''}."
        self.app.push_screen(Confirm("Quit mcp-studio?", what, "Quit"), lambda yes: self.app.exit(0) if yes else None)
