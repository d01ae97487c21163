"""Requests of servers and of the studio itself: one dialog at a time, opened only where it does not interrupt."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import ModalScreen, Screen

from mcp_studio.call.call import Call
from mcp_studio.present import questions, units
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.app import StudioApp

if TYPE_CHECKING:
    from mcp_studio.config.model import AnswerRule

_WORDS = {"accept": "Accepted", "decline": "Declined", "cancel": "Cancelled"}


class InboxController:
    """Opens pending requests, oldest first.

    Args:
        screen: the main screen: dialogs open by themselves only over it, and while no field of it has the focus.
        show_call: goes to a call that was chosen among the running ones.
    """

    def __init__(self, app: StudioApp, screen: Screen[None], show_call: Callable[[Call], None]) -> None:
        self._app = app
        self._screen = screen
        self._show_call = show_call
        self._inbox = app.studio.inbox
        self._dialog: ModalScreen[Answer] | None = None
        self._request: InputRequest | None = None
        self._seen: set[int] = set()
        """Requests that were put off, or that a toast told of: they open only when asked for."""
        self._rate_limited: set[str] = set()
        """Servers of which the person was told that they ask too often."""
        self._answered: Counter[str] = Counter()
        """Requests of a server that were answered since it last had none pending."""
        self._newest: tuple[InputRequest, Answer] | None = None
        """The newest answer of the person, of which a rule can be made."""

    # What changed

    def refresh_requests(self) -> None:
        """A request came, changed, was answered, or was withdrawn."""
        pending = self._inbox.pending
        self._seen &= {request.number for request in pending}
        asking = {request.server for request in pending}
        self._rate_limited &= asking
        for server in self._answered.keys() - asking:
            del self._answered[server]
        if self._dialog is not None and self._request not in pending:
            self._withdraw()
        if self._dialog is None:
            self._offer()

    def times(self, request: InputRequest) -> str:
        """Which of how many of its server it is, its age, and the time that is left."""
        done = self._answered[request.server]
        count = done + self._inbox.waiting(request.server)
        which = f"request {done + 1} of {count}" if count > 1 else ""
        old = f"{units.seconds(time.monotonic() - request.asked)} ago"
        return " · ".join(filter(None, (which, old, questions.left(request))))

    # Opening

    def open(self) -> None:
        """Open the pending request where there is exactly one, else all that is pending."""
        pending = self._inbox.pending
        if self._dialog is None and len(pending) == 1 and not self._inbox.held:
            self.open_request(pending[0])
        elif self._dialog is None:
            self.open_activity()

    def open_request(self, request: InputRequest) -> None:
        """Open one request."""
        if self._dialog is None and not request.reply.done():
            self._request, self._dialog = request, self._dialog_for(request)
            self._app.push_screen(self._dialog, self._take)

    def _dialog_for(self, request: InputRequest) -> ModalScreen[Answer]:
        match request.kind:
            case "url":
                from mcp_studio.tui.screens.url_elicitation import UrlElicitation

                return UrlElicitation(request, self.times)
            case "sampling":
                from mcp_studio.tui.screens.sampling import Sampling

                return Sampling(request, self.times)
            case "approval":
                from mcp_studio.tui.screens.approval import Approval

                return Approval(request, self.times)
            case "sign_in":
                from mcp_studio.tui.screens.sign_in import SignInDialog

                return SignInDialog(request.server, request)
            case _:
                from mcp_studio.tui.screens.elicitation import Elicitation

                return Elicitation(request, self.times)

    def _offer(self) -> None:
        """Open the oldest new request where that does not interrupt; else tell of what is new."""
        told: list[InputRequest] = []
        for request in self._inbox.pending:
            if request.number in self._seen or request.reply.done():
                continue
            if request.quiet:
                self._tell_rate_limit(request)
            elif not told and self._may_open():
                self.open_request(request)
                return
            else:
                told.append(request)
            self._seen.add(request.number)
        if told:
            self._tell(told)

    def _may_open(self) -> bool:
        """Not over another dialog, and not while a field is typed into: it would get the rest of the words."""
        focused = self._app.focused
        return self._app.screen is self._screen and not (focused is not None and focused.check_consume_key("a", "a"))

    def _tell(self, requests: list[InputRequest]) -> None:
        first, key = requests[0], self._app.key_of("pending")
        if len(requests) == 1:
            text = f"{safe(first.server)} requests input: {safe(questions.asks(first), 120)} {key} answers."
        else:
            servers = sorted({safe(request.server, 40) for request in requests})
            text = f"{', '.join(servers[:5])}: {units.plural(len(requests), 'pending request')}. {key} shows them."
        self._app.say(text)

    def _tell_rate_limit(self, request: InputRequest) -> None:
        if request.server not in self._rate_limited and not request.note:
            self._rate_limited.add(request.server)
            key = self._app.key_of("pending")
            self._app.say(f"{safe(request.server)} sends many requests: they open no dialogs now; {key} shows all.")

    # Answering

    def _take(self, answer: Answer | None) -> None:
        request, self._request, self._dialog = self._request, None, None
        if request is None:
            return
        if answer is None:
            # Later is meant for all that this server requests now, not for one after another.
            self._seen |= {one.number for one in self._inbox.pending if one.server == request.server}
            self._offer()
        else:
            self.answer(request, answer)

    def answer(self, request: InputRequest, answer: Answer) -> None:
        """Give the person's answer to a request."""
        if request.reply.done():
            return
        request.answer(answer.action, answer.content)
        self._answered[request.server] += 1
        if request.kind not in ("approval", "sign_in"):
            self._newest = request, answer
            self._app.say(f"{_WORDS[answer.action]}. The palette makes a rule of this answer: Answer rule.")

    def _withdraw(self) -> None:
        """The request is gone while its dialog is open."""
        dialog, request = self._dialog, self._request
        self._dialog = self._request = None
        if dialog is None or request is None:
            return
        if dialog.is_attached and self._app.screen is dialog:  # one under another goes when it is seen again
            dialog.dismiss(None)
        if request.reply.done() and not request.reply.cancelled() and (by := request.reply.result().by):
            self._app.say(f"The request of {safe(request.server)} was answered by {safe(by)}.", "warning")
        elif not (request.opened or request.completed or request.reply.done()):
            self._app.say(f"{safe(request.server)} withdrew its request.")

    def decline_all(self, server: str) -> None:
        """Decline everything that a server requests, once the person has confirmed it."""
        from mcp_studio.tui.screens.dialog import Confirm

        def decline(yes: bool | None) -> None:
            if yes:
                self._inbox.decline_all(server)

        text = (
            f"{units.plural(self._inbox.waiting(server), 'request')} of {safe(server, 60)} are answered with decline."
        )
        self._app.push_screen(Confirm("Decline all?", text, "Decline all"), decline)

    def make_rule(self) -> None:
        """Make a rule of the newest answer."""
        if self._newest is None:
            self._app.say("Answer a request first: then a rule can be made of the answer.", "warning")
            return
        from mcp_studio.tui.screens.answer_rule import AnswerRuleDialog

        def made(rule: AnswerRule | None) -> None:
            if rule is not None:
                self._newest = None

        self._app.push_screen(AnswerRuleDialog(*self._newest), made)

    def open_activity(self) -> None:
        """Show what runs and what is pending."""
        from mcp_studio.tui.screens.activity import Activity

        self._app.push_screen(Activity(self.answer, self.decline_all), self._chosen)

    def _chosen(self, chosen: InputRequest | Call | None) -> None:
        if isinstance(chosen, InputRequest):
            self.open_request(chosen)
        elif isinstance(chosen, Call):
            self._show_call(chosen)
        else:
            self._offer()
