"""Every keyword of 2020-12, and what drafts up to 7 said otherwise: a form is built, and agrees with the library."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import example
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from tests.schema.proof.catalogue import DRAFT_7
from tests.schema.proof.support import Library, leaves, same, typed

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 2.5, 1.0, 10**20, "", "a", "abc", "2027-01-31", "foo", [], [1], [1, 1], ["a", 1],
    [1, 2, 3, 4], [[1], {}], {}, {"foo": 1}, {"foo": "bar"}, {"foo": None, "bar": 2}, {"bar": []},
    {"kind": "a", "a": 1},
    {"kind": "b"}, {"foo": {"foo": {}}}, {"foo": 1, "bar": 2, "baz": 3}, {"": 1, "a/b": 2, "~": 3},
)  # fmt: skip

TAGGED = {"oneOf": [{"properties": {"kind": {"const": name}}, "required": ["kind"]} for name in "ab"]}
KEYWORDS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "type": [{"type": "string"}, {"type": ["integer", "null"]}, {"type": ["object", "array"]}, {"type": "null"}],
    "enum": [
        {"enum": [1, "a", None, [1], {"foo": 1}]},
        {"enum": [False]},
        {"enum": [0, 1.0, "1"]},
        {"type": "integer", "enum": ["a"]},
    ],
    "const": [{"const": None}, {"const": {"foo": 1}}, {"const": [1]}, {"const": 1.0}, {"const": ""}],
    "multipleOf": [{"multipleOf": 2}, {"type": "number", "multipleOf": 0.5}, {"multipleOf": 1e-8}],
    "minimum": [
        {"minimum": 1},
        {"minimum": 1, "exclusiveMinimum": 1},
        {"type": "integer", "minimum": 0.5, "maximum": 1e3},
    ],
    "exclusiveMaximum": [{"exclusiveMaximum": 1}, {"maximum": 5, "exclusiveMaximum": 2.5}],
    "minLength": [{"minLength": 2}, {"maxLength": 1.0}, {"minLength": 3, "maxLength": 2}],
    "pattern": [{"pattern": "^a"}, {"pattern": "("}, {"pattern": r"^\p{L}+$"}],
    "format": [{"format": name} for name in ("date", "email", "uri", "uuid", "regex", "unknown")],
    "items": [{"items": {"type": "integer"}}, {"items": False}, {"items": True, "maxItems": 2}, {"type": "array"}],
    "prefixItems": [
        {"prefixItems": [{"type": "integer"}, {}]},
        {"prefixItems": [{}], "items": False},
        {"prefixItems": [False]},
    ],
    "contains": [
        {"contains": {"const": 1}},
        {"contains": {"const": 1}, "minContains": 2},
        {"contains": {}, "maxContains": 1},
    ],
    "uniqueItems": [{"uniqueItems": True}, {"uniqueItems": True, "items": {"enum": [1, "a"]}}],
    "unevaluatedItems": [
        {"prefixItems": [{}], "unevaluatedItems": False},
        {"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": {"type": "integer"}},
    ],
    "properties": [
        {"properties": {"foo": {"type": "integer"}}},
        {"properties": {"foo": False}},
        {"properties": {"a/b": {}, "": {}, "~": {}}},
    ],
    "required": [{"required": ["foo"]}, {"properties": {"foo": {}}, "required": ["foo", "bar"]}],
    "additionalProperties": [
        {"additionalProperties": False},
        {"additionalProperties": {"type": "integer"}},
        {"properties": {"foo": {}}, "additionalProperties": {"type": "array"}},
    ],
    "patternProperties": [
        {"patternProperties": {"^f": {"type": "integer"}}},
        {"patternProperties": {"^f": {}}, "additionalProperties": False},
        {"properties": {"foo": {}}, "patternProperties": {"o$": {"type": "null"}}},
    ],
    "propertyNames": [
        {"propertyNames": {"maxLength": 2}},
        {"propertyNames": False},
        {"propertyNames": {"enum": ["foo"]}},
        {"propertyNames": {"pattern": "^b"}},
    ],
    "minProperties": [{"minProperties": 2}, {"maxProperties": 1}, {"properties": {"foo": {}}, "maxProperties": 0}],
    "dependentRequired": [{"dependentRequired": {"foo": ["bar"]}}],
    "dependentSchemas": [
        {
            "properties": {"foo": {}},
            "dependentSchemas": {"foo": {"required": ["bar"], "properties": {"bar": {"type": "integer"}}}},
        },
        {"dependentSchemas": {"foo": False}},
    ],
    "unevaluatedProperties": [
        {"properties": {"foo": {}}, "unevaluatedProperties": False},
        {"allOf": [{"properties": {"foo": {}}}], "unevaluatedProperties": {"type": "integer"}},
        {
            "anyOf": [{"properties": {"foo": {}}, "required": ["foo"]}, {"properties": {"bar": {}}}],
            "unevaluatedProperties": False,
        },
    ],
    "allOf": [
        {"allOf": [{"type": "integer"}, {"minimum": 1}]},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {
            "allOf": [
                {"properties": {"foo": {"type": "integer"}}},
                {"properties": {"foo": {"minimum": 1}, "bar": {}}, "required": ["bar"]},
            ]
        },
        {"allOf": []},
        {"allOf": [False]},
    ],
    "anyOf": [
        {"anyOf": [{"type": "integer"}, {"minLength": 2}]},
        {"anyOf": [{"type": "null"}, {"type": "string"}]},
        {"anyOf": [{"required": ["foo"]}, {"required": ["bar"]}]},
        {"type": "object", "anyOf": [True, False]},
        {"anyOf": [{"const": []}, {"type": "null"}]},
    ],
    "oneOf": [
        TAGGED,
        {"oneOf": [{"type": "integer"}, {"minimum": 2}]},
        {"oneOf": [{"const": 1, "title": "One"}, {"const": "a"}]},
        {"oneOf": [{"type": "array"}, {"type": "object"}, {"type": "string"}]},
    ],
    "not": [
        {"not": {"type": "integer"}},
        {"not": {}},
        {"type": "object", "not": {"required": ["foo"]}},
        {"not": {"not": {"type": "string"}}},
    ],
    "if": [
        {
            "if": {"properties": {"foo": {"const": 1}}, "required": ["foo"]},
            "then": {"required": ["bar"]},
            "else": {"required": ["baz"]},
        },
        {"if": {"type": "integer"}, "then": {"minimum": 1}},
        {"then": {"const": 0}},
        {"if": False, "else": {"type": "object", "properties": {"foo": {"type": "null"}}}},
    ],
    "$ref": [
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"properties": {"foo": {"$ref": "#"}}, "additionalProperties": False},
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://example.com/x"},
        {"properties": {"foo": {"$ref": "#/properties/bar"}, "bar": {"type": "integer"}}},
        {"$ref": "#/$defs/a", "minimum": 2, "$defs": {"a": {"type": "integer"}}},
    ],
    "$anchor": [{"$ref": "#x", "$defs": {"a": {"$anchor": "x", "type": "integer"}}}],
    "$id": [
        {"$id": "https://example.com/s", "$ref": "a", "$defs": {"a": {"$id": "a", "type": "array"}}},
        {"$id": "https://example.com/s", "$ref": "https://example.com/s#/$defs/a", "$defs": {"a": {"type": "object"}}},
    ],
    "$dynamicRef": [
        {
            "$dynamicAnchor": "n",
            "properties": {"foo": {"$dynamicRef": "#n"}},
            "additionalProperties": {"type": "integer"},
        },
        {"$dynamicRef": "#none"},
    ],
    "annotations": [
        {
            "title": "T",
            "description": "D",
            "default": 5,
            "examples": [1, "a"],
            "deprecated": True,
            "readOnly": True,
            "writeOnly": True,
        },
        {"type": "string", "contentMediaType": "text/html", "contentEncoding": "base64", "contentSchema": {}},
    ],
    "unknown": [{"unknown": 1}, {"$comment": "c", "$vocabulary": {}}, {"nullable": True, "type": "string"}],
    "draft 7": [
        {"$schema": DRAFT_7, **schema}
        for schema in (
            {"items": [{"type": "integer"}, {"type": "string"}]},
            {"items": [{}], "additionalItems": False},
            {"items": [{}], "additionalItems": {"type": "integer"}},
            {"dependencies": {"foo": ["bar"], "kind": {"required": ["a"]}}},
            {"definitions": {"a": {"type": "integer"}}, "properties": {"foo": {"$ref": "#/definitions/a"}}},
            {
                "definitions": {"a": {"type": "array"}},
                "properties": {"foo": {"$ref": "#/definitions/a", "maxItems": 0}},
            },
            {"contains": {"const": 1}, "minContains": 2},
            {"if": {"required": ["foo"]}, "then": {"required": ["bar"]}},
            {"properties": {"foo": {"$id": "#x", "type": "integer"}, "bar": {"$ref": "#x"}}},
        )
    ],
    "draft 4": [
        {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
        {"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "type": "object"},
    ],
    "OpenAPI": [
        {
            "type": "object",
            "properties": {"foo": {"type": "string", "nullable": True, "example": "bar"}},
            "discriminator": {"propertyName": "kind"},
        }
    ],
}


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_the_form_of_a_keyword_agrees_with_the_library_and_keeps_every_value(keyword: str) -> None:
    for part in KEYWORDS[keyword]:
        stated = {"$schema": part["$schema"]} if isinstance(part, dict) and "$schema" in part else {}
        inner = {name: item for name, item in part.items() if name != "$schema"} if stated else part
        nested = "$ref" not in str(part)
        schema = {**stated, "properties": {"it": inner}} if nested else part
        start = time.process_time()
        form, library = build(schema), Library(schema)
        assert len(list(leaves(form))) < 100 and time.process_time() - start < 2
        for value in VALUES:
            whole = {"it": value} if nested else value
            assert same(typed(form.root, whole), whole), (schema, whole)
            if isinstance(whole, dict) and library.accepts(whole):
                wrong = errors(quick(form, whole))
                assert not wrong, (schema, whole, wrong)
        found = example(form, "typical")
        assert found.remark or not errors(quick(form, found.value)), (schema, found)
