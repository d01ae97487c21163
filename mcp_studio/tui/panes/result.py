"""Pane 4: the result of a call in all views that it has, and the outcome in one line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import getters, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from mcp_studio.call.call import Call, CallOutcome, Cancelled, Lost, Rejected, Succeeded, ToolFailed, wants_handshake
from mcp_studio.call.query import query
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps, items_of, mapping, printable
from mcp_studio.present import blocks, connections, outcomes, units
from mcp_studio.protocol.message import LargeResult, whole
from mcp_studio.protocol.views import ToolView, app_of
from mcp_studio.safetext import safe
from mcp_studio.tui.external import file_stem
from mcp_studio.tui.panes.pane import Pane, Place
from mcp_studio.tui.views.json_view import JsonView, first_objects, marks_of
from mcp_studio.tui.views.lines import TabLine
from mcp_studio.tui.views.rows import Findable, TextView, glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.call_draft import CallDraft
    from mcp_studio.tui.views.content_view import Cards  # imports Markdown, for 30 ms and 3 MB
    from mcp_studio.tui.views.table_view import Row

_TABS = {"text": "Text", "structured": "Structured", "table": "Table", "query": "Query", "raw": "Raw", "diff": "Diff"}
_PROBLEMS = 3
"""Problems of an answer that are shown."""
COLOURS = {"ok": "$state-ready", "busy": "$state-busy", "bad": "bold $state-failed", "off": "$quiet"}
GLYPHS = {"ok": "ok", "busy": "half", "bad": "bad", "off": "off"}
"""Colour and glyph by the tone of an outcome."""
_BEFORE = 20
"""Entries whose last two results are stored for comparing."""


class ResultPane(Pane, scope="result"):
    """The newest result of the shown entry."""

    place = getters.query_one("#result-view", Vertical)

    class RerunRequested(Message):
        """The person wants to make the same call again."""

    @dataclass
    class ReadRequested(Message):
        """The person wants to read a resource that the result links to."""

        server: str
        uri: str
        title: str

    def __init__(self) -> None:
        super().__init__()
        self.filter = Input(placeholder="find", id="result-find", compact=True)
        self.filter.display = False
        self._opened: CallDraft | None = None
        self._key = ""
        """The key of the shown draft."""
        self.call: Call | None = None
        """The call whose result is shown."""
        self._outcome: CallOutcome | None = None
        self._before: Json = None
        """The result before the shown one; None if there is none."""
        self._drawn: object = (None, None)
        """What the view shows: the call, its violations, the tab, and whether text is rendered."""
        self._last: dict[str, tuple[Json, Json]] = {}
        """The newest result and the one before it, by draft key."""
        self._tabs: dict[str, str] = {}
        """The last active tab, by draft key."""

    def compose(self) -> ComposeResult:
        with Horizontal(id="result-head"):
            yield TabLine(_TABS)
            yield Static(id="result-status", markup=False)
        yield Horizontal(id="result-running")
        yield Static(id="result-notes", markup=False)
        yield Place(id="result-view")

    def on_mount(self) -> None:
        self._clock = self.set_interval(0.1, self.show_progress, pause=True)
        self.show(None, None)

    def on_resize(self) -> None:
        self._draw_status()

    def entry_point(self) -> Widget:
        if self.filter.display and self.filter.has_focus:
            return self.filter
        if self.query_one("#result-running").display:
            places = map(self.query_one, ("#answer", "#held", "#progress-text"))
            return next(place for place in places if place.display)
        return next((widget for widget in self.place.walk_children(Widget) if widget.focusable), self.tabs_line)

    def stops(self) -> Sequence[Widget]:
        """The text and the buttons of a running call."""
        return [*self.query("#result-running *")]

    # Showing

    def show(self, opened: CallDraft | None, call: Call | None) -> None:
        """Show the newest call of an entry: not made, running, or ended."""
        self._opened, self._key, self.call = opened, opened.key if opened is not None else "", call
        outcome = self._outcome = call.outcome if call is not None else None
        result, (newest, self._before) = raw_of(outcome), self._last.get(self._key, (None, None))
        if isinstance(result, LargeResult):
            self._before = None
        elif isinstance(outcome, (Succeeded, ToolFailed)) and newest is not result:
            self._last = {key: pair for key, pair in self._last.items() if key != self._key}
            self._last[self._key], self._before = (result, newest), newest
            if len(self._last) > _BEFORE:
                del self._last[next(iter(self._last))]
        shown = isinstance(outcome, (Succeeded, ToolFailed, Rejected))
        self.tabs_line.display = shown
        if shown:
            self._offer_tabs(result)
        running = call is not None and outcome is None
        self.query_one("#result-head").display = call is not None
        line = self.query_one("#result-running")
        line.display = running
        if running and not line.children:
            from textual.widgets import ProgressBar

            text = Static(id="progress-text", markup=False)
            text.can_focus = True  # and not the button: a second enter must not cancel the call
            line.mount(
                ProgressBar(1, show_eta=False),  # without a total, it redraws itself 15 times a second even if hidden
                text,
                Button("Answer", id="answer", variant="primary", compact=True, action="screen.pending"),
                Button("Release…", id="held", variant="primary", compact=True, action="screen.trace('breakpoints')"),
                Button("Cancel", id="cancel", compact=True, action="screen.cancel"),
            )
        if running:
            self.show_progress()
            self._clock.resume()
        else:
            self._clock.pause()
        lines = list(self._notes(call, outcome)) if call is not None and outcome is not None else []
        if call is None:
            verb = "" if opened is None else f" {self.app.key_of('submit')} {opened.verb}s it."
            lines = [(f"No result yet.{verb}", "$quiet")]
        self.query_one("#result-notes").display = bool(lines)
        self.show_text("result-notes", Content("\n").join(Content.styled(text, style) for text, style in lines))
        self._draw_view()
        self._draw_status()

    def _offer_tabs(self, result: Json) -> None:
        """Show the tabs of this result, and activate the entry's last tab if the result has it."""
        has, value = blocks.structured(result)
        available = {
            "text": True, "structured": has, "raw": True, "diff": self._before is not None,
            "table": table_in(value) is not None, "query": bool(self._pinned),
        }  # fmt: skip
        self.tabs_line.show({name: label for name, label in _TABS.items() if available[name]})
        found = blocks.blocks_of(result)
        # A text block that is only JSON is shown as a tree first.
        text = found[0].text if found else "{}"
        is_data = has and isinstance(text, str) and (text := text.strip())[:1] + text[-1:] in ("{}", "[]")
        best = "query" if self._pinned else "table" if available["table"] else "structured" if is_data else "text"
        wanted = self._tabs.get(self._key, best)
        self.tabs_line.active = wanted if available[wanted] else "text"

    @on(TabLine.Activated)
    def _draw_view(self) -> None:
        """Put the view of the tab into the pane, unless it is there already."""
        outcome = self._outcome
        shown = isinstance(outcome, (Succeeded, ToolFailed, Rejected))
        drawn = (self.call, outcome.violations, self.tab, self._markdown) if shown else (self.call, outcome)
        if drawn == self._drawn:
            return
        if shown:
            self._tabs[self._key] = self.tab
        self._drawn = drawn
        if self.has_focus_within and outcome is not None:  # the button that had the focus goes
            self.screen.set_focus(self.tabs_line)
        if self.filter.display:
            self.end_filter()
        view, key = self._view(outcome) if shown else None, self.app.key_of
        note = self._pinned if shown and self.tab == "query" else ""
        if rows := getattr(view, "summary", ""):  # of a table
            note = f"{rows} · {key('toggle_item')} sorts · {key('copy_as')} copies as CSV"
        self.show_note(note)
        views = [view] if view is not None else []
        if self.call is not None and isinstance(outcome, Lost):
            views.append(Static(Content.assemble(*connections.http_parts(outcome.error, why=""))))
            manager, name = self.app.studio.manager, self.call.ref.server
            is_off = name in manager.names() and manager.status(name).state == "disabled"
            label, action = ("Connect", "repeat") if is_off else ("Exit report", "exit_report")
            views.append(Button(label, compact=True, action=f"screen.server('{action}', {name!r})"))
        self.put(self.place, views)

    def _view(self, outcome: CallOutcome) -> Widget:
        result = raw_of(outcome)
        _, value = blocks.structured(result)
        match self.tab:
            case "structured":
                return Findable(JsonView(text_of(value), marks_of(outcome.violations, value)))
            case "raw":
                return Findable(JsonView(text_of(result)))
            case "table" if (rows := table_in(value)) is not None:
                from mcp_studio.tui.views.table_view import TableView

                return TableView(rows, is_part=isinstance(value, memoryview))
            case "query":
                found = JsonView()
                self.run_worker(self._show_pinned(found, result), group="query", exclusive=True)
                return Findable(found)
            case "diff":
                from mcp_studio.tui.views.diff_view import DiffView

                comparison = DiffView()
                self.call_after_refresh(comparison.show, self._before, result)
                return comparison
            case _:
                from mcp_studio.tui.views.content_view import content_view

                return content_view(self._blocks(outcome), self._markdown)

    @property
    def _pinned(self) -> str:
        """The pinned query, whose answer is shown for each result of this entry."""
        return str(self.app.studio.memory.drafts.get(f"query:{self._key}") or "")

    async def _show_pinned(self, view: JsonView, result: Json) -> None:
        """Show the answer of the pinned query."""
        try:
            view.show(await asyncio.to_thread(lambda: dumps(query(queried(result), self._pinned))))
        except StudioError as error:
            view.empty = f"{error.message} {error.hint}"

    def _blocks(self, outcome: CallOutcome) -> list[blocks.Block]:
        """The blocks of a result, and the page of its tool (MCP Apps); or the message of a refusal."""
        if isinstance(outcome, Rejected):
            data = "" if outcome.data is None else f"\n\n{printable(outcome.data)}"
            return [blocks.Block("text", f"The server refused the request: {outcome.message}{data}")]
        view = self._opened.entry.view if self._opened is not None else None
        page = app_of(view.raw) if isinstance(view, ToolView) and isinstance(outcome, Succeeded) else ""
        return [*blocks.blocks_of(raw_of(outcome)), *([blocks.app_block(page)] if page else [])]

    @property
    def _markdown(self) -> bool | None:
        """Whether the person wants the text of this entry rendered; None without a choice."""
        wish = self.app.studio.memory.drafts.get(f"markdown:{self._key}")
        return wish if isinstance(wish, bool) else None

    # How it ended, or goes on

    def _draw_status(self) -> None:
        """Show the outcome, with as many facts as the tabs leave room for."""
        tone, line = "busy", ""
        if self.call is not None and self.call.outcome is not None:
            tone, line = outcomes.outcome_short(self.call.outcome)
        elif self.call is not None:
            word = "waiting for your answer" if self.call.asking else "running"
            word = "held at a breakpoint" if self.query_one("#held").display else word
            line = f"{word} · {units.duration(self.call.seconds * 1000)}"
        room = self.size.width - 3
        if self.tabs_line.display:
            room -= sum(len(label) + 1 for label in self.tabs_line.labels.values())
        shorter = [line, line.rpartition(" · ")[0], line.partition(" round trip")[0], line.partition(" · ")[0]]
        line = next((words for words in shorter if cell_len(words) <= room), shorter[-1])
        text = Content.styled(f"{getattr(glyphs(), GLYPHS[tone])} {line}", COLOURS[tone]) if line else Content("")
        self.show_text("result-status", text)

    def show_progress(self) -> None:
        """Show elapsed time and progress while the call runs."""
        call = self.call
        # Under a dialog, each change would repaint the whole screen. The outcome is shown together with its tabs.
        if call is None or call.outcome is not None or not self.screen.is_active:
            return
        from textual.widgets import ProgressBar

        self.query_one("#answer").display = call.asking
        self.query_one("#held").display = is_held(self.app.studio, call)
        self._draw_status()
        if self.query_one("#progress-text").has_focus:
            self.screen.set_focus(self.entry_point())  # the button of what the call waits for now
        progress, bar = call.progress, self.query_one(ProgressBar)
        bar.display = progress is not None and progress.total is not None
        if progress is not None and progress.total is not None:
            bar.update(total=progress.total, progress=progress.done)
        text = "" if progress is None else progress.message or ("" if progress.total else f"{progress.done:g}")
        if call.as_task is not None:
            text = f"task {call.as_task.status} {text or call.as_task.message}"
        self.query_one("#progress-text", Static).update(Content(safe(text, 200)))

    def _notes(self, call: Call, outcome: CallOutcome) -> Iterator[tuple[str, str]]:
        """The reason of a failure, the problems of the answer, and remedies."""
        if not isinstance(outcome, (Succeeded, ToolFailed, Rejected, Cancelled)):  # else the status says all
            tone, line = outcomes.outcome_line(outcome)
            if line != outcomes.outcome_short(outcome)[1]:  # the head of the pane shows the short line
                yield line, COLOURS[tone]
        yield from ((safe(attempt, 300), "$quiet") for attempt in outcomes.attempts(call))
        if isinstance(outcome, Lost) and outcome.alternatives:
            names = " or ".join(safe(name, 60) for name in outcome.alternatives)
            yield f"{names} could take it, though it may run twice: open the tool there and call it.", "$accent"
        problems = list(outcome.problems[:_PROBLEMS])
        if more := len(outcome.problems) - len(problems):
            problems.append(f"{units.plural(more, 'more problem')}: see the trace (5)")
        yield from ((f"{glyphs().warning} {safe(problem, 300)}", "$state-busy") for problem in problems)
        yield from ((safe(note, 300), "$quiet") for note in outcome.notes[:_PROBLEMS])
        if call.ruled:
            yield f"{units.plural(call.ruled, 'request')} answered by a rule", "$quiet"
        if freshness := outcomes.freshness(outcome):
            yield freshness, "$quiet"
        manager, name = self.app.studio.manager, call.ref.server
        if name in manager.names() and wants_handshake(outcome, manager.status(name)):
            yield 'The server still sends requests of its own: era = "legacy" in its entry makes it work.', "$accent"
        watched = self.app.studio.subscriptions.get(name, call.ref.name) if call.ref.kind == "resource" else None
        if watched is not None and watched.unread:
            again = f"The resource has changed since it was read; {self.app.key_of('repeat')} reads it again."
            yield f"{glyphs().watched} {again}", "$accent"

    # What the person does

    def on_cards_chosen(self, event: Cards.Chosen) -> None:
        """Read the resource of a link, or enlarge an image."""
        block = event.block
        if block.kind == "link" and self.call is not None:
            self.post_message(self.ReadRequested(self.call.ref.server, block.uri, block.title))
        elif block.kind == "image":
            from mcp_studio.tui.screens.result_parts import Picture

            self.app.push_screen(Picture(block))

    def on_text_view_turned(self, event: TextView.Turned) -> None:
        """Say which page is shown, and how it turns."""
        if event.pages > 1:
            self.show_note(f"page {event.page:,} of {event.pages:,} · pgdn at its end turns it")

    def action_repeat(self) -> None:
        self.post_message(self.RerunRequested())

    def action_compare(self) -> None:
        if isinstance(raw_of(self._outcome), LargeResult):
            self.app.say("The result is too large to compare.", "warning")
        elif self._before is None:
            self.app.say("There is no result before this one to compare it with.", "warning")
        else:
            self.tabs_line.active = "diff"

    def action_find(self) -> None:
        """Search the view, or filter the rows of a table; instead of cards and differences, search the raw result."""
        if not self.tabs_line.display:
            self.app.say("There is no result to search.", "warning")
            return
        for found in self.place.query(Findable):
            found.action_find()
            return
        if self.tab != "table":
            self.tabs_line.active = "raw"
            self._draw_view()
            self.run_worker(self._search_raw(), group="find", exclusive=True)
        if not self.filter.is_attached:
            self.mount(self.filter, before=self.place)
        super().action_find()

    async def _search_raw(self) -> None:
        """Search for what is typed meanwhile."""
        await self.workers.wait_for_complete([worker for worker in self.workers if worker.group == "view"])

        def search() -> None:
            text = self.filter.value
            self.end_filter()
            for found in self.place.query(Findable):
                found.action_find()
                found.line.value = text

        # The view, drawn for the first time, ends any search; what is typed on the way still goes to the field.
        self.call_after_refresh(self.place.call_later, self.app.after_typing, search)

    @on(Input.Changed, "#result-find")
    def filter_changed(self, event: Input.Changed) -> None:
        from mcp_studio.tui.views.table_view import TableView

        for table in self.place.query(TableView):
            table.filter(event.value)
            self.show_note(table.summary)

    @on(Input.Submitted, "#result-find")
    def filter_taken(self) -> None:
        self.screen.set_focus(next(iter(self.place.children), self.tabs_line))

    def step_back(self) -> bool:
        return self.end_filter()

    def action_query(self) -> None:
        """Query the result by an expression; pinned, the query is applied to each result of this entry."""
        result = raw_of(self._outcome)
        if self._opened is None or result is None:
            self.app.say("There is no result to query.", "warning")
            return
        from mcp_studio.tui.screens.query import Query

        ask = Query(str(self._opened.entry.ref), lambda: queried(result), self._pinned, pins=True)
        self.app.push_screen(ask, self._pin)

    def _pin(self, expression: str | None) -> None:
        if expression is not None:
            self.app.studio.memory.drafts.put(f"query:{self._key}", expression or None)
            self._tabs.pop(self._key, None)
            self._drawn = None
            self.show(self._opened, self.call)

    def action_copy(self) -> None:
        """Copy the outcome, if no viewer has copied anything itself."""
        if self._outcome is not None:
            self.app.copy(outcomes.outcome_line(self._outcome)[1])

    def action_markdown(self) -> None:
        """Render the text as Markdown, or show it unchanged; remembered for this entry."""
        outcome = self._outcome
        if not isinstance(outcome, (Succeeded, ToolFailed)):
            self.app.say("There is no text here.", "warning")
            return
        from mcp_studio.tui.views.content_view import is_markdown

        rendered = any(is_markdown(block, self._markdown) for block in self._blocks(outcome))
        self.app.studio.memory.drafts.put(f"markdown:{self._key}", not rendered)
        self.tabs_line.active = "text"
        self._draw_view()

    def action_save(self) -> None:
        outcome = self._outcome
        if self.call is None or not isinstance(outcome, (Succeeded, ToolFailed)):
            self.app.say("There is no result to save.", "warning")
            return
        from mcp_studio.tui.screens.result_parts import SaveFiles, parts_of

        stem = file_stem(f"{self.call.ref.server}-{self.call.ref.name}", "result")
        self.app.push_screen(SaveFiles("Save the result", parts_of(outcome.result, stem)))

    @work(group="open", exclusive=True)
    async def action_open_outside(self) -> None:
        """Open the file, page or link under the cursor in its program."""
        from mcp_studio.tui.views.content_view import Cards

        block = next((cards.block for cards in self.query(Cards)), None)
        if block is None:
            self.app.say("Only links, pages, images and audio can be opened in a program.", "warning")
            return
        from mcp_studio.tui.screens.result_parts import open_outside

        await open_outside(self.app, block)


