"""Elicitation in URL mode: where the page leads, what speaks against it, and nothing opens without consent."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual import getters
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from mcp_studio.present.browser import open_page
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.dialog import Choice
from mcp_studio.tui.screens.request import CANCEL, DECLINE, LATER, RequestDialog, RequestParts
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.urls import judge

_LONGEST = 10_000


class UrlElicitation(RequestDialog):
    """Specification 2025-11-25, client/elicitation, URL mode.

    Opening the page, or copying its address, is the consent that answers the request. A page that a call needs before
    it is sent again (-32042) is answered when it is done: the server says so, or the person.
    """

    wants = "requests that you open a page"
    choices = (
        Choice("open_page", "Open in browser", "primary"), Choice("copy", "Copy the address"),
        Choice("done", "It is done"), DECLINE, CANCEL, LATER,
    )  # fmt: skip
    state = getters.query_one("#state", Static)

    def __init__(self, request: InputRequest, times: Callable[[InputRequest], str]) -> None:
        super().__init__(request, times)
        self._page = judge(request.url)

    def question(self) -> Iterable[Widget]:
        page = self._page
        parts: RequestParts = [(safe(page.host or "no host", 300), "bold $accent"), "\n"]
        if page.ascii_host != page.host:
            parts += ["The network knows it as ", (safe(page.ascii_host, 300), "bold $accent"), "\n"]
        if page.refusal:
            parts.append((f"{glyphs().bad} {page.refusal}\n", "bold $state-failed"))
        parts += [(f"{glyphs().warning} {warning}\n", "$state-busy") for warning in page.warnings]
        yield Static(Content.assemble(*parts, safe(page.url, _LONGEST)), classes="gap")
        if self.request.message:
            yield self.foreign(self.request.message)
        yield Static(id="state", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#open_page", Button).disabled = bool(self._page.refusal)
        self.query_one("#done").display = self.request.retries

    def _tick(self) -> None:
        """The server may say at any moment that the page is done."""
        super()._tick()
        request = self.request
        text = ""
        if request.retries and request.opened:
            text = f"{glyphs().half} Waiting until the server says that the page is done."
        elif request.retries and request.completed:
            text = f"{glyphs().ok} The server says that this page is done already."
        elif request.retries:
            text = "The call waits for this page; once it is done, the call is sent again."
        self.state.update(Content.styled(text, "$state-busy" if request.opened else "$quiet"))
        self.query_one("#done", Button).disabled = not (request.opened or request.completed)

    def action_open_page(self) -> None:
        self.run_worker(self._open(), exclusive=True)

    async def _open(self) -> None:
        if await open_page(self._page.url):
            self.app.say(f"Opened {safe(self._page.host, 120)} in the browser.")
            self._consent()
        else:
            self.refuse("There is no browser here. Copy the address, to open it yourself.")

    def action_copy(self) -> None:
        self.app.copy(self._page.url)
        if self._page.refusal:
            self.refuse("It stays pending: an address that must not be opened is only copied.")
        else:
            self._consent()

    def _consent(self) -> None:
        # The inbox closes this dialog where that answers the request.
        self.app.studio.inbox.page_opened(self.request)
        if not self.request.reply.done():
            self._tick()

    def action_done(self) -> None:
        """The page is done: the call can be sent again."""
        self.dismiss(Answer("accept"))
