"""Tools with arguments of every kind. Each answers with what it got."""

from __future__ import annotations

import json
from typing import Any

from mcp_studio.servers.demo import tool
from mcp_studio.servers.demo.shop import GENRES
from mcp_studio.servers.demo.tool import READ, Args, Result, Schema, Toolbox, inputs
from mcp_studio.servers.demo.turn import Turn

EMPTY = inputs()
COPIES: Schema = {"type": "integer", "minimum": 1, "maximum": 20, "default": 1}

TEXT = inputs(
    {
        "plain": {"type": "string", "title": "Plain text"},
        "short": {
            "type": "string",
            "title": "Short",
            "minLength": 2,
            "maxLength": 8,
            "description": "2 to 8 characters",
        },
        "isbn": {
            "type": "string",
            "title": "ISBN",
            "pattern": "^97[89]-[0-9-]{10,14}$",
            "examples": ["978-3-16-148410-0"],
        },
        "letter": {"type": "string", "title": "Letter", "format": "multiline", "description": "Several lines"},
        "email": {"type": "string", "format": "email"},
        "page": {"type": "string", "format": "uri"},
        "day": {"type": "string", "format": "date"},
        "moment": {"type": "string", "format": "date-time"},
        "hour": {"type": "string", "format": "time"},
        "number": {"type": "string", "format": "uuid"},
    }
)

NUMBERS = inputs(
    {
        "count": {"type": "integer"},
        "copies": COPIES,
        "dozens": {"type": "integer", "multipleOf": 12},
        "below_zero": {"type": "integer", "exclusiveMaximum": 0},
        "huge": {"type": "integer", "description": "May be larger than 2^53: it arrives digit for digit"},
        "price": {"type": "number", "minimum": 0, "description": "Euros"},
        "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
    }
)

FLAGS = inputs(
    {
        "wrapped": {"type": "boolean", "default": True},
        "signed": {"type": "boolean", "default": False},
        "urgent": {"type": "boolean", "description": "No default: may be left out"},
    }
)

CHOICES = inputs(
    {
        "genre": {"type": "string", "enum": list(GENRES)},
        "size": {"type": "string", "enum": ["small", "large"], "default": "small"},
        "paper": {
            "oneOf": [
                {"const": "plain", "title": "Brown paper"},
                {"const": "stars", "title": "Blue with stars"},
            ]
        },
        "drink": {"type": "string", "enum": ["t", "c"], "enumNames": ["Tea", "Coffee"]},
        "floor": {"type": "integer", "enum": [-1, 0, 1, 2]},
        "mixed": {"enum": ["auto", 1, True, None]},
        "one_of_thirty": {"type": "string", "enum": [f"seat {number}" for number in range(1, 31)]},
    }
)

MANY_CHOICES = inputs(
    {
        "genres": {"type": "array", "items": {"type": "string", "enum": list(GENRES)}, "uniqueItems": True},
        "days": {
            "type": "array",
            "items": {"enum": ["mon", "tue", "wed", "thu", "fri", "sat"]},
            "minItems": 1,
            "maxItems": 3,
            "default": ["sat"],
        },
        "extras": {
            "type": "array",
            "items": {"anyOf": [{"const": "ribbon", "title": "A ribbon"}, {"const": "card", "title": "A card"}]},
        },
    },
    "days",
)

REQUIRED = inputs(
    {
        "title": {"type": "string", "description": "Required"},
        "copies": {"type": "integer", "default": 1, "description": "Required, with a default"},
        "note": {"type": "string", "default": "no hurry", "description": "Optional, with a default"},
        "shelf": {"type": "string", "description": "Optional"},
    },
    "title",
    "copies",
)

_ADDRESS: Schema = {
    "type": "object",
    "properties": {
        "street": {"type": "string"},
        "town": {"type": "string"},
        "place": {
            "type": "object",
            "properties": {"latitude": {"type": "number"}, "longitude": {"type": "number"}},
            "required": ["latitude", "longitude"],
        },
    },
    "required": ["town"],
}

NESTED = inputs(
    {
        "customer": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "address": _ADDRESS},
            "required": ["name"],
        },
        "deliver_to": {"$ref": "#/$defs/address", "description": "Elsewhere"},
    },
    "customer",
    **{"$defs": {"address": _ADDRESS}},
)

LISTS = inputs(
    {
        "words": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        "numbers": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "items": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"book": {"type": "string"}, "copies": {"type": "integer", "minimum": 1, "default": 1}},
                "required": ["book"],
            },
        },
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    },
    "items",
)

MAPS = inputs(
    {
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "stock": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
        "by_code": {"type": "object", "patternProperties": {"^[a-z]{2}$": {"type": "string"}}},
    }
)

UNION = inputs(
    {
        "payment": {
            "oneOf": [
                {
                    "title": "Card",
                    "type": "object",
                    "properties": {
                        "kind": {"const": "card"},
                        "last_digits": {"type": "string", "pattern": "^[0-9]{4}$"},
                    },
                    "required": ["kind", "last_digits"],
                },
                {
                    "title": "Invoice",
                    "type": "object",
                    "properties": {"kind": {"const": "invoice"}, "days": {"type": "integer", "enum": [14, 30]}},
                    "required": ["kind", "days"],
                },
                {
                    "title": "Cash",
                    "type": "object",
                    "properties": {"kind": {"const": "cash"}},
                    "required": ["kind"],
                },
            ],
            "discriminator": {"propertyName": "kind"},
        },
        "amount": {"anyOf": [{"type": "number"}, {"type": "string", "enum": ["all"]}]},
        "either": {"type": ["string", "integer"]},
    },
    "payment",
)

