"""Rows that are kept from one outline to the next are those that would be made anew, after any edit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mcp_studio.schema.field import List, Map, Union
from mcp_studio.schema.form import build
from mcp_studio.tui.form import outline
from mcp_studio.tui.form.kept_rows import KeptRows
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.outline import Outliner, Row

_ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "how": {"oneOf": [
            {"title": "a", "type": "object", "properties": {"a": {"type": "string"}}},
            {"title": "b", "type": "object", "properties": {"b": {"type": "integer"}}},
        ]},
        "inside": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    },
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/item"}},
    },
    "$defs": {"item": _ITEM},
}


def item(name: str, inside: int = 0) -> dict[str, Any]:
    return {"name": name, "tags": [name], "how": {"a": name}, "inside": [item(f"{name}.{n}") for n in range(inside)]}


def fresh(model: FormModel) -> list[Row]:
    """All rows, none of them kept."""
    state = model._state
    return Outliner(model.settle, state.folds, state.as_json, model._leaves, KeptRows()).make(model.root, state.value)


def edit(model: FormModel, chance: random.Random, number: int) -> None:
    """Do something on some row."""
    row = chance.choice(model.rows)
    what = chance.random()
    if what < 0.1:
        model.undo()
    elif what < 0.2:
        model.redo()
    elif row.fold is not None and what < 0.5:
        model.fold(row.path, not row.fold)
    elif isinstance(row.field, Union) and what < 0.8:
        model.choose(row, chance.randrange(2))
    elif row.kind == "item" and what < 0.9:
        chance.choice((model.remove, model.duplicate, lambda path: model.move(path, chance.choice((-1, 1)))))(row.path)
    elif row.kind in ("entry", "other") and what < 0.9:
        chance.choice((model.remove, lambda path: model.rename(path, f"key {number}")))(row.path)
    elif isinstance(row.field, List):
        model.add(row.path, row.field)
    elif isinstance(row.field, Map):
        model.enter(row.path, row.field, f"new {number}")
    elif row.kind in ("field", "item") and what < 0.93:
        model.as_json(row.path, True)
    elif row.fold is None and row.kind not in ("add", "rest"):
        model.type(row, f"text {number}" if chance.random() < 0.7 else "[1]")


@pytest.mark.parametrize("most", [20_000, 40])
@pytest.mark.parametrize("seed", range(4))
def test_kept_rows_are_those_that_would_be_made(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MOST_ROWS", most)
    chance = random.Random(seed)
    value = {"items": [item(f"i{n}", inside=2) for n in range(4)], "map": {"one": item("one", inside=1)}}
    model = FormModel(build(SCHEMA), value)
    for number in range(150):
        edit(model, chance, number)
        assert model.rows == fresh(model), number


def test_what_was_not_edited_keeps_its_rows() -> None:
    model = FormModel(build(SCHEMA), {"items": [item("a"), item("b")]})
    model.fold_many([("items",), ("items", 0), ("items", 1)], True)
    before = {row.path: row for row in model.rows}
    model.put(("items", 1, "name"), "c")
    after = {row.path: row for row in model.rows}
    assert after["items", 0, "name"] is before["items", 0, "name"]
    assert after["items", 1, "name"] is not before["items", 1, "name"]
