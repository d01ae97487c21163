"""Pane 5: everything that crossed the wire, in this session or an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.call.replay.plan import CALLS, ReplayStep, load, step_of
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, loads_or
from mcp_studio.safetext import safe
from mcp_studio.schema.place import remove
from mcp_studio.tap.gate import Gate
from mcp_studio.tap.remote_gate import RemoteGate
from mcp_studio.trace.message import COMMENTED, MARKED, UNTIMED, Recording, WireMessage, rows_with
from mcp_studio.trace.postmortem import endings
from mcp_studio.trace.statistics import Numbers
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.panes.result import is_held
from mcp_studio.tui.views.exchange import ExchangeView
from mcp_studio.tui.views.query_line import QueryLine
from mcp_studio.tui.views.trace_table import TraceTable, name_of

if TYPE_CHECKING:
    from mcp_studio.trace.disk.session import Session
    from mcp_studio.tui.screens.compare import Side
    from mcp_studio.tui.screens.exchange import Wish
    from mcp_studio.tui.screens.sessions import Opened

_EMPTY = "Nothing has crossed the wire yet. Connect a server, and every message appears here."
_EMPTY_PAST = "Nothing was recorded in this session."
_NONE, _SEARCHING = "No message matches the query; esc ends it.", "Nothing found yet."
_NO_CALL = "This message belongs to no call of a tool, prompt or resource."
_EVERY = 0.5
"""Seconds between two refreshes of the notes in the border and of the exchange beside the table."""
_DONE = 0.99
"""The share from which on a search counts as done: in a live trace, some messages are always new."""
_NOTED = bytes(flags for flags in range(256) if flags & (MARKED | COMMENTED))
_KINDS: dict[str, EntryKind] = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}


class TracePane(Pane, scope="trace"):
    """A table of messages with a query above it, and on huge screens the exchange under the cursor beside it."""

    query_line = getters.query_one(QueryLine)
    table = getters.query_one(TraceTable)

    @dataclass
    class FillRequested(Message):
        """The form should show a call of the trace, so that the person can edit and send it again."""

        ref: Ref
        value: Json

    def __init__(self) -> None:
        super().__init__()
        self._session: Session | None = None
        """The earlier session that is shown; None for the present one."""
        self._base: Side | None = None
        """The exchange to compare the next one with."""
        self._held = 0
        """The number of messages that breakpoints hold."""
        self.beside = ExchangeView()
        """Mounted when there is room for it, because it has many widgets."""

    @property
    def recording(self) -> Recording:
        """The shown messages: the present recording, or an earlier session."""
        return self.app.studio.trace if self._session is None else self._session

    @property
    def _grows(self) -> bool:
        return self._session is None or self._session.info.state == "running"

    def compose(self) -> ComposeResult:
        header = Static(id="columns", markup=False)
        yield QueryLine(self._use_query, lambda: self.recording)
        with Horizontal():
            yield Vertical(header, TraceTable(self.recording, header, empty=_EMPTY), id="messages")

    def on_mount(self) -> None:
        self._clock = self.set_interval(_EVERY, self._refresh, pause=True)

    def on_unmount(self) -> None:
        if self._session is not None:
            self._session.close()

    def entry_point(self) -> Widget:
        return self.table

    # What is shown

    def _show(self, opened: Opened | None) -> None:
        """Show an earlier session, or the present recording, which continues all the time."""
        if opened is None:
            return
        before, (self._session, title) = self._session, opened
        self.query_line.put("")
        if self.beside.is_mounted:
            self.beside.clear()
        self.set_class(self._session is not None, "-past")
        self.show_title(title)
        self.table.show(self.recording)
        if self._session is not None and self._session.problem:
            self.app.say(self._session.problem, "warning")
        if before is not None:
            before.close()
        (self._clock.resume if self._session is not None and self._grows else self._clock.pause)()
        self._look_beside()

    def show_query(self, text: str | None) -> None:
        """Show only the messages that a query finds."""
        if text:
            self.query_line.put(text)
            self.screen.set_focus(self.table)

    def show_message(self, number: int) -> None:
        """Put the cursor on a message of the present recording."""
        if self._session is not None:
            self.action_go_live()
        self._go_to(number)

    def _go_to(self, number: int | None) -> None:
        """Put the cursor on a message; if a query hides the message, open it in a dialog."""
        if number and not self.table.go_to(number) and (entry := self.recording.entry(number)) is not None:
            self._open(entry)

    def _refresh(self) -> None:
        """Take over new messages that another studio has written to the session."""
        if self._session is not None and self._grows:
            try:
                self._session.refresh()
            except StudioError as error:
                self.app.fail(error)
                self.action_go_live()
        self.table.refresh_entries()

    @on(TraceTable.Highlighted)
    @on(TraceTable.Looked)
    def _look_beside(self) -> None:
        """Show the counts in the border, and the exchange of the message under the cursor."""
        if not self.region:
            return
        self._show_notes()
        if self.screen.has_class("-huge") and not self.beside.is_attached:
            self.query_one(Horizontal).mount(self.beside)
        entry, shown = self.table.message, self.beside.entry
        if entry and not (shown and entry.number == shown.number) and not self.beside.has_focus_within:
            self._show_beside(entry)

    def _show_beside(self, entry: WireMessage) -> None:
        if self.beside.is_mounted and self.beside.display:
            self.beside.show(self.recording, entry)

    def _show_notes(self) -> None:
        table, query, key = self.table, self.table.search, self.app.key_of
        total, dropped = len(self.recording), self.recording.first_number - 1
        shown, table.empty = f"{total:,}", _EMPTY if self._session is None else _EMPTY_PAST
        parts: list[str] = []
        if query is not None:
            searching = query.done < _DONE
            parts += [query.error or f"{int(100 * query.done)}% searched"] if query.error or searching else []
            shown, table.empty = f"{table.row_count:,} of {total:,}", _SEARCHING if searching else _NONE
        parts += [shown, f"{dropped:,} dropped"] if dropped else [shown]
        folds = "unfolds" if table.folded else "folds" if query is None and not table.folds else ""
        parts += [f"{key('toggle_item')} {folds} lists"] if folds else []
        if self._grows:
            parts.append("following" if table.following else f"{key('follow')} follows")
        parts += [f"{self._held} held"] if self._held else []
        parts += [f"{key('compare')} compares with {self._base.name}"] if self._base is not None else []
        self.show_note(" · ".join(parts))

    @on(ExchangeView.Went)
    def _went(self, event: ExchangeView.Went) -> None:
        """Move the cursor to another entry of the exchange, if the table shows that entry."""
        self.table.go_to(event.number)
        if (entry := self.recording.entry(event.number)) is not None:
            self._show_beside(entry)

    # The query

    def _use_query(self, text: str) -> None:
        columns = self.recording.columns
        self.table.set_query(text, columns.time[-1] if self._session is not None and len(columns) else None)

    @on(Input.Submitted)
    def _leave_query(self) -> None:
        self.query_line.display = self.table.search is not None
        self.screen.set_focus(self.table)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave enter and the search to the exchange while it has the focus; else they belong to the table."""
        mine = action not in ("open", "find") or not self.beside.has_focus_within
        return mine and super().check_action(action, parameters)

    def action_find(self) -> None:
        self.query_line.open()

    def step_back(self) -> bool:
        """End the query, or else leave an earlier session."""
        if self.query_line.display:
            self.query_line.put("")
            self.screen.set_focus(self.table)
        elif self._session is not None:
            self.action_go_live()
        else:
            return False
        return True

    @property
    def _filtered(self) -> Sequence[int] | None:
        """The numbers of the messages that the query finds; None without a query."""
        return None if self.table.search is None else self.table.search.found[:]

    # The message under the cursor

    def _chosen(self) -> WireMessage | None:
        entry = self.beside.entry if self.beside.has_focus_within else self.table.message
        if entry is None:
            self.app.say("No message is selected.", "warning")
        return entry

    def _try(self, work: Callable[[WireMessage], Coroutine[Any, Any, None]], entry: WireMessage | None = None) -> None:
        """Do something with a message, else with the one under the cursor; a failure is told."""
        if entry := entry or self._chosen():
            self.run_worker(work(entry))

    @on(TraceTable.Opened)
    def action_open(self) -> None:
        if self.table.on_fold and not self.beside.has_focus_within:
            self.action_toggle_item()
        elif entry := self._chosen():
            self._open(entry)

    def action_toggle_item(self) -> None:
        if self.table.search is not None:
            self.app.say("Nothing is folded while a query filters the trace.")
        else:
            self.table.toggle_folds()
            self._show_notes()

    def _open(self, entry: WireMessage) -> None:
        from mcp_studio.tui.screens.exchange import ExchangeDialog

        self.app.push_screen(ExchangeDialog(self.recording, entry), self._wished)

    def _wished(self, answer: tuple[Wish, WireMessage] | None) -> None:
        """Do what the person chose in the dialog of a message."""
        if answer is not None:
            ways = {"repeat": self._repeat, "copy_as": self._copy_as, "compare": self._compare}
            self._try(ways[answer[0]], answer[1])

    def action_follow(self) -> None:
        self.table.action_follow()
        self._show_notes()

    def action_mark(self) -> None:
        from mcp_studio.tui.screens.exchange import toggle_mark

        if entry := self._chosen():
            toggle_mark(self.app, self.recording, entry)
            self.table.refresh_entries()

    def action_edit(self) -> None:
        """Comment on the message."""
        from mcp_studio.tui.screens.exchange import Comment

        if entry := self._chosen():
            self.app.push_screen(Comment(self.recording, entry), lambda _: self._show_beside(entry))

    def action_next_match(self) -> None:
        self._go_to_noted(below=True)

    def action_previous_match(self) -> None:
        self._go_to_noted(below=False)

    def _go_to_noted(self, *, below: bool) -> None:
        """Go to the nearest message with a mark or a comment."""
        columns, entry = self.recording.columns, self.table.message
        here = entry.number - columns.first if entry is not None else 0
        rows = list(rows_with(columns.flags, _NOTED, *((here + 1, len(columns)) if below else (0, here))))
        if not any(self.table.go_to(columns.first + row) for row in (rows if below else reversed(rows))):
            self.app.say(f"No message {'below' if below else 'above'} has a mark or a comment.")

    @work
    async def action_copy(self) -> None:
        if self.beside.has_focus_within:
            self.beside.copy()
        elif entry := self._chosen():
            self.app.copy((await self.recording.body(entry)).decode("utf-8", "replace"))

    @work
    async def action_query(self) -> None:
        """Query the message by an expression."""
        from mcp_studio.tui.screens.query import Query

        if entry := self._chosen():
            body = await self.recording.body(entry)
            self.app.push_screen(Query(name_of(entry), lambda: loads_or(body)))

    def action_compare(self) -> None:
        """Start a comparison with the message, or finish one."""
        self._try(self._compare)

    async def _compare(self, entry: WireMessage) -> None:
        from mcp_studio.tui.screens.compare import Compare, side_of

        side, base = await side_of(self.recording, entry), self._base
        self._base = side if base is None else None
        if base is None:
            self.app.say(f"Now select another message: {self.app.key_of('compare')} compares it with {side.name}.")
        elif base == side:
            self.app.say("Both messages belong to one exchange: there is nothing to compare.")
        else:
            self.app.push_screen(Compare(base, side))
        self._show_notes()

    # Calls of the trace

    def _call_of(self, entry: WireMessage) -> ReplayStep | None:
        """The call that a message belongs to, with all its rounds; None if it belongs to no call."""
        step = step_of(self.recording.columns, entry.number)
        return step if step is not None and step.method in CALLS else None

    def _ref(self, step: ReplayStep) -> Ref:
        """The called entry of the same server, or else of another server that lists it."""
        ref = Ref(_KINDS[step.method], step.server, step.target)
        listed = [one.ref for one in self.app.studio.catalog.entries(ref.kind) if one.ref.name == ref.name]
        return ref if ref in listed or not listed else listed[0]

    def action_copy_as(self) -> None:
        self._try(self._copy_as)

    async def _copy_as(self, entry: WireMessage) -> None:
        from mcp_studio.call.copying.subject import subject_of, with_outcome
        from mcp_studio.tui.screens.copy_as import CopyAs

        studio, step = self.app.studio, self._call_of(entry)
        if step is None:
            self.app.say(_NO_CALL, "warning")
            return
        recorded = await load(self.recording, step)
        resource, ref = step.method == "resources/read", self._ref(step)
        value = None if resource else recorded.params.get("arguments", {})
        uri = step.target if resource else ""
        subject = subject_of(studio.manager, studio.catalog, ref, value, uri=uri, task=recorded.task)
        self.app.push_screen(CopyAs(await with_outcome(subject, self.recording, entry.number)))

    def action_repeat(self) -> None:
        """Edit the call in its form; a message that is no call opens in the console."""
        self._try(self._repeat)

    async def _repeat(self, entry: WireMessage) -> None:
        from mcp_studio.tui.screens.exchange import can_resend

        step = self._call_of(entry)
        if not can_resend(self.recording, entry):
            self.app.say("The studio did not send this, so it cannot be re-sent.", "warning")
            return
        if step is None:
            from mcp_studio.tui.screens.console import Console

            body = await self.recording.body(entry)
            self.app.push_screen(Console(entry.server, body.decode("utf-8", "replace")))
            return
        recorded = await load(self.recording, step)
        value: Json = recorded.params.get("arguments", {}) if step.method != "resources/read" else None
        hidden = [place[1:] for place in recorded.hidden if place[:1] == ("arguments",)]
        for place in reversed(hidden):
            value = remove(value, place) if place else {}
        self.post_message(self.FillRequested(self._ref(step), value))
        if hidden:
            from mcp_studio.trace.diff import path_text

            names = ", ".join(safe(path_text(place), 60) for place in hidden[:3])
            self.app.say(f"Secrets are not recorded: enter {names}.")

    def action_resend_now(self) -> None:
        """Send the call again, and compare the responses."""
        from mcp_studio.tui.screens.resend import Resend

        if entry := self._chosen():
            step = step_of(self.recording.columns, entry.number)
            if step is not None and step.method not in UNTIMED:
                self.app.push_screen(Resend(self.recording, step))
            else:
                self.app.say("This message belongs to no request that can be re-sent.", "warning")

    def action_resend_many(self) -> None:
        """Send the marked calls, those that the query finds, or all of them again."""
        from mcp_studio.tui.screens.export import parts_of
        from mcp_studio.tui.screens.resend import Resend

        if parts := parts_of(self.recording, None, self._filtered):
            self.app.push_screen(Resend(self.recording, parts[0].numbers, parts[0].about))

    # The whole trace

    def action_details(self) -> None:
        """Show statistics: counts, times, failures."""
        from mcp_studio.tui.screens.statistics import Statistics

        numbers = self.app.studio.numbers if self._session is None else Numbers(self.recording)
        self.app.push_screen(Statistics(self.recording, numbers), self.show_query)

    def action_save(self) -> None:
        """Export the exchange, the marked or filtered messages, or everything."""
        from mcp_studio.tui.screens.export import Export, parts_of

        if parts := parts_of(self.recording, self.table.message, self._filtered):
            self.app.push_screen(Export(self.recording, parts))
        else:
            self.app.say("There is nothing to export yet.", "warning")

    def action_open_outside(self) -> None:
        """Choose an earlier session or a file to show."""
        from mcp_studio.tui.screens.sessions import Sessions

        self.app.push_screen(Sessions(None if self._session is None else self._session.path), self._show)

    def action_go_live(self) -> None:
        """Go back to the present recording."""
        if self._session is None:
            self.app.say("The trace already shows what is being recorded now.")
        else:
            self._show((None, "Trace"))

    @property
    def _gate(self) -> Gate | RemoteGate:
        """The holder of messages: for our own connections, or for the tap that records the shown session."""
        studio = self.app.studio
        if self._session is None or self._session.info.origin != "tap":
            return studio.breakpoints.gate
        return RemoteGate(studio.paths.state / "held", self._session.path.stem)

    def tell_held(self) -> None:
        """Announce newly held messages."""
        before, self._held = self._held, len(self._gate.waiting)
        if self._held > before and self.app.screen is self.screen:
            ours = any(is_held(self.app.studio, call) for call in self.app.studio.caller.running)
            where = "Release… in the result (4) lets it go on" if ours else "see Breakpoints in the palette"
            self.app.say(f"A breakpoint holds a {'call' if ours else 'message'}: {where}.", "warning")
        self._look_beside()

    def action_breakpoints(self) -> None:
        """Show the held messages, and let the person decide about each."""
        from mcp_studio.tui.screens.breakpoints import Breakpoints

        gate = self._gate
        if isinstance(gate, RemoteGate) and self._session is not None:
            self.app.push_screen(Breakpoints(gate, self._session, ", ".join(self._session.info.servers)))
        else:
            self.app.push_screen(Breakpoints(gate, self.app.studio.breakpoints.trace, "the studio's connections"))

    def action_exit_report(self) -> None:
        """Show how servers ended, the newest first; only the server under the cursor if it ended."""
        from mcp_studio.tui.screens.exit_report import ExitReport

        entry = self.table.message
        found = (endings(self.recording, entry.server) if entry else []) or endings(self.recording)
        if not found:
            self.app.say("No server ended by itself in this trace.")
        else:
            self.app.push_screen(ExitReport(found[0].server, found[::-1]), self._go_to)
