"""Dialogs for requests of servers: their base; a form to fill in; a page to open, never without consent."""

from __future__ import annotations

import re
import time

from textual import getters, on, work
from textual.content import Content
from textual.widgets import Button, Static

from mcp_studio.call.secrets import may_hold_secrets, secret_places
from mcp_studio.jsontext import Json, items_of
from mcp_studio.present import questions, units
from mcp_studio.present.browser import open_page
from mcp_studio.safetext import safe
from mcp_studio.schema.field import defaults, errors, is_secret
from mcp_studio.schema.form import build
from mcp_studio.schema.place import path_of, pointer, remove
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.form.view import FormView
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts, Widgets
from mcp_studio.tui.views.rows import glyphs
from mcp_studio.urls import judge

DECLINE = Choice("decline", "Decline", answer=Answer("decline"))
CANCEL, LATER = Choice("cancel", "Cancel", answer=Answer("cancel")), Choice("back", "Later")
_ADDRESS = 10_000
"""Characters of an address that the dialog shows."""

_SECRETS = r"(?i)passw(or)?d|passphrase|passcode|api[ _-]?key|\bsecret|\btoken\b|\bPIN\b|\bcredit card\b"
"""Matches a question that asks for a secret."""


class RequestDialog(Dialog[Answer]):
    """Shows a request of a server; answers the person's choice, and None for later."""

    every = 1.0
    wants = ""
    """The text after the server's name in the title."""

    def __init__(self, request: InputRequest) -> None:
        tool = request.subject.removeprefix(f"{request.server}.")
        subject = f" · {tool} is waiting" if tool else ""
        super().__init__(f"{safe(request.server, 40)} {self.wants}{safe(subject, 80)}")
        self.request = request

    def body(self) -> Widgets:
        yield Static(id="times", classes="quiet gap", markup=False)
        if self.request.note:  # the reason why no rule answered the request
            yield Static(Content(f"{glyphs().warning} {safe(self.request.note, 500)}"), classes="bad gap")
        yield from self.question()

    def question(self) -> Widgets:
        """The widgets of the request itself."""
        return ()

    def look(self) -> None:
        """Show the number of pending requests, the age of this one, and its remaining time."""
        count = len(self.app.studio.inbox.pending) + self.app.studio.inbox.held
        which = f"1 of {count} pending requests" if count > 1 else ""
        old = f"{units.seconds(time.monotonic() - self.request.asked)} ago"
        self.put("times", " · ".join(filter(None, (which, old, questions.time_left(self.request)))))

    def on_screen_resume(self) -> None:
        """Close the dialog if the request was answered while another screen was on top."""
        if self.request.reply.done():
            self.dismiss(None)

    def foreign(self, text: str, most: int = 4_000) -> Static:
        """Text of the server behind a bar, which no text of the server can draw."""
        return Static(Content(safe(text, most, lines=True)), classes="foreign")

    def action_back(self) -> None:
        if not self.request.reply.done():
            self.app.say(f"The request stays pending; {self.app.key_of('pending')} opens it again.")
        self.dismiss(None)


