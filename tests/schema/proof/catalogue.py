"""Tool schemas written in the styles of real servers: of pydantic, of zod, by hand, from OpenAPI, and careless ones."""

from __future__ import annotations

from typing import Any

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def _tool(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


def _or_null(schema: dict[str, Any], title: str) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}], "default": None, "title": title}


TEXT, NUMBER, WHOLE, FLAG = ({"type": kind} for kind in ("string", "number", "integer", "boolean"))

PYDANTIC: dict[str, Any] = {
    "weather": _tool(
        {
            "city": {"type": "string", "title": "City", "description": "Name of the city, e.g. 'Berlin'"},
            "days": {"type": "integer", "title": "Days", "default": 3, "minimum": 1, "maximum": 16},
            "units": _or_null({"type": "string", "enum": ["metric", "imperial"]}, "Units"),
        },
        "city",
        title="weatherArguments",
    ),
    "create_issue": _tool(
        {
            "title": {"type": "string", "minLength": 1, "maxLength": 256},
            "body": _or_null(TEXT, "Body"),
            "labels": _or_null({"type": "array", "items": TEXT, "maxItems": 10, "uniqueItems": True}, "Labels"),
            "milestone": _or_null({"anyOf": [WHOLE, TEXT]}, "Milestone"),
            "assignee": _or_null({"$ref": "#/$defs/User"}, "Assignee"),
        },
        "title",
        **{"$defs": {"User": _tool({"login": TEXT, "email": {"type": "string", "format": "email"}}, "login")}},
    ),
    "query_table": _tool(
        {
            "table": {"type": "string", "pattern": "^[a-z_][a-z0-9_]*$"},
            "filter": {"$ref": "#/$defs/Filter"},
            "order": {"type": "array", "items": {"$ref": "#/$defs/Order"}, "default": []},
            "limit": {"type": "integer", "exclusiveMinimum": 0, "default": 100},
        },
        "table",
        **{
            "$defs": {
                "Filter": {
                    "oneOf": [{"$ref": "#/$defs/And"}, {"$ref": "#/$defs/Equals"}],
                    "discriminator": {"propertyName": "op"},
                },
                "And": _tool(
                    {"op": {"const": "and"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}},
                    "op",
                    "parts",
                ),
                "Equals": _tool({"op": {"const": "="}, "field": TEXT, "value": {}}, "op", "field", "value"),
                "Order": _tool({"by": TEXT, "down": {"type": "boolean", "default": False}}, "by"),
            }
        },
    ),
}

ZOD: dict[str, Any] = {
    "edit_file": _tool(
        {
            "path": TEXT,
            "edits": {
                "type": "array",
                "items": _tool(
                    {"oldText": {"type": "string", "description": "Text to search for"}, "newText": TEXT},
                    "oldText",
                    "newText",
                    additionalProperties=False,
                ),
            },
            "dryRun": {"type": "boolean", "default": False},
        },
        "path",
        "edits",
        additionalProperties=False,
        **{"$schema": DRAFT_7},
    ),
    "screenshot": _tool(
        {
            "url": {"type": "string", "format": "uri"},
            "viewport": _tool(
                {
                    "width": {"type": "integer", "exclusiveMinimum": 0},
                    "height": {"type": "integer", "exclusiveMinimum": 0},
                },
                "width",
                "height",
                additionalProperties=False,
            ),
            "kind": {"type": "string", "enum": ["png", "jpeg"], "default": "png"},
            "quality": {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.05},
            "clip": {"type": "array", "items": [NUMBER, NUMBER, NUMBER, NUMBER], "minItems": 4, "maxItems": 4},
        },
        "url",
        additionalProperties=False,
        **{"$schema": DRAFT_7},
    ),
    "anything": _tool(
        {"value": {"anyOf": [{"not": {}}, TEXT]}, "rest": {}, "never": {"not": {}}},
        additionalProperties=False,
        **{"$schema": DRAFT_7},
    ),
}

OPENAPI: dict[str, Any] = {
    "create_order": _tool(
        {
            "customer": {"type": "string", "example": "Ada Lovelace", "minLength": 1},
            "payment": {
                "oneOf": [
                    _tool(
                        {
                            "type": {"type": "string", "enum": ["card"]},
                            "number": {"type": "string", "pattern": "^\\d{16}$"},
                        },
                        "type",
                        "number",
                    ),
                    _tool(
                        {"type": {"type": "string", "enum": ["invoice"]}, "due": {"type": "string", "format": "date"}},
                        "type",
                        "due",
                    ),
                ],
                "discriminator": {"propertyName": "type"},
            },
            "items": {
                "type": "array",
                "minItems": 1,
                "maxItems": 50,
                "items": _tool(
                    {
                        "sku": {"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"},
                        "quantity": {"type": "integer", "minimum": 1},
                    },
                    "sku",
                ),
            },
            "metadata": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 100}},
        },
        "customer",
        "payment",
        "items",
    ),
    "update_user": _tool(
        {
            "id": {"type": "string", "format": "uuid"},
            "created": {"type": "string", "format": "date-time", "readOnly": True},
            "name": {"allOf": [TEXT, {"minLength": 2}, {"maxLength": 40}]},
            "password": {"type": "string", "writeOnly": True, "minLength": 12},
            "role": {"oneOf": [{"const": "admin", "title": "Administrator"}, {"const": "user", "title": "User"}]},
            "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
            "legacy": {"type": "string", "deprecated": True},
        },
        "id",
        minProperties=2,
    ),
}

