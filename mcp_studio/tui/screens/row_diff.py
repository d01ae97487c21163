"""How two messages of a trace differ: beside each other where there is room, else one below the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click, Resize
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present import units
from mcp_studio.present.differences import difference_line
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import Difference, Ignore, diff, value_of
from mcp_studio.tui.diff_rows import DiffRow, Fold, diff_rows, folded
from mcp_studio.tui.panels.pane import Tab
from mcp_studio.tui.panels.tab_line import tab_line
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, fit
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

_WIDE = 96
"""Cells from which on both sides stand beside each other."""
_QUICK = 32_000
"""Bytes that are compared at once; more are in a thread."""
_LEAD = 12
"""Characters that two long lines have in common and that are shown before they differ."""
_ENVELOPE = ("$.id", "$.params.requestState", "$.result.requestState")
"""Members of a message that are other ones each time."""
_LOOKS = {"removed": "bad", "added": "ok", "changed": "warn", "moved": "accent", "same": ""}


class Side(NamedTuple):
    """One of two exchanges."""

    name: str
    request: bytes
    response: bytes


class _Compared(NamedTuple):
    rows: list[DiffRow]
    differences: tuple[Difference, ...]


class _Half(NamedTuple):
    """One side of a row, on a line of its own."""

    kind: str
    text: str


_Row = DiffRow | Fold | _Half


class RowDiff(Dialog[None], scope="difference"):
    """Requests and answers of two exchanges, with what differs marked."""

    def __init__(self, before: Side, after: Side) -> None:
        super().__init__()
        self._sides = before, after
        self._part = "response" if before.response and after.response else "request"
        self._ignore = True
        self._fold = True
        self._compared: dict[str, _Compared] = {}
        self._list = VirtualList[_Row](self._draw, empty="Comparing …")
        self._names = Static(classes="quiet")
        self._spans: list[tuple[int, int, str]] = []

    def heading(self) -> Content:
        """Requests and answers, with how many places differ."""
        boxes = self.query("#box")
        room = boxes.first().outer_size.width - 6 if boxes else 90
        tabs = [Tab(part, name, count=self._count(part)) for part, name in _NAMES.items()]
        line, self._spans = tab_line(tabs, self._part, room)
        return line

    def _count(self, part: str) -> str:
        known = self._compared.get(part)
        if known is None:
            return ""
        more = "+" if any(one.kind == "more" for one in known.differences) else ""
        return f"{len(known.differences):,}{more}"

    def body(self) -> Iterable[Widget]:
        """Which two, and the lines."""
        yield self._names
        yield self._list

    def on_mount(self) -> None:
        """Compare."""
        self.query_one("#box").add_class("-tall")
        before, after = (safe(side.name, 200) for side in self._sides)
        signs = glyphs()
        self._names.update(
            Content.assemble((f"{signs.gone} ", "$text-error"), before, (f"\n{signs.new} ", "$text-success"), after)
        )
        self._list.focus()
        self._begin()

    def _begin(self) -> None:
        self._compared.clear()
        self.run_worker(self._compare(), group="compare", exclusive=True)

    async def _compare(self) -> None:
        """First what is seen, then the other part."""
        for part in sorted(_NAMES, key=lambda part: part != self._part):
            before, after = (side.request if part == "request" else side.response for side in self._sides)
            ignore = Ignore(_ENVELOPE if self._ignore else (), usual=self._ignore)
            if len(before) + len(after) <= _QUICK:
                self._compared[part] = _compared(before, after, ignore)
            else:
                self._compared[part] = await asyncio.to_thread(_compared, before, after, ignore)
            if part == self._part:
                self._show(first=True)
            self.retitle(self.heading())

    def _show(self, *, first: bool = False) -> None:
        known = self._compared.get(self._part)
        if known is None:
            return
        rows: list[_Row] = [*(folded(known.rows) if self._fold else known.rows)]
        if self._list.size.width < _WIDE:
            rows = _below(rows)
        self._list.empty = f"Neither has {_THINGS[self._part]}."
        self._list.set_rows(rows, keep=not first)
        if first:
            self._list.move_to(next((place for place, row in enumerate(rows) if _differs(row)), 0), center=True)

    def on_resize(self, event: Resize) -> None:
        """Beside each other, or below."""
        self.call_after_refresh(self._show)
        self.call_after_refresh(lambda: self.retitle(self.heading()))

    async def on_click(self, event: Click) -> None:
        """A click on a tab in the border turns it."""
        place = self.query_one("#box").region
        for start, end, part in self._spans:
            if event.screen_y == place.y and start <= event.screen_x - place.x - 3 < end and part != self._part:
                self.action_turn(1)
        await super().on_click(event)

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Show what is folded."""
        event.stop()
        if isinstance(event.row, Fold):
            self.action_fold()

    # Rows

    def _draw(self, row: _Row, width: int, selected: bool) -> Line:
        signs = glyphs()
        if isinstance(row, Fold):
            text = f" {signs.folded} {units.plural(row.lines, 'line')} the same "
            return [(fit(text, width, more=""), "dim")]
        marks = {"removed": signs.gone, "added": signs.new, "changed": signs.changed, "moved": signs.sent}
        mark = marks.get(row.kind, " ")
        look = _LOOKS[row.kind]
        if isinstance(row, _Half):
            return [(f"{mark} {cut(safe(row.text, 4 * width), width - 2)}", look)]
        half = (width - 3) // 2
        before, after = _apart(row, half - 2)
        left = self._half(before, "removed" if row.kind == "removed" else row.kind, mark, half)
        return [left, (f" {signs.bar} ", "dim"), self._half(after, row.kind, mark, width - half - 3)]

    @staticmethod
    def _half(text: str | None, kind: str, mark: str, width: int) -> Piece:
        if text is None:
            return " " * width, ""
        return fit(f"{mark} {safe(text, 4 * width)}", width), _LOOKS[kind]

    # What the person does

    def action_turn(self, step: int) -> None:
        """The other part."""
        self._part = "request" if self._part == "response" else "response"
        self._show(first=True)
        self.retitle(self.heading())

    def action_next_difference(self, step: int) -> None:
        """The next run of lines that differ, or the one before."""
        rows, at = self._list.rows, self._list.cursor
        if step < 0:  # first to the begin of the run that the cursor is in
            at -= 1
        places = range(at, len(rows)) if step > 0 else range(at, -1, -1)
        inside = step > 0 and bool(rows) and _differs(rows[self._list.cursor])
        for place in places:
            differs = _differs(rows[place])
            begins = differs and (place == 0 or not _differs(rows[place - 1]))
            if begins and not (inside and place == at):
                self._list.move_to(place, center=True)
                return
        cast("StudioApp", self.app).say("No more differences." if step > 0 else "No differences before.")

    def action_ignore(self) -> None:
        """Count ids and times, or not."""
        self._ignore = not self._ignore
        words = "Ids and times are ignored." if self._ignore else "Ids and times count."
        cast("StudioApp", self.app).say(words)
        self._begin()

    def action_fold(self) -> None:
        """Show what is the same, or put it away."""
        self._fold = not self._fold
        self._show()

    def action_copy(self) -> None:
        """Copy the differences."""
        known = self._compared.get(self._part)
        lines = [difference_line(one, 200) for one in known.differences] if known else []
        cast("StudioApp", self.app).copy("\n".join(lines) or "no difference")

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)


