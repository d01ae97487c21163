"""Completion of prompt arguments and template variables (server/utilities/completion)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_studio.servers.demo.seed import GENRES
from mcp_studio.servers.demo.shop import Shop
from mcp_studio.servers.demo.templates import MONTHS, NOTES, ORDERS

LIMIT = 100
"""The most values that one answer may hold."""


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