BY_HAND: dict[str, Any] = {
    "nothing": {"type": "object", "properties": {}},
    "closed": {"type": "object", "additionalProperties": False},
    "open": {"type": "object"},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
    "names": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z]+$"},
        "additionalProperties": TEXT,
        "maxProperties": 3,
    },
    "patterns": {"type": "object", "patternProperties": {"^x-": TEXT, "^n-": NUMBER}, "additionalProperties": False},
    "mixed": _tool({"it": {"enum": ["a", 1, 1.5, True, None, [1, 2], {"k": 1}]}}, "it"),
    "kinds": _tool({"it": {"type": ["string", "number", "boolean", "array"]}}, "it"),
    "tuple": _tool(
        {"at": {"type": "array", "prefixItems": [NUMBER, NUMBER, TEXT], "items": False, "minItems": 2}}, "at"
    ),
    "contains": _tool({"it": {"type": "array", "items": WHOLE, "contains": {"const": 5}, "minItems": 1}}, "it"),
    "tree": _tool(
        {"root": {"$ref": "#/$defs/node"}},
        "root",
        **{
            "$defs": {
                "node": _tool({"name": TEXT, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "name")
            }
        },
    ),
    "chain": _tool({"next": {"$ref": "#"}, "value": WHOLE}, "value"),
    "shipping": _tool(
        {"country": {"enum": ["DE", "US"]}, "zip": TEXT, "state": TEXT},
        "country",
        **{
            "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
            "then": {"required": ["state"], "properties": {"zip": {"pattern": "^\\d{5}$"}}},
            "else": {"properties": {"zip": {"pattern": "^[0-9]{4,5}$"}}},
        },
    ),
    "login": _tool({"user": TEXT, "password": TEXT, "token": TEXT}, dependentRequired={"user": ["password"]}),
    "either": _tool({"id": WHOLE, "name": TEXT}, anyOf=[{"required": ["id"]}, {"required": ["name"]}]),
    "numbers": _tool(
        {
            "third": {"type": "number", "multipleOf": 0.01, "minimum": 0.01, "exclusiveMaximum": 1},
            "even": {"type": "integer", "multipleOf": 2, "exclusiveMinimum": 2, "maximum": 1e3},
            "large": {"type": "integer", "minimum": 9007199254740993},
            "low": {"type": "number", "maximum": -0.5},
            "old": {"type": "number", "minimum": 1, "exclusiveMinimum": 1},
        },
        "third",
        "even",
        "large",
        "low",
        "old",
    ),
    "formats": _tool(
        {
            name: {"type": "string", "format": name}
            for name in (
                "email",
                "uri",
                "date",
                "date-time",
                "time",
                "uuid",
                "ipv4",
                "ipv6",
                "hostname",
                "regex",
                "duration",
            )
        },
        "email",
        "uri",
        "date",
    ),
    "texts": _tool(
        {
            "word": {"type": "string", "pattern": "^\\S+$", "minLength": 3, "maxLength": 3},
            "phone": {"type": "string", "pattern": "^\\+?[1-9]\\d{1,14}$"},
            "strong": {"type": "string", "pattern": "^(?=.*[A-Z])(?=.*\\d).{8,}$"},
            "language": {"type": "string", "pattern": "^[a-z]{2}(-[A-Z]{2})?$"},
            "day": {"type": "string", "description": "The day, YYYY-MM-DD"},
            "none": {"type": "string", "maxLength": 0},
        },
        "word",
        "phone",
        "strong",
        "language",
    ),
    "deep": _tool(
        {"a": _tool({"b": _tool({"c": _tool({"d": {"type": "array", "items": TEXT}}, "d")}, "c")}, "b")}, "a"
    ),
    "weekdays": _tool(
        {"days": {"type": "array", "items": {"enum": ["mon", "tue", "wed"]}, "minItems": 2, "uniqueItems": True}},
        "days",
    ),
}

CARELESS: dict[str, Any] = {
    "no type": {"properties": {"a": {"description": "a thing"}, "b": {"minimum": 1}}, "required": ["a"]},
    "missing property": _tool({"a": TEXT}, "a", "b"),
    "default of another type": _tool(
        {"a": {"type": "integer", "default": "5"}, "b": {"type": "string", "default": None}}
    ),
    "impossible": _tool({"a": {"type": "integer", "minimum": 5, "maximum": 4}}, "a"),
    "endless": _tool({"a": {"$ref": "#"}}, "a"),
    "unreadable pattern": _tool({"a": {"type": "string", "pattern": "(?<=x)(a)\\1"}}, "a"),
    "too long": _tool(
        {"a": {"type": "string", "minLength": 10**9}, "b": {"type": "array", "minItems": 10**9}}, "a", "b"
    ),
    "choice of no type": _tool({"a": {"type": "array", "enum": ["x", "y"], "items": TEXT}}, "a"),
    "not": _tool({"a": {"type": "string", "not": {"enum": ["example"]}}}, "a"),
}
"""Some of these allow no value, or none that is found."""

SOUND: dict[str, Any] = {**PYDANTIC, **ZOD, **OPENAPI, **BY_HAND}
"""For each of these there is a valid value, which has to be found."""
