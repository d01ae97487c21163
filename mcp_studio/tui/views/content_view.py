"""The content of a result: text of any size, or a column of blocks of all kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.markdown import Markdown
from rich.text import Text
from rich.theme import Theme
from textual import events
from textual.app import ComposeResult
from textual.color import Color
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import cut, text_pieces
from mcp_studio.limits import MB
from mcp_studio.present import blocks
from mcp_studio.present.blocks import Block
from mcp_studio.protocol.views import reach_lines, reach_of
from mcp_studio.safetext import safe
from mcp_studio.tui.actions import bindings
from mcp_studio.tui.views.image import ImageView
from mcp_studio.tui.views.rows import Findable, TextView, glyphs

CARDS_MOST = 100
IMAGES_MOST = 20
"""Images that are drawn at most; further images are only described."""
_IMAGE_ROWS = 18
_PAGE = MB
"""Bytes of a page of a large text."""
_TEXT_MOST = 8_000
"""Characters of a text that its card shows whole; a longer text scrolls inside the card."""
_CARDS_TEXT = 64_000
"""Characters of several texts that get cards; longer texts are shown as a single text."""
_SIGNS = (
    re.compile(r"^#{1,6} \S.*\n\s*(\n|\Z)", re.MULTILINE),
    re.compile(r"\*\*\w[^*\n]*\*\*"),
    re.compile(r"\[[^]\n]+\]\([^)\s]+\)"),
    re.compile(r"^(```|~~~)", re.MULTILINE),
    re.compile(r"^\|?[ :]*-{3,}[ :]*\|", re.MULTILINE),
    re.compile(r"^ {0,3}([-*+]|\d+\.) \S.*\n {0,3}([-*+]|\d+\.) \S", re.MULTILINE),
)
"""A heading with an empty line below, bold, a link, a fence, a table, a list: two of them mean Markdown."""

_LOOKS = {
    **dict.fromkeys(("h1", "h2", "table.header"), ("bold", "text-primary")), "link": ("underline", "text-primary"),
    **dict.fromkeys(("code", "code_block", "item.bullet", "item.number"), ("", "text-accent")),
    **dict.fromkeys(("block_quote", "hr", "link_url", "table.border"), ("", "quiet")),
}  # fmt: skip
"""By Rich's names for the parts of Markdown: text attributes, and a variable of the theme."""


def content_view(found: Sequence[Block], markdown: bool | None = None) -> Widget:
    """The view of some blocks: a searchable text viewer for plain text, otherwise a card per block.

    Args:
        found: the blocks.
        markdown: render all text as Markdown, or none; None means text that is declared as Markdown or looks like it.
    """
    has_cards = any(block.kind not in ("text", "unknown") or is_markdown(block, markdown) for block in found)
    if not has_cards and any(map(blocks.headline, found)):
        has_cards = sum(len(block.text) for block in found) <= _CARDS_TEXT
    if has_cards:
        return Cards(found, markdown)
    return Findable(TextView(_pages_of(found), empty="The result is empty."))


def is_markdown(block: Block, wanted: bool | None) -> bool:
    """Whether a block is rendered as Markdown; never for long text."""
    if block.kind != "text" or len(block.text) > blocks.MARKDOWN_MOST or isinstance(block.text, memoryview):
        return False
    if wanted is not None:
        return wanted
    # A block of another type than plain text is source code, whose comments may look like headings.
    looks_so = block.mime in ("", "text/plain") and sum(bool(sign.search(block.text)) for sign in _SIGNS) > 1
    return looks_so or block.mime == blocks.MARKDOWN


def _pages_of(found: Sequence[Block]) -> list[list[str | memoryview]]:
    """The texts of some blocks with their headlines in pages, each of which ends after a piece of a large text."""
    pages: list[list[str | memoryview]] = [[]]
    for place, block in enumerate(found):
        head = blocks.headline(block)
        pages[-1].append("\n\n" * bool(place) + (f"{glyphs().mark} {head}\n" if head else ""))
        for piece in [block.text] if isinstance(block.text, str) else cut(block.text[1:-1], _PAGE):
            pages[-1].append(piece)
            pages += [[]] if isinstance(piece, memoryview) else []
    return [page for page in pages if page] or [[]]


