"""Requests of a trace being sent once more: a row for each, with how its answer differs from the recorded one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast, overload

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.replay.plan import Plan, Step, load
from mcp_studio.call.replay.runner import VERDICTS, Replayer, ReplayOptions, Result, summary
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present import units
from mcp_studio.present.differences import difference_line
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.screens.row_diff import RowDiff, Side
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.trace.message import Recording
    from mcp_studio.tui.app import StudioApp

_LINES = 6
"""Differences of the row under the cursor that are told below the list."""
_TIMES = 20
_EVERY = 0.1
"""Seconds between two looks at what has come."""


class Order(NamedTuple):
    """What is sent, and where."""

    recording: Recording
    plan: Plan
    servers: Mapping[str, str]
    manner: ReplayOptions


class _Row(NamedTuple):
    step: Step
    result: Result | None
    running: bool


class _Rows(Sequence[_Row]):
    """The rows, made when they are drawn: there may be very many."""

    def __init__(self, dialog: ReplayDialog) -> None:
        self._dialog = dialog

    def __len__(self) -> int:
        return len(self._dialog.steps)

    @overload
    def __getitem__(self, index: int) -> _Row: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_Row]: ...

    def __getitem__(self, index: int | slice) -> _Row | Sequence[_Row]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        dialog = self._dialog
        done = len(dialog.results)
        place = index + len(self) if index < 0 else index
        result = dialog.results[place] if place < done else None
        return _Row(dialog.steps[place], result, dialog.busy and place == done)


class ReplayDialog(Dialog[None], scope="replay"):
    """Begins at once, and stays until it is left."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self._order = order
        self.steps = order.plan.steps
        self.results: list[Result] = []
        self.busy = True
        self._seen: set[int] = set()
        self._shown = (-1, True)
        self.list: VirtualList[_Row] = VirtualList(self._draw, key=lambda row: row.step.number)
        self._note = Static(classes="detail")

    def heading(self) -> Content:
        """How far it is, and how it went."""
        counts = summary(self.results)
        told = [f"{counts[word]:,} {word}" for word in VERDICTS if counts[word]]
        done = f"{counts['steps']:,} of {len(self.steps):,}" if self.busy else f"{len(self.results):,}"
        return Content(f" {glyphs().dot} ".join(("Sent once more", done, *told)))

    def body(self) -> Iterable[Widget]:
        """The rows, and more about the one with the cursor."""
        yield self.list
        yield self._note

    @property
    def _app(self) -> StudioApp:
        return cast("StudioApp", self.app)

    def on_mount(self) -> None:
        """Begin."""
        self.query_one("#box").add_class("-tall" if len(self.steps) > 1 else "-one")
        self.list.focus()
        self.list.set_rows(_Rows(self))
        self.set_interval(_EVERY, self._look)
        self.run_worker(self._run(), group="replay", exclusive=True)

    async def _run(self) -> None:
        order = self._order
        studio = self._app.studio
        replayer = Replayer(studio.caller, studio.redactor, order.recording, order.manner)
        self.list.set_rows(_Rows(self))
        try:
            async for result in replayer.run(self.steps, order.servers):
                self.results.append(result)
        finally:
            self.busy = False
            if self.is_attached:
                self._show()

    def _look(self) -> None:
        self._ask()
        self._show()

    def _ask(self) -> None:
        """What has to be answered meanwhile is asked over this dialog, once."""
        waiting = [one for one in self._app.studio.inbox.pending if one.number not in self._seen]
        if waiting and self.busy and self._app.screen is self:
            self._seen.add(waiting[0].number)
            self._app.main.asking.open(waiting[0])

    # Showing

    def _show(self) -> None:
        """Draw what has changed; the cursor goes with what is sent, unless the person has moved it away."""
        done = len(self.results)
        if (done, self.busy) == self._shown:
            return
        follows = self.list.cursor >= min(self._shown[0], len(self.steps) - 1)
        self._shown = done, self.busy
        self.list.redraw()
        if follows and done:
            self.list.move_to(done)
        self.retitle(self.heading())
        self._tell()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Tell more about the row."""
        event.stop()
        self._tell()

    def _tell(self) -> None:
        row = self.list.row
        result = row.result if row is not None else None
        if result is None:
            self._note.update("")
            return
        width = max(20, (self._note.size.width or 80) // 3)
        lines = [difference_line(one, width) for one in result.differences[:_LINES]]
        more = len(result.differences) - _LINES
        lines += [f"and {units.plural(more, 'more difference')}"] if more > 0 else []
        lines += [safe(result.said, 500)] if result.said else []
        words = {"same": "The answer is the same as it was.", "new": "It had no answer then; enter shows this one."}
        if result.verdict in words:
            lines.append(words[result.verdict])
        self._note.update(Content("\n".join(lines)))

    def _draw(self, row: _Row, width: int, selected: bool) -> Line:
        signs, result = glyphs(), row.result
        if result is None:
            sign: Piece = (signs.half, "accent") if row.running else (signs.off, "dim")
            word: Piece = (" " * 9, "")
        else:
            sign, look = {
                "same": ((signs.ok, "ok"), "ok"), "differs": ((signs.changed, "warn"), "warn"),
                "new": ((signs.new, "accent"), "accent"), "failed": ((signs.bad, "bad"), "bad"),
                "skipped": ((signs.off, "dim"), "dim"),
            }[result.verdict]  # fmt: skip
            word = (fit(f" {result.verdict}", 9), look)
        both = (row.step.ms, result.ms if result is not None else None)
        times = f" {signs.sent} ".join(units.duration(ms) for ms in both if ms is not None)
        room = max(8, width - 11 - _TIMES)
        subject = safe(row.step.subject, 200)
        if len(self._order.servers) > 1:
            subject = f"{safe(row.step.server, 20)} {subject}"
        said = f"  {self._brief(result)}" if result is not None else ""
        left = fit(subject, min(room, max(cell_len(subject), room // 2)))
        rest = cut(said, max(0, room - cell_len(left)))
        gap = " " * max(0, room - cell_len(left) - cell_len(rest))
        return [sign, word, (" ", ""), (left, "strong" if selected else ""), (rest, "dim"), (gap, ""),
                (fit(times, _TIMES, right=True), "dim")]  # fmt: skip

    @staticmethod
    def _brief(result: Result) -> str:
        """The first difference, or why there is no answer."""
        return safe(result.said, 200) or (difference_line(result.differences[0], 40) if result.differences else "")

    # What the person does

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click shows both answers."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Both answers, with what differs between them."""
        row = self.list.row
        if row is None or row.result is None or row.result.answer is None:
            said = row.result.said if row is not None and row.result is not None else "it has not been sent yet"
            self._app.say(f"There is no answer: {safe(said, 200)}.", "warning")
        else:
            self.run_worker(self._compare(row.result), group="compare", exclusive=True)

    async def _compare(self, result: Result) -> None:
        try:
            recorded = await load(self._order.recording, result.step)
        except StudioError as error:
            self._app.fail(error)
            return
        sent: Json = {"method": result.step.method, "params": recorded.params}
        name, request = safe(result.step.subject, 80), dumps(sent)
        then = Side(f"then: {name}", request, dumps(recorded.answer) if recorded.answer else b"")
        self.app.push_screen(RowDiff(then, Side(f"now: {name}", request, dumps(result.answer))))

    def action_copy(self) -> None:
        """Copy how it went, a line for each."""
        lines = [f"{one.verdict:<8} {one.step.subject}  {self._brief(one)}".rstrip() for one in self.results]
        self._app.copy("\n".join(lines) or "nothing was sent yet")

    def action_close(self) -> None:
        """Stop, or leave."""
        if self.busy:
            self.workers.cancel_group(self, "replay")
            self._app.say("Stopped; the rest is not sent.")
        else:
            self.dismiss(None)
