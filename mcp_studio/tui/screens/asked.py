"""The base of the dialogs in which a person answers a server: who asks, since when, how long, and the ways out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.asking import Asking


class AskedDialog(Dialog[Answer]):
    """Answers what the person chose; None is later."""

    wants = ""
    """What follows the server's name in the border."""

    def __init__(self, request: InputRequest, asking: Asking) -> None:
        super().__init__()
        self.request = request
        self.asking = asking
        self._times = Static(classes="quiet")
        self._said = ""
        self.note = Static(classes="bad")
        """What keeps the answer from being sent, or another word to the person."""

    def heading(self) -> Content:
        """Which server asks for what, and which call waits."""
        subject = f" · {safe(self.request.subject, 60)} is waiting" if self.request.subject else ""
        return Content(f"{safe(self.request.server, 40)} {self.wants}{subject}")

    def above(self) -> Iterable[Widget]:
        """What every question begins with: age and time left, and why a rule did not answer it."""
        yield self._times
        if self.request.note:
            yield Static(Content(f"{glyphs().warning} {safe(self.request.note, 500)}"), classes="bad")

    def on_mount(self) -> None:
        """Tell the time, and go on telling it."""
        self.tell_time()
        self.set_interval(1, self.tell_time)

    def on_screen_resume(self) -> None:
        """What lay over it is gone; the question may be, too."""
        if self.request.reply.done():
            self.dismiss(None)

    def tell_time(self) -> None:
        """Which of how many it is, how old, and how much time is left."""
        words = self.asking.times(self.request)
        if words != self._said:
            self._said = words
            self._times.update(Content(words))

    def say(self, text: str) -> None:
        """A word to the person below everything."""
        self.note.update(Content(safe(text, 600)))
        if text:
            self.note.scroll_visible(animate=False)

    def action_decline(self) -> None:
        """Tell the server that the person declines."""
        self.dismiss(Answer("decline"))

    def action_cancel(self) -> None:
        """Tell the server that the person stopped what is waiting."""
        self.dismiss(Answer("cancel"))

    def action_decline_all(self) -> None:
        """Decline everything that this server asks."""
        self.asking.ask_to_decline_all(self.request.server)

    @property
    def studio_app(self) -> StudioApp:
        """The app, as what it is."""
        return cast("StudioApp", self.app)

    def action_later(self) -> None:
        """Leave it waiting."""
        app = self.studio_app
        app.say(f"It waits; {app.spell('questions')} opens it again.")
        self.dismiss(None)
