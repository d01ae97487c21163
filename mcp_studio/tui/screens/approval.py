"""Approval of a call: what would be sent, and why it needs approval."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import pretty
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer
from mcp_studio.tui.screens.dialog import Choice
from mcp_studio.tui.screens.request import LATER, RequestDialog

_SHOWN = 8_000


class Approval(RequestDialog):
    """Answers accept or decline; None is later."""

    choices = (Choice("accept", "Run once", "error"), Choice("decline", "Deny"), LATER)

    def heading(self) -> str:
        return f"Run {safe(self.request.subject, 70)}?"

    def question(self) -> Iterable[Widget]:
        risky = "destructive" in self.request.reasons
        reasons = " · ".join(safe(reason, 200) for reason in self.request.reasons)
        text = Content.assemble(
            (f"{'! ' if risky else ''}{reasons}\n", "bold $risk-destructive" if risky else "bold"),
            ("What the server says of its tools is a hint, not a guarantee.\n", "$quiet"),
            "\nArguments\n",
            safe(pretty(self.request.arguments), _SHOWN, lines=True),
        )
        yield Static(text)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#decline").focus()

    def action_accept(self) -> None:
        self.dismiss(Answer("accept"))
