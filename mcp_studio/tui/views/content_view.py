"""The content of a result: text of any size, or blocks of every kind below one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Markdown, Static

from mcp_studio.present import blocks
from mcp_studio.present.blocks import Block
from mcp_studio.protocol.views import reach_lines, reach_of
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.image import ImageView
from mcp_studio.tui.views.text_view import TextView

CARDS_MOST = 100
IMAGES_MOST = 20
"""Images that are drawn; of further ones it is said what they are."""
_IMAGE_ROWS = 18
_TEXT_MOST = 8_000
"""Characters of a text that is shown whole in its card; a longer one scrolls within it."""
_CARDS_TEXT = 64_000
"""Characters of several texts with headings; more are one text."""


class ContentView(Vertical, can_focus=False):
    """Shows content blocks. Text alone is a text viewer that can be searched; everything else has a card each."""

    DEFAULT_CSS = """
    ContentView { height: 1fr; }
    """

    @dataclass
    class Chosen(Message):
        """Enter, or a double click on a block."""

        block: Block

    def __init__(self, *, empty: str = "The result is empty.", id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = TextView(empty=empty)
        self._find = Findable(self._text)
        self._cards = Cards()

    def compose(self) -> ComposeResult:
        yield self._find
        yield self._cards

    async def show(self, found: Sequence[Block], *, markdown: bool | None = None) -> None:
        """Show other blocks.

        Args:
            markdown: render all text as Markdown, or none; by default what the server calls so.
        """
        has_cards = any(_needs_card(block, markdown) for block in found)
        if not has_cards and any(map(blocks.headline, found)):
            has_cards = sum(len(block.text) for block in found) <= _CARDS_TEXT
        self._find.display, self._cards.display = not has_cards, has_cards
        await self._cards.show(found if has_cards else (), markdown)
        self._text.show("" if has_cards else "\n\n".join(map(_plain, found)))

    def entry_point(self) -> Widget:
        """The widget that takes the focus."""
        return self._cards if self._cards.display else self._text

    @property
    def block(self) -> Block | None:
        """The block that is chosen among several; None where there is only text."""
        return self._cards.block


class Cards(VerticalScroll, can_focus=True, inherit_bindings=False):
    """A card for each block; one of them is the present one, which keys act on."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("list", "viewer")
    DEFAULT_CSS = """
    Cards { height: 1fr; scrollbar-size-vertical: 1; }
    Cards > Card.-present { border-left: outer $foreground 30%; }
    Cards:focus > Card.-present { border-left: outer $accent; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._cards: list[Card] = []
        self._place = 0

    async def show(self, found: Sequence[Block], markdown: bool | None) -> None:
        """Show other blocks, from the first one on."""
        await self.remove_children()
        drawn, self._cards, self._place = 0, [], 0
        for block in found[:CARDS_MOST]:
            drawn += block.kind == "image"
            self._cards.append(Card(block, markdown, drawn <= IMAGES_MOST))
        more = [Static("There are more blocks; Raw has all of them.")] if len(found) > CARDS_MOST else []
        await self.mount(*self._cards, *more)
        self.scroll_home(animate=False)
        self._mark()

    @property
    def block(self) -> Block | None:
        """The present one."""
        return self._cards[self._place].block if self._cards else None

    def _mark(self) -> None:
        for place, card in enumerate(self._cards):
            card.set_class(place == self._place and len(self._cards) > 1, "-present")

    def _go_to(self, place: int) -> None:
        if 0 <= place < len(self._cards):
            self._place = place
            self._mark()
            self._cards[place].scroll_visible(animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("find", "next_match", "previous_match", "back")

    def action_cursor_down(self) -> None:
        """Go to the next card once the end of this one has been seen."""
        if self._cards and self._cards[self._place].region.bottom > self.region.bottom:
            self.scroll_down(animate=False)
        else:
            self._go_to(self._place + 1)

    def action_cursor_up(self) -> None:
        if self._cards and self._cards[self._place].region.y < self.region.y:
            self.scroll_up(animate=False)
        else:
            self._go_to(self._place - 1)

    def action_first(self) -> None:
        self._go_to(0)
        self.scroll_home(animate=False)

    def action_last(self) -> None:
        self._go_to(len(self._cards) - 1)
        self.scroll_end(animate=False)

    def action_copy(self) -> None:
        """Copy the text of the present block, or its address."""
        if (block := self.block) is not None:
            self.app.copy_to_clipboard(block.uri or block.text or blocks.headline(block))

    def key_enter(self, event: events.Key) -> None:
        if (block := self.block) is not None:
            event.stop()
            self.post_message(ContentView.Chosen(block))

    def on_click(self, event: events.Click) -> None:
        card = next((card for card in self._cards if card.region.contains(*event.screen_offset)), None)
        if card is not None:
            self._place = self._cards.index(card)
            self._mark()
            if event.chain == 2:
                self.post_message(ContentView.Chosen(card.block))

    @on(Markdown.LinkClicked)
    def _copy_link(self, event: Markdown.LinkClicked) -> None:
        """A link of a server is never opened by a click."""
        event.stop()
        self.app.copy_to_clipboard(event.href)


class Card(Vertical):
    """One block: a line on what it is, and its content."""

    DEFAULT_CSS = """
    Card {
        height: auto; margin-bottom: 1; padding: 0 1; border-left: outer transparent;
        & > .card--head { color: $text-primary; text-style: bold; height: auto; }
        & > .card--hint { color: $foreground 60%; height: auto; }
        & > TextView { height: 20; background: $boost; }
        & > Markdown { padding: 0; }
        & MarkdownH1 { content-align: left top; }
    }
    """

    def __init__(self, block: Block, markdown: bool | None, with_image: bool) -> None:
        super().__init__()
        self.block = block
        self._as_markdown = is_markdown(block, markdown)
        self._with_image = with_image

    def compose(self) -> ComposeResult:
        block = self.block
        if head := blocks.headline(block):
            yield Static(Content(head), classes="card--head")
        if hint := blocks.how(block):
            yield Static(Content(hint), classes="card--hint")
        if block.kind == "image" and self._with_image:
            yield ImageView(partial(blocks.decode, block), rows_most=_IMAGE_ROWS)
        text = block.text
        if block.kind == "app" and isinstance(block.raw, dict):
            text = "\n".join((*reach_lines(reach_of(block.raw)), "", text))
        if self._as_markdown:
            yield Markdown(safe(text, blocks.MARKDOWN_MOST, lines=True), open_links=False, parser_factory=_parser)
        elif len(text) > _TEXT_MOST:
            yield TextView(text)
        elif text:
            yield Static(Content(safe(text, _TEXT_MOST, lines=True)))


def is_markdown(block: Block, wanted: bool | None) -> bool:
    """Whether a block is rendered: where the server calls it Markdown, or the person wants it; never long text."""
    says_so = block.mime == blocks.MARKDOWN if wanted is None else wanted
    return block.kind == "text" and says_so and len(block.text) <= blocks.MARKDOWN_MOST


def _needs_card(block: Block, markdown: bool | None) -> bool:
    return block.kind not in ("text", "unknown") or is_markdown(block, markdown)


def _plain(block: Block) -> str:
    head = blocks.headline(block)
    return f"{glyphs().mark} {head}\n{block.text}" if head else block.text


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
