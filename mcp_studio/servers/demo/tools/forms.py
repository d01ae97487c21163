"""Tools with arguments of every kind. Each answers with what it got."""

from __future__ import annotations

import json
from typing import Any

from mcp_studio.servers.demo import content
from mcp_studio.servers.demo.content import Result
from mcp_studio.servers.demo.tool import READ, Args, Schema, Toolbox
from mcp_studio.servers.demo.tools import schemas
from mcp_studio.servers.demo.turn import Turn

TOOLS = Toolbox()

RECEIVED: Schema = {"type": "object", "properties": {"received": {}}, "required": ["received"]}

FORMS: tuple[tuple[str, str, str, Schema], ...] = (
    ("form_empty", "Form: no arguments", "Takes nothing.", schemas.EMPTY),
    ("form_text", "Form: text", "Strings with formats, lengths and a pattern.", schemas.TEXT),
    ("form_numbers", "Form: numbers", "Whole and other numbers, with and without bounds.", schemas.NUMBERS),
    ("form_flags", "Form: flags", "Yes or no, with each default and with none.", schemas.FLAGS),
    ("form_choices", "Form: one of several", "Choices of one value: plain, titled, of numbers.", schemas.CHOICES),
    ("form_many_choices", "Form: several of several", "Choices of any number of values.", schemas.MANY_CHOICES),
    ("form_required", "Form: required and optional", "What must be there, and what has a default.", schemas.REQUIRED),
    ("form_nested", "Form: nested objects", "Objects inside objects.", schemas.NESTED),
    ("form_lists", "Form: lists", "Lists of words, of numbers, of objects.", schemas.LISTS),
    ("form_map", "Form: maps", "Objects with names of your own.", schemas.MAPS),
    ("form_union", "Form: one of several shapes", "Payment by card, invoice or cash (oneOf).", schemas.UNION),
    ("form_nullable", "Form: null", "Values that may be null, which is not the same as absent.", schemas.NULLABLE),
    ("form_tuple", "Form: tuples", "Lists whose places have types of their own.", schemas.TUPLE),
    ("form_tree", "Form: a tree", "A shelf that holds shelves (recursive $ref).", schemas.TREE),
    ("form_constant", "Form: constants", "Values that can only be one thing.", schemas.CONSTANT),
    ("form_any", "Form: anything", "Any JSON value.", schemas.ANY),
    ("form_secret", "Form: secrets", "A password and a token: masked, and redacted in the trace.", schemas.SECRET),
    ("form_header", "Form: a header", "An argument that also travels as an HTTP header (2026-07-28).", schemas.HEADER),
    (
        "form_conditions",
        "Form: conditions",
        "Rules between fields: what is asked depends on what is filled in.",
        schemas.CONDITIONS,
    ),
    ("form_forty", "Form: forty fields", "A long form.", schemas.FORTY),
    ("form_order", "Form: a whole order", "Variants, rows and labels in one form.", schemas.ORDER),
)


def _echo(args: dict[str, Any]) -> Result:
    shown = json.dumps(args, indent=2, ensure_ascii=False)
    return content.result(f"Received:\n{shown}", structured={"received": args})


async def echo(turn: Turn, args: Args) -> Result:
    """Answer with the arguments as they came."""
    return _echo(args)


for _name, _title, _description, _schema in FORMS:
    TOOLS.tool(_name, _title, _description, _schema, hints=READ, output=RECEIVED)(echo)
