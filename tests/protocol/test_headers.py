"""`x-mcp-header`: which annotations are valid, and the headers that come of them."""

from __future__ import annotations

import pytest

from mcp_studio.protocol.views import encode_value, header_problem, param_headers

GOOD = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        "flag": {"type": "boolean", "x-mcp-header": "Flag"},
    },
}


def test_valid_annotations_become_headers_of_the_arguments_that_are_there() -> None:
    assert header_problem(GOOD) == ""
    found = dict(param_headers(GOOD, {"region": "eu", "deep": {"n": 3}, "flag": True, "other": 1}))
    assert found == {"Mcp-Param-Region": "eu", "Mcp-Param-N": "3", "Mcp-Param-Flag": "true"}
    assert param_headers(GOOD, {"region": None, "deep": "no object"}) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"x-mcp-header": "A"},
        {"properties": {"a": {"type": "string", "x-mcp-header": "no blanks"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 5}}},
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": ["string", "null"], "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
        {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
        {
            "properties": {
                "a": {"type": "string", "x-mcp-header": "Same"},
                "b": {"type": "string", "x-mcp-header": "same"},
            }
        },
    ],
)
def test_invalid_annotations_are_named(schema: object) -> None:
    assert header_problem(schema)


def test_data_that_looks_like_an_annotation_is_none() -> None:
    assert header_problem({"properties": {"a": {"default": {"x-mcp-header": "A"}}}}) == ""
    assert header_problem(None) == "" and header_problem(True) == ""


def test_values_that_do_not_survive_a_header_go_as_base64() -> None:
    assert encode_value("plain text") == "plain text"
    assert encode_value("größe") == "=?base64?Z3LDtsOfZQ==?="
    assert encode_value(" edge") == "=?base64?IGVkZ2U=?="
    assert encode_value("=?base64?x?=").startswith("=?base64?")
