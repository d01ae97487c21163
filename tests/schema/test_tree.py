"""What a schema becomes below its top: objects, maps, lists, unions, references, merged parts, conditions."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcp_studio.schema.field import (
    Choices,
    Const,
    Field,
    Flag,
    JsonField,
    List,
    Map,
    Number,
    Object,
    Scalar,
    Text,
    Union,
    field_at,
    resolve_union,
)
from mcp_studio.schema.form import build

NODE: dict[str, Any] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
        }
    },
}


def at(schema: Any, *path: str | int, value: Any = None) -> Field:
    """The field of a place, settled by the value there."""
    root = build(schema).root
    assert root is not None
    field = field_at(root, path, value)
    assert field is not None
    return field


def names(field: Field) -> list[str]:
    """The properties of an object, required ones with a star."""
    assert isinstance(field, Object), field
    return [f"{one.name}{'*' if one.required else ''}" for one in field.fields()]


def labels(field: Field) -> list[str]:
    """What the variants are called."""
    assert isinstance(field, Union), field
    return [variant.label for variant in field.variants]


# Objects, maps, lists


def test_a_tree_that_contains_itself_goes_on_without_end() -> None:
    path: list[str | int] = []
    for _ in range(200):
        path += ["children", 0, "next"]
    field = at(NODE, *path)
    assert names(field) == ["value", "children", "next"] and field.nullable
    assert at(NODE, "children", 0) is not at(NODE, "children", 0)
    root = build(NODE).root
    assert root is not None
    assert field_at(root, ("children", 0, "next"), None) is field_at(root, ("next", "children", 5, "next"), None)


def test_free_keys_have_a_field_by_their_pattern() -> None:
    schema = {
        "properties": {"a": {"type": "string"}},
        "patternProperties": {"^x-": {"type": "integer"}, "-y$": {"minimum": 3}},
        "additionalProperties": {"type": "boolean"},
    }
    assert isinstance(at(schema, "a"), Text) and isinstance(at(schema, "other"), Flag)
    both = at(schema, "x-y")
    assert isinstance(both, Number) and both.integer and both.minimum == 3 and both.name == "x-y"


def test_keys_that_are_not_allowed_are_told() -> None:
    field = at({"properties": {"m": {"patternProperties": {"^x-": {}}, "additionalProperties": False}}}, "m")
    assert isinstance(field, Map)
    assert (field.wrong_key("x-a"), field.wrong_key("a")) == ("", "is not a property that the schema allows")
    field = at({"properties": {"m": {"type": "object", "propertyNames": {"maxLength": 2}, "minProperties": 1}}}, "m")
    assert isinstance(field, Map) and field.min_entries == 1
    assert (field.wrong_key("ab"), field.wrong_key("abc")) == ("", "must have at most 2 characters, has 3")


@pytest.mark.parametrize("pattern", ["^(a|aa)+$", "^(((a{50}){50}){50}){50}$"])
def test_a_pattern_that_could_take_for_ever_is_given_up_soon(pattern: str) -> None:
    field = at({"properties": {"m": {"patternProperties": {pattern: {"type": "integer"}}}}}, "m")
    assert isinstance(field, Map)
    began = time.thread_time()
    assert field.wrong_key("a" * 100 + "!") == "" and isinstance(field.of("a" * 100 + "!"), Number)
    assert [field.of("a" * length + "!") for length in range(60, 190)]
    assert time.thread_time() - began < 1


def test_keys_may_be_told_by_what_letters_are() -> None:
    patterns = {r"^\p{Lu}+$": {"type": "integer"}}
    field = at({"properties": {"m": {"patternProperties": patterns, "additionalProperties": False}}}, "m")
    assert isinstance(field, Map)
    assert (field.wrong_key("ÉÀ"), field.wrong_key("éà")) == ("", "is not a property that the schema allows")


@pytest.mark.parametrize(
    "schema",
    [
        {"prefixItems": [{"type": "string"}, {"type": "integer", "title": "Age"}], "items": False},
        {"type": "array", "items": [{"type": "string"}, {"type": "integer", "title": "Age"}], "additionalItems": False},
        {"prefixItems": [{"type": "string"}, {"type": "integer", "title": "Age"}], "unevaluatedItems": False},
    ],
)
def test_tuples_have_a_field_for_each_of_their_items(schema: Any) -> None:
    field = at({"properties": {"t": schema}}, "t")
    assert isinstance(field, List)
    assert [type(one) for one in field.first()] == [Text, Number] and field.first()[1].title == "Age"
    assert field.item(2) is None


def test_what_a_list_must_be_like_is_told() -> None:
    schema = {
        "items": {"type": "string"},
        "minItems": 1,
        "maxItems": 5,
        "uniqueItems": True,
        "contains": {"const": "a"},
    }
    field = at({"properties": {"t": schema}}, "t")
    assert isinstance(field, List) and field.unique
    assert field.hint == "string[], 1 to 5 items, no two alike"


def test_notes_of_the_schema_are_kept() -> None:
    schema = {"type": "integer", "multipleOf": 5, "deprecated": True, "readOnly": True, "examples": [5, 10]}
    field = at({"properties": {"n": schema}}, "n")
    assert isinstance(field, Number)
    assert (field.multiple_of, field.deprecated, field.read_only, field.examples) == (5, True, True, (5, 10))
    assert field.hint == "integer, a multiple of 5"
    text = at({"properties": {"n": {"type": "string", "pattern": "^a+$"}}}, "n")
    assert isinstance(text, Text) and text.pattern == "^a+$" and text.hint == "matching ^a+$"


# References


def test_schemas_inside_have_names_of_their_own() -> None:
    schema = {
        "$id": "https://example.com/root",
        "properties": {"a": {"$ref": "other#/$defs/x"}, "b": {"$ref": "#word"}, "c": {"$ref": "other#other-word"}},
        "$defs": {
            "o": {
                "$id": "other",
                "$defs": {"x": {"type": "integer"}, "z": {"$anchor": "other-word", "const": 1}},
            },
            "w": {"$anchor": "word", "type": "boolean"},
        },
    }
    assert [type(at(schema, name)) for name in "abc"] == [Number, Flag, Const]


def test_a_dynamic_reference_means_the_outermost_anchor() -> None:
    schema = {
        "$id": "https://example.com/strict-tree",
        "$dynamicAnchor": "node",
        "$ref": "https://example.com/tree",
        "unevaluatedProperties": False,
        "properties": {"mark": {"type": "string"}},
        "$defs": {
            "t": {
                "$id": "https://example.com/tree",
                "$dynamicAnchor": "node",
                "type": "object",
                "properties": {"children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
            }
        },
    }
    assert sorted(names(at(schema, "children", 0))) == ["children", "mark"]


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/none",
        "https://example.com/x",
        "file:///etc/passwd",
    ],
)
def test_a_reference_to_nothing_is_a_json_field_that_says_so(reference: str) -> None:
    remark = f"It refers to {reference}, which is not in the schema, and is not fetched."
    field = at({"properties": {"a": {"$ref": reference}}}, "a")
    assert isinstance(field, JsonField) and field.remark == remark
    known = at({"properties": {"a": {"$ref": reference, "type": "string"}}}, "a")
    assert isinstance(known, Text) and known.remark == remark


def test_beside_a_reference_nothing_counts_until_draft_7() -> None:
    defs = {"$defs": {"a": {"type": "string"}}, "properties": {"it": {"$ref": "#/$defs/a", "maxLength": 3}}}
    older = at({"$schema": "http://json-schema.org/draft-07/schema#", **defs}, "it")
    later = at(defs, "it")
    assert isinstance(older, Text) and older.max_length is None
    assert isinstance(later, Text) and later.max_length == 3


# Merging


def test_bounds_of_both_parts_are_tightened() -> None:
    parts = [
        {"type": ["integer", "string"], "minimum": 1, "maximum": 9, "exclusiveMaximum": 8, "multipleOf": 4},
        {"type": "number", "minimum": 3, "maximum": 10, "multipleOf": 6},
    ]
    field = at({"properties": {"n": {"allOf": parts}}}, "n")
    assert isinstance(field, Number) and field.integer
    assert (field.minimum, field.maximum, field.below_maximum, field.multiple_of) == (3, 8, True, 12)


def test_options_of_both_parts_are_shared() -> None:
    field = at({"properties": {"c": {"allOf": [{"enum": [1, 2, 3]}, {"enum": [3, 2, 5]}]}}}, "c")
    assert [option.value for option in getattr(field, "options", ())] == [2, 3]
    nothing = at({"properties": {"c": {"allOf": [{"const": 1}, {"const": 2}]}}, "required": ["c"]}, "c")
    assert nothing.remark == "The schema allows no value here."


def test_properties_and_items_of_both_parts_hold() -> None:
    schema = {
        "allOf": [
            {"properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {}}, "required": ["b"]},
            {"properties": {"a": {"items": {"maxLength": 3}}}, "additionalProperties": {"type": "integer"}},
        ]
    }
    assert names(at(schema)) == ["a", "b*"]
    item = at(schema, "a", 0)
    assert isinstance(item, Text) and item.max_length == 3
    assert isinstance(at(schema, "b"), Number)


def test_a_property_that_another_part_excludes_is_marked() -> None:
    schema = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}, "additionalProperties": False}]}
    assert at(schema, "a").remark and not at(schema, "b").remark


def test_patterns_of_both_parts_are_kept() -> None:
    field = at({"properties": {"t": {"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}]}}}, "t")
    assert field.schema == {"type": "string", "pattern": "a", "allOf": [{"pattern": "b"}]}


# Unions

PAYMENT: dict[str, Any] = {
    "oneOf": [
        {"properties": {"type": {"const": "card"}, "number": {"type": "string"}}, "required": ["type", "number"]},
        {"properties": {"type": {"enum": ["cash"]}}, "required": ["type"]},
    ],
    "properties": {"amount": {"type": "number"}},
    "required": ["amount"],
}


def test_variants_are_called_by_what_tells_them_apart_and_have_the_common_properties() -> None:
    field = at({"properties": {"p": PAYMENT}}, "p")
    assert labels(field) == ["card", "cash"]
    assert names(resolve_union(field, None, 1)) == ["type*", "amount*"]
    assert isinstance(field, Union)
    assert field.choose({"type": "cash"}) == 1 and field.choose({"type": "card", "x": 1}) == 0


@pytest.mark.parametrize(
    ("branches", "called"),
    [
        ([{"title": "A", "type": "object"}, {"title": "B", "type": "array"}], ["A", "B"]),
        ([{"$ref": "#/$defs/Circle"}, {"$ref": "#/$defs/Square"}], ["Circle", "Square"]),
        ([{"type": "string"}, {"type": "array", "items": {"type": "string"}}], ["text", "string[]"]),
        ([{"title": "Same", "type": "string"}, {"title": "Same", "type": "array"}], ["Same 1", "Same 2"]),
        ([{"type": "object"}, {"type": "object"}], ["object 1", "object 2"]),
    ],
)
def test_labels_of_variants(branches: list[Any], called: list[str]) -> None:
    defs = {"Circle": {"properties": {"r": {}}}, "Square": {"properties": {"a": {}}}}
    assert labels(at({"properties": {"u": {"anyOf": branches}}, "$defs": defs}, "u")) == called


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": ["string", "integer"]}, ("string", "integer")),
        ({"anyOf": [{"type": "number"}, {"type": "boolean"}]}, ("number", "boolean")),
        ({"anyOf": [{"type": "integer"}, {"enum": ["auto"]}, {"type": "null"}]}, ("string", "integer")),
    ],
)
def test_a_union_of_simple_values_is_one_line(schema: Any, kinds: tuple[str, ...]) -> None:
    field = at({"properties": {"u": schema}}, "u")
    assert isinstance(field, Scalar) and field.types == kinds


def test_suggested_values_of_a_text_are_examples() -> None:
    field = at({"properties": {"u": {"anyOf": [{"enum": ["a", "b"]}, {"type": "string"}]}}}, "u")
    assert isinstance(field, Text) and field.examples == ("a", "b")


def test_unions_in_unions_are_one() -> None:
    inner = {"oneOf": [{"type": "string"}, {"type": "array"}]}
    field = at({"properties": {"u": {"anyOf": [inner, {"type": "object"}, {"type": "null"}]}}}, "u")
    assert labels(field) == ["text", "list", "object"] and field.nullable


def test_alternatives_that_only_ask_for_properties_are_a_remark() -> None:
    schema = {"properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}
    root = build(schema).root
    assert isinstance(root, Object) and root.remark == "It needs a, or b and c."


def test_impossible_alternatives_are_none() -> None:
    field = at({"properties": {"u": {"anyOf": [{"not": {}}, {"type": "string"}, False]}}}, "u")
    assert isinstance(field, Text) and not field.nullable


def test_a_list_whose_values_are_named_as_if_they_were_its_own_picks_from_them() -> None:
    field = at({"properties": {"u": {"type": "array", "enum": ["a", "b"]}}}, "u")
    assert isinstance(field, Choices) and field.remark


# Conditions

ADDRESS: dict[str, Any] = {
    "type": "object",
    "properties": {"country": {"enum": ["US", "CA"]}, "code": {"type": "string"}},
    "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
    "then": {"properties": {"code": {"pattern": "^[0-9]+$"}, "state": {"type": "string"}}, "required": ["code"]},
    "else": {"properties": {"code": {"maxLength": 7}}},
}


def test_the_form_follows_a_condition() -> None:
    root = build(ADDRESS).root
    assert isinstance(root, Union) and root.by_value
    assert names(resolve_union(root, {"country": "US"})) == ["country", "code*", "state"]
    assert names(resolve_union(root, {})) == names(resolve_union(root, None)) == ["country", "code"]
    code = field_at(root, ("code",), {"country": "CA"})
    assert isinstance(code, Text) and code.max_length == 7
    assert [field.name for field in build(ADDRESS).fields] == ["country", "code"]


@pytest.mark.parametrize(
    "schema",
    [
        {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": {"properties": {"c": {"type": "integer"}}}}},
        {"dependencies": {"a": ["b"], "b": {"properties": {"c": {"type": "integer"}}}}},
        {"allOf": [{"dependentRequired": {"a": ["b"]}}, {"dependencies": {"b": {"properties": {"c": True}}}}]},
    ],
)
def test_what_depends_on_a_property_comes_with_it(schema: Any) -> None:
    root = build({"properties": {"a": {}, "b": {}}, **schema}).root
    assert root is not None
    assert names(resolve_union(root, {})) == ["a", "b"]
    assert names(resolve_union(root, {"a": 1})) == ["a", "b*"]
    assert names(resolve_union(root, {"a": 1, "b": 2})) == ["a", "b*", "c"]


def test_many_conditions_are_followed_together() -> None:
    rules = [
        {"if": {"properties": {"k": {"const": n}}, "required": ["k"]}, "then": {"properties": {f"p{n}": {}}}}
        for n in range(30)
    ]
    root = build({"type": "object", "properties": {"k": {"type": "integer"}}, "allOf": rules}).root
    assert root is not None
    assert names(resolve_union(root, {"k": 17})) == ["k", "p17"] and names(resolve_union(root, {"k": 99})) == ["k"]


def test_a_chosen_variant_is_kept_under_a_condition() -> None:
    schema = {**PAYMENT, "dependentRequired": {"amount": ["currency"]}, "properties": {"amount": {}, "currency": {}}}
    root = build({"properties": {"p": schema}}).root
    assert root is not None
    field = field_at(root, ("p", "currency"), {"p": {"amount": 1}}, {("p",): 1})
    assert field is not None and field.required


@pytest.mark.parametrize(
    ("condition", "holds", "fails"),
    [
        ({"properties": {"x": {"enum": [1, 2]}}, "required": ["x"]}, {"x": 2}, {"x": 3}),
        ({"properties": {"x": {"minimum": 5, "multipleOf": 2}}, "required": ["x"]}, {"x": 6}, {"x": 7}),
        ({"properties": {"x": {"pattern": "^a"}}, "required": ["x"]}, {"x": "ab"}, {"x": "b"}),
        ({"not": {"required": ["x"]}}, {}, {"x": 1}),
        ({"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}, {"y": 1}, {"z": 1}),
        ({"$ref": "#/$defs/c"}, {"x": True}, {"x": False}),
    ],
)
def test_conditions_are_decided_by_the_value(condition: Any, holds: Any, fails: Any) -> None:
    defs = {"c": {"properties": {"x": {"const": True}}, "required": ["x"]}}
    root = build({"if": condition, "then": {"required": ["then"]}, "else": {"required": ["else"]}, "$defs": defs}).root
    assert root is not None
    assert names(resolve_union(root, holds)) == ["then*"] and names(resolve_union(root, fails)) == ["else*"]
