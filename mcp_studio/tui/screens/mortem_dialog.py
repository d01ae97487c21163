"""How a server ended: everything that is known of it, and what to do now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from textual.content import Content
from textual.widget import Widget

from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.trace.postmortem import Mortem
from mcp_studio.tui import mortem_text
from mcp_studio.tui.bindings import refuse
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.hanging import Hanging

Wish = tuple[Literal["again", "restart", "trace", "stray"], Mortem]
"""What the person wants to be done now, and about which ending."""
_LINES = 60


class MortemDialog(Dialog[Wish], scope="mortem"):
    """The endings of one server, one at a time, the newest first.

    Args:
        known: gives them, the newest last; asked again while it is open.
        status: how the server is now; None in a past session, where nothing can be sent.
        again: whether there is a call to be sent again.
    """

    reads = True

    def __init__(
        self,
        known: Callable[[], Sequence[Mortem]],
        status: Callable[[], Status | None],
        again: Callable[[Mortem], bool] = lambda one: False,
    ) -> None:
        super().__init__()
        self._known = known
        self._status = status
        self._again = again
        self._one = known()[-1]
        self._text = Hanging()
        self._content = Content("")

    def heading(self) -> Content:
        """Which of how many."""
        known = list(self._known())
        place = known.index(self._one) + 1 if self._one in known else 0
        which = f"  {place} of {len(known)}" if len(known) > 1 and place else ""
        return Content(f"How {safe(self._one.server, 60)} ended{which}")

    def body(self) -> Iterable[Widget]:
        """One text."""
        yield self._text

    def on_mount(self) -> None:
        """Fill it; how the server is now changes while it is open."""
        self._show()
        self.set_interval(0.5, self._show)

    def _show(self) -> None:
        content = Content.assemble(*mortem_text.card(self._one, self._status(), lines=_LINES))
        if content.plain != self._content.plain:
            self._content = content
            self._text.show(content)
            self.retitle(self.heading())

    def action_turn(self, step: int) -> None:
        """Another ending of the same server."""
        known = list(self._known())
        place = (known.index(self._one) if self._one in known else len(known) - 1) + step
        if 0 <= place < len(known):
            self._one = known[place]
            self._show()
        else:
            refuse(self, "There is no earlier one." if step < 0 else "This is the newest one.")

    def action_again(self) -> None:
        """Send the call again that it interrupted."""
        if self._again(self._one):
            self.dismiss(("again", self._one))
        else:
            what = "No call of yours was in flight" if not self._one.flights else "What was in flight was no call"
            refuse(self, f"{what} that could be sent again from here.")

    def action_restart(self) -> None:
        """Connect the server again."""
        if self._status() is None:
            refuse(self, "This is what the trace tells; servers are restarted in their own pane (1).")
        else:
            self.dismiss(("restart", self._one))

    def action_show_trace(self) -> None:
        """Go to its end in the trace."""
        self.dismiss(("trace", self._one))

    def action_stray(self) -> None:
        """Go to what it printed."""
        self.dismiss(("stray", self._one))

    def action_copy(self) -> None:
        """Copy it all."""
        self.app.copy_to_clipboard(self._content.plain)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)
