"""Short Markdown of a server, rendered; nothing in it is fetched or opened."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from mcp_studio.safetext import safe
from mcp_studio.tui.views.messages import Copied


def _parser() -> MarkdownIt:
    """Textual's parser, with the line breaks of the text: no line is joined to the one before."""
    parser = MarkdownIt("gfm-like")
    parser.core.ruler.push("line_breaks", _keep_breaks)
    return parser


def _keep_breaks(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"


class ForeignMarkdown(VerticalScroll):
    """Scrolls a rendered text; a click on a link copies its address."""

    def __init__(self, *, classes: str) -> None:
        super().__init__(classes=classes)
        self._markdown = Markdown(open_links=False, parser_factory=_parser)
        self._text = ""

    def compose(self) -> ComposeResult:
        """The rendered text."""
        yield self._markdown

    def on_mount(self) -> None:
        """Render what came before it was there."""
        self._markdown.update(safe(self._text, 100_000, lines=True))

    def show(self, text: str) -> None:
        """Render another text."""
        self._text = text
        if self.is_mounted:
            self._markdown.update(safe(text, 100_000, lines=True))
            self.scroll_home(animate=False)

    def action_copy(self) -> None:
        """Copy the text as it came."""
        self.post_message(Copied(self._text, "text"))

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """Copy the address, never open it."""
        event.stop()
        self.post_message(Copied(event.href, "link"))
