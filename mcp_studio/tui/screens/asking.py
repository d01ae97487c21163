"""What servers and rules ask of the person: one dialog at a time, and only when it does not interrupt."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from textual.screen import ModalScreen

from mcp_studio.call.call import Call
from mcp_studio.config.model import AnswerRule
from mcp_studio.present import questions as asking_words
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import late

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.board import Chosen
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.signing import Signing

_WORDS = {"accept": "Accepted", "decline": "Declined", "cancel": "Cancelled"}


class Asking:
    """Opens the questions of the inbox, oldest first, and the board of all that runs and waits."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self.studio = screen.studio
        self._inbox = screen.studio.inbox
        self._dialog: ModalScreen[Answer] | None = None
        self._request: InputRequest | None = None
        self._seen: set[int] = set()
        """Questions that were put off, or that a toast has told of: they open only when asked for."""
        self._quiet: set[str] = set()
        """Servers of which the person was told that they ask too often."""
        self._done: Counter[str] = Counter()
        """Questions of a server that were answered since it last had none waiting."""
        self._pages: dict[int, InputRequest] = {}
        """Pages that were shown, until their server calls them done."""
        self._given: tuple[InputRequest, Answer] | None = None
        """The newest answer of the person, of which a rule can be made."""
        self._told = True
        """Whether they have been told so."""
        self._declined: set[str] = set()
        """Servers whose questions were all declined at once: no dialog needs to say that it closes."""
        self._back_to_board = False
        self._making = False

    @property
    def signing(self) -> Signing:
        """Signing in, which a call may wait for."""
        return self._screen.serving.signing

    @property
    def _app(self) -> StudioApp:
        return self._screen.studio_app

    # What changed

    def inbox_changed(self) -> None:
        """A question came, changed, was answered, or was withdrawn."""
        self._screen.refresh_servers()
        pending = self._inbox.pending
        self._seen &= {request.number for request in pending}
        asking = {request.server for request in pending}
        self._quiet &= asking
        for server in self._done.keys() - asking:
            del self._done[server]
        self._tell_of_pages()
        if self._dialog is not None and self._request not in pending:
            self._close()
        if self._dialog is None:
            self._offer()
        if self._dialog is None:
            self._tell_of_rule()

    def reopen(self) -> None:
        """Open the question when there is exactly one, else the board, whatever the person is doing."""
        if self._dialog is not None:
            return
        pending = self._inbox.pending
        if len(pending) == 1 and not self._inbox.held:
            self.open(pending[0])
        else:
            self.open_board()

    def open(self, request: InputRequest) -> None:
        """Open one question."""
        if self._dialog is not None or request.reply.done():
            return
        if request.kind == "url":
            self._pages[request.number] = request
        dialog = late.question(request, self)
        self._request, self._dialog = request, dialog
        self._screen.app.push_screen(dialog, self._answered)

    def times(self, request: InputRequest) -> str:
        """Which of how many of its server it is, its age, and the time that is left."""
        done = self._done[request.server]
        count = done + self._inbox.waiting(request.server)
        which = f"request {done + 1} of {count}" if count > 1 else ""
        old = f"asked {units.seconds(time.monotonic() - request.asked)} ago"
        return " · ".join(filter(None, (which, old, asking_words.left(request))))

    # Opening

    def _offer(self) -> None:
        new = [one for one in self._inbox.pending if one.number not in self._seen and not one.reply.done()]
        loud: list[InputRequest] = []
        for request in new:
            if request.quiet:
                self._seen.add(request.number)
                self._tell_quiet(request)
            elif not loud and self._may_open(request):
                self.open(request)
                return
            else:
                self._seen.add(request.number)
                loud.append(request)
        if loud:
            self._tell_waiting(loud)

    def _tell_waiting(self, requests: list[InputRequest]) -> None:
        first, key = requests[0], self._app.spell("questions")
        if len(requests) == 1:
            self._app.say(f"{safe(first.server)} asks: {safe(asking_words.asks(first), 120)} {key} answers.")
        else:
            servers = sorted({safe(request.server, 40) for request in requests})
            count = units.plural(len(requests), "thing")
            self._app.say(f"{', '.join(servers[:5])} ask{'s' if len(servers) == 1 else ''} {count}. {key} shows them.")

    def _tell_quiet(self, request: InputRequest) -> None:
        if request.server not in self._quiet and not request.note:
            self._quiet.add(request.server)
            key = self._app.spell("questions")
            self._app.say(
                f"{safe(request.server)} asks too often: no more dialogs open by themselves; {key} shows all."
            )

    def _may_open(self, request: InputRequest) -> bool:
        app = self._app
        if app.screen is not self._screen:
            return False
        # What takes letters is being typed into: a dialog would get the rest of the words.
        field = app.focused is not None and app.focused.check_consume_key("a", "a")
        visible = self._screen.calling.call
        if visible is not None and visible.outcome is None and visible.subject == request.subject:
            return not field or not app.typing
        return not field

    # Answering

    def _answered(self, answer: Answer | None) -> None:
        request, self._request, self._dialog = self._request, None, None
        if request is None:
            return
        if answer is None:
            # Later is meant for all that this server asks now, not for one after another.
            self._seen |= {one.number for one in self._inbox.pending if one.server == request.server}
        else:
            self.answer(request, answer)
        if self._back_to_board:
            self._back_to_board = False
            if len(self._inbox.pending) > (answer is not None):
                self.open_board()
                return
        # The inbox tells when it is gone; then the next one is offered.
        if answer is None:
            self._offer()

    def answer(self, request: InputRequest, answer: Answer) -> None:
        """Give the person's answer to a question."""
        if request.reply.done():
            return
        request.answer(answer.action, answer.content)
        self.was_given(request, answer)

    def page_opened(self, request: InputRequest) -> None:
        """The person agrees to a page: it is being opened, or its address was copied."""
        answers = not request.retries and not request.reply.done()
        self._inbox.page_opened(request)
        if answers:
            self.was_given(request, Answer("accept"))

    def was_given(self, request: InputRequest, answer: Answer) -> None:
        """Remember what was answered: a rule can be made of it."""
        self._done[request.server] += 1
        if request.kind not in ("approval", "sign_in"):
            self._given, self._told = (request, answer), False

    def ask_to_decline_all(self, server: str) -> None:
        """Decline everything that a server asks, once the person has confirmed it."""

        def answered(yes: bool | None) -> None:
            if yes:
                declined = self._inbox.waiting(server)
                self._declined.add(server)
                self._inbox.decline_all(server)
                self._app.say(f"{units.plural(declined, 'question')} of {safe(server, 60)} declined.")

        count = units.plural(self._inbox.waiting(server), "question")
        text = f"Decline {count} of {safe(server, 60)}? Each of them is answered with no."
        self._screen.app.push_screen(late.confirm("Decline all", text), answered)

    def _close(self) -> None:
        """The question is gone while its dialog is open."""
        dialog, request = self._dialog, self._request
        self._dialog = self._request = None
        self._back_to_board = False
        if dialog is None or request is None:
            return
        if getattr(dialog, "stays", False):
            return
        # One that others lie over goes when it comes to light again.
        if dialog.is_attached and self._screen.app.screen is dialog:
            dialog.dismiss(None)
        if request.completed or request.server in self._declined:
            self._declined.discard(request.server)
        elif request.reply.done() and not request.reply.cancelled() and (by := request.reply.result().by):
            self._app.say(f"The question of {safe(request.server)} was answered by {safe(by)}.", "warning")
        elif not request.opened:
            self._app.say(f"{safe(request.server)} does not wait for the answer any more.")

    def _tell_of_pages(self) -> None:
        for request in [page for page in self._pages.values() if page.completed]:
            del self._pages[request.number]
            if request.opened:
                again = ": the call is sent again" if request.retries else ""
                self._app.say(f"{safe(request.server)} says that the page is done{again}.")

    # Rules

    def _tell_of_rule(self) -> None:
        if self._given is not None and not self._told:
            self._told = True
            word = _WORDS[self._given[1].action]
            self._app.say(f"{word}. {self._app.spell('make-rule')} makes a rule of this answer.")

    @property
    def has_given(self) -> bool:
        """Whether there is an answer of which a rule can be made."""
        return self._given is not None

    def make_rule(self) -> None:
        """Make a rule of the answer that was just given."""

        def made(rule: AnswerRule | None) -> None:
            self._making = False
            if rule is not None:
                self._given = None

        if self._making:
            return
        if self._given is None:
            self._app.say("Answer something first: then a rule can be made of it.", "warning")
        else:
            self._told = self._making = True
            self._screen.app.push_screen(late.rule_dialog(self.studio, *self._given), made)

    # The board

    def open_board(self) -> None:
        """Show what runs and what waits."""
        self._screen.app.push_screen(late.board(self.studio, self), self._chosen)

    def _chosen(self, chosen: Chosen | None) -> None:
        if isinstance(chosen, InputRequest):
            self.open(chosen)
            self._back_to_board = self._dialog is not None
        elif isinstance(chosen, Call):
            self._go_to(chosen)
        else:
            self._offer()

    def _go_to(self, call: Call) -> None:
        found = self.studio.catalog.find(call.ref)
        if found:
            opening = self._screen.calling.open(found[0], go=True)
            self._screen.run_worker(opening, group="open", exclusive=True)
        else:
            self._app.say(f"{safe(call.subject)} is no longer listed.", "warning")
