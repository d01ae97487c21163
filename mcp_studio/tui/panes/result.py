"""Pane 4: what came back, in as many views as it has, and how the call ended in one line."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, ProgressBar, Static, Tab, Tabs

from mcp_studio.call.call import (
    Call,
    CallOutcome,
    Lost,
    Rejected,
    Succeeded,
    ToolFailed,
    wants_handshake,
)
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import blocks, http, outcomes, units
from mcp_studio.protocol.views import ToolView, app_of
from mcp_studio.safetext import safe
from mcp_studio.tui import server_files
from mcp_studio.tui.panes.pane import Pane
from mcp_studio.tui.views.content_view import ContentView
from mcp_studio.tui.views.diff_view import DiffView
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.table_view import TableView, table_in

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened

_PROBLEMS = 3
_COLOURS = {"ok": "$state-ready", "busy": "$state-busy", "bad": "bold $state-failed", "off": "$quiet"}
_GLYPHS = {"ok": "ok", "busy": "half", "bad": "bad", "off": "off"}
_BEFORE = 20
"""Results that are kept to be compared with the next one of the same entry."""


class ResultPane(Pane, scope="result"):
    """The newest result of the shown entry."""

    number = 4
    tabs_line = getters.query_one(Tabs)
    status = getters.query_one("#result-status", Static)
    notes = getters.query_one("#result-notes", Static)
    place = getters.query_one("#result-view", Vertical)

    @dataclass
    class RerunRequested(Message):
        """The same call is to be made again."""

    @dataclass
    class CancelRequested(Message):
        """The running call is to be cancelled."""

    @dataclass
    class RequestsRequested(Message):
        """The request that the call waits for is to be opened."""

    @dataclass
    class ReadRequested(Message):
        """A resource that the result links to is to be read."""

        server: str
        uri: str
        title: str

    @dataclass
    class CopyAsRequested(Message):
        """The call is to be copied as something else."""

    @dataclass
    class ExitReportRequested(Message):
        """How the server of a lost call ended is to be shown."""

        server: str

    def __init__(self) -> None:
        super().__init__()
        self._opened: Opened | None = None
        self.call: Call | None = None
        """The call whose result is shown."""
        self._drawn: tuple[object, ...] = ()
        """What the view shows: the call, its outcome and the tab."""
        self._last: OrderedDict[str, tuple[Json, Json]] = OrderedDict()
        """By draft key the newest result and the one before it."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="result-head"):
            yield Tabs(Tab("Text", id="text"), Tab("Structured", id="structured"), Tab("Table", id="table"),
                       Tab("Raw", id="raw"), Tab("Diff", id="diff"))  # fmt: skip
            yield Static(id="result-status", markup=False)
        with Horizontal(id="result-running"):
            yield ProgressBar(show_eta=False, id="progress")
            yield Static(id="progress-text", markup=False)
            yield Button("Answer", id="answer", variant="primary", compact=True)
            yield Button("Cancel", id="cancel", compact=True)
        yield Static(id="result-notes", markup=False)
        yield Vertical(id="result-view")

    def on_mount(self) -> None:
        self.set_interval(0.1, self._tick)
        self.show(None, None)

    def entry_point(self) -> Widget:
        inside = (widget for widget in self.place.walk_children(Widget) if widget.focusable)
        running = self.query_one("#result-running")
        return next(inside, self.query_one("#cancel") if running.display else self.tabs_line)

    # Showing

    def show(self, opened: Opened | None, call: Call | None) -> None:
        """Show the newest call of an entry: none yet, running, or ended."""
        other = opened is not None and (self._opened is None or opened.key != self._opened.key)
        self._opened, self.call = opened, call
        outcome = call.outcome if call is not None else None
        if opened is not None and isinstance(outcome, (Succeeded, ToolFailed)):
            self._keep(opened.key, outcome.result)
        shown = isinstance(outcome, (Succeeded, ToolFailed, Rejected))
        self.show_title("Result")
        self.tabs_line.display = shown
        if isinstance(outcome, (Succeeded, ToolFailed, Rejected)):
            self._offer_tabs(outcome, first=other)
        self._tick()
        self._draw_notes(call, outcome)
        self._draw_view(outcome if shown else None)
        self.set_class(isinstance(outcome, (ToolFailed, Rejected, Lost)), "-bad")
        self.set_class(shown, "-shown")

    def _keep(self, key: str, result: Json) -> None:
        newest, _ = self._last.get(key, (None, None))
        if newest is not result:
            self._last[key] = result, newest
            self._last.move_to_end(key)
            while len(self._last) > _BEFORE:
                self._last.popitem(last=False)

    def _before(self) -> Json:
        """The result before the one that is shown; None where there is none."""
        return self._last.get(self._opened.key, (None, None))[1] if self._opened is not None else None

    def _offer_tabs(self, outcome: CallOutcome, *, first: bool) -> None:
        """Show the tabs that this outcome has; one that is gone is left."""
        result = raw_of(outcome)
        has, value = blocks.structured(result)
        offered = {
            "text": True, "structured": has, "raw": True, "diff": self._before() is not None,
            "table": table_in(value if has else result) is not None,
        }  # fmt: skip
        for name, there in offered.items():
            (self.tabs_line.show if there else self.tabs_line.hide)(name)
        if first or not offered[self.tab]:
            self.tabs_line.active = "text"

    @property
    def tab(self) -> str:
        """The tab that is shown."""
        return self.tabs_line.active or "text"

    def _draw_view(self, outcome: CallOutcome | None) -> None:
        """Put the view of the tab into the pane."""
        drawn = (self.call, raw_of(outcome), self.tab)
        if outcome is not None and len(drawn) == len(self._drawn) and all(map(_same, drawn, self._drawn)):
            return
        self._drawn = drawn if outcome is not None else ()
        had_focus = self.place.has_focus_within
        self.place.remove_children()
        if outcome is not None:
            view = self._view(outcome)
            self.place.mount(view)
            if had_focus:
                self.call_after_refresh(lambda: self.screen.set_focus(self.entry_point()))
        elif self.call is None:
            self.place.mount(Static(Content(self._empty()), classes="quiet"))
        elif isinstance(self.call.outcome, Lost):
            card = http.parts(self.call.outcome.error, why="")
            self.place.mount(Static(Content.assemble(*card)), Button("Exit report", id="exit-report", compact=True))

    def _empty(self) -> str:
        if self._opened is None:
            return "No result yet."
        return f"No result yet. {self.app.key_of('submit')} {'reads' if self._opened.verb == 'read' else 'calls'} it."

    def _view(self, outcome: CallOutcome) -> Widget:
        result = raw_of(outcome)
        has, value = blocks.structured(result)
        match self.tab:
            case "structured":
                view = JsonView()
                view.show(dumps(value), marks_of(outcome, value))
                return Findable(view)
            case "raw":
                view = JsonView()
                view.show(dumps(result))
                return Findable(view)
            case "table":
                table, rows = TableView(), table_in(value if has else result)
                if rows is not None:
                    self.call_after_refresh(table.show, rows.rows)
                return table
            case "diff":
                comparison, before = DiffView(), self._before()
                self.call_after_refresh(comparison.show, before, result)
                return comparison
            case _:
                return self._text_view(outcome)

    def _text_view(self, outcome: CallOutcome) -> Widget:
        """Text as text, everything else as content blocks."""
        view = ContentView()
        self.call_after_refresh(view.show, shown_blocks(outcome, self._app_page(outcome)))
        return view

    def _app_page(self, outcome: CallOutcome) -> str:
        """The page of the tool that was called, where it has one (MCP Apps)."""
        view = self._opened.entry.view if self._opened is not None else None
        return app_of(view.raw) if isinstance(view, ToolView) and isinstance(outcome, Succeeded) else ""

    # The status line

    def _tick(self) -> None:
        """Elapsed time and progress move on while it runs."""
        call = self.call
        running = call is not None and call.outcome is None
        self.query_one("#result-running").display = running
        self.query_one("#result-head").display = call is not None
        self.set_class(running, "-busy")
        if call is None:
            self.status.update("")
        elif call.outcome is None:
            self._draw_progress(call)
        else:
            tone, line = outcomes.outcome_short(call.outcome)
            sign = getattr(glyphs(), _GLYPHS[tone])
            self.status.update(Content.styled(f"{sign} {line}", _COLOURS[tone]))

    def _draw_progress(self, call: Call) -> None:
        self.query_one("#answer").display = call.asking
        word = "waiting for your answer" if call.asking else "running"
        self.status.update(Content.styled(f"{glyphs().half} {word} · {call.seconds:.1f} s", "$state-busy"))
        progress, bar = call.progress, self.query_one("#progress", ProgressBar)
        bar.display = progress is not None and progress.total is not None
        if progress is not None and progress.total is not None:
            bar.update(total=progress.total, progress=progress.done)
        text = "" if progress is None else progress.message or ("" if progress.total else f"{progress.done:g}")
        if call.as_task is not None:
            text = f"task {call.as_task.status} {text}"
        self.query_one("#progress-text", Static).update(Content(safe(text, 200)))

    def _draw_notes(self, call: Call | None, outcome: CallOutcome | None) -> None:
        """Why it failed, what is wrong with the answer, and what mends it."""
        lines: list[tuple[str, str]] = []
        if call is not None and outcome is not None:
            if not isinstance(outcome, Succeeded):
                tone, line = outcomes.outcome_line(outcome)
                lines.append((line, _COLOURS[tone]))
            lines += [
                (f"{glyphs().warning} {safe(problem, 300)}", "$state-busy") for problem in outcome.problems[:_PROBLEMS]
            ]
            if len(outcome.problems) > _PROBLEMS:
                more = units.plural(len(outcome.problems) - _PROBLEMS, "more problem")
                lines.append((f"{glyphs().warning} {more}: see the trace (5)", "$state-busy"))
            lines += [(safe(note, 300), "$quiet") for note in outcome.notes[:_PROBLEMS]]
            if kept := outcomes.kept(outcome):
                lines.append((kept, "$quiet"))
            lines += [(line, "$accent") for line in (self._advice(call, outcome), self._subscription()) if line]
        self.notes.display = bool(lines)
        self.notes.update(Content("\n").join(Content.styled(text, style) for text, style in lines))

    def _advice(self, call: Call, outcome: CallOutcome) -> str:
        """What makes a call work that failed since its server still sends requests of its own."""
        manager, name = self.app.studio.manager, call.ref.server
        if name in manager.names() and wants_handshake(outcome, manager.status(name)):
            return 'The server still sends requests of its own: era = "legacy" makes it work (palette: legacy era).'
        return ""

    def _subscription(self) -> str:
        """That the resource that is shown has changed since it was read."""
        opened = self._opened
        if opened is None or opened.entry.ref.kind not in ("resource", "template"):
            return ""
        try:
            one = self.app.studio.subscriptions.get(opened.entry.ref.server, opened.uri())
        except ValueError:  # the template is not filled in yet
            return ""
        if one is None or not one.unread:
            return ""
        return f"{glyphs().watched} updated since it was read; {self.app.key_of('repeat')} reads it again."

    # What the person does

    @on(Tabs.TabActivated)
    def show_tab(self, event: Tabs.TabActivated) -> None:
        event.stop()
        outcome = self.call.outcome if self.call is not None else None
        if isinstance(outcome, (Succeeded, ToolFailed, Rejected)):
            self._draw_view(outcome)

    @on(Button.Pressed, "#cancel")
    def cancel_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_cancel()

    @on(Button.Pressed, "#answer")
    def answer_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.RequestsRequested())

    @on(Button.Pressed, "#exit-report")
    def report_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if self.call is not None:
            self.post_message(self.ExitReportRequested(self.call.ref.server))

    @on(ContentView.Chosen)
    def choose_block(self, event: ContentView.Chosen) -> None:
        """Read what a link names, enlarge an image."""
        event.stop()
        block = event.block
        if block.kind == "link" and self.call is not None:
            self.post_message(self.ReadRequested(self.call.ref.server, block.uri, block.title))
        elif block.kind == "image":
            from mcp_studio.tui.screens.picture import Picture

            self.app.push_screen(Picture(block))

    def action_repeat(self) -> None:
        self.post_message(self.RerunRequested())

    def action_cancel(self) -> None:
        self.post_message(self.CancelRequested())

    def action_copy_as(self) -> None:
        self.post_message(self.CopyAsRequested())

    def action_compare(self) -> None:
        if self._before() is None:
            self.app.say("There is no result before this one to compare it with.", "warning")
        else:
            self.tabs_line.active = "diff"

    def action_copy(self) -> None:
        """What no viewer copied itself: how the call ended."""
        if self.call is not None and self.call.outcome is not None:
            self.app.copy(outcomes.outcome_line(self.call.outcome)[1])

    def action_save(self) -> None:
        call = self.call
        if call is None or not isinstance(call.outcome, (Succeeded, ToolFailed)):
            self.app.say("There is no result to save.", "warning")
            return
        from mcp_studio.tui.screens.save_result import SaveResult

        self.app.push_screen(SaveResult(call.ref, call.outcome.result))

    def action_open_outside(self) -> None:
        """Open the file, page or link under the cursor in its program."""
        view = next((one for one in self.place.children if isinstance(one, ContentView)), None)
        block = view.block if view is not None else None
        if block is None:
            self.app.say("Only links, pages, images and audio can be opened in a program.", "warning")
            return
        from mcp_studio.tui.screens.open_outside import open_outside

        self.app.attempt(self, open_outside(self.app, block), "open")

    def action_legacy(self) -> None:
        """Reconnect the server of this call in the legacy era."""
        call, manager = self.call, self.app.studio.manager
        if call is None or call.ref.server not in manager.names() or not manager.status(call.ref.server).modern:
            self.app.say("There is no result here of a server that speaks the modern era.", "warning")
            return
        self.app.attempt(self, self._speak_legacy(call.ref.server), "legacy")

    async def _speak_legacy(self, name: str) -> None:
        from mcp_studio.tui.screens.choose import Choose

        options = [("now", "until the studio ends")]
        if server_files.ours(source := self.app.studio.manager.config(name).source):
            options.append(("file", f"from now on: saved in {source.file}"))
        title = f'Reconnect {name} with era = "legacy"'
        if where := await self.app.push_screen_wait(Choose(title, options)):
            await server_files.keep_legacy(self.app.studio, name, save=where == "file")
            again = self.app.key_of("repeat")
            self.app.say(f"{safe(name, 60)} is reconnected in the legacy era. {again} re-runs the call.")


