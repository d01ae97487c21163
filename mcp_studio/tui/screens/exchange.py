"""One exchange of the trace over the whole screen, and what can be done with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

from textual import getters, on
from textual.binding import BindingType
from textual.widget import Widget

from mcp_studio.trace.message import Recording, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.screens.comment import edit_comment, toggle_mark
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.exchange import ExchangeView, ends_of

Wish = Literal["repeat", "copy_as", "compare"]
"""What is to be done with the message, which only the trace can do."""


class ExchangeDialog(Dialog[tuple[Wish, WireMessage]]):
    """Shows the exchange of a message; esc goes back to the one before, then leaves."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = "ExchangeDialog ExchangeView { height: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("dialog"), *bindings("exchange")]
    choices = (
        Choice("repeat", "Re-send", "primary"), Choice("copy_as", "Copy as…"), Choice("compare", "Compare"),
        Choice("back", "Close"),
    )  # fmt: skip
    view = getters.query_one(ExchangeView)

    def __init__(self, recording: Recording, entry: WireMessage) -> None:
        super().__init__()
        self._recording = recording
        self._entry = entry
        self._way: list[WireMessage] = []

    def heading(self) -> str:
        return "Exchange"

    def body(self) -> Iterable[Widget]:
        yield ExchangeView()

    def on_mount(self) -> None:
        self._show(self._entry)
        self.view.view.focus()

    def _show(self, entry: WireMessage) -> None:
        self._entry = entry
        self.view.show(self._recording, entry)
        self.run_worker(self._look_closer(entry), group="closer", exclusive=True)

    async def _look_closer(self, entry: WireMessage) -> None:
        """Check the exchange against the model of its version, and show what that finds."""
        if isinstance(self._recording, TraceStore):
            await self._recording.look([one for one in ends_of(self._recording, entry) if one is not None])
            self.view.refill()

    @on(ExchangeView.Went)
    def _went(self, event: ExchangeView.Went) -> None:
        event.stop()
        entry = self._recording.entry(event.number)
        if entry is not None and entry.number != self._entry.number:
            self._way.append(self._entry)
            self._show(entry)

    def action_back(self) -> None:
        if self._way:
            self._show(self._way.pop())
        else:
            self.dismiss(None)

    def action_next_tab(self) -> None:
        self.view.tabs.action_next_tab()

    def action_previous_tab(self) -> None:
        self.view.tabs.action_previous_tab()

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
        edit_comment(self.app, self._recording, self._entry, self.view.refill)
