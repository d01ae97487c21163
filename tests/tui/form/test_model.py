"""The value is the truth: editing fields changes what was edited, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.jsontext import dumps, loads
from mcp_studio.schema.field import Choice, Choices, SchemaProblem
from mcp_studio.schema.form import build
from mcp_studio.schema.text import from_text
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.painter import Painter
from mcp_studio.tui.form.rows import Row

SCHEMA: dict[str, Any] = {
    "properties": {
        "text": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "count": {"type": "integer", "minimum": 1},
        "ratio": {"type": ["number", "null"]},
        "flag": {"type": "boolean"},
        "must": {"type": "boolean"},
        "pick": {"enum": ["a", "b", 3]},
        "many": {"type": "array", "items": {"enum": ["x", "y", "z"]}},
        "json": {},
        "any": {},
    },
    "required": ["must"],
}


def model(value: Any = None, **options: Any) -> FormModel:
    """A model of the schema above."""
    return FormModel(build(SCHEMA), value, **options)


def field(one: FormModel, *path: str | int) -> Row:
    """The row of a place."""
    index = one.row_at(path)
    assert index is not None
    return one.rows[index]


def messages(one: FormModel, *path: str | int) -> list[str]:
    """What is told at the row of a place."""
    index = one.row_at(path)
    assert index is not None
    return [problem.message for problem in one.row_problems.of(index)]


def test_untouched_the_value_stays_the_very_same() -> None:
    value = loads(
        '{"unknown": [1.10, 1e400], "text": null, "count": 123456789012345678901234567890, "any": 0.0}', exact=True
    )
    one = model(value)
    for known in one.rows:
        one.text(known)
    assert one.value is value


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", "words", "words"),
        ("count", "123456789012345678901234567890", 123456789012345678901234567890),
        ("count", "two", "two"),
        ("count", "5.", "5."),
        ("ratio", "null", None),
        ("json", '{"a": 1}', {"a": 1}),
        ("any", "words", "words"),
        ("any", "[1]", [1]),
    ],
)
def test_typing_sets_the_value_also_where_it_is_wrong(name: str, text: str, value: Any) -> None:
    one = model({"other": 1})
    one.type(field(one, name), text)
    assert one.value == {name: value, "other": 1}


def test_typing_makes_a_new_value_and_leaves_the_old_one_alone() -> None:
    before = {"text": "a", "other": [1]}
    one = model(before)
    one.type(field(one, "text"), "b")
    assert before == {"text": "a", "other": [1]}
    assert one.value["other"] is before["other"]


def test_blank_is_absent_and_typing_again_finds_its_place_between_the_others() -> None:
    one = model({"zzz": 0, "text": "a", "count": 1, "json": {}, "yyy": 0})
    one.type(field(one, "count"), "")
    assert list(one.value) == ["zzz", "text", "json", "yyy"]
    one.type(field(one, "count"), "2")
    assert list(one.value) == ["zzz", "text", "count", "json", "yyy"]
    one.type(field(one, "any"), "1")
    assert list(one.value) == ["zzz", "text", "count", "json", "any", "yyy"]


def test_text_that_is_no_json_waits_and_the_value_keeps_what_it_had() -> None:
    one = model({"json": {"a": 1}})
    one.type(field(one, "json"), '{"a": 2')
    assert one.value == {"json": {"a": 1}}
    assert one.pending == {"/json": '{"a": 2'}
    assert one.text(field(one, "json")) == '{"a": 2'
    (problem,) = one.unreadable()
    assert problem.pointer == "/json" and "line 1, column 8" in problem.message
    assert problem in one.problems()
    one.type(field(one, "json"), '{"a": 2}')
    assert one.value == {"json": {"a": 2}} and not one.unreadable()


def test_waiting_text_can_be_given_back_later() -> None:
    one = model({"json": {}}, pending={"json": "{", "gone": "["})
    assert one.text(field(one, "json")) == "{"
    assert one.pending == {"/json": "{"}


def test_a_flag_has_three_states_unless_it_is_required() -> None:
    one = model()
    seen = []
    for _ in range(4):
        one.toggle(field(one, "flag"))
        seen.append(one.value.get("flag", "absent"))
    assert seen == [True, False, "absent", True]
    one = model()
    seen = []
    for _ in range(3):
        one.toggle(field(one, "must"))
        seen.append(one.value.get("must", "absent"))
    assert seen == [True, False, True]


def test_a_choice_steps_through_its_options_both_ways() -> None:
    one = model()
    pick = field(one, "pick")
    assert isinstance(pick.field, Choice)
    one.step(pick, 1)
    assert one.value == {"pick": "a"}
    one.step(pick, -1)
    assert one.value == {"pick": 3} and one.chosen(pick) == 2
    one.put(("pick",), "elsewhere")
    assert one.chosen(pick) == -1


def test_picking_adds_and_takes_and_keeps_what_is_foreign() -> None:
    one = model({"many": ["foreign", "y"]})
    many = field(one, "many")
    assert isinstance(many.field, Choices)
    one.pick(many, 0)
    assert one.value == {"many": ["foreign", "y", "x"]} and one.picked(many) == {0, 1}
    one.pick(many, 1)
    assert one.value == {"many": ["foreign", "x"]}
    one.pick(many, 0)
    assert one.value == {"many": ["foreign"]}


def test_what_is_missing_is_told_after_a_field_was_touched_or_sending_was_tried() -> None:
    one = model()
    assert [problem.pointer for problem in one.problems()] == ["/must"]
    assert messages(one, "must") == []
    one.toggle(field(one, "must"))
    one.clear(field(one, "must"))
    assert messages(one, "must") == ["is required"]
    one = model()
    assert one.row_problems.next_error(-1, inside=False) is None
    one.ask()
    assert one.row_problems.next_error(-1, inside=False) == ("must",)
    assert messages(one, "must") == ["is required"]


def test_a_closed_fold_counts_what_is_wrong_inside_once_and_warnings_too() -> None:
    inside = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    one = FormModel(build({"properties": {"part": inside}}), {"part": {}})
    one.ask()
    one.tell([SchemaProblem("/part/a", "is required"), SchemaProblem("/part/a", "is odd", "warning")])
    assert one.row_problems.errors[("part",)] == 1
    assert one.row_problems.warnings[("part",)] == 1
    drawn = Painter(one, 80).draw(0, one.rows[0])
    assert "".join(text for text, _ in drawn.lines[0]).rstrip().endswith("{} ✗ 1 ! 1")


def test_what_is_not_known_of_the_whole_schema_stands_above_the_rows() -> None:
    form = build({"properties": {"a": {"type": "string"}}})
    assert form.root is not None
    one = FormModel(replace(form, root=replace(form.root, remark="Not all of it is drawn.")))
    assert "".join(text for line in Painter(one, 80).notices() for text, _ in line) == "Not all of it is drawn."


def test_problems_of_a_whole_check_are_told_where_they_belong() -> None:
    one = model({"json": {"a": [1]}, "count": 0, "must": True, "other": 1})
    one.tell(
        [
            SchemaProblem("/json/a/0", "must be text, got 1"),
            SchemaProblem("/count", "must be at least 1, got 0"),
            SchemaProblem("/other", "is not a property that the schema allows"),
            SchemaProblem("", "unchecked: too deep", "warning"),
        ]
    )
    assert messages(one, "json") == ["a › 0 must be text, got 1"]
    assert messages(one, "count") == ["must be at least 1, got 0"]
    assert messages(one, "other") == ["is not a property that the schema allows"]
    assert [problem.message for problem in one.row_problems.loose] == ["unchecked: too deep"]
    one.type(field(one, "json"), "{}")
    assert messages(one, "json") == []
    assert messages(one, "count") == ["must be at least 1, got 0"]


def test_a_value_that_is_no_object_is_told_and_edited_as_json() -> None:
    one = model([1, 2])
    assert one.value == [1, 2] and one.text(field(one)) == "[1,2]"
    assert messages(one) == ["must be an object, got a list of 2"]
    one.type(field(one), '{"text": "a"}')
    assert one.value == {"text": "a"} and [row.path for row in one.rows] == [()]
    one.leave_json(())
    assert messages(one, "must") == []


def test_keys_without_a_field_have_rows() -> None:
    one = model({"text": "a", "b": 1, "": 2})
    assert [row.path for row in one.rows if row.kind == "other"] == [("b",), ("",)]
    one.type(field(one, "b"), "")
    assert one.value == {"text": "a", "b": 1, "": 2} and one.pending == {"/b": ""}


@given(
    st.dictionaries(
        st.sampled_from([*SCHEMA["properties"], "x", "y"]), st.none() | st.integers() | st.text(max_size=3)
    ),
    st.sampled_from(list(SCHEMA["properties"])),
    st.text(max_size=6) | st.sampled_from(["Y", "off", "x,y", "[1]", "-", "1.0", "null", '{"a"', " 5 "]),
)
def test_editing_one_field_never_touches_another(value: dict[str, Any], name: str, text: str) -> None:
    one = model(value)
    one.type(field(one, name), text)
    assert dumps({key: item for key, item in one.value.items() if key != name}) == dumps(
        {key: item for key, item in value.items() if key != name}
    )
    edited = field(one, name)
    assert one.text(edited) == text or one.get((name,)) == from_text(edited.field, text)
