"""One call made many times: on several servers side by side, or as a load test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, HorizontalScroll, Vertical
from textual.content import Content
from textual.events import Click
from textual.widget import Widget
from textual.widgets import Input, ProgressBar, Static

from mcp_studio.call.call import Call
from mcp_studio.call.load_test import MOST, MOST_AT_ONCE, Load, past_of_load
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import dumps, mapping, pretty
from mcp_studio.present import outcomes, units
from mcp_studio.safetext import safe
from mcp_studio.studio import Studio
from mcp_studio.tui.call_draft import CallDraft
from mcp_studio.tui.panes.result import COLOURS, GLYPHS, raw_of
from mcp_studio.tui.screens.dialog import Choice, RunDialog, TickList
from mcp_studio.tui.screens.statistics import histogram, times_line
from mcp_studio.tui.views.diff_view import DiffView
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.rows import glyphs

_ERRORS = 3
"""Errors of a load test that are shown."""


def servers_with(studio: Studio, ref: Ref) -> list[str]:
    """The servers that list a tool of this name, or whose group may have it, in the order of the configuration."""
    found = {entry.ref.server for entry in studio.catalog.entries(ref.kind) if entry.ref.name == ref.name}
    if ref.server in studio.manager.names() and (group := studio.groups.of(ref.server)):
        found |= {member.server for member in studio.groups.members(group, ref.name)}
    return [name for name in studio.manager.names() if name in found and ref.kind == "tool"]


class Column(Vertical):
    """The column of a server: outcome and time, and below that the result, or its differences from the base."""

    def __init__(self, server: str) -> None:
        super().__init__()
        self.server = server
        self.call: Call | None = None
        self.head = Static(classes="head", markup=False)
        self.json = JsonView()
        self.diff = DiffView()
        self._drawn: object = None
        self._beside = ""

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.json
        yield self.diff

    def show(self, base: Column) -> None:
        """Show the present state of the call."""
        call, outcome, (tone, line) = self.call, None, ("off", "not sent yet")
        if call is not None and (outcome := call.outcome) is not None:
            (tone, line), (_, whole) = outcomes.outcome_short(outcome), outcomes.outcome_line(outcome)
            line = line if whole == line else f"{line}\n{whole}"
        elif call is not None:
            tone, line = "busy", f"{'waiting for your answer' if call.asking else 'running'} · {call.seconds:.1f} s"
        theirs = base.call.outcome if base is not self and base.call is not None else None
        if (drawn := (outcome, theirs)) != self._drawn:
            self._drawn, self._beside, result, other = drawn, "", raw_of(outcome), raw_of(theirs)
            self.diff.display = result is not None and other is not None
            self.json.display = result is not None and other is None
            if self.diff.display:
                self.diff.show(other, result)
            elif self.json.display:
                self.json.show(dumps(result))
        self.set_class(base is self, "-base")
        beside = "the base" if base is self else self._beside
        name = (safe(self.server, 60), "bold"), (f"  {beside}", "$accent" if base is self else "$quiet")
        state = f"\n{getattr(glyphs(), GLYPHS[tone])} {line}", COLOURS[tone]
        self.head.update(Content.assemble(*name, state))

    @on(DiffView.Compared)
    def count(self, event: DiffView.Compared) -> None:
        event.stop()
        self._beside = units.plural(len(event.differences), "difference") if event.differences else "the same"


class CallOn(RunDialog):
    """Calls a tool on several servers that the person chooses, and shows the results side by side.

    Args:
        servers: servers with the tool; connected ones of the draft's group are ticked, or of all without a group.
    """

    DEFAULT_CLASSES = "-large"
    AUTO_FOCUS = "TickList"
    every = 0.1
    choices = (
        Choice("start", "Call", "primary"), Choice("stop", "Cancel"), Choice("base", "Base"),
        Choice("choose", "Servers"), Choice("pending", "Pending"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, draft: CallDraft, servers: Sequence[str]) -> None:
        super().__init__(f"Call {draft.entry.ref.name} on several servers")
        self._draft, self._servers = draft, servers
        self._columns: list[Column] = []
        self._base = ""

    def body(self) -> Iterable[Widget]:
        groups, manager, own = self.app.studio.groups, self.app.studio.manager, self._draft.entry.ref.server
        group = groups.of(own) if own in manager.names() else ""
        alive = [name for name in self._servers if manager.status(name).state in ("ready", "connecting", "idle")]
        ticked = [name for name in alive if not group or groups.of(name) == group]
        rows = TickList(compact=True)
        rows.show((Content(safe(name, 60)), name in ticked) for name in self._servers)
        yield rows
        yield HorizontalScroll(id="columns", can_focus=False)

    def look(self) -> None:
        self.offer_pending()
        for base in self._columns:
            if base.server == self._base:
                for column in self._columns:
                    column.show(base)

    @work(group="run")
    async def action_start(self) -> None:
        servers = [self._servers[at] for at in self.query_one(TickList).ticked]
        if not servers:
            self.app.say("No server is ticked; space ticks the one under the cursor.", "warning")
        if not servers or self.has_class("-running"):
            return
        self.offer(start=False)
        self.add_class("-begun")
        try:
            self._columns = [Column(name) for name in servers]
            self._base = self._base if self._base in servers else servers[0]
            for column in self._columns:
                column.styles.width = f"{100 / len(servers)}%"
            place = self.query_one("#columns")
            place.remove_children()  # not awaited, for Cancel would stop it halfway
            await place.mount_all(self._columns)
            await asyncio.gather(*map(self._call, self._columns))
        finally:
            if self.is_attached:
                self.offer(start=True)
                self._set_base(self._base)

    async def _call(self, column: Column) -> None:
        """Call the tool after its server is connected; the person is asked for approval if the tool requires it."""
        studio, draft, ref = self.app.studio, self._draft, Ref("tool", column.server, self._draft.entry.ref.name)
        with suppress(StudioError):  # the call itself will end with this error
            await studio.manager.ready(column.server)
            await studio.manager.listed(column.server)
        column.call = studio.call_tool(ref, mapping(draft.value), stays=True)
        studio.memory.history.follow(column.call, ref, draft.sent, origin="studio", hidden=draft.secrets)
        await column.call.wait()

    def action_stop(self) -> None:
        """Cancel the running calls, and start no more."""
        for column in self._columns:
            if column.call is not None:
                column.call.cancel()
        self.workers.cancel_group(self, "run")

    def action_choose(self) -> None:
        if not self.has_class("-running"):
            self.remove_class("-begun")
            self.query_one(TickList).focus()

    def action_base(self) -> None:
        """Compare with the focused column; if none has the focus or it is the base already, with the next column."""
        names = [column.server for column in self._columns]
        if names:
            here = next((one.server for one in self._columns if one.has_focus_within), self._base)
            at = names.index(here) + (here == self._base)
            self._set_base(names[at % len(names)])

    def on_click(self, event: Click) -> None:
        """Let a click on the head of a column make it the base."""
        widgets = event.widget.ancestors_with_self if event.widget is not None else ()
        for column in widgets:
            if isinstance(column, Column):
                self._set_base(column.server)

    def _set_base(self, server: str) -> None:
        """Compare with a server, and focus its column if no column has the focus."""
        self._base = server
        self.look()
        for column in self._columns:
            if column.server == server and not any(one.has_focus_within for one in self._columns):
                self.set_focus(column.json if column.json.display else None)


class LoadTest(RunDialog):
    """Runs a load test with two numbers from the person, and shows its figures."""

    AUTO_FOCUS = "#total"
    every = 0.2
    choices = (
        Choice("start", "Start", "primary"), Choice("stop", "Cancel"), Choice("copy", "Copy figures"),
        Choice("pending", "Pending"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, draft: CallDraft) -> None:
        super().__init__(f"Load test: {draft.entry.ref}")
        self._draft = draft
        self.load: Load | None = None
        """The running or the last test."""

    def body(self) -> Iterable[Widget]:
        yield Horizontal(
            Static("Calls"), Input("100", id="total", type="integer", max_length=9, compact=True),
            Static("At once"), Input("8", id="at-once", type="integer", max_length=5, compact=True),
            id="numbers",
        )  # fmt: skip
        yield Static("Calls send the form's value. The trace keeps all, the history one.", id="note", classes="-said")
        yield ProgressBar(show_eta=False)
        yield Static(id="figures", markup=False)

    @on(Input.Submitted)
    def action_start(self) -> None:
        total, at_once = (int(field.value) if field.value.isdecimal() else 0 for field in self.query(Input))
        if not (0 < total <= MOST and 0 < at_once <= MOST_AT_ONCE):
            self.note(f"Calls must be from 1 to {MOST:,}, at once from 1 to {MOST_AT_ONCE:,}.", "bad")
        elif not self.query_one("#start").disabled:
            self.offer(start=False)
            self.query_one("#stop").focus()
            self.run_worker(self._run(total, at_once))

    async def _run(self, total: int, at_once: int) -> None:
        studio, draft, ref = self.app.studio, self._draft, self._draft.entry.ref
        try:
            if ref.kind == "tool":
                self.note("Waiting for your approval, where a rule or the tool asks for it.", "quiet")
                if denied := await studio.caller.consent(ref, draft.value, total, at_once, approved=False):
                    self.note(f"Not started: {denied.rule}.", "bad")
                    return
            self.note("")
            begin = partial(draft.begin, studio, fresh=True, approved=True)
            began, self.load = time.time(), Load(begin, total, at_once)
            try:
                await self.load.run()
            finally:
                studio.memory.history.put(past_of_load(self.load, ref, draft.sent, began, "studio"), draft.secrets)
        finally:
            if self.is_attached:
                self.offer(start=True)
                self.look()

    def look(self) -> None:
        self.offer_pending()
        if self.load is None:
            return
        bar = self.query_one(ProgressBar)
        bar.display = True
        bar.update(total=self.load.total, progress=self.load.done)
        figures = self.query_one("#figures", Static)
        figures.update(figures_of(self.load, max(20, figures.size.width), max(6, self.app.size.height - 16)))

    def action_stop(self) -> None:
        """Start no more calls, and stop the running ones; before the start, stop asking for approval."""
        self.workers.cancel_node(self)

    def action_copy(self) -> None:
        if self.load is None:
            self.app.say("There are no figures yet.", "warning")
        else:
            self.app.copy(pretty(self.load.figures()), "the figures")


def figures_of(load: Load, width: int, height: int) -> Content:
    """The progress and the figures of a test, in `width` cells and `height` lines."""
    parts = [f"{count:,} {kind}" for kind, count in load.outcomes.most_common()]
    parts += [f"{load.sent - load.done:,} running"] if load.running else []
    parts.append(f"{units.size(load.bytes)} received")
    head = f"{load.done:,} of {load.total:,} · {load.rate:,.0f}/s · {load.seconds:.1f} s"
    lines = [
        Content.styled(head, "bold"),
        Content.styled(" · ".join(parts), "$state-failed" if load.wrong else ""),
        Content(times_line(load.durations)),
    ]
    if load.why and not load.running:
        lines.append(Content.styled(f"Ended early: {safe(load.why, 200)}.", "$state-failed"))
    errors = [Content.assemble((f"{count:,}x ", "$state-failed"), text) for count, text in load.errors[:_ERRORS]]
    bars = histogram(load.durations, width, max(3, height - len(lines) - len(errors)))
    return Content("\n").join([line.truncate(width, ellipsis=True) for line in (*lines, *bars.split("\n"), *errors)])
