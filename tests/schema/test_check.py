"""The quick check: what the drawn fields say about a value."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcp_studio.schema.check import equal, problems_here, quick, wrong_members
from mcp_studio.schema.field import field_at
from mcp_studio.schema.form import build
from mcp_studio.schema.validator import Validator


def messages(schema: Any, value: Any, **options: bool) -> list[str]:
    """The problems of one property's value."""
    return [
        f"{p.severity[0]} {p.message}" for p in quick(build({"properties": {"it": schema}}, **options), {"it": value})
    ]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 2, "maxLength": 2}, "é漢"),
        ({"type": ["string", "null"]}, None),
        ({"type": "integer"}, 2.0),
        ({"type": "integer"}, 10**400),
        ({"type": "number", "minimum": 1, "maximum": 1}, 1),
        ({"type": "boolean"}, False),
        ({"enum": [1, "a", None]}, 1.0),
        ({"enum": [{"a": 1}]}, {"a": 1}),
        ({"type": "array", "items": {"enum": ["a"]}, "maxItems": 2}, ["a", "a"]),
        ({"type": "object"}, {}),
        ({"type": ["string", "object"]}, "x"),
        ({}, [None]),
        ({"type": "string", "format": "made-up"}, "x"),
    ],
)
def test_a_value_that_fits_has_no_problem(schema: Any, value: Any) -> None:
    assert messages(schema, value) == []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "string"}, 5, "must be text, got 5"),
        ({"type": "string"}, None, "must be text, got null"),
        ({"type": "string", "minLength": 1}, "", "must have at least 1 character, has 0"),
        ({"type": "string", "maxLength": 2}, "abc", "must have at most 2 characters, has 3"),
        ({"type": "integer"}, "two", "must be a whole number, got 'two'"),
        ({"type": "integer"}, 2.5, "must be a whole number, got 2.5"),
        ({"type": "integer"}, True, "must be a whole number, got true"),
        ({"type": "integer", "minimum": 1}, 0, "must be at least 1, got 0"),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "must be more than 0, got 0"),
        ({"type": "number", "maximum": 1.5}, 2, "must be at most 1.5, got 2"),
        ({"type": "number", "exclusiveMaximum": 1}, 1, "must be less than 1, got 1"),
        ({"type": "boolean"}, 1, "must be true or false, got 1"),
        ({"enum": ["a", "b"]}, "c", "must be one of a, b; got 'c'"),
        ({"enum": [1]}, True, "must be 1, got true"),
        ({"type": "array", "items": {"enum": ["a"]}}, ["z"], "must be a, got 'z'"),
        ({"type": "array", "items": {"enum": ["a"]}}, "a", "must be a list, got 'a'"),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 1}, [], "must have at least 1 item, has 0"),
        ({"type": ["string", "object"]}, [1], "must be text or an object, got a list of 1"),
    ],
)
def test_a_value_that_does_not_fit_is_explained(schema: Any, value: Any, message: str) -> None:
    assert messages(schema, value) == [f"e {message}"]


def test_what_is_missing_is_told_at_its_own_place() -> None:
    form = build({"properties": {"a/b": {}, "c": {}}, "required": ["a/b", "d"]})
    assert [(p.pointer, p.message) for p in quick(form, {})] == [("/a~1b", "is required"), ("/d", "is required")]


def test_the_value_itself_must_be_an_object() -> None:
    (problem,) = quick(build({"properties": {"a": {}}}), [1])
    assert (problem.pointer, problem.message) == ("", "must be an object, got a list of 1")


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("email", "ada@example.com", "ada"),
        ("email", "ada+x@localhost", "a@b@c"),
        ("uri", "https://example.com/a?b#c", "example.com"),
        ("uri", "urn:isbn:123", "http://a b"),
        ("date", "2028-02-29", "2027-02-29"),
        ("date", "0001-01-01", "27-1-1"),
        ("date-time", "2027-01-31T09:30:00Z", "2027-01-31 09:30"),
        ("date-time", "2027-01-31t23:59:60.123+05:30", "2027-13-01T00:00:00Z"),
        ("date-time", "2027-01-31T09:30:00-00:00", "2027-01-31T09:30:00"),
        ("time", "09:30:00Z", "25:00:00Z"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
    ],
)
def test_formats_warn_and_are_errors_where_they_are_demanded(format: str, good: str, bad: str) -> None:
    schema = {"type": "string", "format": format}
    assert messages(schema, good, strict=True) == []
    assert [message[:9] for message in messages(schema, bad)] == ["w must be"]
    assert [message[:9] for message in messages(schema, bad, strict=True)] == ["e must be"]


def test_a_long_text_does_not_trouble_the_formats() -> None:
    for format in ("email", "uri", "date-time"):
        assert messages({"type": "string", "format": format}, "a@b:" * 250_000)


