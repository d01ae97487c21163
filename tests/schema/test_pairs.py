"""`key=value` of a command line is typed by the form, and goes into nested values."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.schema.form import build
from mcp_studio.schema.text import set_pair

FORM = build(
    {
        "properties": {
            "path": {"type": "string"},
            "head": {"type": "integer"},
            "a": {"type": "string"},
        }
    }
)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("path=a=b", ("path", "a=b")),
        ("path=", ("path", "")),
        ("head=5", ("head", 5)),
        ("head:=null", ("head", None)),
        ('path:={"x": 1}', ("path", {"x": 1})),
        ("a=c", ("a", "c")),
    ],
)
def test_a_pair_of_the_command_line_is_typed_by_the_schema(text: str, pair: tuple[str, Any]) -> None:
    assert set_pair(FORM, {}, text) == dict([pair])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("path", "'path' is not of the form key=value"),
        ("pth=x", "there is no argument 'pth'. Did you mean `path`?"),
        ("zzz=x", "there is no argument 'zzz'; there are path, head, a"),
        ("head=x", "head: must be a whole number, got 'x'"),
        ("head:=x", "head: must be JSON: expected value (line 1, column 1)"),
    ],
)
def test_a_pair_that_does_not_fit_is_explained(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        set_pair(FORM, {}, text)
    assert str(caught.value) == sentence


def test_pairs_without_a_field_are_taken_where_the_schema_leaves_room() -> None:
    roomy = build({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}})
    assert set_pair(roomy, {}, "other=5") == {"other": 5}
    assert set_pair(build({"additionalProperties": True}), {}, "other:=[1]") == {"other": [1]}
    with pytest.raises(ValueError, match="none are taken"):
        set_pair(build({"properties": {}}), {}, "a=1")


def test_a_schema_that_says_nothing_of_properties_takes_any_pair() -> None:
    silent = build({"type": "object"})
    assert set_pair(silent, {}, "a=6") == {"a": 6}
    assert set_pair(silent, {}, "name=Ada Lovelace") == {"name": "Ada Lovelace"}
    assert set_pair(silent, {}, 'name:="6"') == {"name": "6"}
    with pytest.raises(ValueError, match="none are taken"):
        set_pair(build({"type": "object", "additionalProperties": False}), {}, "a=1")


NESTED = build(
    {
        "properties": {
            "a": {"properties": {"b": {"type": "integer"}, "d": {"$ref": "#"}}},
            "a.b": {"type": "string"},
            "list": {"type": "array", "items": {"type": "integer"}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
            "map": {"additionalProperties": {"type": "boolean"}},
            "any": {},
            "either": {
                "oneOf": [{"properties": {"x": {"type": "integer"}}}, {"properties": {"y": {"type": "string"}}}]
            },
            "name": {"type": "string"},
        }
    }
)


@pytest.mark.parametrize(
    ("value", "text", "after"),
    [
        ({}, "a.b=1", {"a.b": "1"}),
        ({}, "a.d.name=1", {"a": {"d": {"name": "1"}}}),
        ({}, "list[]=5", {"list": [5]}),
        ({"list": [1]}, "list[]=5", {"list": [1, 5]}),
        ({"list": [1, 2]}, "list[0]=5", {"list": [5, 2]}),
        ({}, "rows[0].id=7", {"rows": [{"id": "7"}]}),
        ({"rows": [{"id": "7"}]}, "rows[].id:=8", {"rows": [{"id": "7"}, {"id": 8}]}),
        ({}, "map.on=yes", {"map": {"on": True}}),
        ({}, "any.deep[0]=x", {"any": {"deep": ["x"]}}),
        ({}, "either.y=5", {"either": {"y": "5"}}),
        ({"name": "a"}, "name=b", {"name": "b"}),
        ({"name": "a"}, "list:=[1]", {"name": "a", "list": [1]}),
    ],
)
def test_a_pair_is_put_into_a_value(value: Any, text: str, after: Any) -> None:
    before = repr(value)
    assert set_pair(NESTED, value, text) == after
    assert repr(value) == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("list[]=x", "list[]: must be a whole number, got 'x'"),
        ("list[3]=1", "list[3]: there is no such place; lists are filled from [0] on"),
        ("rows[0].ix=1", "rows[0] has no 'ix'; there are id"),
        ("name.x=1", "there is no argument 'name.x'. Did you mean `name`?"),
        ("a[0]=1", "a is no list"),
        ("nam.x=1", "there is no argument 'nam'. Did you mean `name`?"),
        ("list[=1", "there is no argument 'list['. Did you mean `list`?"),
    ],
)
def test_a_pair_that_leads_nowhere_is_explained(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        set_pair(NESTED, {}, text)
    assert str(caught.value) == sentence


def test_what_a_condition_adds_can_be_given() -> None:
    form = build(
        {
            "properties": {"country": {"type": "string"}},
            "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
            "then": {"properties": {"state": {"type": "string"}}},
            "dependentRequired": {"country": ["zip"]},
        }
    )
    assert set_pair(form, {"country": "US"}, "state=5") == {"country": "US", "state": "5"}
    assert set_pair(form, {}, "state=5") == {"state": "5"}
    assert set_pair(form, {"country": "US"}, "zip=5") == {"country": "US", "zip": 5}
    with pytest.raises(ValueError, match="no argument 'other'"):
        set_pair(form, {}, "other=5")


def test_entries_of_a_map_at_the_top_are_typed_by_it() -> None:
    form = build({"additionalProperties": {"type": "array", "items": {"type": "string"}}})
    assert set_pair(form, {"a": ["x"]}, "a[]=5") == {"a": ["x", "5"]}
    assert set_pair(build({"additionalProperties": {"type": "string"}}), {}, "a=5") == {"a": "5"}
    assert set_pair(build({"additionalProperties": {"type": "string"}}), {}, "a.b=5") == {"a.b": "5"}