NULLABLE = inputs(
    {
        "note": {"type": ["string", "null"]},
        "copies": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "shelf": {"anyOf": [{"enum": list(GENRES)}, {"type": "null"}]},
        "nothing": {"type": "null"},
    },
    "note",
)

TUPLE = inputs(
    {
        "point": {
            "type": "array",
            "prefixItems": [{"type": "number"}, {"type": "number"}],
            "items": False,
            "minItems": 2,
        },
        "entry": {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "items": {"type": "boolean"},
        },
    }
)

TREE = inputs(
    {"root": {"$ref": "#/$defs/shelf"}},
    "root",
    **{
        "$defs": {
            "shelf": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "shelves": {"type": "array", "items": {"$ref": "#/$defs/shelf"}},
                },
                "required": ["name"],
            }
        }
    },
)

CONSTANT = inputs({"version": {"const": 1}, "kind": {"const": "order"}, "name": {"type": "string"}}, "version", "kind")

_ANYTHING: dict[str, Any] = {"value": {"description": "Any JSON value"}, "free": True, "more": {"type": "object"}}
ANY = inputs(_ANYTHING)

SECRET = inputs(
    {
        "user": {"type": "string"},
        "password": {"type": "string", "format": "password"},
        "api_key": {"type": "string", "writeOnly": True},
    },
    "user",
    "password",
)

HEADER = inputs({"town": {"type": "string", "x-mcp-header": "Town"}, "street": {"type": "string"}}, "town")

CONDITIONS = inputs(
    {
        "delivery": {"type": "string", "enum": ["pick up", "post"], "default": "pick up"},
        "address": {"type": "string", "description": "Needed for post"},
        "first_day": {"type": "integer", "minimum": 1, "maximum": 31},
        "last_day": {"type": "integer", "minimum": 1, "maximum": 31},
    },
    dependentRequired={"last_day": ["first_day"]},
    **{
        "if": {"properties": {"delivery": {"const": "post"}}, "required": ["delivery"]},
        "then": {"required": ["address"]},
    },
)

_KINDS: tuple[Schema, ...] = (
    {"type": "string"},
    {"type": "integer", "minimum": 0},
    {"type": "number"},
    {"type": "boolean", "default": False},
    {"type": "string", "enum": list(GENRES)},
)

FORTY = inputs(
    {f"field_{number:02}": {"title": f"Field {number}", **_KINDS[number % 5]} for number in range(1, 41)},
    "field_01",
    "field_40",
)

ORDER = inputs(
    {
        "customer": {"type": "string", "minLength": 2, "description": "Who it is for"},
        "payment": UNION["properties"]["payment"],
        "items": {
            "type": "array",
            "items": inputs({"book": {"type": "string"}, "copies": COPIES, "wrapped": {"type": "boolean"}}, "book"),
            "minItems": 1,
            "maxItems": 50,
        },
        "deliver_on": {"type": "string", "format": "date"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Words of your own"},
    },
    "customer",
    "payment",
    "items",
)

TOOLS = Toolbox()

RECEIVED: Schema = {"type": "object", "properties": {"received": {}}, "required": ["received"]}

FORMS: tuple[tuple[str, str, str, Schema], ...] = (
    ("form_empty", "Form: no arguments", "Takes nothing.", EMPTY),
    ("form_text", "Form: text", "Strings with formats, lengths and a pattern.", TEXT),
    ("form_numbers", "Form: numbers", "Whole and other numbers, with and without bounds.", NUMBERS),
    ("form_flags", "Form: flags", "Yes or no, with each default and with none.", FLAGS),
    ("form_choices", "Form: one of several", "Choices of one value: plain, titled, of numbers.", CHOICES),
    ("form_many_choices", "Form: several of several", "Choices of any number of values.", MANY_CHOICES),
    ("form_required", "Form: required and optional", "What must be there, and what has a default.", REQUIRED),
    ("form_nested", "Form: nested objects", "Objects inside objects.", NESTED),
    ("form_lists", "Form: lists", "Lists of words, of numbers, of objects.", LISTS),
    ("form_map", "Form: maps", "Objects with names of your own.", MAPS),
    ("form_union", "Form: one of several shapes", "Payment by card, invoice or cash (oneOf).", UNION),
    ("form_nullable", "Form: null", "Values that may be null, which is not the same as absent.", NULLABLE),
    ("form_tuple", "Form: tuples", "Lists whose places have types of their own.", TUPLE),
    ("form_tree", "Form: a tree", "A shelf that holds shelves (recursive $ref).", TREE),
    ("form_constant", "Form: constants", "Values that can only be one thing.", CONSTANT),
    ("form_any", "Form: anything", "Any JSON value.", ANY),
    ("form_secret", "Form: secrets", "A password and a token: masked, and redacted in the trace.", SECRET),
    ("form_header", "Form: a header", "An argument that also travels as an HTTP header (2026-07-28).", HEADER),
    (
        "form_conditions",
        "Form: conditions",
        "Rules between fields: what is asked depends on what is filled in.",
        CONDITIONS,
    ),
    ("form_forty", "Form: forty fields", "A long form.", FORTY),
    ("form_order", "Form: a whole order", "Variants, rows and labels in one form.", ORDER),
)


def _echo(args: dict[str, Any]) -> Result:
    shown = json.dumps(args, indent=2, ensure_ascii=False)
    return tool.result(f"Received:\n{shown}", structured={"received": args})


async def echo(turn: Turn, args: Args) -> Result:
    """Answer with the arguments as they came."""
    return _echo(args)


for _name, _title, _description, _schema in FORMS:
    TOOLS.tool(_name, _title, _description, _schema, hints=READ, output=RECEIVED)(echo)
