"""Re-sending recorded messages, and comparing the responses with the recorded ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from textual import getters, on, work
from textual.content import Content
from textual.widgets import Checkbox, Select

from mcp_studio.call.replay.plan import Plan, ReplayStep, load, plan
from mcp_studio.call.replay.runner import VERDICTS, Replayer, Result, summary
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import units
from mcp_studio.present.trace import difference_line
from mcp_studio.safetext import safe
from mcp_studio.trace.message import Recording
from mcp_studio.tui.screens.compare import Compare, Side
from mcp_studio.tui.screens.dialog import Choice, RunDialog, Widgets
from mcp_studio.tui.views.lines import Tick
from mcp_studio.tui.views.rows import Line, VirtualList, fit, glyphs, spread

_DEAD = ("disabled", "failed", "needs_auth", "stopping")

_LOOKS = {"same": ("ok", "ok"), "differs": ("changed", "warn"), "new": ("new", "accent"), "failed": ("bad", "bad")}
"""The glyph and the look of each verdict."""

_LINES = 6
"""Differences of the row under the cursor that are shown below the list."""


class Resend(RunDialog):
    """Sends requests again, with a row for each. An approval of the first time does not count for the next.

    Args:
        what: one request, which is sent at once, or the numbers of messages whose requests are sent.
        about: describes the messages, such as `what is marked`.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("start", "Re-send", "primary"), Choice("cancel", "Cancel"), Choice("open", "Compare"),
        Choice("pending", "Pending"), Choice("back", "Close"),
    )  # fmt: skip
    AUTO_FOCUS = "VirtualList"
    rows = getters.query_one(VirtualList)

    def __init__(self, recording: Recording, what: ReplayStep | Sequence[int], about: str = "") -> None:
        super().__init__()
        self._recording, self._what, self._about = recording, what, about
        self._plan = Plan((what,)) if isinstance(what, ReplayStep) else Plan(())
        self._results: dict[int, Result] = {}
        """The results by the number of their step."""

    def body(self) -> Widgets:
        manager = self.app.studio.manager
        alive = [name for name in manager.names() if manager.status(name).state not in _DEAD]
        places = [("To the server that it went to", ""), *((Content(f"To {safe(name, 60)}"), name) for name in alive)]
        yield Select(places, value="", allow_blank=False, compact=True)
        yield Tick("Approve all calls; what a rule denies is not sent", compact=True)
        yield VirtualList[ReplayStep](self._draw, key=lambda step: step.number)

    def on_mount(self) -> None:
        self.run_worker(self._make_plan())

    async def _make_plan(self) -> None:
        if not isinstance(self._what, ReplayStep):  # it may be a million messages
            self._plan = await asyncio.to_thread(plan, self._recording.columns.snapshot(), self._what)
            left = ", ".join(f"{one.times:,} {one.method} {one.reason}" for one in self._plan.left_out)
            without = f" Left out: {safe(left, 300)}." if left else ""
            self.note(f"{units.plural(len(self._plan.steps), 'request')} of {self._about}.{without}")
        self.rows.show(self._plan.steps)
        self._count()
        if isinstance(self._what, ReplayStep):
            self.action_start()

    def action_start(self) -> None:
        where, names = str(self.query_one(Select).value), self.app.studio.manager.names()
        servers = {one: where or one for one in self._plan.servers}
        away = [name for name in servers.values() if name not in names]
        if not self._plan.steps:
            self.note("There is nothing here that can be sent again.")
        elif away:
            self.note(f"{safe(away[0], 60)} is not connected here: choose another server.")
        elif where and len(servers) > 1:
            self.note(f"These went to {len(servers)} servers ({safe(', '.join(servers), 120)}): choose fewer.")
        elif not self.has_class("-running"):
            origin = "person" if isinstance(self._what, ReplayStep) else "program"
            approved, caller = self.query_one(Checkbox).value, self.app.studio.caller
            self._results.clear()
            replayer = Replayer(caller, self._recording, origin=origin, approved=approved)
            self.begin(self._send(servers, replayer))

    async def _send(self, servers: dict[str, str], replayer: Replayer) -> None:
        async for result in replayer.run(self._plan.steps, servers):
            self._results[result.step.number] = result

    # What is shown

    def look(self) -> None:
        super().look()
        if self.has_class("-running"):
            self.rows.refresh()
            self._count()
            self._tell()

    def _count(self) -> None:
        counts = summary(self._results.values())
        done = f"{counts['steps']:,} of {units.plural(len(self._plan.steps), 'request')}"
        self.retitle(" · ".join(("Re-send", done, *(f"{counts[word]:,} {word}" for word in VERDICTS if counts[word]))))

    @property
    def result(self) -> Result | None:
        """The result of the request under the cursor."""
        return self._results.get(self.rows.row.number) if self.rows.row else None

    @on(VirtualList.Highlighted)
    def _tell(self) -> None:
        """Show details of the row under the cursor."""
        if (result := self.result) is not None:
            lines = [difference_line(one) for one in result.differences[:_LINES]]
            more = len(result.differences) - _LINES
            lines += [f"and {units.plural(more, 'more difference')}"] if more > 0 else []
            texts = {"same": "The answer is the same as it was.", "new": "It had no answer then."}
            lines.append(safe(result.said, 500) or texts.get(result.verdict, ""))
            self.note("\n".join(filter(None, lines)))

    def _draw(self, step: ReplayStep, width: int, selected: bool) -> Line:
        result = self._results.get(step.number)
        verdict, now = (result.verdict, result.ms) if result is not None else ("", None)
        sign, look = _LOOKS.get(verdict, ("off", "dim"))
        times = f" {glyphs().sent} ".join(units.duration(ms) for ms in (step.ms, now) if ms is not None)
        name = f"{safe(step.server, 20)} {safe(step.subject, 200)}"
        pieces = [(fit(f"{getattr(glyphs(), sign)} {verdict}", 11), look), (name, "strong" * selected)]
        if result is not None and (result.said or result.differences):
            brief = safe(result.said, 200) or difference_line(result.differences[0], 40)
            pieces.append((f"  {brief}", "dim"))
        return spread(pieces, [(f"{times:>20}", "")], width)

    # What the person does

    @on(VirtualList.Chosen)
    @work(group="compare", exclusive=True)
    async def action_open(self) -> None:
        """Both answers, with what differs between them."""
        result = self.result
        if result is None or result.answer is None:
            said = result.said if result is not None else "it has not been sent yet"
            self.app.say(f"There is no answer: {said}.", "warning")
            return
        recorded = await load(self._recording, result.step)
        sent: Json = {"method": result.step.method, "params": recorded.params}
        name, request = safe(result.step.subject, 80), dumps(sent)
        then = Side(f"then: {name}", request, dumps(recorded.answer) if recorded.answer else b"")
        self.app.push_screen(Compare(then, Side(f"now: {name}", request, dumps(result.answer))))