def raw_of(outcome: CallOutcome | None) -> Json:
    """What the server sent as the result, or as the error."""
    if isinstance(outcome, (Succeeded, ToolFailed)):
        return outcome.result
    if isinstance(outcome, Rejected):
        return {"code": outcome.code, "message": outcome.message, "data": outcome.data}
    return None


def shown_blocks(outcome: CallOutcome, page: str) -> list[blocks.Block]:
    """The blocks of a result, and the page of its tool; the words of a refusal."""
    if isinstance(outcome, Rejected):
        data = "" if outcome.data is None else f"\n\n{safe(outcome.data, 4_000)}"
        return [blocks.Block("text", f"{outcome.code} {outcome.message}{data}")]
    found = blocks.blocks_of(raw_of(outcome))
    return [*found, blocks.app_block(page)] if page else found


def marks_of(outcome: CallOutcome, value: Json) -> dict[str, str]:
    """What is wrong with the structured content, by the JSON pointer of a value that is there."""
    found: dict[str, str] = {}
    for problem in outcome.violations:
        pointer = _existing(value, problem.pointer)
        missing = problem.pointer[len(pointer) :].lstrip("/")
        text = f"{missing} {problem.message}".strip()
        found[pointer] = f"{found[pointer]}; {text}" if pointer in found else text
    return found


def _existing(value: Json, pointer: str) -> str:
    """The longest part of a pointer that leads to something."""
    way = ""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            break
        way += f"/{part}"
    return way


def _same(one: object, other: object) -> bool:
    return one is other or (isinstance(one, str) and one == other)
