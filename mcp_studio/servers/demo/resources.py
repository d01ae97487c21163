"""Resources with fixed addresses: signs, files, and what changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_studio.protocol import apps
from mcp_studio.servers.demo import media, texts
from mcp_studio.servers.demo.seed import Book
from mcp_studio.servers.demo.shop import Shop, as_json

WELCOME = "shop://welcome"
CATALOGUE = "shop://catalogue"
TILL = "shop://till"
CLOCK = "shop://clock"
PAGE = "ui://shop/lantern"

REACH = {"ui": {"csp": {"connectDomains": ["https://example.com"]}, "prefersBorder": True}}
"""What the page says that it needs to reach."""

HOURS = "Monday to Friday   9:00 to 18:00\nSaturday          10:00 to 14:00\nSunday            closed, like the cat\n"


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource and how to read it."""

    raw: dict[str, Any]
    """Its entry in `resources/list`."""
    read: Callable[[Shop], str | bytes]


def book_uri(book: Book) -> str:
    """The address of a book."""
    return f"shop://books/{book.id}"


def catalogue(shop: Shop) -> str:
    """All books as JSON."""
    return json.dumps([as_json(book) for book in shop.books()], indent=2, ensure_ascii=False)


def _till(shop: Shop) -> str:
    return f"{shop.takings:.2f} EUR in the till, {shop.sales} copies sold.\n"


def _clock(shop: Shop) -> str:
    return f"The clock has ticked {shop.ticks} times. Nobody winds it.\n"


def _entry(
    uri: str, title: str, description: str, mime: str, read: Callable[[Shop], str | bytes], **more: Any
) -> Resource:
    name = uri.removeprefix("shop://")
    raw = {"uri": uri, "name": name, "title": title, "description": description, "mimeType": mime, **more}
    return Resource(raw, read)


FIXED = (
    _entry(WELCOME, "Welcome", "The sign at the door.", "text/markdown", lambda _: texts.MARKDOWN),
    _entry("shop://hours", "Opening hours", "Plain text.", "text/plain", lambda _: HOURS, size=len(HOURS)),
    _entry(CATALOGUE, "Catalogue", "All books. Changes when a book does.", "application/json", catalogue),
    _entry(TILL, "Till", "Changes with every sale: subscribe, then call sell_book.", "text/plain", _till),
    _entry(CLOCK, "Clock", "Changes every two seconds while somebody is subscribed.", "text/plain", _clock),
    _entry("shop://lantern.png", "Lantern", "A picture, binary.", "image/png", lambda _: media.png(128)),
    _entry("shop://bell.wav", "Bell", "A sound, binary.", "audio/wav", lambda _: media.wav(0.5)),
    _entry("shop://diary", "Diary", "A megabyte of text.", "text/plain", lambda _: texts.long_text(1024)),
    _entry(PAGE, "Lantern page", "The page of show_page (MCP Apps).", apps.MIME, lambda _: texts.PAGE, _meta=REACH),
    _entry("shop://locked", "The locked drawer", "Cannot be read.", "text/plain", lambda _: _locked()),
)


def _locked() -> str:
    raise PermissionError("the drawer is locked")


def listed(shop: Shop) -> list[dict[str, Any]]:
    """All entries of `resources/list`: the fixed ones and every book."""
    books = [
        {
            "uri": book_uri(book),
            "name": f"books/{book.id}",
            "title": book.title,
            "description": f"{book.author}, {book.year}, {book.genre}",
            "mimeType": "application/json",
        }
        for book in shop.books()
    ]
    return [resource.raw for resource in FIXED] + books
