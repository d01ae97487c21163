"""The forms that the asking tools send (client/elicitation: flat objects of primitive fields only)."""

from __future__ import annotations

from mcp_studio.servers.demo.seed import GENRES
from mcp_studio.servers.demo.tool import Schema

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
