"""The bookshop: books, till and sales in memory. Plain Python, nothing of the protocol."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

GENRES = ("adventure", "cookery", "mystery", "poetry", "science", "travel")
"""Every genre has a shelf of its own."""


class Book(NamedTuple):
    """One title; `price` in euros, `stock` in copies."""

    id: str
    title: str
    author: str
    year: int
    genre: str
    price: float
    stock: int


BOOKS = (
    Book("salt-and-starlight", "Salt and Starlight", "Imre Valdane", 1987, "adventure", 12.5, 4),
    Book("the-rope-bridge", "The Rope Bridge", "Odile Marrow", 2004, "adventure", 9.9, 7),
    Book("bread-for-rainy-days", "Bread for Rainy Days", "Tomasz Finch", 2016, "cookery", 24.0, 3),
    Book("twelve-soups", "Twelve Soups", "Aiko Brandt", 1999, "cookery", 18.5, 0),
    Book("the-left-hand-glove", "The Left-hand Glove", "Odile Marrow", 1994, "mystery", 8.5, 11),
    Book("nobody-winds-the-clock", "Nobody Winds the Clock", "Percy Oyelaran", 2011, "mystery", 11.0, 5),
    Book("a-lamp-in-the-reeds", "A Lamp in the Reeds", "Noor Castell", 1963, "poetry", 7.0, 2),
    Book("letters-to-a-tin-roof", "Letters to a Tin Roof", "Imre Valdane", 2020, "poetry", 13.0, 6),
    Book("moss-a-biography", "Moss: A Biography", "Greta Lindqvist", 2018, "science", 21.0, 3),
    Book("why-the-kettle-sings", "Why the Kettle Sings", "Percy Oyelaran", 2007, "science", 16.0, 8),
    Book("slow-trains-north", "Slow Trains North", "Noor Castell", 1978, "travel", 10.0, 1),
    Book("islands-by-bicycle", "Islands by Bicycle", "Aiko Brandt", 2022, "travel", 19.9, 9),
)


class ShopError(Exception):
    """Something that the shop cannot do, as one sentence."""


class Shop:
    """One bookshop. Tools, resources and prompts all look at the same one, so a change shows everywhere."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Open again with the first stock and an empty till."""
        self._books = {book.id: book for book in BOOKS}
        self.takings = 0.0
        """Euros in the till."""
        self.sales = 0
        """Copies sold."""
        self.ticks = 0
        """How often the clock ticked."""
        self.guest = False
        """A guest with a tool of their own is in the shop."""
        self.reading = False
        """A reading is announced, with a prompt for its invitation."""

    def books(self, genre: str = "") -> list[Book]:
        """All books, or those of one genre, in the order of the shelves."""
        found = [book for book in self._books.values() if genre in ("", book.genre)]
        return sorted(found, key=lambda book: (GENRES.index(book.genre), book.title))

    def find(self, text: str) -> list[Book]:
        """Books whose title or author contains `text`, in any case."""
        wanted = text.casefold()
        return [book for book in self.books() if wanted in f"{book.title} {book.author}".casefold()]

    def book(self, book_id: str) -> Book:
        """The book with that id.

        Raises:
            ShopError: there is none.
        """
        try:
            return self._books[book_id]
        except KeyError:
            raise ShopError(f"There is no book with the id {book_id!r}. list_books shows all ids.") from None

    def add(self, title: str, author: str, genre: str, price: float, year: int, stock: int) -> Book:
        """Put a new book on its shelf and return it with the id it got."""
        stem = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-") or "book"
        number = 1
        while (book_id := stem if number == 1 else f"{stem}-{number}") in self._books:
            number += 1
        self._books[book_id] = Book(book_id, title, author, year, genre, price, stock)
        return self._books[book_id]

    def set_stock(self, book_id: str, stock: int) -> Book:
        """Set the number of copies of a book."""
        self._books[book_id] = self.book(book_id)._replace(stock=stock)
        return self._books[book_id]

    def sell(self, book_id: str, copies: int) -> Book:
        """Take copies from the shelf and put their price into the till.

        Raises:
            ShopError: no such book, or too few copies.
        """
        book = self.book(book_id)
        if copies > book.stock:
            raise ShopError(f"Only {book.stock} of {book.title!r} left, {copies} wanted.")
        self.takings = round(self.takings + copies * book.price, 2)
        self.sales += copies
        return self.set_stock(book_id, book.stock - copies)

    def remove(self, book_id: str) -> Book:
        """Take a book out of the shop for good."""
        book = self.book(book_id)
        del self._books[book_id]
        return book


def as_json(book: Book) -> dict[str, Any]:
    """A book as a JSON object."""
    return book._asdict()


def as_line(book: Book) -> str:
    """A book as one line of text."""
    return f"{book.title}, {book.author} ({book.year}), {book.price:.2f} EUR, {book.stock} in stock [{book.id}]"
