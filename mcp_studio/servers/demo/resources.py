"""Resources with fixed addresses: signs, files, and changing ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from mcp_studio.errors import StudioError
from mcp_studio.servers.demo import content
from mcp_studio.servers.demo.content import LISTS
from mcp_studio.servers.demo.shop import GENRES, Book, Shop, as_line

NOTES = {
    "desk/today": "Call the bookbinder. Feed the cat.",
    "desk/someday": "Wind the clock.",
    "cellar/boxes/1": "Maps, water-stained, mostly of islands.",
    "cellar/boxes/2": "Unsold almanacs.",
}
ORDERS = ("title", "price", "year")
MONTHS = tuple(f"{month:02}" for month in range(1, 13))


def _shelf(shop: Shop, genre: str, query: dict[str, str]) -> str:
    if genre not in GENRES:
        raise StudioError(f"There is no shelf {genre!r}. There are: {', '.join(GENRES)}.")
    order, limit = query.get("order", "title"), query.get("limit", "100")
    if order not in ORDERS:
        raise StudioError(f"Order by one of {', '.join(ORDERS)}, not {order!r}.")
    if not limit.isdecimal():
        raise StudioError(f"The limit must be a whole number, not {limit[:100]!r}.")
    books = sorted(shop.books(genre), key=attrgetter(order))
    return _lines(books[: int(limit[:9])])


def _lines(books: list[Book]) -> str:
    return "\n".join(map(as_line, books)) + "\n"


def _named(shop: Shop, uri: str) -> str:
    """The text of a resource that a template describes."""
    path, _, query = uri.partition("?")
    match [unquote(part) for part in path.split("/")]:
        case ["shop:", "", "books", book]:
            return json.dumps(shop.book(book)._asdict(), indent=2, ensure_ascii=False)
        case ["shop:", "", "shelves", genre]:
            return _shelf(shop, genre, dict(parse_qsl(query)))
        case ["shop:", "", "authors", name]:
            books = [book for book in shop.books() if book.author == name]
            if not books:
                raise StudioError(f"No book by {name!r} here.")
            return _lines(books)
        case ["shop:", "", "diary", year, month]:
            if not (year.isdecimal() and len(year) < 10) or month not in MONTHS:
                raise StudioError("Write the year as 2026 and the month as 01 to 12.")
            return f"Diary of {month}/{year}: {int(year) * 7 % 23} visitors, {int(month) * 5 % 7} of them cats.\n"
        case ["shop:", "", "notes", *parts] if parts:
            if (note := "/".join(parts)) not in NOTES:
                raise StudioError(f"No note {note!r}. There are: {', '.join(NOTES)}.")
            return NOTES[note] + "\n"
        case _:
            raise StudioError("There is no such resource.")


def _file(name: str) -> bytes:
    return Path(__file__).with_name("files").joinpath(name).read_bytes()


LONG_PAGE, MARKDOWN, UNICODE = (_file(name).decode() for name in ("lantern.html", "welcome.md", "unicode.txt"))
PICTURE, BELL = _file("lantern.png"), _file("bell.wav")
HOSTILE = {
    "escape sequences": "red: \x1b[31mred\x1b[0m, clear: \x1b[2J\x1b[H, title: \x1b]0;owned\x07, link: "
    "\x1b]8;;https://example.com\x1b\\click\x1b]8;;\x1b\\, clipboard: \x1b]52;c;b3duZWQ=\x07",
    "control characters": "bell \x07 backspace 123\x08\x08\x08 carriage return\rover, C1 \x9b31m, NUL \x00, DEL \x7f",
    "bidirectional": "invoice\u202efdp.exe, \u2066isolate\u2069, price 100 \u200f!",
    "invisible": "zero\u200bwidth, word\u2060joiner, soft\u00adhyphen, tag \U000e0041\U000e0042, BOM \ufeffhere",
    "combining": "a" + "\u0301\u0316\u0334" * 30 + " tower",
    "markup": "[bold red]not bold[/] [@click=app.quit]quit[/] [link=https://example.com]link[/link]",
    "line separators": "one\u2028two\u2029three\x0bfour\x0cfive\x85six",
}
"""Text by which a server may try to attack a terminal, by kind."""


def long_text(kilobytes: int) -> str:
    """About `kilobytes` KB of numbered lines, each a sentence from the shop's diary."""
    sentences = (
        "The bell rang and nobody came in.",
        "Two readers met between travel and poetry.",
        "The cat slept on the science shelf again.",
        "A parcel of maps arrived from the coast.",
        "Rain until four, then a queue at the till.",
    )
    lines: list[str] = []
    size = 0
    while size < kilobytes * 1024:
        number = len(lines) + 1
        lines.append(f"{number:>7}  {sentences[number % 5]}")
        size += len(lines[-1]) + 1
    return "\n".join(lines)


def long_json(kilobytes: int) -> dict[str, Any]:
    """An object of about `kilobytes` KB when written without blanks: a list of sales."""
    count = max(1, kilobytes * 1024 // 96)
    sales = [
        {
            "number": n,
            "book": "slow-trains-north",
            "copies": n % 3 + 1,
            "paid": round(n * 0.37 % 50, 2),
            "gift": n % 7 == 0,
        }
        for n in range(1, count + 1)
    ]
    return {"count": count, "sales": sales}


WELCOME = "shop://welcome"
CATALOGUE = "shop://catalogue"
TILL = "shop://till"
CLOCK = "shop://clock"
PAGE = "ui://shop/lantern"

HOURS = "Monday to Friday   9:00 to 18:00\nSaturday          10:00 to 14:00\nSunday            closed, like the cat\n"


def book_uri(book: Book) -> str:
    """The address of a book."""
    return f"shop://books/{book.id}"


def catalogue(shop: Shop) -> str:
    """All books as JSON."""
    return json.dumps([book._asdict() for book in shop.books()], indent=2, ensure_ascii=False)


def _locked() -> str:
    raise PermissionError("the drawer is locked")


READERS: dict[str, Callable[[Shop], str | bytes]] = {
    WELCOME: lambda _: MARKDOWN,
    "shop://hours": lambda _: HOURS,
    CATALOGUE: catalogue,
    TILL: lambda shop: f"{shop.takings:.2f} EUR in the till, {shop.sales} copies sold.\n",
    CLOCK: lambda shop: f"The clock has ticked {shop.ticks} times. Nobody winds it.\n",
    "shop://lantern.png": lambda _: PICTURE,
    "shop://bell.wav": lambda _: BELL,
    "shop://diary": lambda _: long_text(1024),
    PAGE: lambda _: LONG_PAGE,
    "shop://locked": lambda _: _locked(),
}
"""The functions that read resources, by address."""


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
    return LISTS["resources"] + books


def read(shop: Shop, uri: str) -> dict[str, Any]:
    """The content of a resource.

    Raises:
        StudioError: there is no resource at this address.
    """
    for entry in LISTS["resources"]:
        if entry["uri"] == uri:
            item = content.contents(uri, entry["mimeType"], READERS[uri](shop))
            return {**item, "_meta": entry["_meta"]} if "_meta" in entry else item
    mime = "application/json" if uri.startswith("shop://books/") else "text/plain"
    return content.contents(uri, mime, _named(shop, uri))
