"""What runs and what waits for a person, of all servers in one place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.call.call import Call
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import board_rows
from mcp_studio.tui.board_rows import Row
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.asking import Asking

Chosen = InputRequest | Call
"""A question to be answered, a call to be looked at."""
PAUSE = 0.5
"""Seconds between two looks at what runs."""


class Board(Dialog[Chosen], scope="board"):
    """Running requests, questions, pages that were opened, and rules in force; answers what was chosen."""

    def __init__(self, studio: Studio, asking: Asking) -> None:
        super().__init__()
        self._studio = studio
        self._asking = asking
        self._list: VirtualList[Row] = VirtualList(
            board_rows.draw, key=lambda row: row.key, stops=lambda row: row.kind != "head"
        )
        self._detail = Static(classes="detail")
        self._drawn: object = None
        self._touched = False

    def heading(self) -> Content:
        """What it is."""
        return Content("What runs, and what waits for you")

    def body(self) -> Iterable[Widget]:
        """The list, and everything about the row under the cursor."""
        return self._list, self._detail

    def keys_line(self) -> Content:
        """Its own keys, and the one that makes a rule where there is an answer to make it of."""
        keys = super().keys_line()
        if not self._asking.has_given:
            return keys
        key = cast("StudioApp", self.app).spell("make-rule")
        return Content.assemble(keys, "   ", (key, "b $primary"), " Rule")

    def on_mount(self) -> None:
        """Fill it, and look again now and then."""
        self.query_one("#box").add_class("-tall")
        app = cast("StudioApp", self.app)
        self._list.empty = board_rows.teach(app.spell)
        self._list.focus()
        self._look()
        self.set_interval(PAUSE, self._look)

    def _look(self) -> None:
        rows = board_rows.rows(self._studio)
        if rows == self._drawn:
            return
        self._drawn = rows
        self._list.set_rows(rows)
        if not self._touched:
            self._go_to_first()
        self._tell()

    def _go_to_first(self) -> None:
        """The cursor begins on the first question, else on the first thing that runs."""
        rows = self._list.rows
        kinds = {row.kind for row in rows}
        for kind in ("question", "call", "request", "page", "rule"):
            if kind in kinds:
                self._list.go_to_key(next(row.key for row in rows if row.kind == kind))
                return

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Say more about the row under the cursor."""
        event.stop()
        self._tell()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click does what enter does."""
        event.stop()
        self.action_open()

    def on_key(self) -> None:
        """The cursor is where the person put it."""
        self._touched = True

    def _tell(self) -> None:
        row = self._list.row
        self._detail.display = row is not None and bool(row.detail)
        self._detail.update(Content(safe(row.detail, 1_500, lines=True) if row else ""))

    # What the person does

    def action_open(self) -> None:
        """Answer a question, go to a call."""
        row = self._list.row
        if row is not None and isinstance(row.thing, (InputRequest, Call)) and row.kind in ("question", "call"):
            self.dismiss(row.thing)
        else:
            self._refuse("There is nothing to answer here: enter opens questions and calls.")

    def action_decline(self) -> None:
        """Decline the question under the cursor."""
        request = self._question()
        if request is not None:
            self._asking.answer(request, Answer("decline"))
            self._look()

    def action_decline_all(self) -> None:
        """Decline all that the server of this question asks."""
        request = self._question()
        if request is not None and request.kind == "approval":
            self._refuse("This is a call of yours to be allowed; d declines it.")
        elif request is not None:
            self._asking.ask_to_decline_all(request.server)

    def _question(self) -> InputRequest | None:
        row = self._list.row
        if row is not None and row.kind in ("question", "held") and isinstance(row.thing, InputRequest):
            return row.thing
        self._refuse("The cursor is on no question.")
        return None

    def action_cancel(self) -> None:
        """Stop what runs under the cursor."""
        row = self._list.row
        if row is None or row.cancel is None:
            self._refuse("Nothing runs here that could be stopped.")
        else:
            row.cancel()
            cast("StudioApp", self.app).say(f"Stopped {row.title}.")

    def action_copy(self) -> None:
        """Copy what stands below."""
        row = self._list.row
        if row is not None and row.copy:
            self.app.copy_to_clipboard(row.copy)
        else:
            self._refuse("There is nothing to copy here.")

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _refuse(self, why: str) -> None:
        cast("StudioApp", self.app).say(why, "warning")
