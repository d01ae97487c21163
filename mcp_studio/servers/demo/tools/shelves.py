"""Tools of the shop itself: list, find, add, sell, remove."""

from __future__ import annotations

from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated

from mcp_studio.servers.demo import tool
from mcp_studio.servers.demo.resources import CATALOGUE, TILL, book_uri
from mcp_studio.servers.demo.shop import GENRES, Book, as_json, as_line
from mcp_studio.servers.demo.tool import (
    DESTROY,
    READ,
    READ_OUTSIDE,
    SET,
    WRITE,
    Args,
    Result,
    Schema,
    Toolbox,
    inputs,
    whole,
)
from mcp_studio.servers.demo.turn import Turn

TOOLS = Toolbox()

BOOK_ID: Schema = {"type": "string", "description": "Id of a book, such as slow-trains-north"}
BOOK: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "author": {"type": "string"},
        "year": {"type": "integer"},
        "genre": {"type": "string"},
        "price": {"type": "number", "description": "Euros"},
        "stock": {"type": "integer", "description": "Copies"},
    },
    "required": ["id", "title", "author", "year", "genre", "price", "stock"],
}
BOOK_LIST: Schema = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "books": {"type": "array", "items": BOOK}},
    "required": ["count", "books"],
}
GENRE: Schema = {"type": "string", "enum": list(GENRES)}


def _listed(books: list[Book]) -> Result:
    lines = "\n".join(map(as_line, books)) or "No books."
    return tool.result(lines, structured={"count": len(books), "books": [as_json(book) for book in books]})


async def _changed(turn: Turn, book: Book, *, list_too: bool = False) -> None:
    """Tell everybody that a book changed, and with it the catalogue."""
    await turn.audience.tell(ResourceUpdated(book_uri(book)))
    await turn.audience.tell(ResourceUpdated(CATALOGUE))
    if list_too:
        await turn.audience.tell(ResourcesListChanged())


@TOOLS.tool(
    "list_books",
    "List books",
    "All books of the shop, or those of one genre.",
    inputs({"genre": {**GENRE, "description": "Only this shelf"}}),
    hints=READ,
    output=BOOK_LIST,
)
async def list_books(turn: Turn, args: Args) -> Result:
    """All books, as text and structured."""
    return _listed(turn.shop.books(args.get("genre", "")))


@TOOLS.tool(
    "find_books",
    "Find books",
    "Books whose title or author contains a text.",
    inputs({"text": {"type": "string", "minLength": 1, "description": "Part of a title or author"}}, "text"),
    hints=READ,
    output=BOOK_LIST,
)
async def find_books(turn: Turn, args: Args) -> Result:
    """Search by title and author."""
    return _listed(turn.shop.find(args["text"]))


@TOOLS.tool("get_book", "Get a book", "One book by its id.", inputs({"id": BOOK_ID}, "id"), hints=READ, output=BOOK)
async def get_book(turn: Turn, args: Args) -> Result:
    """One book."""
    book = turn.shop.book(args["id"])
    return tool.result(as_line(book), structured=as_json(book))


@TOOLS.tool(
    "add_book",
    "Add a book",
    "Put a new book on its shelf. It gets a resource of its own, so the list of resources changes.",
    inputs(
        {
            "title": {"type": "string", "minLength": 1, "maxLength": 80},
            "author": {"type": "string", "minLength": 1, "maxLength": 60},
            "genre": GENRE,
            "price": {"type": "number", "minimum": 0, "maximum": 500, "default": 10, "description": "Euros"},
            "year": {"type": "integer", "minimum": 1450, "maximum": 2100, "default": 2026},
            "stock": whole(0, 1000, 1, "Copies"),
        },
        "title",
        "author",
        "genre",
    ),
    hints=WRITE,
    output=BOOK,
)
async def add_book(turn: Turn, args: Args) -> Result:
    """Add a book and announce it."""
    book = turn.shop.add(
        args["title"],
        args["author"],
        args["genre"],
        float(args.get("price", 10)),
        int(args.get("year", 2026)),
        int(args.get("stock", 1)),
    )
    await _changed(turn, book, list_too=True)
    return tool.result(f"Added: {as_line(book)}", structured=as_json(book))


@TOOLS.tool(
    "set_stock",
    "Set stock",
    "Set the number of copies of a book. Calling it twice changes nothing more.",
    inputs({"id": BOOK_ID, "stock": {"type": "integer", "minimum": 0, "maximum": 1000}}, "id", "stock"),
    hints=SET,
    output=BOOK,
)
async def set_stock(turn: Turn, args: Args) -> Result:
    """Correct the stock of a book."""
    book = turn.shop.set_stock(args["id"], args["stock"])
    await _changed(turn, book)
    return tool.result(as_line(book), structured=as_json(book))


@TOOLS.tool(
    "sell_book",
    "Sell a book",
    "Sell copies. The till (shop://till) and the book change: subscribe to them and watch.",
    inputs({"id": BOOK_ID, "copies": whole(1, 100, 1, "How many")}, "id"),
    hints=WRITE,
)
async def sell_book(turn: Turn, args: Args) -> Result:
    """Sell copies of a book."""
    book = turn.shop.sell(args["id"], args.get("copies", 1))
    await _changed(turn, book)
    await turn.audience.tell(ResourceUpdated(TILL))
    return tool.result(f"Sold. {book.stock} of {book.title!r} left, {turn.shop.takings:.2f} EUR in the till.")


@TOOLS.tool(
    "remove_book",
    "Remove a book",
    "Take a book out of the shop for good.",
    inputs({"id": BOOK_ID}, "id"),
    hints=DESTROY,
)
async def remove_book(turn: Turn, args: Args) -> Result:
    """Remove a book and announce it."""
    book = turn.shop.remove(args["id"])
    await _changed(turn, book, list_too=True)
    return tool.result(f"Removed: {book.title}")


@TOOLS.tool(
    "reset_shop",
    "Reset the shop",
    "Forget every change: the first twelve books, an empty till.",
    inputs(),
    hints=DESTROY,
)
async def reset_shop(turn: Turn, args: Args) -> Result:
    """Start over."""
    turn.shop.reset()
    for uri in (CATALOGUE, TILL):
        await turn.audience.tell(ResourceUpdated(uri))
    await turn.audience.tell(ResourcesListChanged())
    return tool.result(f"{len(turn.shop.books())} books on the shelves, the till is empty.")


@TOOLS.tool(
    "search_trade_list",
    "Search the trade list",
    "Ask other shops for a book. Says that it reaches beyond this server (open world), but only pretends to.",
    inputs({"title": {"type": "string", "minLength": 1, "maxLength": 80}}, "title"),
    hints=READ_OUTSIDE,
)
async def search_trade_list(turn: Turn, args: Args) -> Result:
    """A pretended search elsewhere."""
    return tool.result(f"Three other shops were asked for {args['title']!r}. None of them has it.")
