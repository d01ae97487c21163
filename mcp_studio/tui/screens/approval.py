"""May this be run? Shows exactly what would be sent, and why it is asked."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import pretty
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.dialog import Dialog

_SHOWN = 8_000


class Approval(Dialog[Answer], scope="approval"):
    """Answers accept or decline; None is later."""

    reads = True
    answers = frozenset(("run", "deny"))

    def __init__(self, request: InputRequest) -> None:
        super().__init__()
        self._request = request

    def heading(self) -> Content:
        """Which tool of which server."""
        return Content(f"Run {safe(self._request.subject, 70)}?")

    def body(self) -> Iterable[Widget]:
        """Reasons and arguments."""
        risky = "destructive" in self._request.reasons
        reasons = " · ".join(safe(reason) for reason in self._request.reasons)
        yield Static(
            Content.assemble(
                (f"{'! ' if risky else ''}{reasons}\n", "b $risk-destructive" if risky else "b"),
                ("What the server says of its tools is a hint, not a guarantee.\n", "$quiet"),
                "\nThis would be sent:\n",
                safe(pretty(self._request.arguments), _SHOWN, lines=True),
            )
        )

    def action_run(self) -> None:
        """Run it once."""
        self.dismiss(Answer("accept"))

    def action_deny(self) -> None:
        """Do not run it."""
        self.dismiss(Answer("decline"))

    def action_later(self) -> None:
        """Leave it waiting."""
        self.dismiss(None)
