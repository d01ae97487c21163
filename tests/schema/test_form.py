"""What is drawn for which schema; and that no schema whatever can break or hang it."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.schema.field import (
    Choice,
    Choices,
    Const,
    Field,
    Flag,
    Form,
    JsonField,
    List,
    Map,
    Number,
    Object,
    Scalar,
    Text,
    Union,
    defaults,
)
from mcp_studio.schema.form import MAX_FIELDS, build, prompt_fields, template_fields
from mcp_studio.schema.text import from_text


def one(schema: Any, *, required: bool = False) -> Field:
    """The field drawn for a property."""
    return build({"type": "object", "properties": {"it": schema}, "required": ["it"] if required else []}).fields[0]


def values(field: Field) -> list[Any]:
    """What a choice offers."""
    assert isinstance(field, (Choice, Choices))
    return [option.value for option in field.options]


def labels(field: Field) -> list[str]:
    """How a choice shows it."""
    assert isinstance(field, (Choice, Choices))
    return [option.label for option in field.options]


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, Text),
        ({"type": "integer"}, Number),
        ({"type": "number"}, Number),
        ({"type": ["integer", "number"]}, Number),
        ({"type": "boolean"}, Flag),
        ({"enum": ["a", "b"]}, Choice),
        ({"const": 5}, Const),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, Choices),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}}, Choices),
        ({"type": "array", "items": {"type": "string"}}, List),
        ({"type": "object", "properties": {"a": {}}}, Object),
        ({"type": "object"}, Map),
        ({"type": ["string", "integer"]}, Scalar),
        ({"type": ["string", "array"]}, Union),
        ({"anyOf": [{"type": "string", "format": "uri"}, {"type": "string", "format": "email"}]}, Text),
        ({"pattern": "^a"}, Text),
        ({"maximum": 3}, Number),
        ({}, JsonField),
        (True, JsonField),
        (None, JsonField),
        ([1], JsonField),
        ({"type": "banana"}, JsonField),
        ({"type": {"a": 1}}, JsonField),
        ({"enum": "a"}, JsonField),
        ({"enum": []}, JsonField),
        ({"enum": list(range(5_000)), "type": "integer"}, Number),
        ({"type": "null"}, JsonField),
    ],
)
def test_the_schema_decides_the_kind_of_field(schema: Any, kind: type[Field]) -> None:
    assert type(one(schema)) is kind


def test_a_property_that_cannot_be_there_is_a_field_only_where_it_must_be() -> None:
    assert not build({"properties": {"it": False}}).fields
    assert one(False, required=True).remark == "The schema allows no value here."


def test_what_the_schema_says_about_a_field_is_kept() -> None:
    field = one(
        {"type": "string", "title": "Name", "description": "Who", "default": "Ada", "maxLength": 9}, required=True
    )
    assert isinstance(field, Text)
    assert (field.name, field.title, field.description) == ("it", "Name", "Who")
    assert (field.required, field.has_default, field.default) == (True, True, "Ada")
    assert (field.max_length, field.hint) == (9, "at most 9 characters")


def test_words_of_the_wrong_type_are_left_out() -> None:
    field = one({"type": "string", "title": 5, "description": ["x"], "minLength": "3", "maxLength": -1, "format": {}})
    assert field == Text("it", schema=field.schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, {"type": "integer"}]},
        {"type": ["integer", "null"]},
        {"anyOf": [{"anyOf": [{"type": "integer"}, {"type": "null"}]}]},
        {"allOf": [{"type": ["integer", "null"]}]},
    ],
)
def test_unions_with_null_are_nullable_fields(schema: Any) -> None:
    field = one(schema)
    assert isinstance(field, Number) and field.integer and field.nullable


def test_what_stands_beside_a_union_with_null_is_kept() -> None:
    field = one({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None, "title": "Head"})
    assert isinstance(field, Number)
    assert (field.minimum, field.title, field.has_default, field.default) == (1, "Head", True, None)


def test_an_enum_of_mixed_types_keeps_values_and_shows_json() -> None:
    field = one({"enum": ["1", 1, 1.5, True, None, {"a": [1]}, "1"]})
    assert values(field) == ["1", 1, 1.5, True, None, {"a": [1]}]
    assert labels(field) == ["1", "1", "1.5", "true", "null", '{"a":[1]}']
    assert field.nullable


def test_null_is_an_option_only_where_the_schema_says_so() -> None:
    assert values(one({"type": ["string", "null"], "enum": ["a"]})) == ["a"]
    assert values(one({"anyOf": [{"enum": ["a"]}, {"type": "null"}]})) == ["a", None]


def test_titles_of_options_come_from_constants_and_from_older_drafts() -> None:
    assert labels(one({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]})) == ["One", "2"]
    assert labels(one({"enum": ["a", "b"], "enumNames": ["A", "B"]})) == ["A", "B"]
    assert labels(one({"enum": ["a", "b"], "enumNames": ["A"]})) == ["a", "b"]
    assert labels(one({"enum": ["a", "b"], "enumNames": ["A", 5]})) == ["A", "b"]


def test_bounds_of_both_spellings_are_understood() -> None:
    later = one({"type": "integer", "minimum": 1, "exclusiveMinimum": 0, "exclusiveMaximum": 9})
    assert isinstance(later, Number)
    assert (later.minimum, later.above_minimum, later.maximum, later.below_maximum) == (1, False, 9, True)
    older = one({"type": "integer", "minimum": 1, "exclusiveMinimum": True, "maximum": 5, "exclusiveMaximum": False})
    assert isinstance(older, Number)
    assert (older.minimum, older.above_minimum, older.maximum, older.below_maximum) == (1, True, 5, False)
    assert older.hint == "integer more than 1, at most 5"


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"type": "object", "properties": {"start": {}, "end": {}}}, "object {start, end}"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"type": ["string", "integer"]}}, "(string | integer)[]"),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "string | string[]"),
        ({"$ref": "#/$defs/range"}, "object {from, to}"),
        ({}, "any JSON"),
        ({"type": "array"}, "list"),
        ({"type": "array", "prefixItems": [{"type": "number"}, {}]}, "list"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object {name: integer}"),
        ({"type": "object"}, "object"),
        ({"properties": {"x" * 200: {}}}, "object {" + "x" * 51 + "…"),
    ],
)
def test_other_shapes_are_told_in_a_few_words(schema: Any, hint: str) -> None:
    defs = {"range": {"type": "object", "properties": {"from": {}, "to": {}}}}
    assert build({"properties": {"it": schema}, "$defs": defs}).fields[0].hint == hint


@pytest.mark.parametrize("where", ["#/$defs/n~1a%20me", "#/definitions/old", "#word"])
def test_local_references_are_followed_and_their_neighbours_win(where: str) -> None:
    target = {"type": "integer", "minimum": 3, "title": "Theirs", "$anchor": "word"}
    schema = {
        "properties": {"it": {"$ref": where, "title": "Ours"}},
        "$defs": {"n/a me": target},
        "definitions": {"old": target},
    }
    field = build(schema).fields[0]
    assert isinstance(field, Number)
    assert (field.minimum, field.title) == (3, "Ours")


def test_parts_of_the_whole_schema_are_merged() -> None:
    form = build(
        {
            "allOf": [
                {"$ref": "#/$defs/named"},
                {"properties": {"age": {"type": "integer"}, "name": {"maxLength": 5}}, "required": ["age"]},
            ],
            "required": ["name"],
            "$defs": {"named": {"properties": {"name": {"type": "string"}}}},
        }
    )
    assert [(type(field), field.name, field.required) for field in form.fields] == [
        (Text, "name", True),
        (Number, "age", True),
    ]
    assert isinstance(form.fields[0], Text) and form.fields[0].max_length == 5


def test_required_names_without_a_schema_are_fields_too() -> None:
    form = build({"properties": {"a": {"type": "string"}}, "required": ["b", "a", "b"]})
    assert [(field.name, field.required) for field in form.fields] == [("a", True), ("b", True)]
    assert isinstance(form.fields[1], JsonField)


@pytest.mark.parametrize(
    ("name", "schema", "secret"),
    [
        ("password", {}, True),
        ("api_key", {}, True),
        ("access_token", {}, True),
        ("note", {"format": "password"}, True),
        ("note", {"writeOnly": True}, True),
        ("page_token", {}, False),
        ("tokens", {}, False),
        ("note", {}, False),
    ],
)
def test_what_looks_secret_is_marked(name: str, schema: Any, secret: bool) -> None:
    field = build({"properties": {name: {"type": "string", **schema}}}).fields[0]
    assert isinstance(field, Text) and field.secret is secret


@pytest.mark.parametrize(
    "schema", [[], "text", 5, None, {"properties": "a"}, {"properties": [{}]}, {"required": {"a": 1}}]
)
def test_a_schema_of_the_wrong_type_is_edited_as_json_and_said_to_be_wrong(schema: Any) -> None:
    form = build(schema)
    assert form.problems and not form.fields and form.whole


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "object"}, Object),
        ({"type": "object", "properties": {}}, Object),
        ({}, Object),
        ({"type": "object", "additionalProperties": False}, Object),
        ({"type": "object", "additionalProperties": {"type": "string"}}, Map),
        ({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, Union),
        ({"type": "array"}, List),
        ({"type": "string"}, Text),
    ],
)
def test_any_kind_of_whole_value_has_a_field(schema: Any, kind: type[Field]) -> None:
    form = build(schema)
    assert type(form.root) is kind and not form.whole and not form.fields and not form.problems


def test_deep_schemas_are_drawn() -> None:
    schema: Any = {"type": "string"}
    for _ in range(5_000):
        schema = {"properties": {"a": {"allOf": [schema]}}, "items": schema}
    assert [field.name for field in build(schema).fields] == ["a"]


def test_too_many_properties_are_counted_not_drawn() -> None:
    form = build({"properties": {f"p{n}": {} for n in range(MAX_FIELDS + 5)}})
    assert (len(form.fields), form.more) == (MAX_FIELDS, 5)


def test_prompt_arguments_are_text_fields() -> None:
    form = prompt_fields(
        [{"name": "topic", "description": "About", "required": True}, {"name": "tone", "title": "Tone"}]
    )
    assert [(type(f), f.name, f.title, f.description, f.required) for f in form.fields] == [
        (Text, "topic", "", "About", True),
        (Text, "tone", "Tone", "", False),
    ]


@pytest.mark.parametrize("arguments", [[5], [{"name": 5}], [{}], "text", {"name": "a"}, [{"name": "a"}, {"name": "a"}]])
def test_malformed_prompt_arguments_are_left_out_and_told(arguments: Any) -> None:
    form = prompt_fields(arguments)
    assert form.problems and len(form.fields) <= 1
    assert prompt_fields(None) == Form()


def test_template_variables_are_fields() -> None:
    form = template_fields("db://{table}/rows{/path*}{?limit,table}")
    assert [(type(f), f.name, f.required) for f in form.fields] == [
        (Text, "table", True),
        (JsonField, "path", True),
        (Text, "limit", False),
    ]
    assert template_fields("db://{broken").problems
    path = form.fields[1]
    assert [from_text(path, text) for text in ("a", '["a"]', '{"a": "b"}')] == ["a", ["a"], {"a": "b"}]


def test_what_is_secret_by_its_name_is_so_in_prompts_templates_and_maps() -> None:
    fields = (*prompt_fields([{"name": "api_key"}]).fields, *template_fields("x:{access_token}").fields)
    assert all(isinstance(field, Text) and field.secret for field in fields)
    env = build({"properties": {"env": {"type": "object", "additionalProperties": {"type": "string"}}}}).fields[0]
    assert isinstance(env, Map)
    assert [getattr(env.of(key), "secret", None) for key in ("LANG", "API_TOKEN", "Authorization")] == [
        False, True, True,
    ]  # fmt: skip


def test_defaults_make_a_value() -> None:
    form = build({"properties": {"a": {"default": 1}, "b": {"type": "string"}, "c": {"default": None}}})
    assert defaults(form) == {"a": 1, "c": None}


def test_what_can_only_be_one_thing_is_filled_in_where_it_is_required() -> None:
    form = build(
        {"properties": {"a": {"const": "x"}, "b": {"const": "y"}, "c": {"enum": [1, 2]}}, "required": ["a", "c"]}
    )
    assert defaults(form) == {"a": "x"}
