"""What of a trace is sent once more, where to, and whether calls are asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.replay.plan import Plan, plan
from mcp_studio.call.replay.runner import ReplayOptions
from mcp_studio.present import connections, units
from mcp_studio.safetext import safe
from mcp_studio.tui.replaying import Shown
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.replay import Order
from mcp_studio.tui.tracing import family_of, marked
from mcp_studio.tui.views.line import Line, fit
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio

_SAME = ""
_DEAD = ("disabled", "failed", "needs_auth", "stopping")


class _What(NamedTuple):
    name: str
    words: str
    numbers: Sequence[int]


class _Where(NamedTuple):
    server: str
    """Empty: where each request went then."""
    words: str


class _How(NamedTuple):
    approved: bool
    words: str


class ReplayChoice(Dialog[Order], scope="replay choice"):
    """Answers what to send and where. What was approved once is not approved the next time."""

    def __init__(self, studio: Studio, shown: Shown) -> None:
        super().__init__()
        self._studio = studio
        self._recording = shown.recording
        self.what: VirtualList[_What] = VirtualList(_draw, key=lambda one: one.name)
        self.where: VirtualList[_Where] = VirtualList(_draw, key=lambda one: one.server)
        self.how: VirtualList[_How] = VirtualList(_draw, key=lambda one: one.approved)
        self.what.set_rows(_choices(shown))
        self.where.set_rows(self._servers())
        self.how.set_rows((
            _How(False, "ask about each call that is not read-only on a trusted server"),
            _How(True, "approve all calls; what a rule denies is not sent"),
        ))  # fmt: skip
        self._plans: dict[str, Plan] = {}
        self._note = Static(classes="note")

    def heading(self) -> Content:
        """What it is."""
        return Content("Send once more")

    def body(self) -> Iterable[Widget]:
        """What, where to, and how."""
        for words, rows in (("What", self.what), ("Where to", self.where), ("Calls", self.how)):
            yield Static(Content(words), classes="quiet" if rows is self.what else "quiet gap")
            yield rows
        yield self._note

    def on_mount(self) -> None:
        """Begin with what is most likely meant."""
        self.what.focus()
        self._tell()

    def on_key(self, event: Key) -> None:
        """At the ends of a list the cursor goes on to the next one."""
        lists = (self.what, self.where, self.how)
        place = next((place for place, one in enumerate(lists) if one.has_focus), None)
        if place is None:
            return
        focused = lists[place]
        if event.key == "down" and focused.cursor >= focused.row_count - 1 and place + 1 < len(lists):
            lists[place + 1].focus()
        elif event.key == "up" and focused.cursor == 0 and place:
            lists[place - 1].focus()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Say what comes of it."""
        event.stop()
        if event.view is self.what:
            self._tell()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click begins."""
        event.stop()
        self.action_begin()

    def _tell(self) -> None:
        self._note.update("")
        self.run_worker(self._look(), group="plan", exclusive=True)

    async def _look(self) -> None:
        """Look through what is chosen, beside the event loop: it may be a million messages."""
        planned = await self._planned()
        steps = len(planned.steps)
        lines = [f"{units.plural(steps, 'request')}{', in their order, one after the other' * (steps != 1)}."]
        left = ", ".join(f"{one.times:,} {one.method}" for one in planned.left_out)
        lines += [f"Left out: {safe(left, 300)}."] if left else []
        self._note.update(Content.styled("\n".join(lines), "$quiet"))

    async def _planned(self) -> Plan:
        """What is sent for what the cursor is on."""
        chosen = self.what.row
        if chosen is None:
            return Plan(())
        if chosen.name not in self._plans:
            columns = self._recording.columns.snapshot()
            self._plans[chosen.name] = await asyncio.to_thread(plan, columns, chosen.numbers)
        return self._plans[chosen.name]

    def _servers(self) -> list[_Where]:
        manager = self._studio.manager
        rows = [_Where(_SAME, "to the server that each request went to then")]
        for name in manager.names():
            status = manager.status(name)
            rows.append(_Where(name, f"{status.version} {connections.state_words(status)}".strip()))
        return rows

    def action_begin(self) -> None:
        """Take it."""
        self.run_worker(self._begin(), group="begin", exclusive=True)

    async def _begin(self) -> None:
        planned = await self._planned()
        where, how = self.where.row, self.how.row
        if not planned.steps or where is None or how is None:
            self._say("There is nothing here that can be sent again.")
            return
        recorded, names = planned.servers, self._studio.manager.names()
        servers = {one: where.server or one for one in recorded}
        away = next((one for one in servers.values() if one not in names), "")
        dead = next((one for one in servers.values() if one in names and self._state(one) in _DEAD), "")
        if away or dead:
            self._say(f"{safe(away or dead, 60)} is not connected here: choose another server.")
        elif where.server and len(recorded) > 1:
            self._say(f"These went to {len(recorded)} servers ({safe(', '.join(recorded), 120)}): choose fewer.")
        else:
            self.dismiss(Order(self._recording, planned, servers, ReplayOptions(approved=how.approved)))

    def _state(self, name: str) -> str:
        return self._studio.manager.status(name).state

    def _say(self, text: str) -> None:
        self._note.update(Content.styled(text, "$state-failed"))

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


def _choices(shown: Shown) -> list[_What]:
    """What there is to choose from; the most likely first."""
    recording, entry = shown.recording, shown.entry
    rows = [_What("everything", "the whole session", range(recording.first_number, recording.total + 1))]
    noted = marked(recording.columns)
    if shown.filtered is not None and len(shown.filtered):
        rows.insert(0, _What("filtered", "what the filter shows", shown.filtered))
    if noted:
        rows.insert(0, _What("marked", "what is marked", noted))
    if entry is not None:
        name = safe(" ".join(filter(None, (entry.method or entry.kind, entry.target))), 80)
        rows.append(_What("this one", name, family_of(recording, entry.number)))
    return rows


def _draw(row: _What | _Where | _How, width: int, selected: bool) -> Line:
    name = {"": "as recorded"}.get(row.server, row.server) if isinstance(row, _Where) else ""
    name = row.name if isinstance(row, _What) else name
    if isinstance(row, _How):
        name = "approved" if row.approved else "ask"
    count = f"{len(row.numbers):>9,}  " if isinstance(row, _What) else ""
    return [(fit(safe(name, 60), 16), ""), (count, ""), (fit(safe(row.words), max(0, width - 16 - len(count))), "dim")]
