"""The implementation of the tools; `lists.json` has their names and arguments.

The form_* tools return their arguments unchanged.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol.versions import LOG_LEVELS, META_LOG_LEVEL
from mcp_studio.servers.demo import content, resources
from mcp_studio.servers.demo.content import COLOUR, QUESTIONS, Args, Result, Schema
from mcp_studio.servers.demo.resources import CATALOGUE, TILL, WELCOME, book_uri
from mcp_studio.servers.demo.shop import GENRES, Book, Shop, as_line
from mcp_studio.servers.demo.tasks import TaskDesk
from mcp_studio.servers.toolserver import RequestError, ToolServer, Turn


class Tools:
    """Every method that takes a turn and arguments is the tool of its name."""

    def __init__(self, shop: Shop, server: ToolServer, desk: TaskDesk) -> None:
        self._shop = shop
        self._server = server
        self._desk = desk

    async def echo(self, turn: Turn, args: Args) -> Result:
        """Implements every form_* tool."""
        shown = json.dumps(args, indent=2, ensure_ascii=False)
        return content.result(f"Received:\n{shown}", structured={"received": args})

    # ------------------------------------------------------------------ the shop

    async def _changed(self, *uris: str, list_too: bool = False) -> None:
        """Announce that resources have changed, and the catalogue with them."""
        for uri in (*uris, CATALOGUE):
            await self._server.announce("resources/updated", uri)
        if list_too:
            await self._server.announce("resources/list_changed")

    async def list_books(self, turn: Turn, args: Args) -> Result:
        return _listed(self._shop.books(args.get("genre", "")))

    async def find_books(self, turn: Turn, args: Args) -> Result:
        return _listed(self._shop.find(args["text"]))

    async def get_book(self, turn: Turn, args: Args) -> Result:
        book = self._shop.book(args["id"])
        return content.result(as_line(book), structured=book._asdict())

    async def add_book(self, turn: Turn, args: Args) -> Result:
        book = self._shop.add(
            args["title"],
            args["author"],
            args["genre"],
            float(args.get("price", 10)),
            int(args.get("year", 2026)),
            int(args.get("stock", 1)),
        )
        await self._changed(book_uri(book), list_too=True)
        return content.result(f"Added: {as_line(book)}", structured=book._asdict())

    async def set_stock(self, turn: Turn, args: Args) -> Result:
        book = self._shop.set_stock(args["id"], args["stock"])
        await self._changed(book_uri(book))
        return content.result(as_line(book), structured=book._asdict())

    async def sell_book(self, turn: Turn, args: Args) -> Result:
        book = self._shop.sell(args["id"], args.get("copies", 1))
        await self._changed(book_uri(book), TILL)
        return content.result(f"Sold. {book.stock} of {book.title!r} left, {self._shop.takings:.2f} EUR in the till.")

    async def remove_book(self, turn: Turn, args: Args) -> Result:
        book = self._shop.remove(args["id"])
        await self._changed(book_uri(book), list_too=True)
        return content.result(f"Removed: {book.title}")

    async def reset_shop(self, turn: Turn, args: Args) -> Result:
        self._shop.reset()
        await self._changed(TILL, list_too=True)
        return content.result(f"{len(self._shop.books())} books on the shelves, the till is empty.")

    async def search_trade_list(self, turn: Turn, args: Args) -> Result:
        return content.result(f"Three other shops were asked for {args['title']!r}. None of them has it.")

    # ------------------------------------------------------------------ slow tools

    async def take_stock(self, turn: Turn, args: Args) -> Result:
        counts: dict[str, int] = {}
        for number, genre in enumerate(GENRES):
            await turn.progress(number, f"Counting {genre}", len(GENRES))
            await asyncio.sleep(args.get("seconds_per_shelf", 0.5))
            counts[genre] = sum(book.stock for book in self._shop.books(genre))
        await turn.progress(len(GENRES), "Done", len(GENRES))
        copies = sum(counts.values())
        return content.result(
            f"{copies} copies on {len(counts)} shelves.", structured={"copies": copies, "shelves": counts}
        )

    async def wait_for_parcel(self, turn: Turn, args: Args) -> Result:
        seconds = args.get("seconds", 10)
        began = time.monotonic()
        streets = 0
        try:
            while (left := began + seconds - time.monotonic()) > 0:
                await turn.progress(streets, f"The parcel is {streets} streets closer")
                streets += 1
                await asyncio.sleep(min(1.0, left))
        except asyncio.CancelledError:
            _write(f"wait_for_parcel was cancelled after {time.monotonic() - began:.1f} s")
            raise
        return content.result(f"The parcel came after {seconds:g} seconds.")

    async def bind_edition(self, turn: Turn, args: Args) -> Result:
        if (task := self._desk.begin(turn, args)) is not None:
            return task
        copies, colour = args.get("copies", 5), ""
        if args.get("ask", False):
            answer = await _form(turn, "colour", COLOUR, QUESTIONS["colour"])
            colour = str(mapping(answer.get("content")).get("colour", "")) if answer.get("action") == "accept" else ""
        for number in range(copies):
            await turn.progress(number, f"{number} of {copies} copies bound", copies)
            await asyncio.sleep(args.get("seconds_per_copy", 1))
        return content.result(f"{copies} copies are bound{f' in {colour}' if colour else ''}.")

    async def log_every_level(self, turn: Turn, args: Args) -> Result:
        # Up to 2025-11-25 `logging/setLevel` decides, later the request itself (server/utilities/logging).
        least = turn.meta.get(META_LOG_LEVEL) if turn.modern else turn.peer.level
        sent = LOG_LEVELS[LOG_LEVELS.index(least) :] if isinstance(least, str) and least in LOG_LEVELS else ()
        for level in sent:
            data: Json = {"shelf": "travel", "text": f"This is the level {level}"}
            params: Json = {"level": level, "data": data, "logger": "bookshop"}
            await turn.put({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        return content.result(f"Sent: {', '.join(sent) or 'none; this request asked for no log messages'}")

    async def write_to_stderr(self, turn: Turn, args: Args) -> Result:
        lines = args.get("lines", 5)
        words = args.get("text", "the cat is on the till")
        for number in range(1, lines + 1):
            _write(f"{number}: {words}")
        return content.result(f"Wrote {lines} lines to stderr.")

    # ------------------------------------------------------------------ requests to the person, the model, the client

    async def order_book(self, turn: Turn, args: Args) -> Result:
        book = self._shop.book(args["id"])
        answer = await _form(turn, "order", f"Who is {book.title!r} for?", QUESTIONS["order"])
        if answer.get("action") != "accept":
            return content.result(f"{_told(answer)} Nothing was ordered.")
        given = mapping(answer.get("content"))
        return content.result(f"Ordered {given.get('copies', 1)} of {book.title!r} for {given.get('name', 'nobody')}.")

    async def ask_every_field(self, turn: Turn, args: Args) -> Result:
        # Titled choices, multiple choices, and defaults of all kinds came with 2025-11-25.
        newer = turn.modern or turn.peer.version >= "2025-11-25"
        form = QUESTIONS["everything since 2025-11-25" if newer else "everything"]
        answer = await _form(turn, "everything", "Please fill in what you like.", form)
        return content.result(_told(answer))

    async def ask_twice(self, turn: Turn, args: Args) -> Result:
        first = await _form(turn, "gift", "Is it a gift?", QUESTIONS["gift"])
        if first.get("action") != "accept":
            return content.result(_told(first))
        wrapped = bool(mapping(first.get("content")).get("gift"))
        question = "What shall the card say?" if wrapped else "Do you need a bag? Write yes or no."
        second = await _form(turn, "words", question, QUESTIONS["words"])
        return content.result(f"A gift: {'yes' if wrapped else 'no'}.", _told(second))

    async def ask_to_open_page(self, turn: Turn, args: Args) -> Result:
        if "url" not in mapping(turn.capabilities.get("elicitation")):
            raise StudioError(
                "This tool asks you to open a page, and your client cannot (no elicitation.url capability)."
            )
        message, url = "Choose the paper for your gift on this page.", "https://example.com/paper?order=1031"
        params: dict[str, Json] = {"mode": "url", "message": message, "url": url}
        params |= {} if turn.modern else {"elicitationId": "paper-1031"}
        answer = await _ask(turn, "page", "elicitation/create", params)
        return content.result("You agreed to open the page." if answer.get("action") == "accept" else _told(answer))

    async def ask_model(self, turn: Turn, args: Args) -> Result:
        book = self._shop.book(args["id"])
        if "sampling" not in turn.capabilities:
            raise StudioError("This tool asks a language model, and your client offers none (no sampling capability).")
        question = (
            f"Write one sentence for the back cover of {book.title!r} by {book.author}, {book.genre}, {book.year}."
        )
        params: dict[str, Json] = {
            "messages": [{"role": "user", "content": content.text(question)}],
            "systemPrompt": "You write for a small bookshop. No superlatives.",
            "maxTokens": 100,
            "temperature": 0.7,
            "modelPreferences": {"hints": [{"name": "small"}], "speedPriority": 0.8},
        }
        answer = await _ask(turn, "blurb", "sampling/createMessage", params)
        block = mapping(answer.get("content"))
        words = block.get("text", f"(a block of type {block.get('type')})")
        return content.result(f"{answer.get('model')} wrote:\n{words}")

    async def ask_roots(self, turn: Turn, args: Args) -> Result:
        if "roots" not in turn.capabilities:
            raise StudioError("This tool asks for your folders, and your client names none (no roots capability).")
        answer = await _ask(turn, "roots", "roots/list", {})
        roots = map(mapping, items_of(answer.get("roots")))
        names = "\n".join(f"{root.get('uri')}  {root.get('name') or ''}".rstrip() for root in roots)
        return content.result(names or "No roots.")

    # ------------------------------------------------------------------ kinds of results

    async def show_markdown(self, turn: Turn, args: Args) -> Result:
        return content.result(resources.MARKDOWN)

    async def show_structured(self, turn: Turn, args: Args) -> Result:
        hours = {"monday": ["9:00", "18:00"], "saturday": ["10:00", "14:00"], "sunday": []}
        data = {"open": True, "hours": hours, "visitors": [12, 7, 0, 31], "owner": None, "largest_sale": 2**53 + 1}
        return content.result("Open; Monday 9 to 18, Saturday 10 to 14.", structured=data)

    async def show_image(self, turn: Turn, args: Args) -> Result:
        return content.result(content.media("image", resources.PICTURE, "image/png"))

    async def show_audio(self, turn: Turn, args: Args) -> Result:
        return content.result(content.media("audio", resources.BELL, "audio/wav"))

    async def show_every_block(self, turn: Turn, args: Args) -> Result:
        book = self._shop.books()[0] if self._shop.books() else None
        uri = book_uri(book) if book else WELCOME
        return content.result(
            content.text("Plain text, for the user only.", annotations={"audience": ["user"], "priority": 0.9}),
            resources.MARKDOWN,
            content.media("image", resources.PICTURE, "image/png"),
            content.media("audio", resources.BELL, "audio/wav"),
            content.embedded("shop://note", "text/plain", "A note that travels inside the result."),
            content.embedded("shop://stamp", "application/octet-stream", bytes(range(64))),
            content.link(uri, "first-book", "The first book on the shelves", "application/json"),
            content.link(WELCOME, "welcome", "The sign at the door", "text/markdown"),
        )

    async def show_wrong_structure(self, turn: Turn, args: Args) -> Result:
        return content.result("Two books, and a mistake.", structured={"books": ["Salt", 7], "open": "yes"})

    async def show_page(self, turn: Turn, args: Args) -> Result:
        return content.result("The lantern is lit.", structured={"lit": True})

    async def show_nothing(self, turn: Turn, args: Args) -> Result:
        return content.result()

    async def show_long_text(self, turn: Turn, args: Args) -> Result:
        return content.result(resources.long_text(args.get("kilobytes", 100)))

    async def show_long_json(self, turn: Turn, args: Args) -> Result:
        data = resources.long_json(args.get("kilobytes", 100))
        return content.result(f"{data['count']} sales.", structured=data)

    async def show_unicode(self, turn: Turn, args: Args) -> Result:
        return content.result(resources.UNICODE)

    async def show_hostile_text(self, turn: Turn, args: Args) -> Result:
        kind = args.get("kind", "everything")
        chosen = resources.HOSTILE if kind == "everything" else {kind: resources.HOSTILE[kind]}
        return content.result("\n".join(f"{name}: {attempt}" for name, attempt in chosen.items()))

    # ------------------------------------------------------------------ failures, and lists that change

    async def fail_as_tool(self, turn: Turn, args: Args) -> Result:
        raise StudioError(args.get("reason", "The shop is closed on Sundays."))

    async def fail_as_request(self, turn: Turn, args: Args) -> Result:
        data = {"opens": "9:00", "shelves": ["poetry", "travel"]}
        raise RequestError(args.get("code", -31050), args.get("message", "Not today"), data)

    async def fail_by_exception(self, turn: Turn, args: Args) -> Result:
        raise RuntimeError("the ladder slipped")

    async def fail_output_schema(self, turn: Turn, args: Args) -> Result:
        return content.result("Many.", structured={"count": "many"})

    async def fail_by_leaving(self, turn: Turn, args: Args) -> Result:
        sys.stderr.write("The shop burned down.\n")
        sys.stderr.flush()
        os._exit(args.get("exit_code", 3))

    async def invite_guest(self, turn: Turn, args: Args) -> Result:
        self._shop.guest = args.get("present", True)
        await self._server.announce("tools/list_changed")
        return content.result("The guest is here: try read_palm." if self._shop.guest else "The guest has left.")

    async def announce_reading(self, turn: Turn, args: Args) -> Result:
        self._shop.reading = args.get("present", True)
        await self._server.announce("prompts/list_changed")
        return content.result(
            "Announced: see the prompt invitation." if self._shop.reading else "The reading is cancelled."
        )

    async def read_palm(self, turn: Turn, args: Args) -> Result:
        return content.result("You will read a long book about moss.")


def _listed(books: list[Book]) -> Result:
    lines = "\n".join(map(as_line, books)) or "No books."
    return content.result(lines, structured={"count": len(books), "books": [book._asdict() for book in books]})


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


async def _ask(turn: Turn, key: str, method: str, params: dict[str, Json]) -> dict[str, Json]:
    if not (answer := await turn.ask(method, params, key)):
        raise StudioError("Your client refused to answer.")
    return answer


async def _form(turn: Turn, key: str, message: str, schema: Schema) -> dict[str, Json]:
    can = turn.capabilities.get("elicitation")
    if can is None or ("url" in mapping(can) and "form" not in mapping(can)):
        raise StudioError(
            "This tool asks you something, and your client cannot show forms (no elicitation capability)."
        )
    return await _ask(turn, key, "elicitation/create", {"mode": "form", "message": message, "requestedSchema": schema})


def _told(answer: dict[str, Json]) -> str:
    """A person's answer, as text."""
    if answer.get("action") == "accept":
        return f"You accepted and wrote:\n{json.dumps(answer.get('content') or {}, indent=2, ensure_ascii=False)}"
    return "You declined." if answer.get("action") == "decline" else "You cancelled."
