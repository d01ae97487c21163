"""The value is the truth: editing fields changes what was edited, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.jsontext import loads
from mcp_studio.schema.field import Choice, Choices, List, Map, SchemaProblem
from mcp_studio.schema.form import build
from mcp_studio.schema.keywords import REQUIRED
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.painter import Painter
from mcp_studio.tui.form.rows import Row

TEXT: dict[str, Any] = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "properties": {
        "text": TEXT,
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


def row(one: FormModel, *path: str | int) -> Row:
    """The row of a place."""
    index = one.row_at(path)
    assert index is not None
    return one.rows[index]


def messages(one: FormModel, *path: str | int) -> list[str]:
    """What is told at the row of a place."""
    index = one.row_at(path)
    assert index is not None
    return [problem.message for problem in one.row_problems.at.get(index, ())]


def test_untouched_the_value_stays_the_very_same() -> None:
    value = loads(
        '{"zz": [1.10, 1e400], "text": null, "count": 123456789012345678901234567890, "any": 0.0}', exact=True
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
def test_typing_sets_the_value_also_where_it_is_wrong_and_leaves_the_rest(name: str, text: str, value: Any) -> None:
    before = {"other": [1]}
    one = model(before)
    one.type(row(one, name), text)
    assert one.value == {name: value, "other": [1]} and one.value["other"] is before["other"]
    assert before == {"other": [1]}


def test_blank_is_absent_and_what_is_typed_again_stands_where_it_stood() -> None:
    one = model({"zzz": 0, "text": "a", "count": 1, "json": {}, "yyy": 0})
    one.type(row(one, "count"), "")
    assert list(one.value) == ["zzz", "text", "json", "yyy"]
    one.type(row(one, "count"), "2")
    one.type(row(one, "any"), "1")
    assert list(one.value) == ["zzz", "text", "count", "json", "any", "yyy"]
    assert model({"b": 1, "": 2}).row_at(("",)) is not None, "a key without a field has a row, too"


def test_text_that_is_no_json_waits_and_the_value_keeps_what_it_had() -> None:
    one = model({"json": {"a": 1}})
    one.type(row(one, "json"), '{"a": 2')
    assert one.value == {"json": {"a": 1}} and one.pending == {("json",): '{"a": 2'}
    assert one.text(row(one, "json")) == '{"a": 2'
    (problem,) = one.unreadable()
    assert problem.pointer == "/json" and "line 1, column 8" in problem.message and problem in one.problems()
    one.type(row(one, "json"), '{"a": 2}')
    assert one.value == {"json": {"a": 2}} and not one.unreadable()
    again = model({"json": {}}, pending={"/json": "{", "/gone": "["})
    assert again.text(row(again, "json")) == "{" and again.pending == {("json",): "{"}


def test_a_flag_has_three_states_unless_it_is_required() -> None:
    for name, states in (("flag", [True, False, "absent", True]), ("must", [True, False, True])):
        one, seen = model(), list[Any]()
        for _ in states:
            one.toggle(row(one, name))
            seen.append(one.value.get(name, "absent"))
        assert seen == states


def test_options_are_stepped_through_and_what_is_foreign_stays() -> None:
    one = model({"many": ["foreign", "y"]})
    pick, many = row(one, "pick"), row(one, "many")
    assert isinstance(pick.field, Choice) and isinstance(many.field, Choices)
    one.step(pick, 1)
    assert one.value["pick"] == "a"
    one.step(pick, -1)
    assert one.value["pick"] == 3 and one.chosen(pick) == 2
    one.put(("pick",), "elsewhere")
    assert one.chosen(pick) == -1
    for option, kept in ((0, ["foreign", "y", "x"]), (1, ["foreign", "x"]), (0, ["foreign"])):
        one.pick(many, option)
        assert one.value["many"] == kept


def test_items_move_with_their_folds_and_their_waiting_text_and_keys_can_be_changed() -> None:
    item = {"type": "object", "properties": {"name": TEXT, "json": {}}}
    one = FormModel(build({"properties": {"items": {"type": "array", "items": item},
                                          "map": {"type": "object", "additionalProperties": TEXT}}}),
                    {"items": [{"name": "a"}, {"name": "b"}], "map": {"x": "1", "y": "2"}})  # fmt: skip
    one.fold([("items",), ("items", 1), ("map",)], True)
    one.type(row(one, "items", 1, "json"), "{")
    assert one.move(("items", 1), -1) == ("items", 0)
    assert one.pending == {("items", 0, "json"): "{"} and row(one, "items", 0).fold and not row(one, "items", 1).fold
    assert one.duplicate(("items", 0)) == ("items", 1)
    one.remove(("items", 0))
    assert one.value["items"] == [{"name": "b"}, {"name": "a"}] and not one.pending
    field = row(one, "items").field
    assert isinstance(field, List) and one.add(("items",), field, 2) == ("items", 2)
    assert one.key_problem(("map",), "x", "y") and one.key_problem(("map",), "", None)
    assert one.rename(("map", "x"), "z") == ("map", "z") and list(one.value["map"]) == ["z", "y"]
    entries = row(one, "map").field
    assert isinstance(entries, Map) and one.enter(("map",), entries, "new") == ("map", "new")
    while one.undo():
        pass
    assert one.value == {"items": [{"name": "a"}, {"name": "b"}], "map": {"x": "1", "y": "2"}}


def test_each_move_of_an_item_is_undone_by_itself() -> None:
    one = FormModel(build({"properties": {"items": {"type": "array", "items": TEXT}}}), {"items": ["a", "b", "c"]})
    assert one.move(one.move(("items", 0), 1), 1) == ("items", 2) == one.move(("items", 2), 1)
    assert one.value == {"items": ["b", "c", "a"]}
    assert one.undo() == ("items", 2) and one.value == {"items": ["b", "a", "c"]}


def test_what_is_missing_is_told_after_a_field_was_touched_or_sending_was_tried() -> None:
    one = model()
    assert [problem.pointer for problem in one.problems()] == ["/must"]
    assert messages(one, "must") == [] and one.row_problems.next_error(-1, inside=False) is None
    one.toggle(row(one, "must"))
    one.clear(row(one, "must"))
    assert messages(one, "must") == [REQUIRED]
    one = model()
    one.ask()
    assert one.row_problems.next_error(-1, inside=False) == ("must",) and messages(one, "must") == [REQUIRED]


def test_a_closed_fold_counts_what_is_wrong_inside_once_and_warnings_too() -> None:
    inside = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    one = FormModel(build({"properties": {"part": inside}}), {"part": {}})
    one.ask()
    one.tell([SchemaProblem("/part/a", REQUIRED), SchemaProblem("/part/a", "is odd", "warning")])
    drawn = Painter(one, 80).draw(0, one.rows[0])
    assert "{} ✗ 1 ▲ 1" in "".join(text for text, _ in drawn.lines[0])


def test_problems_of_a_whole_check_are_told_where_they_belong_until_the_place_is_edited() -> None:
    one = model({"json": {"a": [1]}, "count": 0, "must": True, "other": 1})
    one.tell(
        [
            SchemaProblem("/json/a/0", "must be text, got 1"),
            SchemaProblem("/count", "must be at least 1, got 0"),
            SchemaProblem("/other", "is not a property that the schema allows"),
            SchemaProblem("", "unchecked: too deep", "warning"),
        ]
    )
    assert messages(one, "json") == ["a › #1 must be text, got 1"]
    assert messages(one, "count") == ["must be at least 1, got 0"]
    assert messages(one, "other") == ["is not a property that the schema allows"]
    assert [problem.message for problem in one.row_problems.loose] == ["unchecked: too deep"]
    one.type(row(one, "json"), "{}")
    assert messages(one, "json") == [] and messages(one, "count") == ["must be at least 1, got 0"]


def test_a_value_that_does_not_fit_is_told_and_edited_as_json() -> None:
    one = model([1, 2])
    assert one.value == [1, 2] and one.text(row(one)) == "[1,2]"
    assert messages(one) == ["must be an object, got a list of 2"]
    one.type(row(one), '{"text": "a"}')
    assert one.value == {"text": "a"} and [known.path for known in one.rows] == [()]
    one.leave_json(())
    assert len(one.rows) > 9


def test_what_is_not_known_of_the_whole_schema_stands_above_the_rows() -> None:
    form = build({"properties": {"a": TEXT}})
    assert form.root is not None
    one = FormModel(replace(form, root=replace(form.root, remark="Not all of it is drawn.")))
    assert "".join(text for line in Painter(one, 80).notices() for text, _ in line) == "Not all of it is drawn."
