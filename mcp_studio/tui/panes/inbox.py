"""Requests of servers and of the studio: one dialog at a time, which opens by itself only if it interrupts nobody."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.screen import Screen
from textual.widgets import Button, Input

from mcp_studio.call.call import Call
from mcp_studio.present import questions
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import OURS, Answer, InputRequest
from mcp_studio.tui.app import StudioApp

if TYPE_CHECKING:
    from mcp_studio.tui.screens.dialog import Dialog

_WORDS = {"accept": "Accepted", "decline": "Declined", "cancel": "Cancelled"}
_PAUSE = 0.4
"""Seconds without a change after which the focused field counts as unused."""
_DEAF = 0.5
"""Seconds in which a dialog that opened by itself takes no answer: keys may be meant for the screen below it."""


class InboxController:
    """Opens pending requests, the oldest first.

    A request opens by itself if a call waits for it, over the main screen or a dialog that allows requests, and while
    nobody types. Any other request is announced, and opens when the person asks for it.

    Args:
        show_call: shows the form of a call.
    """

    def __init__(self, app: StudioApp, screen: Screen[None], show_call: Callable[[Call], None]) -> None:
        self._app = app
        self._screen = screen
        self._show_call = show_call
        self._inbox = app.studio.inbox
        self._dialog: Dialog[Answer] | None = None
        self._request: InputRequest | None = None
        self._seen: set[int] = set()
        """The numbers of requests that the person put off or that a toast announced: they open only when asked for."""
        self._rate_limited: set[str] = set()
        """Servers that ask too often, as the person has been told."""
        self._newest: tuple[InputRequest, Answer] | None = None
        """The person's newest answer, from which a rule can be made."""

    # What changed

    def refresh_requests(self) -> None:
        """Follow the inbox: a request came, changed, was answered, or was withdrawn."""
        pending = self._inbox.pending
        self._seen &= {request.number for request in pending}
        self._rate_limited &= {request.server for request in pending}
        if self._dialog is not None and self._request not in pending:
            self._withdraw()
        self._offer()

    # Opening

    def open(self) -> None:
        """Open the pending request if there is exactly one, else the list of all that is pending."""
        pending = self._inbox.pending
        if self._dialog is None and len(pending) == 1 and not self._inbox.held:
            self.open_request(pending[0])
        elif self._dialog is None:
            self.open_activity()

    def open_request(self, request: InputRequest, deaf: float = 0) -> None:
        """Open one request; its dialog takes no answer for `deaf` seconds."""
        if self._dialog is None and not request.reply.done():
            self._request, self._dialog = request, self._dialog_for(request)
            self._dialog.deaf_until = time.monotonic() + deaf
            self._app.push_screen(self._dialog, self._take)

    def _dialog_for(self, request: InputRequest) -> Dialog[Answer]:
        match request.kind:
            case "sampling":
                from mcp_studio.tui.screens.sampling import Sampling

                return Sampling(request)
            case "approval":
                from mcp_studio.tui.screens.approval import Approval

                call = next((one for one in self._app.studio.caller.running if str(one.ref) == request.subject), None)
                return Approval(request, partial(self._show_call, call) if call is not None else None)
            case "sign_in":
                from mcp_studio.tui.screens.sign_in import SignInDialog

                return SignInDialog(self._app.studio.manager.config(request.server), request)
            case _:
                from mcp_studio.tui.screens.elicitation import Elicitation, UrlElicitation

                return (UrlElicitation if request.kind == "url" else Elicitation)(request)

    def _offer(self, before: str | None = None) -> None:
        """Open the oldest new request if that interrupts nobody; else announce it.

        Args:
            before: the text of the focused field a moment ago.
        """
        new = [one for one in self._inbox.pending if one.number not in self._seen and not one.reply.done()]
        if self._dialog is not None or not new:
            return
        from textual.widgets import TextArea

        loud = [request for request in new if not request.quiet]
        focused = self._app.focused
        typed = focused.value if isinstance(focused, Input) else focused.text if isinstance(focused, TextArea) else None
        if loud and loud[0].subject and getattr(self._app.screen, "opens_requests", self._app.screen is self._screen):
            if typed in (None, before):
                self.open_request(loud[0], _DEAF)
                return
            if before is None:
                self._screen.set_timer(_PAUSE, partial(self._offer, typed))
                return
        self._seen |= {request.number for request in new}
        if loud:
            key, asked = self._app.key_of("pending"), loud[0]
            message = f": {safe(asked.message, 120)}" if asked.kind not in OURS else "."
            self._app.say(f"{questions.request_words(asked)}{message} {key} opens it.")
        for request in new:
            if request.quiet and not request.note and request.server not in self._rate_limited:
                self._rate_limited.add(request.server)
                key = self._app.key_of("pending")
                self._app.say(f"{safe(request.server)} sends many requests: they open no dialogs now; {key} shows all.")

    # Answering

    def _take(self, answer: Answer | None) -> None:
        request, self._request, self._dialog = self._request, None, None
        if request is None:
            return
        if answer is None:
            # Later applies to all present requests of this server, so that they do not open one after another.
            self._seen |= {one.number for one in self._inbox.pending if one.server == request.server}
            self._offer()
        else:
            self.answer(request, answer)

    def answer(self, request: InputRequest, answer: Answer) -> None:
        """Give the person's answer to a request."""
        if request.reply.done():
            return
        request.answer(answer.action, answer.content, note=answer.note)
        if request.kind not in ("approval", "sign_in"):
            self._newest, key = (request, answer), self._app.key_of("palette")
            self._app.say(f'{_WORDS[answer.action]}. "Answer rule" in the palette ({key}) makes it automatic.')

    def _withdraw(self) -> None:
        """Close the dialog of a request that was withdrawn or answered elsewhere, but not while the person types: the
        next letters would be keys of the main screen. Then the dialog says what happened, and no message covers it.
        """
        dialog, request = self._dialog, self._request
        self._dialog = self._request = None
        if dialog is None or request is None:
            return
        what = ""
        if not request.reply.done() or request.reply.cancelled():
            what = f"The request of {safe(request.server)} was withdrawn."
        elif by := request.reply.result().by:
            what = f"The request of {safe(request.server)} was answered by {safe(by)}."
        if dialog.is_attached and self._app.screen is dialog:  # a dialog below another closes when it is visible again
            if not isinstance(dialog.focused, Button):
                dialog.end(f"{what} There is nothing to answer any more.".strip())
                return
            dialog.dismiss(None)
        if what:
            self._app.say(what, "warning")

    def make_rule(self) -> None:
        """Make an answer rule from the newest answer."""
        if self._newest is None:
            self._app.say("Answer a request first: then a rule can be made of the answer.", "warning")
            return
        from mcp_studio.tui.screens.answer_rule import AnswerRuleDialog

        self._app.push_screen(AnswerRuleDialog(*self._newest))

    def open_activity(self) -> None:
        """Show running calls and pending requests."""
        from mcp_studio.tui.screens.activity import Activity

        self._app.push_screen(Activity(self.answer), self._chosen)

    def _chosen(self, chosen: InputRequest | Call | None) -> None:
        if isinstance(chosen, InputRequest):
            self.open_request(chosen)
        elif isinstance(chosen, Call):
            self._show_call(chosen)
        else:
            self._offer()