class Cards(VerticalScroll, can_focus=True, inherit_bindings=False):
    """A card for each block; the keys act on the present card."""

    BINDINGS = bindings("list", "viewer")

    @dataclass
    class Chosen(Message):
        """The person pressed enter, or double-clicked on a block."""

        block: Block

    def __init__(self, found: Sequence[Block], markdown: bool | None) -> None:
        super().__init__()
        images = [place for place, block in enumerate(found) if block.kind == "image"][:IMAGES_MOST]
        self._cards = [Card(block, markdown, n in images) for n, block in enumerate(found[:CARDS_MOST])]
        self._more = len(found) - len(self._cards)
        self._place = 0

    def compose(self) -> ComposeResult:
        yield from self._cards
        if self._more:
            yield Static(f"{self._more} more: Raw has all of them.")
        for first in self._cards[:1]:
            first.set_class(len(self._cards) > 1, "-present")

    @property
    def block(self) -> Block:
        """The block of the present card."""
        return self._cards[self._place].block

    def _go_to(self, place: int) -> None:
        if 0 <= place < len(self._cards):
            self._place = place
            for number, card in enumerate(self._cards):
                card.set_class(number == place and len(self._cards) > 1, "-present")
            self._cards[place].scroll_visible(animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in ("find", "next_match", "previous_match", "back")

    def action_cursor_down(self) -> None:
        """Go to the next card if the end of this card is on screen; else scroll."""
        if self._cards[self._place].region.bottom > self.region.bottom:
            self.scroll_down(animate=False)
        else:
            self._go_to(self._place + 1)

    def action_cursor_up(self) -> None:
        if self._cards[self._place].region.y < self.region.y:
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
        """Copy the selection, or the address or the text of the present block."""
        text = "".join(text_pieces(self.block.text))
        chosen = self.screen.get_selected_text()
        self.app.copy_to_clipboard(chosen or self.block.uri or text or blocks.headline(self.block))

    def key_enter(self, event: events.Key) -> None:
        event.stop()
        self.post_message(self.Chosen(self.block))

    def on_click(self, event: events.Click) -> None:
        for number, card in enumerate(self._cards):
            if card.region.contains(*event.screen_offset):
                self._go_to(number)
                if event.chain == 2:
                    self.post_message(self.Chosen(card.block))


class Card(Vertical):
    """The card of one block: a line that says what it is, and its content."""

    def __init__(self, block: Block, markdown: bool | None, with_image: bool) -> None:
        super().__init__()
        self.block = block
        self._as_markdown = is_markdown(block, markdown)
        self._with_image = with_image

    def compose(self) -> ComposeResult:
        block = self.block
        if head := blocks.headline(block):
            yield Static(Content(head), classes="card--head")
        if hint := blocks.KEY_HINTS.get(block.kind):
            yield Static(Content(hint), classes="card--hint")
        if self._with_image:
            yield ImageView(partial(blocks.decode, block), rows_most=_IMAGE_ROWS)
        text = block.text
        if block.kind == "app" and isinstance(block.raw, dict):
            text = "\n".join((*reach_lines(reach_of(block.raw)), "", str(text)))
        if self._as_markdown:
            yield MarkdownText(safe(text, blocks.MARKDOWN_MOST, lines=True))
        elif len(text) > _TEXT_MOST:
            yield TextView(_pages_of([Block("text", text)]))
        elif text:
            yield Static(Content(safe(text, _TEXT_MOST, lines=True)))


class MarkdownText(Static):
    """Markdown as one text, because Textual's widget needs a widget per block and 2 s for a README of 12 KB.

    Line breaks stay. A link shows its text and its address, because no terminal may open a link that a server wrote. An
    image shows its alternative text. Rich draws it for one width; as `Content`, the mouse can select it.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._markdown = Markdown(text, hyperlinks=False)
        self._drawn: tuple[object, Content] = None, Content()
        for token in self._markdown.parsed:
            for child in token.children or ():
                child.type = {"softbreak": "hardbreak", "image": "text"}.get(child.type, child.type)

    def render(self) -> Content:
        return self._draw(self.content_size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._draw(width).plain.count("\n") + 1

    def _draw(self, width: int) -> Content:
        if (key := (width, self.app.theme)) != self._drawn[0]:
            variables, styles, console = self.app.theme_variables, dict[str, str](), self.app.console
            for name, (look, colour) in _LOOKS.items():
                opaque = Color.parse(variables["background"]) + Color.parse(variables[colour])
                styles[f"markdown.{name}"] = f"{look} {opaque.hex}"
            self._markdown.code_theme = "ansi_dark" if self.app.current_theme.dark else "ansi_light"
            with console.use_theme(Theme(styles)):
                segments = [*console.render(self._markdown, console.options.update(width=max(1, width)))]
            text = Text.assemble(*((text, style or "") for text, style, _ in segments))
            lines = Content.from_rich_text(text, console).rstrip().split(allow_blank=True)
            self._drawn = key, Content("\n").join([line.rstrip() for line in lines])
        return self._drawn[1]
