"""Prompts: with and without arguments, of several messages, with pictures and resources inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_studio.servers.demo import resources as media
from mcp_studio.servers.demo import tool
from mcp_studio.servers.demo.resources import CATALOGUE, book_uri, catalogue
from mcp_studio.servers.demo.shop import Shop, as_line
from mcp_studio.servers.demo.tool import Block

Arguments = dict[str, str]
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt and how to fill it."""

    raw: dict[str, Any]
    """Its entry in `prompts/list`."""
    fill: Callable[[Shop, Arguments], list[Message]]

    @property
    def name(self) -> str:
        """Its name."""
        return self.raw["name"]

    def missing(self, arguments: Arguments) -> list[str]:
        """Required arguments that are not there."""
        wanted: list[dict[str, Any]] = self.raw.get("arguments", [])
        return [entry["name"] for entry in wanted if entry.get("required") and not arguments.get(entry["name"])]


def _says(role: str, block: Block | str) -> Message:
    return {"role": role, "content": tool.text(block) if isinstance(block, str) else block}


def _argument(name: str, description: str, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "description": description, "required": required}


def _hello(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", "What can I do in this bookshop? Use its tools to find out, and tell me in three sentences.")]


def _recommend(shop: Shop, arguments: Arguments) -> list[Message]:
    reader = arguments.get("reader") or "somebody who has read everything"
    shelf = "\n".join(map(as_line, shop.books(arguments["genre"]))) or "Nothing on that shelf."
    return [_says("user", f"Recommend one of these {arguments['genre']} books to {reader}:\n{shelf}")]


def _review(shop: Shop, arguments: Arguments) -> list[Message]:
    book = shop.book(arguments["book"])
    tone = arguments.get("tone") or "fair"
    return [
        _says("user", f"I would like a {tone} review of {book.title!r}."),
        _says("assistant", f"Gladly. Did you finish {book.title!r}, or did you stop somewhere?"),
        _says("user", "I stopped two pages before the end. Write it anyway."),
    ]


def _gift(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", f"Write a card for a gift: {arguments['title']!r} by {arguments['author']}.")]


def _show_and_tell(shop: Shop, arguments: Arguments) -> list[Message]:
    book = shop.book(arguments["book"])
    return [
        _says("user", tool.embedded(CATALOGUE, "application/json", catalogue(shop))),
        _says("user", tool.image(media.png(64))),
        _says("user", tool.link(book_uri(book), book.id, book.title, "application/json")),
        _says("user", f"Here are the catalogue, our lantern and {book.title!r}. What belongs together?"),
    ]


def _invitation(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", "Write an invitation to a reading among the shelves, on Thursday at seven.")]


def _entry(
    name: str,
    title: str,
    description: str,
    fill: Callable[[Shop, Arguments], list[Message]],
    *arguments: dict[str, Any],
) -> Prompt:
    raw: dict[str, Any] = {"name": name, "title": title, "description": description}
    if arguments:
        raw["arguments"] = list(arguments)
    return Prompt(raw, fill)


_BOOK = _argument("book", "Id of a book; completed as you type", required=True)

PROMPTS = (
    _entry("hello", "Hello", "No arguments, one message.", _hello),
    _entry(
        "recommend",
        "Recommend a book",
        "Arguments with completion.",
        _recommend,
        _argument("genre", "The shelf; completed as you type", required=True),
        _argument("reader", "Who it is for"),
    ),
    _entry(
        "review",
        "Review a book",
        "A conversation of three messages.",
        _review,
        _BOOK,
        _argument("tone", "kind, fair or merciless"),
    ),
    _entry(
        "gift",
        "A gift card",
        "The completion of the title depends on the author.",
        _gift,
        _argument("author", "Completed as you type", required=True),
        _argument("title", "Completed as you type, from the author's books", required=True),
    ),
    _entry("show_and_tell", "Show and tell", "An embedded resource, a picture and a link.", _show_and_tell, _BOOK),
)
INVITATION = _entry("invitation", "Invitation", "Only here while a reading is announced.", _invitation)


def prompts(shop: Shop) -> list[Prompt]:
    """The prompts of the moment."""
    return [*PROMPTS, INVITATION] if shop.reading else list(PROMPTS)
