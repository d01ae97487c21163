"""The base of the dialogs in which a person answers a request: who asks, since when, how long, and the ways out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual import getters
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.views.glyphs import glyphs

DECLINE, CANCEL, LATER = Choice("decline", "Decline"), Choice("cancel", "Cancel"), Choice("back", "Later")
Parts = list[str | tuple[str, str]]


class RequestDialog(Dialog[Answer]):
    """Answers what the person chose; None is later.

    Args:
        times: says which request of how many it is, how old, and how much time is left.
    """

    DEFAULT_CSS = """
    RequestDialog {
        & .foreign { border-left: outer $quiet; padding-left: 1; margin-bottom: 1; }
    }
    """
    wants = ""
    """What follows the server's name in the title."""
    problem = getters.query_one("#problem", Static)

    def __init__(self, request: InputRequest, times: Callable[[InputRequest], str]) -> None:
        super().__init__()
        self.request = request
        self._times_of = times

    def heading(self) -> str:
        subject = f" · {self.request.subject} is waiting" if self.request.subject else ""
        return f"{safe(self.request.server, 40)} {self.wants}{safe(subject, 80)}"

    def body(self) -> Iterable[Widget]:
        yield Static(id="times", classes="quiet gap", markup=False)
        if self.request.note:  # why a rule did not answer it
            yield Static(Content(f"{glyphs().warning} {safe(self.request.note, 500)}"), classes="bad gap")
        yield from self.question()
        yield Static(id="problem", classes="bad", markup=False)

    def question(self) -> Iterable[Widget]:
        """The widgets of the request itself."""
        return ()

    def on_mount(self) -> None:
        super().on_mount()
        self.tick()
        self.set_interval(1, self.tick)

    def tick(self) -> None:
        """Show what changes with time; once a second."""
        self.query_one("#times", Static).update(Content(safe(self._times_of(self.request), 200)))

    def on_screen_resume(self) -> None:
        """What lay over it is gone; the request may be, too."""
        if self.request.reply.done():
            self.dismiss(None)

    def refuse(self, text: str) -> None:
        """Say below everything why it cannot be answered so."""
        self.problem.update(Content(safe(text, 600)))
        if text:
            self.problem.scroll_visible(animate=False)

    def foreign(self, text: str, most: int = 4_000) -> Static:
        """Words of the server, behind a bar that no text of it can draw."""
        return Static(Content(safe(text, most, lines=True)), classes="foreign")

    def action_decline(self) -> None:
        self.dismiss(Answer("decline"))

    def action_cancel(self) -> None:
        self.dismiss(Answer("cancel"))

    def action_back(self) -> None:
        self.app.say(f"It stays pending; {self.app.key_of('pending')} opens it again.")
        self.dismiss(None)
