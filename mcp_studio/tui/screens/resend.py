"""Sending requests of a trace once more: which and where, and how the answers differ from the recorded ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Checkbox, ProgressBar, RadioButton, RadioSet, Select, Static

from mcp_studio.call.replay.plan import Plan, Step, load, plan
from mcp_studio.call.replay.runner import VERDICTS, Replayer, ReplayOptions, Result, summary
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import shown
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.tui.screens.compare import Compare, Side
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.screens.export import parts_of
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit, width_of
from mcp_studio.tui.views.virtual_list import VirtualList

_SAME = ""
_DEAD = ("disabled", "failed", "needs_auth", "stopping")
_LINES = 6
"""Differences of the row under the cursor that are told below the list."""
_TIMES = 20
_EVERY = 0.2
"""Seconds between two looks at what has come."""


class Order(NamedTuple):
    """What is sent, and where."""

    recording: Recording
    plan: Plan
    servers: Mapping[str, str]
    options: ReplayOptions


class ResendChoice(Dialog[Order]):
    """Answers what to send and where. What was approved once is not approved the next time.

    Args:
        entry: the message under the cursor.
        filtered: what a query shows; None without one.
    """

    DEFAULT_CSS = """
    ResendChoice {
        & .label { color: $quiet; margin-top: 1; }
        & #part { width: 1fr; border: none; background: $surface; padding: 0; }
        & #approved { margin-top: 1; border: none; background: $surface; padding: 0; }
        & #note { margin-top: 1; color: $quiet; &.-wrong { color: $state-failed; } }
    }
    """
    choices = (Choice("begin", "Re-send", "primary"), Choice("back", "Cancel"))

    def __init__(self, recording: Recording, entry: WireMessage | None, filtered: Sequence[int] | None) -> None:
        super().__init__()
        self._recording = recording
        self._parts = parts_of(recording, entry, filtered)
        self._plan = Plan(())

    def heading(self) -> str:
        return "Re-send"

    def body(self) -> Iterable[Widget]:
        manager = self.app.studio.manager
        places = [("To the server that each request went to", _SAME)]
        for name in manager.names():
            status = manager.status(name)
            about = f"{safe(name, 60)}  {status.version} {connections.state_words(status)}"
            places.append((about, name))
        yield RadioSet(*(RadioButton(part.label, value=not at) for at, part in enumerate(self._parts)), id="part")
        yield Static("Where to", classes="label")
        yield Select(places, value=_SAME, allow_blank=False, id="server", compact=True)
        yield Checkbox("Approve all calls; what a rule denies is not sent", id="approved", compact=True)
        yield Static(id="note", markup=False)

    def on_mount(self) -> None:
        self._look()

    @on(RadioSet.Changed)
    def _look(self) -> None:
        self.run_worker(self._make_plan(), group="plan", exclusive=True)

    async def _make_plan(self) -> None:
        """Look through what is chosen, beside the event loop: it may be a million messages."""
        chosen = self.query_one("#part", RadioSet).pressed_index
        self._plan = Plan(())
        if 0 <= chosen < len(self._parts):
            columns = self._recording.columns.snapshot()
            self._plan = await asyncio.to_thread(plan, columns, self._parts[chosen].numbers)
        steps = len(self._plan.steps)
        lines = [f"{units.plural(steps, 'request')}{', in their order, one after the other' * (steps != 1)}."]
        left = ", ".join(f"{one.times:,} {one.method}" for one in self._plan.left_out)
        lines += [f"Left out: {safe(left, 300)}."] if left else []
        self._say("\n".join(lines))

    async def action_begin(self) -> None:
        await self.workers.wait_for_complete([one for one in self.workers if one.group == "plan"])
        manager, recorded = self.app.studio.manager, self._plan.servers
        where = str(self.query_one("#server", Select).value)
        servers = {one: where or one for one in recorded}
        known = manager.names()
        away = [one for one in servers.values() if one not in known or manager.status(one).state in _DEAD]
        if not self._plan.steps:
            self._say("There is nothing here that can be sent again.", wrong=True)
        elif away:
            self._say(f"{safe(away[0], 60)} is not connected here: choose another server.", wrong=True)
        elif where and len(recorded) > 1:
            names = safe(", ".join(recorded), 120)
            self._say(f"These went to {len(recorded)} servers ({names}): choose fewer.", wrong=True)
        else:
            options = ReplayOptions(approved=self.query_one("#approved", Checkbox).value)
            self.dismiss(Order(self._recording, self._plan, servers, options))

    def _say(self, text: str, *, wrong: bool = False) -> None:
        note = self.query_one("#note", Static)
        note.set_class(wrong, "-wrong")
        note.update(Content(text))


class Resend(Dialog[None]):
    """Begins at once, a row for each request; stays until it is left."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    Resend {
        & VirtualList { height: 1fr; }
        & ProgressBar { margin-bottom: 1; & Bar { width: 1fr; } }
        & #about { height: auto; min-height: 2; margin-top: 1; color: $quiet; }
        & #pending { height: auto; display: none; color: $state-busy; }
    }
    """
    choices = (
        Choice("open", "Compare", "primary"), Choice("copy", "Copy"), Choice("pending", "Pending requests"),
        Choice("back", "Stop"),
    )  # fmt: skip
    bar = getters.query_one(ProgressBar)

    def __init__(self, order: Order) -> None:
        super().__init__()
        self._order = order
        self._results: dict[int, Result] = {}
        """By the number of their step."""
        self._sending = True
        self._told = -1
        self._rows: VirtualList[Step] = VirtualList(self._draw, key=lambda step: step.number)

    def heading(self) -> str:
        counts = summary(self._results.values())
        told = [f"{counts[word]:,} {word}" for word in VERDICTS if counts[word]]
        return " · ".join(("Re-send", f"{counts['steps']:,} of {len(self._order.plan.steps):,}", *told))

    def body(self) -> Iterable[Widget]:
        yield ProgressBar(total=len(self._order.plan.steps), show_eta=False)
        yield self._rows
        yield Static(id="about", markup=False)
        yield Static(id="pending", markup=False)

    def on_mount(self) -> None:
        self._rows.show(self._order.plan.steps)
        self._rows.focus()
        self.set_interval(_EVERY, self._show)
        self.app.attempt(self, self._send(), group="send")

    async def _send(self) -> None:
        order, studio = self._order, self.app.studio
        replayer = Replayer(studio.caller, studio.redactor, order.recording, order.options)
        try:
            async for result in replayer.run(order.plan.steps, order.servers):
                self._results[result.step.number] = result
        finally:
            self._sending = False

    # What is shown

    def _show(self) -> None:
        """Draw what has changed; the cursor goes with what is sent, unless the person has moved it away."""
        asked = len(self.app.studio.inbox.pending)
        pending = self.query_one("#pending", Static)
        pending.display = bool(asked)
        pending.update(Content(f"{glyphs().waiting} {units.plural(asked, 'pending request')} to be answered first"))
        done = len(self._results) - self._sending
        if done == self._told:
            return
        follows = self._rows.cursor >= self._told
        self._told = done
        self.bar.progress = len(self._results)
        self._rows.refresh()
        if follows:
            self._rows.move_to(len(self._results))
        self.retitle(self.heading())
        self._tell()
        if not self._sending:
            self.query_one("#back").label = "Close"  # type: ignore[attr-defined]

    @property
    def result(self) -> Result | None:
        """What came of the request under the cursor."""
        return self._results.get(self._rows.row.number) if self._rows.row else None

    @on(VirtualList.Highlighted)
    def _tell(self) -> None:
        """Say more about the row under the cursor."""
        result, about, lines = self.result, self.query_one("#about", Static), list[str]()
        if result is not None:
            lines = [shown(one, max(20, about.size.width // 3)).line for one in result.differences[:_LINES]]
            more = len(result.differences) - _LINES
            lines += [f"and {units.plural(more, 'more difference')}"] if more > 0 else []
            lines += [safe(result.said, 500)] if result.said else []
            words = {"same": "The answer is the same as it was.", "new": "It had no answer then."}
            lines += [words[result.verdict]] if result.verdict in words else []
        about.update(Content("\n".join(lines)))

    def _draw(self, step: Step, width: int, selected: bool) -> Line:
        signs, result = glyphs(), self._results.get(step.number)
        if result is None:
            head: Piece = (fit(f"{signs.off}", 11), "dim")
        else:
            sign, look = {
                "same": (signs.ok, "ok"), "differs": (signs.changed, "warn"), "new": (signs.new, "accent"),
                "failed": (signs.bad, "bad"), "skipped": (signs.off, "dim"),
            }[result.verdict]  # fmt: skip
            head = fit(f"{sign} {result.verdict}", 11), look
        both = (step.ms, result.ms if result is not None else None)
        times = f" {signs.sent} ".join(units.duration(ms) for ms in both if ms is not None)
        room = max(8, width - 11 - _TIMES)
        server = f"{safe(step.server, 20)} " if len(self._order.servers) > 1 else ""
        name = cut(f"{server}{safe(step.subject, 200)}", max(room // 2, 20))
        rest = cut(f"  {_brief(result)}" if result is not None else "", room - width_of([(name, "")]))
        middle = fit(name + rest, room)[len(name) :]
        return [head, (name, "strong" if selected else ""), (middle, "dim"), (fit(times, _TIMES, right=True), "dim")]

    # What the person does

    @on(VirtualList.Chosen)
    def action_open(self) -> None:
        """Both answers, with what differs between them."""
        if self.result is None or self.result.answer is None:
            said = self.result.said if self.result is not None else "it has not been sent yet"
            self.app.say(f"There is no answer: {said}.", "warning")
        else:
            self.app.attempt(self, self._compare(self.result), group="compare")

    async def _compare(self, result: Result) -> None:
        recorded = await load(self._order.recording, result.step)
        sent: Json = {"method": result.step.method, "params": recorded.params}
        name, request = safe(result.step.subject, 80), dumps(sent)
        then = Side(f"then: {name}", request, dumps(recorded.answer) if recorded.answer else b"")
        self.app.push_screen(Compare(then, Side(f"now: {name}", request, dumps(result.answer))))

    def action_copy(self) -> None:
        """Copy how it went, a line for each."""
        done = self._results.values()
        lines = [f"{one.verdict:<8} {one.step.subject}  {_brief(one)}".rstrip() for one in done]
        self.app.copy("\n".join(lines) or "Nothing was sent yet.")

    async def action_pending(self) -> None:
        """Answer what is asked meanwhile; the main screen has the dialogs for that."""
        await self.app.screen_stack[0].run_action("pending")

    def action_back(self) -> None:
        """Stop, or leave."""
        if self._sending:
            self.workers.cancel_group(self, "send")
            self.app.say("Stopped; the rest is not sent.")
        else:
            self.dismiss(None)


def _brief(result: Result) -> str:
    """The first difference, or why there is no answer."""
    return safe(result.said, 200) or (shown(result.differences[0], 40).line if result.differences else "")
