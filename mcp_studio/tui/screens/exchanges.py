"""The HTTP exchanges of one step of signing in: what was sent, what came, with headers and bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.auth.model import AuthExchange, AuthStep
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.bindings import refuse
from mcp_studio.tui.exchange_text import text_of
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, Piece, cut, spread
from mcp_studio.tui.views.messages import Copied
from mcp_studio.tui.views.text_view import TextView
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.signal import Signal


class Exchanges(Dialog[None], scope="exchanges"):
    """A list of them, the newest under the cursor, and the whole of the one under it."""

    def __init__(self, step: AuthStep, changed: Signal[SignIn]) -> None:
        super().__init__()
        self._step = step
        self._changed = changed
        self._end: Callable[[], None] = lambda: None
        self._list: VirtualList[AuthExchange] = VirtualList(
            self._draw, key=lambda one: one.number, empty="Nothing was sent for it."
        )
        self._view = Findable(TextView())
        self._shown: AuthExchange | None = None

    def heading(self) -> Content:
        """Which step."""
        count = units.plural(len(self._step.exchanges), "exchange")
        return Content(f"{safe(self._step.title, 60)}: {count}")

    def body(self) -> Iterable[Widget]:
        """The list, and the exchange under its cursor."""
        if said := " ".join(filter(None, (self._step.detail, self._step.hint))):
            yield Static(Content(safe(said, 2_000)), classes="said")
        yield self._list
        yield self._view

    def on_mount(self) -> None:
        """Show the newest."""
        self._end = self._changed.connect(self._heard)
        self._list.focus()
        self._look()
        self._list.action_last()

    def on_unmount(self) -> None:
        """Follow it no longer."""
        self._end()

    def _heard(self, run: SignIn) -> None:
        self.call_later(self._look)

    def _look(self) -> None:
        if self.is_attached:
            self._list.set_rows(tuple(self._step.exchanges))
            self.retitle(self.heading())
            self._show()

    def _show(self) -> None:
        one = self._list.row
        if one is not None and one != self._shown:
            self._shown = one
            self._view.view.set_text(text_of(one))

    def _draw(self, one: AuthExchange, width: int, selected: bool) -> Line:
        status = f"{one.status}" if one.status else glyphs().dash
        look = "ok" if 200 <= one.status < 400 else "warn"
        took = f"  {units.duration(one.ms)}" if one.ms else ""
        left: list[Piece] = [
            (f"{safe(one.method, 12):<5}", "dim"),
            (cut(safe(one.url, 600), width, more=glyphs().more), ""),
        ]
        return spread(left, [(f" {status}", look), (took, "dim")], width)

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Show the one under the cursor."""
        event.stop()
        self._show()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """Enter goes into the text."""
        event.stop()
        self._view.view.focus()

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    def action_turn(self, step: int) -> None:
        """Another exchange."""
        place = self._list.cursor + step
        if 0 <= place < self._list.row_count:
            self._list.move_to(place)
        else:
            refuse(self, "There is no other one before it." if step < 0 else "There is no other one after it.")

    def action_copy(self) -> None:
        """Copy it, or what is selected of it."""
        self._view.view.action_copy()

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)
