"""Signing in to a server: what the person does about it. Leaving the dialog leaves what has begun going on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual.widgets import Input

from mcp_studio.auth.signin import SignIn
from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer
from mcp_studio.tui import late_auth
from mcp_studio.tui.screens.sign_in_view import SignInView
from mcp_studio.tui.sign_in_text import Row
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp

_LETTERS = frozenset("open_page copy paste step_by_step next run_through again keep token details stop decline".split())


_NO_PAGE = "There is no page yet to be opened in a browser."


class SignInDialog(SignInView, scope="sign in"):
    """Commands one sign-in; answers the question of the inbox that waits for it, if one does."""

    answers = _LETTERS

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click is enter."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Begin; take the choice; or open the exchanges of a step."""
        if self.run_now is None:
            self._begin(step_by_step=False)
        elif self._choices.display and self._choices.has_focus and self._choices.row is not None:
            self._try(self.run_now.choose, self._choices.row)
        elif (row := self._list.row) is not None:
            self._open_step(row)

    def _open_step(self, row: Row) -> None:
        if row.step.exchanges or row.step.detail:
            self.app.push_screen(late_auth.exchanges(row.step, cast("SignIn", self.run_now).changed))
        else:
            self.say(f"{safe(row.step.title, 60)}: nothing has been sent for it.")

    def _begin(self, *, step_by_step: bool) -> None:
        if self._matter.refusal:
            self.say(f"Tokens could not be kept: {self._key('sign-in-keep')} chooses where they are.")
            return
        self.run_worker(self._began(step_by_step), group="begin", exclusive=True)

    async def _began(self, step_by_step: bool) -> None:
        try:
            await self._signing.unlock(self._matter)
            run = self._signing.begin(self.server, self.request, step_by_step)
        except StudioError as error:
            self.say(f"{error.message} {error.hint}")
            return
        self._state = ""
        self._follow(run)

    def action_step_by_step(self) -> None:
        """Begin and stop before each request, or stop before the next one."""
        run = self.run_now
        if run is None:
            self._begin(step_by_step=True)
        elif run.over:
            self._begin(step_by_step=True)
        else:
            run.step_by_step = True
            self.say("It stops before the next request.")

    def action_next(self) -> None:
        """Send the request that is shown."""
        if (run := self._in("paused", "No request is held: it stops before each one only step by step.")) is not None:
            run.go_on()

    def action_run_through(self) -> None:
        """Send everything without stopping, also what comes after the page."""
        run = self.run_now
        if run is not None and not run.over and run.step_by_step:
            run.run_through()
            self.say("It does not stop before requests any more.")
        else:
            self.say("No request is held: it stops before each one only step by step.")

    def action_open_page(self) -> None:
        """Hand the page to the browser."""
        if (run := self._in("browser", _NO_PAGE)) is not None:
            self.run_worker(self._open(run), group="page", exclusive=True)

    async def _open(self, run: SignIn) -> None:
        if await run.open_page():
            self.say("")
            self._show()
        elif run.refusal:
            self.say(f"Not opened: {run.refusal}")
        else:
            self.say(f"There is no browser here. {self._key('sign-in-copy')} copies the address, to open it elsewhere.")

    def action_copy(self) -> None:
        """Copy the page's address; the redirect, where a client has to be registered with it."""
        if self.run_now is not None and self.run_now.state == "client":
            cast("StudioApp", self.app).copy(self.run_now.redirect_uri)
            return
        if (run := self._in("browser", _NO_PAGE)) is not None:
            cast("StudioApp", self.app).copy(run.authorization_url)

    def action_paste(self) -> None:
        """A line for the address that the browser was sent to."""
        if self._in("browser", _NO_PAGE) is not None:
            self._paste.display = True
            self.set_focus(self._paste)
            self.say("")

    def entered(self, line: Input) -> None:
        """Enter in a field: the redirect, or the client."""
        run = self.run_now
        if run is None or (not line.value.strip() and line is not self._secret):
            return
        if line is self._paste:
            # What is wrong stays to be put right.
            self._try(run.paste, line.value.strip())
        elif line is self._id and not self._secret.value:
            self.set_focus(self._secret)
        elif self._id.value.strip():
            self._try(run.give_client, self._id.value.strip(), self._secret.value)

    def _try(self, act: Callable[..., None], *values: str) -> None:
        """Do what may be refused; why is told."""
        try:
            act(*values)
        except StudioError as error:
            self.say(f"{error.message} {error.hint}")
        else:
            self.say("")

    def action_again(self) -> None:
        """Begin anew."""
        if self.run_now is not None and not self.run_now.over:
            self.say(f"It is still going on; {self._key('sign-in-stop')} stops it.")
        else:
            self._begin(step_by_step=False)

    def action_keep(self) -> None:
        """Choose where tokens are kept."""
        if self.run_now is not None and not self.run_now.over:
            self.say("That is chosen before it begins.")
        else:
            self._signing.choose_place(self.look_again, refused=bool(self._matter.refusal))

    def action_token(self) -> None:
        """The token's details."""
        self._signing.token(self.server)

    def action_details(self) -> None:
        """The server's details."""
        self._signing.details(self.server)

    def action_stop(self) -> None:
        """Stop it; nothing is kept."""
        if self.run_now is None or self.run_now.over:
            self.action_later()
        else:
            self.run_now.cancel()

    def action_decline(self) -> None:
        """Do not sign in for what is waiting."""
        if self.request is None:
            self.say("Nothing waits for it that could be declined.")
            return
        if self.run_now is not None:
            self.run_now.cancel()
        self.dismiss(Answer("decline"))

    def action_later(self) -> None:
        """One step back: out of a field, else out of the dialog; what has begun goes on."""
        if isinstance(self.focused, Input):
            if self.focused is self._paste:
                self._paste.display = False
            self.set_focus(self._list)
            return
        app, run = cast("StudioApp", self.app), self.run_now
        if run is not None and not run.over:
            app.say(f"Signing in to {safe(self.server, 60)} goes on; {app.spell('server-sign-in')} on it shows it.")
        elif self.request is not None and not self.request.reply.done():
            app.say(f"It waits; {app.spell('questions')} opens it again.")
        self.dismiss(None)

    def _in(self, state: str, otherwise: str) -> SignIn | None:
        if self.run_now is not None and self.run_now.state == state:
            return self.run_now
        self.say(otherwise)
        return None
