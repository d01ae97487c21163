"""Tools that ask back: the person (elicitation), the model (sampling), the client (roots)."""

from __future__ import annotations

import json
from typing import Any

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

from mcp_studio.servers.demo import tool as content
from mcp_studio.servers.demo.shop import GENRES
from mcp_studio.servers.demo.tool import READ, WRITE, Args, Result, Schema, Toolbox, inputs
from mcp_studio.servers.demo.tools.shelves import BOOK_ID
from mcp_studio.servers.demo.turn import ToolTrouble, Turn

GIFT: Schema = {
    "type": "object",
    "properties": {"gift": {"type": "boolean", "title": "Gift", "description": "We wrap it", "default": False}},
    "required": ["gift"],
}

_TITLED_PAPER = [
    {"const": "plain", "title": "Brown paper"},
    {"const": "stars", "title": "Blue with stars"},
    {"const": "news", "title": "Yesterday's newspaper"},
]


def order() -> Schema:
    """A short form: who, how many, when, how wrapped."""
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "minLength": 1, "maxLength": 60},
            "email": {"type": "string", "title": "E-mail", "format": "email"},
            "copies": {"type": "integer", "title": "Copies", "minimum": 1, "maximum": 20, "default": 1},
            "needed_by": {"type": "string", "title": "Needed by", "format": "date"},
            "paper": {
                "type": "string",
                "title": "Wrapping",
                "enum": ["none", "brown", "stars"],
                "default": "none",
            },
        },
        "required": ["name", "copies"],
    }


def everything(version: str) -> Schema:
    """A form with every kind of field that the protocol version knows."""
    properties: dict[str, Schema] = {
        "name": {
            "type": "string",
            "title": "Name",
            "description": "2 to 40 characters",
            "minLength": 2,
            "maxLength": 40,
        },
        "note": {"type": "string", "title": "Note"},
        "email": {"type": "string", "title": "E-mail", "format": "email"},
        "homepage": {"type": "string", "title": "Home page", "format": "uri"},
        "birthday": {"type": "string", "title": "Birthday", "format": "date"},
        "visit": {"type": "string", "title": "Next visit", "format": "date-time"},
        "shoe_size": {"type": "number", "title": "Shoe size", "minimum": 15, "maximum": 55.5},
        "books_read": {"type": "integer", "title": "Books read this year", "minimum": 0},
        "newsletter": {"type": "boolean", "title": "Newsletter", "default": True},
        "shelf": {"type": "string", "title": "Favourite shelf", "enum": list(GENRES)},
        "drink": {
            "type": "string",
            "title": "Drink",
            "enum": ["t", "c", "w"],
            "enumNames": ["Tea", "Coffee", "Water"],
        },
    }
    if version >= "2025-11-25":
        properties |= _since_2025_11()
    return {"type": "object", "properties": properties, "required": ["name", "books_read"]}


def _since_2025_11() -> dict[str, Schema]:
    """Titled choices, choices of several, and defaults for all kinds came with 2025-11-25."""
    return {
        "town": {"type": "string", "title": "Town", "default": "Ærøskøbing"},
        "stairs": {"type": "integer", "title": "Stairs", "default": 12},
        "paper": {"type": "string", "title": "Wrapping", "oneOf": _TITLED_PAPER, "default": "stars"},
        "days": {
            "type": "array",
            "title": "Days",
            "items": {"type": "string", "enum": ["mon", "tue", "wed", "thu", "fri", "sat"]},
            "minItems": 1,
            "maxItems": 3,
            "default": ["sat"],
        },
        "extras": {
            "type": "array",
            "title": "Extras",
            "items": {
                "anyOf": [{"const": "ribbon", "title": "A ribbon"}, {"const": "card", "title": "A handwritten card"}]
            },
        },
    }


TOOLS = Toolbox()


async def _form(turn: Turn, key: str, message: str, schema: Schema) -> ElicitResult:
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


@TOOLS.tool(
    "order_book",
    "Order a book",
    "Order a book. The shop asks who it is for; the order is written only if you accept.",
    inputs({"id": BOOK_ID}, "id"),
    hints=WRITE,
)
async def order_book(turn: Turn, args: Args) -> Result:
    """An order with one form."""
    book = turn.shop.book(args["id"])
    answer = await _form(turn, "order", f"Who is {book.title!r} for?", order())
    if answer.action != "accept":
        return content.result(f"{_told(answer)} Nothing was ordered.")
    given: dict[str, Any] = answer.content or {}
    return content.result(f"Ordered {given.get('copies', 1)} of {book.title!r} for {given.get('name', 'nobody')}.")


@TOOLS.tool(
    "ask_every_field",
    "Ask for every kind of field",
    "A form with every kind of field that elicitation knows, and what came back.",
    inputs(),
    hints=READ,
)
async def ask_every_field(turn: Turn, args: Args) -> Result:
    """The whole vocabulary of elicitation."""
    answer = await _form(turn, "everything", "Please fill in what you like.", everything(turn.ctx.protocol_version))
    return content.result(_told(answer))


@TOOLS.tool(
    "ask_twice",
    "Ask twice",
    "Two questions, one after the other; the second depends on the first.",
    inputs(),
    hints=READ,
)
async def ask_twice(turn: Turn, args: Args) -> Result:
    """Two rounds of elicitation."""
    first = await _form(turn, "gift", "Is it a gift?", GIFT)
    if first.action != "accept":
        return content.result(_told(first))
    wrapped = bool((first.content or {}).get("gift"))
    question = "What shall the card say?" if wrapped else "Do you need a bag? Write yes or no."
    second = await _form(turn, "words", question, inputs({"words": {"type": "string", "maxLength": 200}}, "words"))
    return content.result(f"A gift: {'yes' if wrapped else 'no'}.", _told(second))


@TOOLS.tool(
    "ask_to_open_page",
    "Ask to open a page",
    "Ask you to open a web page (elicitation by URL, since 2025-11-25).",
    inputs(),
    hints=READ,
)
async def ask_to_open_page(turn: Turn, args: Args) -> Result:
    """Elicitation in URL mode."""
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


@TOOLS.tool(
    "ask_model",
    "Ask the model",
    "Ask the client's language model for a blurb of a book (sampling).",
    inputs({"id": BOOK_ID}, "id"),
    hints=READ,
)
async def ask_model(turn: Turn, args: Args) -> Result:
    """Sampling."""
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


@TOOLS.tool(
    "ask_roots",
    "Ask for roots",
    "Ask the client which folders this server may use (roots). Nothing is read.",
    inputs(),
    hints=READ,
)
async def ask_roots(turn: Turn, args: Args) -> Result:
    """Roots."""
    if turn.capabilities.roots is None:
        raise ToolTrouble("This tool asks for your folders, and your client names none (no roots capability).")
    answer = await turn.ask("roots", ListRootsRequest(), ListRootsResult)
    names = "\n".join(f"{root.uri}  {root.name or ''}".rstrip() for root in answer.roots)
    return content.result(names or "No roots.")