_NAMES = {"request": "Requests", "response": "Answers"}
_THINGS = {"request": "a request", "response": "an answer"}


def _compared(before: bytes, after: bytes, ignore: Ignore) -> _Compared:
    if not before and not after:
        return _Compared([], ())
    old, new = value_of(before), value_of(after)
    differences = diff(old, new, ignore)
    return _Compared(diff_rows(old, new, differences), differences)


def _differs(row: _Row) -> bool:
    return not isinstance(row, Fold) and row.kind != "same"


def _below(rows: Iterable[_Row]) -> list[_Row]:
    """Each side on lines of its own: of a run of lines that differ first the older ones."""
    found: list[_Row] = []
    later: list[_Row] = []
    for row in rows:
        if isinstance(row, DiffRow) and row.kind not in ("same", "moved"):
            found += [_Half("removed", row.before)] if row.before is not None else []
            later += [_Half("added", row.after)] if row.after is not None else []
            continue
        found += later
        later = []
        found.append(_Half(row.kind, row.after or row.before or "") if isinstance(row, DiffRow) else row)
    return [*found, *later]


def _apart(row: DiffRow, width: int) -> tuple[str | None, str | None]:
    """Both sides; of long lines what is near the place where they begin to differ."""
    before, after = row.before, row.after
    if row.kind != "changed" or before is None or after is None or max(map(cell_len, (before, after))) <= width:
        return before, after
    same = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        same += 1
    pad = len(after) - len(after.lstrip())
    name = after.find(": ") + 2 if ": " in after[: width // 2] else pad
    if same <= max(name, width // 2):
        return before, after
    start = same - _LEAD
    return f"{before[:name]}…{before[start:]}", f"{after[:name]}…{after[start:]}"
