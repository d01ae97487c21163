"""One call made many times, and its figures."""

from __future__ import annotations

import time
from functools import partial

from textual import on
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, ProgressBar, Static

from mcp_studio.call.load_test import MOST, MOST_AT_ONCE, Load, past_of_load
from mcp_studio.jsontext import pretty
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.call_draft import CallDraft
from mcp_studio.tui.screens.dialog import Choice, RunDialog, Widgets
from mcp_studio.tui.screens.statistics import histogram, times_line

_ERRORS = 3
"""Errors of a load test that are shown."""


class LoadTest(RunDialog):
    """Runs a load test with two numbers from the person, and shows its figures."""

    choices = (
        Choice("start", "Start", "primary"), Choice("cancel", "Cancel"), Choice("copy", "Copy figures"),
        Choice("pending", "Pending"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, draft: CallDraft) -> None:
        super().__init__(f"Load test: {draft.entry.ref}")
        self._draft = draft
        self.load: Load | None = None
        """The running or the last test."""

    def body(self) -> Widgets:
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
        elif not self.has_class("-running"):
            self.begin(self._run(total, at_once))
            self.query_one("#cancel").focus()

    async def _run(self, total: int, at_once: int) -> None:
        studio, draft, ref = self.app.studio, self._draft, self._draft.entry.ref
        if ref.kind == "tool":
            self.note("Waiting for your approval, where a rule or the tool asks for it.", "quiet")
            if denied := await studio.caller.consent(ref, draft.value, total, at_once, approved=False):
                self.note(f"Not started: {denied.rule}.", "bad")
                return
        self.note("")
        began, begin = time.time(), partial(draft.begin, studio, fresh=True, approved=True)
        self.load = Load(begin, total, at_once)
        try:
            await self.load.run()
        finally:
            studio.memory.history.put(past_of_load(self.load, ref, draft.sent, began, "studio"), draft.secrets)

    def look(self) -> None:
        super().look()
        self.show_buttons(copy=self.load is not None)
        if self.load is None:
            return
        bar = self.query_one(ProgressBar)
        bar.display = True
        bar.update(total=self.load.total, progress=self.load.done)
        width = self.query_one("#figures").size.width
        self.put("figures", figures_of(self.load, max(20, width), max(6, self.app.size.height - 16)))

    def action_copy(self) -> None:
        if self.load is not None:
            self.app.copy(pretty(self.load.figures()), "the figures")


def figures_of(load: Load, width: int, height: int) -> Content:
    """The progress and the figures of a test, in `width` cells and `height` lines."""
    parts = [f"{count:,} {kind}" for kind, count in load.outcomes.most_common()]
    parts += [f"{load.sent - load.done:,} running"] if load.running else []
    parts.append(f"{units.size(load.bytes)} received")
    head = f"{load.done:,} of {load.total:,} · {load.rate:,.0f}/s · {units.duration(load.seconds * 1000)}"
    ended = Content.styled(" · ".join(parts), "$state-failed" if load.wrong else "")
    lines = [Content.styled(head, "bold"), ended, Content(times_line(load.durations))]
    if load.why and not load.running:
        lines.append(Content.styled(f"Ended early: {safe(load.why, 200)}.", "$state-failed"))
    errors = [Content.assemble((f"{count:,}x ", "$state-failed"), text) for count, text in load.errors[:_ERRORS]]
    bars = histogram(load.durations, width, max(3, height - len(lines) - len(errors)))
    return Content("\n").join([line.truncate(width, ellipsis=True) for line in (*lines, *bars.split("\n"), *errors)])
