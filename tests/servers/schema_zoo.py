"""A server whose tools have all kinds of arguments; each returns its arguments.

    schema_zoo.py

The schema of `orders.add` is usual. Each other tool has one difficulty: recursion, unions, conditions, maps, tuples,
mixed enums, formats, nested secrets, a form of 60 fields and 5 levels, 1,000 rows, hostile names.
"""

from __future__ import annotations

import json

from raw_offer import HOSTILE
from raw_server import RawServer

TEXT, NUMBER, WHOLE, FLAG = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}


def shape(*required, **properties):
    """An object schema."""
    return {"type": "object", "properties": properties, "required": list(required)}


def many(items, **more):
    """A list schema."""
    return {"type": "array", "items": items, **more}


CARD = shape("kind", "number", kind={"const": "card"}, number={**TEXT, "pattern": "^[0-9 ]{12,23}$"},
             expires={**TEXT, "format": "date"}, cvc={**TEXT, "writeOnly": True, "maxLength": 4})  # fmt: skip
INVOICE = shape("kind", "email", kind={"const": "invoice"}, email={**TEXT, "format": "email"},
                address={"$ref": "#/$defs/address"})  # fmt: skip
CASH = shape("kind", kind={"const": "cash"}, change={**NUMBER, "minimum": 0, "description": "Bring so much change."})
ADDRESS = shape("street", "city", street=TEXT, city=TEXT, country={"enum": ["AT", "CH", "DE"], "default": "AT"},
                door={"type": ["integer", "string"]})  # fmt: skip
ITEM = shape("product", "quantity", product={**TEXT, "examples": ["Laptop", "Mouse"]},
             quantity={**WHOLE, "minimum": 1, "default": 1}, price=NUMBER, gift=FLAG,
             options=many({"enum": ["engraved", "wrapped", "express"]}))  # fmt: skip
ORDER = {
    **shape(
        "customer", "payment", "items",
        customer={**TEXT, "description": "Who ordered, as written on the invoice.", "minLength": 2},
        payment={"oneOf": [{**CARD, "title": "card"}, {**INVOICE, "title": "invoice"}, {**CASH, "title": "cash"}],
                 "discriminator": {"propertyName": "kind"}, "description": "How it is paid."},
        items=many({"$ref": "#/$defs/item"}, minItems=1, maxItems=50, description="What is ordered."),
        ship_to={"$ref": "#/$defs/address", "description": "Where it goes, unless to the customer."},
        tags=many(TEXT, uniqueItems=True),
        metadata={"type": "object", "additionalProperties": TEXT, "description": "Anything else, by name."},
        note={"type": ["string", "null"]},
        old_id={**WHOLE, "deprecated": True, "description": "Use customer."},
    ),
    "$defs": {"address": ADDRESS, "item": ITEM},
}  # fmt: skip
TREE = {
    **shape("name", name=TEXT, children=many({"$ref": "#"}), parent={"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
    "title": "node",
}
CONDITION = {
    **shape("country", country={"enum": ["US", "CA", "other"]}, express=FLAG),
    "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
    "then": shape("zip", zip={**TEXT, "pattern": "^[0-9]{5}$"}),
    "else": shape(postcode=TEXT),
    "dependentSchemas": {"express": shape("phone", phone=TEXT)},
}
MAPS = shape(
    env={"type": "object", "additionalProperties": TEXT, "propertyNames": {"pattern": "^[A-Z_]+$"}},
    limits={"type": "object", "patternProperties": {"^max_": WHOLE, "^is_": FLAG}, "additionalProperties": False},
    services={"type": "object", "additionalProperties": shape("image", image=TEXT, ports=many(WHOLE))},
    free={"type": "object"},
)
TUPLES = shape(
    "range",
    range={"type": "array", "prefixItems": [{**NUMBER, "title": "from"}, {**NUMBER, "title": "to"}], "items": False},
    row={"type": "array", "prefixItems": [TEXT, WHOLE], "items": FLAG},
    grid=many(many(NUMBER, minItems=2, maxItems=2)),
)
MIXED = shape(
    level={"enum": ["low", "high", 1, 2.5, None, True, {"custom": 1}]},
    id={"anyOf": [TEXT, WHOLE]},
    any={},
    never=False,
    constant={"const": {"fixed": [1, 2]}},
    filter={"anyOf": [TEXT, shape(path=TEXT, depth=WHOLE), many(TEXT), {"type": "null"}], "description": "To keep."},
    big={**WHOLE, "description": "Any number of digits."},
)  # fmt: skip
FORMATS = shape(
    **{name: {**TEXT, "format": name} for name in ("date", "time", "date-time", "duration", "email", "uri", "uuid")},
    body={**TEXT, "contentMediaType": "text/markdown"}, blob={**TEXT, "contentEncoding": "base64"},
)  # fmt: skip
SECRETS = shape(
    "accounts",
    accounts=many(shape("user", "password", user=TEXT, password=TEXT)),
    vault={"type": "object", "additionalProperties": shape(token={**TEXT, "format": "password"})},
    login={"oneOf": [shape(api_key=TEXT), shape(user=TEXT, passphrase=TEXT)]},
)
ROWS = shape("rows", rows=many(shape("a", a=TEXT, b=WHOLE, c=FLAG, d={"enum": ["x", "y"]}, e=NUMBER)))
KINDS = (TEXT, {**WHOLE, "minimum": 0}, FLAG, {"enum": ["one", "two", "three"]}, {"enum": [f"n{n}" for n in range(20)]})


def deep(level, count=12):
    """An object with `count` fields, and another such object inside, down to level 5."""
    named = {f"level{level}_field{n}": {**KINDS[n % 5], "description": f"Number {n}."} for n in range(count)}
    if level < 5:
        named[f"level{level}_inside"] = deep(level + 1)
    return shape(*list(named)[-1:], **named)


TOOLS = {
    "orders.add": ("Add an order for a customer.", ORDER),
    "tree": ("A node with nodes in it, without an end.", TREE),
    "ship": ("What is asked depends on the country.", CONDITION),
    "maps": ("Keys that the caller chooses.", MAPS),
    "tuples": ("Places with a meaning of their own.", TUPLES),
    "mixed": ("Values of several kinds.", MIXED),
    "formats": ("Text with a shape.", FORMATS),
    "secrets": ("Passwords, deep inside.", SECRETS),
    "rows": ("As many rows as you like.", ROWS),
    "deep": ("60 fields on 5 levels.", deep(1)),
    "hostile": ("Names " + HOSTILE, shape(HOSTILE, **{
        HOSTILE: {**TEXT, "title": HOSTILE, "description": HOSTILE, "default": HOSTILE},
        "a/b~c": WHOLE, "": TEXT, "x" * 300: TEXT,
        "pick": {"enum": [HOSTILE, "[/red]"]},
        "union": {"oneOf": [{**shape(a=TEXT), "title": HOSTILE}, {**shape(b=TEXT), "title": "b"}]},
        "map": {"type": "object", "additionalProperties": {**TEXT, "description": HOSTILE}},
    })),
}  # fmt: skip


class Zoo(RawServer):
    """Tools with every kind of schema."""

    def __init__(self):
        super().__init__()
        self.tools = [
            {"name": name, "description": about, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
            for name, (about, schema) in TOOLS.items()
        ]

    def call(self, request, params):
        """Return the arguments."""
        text = json.dumps(params.get("arguments", {}), ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}]}


if __name__ == "__main__":
    Zoo().run()