def is_held(studio: Studio, call: Call) -> bool:
    """Whether a breakpoint holds a message of the call, or of one like it."""
    entries = (studio.breakpoints.trace.entry(one.number) for one in studio.breakpoints.gate.waiting)
    return (call.ref.server, call.method) in ((entry.server, entry.method) for entry in entries if entry)


def raw_of(outcome: CallOutcome | None) -> Json:
    """The result or the error as the server sent it."""
    if isinstance(outcome, (Succeeded, ToolFailed)):
        return outcome.result
    if isinstance(outcome, Rejected):
        return {"code": outcome.code, "message": outcome.message, "data": outcome.data}
    return None


def queried(result: Json) -> Json:
    """The value that queries are about: the structured part of a result if it has one."""
    has, value = blocks.structured(result)
    return whole(value if has else result)


def text_of(value: Json) -> bytes | memoryview:
    """The JSON text of a result or of its structured content."""
    return value.raw if isinstance(value, LargeResult) else value if isinstance(value, memoryview) else dumps(value)


def table_in(value: Json) -> Sequence[Row] | None:
    """The first array of objects within two levels of a value, or its first rows; None if there is none."""
    if isinstance(value, memoryview):
        return first_objects(value)
    level = [value]
    for _ in range(3):
        for candidate in level:
            if isinstance(candidate, list) and any(candidate) and all(isinstance(row, dict) for row in candidate):
                return items_of(candidate)
        level = [inner for candidate in level for inner in mapping(candidate).values()]
    return None
