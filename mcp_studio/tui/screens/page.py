"""A page that a server wants opened: where it leads, what speaks against it, and nothing happens without consent."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.present.browser import open_page
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer
from mcp_studio.tui.actions import spell
from mcp_studio.tui.address_text import host_parts
from mcp_studio.tui.screens.asked import AskedDialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.urls import Page as Address
from mcp_studio.urls import judge

_LONGEST = 10_000
_LABEL = len("network  ")
_LETTERS = frozenset(("open_page", "copy", "decline", "cancel", "done"))
Part = str | tuple[str, str]


class Page(AskedDialog, scope="page"):
    """Specification 2025-11-25, client/elicitation, URL mode.

    Opening it, or copying its address, is the consent that answers the question. A page that a call needs before it
    is sent again (-32042) is answered when it is done: the server says so, or the person.
    """

    wants = "asks you to open a page"
    reads = True
    answers = _LETTERS

    def body(self) -> Iterable[Widget]:
        """Host and address first, then the server's words."""
        page = judge(self.request.url)
        self._page = page
        yield from self.above()
        yield Static(Content.assemble(*_address(page)), classes="gap")
        if self.request.message:
            yield Static(Content("It says:"), classes="quiet gap")
            yield Static(Content(safe(self.request.message, 4_000, lines=True)), classes="foreign")
        self._state = Static(classes="gap")
        yield self._state
        yield self.note

    def on_mount(self) -> None:
        """Nothing is opened by itself."""
        super().on_mount()
        self._tell()

    def tell_time(self) -> None:
        """The server may say at any moment that the page is done."""
        super().tell_time()
        self._tell()

    def _tell(self) -> None:
        request = self.request
        words = ""
        if request.retries and request.opened:
            done = self._key("page-done")
            words = (
                f"{glyphs().half} waiting for the server's word that the page is done\n"
                f"  {done}  It is done: send the call again"
            )
        elif request.retries and request.completed:
            words = f"{glyphs().ok} The server says that this page is done already."
        elif request.retries:
            words = "The call waits for this page; once it is done, the call is sent again."
        self._state.update(Content.styled(words, "$state-busy" if request.opened else "$quiet"))
        self._state.display = bool(words)

    def keys_line(self) -> Content:
        """Only what can be done with this address."""
        if not judge(self.request.url).refusal:
            return super().keys_line()
        parts: list[Part] = []
        for action, word in (("page-copy", "Copy it"), ("page-decline", "Decline"), ("page-cancel", "Cancel")):
            parts += ["   " if parts else "", (self._key(action), "b $primary"), f" {word}"]
        return Content.assemble(*parts, "   ", (self._key("page-later"), "b $primary"), " Later")

    def _key(self, action: str) -> str:
        return spell(self.studio_app.key_of(action))

    # What the person does

    def action_open_page(self) -> None:
        """Agree, and hand the address to the browser."""
        if self._page.refusal:
            self.say(f"Not opened. {self._page.refusal}")
        else:
            self.run_worker(self._open(), exclusive=True)

    async def _open(self) -> None:
        if await open_page(self._page.url):
            self.studio_app.say(f"Opened {safe(self._page.host, 120)} in the browser.")
            self._agreed()
        else:
            self.say(f"There is no browser here. {self._key('page-copy')} copies the address, to open it yourself.")

    def action_copy(self) -> None:
        """Copy the address; one that may be opened counts as agreed to."""
        self.studio_app.copy(self._page.url)
        if self._page.refusal:
            self.say("The question is still open: an address that must not be opened is only copied.")
        else:
            self._agreed()

    def _agreed(self) -> None:
        # What closes this dialog is the inbox: the answer is given there.
        self.asking.page_opened(self.request)
        if not self.request.reply.done():
            self._tell()

    def action_done(self) -> None:
        """The page is done: the call can be sent again."""
        if not self.request.retries:
            self.action_open_page()
        elif self.request.opened or self.request.completed:
            self.dismiss(Answer("accept"))
        else:
            self.say(f"Open the page first ({self._key('page-open')}), or copy its address ({self._key('page-copy')}).")


def _address(page: Address) -> list[Part]:
    return [*host_parts(page, _LABEL), ("address\n", "$quiet"), safe(page.url, _LONGEST)]