class Elicitation(RequestDialog):
    """The message of the server, our warnings, and the form."""

    wants = "requests input"
    choices = (Choice("accept", "Accept", "primary"), DECLINE, CANCEL, LATER)

    def __init__(self, request: InputRequest) -> None:
        super().__init__(request)
        self._schema = self.schema_of(request)
        self._form = build(self._schema, strict=True)
        self.view = FormView(empty="No fields to fill in.")

    def schema_of(self, request: InputRequest) -> Json:
        """What the values have to fit."""
        return request.schema

    def question(self) -> Widgets:
        yield self.foreign(self.request.message)
        names = ", ".join(safe(field.name, 60) for field in self._form.fields if is_secret(field))
        warning = ""
        if names or may_hold_secrets(self._form):
            warning = f"{names or 'A field'} looks like a secret. A server should not request passwords in a form."
        elif re.search(_SECRETS, self.request.message):
            warning = "Its message mentions a secret. A server should not request passwords or tokens in a form."
        for text in (warning, *self._form.problems[:3]):
            if text:
                yield Static(Content(f"{glyphs().warning} {safe(text, 300)}"), classes="bad gap")
        yield self.view

    def on_mount(self) -> None:
        value, unread = items_of(self.request.draft) or [self.start(), {}]
        self.view.show(self._form, value, unread)
        self.begin()

    def begin(self) -> None:
        """Focus the first field."""
        self.view.begin()

    def start(self) -> Json:
        """The default values, except for fields that look secret, so that nobody sends a secret unseen."""
        value: Json = defaults(self._form)
        for place in secret_places(self._form, value):
            value = remove(value, path_of(place, value))
        return value

    @on(FormView.Changed)
    def keep(self, event: FormView.Changed) -> None:
        """Store the typed values, so that they are there again after Later."""
        self.request.draft = [event.value, dict(self.view.pending)]
        self.note("")

    @work(exclusive=True)
    async def action_accept(self) -> None:
        """Send the values if they fit the requested schema."""
        problems = self.view.unreadable or self.view.problems
        if not problems:
            problems = await self.app.studio.checker.check(self._schema, self.view.value)
        if wrong := errors(problems):
            self.view.show_problems(problems)
            self.view.focus_first_problem()
            here = pointer(*self.view.row.path) if self.view.row is not None else ""
            first = next((one for one in wrong if one.pointer == here), wrong[0])
            more = f"; {units.plural(len(wrong) - 1, 'more problem')}" * (len(wrong) > 1)
            self.note(f"Not sent: {first.sentence.rstrip('.')}{more}.", "bad")
        else:
            self.dismiss(Answer("accept", self.view.value))


class UrlElicitation(RequestDialog):
    """Asks the person to open a page (specification 2025-11-25, client/elicitation, URL mode).

    Opening the page or copying its address is the consent that answers the request. If a call needs the page before it
    can be sent again (-32042), the request is answered when the page is done: the server says so, or the person does.
    """

    wants = "requests that you open a page"
    choices = (
        Choice("open_page", "Open in browser", "primary"), Choice("copy", "Copy"),
        Choice("done", "Done", answer=Answer("accept")), DECLINE, CANCEL, LATER,
    )  # fmt: skip
    state = getters.query_one("#state", Static)

    def __init__(self, request: InputRequest) -> None:
        super().__init__(request)
        self._page = judge(request.url)

    def question(self) -> Widgets:
        page = self._page
        parts: Parts = [(safe(page.host or "no host", 300), "bold $accent"), "\n"]
        if page.ascii_host != page.host:
            parts += ["The network knows it as ", (safe(page.ascii_host, 300), "bold $accent"), "\n"]
        if page.refusal:
            parts.append((f"{glyphs().bad} {page.refusal}\n", "bold $state-failed"))
        parts += [(f"{glyphs().warning} {warning}\n", "$state-busy") for warning in page.warnings]
        yield Static(Content.assemble(*parts, safe(page.url, _ADDRESS)), classes="gap")
        if self.request.message:
            yield self.foreign(self.request.message)
        yield Static(id="state", markup=False)

    def on_mount(self) -> None:
        self.query_one("#open_page", Button).disabled = bool(self._page.refusal)
        self.show_buttons(done=self.request.retries, cancel=not self.request.retries)

    def look(self) -> None:
        """Show the state of the page, which the server may declare done at any time."""
        super().look()
        request = self.request
        text = "" if self._page.refusal else "Opening or copying the address accepts the request."
        if request.retries and request.opened:
            text = f"{glyphs().half} Waiting until the server says that the page is done."
        elif request.retries and request.completed:
            text = f"{glyphs().ok} The server says that this page is done already."
        elif request.retries:
            text = "The call waits for this page; once it is done, the call is sent again."
        self.state.update(Content.styled(text, "$state-busy" if request.opened else "$quiet"))
        self.query_one("#done", Button).disabled = not (request.opened or request.completed)

    @work(exclusive=True)
    async def action_open_page(self) -> None:
        if await open_page(self._page.url, self.app.studio.config.settings.browser):
            self.app.say(f"Opened {safe(self._page.host, 120)} in the browser.")
            self._consent()
        else:
            self.note("There is no browser here. Copy the address, to open it yourself.", "bad")

    def action_copy(self) -> None:
        self.app.copy(self._page.url)
        if self._page.refusal:
            self.note("The request stays pending: this address must not be opened, only copied.", "bad")
        else:
            self._consent()

    def _consent(self) -> None:
        # The inbox closes this dialog if the consent answers the request.
        self.app.studio.inbox.page_opened(self.request)
        if not self.request.reply.done():
            self.look()
