"""Prompts: with and without arguments, of several messages, with pictures and resources inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_studio.servers.demo import content, resources
from mcp_studio.servers.demo.content import LISTS, Block
from mcp_studio.servers.demo.resources import CATALOGUE, book_uri, catalogue
from mcp_studio.servers.demo.shop import Shop, as_line

Arguments = dict[str, str]
Message = dict[str, Any]


def _says(role: str, block: Block | str) -> Message:
    return {"role": role, "content": content.text(block) if isinstance(block, str) else block}


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
        _says("user", content.embedded(CATALOGUE, "application/json", catalogue(shop))),
        _says("user", content.media("image", resources.png(64), "image/png")),
        _says("user", content.link(book_uri(book), book.id, book.title, "application/json")),
        _says("user", f"Here are the catalogue, our lantern and {book.title!r}. What belongs together?"),
    ]


def _invitation(shop: Shop, arguments: Arguments) -> list[Message]:
    return [_says("user", "Write an invitation to a reading among the shelves, on Thursday at seven.")]


FILLERS: dict[str, Callable[[Shop, Arguments], list[Message]]] = {
    "hello": _hello, "recommend": _recommend, "review": _review, "gift": _gift, "show_and_tell": _show_and_tell,
    "invitation": _invitation,
}  # fmt: skip
"""What makes the messages of a prompt, by its name."""


def prompts(shop: Shop) -> list[dict[str, Any]]:
    """The prompts of the moment."""
    return LISTS["prompts"] + LISTS["reading"] if shop.reading else LISTS["prompts"]


def missing(prompt: dict[str, Any], arguments: Arguments) -> list[str]:
    """Required arguments that are not there."""
    wanted: list[dict[str, Any]] = prompt.get("arguments", [])
    return [entry["name"] for entry in wanted if entry.get("required") and not arguments.get(entry["name"])]
