"""What servers and rules ask of the person: one dialog at a time, and only when it does not interrupt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import ModalScreen

from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import late

if TYPE_CHECKING:
    from mcp_studio.tui.screens.main import MainScreen


class Asking:
    """Opens the questions of the inbox, oldest first."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._inbox = screen.studio.inbox
        self._dialog: ModalScreen[Answer] | None = None
        self._request: InputRequest | None = None
        self._seen: set[int] = set()
        """Questions that were put off, or that a toast has told of: they open only when asked for."""

    def inbox_changed(self) -> None:
        """A question came, was answered, or was withdrawn."""
        self._screen.refresh_servers()
        pending = self._inbox.pending
        self._seen &= {request.number for request in pending}
        if self._dialog is not None and self._request not in pending:
            self._close()
        if self._dialog is None:
            self._offer()

    def reopen(self) -> None:
        """Open the oldest question, whatever the person is doing."""
        if self._dialog is not None:
            return
        if self._inbox.pending:
            self._open(self._inbox.pending[0])
        else:
            self._screen.studio_app.say("Nobody asks anything.")

    def _offer(self) -> None:
        for request in self._inbox.pending:
            if request.number in self._seen:
                continue
            if self._may_open(request):
                self._open(request)
                return
            self._seen.add(request.number)
            app = self._screen.studio_app
            app.say(f"{safe(request.server)} asks: {safe(request.message, 120)} {app.spell('questions')} answers.")

    def _may_open(self, request: InputRequest) -> bool:
        app = self._screen.studio_app
        if app.screen is not self._screen:
            return False
        # What takes letters is being typed into: a dialog would get the rest of the words.
        field = app.focused is not None and app.focused.check_consume_key("a", "a")
        visible = self._screen.calling.call
        if visible is not None and visible.outcome is None and visible.subject == request.subject:
            return not field or not app.typing
        return not field

    def _open(self, request: InputRequest) -> None:
        if request.kind == "approval":
            dialog = late.approval(request)
        else:
            dialog = late.question(request, len(self._inbox.pending), self._screen.studio)
        self._request, self._dialog = request, dialog
        self._screen.app.push_screen(dialog, self._answered)

    def _answered(self, answer: Answer | None) -> None:
        request, self._request, self._dialog = self._request, None, None
        if request is None:
            return
        if answer is None:
            self._seen.add(request.number)
        else:
            request.answer(answer.action, answer.content)
        # The inbox tells when it is gone; then the next one is offered.
        if answer is None:
            self._offer()

    def _close(self) -> None:
        """The question is gone while its dialog is open."""
        dialog, name = self._dialog, self._request.server if self._request else ""
        self._dialog = self._request = None
        if dialog is not None and dialog.is_attached:
            dialog.dismiss(None)
            self._screen.studio_app.say(f"{safe(name)} does not wait for the answer any more.")
