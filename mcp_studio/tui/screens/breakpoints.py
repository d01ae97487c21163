"""Breakpoints: the messages that they hold, and the person's decision about each."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual import getters, on
from textual.containers import Horizontal
from textual.widgets import Input, Static

from mcp_studio.jsontext import loads_or, mapping, printable
from mcp_studio.safetext import safe
from mcp_studio.tap.gate import LONGEST, Action, Decision, Gate, HeldMessage
from mcp_studio.trace.message import Recording
from mcp_studio.trace.query.parser import parse
from mcp_studio.tui.form.json_editor import JsonArea
from mcp_studio.tui.screens.dialog import Choice, Dialog, Widgets
from mcp_studio.tui.views.rows import Line, VirtualList
from mcp_studio.tui.views.trace_table import arrow

if TYPE_CHECKING:
    from mcp_studio.tap.remote_gate import RemoteGate

_EMPTY = (
    "No message is held. One that matches the query above waits here for you to release, change or drop it, "
    "and passes when its time is up."
)


class Breakpoints(Dialog[None]):
    """Lists the held messages, and releases, drops or answers each of them.

    Args:
        gate: the holder of messages, of the studio's own connections or of a tap in another process.
        recording: contains the entries of the held messages.
        where: the connections, for the title.
    """

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("release", "Release", "primary"), Choice("drop", "Drop", "error"), Choice("answer", "Answer"),
        Choice("cut", "Cut the connection"), Choice("hold", "Hold", "primary"), Choice("back", "Close"),
    )  # fmt: skip
    every = 0.2
    rows = getters.query_one(VirtualList)
    editor = getters.query_one(JsonArea)

    def __init__(self, gate: Gate | RemoteGate, recording: Recording, where: str) -> None:
        super().__init__(f"Breakpoints of {where}")
        self._gate, self._recording = gate, recording
        self._shown = 0
        """The number of the message in the editor."""
        self._text = ""

    def body(self) -> Widgets:
        hint = "tool:search dir:out, or another query; empty: nothing"
        query = Input(" or ".join(self._gate.breakpoints), placeholder=hint, id="query", compact=True)
        yield Horizontal(Static("Hold"), query)
        yield VirtualList[HeldMessage](self._draw, key=lambda one: one.number, empty=_EMPTY)
        yield JsonArea()
        delay = Input("0", id="after", compact=True, type="number")
        yield Horizontal(Static("after"), delay, Static("seconds"), id="delay")

    def on_mount(self) -> None:
        if self._gate.waiting:
            self.rows.focus()

    def look(self) -> None:
        """Show the held messages; an edited text stays as long as its message is held."""
        held = bool(self._gate.waiting)
        self.set_class(not held, "-empty")
        self.show_buttons(release=held, drop=held, answer=held, cut=held, hold=not held)
        self.rows.show(self._gate.waiting)
        self._show()

    @on(VirtualList.Highlighted)
    def _show(self) -> None:
        row: HeldMessage | None = self.rows.row
        entry = self._recording.entry(row.number) if row is not None else None
        number, body = (entry.number, entry.body) if entry is not None else (0, b"")
        if number != self._shown:
            value = loads_or(body, exact=True)
            self._text = body.decode("utf-8", "replace") if value is None else printable(value)
            self._shown, self.editor.text = number, self._text
            self.note("")

    def _draw(self, row: HeldMessage, width: int, selected: bool) -> Line:
        entry, rest = self._recording.entry(row.number), max(0.0, row.until - time.time())
        left = f"passes in {rest:.0f} s  ", "warn"
        if entry is None:
            return [left, ("…", "dim")]
        text = f" {entry.server} {entry.kind} {entry.method} {entry.target}"
        return [left, arrow(entry.direction), (safe(text, width), "")]

    def action_submit(self) -> object:
        """Apply a query that was typed and is not yet in use; otherwise press the default button."""
        field = self.query_one("#query", Input)
        if field.has_focus and field.value.strip() != " or ".join(self._gate.breakpoints):
            return self.action_hold()
        return super().action_submit()

    @on(Input.Submitted, "#query")
    def action_hold(self) -> None:
        """Hold the messages that match the query from now on."""
        text = self.query_one("#query", Input).value.strip()
        with self.noting():
            parse(text)
            self._gate.set([text] if text else [])
            self.note("Messages that match are held from now on." if text else "No message is held from now on.")
            self.rows.focus()

    def action_release(self) -> None:
        """Send the message on, with the content of the editor."""
        self._decide("release", self._edited)

    def action_drop(self) -> None:
        self._decide("drop")

    def action_cut(self) -> None:
        """Discard the message, and close its connection."""
        self._decide("cut")

    def action_answer(self) -> None:
        """Answer a request in place of its receiver; the editor contains the answer."""
        request = mapping(loads_or(self._text.encode()))
        if "id" not in request or "method" not in request:
            self.note("Only a request can be answered.", "bad")
        elif self._edited:
            self._decide("answer", self._edited)
        else:
            self.editor.text = printable({"jsonrpc": "2.0", "id": request["id"], "result": {}})
            self.note("Write the answer in the editor, and press Answer again.")

    @property
    def _edited(self) -> bytes:
        """The edited message; empty if the message is unchanged."""
        text = self.editor.text
        return b"" if text == self._text else text.encode("utf-8", "replace")

    def _decide(self, action: Action, frame: bytes = b"") -> None:
        try:
            delay = float(self.query_one("#after", Input).value or 0)
        except ValueError:
            delay = -1.0
        if not 0 <= delay <= LONGEST:
            self.note(f"The delay must be 0 to {LONGEST:,} seconds.", "bad")
        elif not self._shown or not self._gate.decide(self._shown, Decision(action, frame, delay)):
            self.note("No message is held.", "bad")
        else:
            self.note("Done." if not delay else f"It is done in {delay:g} s.")
