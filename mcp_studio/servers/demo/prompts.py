"""Prompts of all kinds, and completion of their arguments and of the variables of templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mcp_studio.servers.demo import content, resources
from mcp_studio.servers.demo.content import LISTS, Block
from mcp_studio.servers.demo.resources import CATALOGUE, MONTHS, NOTES, ORDERS, book_uri, catalogue
from mcp_studio.servers.demo.shop import GENRES, Shop, as_line

Arguments = dict[str, str]
Message = dict[str, Any]
LIMIT = 100
"""The most values that one answer may hold."""


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


def complete(shop: Shop, owner: str, argument: str, value: str, known: dict[str, str]) -> dict[str, Any]:
    """Values for an argument of a prompt or template that go on from `value`; `known` are the others' values."""
    typed = value.casefold()
    words = dict.fromkeys(_values(shop, owner, argument, known))
    starting = [word for word in words if word.casefold().startswith(typed)]
    inside = [word for word in words if typed in word.casefold() and word not in starting]
    found = starting + inside
    return {"completion": {"values": found[:LIMIT], "total": len(found), "hasMore": len(found) > LIMIT}}


def _values(shop: Shop, owner: str, argument: str, known: dict[str, str]) -> Iterable[str]:
    if (owner, argument) == ("gift", "title"):
        author = known.get("author", "")
        return [book.title for book in shop.books() if author in ("", book.author)]
    if argument in ("book", "id"):
        return [book.id for book in shop.books()]
    if argument in ("author", "name"):
        return sorted({book.author for book in shop.books()})
    fixed: dict[str, Iterable[str]] = {
        "genre": GENRES,
        "tone": ("kind", "fair", "merciless"),
        "order": ORDERS,
        "month": MONTHS,
        "year": [str(year) for year in range(2026, 1900, -1)],
        "path": NOTES,
    }
    return fixed.get(argument, ())
