"""What the tools do; what they are called and take stands in `lists.json`.

The form_* tools answer with the arguments as they came.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ListRootsRequest,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    SamplingMessage,
    TextContent,
)

from mcp_studio.servers.demo import content, resources
from mcp_studio.servers.demo.content import LISTS, Args, Result
from mcp_studio.servers.demo.resources import CATALOGUE, TILL, WELCOME, book_uri
from mcp_studio.servers.demo.shop import GENRES, Book, as_json, as_line
from mcp_studio.servers.demo.turn import LEVELS, ToolTrouble, Turn

Function = Callable[[Turn, Args], Awaitable[Result]]
FUNCTIONS: dict[str, Function] = {}
"""By the name of the tool."""
QUESTIONS: dict[str, dict[str, Any]] = LISTS["questions"]
"""The forms that tools ask a person to fill in."""
COLOUR = "Which colour should the cover have?"


def tool(function: Function) -> Function:
    """The function behind the tool of its name."""
    FUNCTIONS[function.__name__] = function
    return function


async def echo(turn: Turn, args: Args) -> Result:
    """What every form_* tool does."""
    shown = json.dumps(args, indent=2, ensure_ascii=False)
    return content.result(f"Received:\n{shown}", structured={"received": args})


# ---------------------------------------------------------------------- the shop


def _listed(books: list[Book]) -> Result:
    lines = "\n".join(map(as_line, books)) or "No books."
    return content.result(lines, structured={"count": len(books), "books": [as_json(book) for book in books]})


async def _changed(turn: Turn, book: Book, *, list_too: bool = False) -> None:
    """Tell everybody that a book changed, and with it the catalogue."""
    await turn.audience.tell(ResourceUpdated(book_uri(book)))
    await turn.audience.tell(ResourceUpdated(CATALOGUE))
    if list_too:
        await turn.audience.tell(ResourcesListChanged())


@tool
async def list_books(turn: Turn, args: Args) -> Result:
    return _listed(turn.shop.books(args.get("genre", "")))


@tool
async def find_books(turn: Turn, args: Args) -> Result:
    return _listed(turn.shop.find(args["text"]))


@tool
async def get_book(turn: Turn, args: Args) -> Result:
    book = turn.shop.book(args["id"])
    return content.result(as_line(book), structured=as_json(book))


@tool
async def add_book(turn: Turn, args: Args) -> Result:
    book = turn.shop.add(
        args["title"],
        args["author"],
        args["genre"],
        float(args.get("price", 10)),
        int(args.get("year", 2026)),
        int(args.get("stock", 1)),
    )
    await _changed(turn, book, list_too=True)
    return content.result(f"Added: {as_line(book)}", structured=as_json(book))


@tool
async def set_stock(turn: Turn, args: Args) -> Result:
    book = turn.shop.set_stock(args["id"], args["stock"])
    await _changed(turn, book)
    return content.result(as_line(book), structured=as_json(book))


@tool
async def sell_book(turn: Turn, args: Args) -> Result:
    book = turn.shop.sell(args["id"], args.get("copies", 1))
    await _changed(turn, book)
    await turn.audience.tell(ResourceUpdated(TILL))
    return content.result(f"Sold. {book.stock} of {book.title!r} left, {turn.shop.takings:.2f} EUR in the till.")


@tool
async def remove_book(turn: Turn, args: Args) -> Result:
    book = turn.shop.remove(args["id"])
    await _changed(turn, book, list_too=True)
    return content.result(f"Removed: {book.title}")


@tool
async def reset_shop(turn: Turn, args: Args) -> Result:
    turn.shop.reset()
    for uri in (CATALOGUE, TILL):
        await turn.audience.tell(ResourceUpdated(uri))
    await turn.audience.tell(ResourcesListChanged())
    return content.result(f"{len(turn.shop.books())} books on the shelves, the till is empty.")


@tool
async def search_trade_list(turn: Turn, args: Args) -> Result:
    return content.result(f"Three other shops were asked for {args['title']!r}. None of them has it.")


# ---------------------------------------------------------------------- what takes its time


@tool
async def take_stock(turn: Turn, args: Args) -> Result:
    counts: dict[str, int] = {}
    for number, genre in enumerate(GENRES):
        await turn.progress(number, len(GENRES), f"Counting {genre}")
        await anyio.sleep(args.get("seconds_per_shelf", 0.5))
        counts[genre] = sum(book.stock for book in turn.shop.books(genre))
    await turn.progress(len(GENRES), len(GENRES), "Done")
    copies = sum(counts.values())
    return content.result(
        f"{copies} copies on {len(counts)} shelves.", structured={"copies": copies, "shelves": counts}
    )


@tool
async def wait_for_parcel(turn: Turn, args: Args) -> Result:
    seconds = args.get("seconds", 10)
    began = time.monotonic()
    streets = 0
    try:
        while (left := began + seconds - time.monotonic()) > 0:
            await turn.progress(streets, None, f"The parcel is {streets} streets closer")
            streets += 1
            await anyio.sleep(min(1.0, left))
    except anyio.get_cancelled_exc_class():
        _write(f"wait_for_parcel was cancelled after {time.monotonic() - began:.1f} s")
        raise
    return content.result(f"The parcel came after {seconds:g} seconds.")


@tool
async def bind_edition(turn: Turn, args: Args) -> Result:
    copies = args.get("copies", 5)
    colour = ""
    if args.get("ask", False):
        params = ElicitRequestFormParams(message=COLOUR, requested_schema=QUESTIONS["colour"])
        answer = await turn.ask("colour", ElicitRequest(params=params), ElicitResult)
        colour = str((answer.content or {}).get("colour", "")) if answer.action == "accept" else ""
    for number in range(copies):
        await turn.progress(number, copies, f"{number} of {copies} copies bound")
        await anyio.sleep(args.get("seconds_per_copy", 1))
    return content.result(f"{copies} copies are bound{f' in {colour}' if colour else ''}.")


@tool
async def log_every_level(turn: Turn, args: Args) -> Result:
    sent = [
        level for level in LEVELS if await turn.log(level, {"shelf": "travel", "text": f"This is the level {level}"})
    ]
    return content.result(f"Sent: {', '.join(sent) or 'none; this request asked for no log messages'}")


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


@tool
async def write_to_stderr(turn: Turn, args: Args) -> Result:
    lines = args.get("lines", 5)
    words = args.get("text", "the cat is on the till")
    for number in range(1, lines + 1):
        _write(f"{number}: {words}")
    return content.result(f"Wrote {lines} lines to stderr.")


# ------------------------------ what asks back: the person (elicitation), the model (sampling), the client (roots)


async def _form(turn: Turn, key: str, message: str, schema: dict[str, Any]) -> ElicitResult:
    can = turn.capabilities.elicitation
    if can is None or (can.form is None and can.url is not None):
        raise ToolTrouble(
            "This tool asks you something, and your client cannot show forms (no elicitation capability)."
        )
    params = ElicitRequestFormParams(message=message, requested_schema=schema)
    return await turn.ask(key, ElicitRequest(params=params), ElicitResult)


def _told(answer: ElicitResult) -> str:
    """What a person answered, as text."""
    if answer.action == "accept":
        return f"You accepted and wrote:\n{json.dumps(answer.content or {}, indent=2, ensure_ascii=False)}"
    return "You declined." if answer.action == "decline" else "You cancelled."


@tool
async def order_book(turn: Turn, args: Args) -> Result:
    book = turn.shop.book(args["id"])
    answer = await _form(turn, "order", f"Who is {book.title!r} for?", QUESTIONS["order"])
    if answer.action != "accept":
        return content.result(f"{_told(answer)} Nothing was ordered.")
    given: dict[str, Any] = answer.content or {}
    return content.result(f"Ordered {given.get('copies', 1)} of {book.title!r} for {given.get('name', 'nobody')}.")


@tool
async def ask_every_field(turn: Turn, args: Args) -> Result:
    # Titled choices, choices of several, and defaults for all kinds came with 2025-11-25.
    newer = turn.ctx.protocol_version >= "2025-11-25"
    form = QUESTIONS["everything since 2025-11-25" if newer else "everything"]
    answer = await _form(turn, "everything", "Please fill in what you like.", form)
    return content.result(_told(answer))


@tool
async def ask_twice(turn: Turn, args: Args) -> Result:
    first = await _form(turn, "gift", "Is it a gift?", QUESTIONS["gift"])
    if first.action != "accept":
        return content.result(_told(first))
    wrapped = bool((first.content or {}).get("gift"))
    question = "What shall the card say?" if wrapped else "Do you need a bag? Write yes or no."
    second = await _form(turn, "words", question, QUESTIONS["words"])
    return content.result(f"A gift: {'yes' if wrapped else 'no'}.", _told(second))


@tool
async def ask_to_open_page(turn: Turn, args: Args) -> Result:
    can = turn.capabilities.elicitation
    if can is None or can.url is None:
        raise ToolTrouble("This tool asks you to open a page, and your client cannot (no elicitation.url capability).")
    params = ElicitRequestURLParams(
        message="Choose the paper for your gift on this page.",
        url="https://example.com/paper?order=1031",
        elicitation_id=None if turn.modern else "paper-1031",
    )
    answer = await turn.ask("page", ElicitRequest(params=params), ElicitResult)
    said = {"accept": "You agreed to open the page.", "decline": "You declined.", "cancel": "You cancelled."}
    return content.result(said[answer.action])


@tool
async def ask_model(turn: Turn, args: Args) -> Result:
    book = turn.shop.book(args["id"])
    if turn.capabilities.sampling is None:
        raise ToolTrouble("This tool asks a language model, and your client offers none (no sampling capability).")
    question = f"Write one sentence for the back cover of {book.title!r} by {book.author}, {book.genre}, {book.year}."
    params = CreateMessageRequestParams(
        messages=[SamplingMessage(role="user", content=TextContent(type="text", text=question))],
        system_prompt="You write for a small bookshop. No superlatives.",
        max_tokens=100,
        temperature=0.7,
        model_preferences=ModelPreferences(hints=[ModelHint(name="small")], speed_priority=0.8),
    )
    answer = await turn.ask("blurb", CreateMessageRequest(params=params), CreateMessageResult)
    words = (
        answer.content.text if isinstance(answer.content, TextContent) else f"(a block of type {answer.content.type})"
    )
    return content.result(f"{answer.model} wrote:\n{words}")


@tool
async def ask_roots(turn: Turn, args: Args) -> Result:
    if turn.capabilities.roots is None:
        raise ToolTrouble("This tool asks for your folders, and your client names none (no roots capability).")
    answer = await turn.ask("roots", ListRootsRequest(), ListRootsResult)
    names = "\n".join(f"{root.uri}  {root.name or ''}".rstrip() for root in answer.roots)
    return content.result(names or "No roots.")


# ---------------------------------------------------------------------- what a result can be


@tool
async def show_markdown(turn: Turn, args: Args) -> Result:
    return content.result(resources.MARKDOWN)


@tool
async def show_structured(turn: Turn, args: Args) -> Result:
    hours = {"monday": ["9:00", "18:00"], "saturday": ["10:00", "14:00"], "sunday": []}
    data = {"open": True, "hours": hours, "visitors": [12, 7, 0, 31], "owner": None, "largest_sale": 2**53 + 1}
    return content.result("Open; Monday 9 to 18, Saturday 10 to 14.", structured=data)


@tool
async def show_image(turn: Turn, args: Args) -> Result:
    return content.result(content.media("image", resources.png(args.get("size", 96)), "image/png"))


@tool
async def show_audio(turn: Turn, args: Args) -> Result:
    return content.result(content.media("audio", resources.wav(args.get("seconds", 0.5)), "audio/wav"))


@tool
async def show_every_block(turn: Turn, args: Args) -> Result:
    book = turn.shop.books()[0] if turn.shop.books() else None
    uri = book_uri(book) if book else WELCOME
    return content.result(
        content.text("Plain text, for the user only.", annotations={"audience": ["user"], "priority": 0.9}),
        resources.MARKDOWN,
        content.media("image", resources.png(48), "image/png"),
        content.media("audio", resources.wav(0.2), "audio/wav"),
        content.embedded("shop://note", "text/plain", "A note that travels inside the result."),
        content.embedded("shop://stamp", "application/octet-stream", bytes(range(64))),
        content.link(uri, "first-book", "The first book on the shelves", "application/json"),
        content.link(WELCOME, "welcome", "The sign at the door", "text/markdown"),
    )


@tool
async def show_wrong_structure(turn: Turn, args: Args) -> Result:
    return content.result("Two books, and a mistake.", structured={"books": ["Salt", 7], "open": "yes"})


@tool
async def show_page(turn: Turn, args: Args) -> Result:
    return content.result("The lantern is lit.", structured={"lit": True})


@tool
async def show_nothing(turn: Turn, args: Args) -> Result:
    return content.result()


@tool
async def show_long_text(turn: Turn, args: Args) -> Result:
    return content.result(resources.long_text(args.get("kilobytes", 100)))


@tool
async def show_long_json(turn: Turn, args: Args) -> Result:
    data = resources.long_json(args.get("kilobytes", 100))
    return content.result(f"{data['count']} sales.", structured=data)


@tool
async def show_unicode(turn: Turn, args: Args) -> Result:
    return content.result(resources.UNICODE)


@tool
async def show_hostile_text(turn: Turn, args: Args) -> Result:
    kind = args.get("kind", "everything")
    chosen = resources.HOSTILE if kind == "everything" else {kind: resources.HOSTILE[kind]}
    return content.result("\n".join(f"{name}: {attempt}" for name, attempt in chosen.items()))


# ---------------------------------------------------------------------- what fails, and lists that change


@tool
async def fail_as_tool(turn: Turn, args: Args) -> Result:
    raise ToolTrouble(args.get("reason", "The shop is closed on Sundays."))


@tool
async def fail_as_request(turn: Turn, args: Args) -> Result:
    data = {"opens": "9:00", "shelves": ["poetry", "travel"]}
    raise MCPError(args.get("code", -31050), args.get("message", "Not today"), data)


@tool
async def fail_by_exception(turn: Turn, args: Args) -> Result:
    raise RuntimeError("the ladder slipped")


@tool
async def fail_output_schema(turn: Turn, args: Args) -> Result:
    return content.result("Many.", structured={"count": "many"})


@tool
async def fail_by_leaving(turn: Turn, args: Args) -> Result:
    sys.stderr.write("The shop burned down.\n")
    sys.stderr.flush()
    os._exit(args.get("exit_code", 3))


@tool
async def invite_guest(turn: Turn, args: Args) -> Result:
    turn.shop.guest = args.get("present", True)
    await turn.audience.tell(ToolsListChanged())
    return content.result("The guest is here: try read_palm." if turn.shop.guest else "The guest has left.")


@tool
async def announce_reading(turn: Turn, args: Args) -> Result:
    turn.shop.reading = args.get("present", True)
    await turn.audience.tell(PromptsListChanged())
    return content.result("Announced: see the prompt invitation." if turn.shop.reading else "The reading is cancelled.")


@tool
async def read_palm(turn: Turn, args: Args) -> Result:
    return content.result("You will read a long book about moss.")