NESTED = build(
    {
        "properties": {
            "rows": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"id": {"type": "integer"}, "tag": {"enum": ["a", "b"]}, "when": {"format": "date"}},
                    "required": ["id"],
                    "additionalProperties": {"type": "boolean"},
                    "propertyNames": {"maxLength": 4},
                },
                "maxItems": 3,
                "uniqueItems": True,
            },
            "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
            "any_of": {"oneOf": [{"type": "string", "maxLength": 1}, {"type": "array", "items": {"type": "integer"}}]},
            "line": {"type": ["integer", "boolean"], "minimum": 3},
            "free": {"minimum": 3},
            "step": {"type": "integer", "multipleOf": 5},
        }
    }
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"rows": [{"id": 1}, {}]}, [("/rows/1/id", "is required")]),
        ({"rows": [{"id": 1, "tag": "z"}]}, [("/rows/0/tag", "must be one of a, b; got 'z'")]),
        ({"rows": [{"id": 1, "x": 1}]}, [("/rows/0/x", "must be true or false, got 1")]),
        (
            {"rows": [{"id": 1, "longer": True}]},
            [("/rows/0/longer", "is a name that must have at most 4 characters, has 6")],
        ),
        ({"rows": [{"id": 1}, {"id": 1.0}]}, []),
        ({"rows": [{"id": 1}, {"id": 1}]}, [("/rows", "has the same item more than once")]),
        ({"rows": [{"id": n} for n in range(4)]}, [("/rows", "must have at most 3 items, has 4")]),
        ({"rows": 5}, [("/rows", "must be a list, got 5")]),
        ({"pair": ["a", "b"]}, [("/pair", "has more items than the schema allows")]),
        ({"any_of": ["x"]}, [("/any_of/0", "must be a whole number, got 'x'")]),
        ({"any_of": "long"}, [("/any_of", "must have at most 1 character, has 4")]),
        ({"any_of": 5}, [("/any_of", "must be text or a list, got 5")]),
        ({"line": True}, []),
        ({"line": 1}, [("/line", "must be at least 3, got 1")]),
        ({"line": "x"}, [("/line", "must be a whole number or true or false, got 'x'")]),
        ({"step": 7}, [("/step", "must be a multiple of 5, got 7")]),
    ],
)
def test_problems_inside_are_told_at_their_places(value: Any, found: list[tuple[str, str]]) -> None:
    assert [(p.pointer, p.message) for p in quick(NESTED, value)] == found


def test_a_type_that_is_only_spoken_of_is_a_warning() -> None:
    assert [p.severity for p in quick(NESTED, {"free": "x"})] == ["warning"]
    assert [p.severity for p in quick(NESTED, {"free": 1})] == ["error"]


def test_one_place_can_be_checked_alone() -> None:
    value = {"rows": [{}, {"id": "x"}], "step": 7}
    assert NESTED.root is not None
    (rows, *_) = NESTED.fields
    assert list(problems_here(rows, [{}, {"id": "x"}])) == [] and list(problems_here(rows, 5)) == [
        ("must be a list, got 5", "error")
    ]
    row = field_at(NESTED.root, ("rows", 0), value)
    assert row is not None and list(wrong_members(row, {})) == [("id", "is required")]


def test_the_person_says_which_variant_is_meant() -> None:
    form = build({"properties": {"u": {"oneOf": [{"properties": {k: {"type": "integer"}}} for k in "ab"]}}})
    assert quick(form, {"u": {"b": 1}}) == () == quick(form, {"u": {"b": 1}}, {("u",): 0})
    assert [p.pointer for p in quick(form, {"u": {"b": "x"}}, {("u",): 1})] == ["/u/b"]


def test_a_thousand_rows_are_checked_while_somebody_types() -> None:
    rows = [{"id": n, "tag": "a", "when": "2027-01-31", "yes": True, "no": False} for n in range(1_000)]
    start = time.process_time()
    assert len(quick(NESTED, {"rows": rows})) == 1
    assert time.process_time() - start < 1


def test_equality_is_that_of_json_schema() -> None:
    assert equal({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0})
    assert not equal({"a": True}, {"a": 1}) and not equal([1], [True]) and not equal([1], {"0": 1})


def test_what_is_wrong_with_a_key_is_said_as_the_whole_schema_says_it() -> None:
    rules: tuple[dict[str, Any], ...] = (
        {"propertyNames": {"pattern": "^[A-Z]+$"}},
        {"propertyNames": {"enum": ["A"]}},
        {"additionalProperties": False},
    )
    for rule in rules:
        schema: dict[str, Any] = {"properties": {"m": {"type": "object", "patternProperties": {"^[A-Z]": {}}, **rule}}}
        found = [tuple(problem) for problem in quick(build(schema), {"m": {"low": 1}})]
        assert found and found == Validator(schema).findings({"m": {"low": 1}})
