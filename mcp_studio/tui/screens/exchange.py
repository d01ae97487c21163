"""One exchange of the trace on the whole screen; and a comment on a message."""

from __future__ import annotations

from typing import Literal

from textual import getters, on
from textual.widgets import Input, Static

from mcp_studio.call.replay.plan import CALLS, step_of
from mcp_studio.trace.message import MARKED, Recording, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import PRINTED, ends_of
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.exchange import ExchangeView
from mcp_studio.tui.views.trace_table import name_of

Wish = Literal["repeat", "copy_as", "compare"]
"""What the trace pane should do with the message."""
_LONGEST = 2_000


class ExchangeDialog(Dialog[tuple[Wish, WireMessage]]):
    """Shows the exchange of a message; answers what the trace pane should do with the message."""

    TITLE = "Exchange"
    DEFAULT_CLASSES = "-large"
    BINDINGS = bindings("exchange")
    choices = (
        Choice("repeat", "Re-send with edits", "primary"), Choice("copy_as", "Copy as…"), Choice("compare", "Compare"),
        Choice("back", "Close"),
    )  # fmt: skip
    view = getters.query_one(ExchangeView)

    def __init__(self, recording: Recording, entry: WireMessage) -> None:
        super().__init__()
        self._recording, self._entry = recording, entry

    def body(self) -> Widgets:
        yield ExchangeView()

    def on_mount(self) -> None:
        self._show(self._entry)
        self.view.view.focus()

    def _show(self, entry: WireMessage) -> None:
        self._entry, step = entry, step_of(self._recording.columns, entry.number)
        calls, printed = step is not None and step.method in CALLS, entry.kind in PRINTED
        self.show_buttons(repeat=can_resend(self._recording, entry), copy_as=calls, compare=not printed)
        self.view.show(self._recording, entry)
        self.run_worker(self._look_closer(entry), group="closer", exclusive=True)

    async def _look_closer(self, entry: WireMessage) -> None:
        """Check the exchange against the schema of its protocol version, and show the findings."""
        if isinstance(self._recording, TraceStore):
            await self._recording.look([one for one in ends_of(self._recording, entry) if one is not None])
            self.view.refill()

    @on(ExchangeView.Went)
    def _went(self, event: ExchangeView.Went) -> None:
        if (entry := self._recording.entry(event.number)) is not None:
            self._show(entry)

    def action_copy(self) -> None:
        self.view.copy()

    def action_repeat(self) -> None:
        self.dismiss(("repeat", self._entry))

    def action_copy_as(self) -> None:
        self.dismiss(("copy_as", self._entry))

    def action_compare(self) -> None:
        self.dismiss(("compare", self._entry))

    def action_mark(self) -> None:
        toggle_mark(self.app, self._recording, self._entry)
        self.view.refill()

    def action_edit(self) -> None:
        """Comment on the message."""
        self.app.push_screen(Comment(self._recording, self._entry), lambda _: self.view.refill())


class Comment(Dialog[None]):
    """Lets the person comment on a message; an empty text removes the comment."""

    choices = (Choice("save", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(self, recording: Recording, entry: WireMessage) -> None:
        super().__init__(f"Comment on message {entry.number}")
        self._recording, self._entry = recording, entry

    def body(self) -> Widgets:
        yield Static(name_of(self._entry), classes="quiet gap", markup=False)
        text = self._recording.comment_on(self._entry.number)
        yield Input(text, placeholder="What to remember of it", max_length=_LONGEST, compact=True)

    @on(Input.Submitted)
    def action_save(self) -> None:
        with self.app.failing():
            self._recording.comment(self._entry.number, self.query_one(Input).value.strip())
            self.dismiss(None)


def can_resend(recording: Recording, entry: WireMessage) -> bool:
    """Whether a message belongs to a request of ours, or is another message that we sent."""
    alone = entry.direction == "out" and entry.kind in ("notification", "invalid")
    return alone or step_of(recording.columns, entry.number) is not None


def toggle_mark(app: StudioApp, recording: Recording, entry: WireMessage) -> None:
    """Mark a message, or remove the mark."""
    columns = recording.columns
    with app.failing():
        recording.mark(entry.number, not columns.flags[entry.number - columns.first] & MARKED)
