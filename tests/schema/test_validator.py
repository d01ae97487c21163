"""A value against a whole schema: what is wrong, where, in a sentence."""

from __future__ import annotations

from decimal import getcontext, setcontext
from typing import Any

import pytest
from hypothesis import given, settings

from mcp_studio.schema.validator import Validator, loads
from tests.schema.proof.strategies import NONSENSE


@pytest.fixture(autouse=True)
def _decimals() -> Any:
    before = getcontext()
    yield
    setcontext(before)


def errors(schema: Any, value: Any) -> list[tuple[str, str]]:
    """Places and messages; nothing may be left unchecked."""
    found = Validator(schema).findings(value)
    assert all(severity == "error" for _, _, severity in found), found
    return [(pointer, message) for pointer, message, _ in found]


PAYMENT = {
    "properties": {
        "p": {
            "oneOf": [
                {"properties": {"type": {"const": "card"}, "n": {"type": "string"}}, "required": ["type", "n"]},
                {"properties": {"type": {"const": "cash"}}, "required": ["type"]},
            ]
        }
    }
}


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"type": "integer"}, "two", [("", "must be a whole number, got 'two'")]),
        ({"type": ["integer", "null"]}, "x", [("", "must be a whole number or null, got 'x'")]),
        ({"required": ["a", "b/c"]}, {}, [("/a", "is required"), ("/b~1c", "is required")]),
        (
            {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False},
            {"a": 1, "xy": 1, "b": 1},
            [("/b", "is not a property that the schema allows")],
        ),
        ({"properties": {"a": {"items": {"minimum": 3}}}}, {"a": [5, 1]}, [("/a/1", "must be at least 3, got 1")]),
        ({"maxLength": 2}, "abc", [("", "must have at most 2 characters, has 3")]),
        ({"minItems": 1}, [], [("", "must have at least 1 item, has 0")]),
        ({"minProperties": 2}, {"a": 1}, [("", "must have at least 2 properties, has 1")]),
        ({"enum": ["a", 1]}, "b", [("", "must be one of a, 1; got 'b'")]),
        ({"const": "a"}, "b", [("", "must be a, got 'b'")]),
        ({"pattern": "^a$"}, "b", [("", "must match the pattern ^a$, got 'b'")]),
        ({"pattern": r"^\p{Lu}\d$"}, "É1", []),
        ({"pattern": "^(a+)+$"}, "a" * 50 + "b", [("", f"must match the pattern ^(a+)+$, got '{'a' * 50}b'")]),
        ({"uniqueItems": True}, [1, 1], [("", "has the same item more than once")]),
        ({"not": {"type": "string"}}, "x", [("", "is a value that the schema excludes")]),
        (False, 1, [("", "is not allowed")]),
        (
            {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]},
            "x",
            [("", "must have at least 3 characters, has 1")],
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            [1],
            [("", "must be text or a whole number, got a list of 1")],
        ),
        (
            {"oneOf": [{"type": "object", "required": ["a"]}, {"type": "array"}]},
            {},
            [("/a", "is required")],
        ),
        ({"oneOf": [{}, {}]}, 1, [("", "fits more than one of the kinds of which it must be one")]),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, [("/b", "is required where there is a")]),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}, {}, [("", "needs a, or b and c")]),
        ({"not": {"required": ["a", "b"]}}, {"a": 1, "b": 2}, [("", "must not have a and b")]),
        (
            {"propertyNames": {"maxLength": 2}},
            {"abc": 1},
            [("/abc", "is a name that must have at most 2 characters, has 3")],
        ),
        (PAYMENT, {"p": {"type": "card"}}, [("/p/n", "is required")]),
        (PAYMENT, {"p": {"type": "x"}}, [("/p/type", "must be cash, got 'x'")]),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, {"a": 1}, [("/b", "is required")]),
    ],
)
def test_problems_are_told_at_their_place(schema: Any, value: Any, found: list[tuple[str, str]]) -> None:
    assert errors(schema, value) == found


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ('{"multipleOf": 0.01}', "19.99"),
        ('{"type": "integer"}', "1.0"),
        ('{"type": "integer"}', "9" * 100),
        ('{"maximum": 1e400}', "1e399"),
        ('{"enum": [0.5]}', "0.50"),
        ('{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}', '["a", 1]'),
        ('{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true}', "2"),
        ('{"$schema": "made up"}', "1"),
        ('{"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "null"}}}', '{"a": null}'),
        ('{"format": "email"}', '"no email"'),
    ],
)
def test_values_that_fit_have_no_problem(schema: str, value: str) -> None:
    assert errors(loads(schema.encode()), loads(value.encode())) == []


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ([], "the schema is a list, not an object"),
        ("text", "the schema is text, not an object"),
        ({"properties": {"a": {"type": "banana"}}}, "the schema is invalid at /properties/a/type"),
        ({"properties": []}, "the schema is invalid at /properties: must be an object, got []"),
        ({"$schema": [1]}, "the schema is invalid at /$schema"),
        ({"$ref": "http://127.0.0.1:9/x"}, "$ref http://127.0.0.1:9/x names nothing in this schema"),
        ({"$ref": "file:///etc/hostname"}, "$ref file:///etc/hostname names nothing"),
        ({"$ref": "#/$defs/none"}, "$ref /$defs/none names nothing"),
        ({"$ref": "#"}, "the schema refers to itself without end"),
        ({"patternProperties": {r"\p{X}": {}}}, r"the pattern \p{X} is none that Python can check"),
    ],
)
def test_what_cannot_be_checked_is_one_warning(schema: Any, reason: str) -> None:
    ((pointer, message, severity),) = Validator(schema).findings({"a": 1})
    assert (pointer, severity) == ("", "warning")
    assert message.startswith(f"unchecked: {reason}")


def test_a_schema_whose_id_is_no_text_is_said_to_be_invalid() -> None:
    ((_, message, severity),) = Validator({"$id": False}).findings(None)
    assert severity == "warning" and message.startswith("unchecked: the schema is invalid at /$id")


def test_problems_are_bounded_in_number_and_length() -> None:
    found = errors({"items": {"enum": ["x" * 10_000]}}, ["y" * 10_000] * 1_000)
    assert len(found) == 100
    assert max(len(message) for _, message in found) <= 500


@given(NONSENSE, NONSENSE)
@settings(max_examples=100)
def test_any_schema_is_applied_to_any_value_or_said_to_be_beyond_checking(schema: Any, value: Any) -> None:
    for _, message, severity in Validator(schema).findings(value):
        assert message and severity in ("error", "warning")
