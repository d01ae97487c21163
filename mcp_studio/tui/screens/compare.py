"""Comparing two exchanges of the trace."""

from __future__ import annotations

from typing import NamedTuple

from textual import getters, on
from textual.content import Content
from textual.widgets import Static

from mcp_studio.errors import UsageError
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import Ignore, value_of
from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.tree import ends_of
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.diff_view import DiffView
from mcp_studio.tui.views.rows import glyphs
from mcp_studio.tui.views.trace_table import name_of

_LARGEST = 8_000_000
"""The most bytes of bodies that are compared."""
_ENVELOPE = ("$.*.id", "$.request.params.requestState", "$.response.result.requestState")
"""Members of a message whose values change every time."""


class Side(NamedTuple):
    """One of two compared exchanges."""

    name: str
    request: bytes
    response: bytes


async def side_of(recording: Recording, entry: WireMessage) -> Side:
    """The exchange of a message, for comparing.

    Raises:
        UsageError: the exchange is too large to be compared.
    """
    ends = [end for end in ends_of(recording, entry) if end is not None]
    if sum(end.size for end in ends) > _LARGEST:
        raise UsageError(f"{name_of(entry)} is too large to be compared.")
    bodies = [await recording.body(end) for end in ends]
    title = f"{name_of(ends[0])} · {units.date_time(ends[0].time)}"
    return Side(title, bodies[0], bodies[1] if len(bodies) > 1 else b"")


class Compare(Dialog[None]):
    """Shows the differences between two exchanges; ids and times are ignored until the person wants to see them."""

    TITLE = "Compare"
    DEFAULT_CLASSES = "-large"
    choices = (Choice("copy", "Copy", "primary"), Choice("ignore", "Ids and times"), Choice("back", "Close"))
    view = getters.query_one(DiffView)

    def __init__(self, before: Side, after: Side) -> None:
        super().__init__()
        self._sides = before, after
        self._ignores = True

    def body(self) -> Widgets:
        before, after = (safe(side.name, 200) for side in self._sides)
        gone, new = (f"{glyphs().gone} ", "$text-error"), (f"\n{glyphs().new} ", "$text-success")
        yield Static(Content.assemble(gone, before, new, after))
        yield DiffView()

    def look(self) -> None:
        before, after = ({"request": value_of(one.request), "response": value_of(one.response)} for one in self._sides)
        self.view.show(before, after, Ignore(_ENVELOPE if self._ignores else (), usual=self._ignores))

    @on(DiffView.Compared)
    def _compared(self) -> None:
        ignored = ", without ids and times" if self._ignores else ""
        self.retitle(f"Compare: {units.plural(len(self.view.differences), 'difference')}{ignored}")

    def action_ignore(self) -> None:
        """Ignore ids and times, or show them again."""
        self._ignores = not self._ignores
        self.look()

    def action_copy(self) -> None:
        self.view.action_copy()
