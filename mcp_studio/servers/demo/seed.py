"""The stock with which the shop opens."""

from __future__ import annotations

from typing import NamedTuple

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
