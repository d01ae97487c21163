"""The bookshop: books, till and sales in memory. Plain Python that knows nothing about the protocol."""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from mcp_studio.errors import StudioError
from mcp_studio.servers.demo.content import LISTS

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


BOOKS = tuple(Book(**book) for book in LISTS["books"])


TICK = 2.0
"""Seconds between two ticks of the clock."""


class Shop:
    """One bookshop. Tools, resources and prompts share it, so that a change shows everywhere."""

    def __init__(self) -> None:
        self._ticked = 0.0
        self.reset()

    def reset(self) -> None:
        """Open again with the initial stock and an empty till."""
        self._books = {book.id: book for book in BOOKS}
        self.takings = 0.0
        """Euros in the till."""
        self.sales = 0
        """Copies sold."""
        self.ticks = 0
        """The number of ticks of the clock."""
        self.guest = False
        """Whether a guest with a tool of their own is in the shop."""
        self.reading = False
        """Whether a reading is announced, which has a prompt for its invitation."""

    def tick(self) -> int:
        """Return the clock's ticks; the clock stands still while nobody looks at it."""
        passed = time.monotonic() - self._ticked
        if passed >= TICK:
            self._ticked += passed
            self.ticks += passed < 2 * TICK
        return self.ticks

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
            StudioError: there is no such book.
        """
        try:
            return self._books[book_id]
        except KeyError:
            raise StudioError(f"There is no book with the id {book_id!r}. list_books shows all ids.") from None

    def add(self, title: str, author: str, genre: str, price: float, year: int, stock: int) -> Book:
        """Put a new book on its shelf and return it with its id."""
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
            StudioError: no such book, or too few copies.
        """
        book = self.book(book_id)
        if copies > book.stock:
            raise StudioError(f"Only {book.stock} of {book.title!r} left, {copies} wanted.")
        self.takings = round(self.takings + copies * book.price, 2)
        self.sales += copies
        return self.set_stock(book_id, book.stock - copies)

    def remove(self, book_id: str) -> Book:
        """Remove a book from the shop for good."""
        book = self.book(book_id)
        del self._books[book_id]
        return book


def as_line(book: Book) -> str:
    """A book as one line of text."""
    return f"{book.title}, {book.author} ({book.year}), {book.price:.2f} EUR, {book.stock} in stock [{book.id}]"
