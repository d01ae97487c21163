"""Resources by template (RFC 6570): books, shelves, authors, the diary by month, notes by path."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.shared.uri_template import UriTemplate

from mcp_studio.servers.demo.seed import GENRES, Book
from mcp_studio.servers.demo.shop import Shop, ShopError, as_json, as_line

Values = dict[str, str | list[str]]

NOTES = {
    "desk/today": "Call the bookbinder. Feed the cat.",
    "desk/someday": "Wind the clock.",
    "cellar/boxes/1": "Maps, water-stained, mostly of islands.",
    "cellar/boxes/2": "Unsold almanacs.",
}
ORDERS = ("title", "price", "year")
MONTHS = tuple(f"{month:02}" for month in range(1, 13))


@dataclass(frozen=True, slots=True)
class Template:
    """One template and how to read what matches it."""

    raw: dict[str, Any]
    """Its entry in `resources/templates/list`."""
    uri: UriTemplate
    read: Callable[[Shop, Values], str]

    @property
    def mime(self) -> str:
        """The type of everything that matches."""
        return self.raw["mimeType"]


def _book(shop: Shop, values: Values) -> str:
    return json.dumps(as_json(shop.book(str(values["id"]))), indent=2, ensure_ascii=False)


def _shelf(shop: Shop, values: Values) -> str:
    genre = str(values["genre"])
    if genre not in GENRES:
        raise ShopError(f"There is no shelf {genre!r}. There are: {', '.join(GENRES)}.")
    order = str(values.get("order", "title"))
    if order not in ORDERS:
        raise ShopError(f"Order by one of {', '.join(ORDERS)}, not {order!r}.")
    limit = str(values.get("limit", "100"))
    if not limit.isdecimal():
        raise ShopError(f"The limit must be a whole number, not {limit!r}.")
    keys: dict[str, Callable[[Book], Any]] = {
        "title": lambda b: b.title,
        "price": lambda b: b.price,
        "year": lambda b: b.year,
    }
    books = sorted(shop.books(genre), key=keys[order])
    return "\n".join(map(as_line, books[: int(limit)])) + "\n"


def _author(shop: Shop, values: Values) -> str:
    name = str(values["name"])
    books = [book for book in shop.books() if book.author == name]
    if not books:
        raise ShopError(f"No book by {name!r} here.")
    return "\n".join(map(as_line, books)) + "\n"


def _diary(shop: Shop, values: Values) -> str:
    year, month = str(values["year"]), str(values["month"])
    if not year.isdecimal() or month not in MONTHS:
        raise ShopError("Write the year as 2026 and the month as 01 to 12.")
    return f"Diary of {month}/{year}: {int(year) * 7 % 23} visitors, {int(month) * 5 % 7} of them cats.\n"


def _note(shop: Shop, values: Values) -> str:
    try:
        return NOTES[str(values["path"])] + "\n"
    except KeyError:
        raise ShopError(f"No note {values['path']!r}. There are: {', '.join(NOTES)}.") from None


def _entry(
    template: str, name: str, title: str, description: str, mime: str, read: Callable[[Shop, Values], str]
) -> Template:
    raw = {"uriTemplate": template, "name": name, "title": title, "description": description, "mimeType": mime}
    return Template(raw, UriTemplate.parse(template), read)


TEMPLATES = (
    _entry("shop://books/{id}", "book", "A book", "One book by its id.", "application/json", _book),
    _entry(
        "shop://shelves/{genre}{?order,limit}",
        "shelf",
        "A shelf",
        "The books of a genre; order is title, price or year, limit a number. Both may be left out.",
        "text/plain",
        _shelf,
    ),
    _entry("shop://authors/{name}", "author", "An author", "The books by one author.", "text/plain", _author),
    _entry("shop://diary/{year}/{month}", "diary-month", "A month", "The diary of one month.", "text/plain", _diary),
    _entry("shop://notes/{+path}", "note", "A note", "A note by its path, slashes included.", "text/plain", _note),
)
