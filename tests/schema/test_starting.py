"""With what a form, an item, an entry or a variant begins; and what a form is made of."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.schema.field import defaults, starter
from mcp_studio.schema.form import build


@pytest.mark.parametrize(
    ("schema", "begun"),
    [
        ({"type": "string"}, ""),
        ({"type": "string", "default": "x"}, "x"),
        ({"type": "boolean"}, False),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "number", "maximum": -2}, -2),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, []),
        ({"prefixItems": [{"type": "string"}, {"const": 5}]}, ["", 5]),
        ({"additionalProperties": {"type": "string"}}, {}),
        ({"const": None}, None),
        ({"enum": ["only"]}, "only"),
        ({"enum": ["a", "b"]}, None),
        ({}, None),
        ({"properties": {"kind": {"const": "a"}, "b": {"type": "string"}}, "required": ["kind", "b"]}, {"kind": "a"}),
        (
            {"oneOf": [{"properties": {"kind": {"const": k}}, "required": ["kind"]} for k in "ab"]},
            {"kind": "a"},
        ),
        ({"properties": {"a": {"$ref": "#/properties/it"}}, "required": ["a"]}, {}),
    ],
)  # fmt: skip
def test_every_kind_of_field_begins_with_something(schema: Any, begun: Any) -> None:
    (field,) = build({"properties": {"it": schema}}).fields
    assert starter(field) == begun


def test_required_objects_begin_with_their_defaults() -> None:
    inner = {"properties": {"a": {"default": 1}, "b": {"type": "string"}}}
    form = build({"properties": {"x": inner, "y": inner, "z": {"type": "object"}}, "required": ["x", "z"]})
    assert defaults(form) == {"x": {"a": 1}}


def test_what_a_condition_adds_begins_too() -> None:
    form = build(
        {
            "properties": {"kind": {"default": "a"}},
            "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            "then": {"properties": {"more": {"default": 5}}},
        }
    )
    assert defaults(form) == {"kind": "a", "more": 5}


def test_a_required_object_that_can_only_be_empty_is_there_from_the_start() -> None:
    empty: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    schema: Any = {"properties": {"e": empty, "free": {"type": "object"}, "o": empty}, "required": ["e", "free"]}
    assert defaults(build(schema)) == {"e": {}}
