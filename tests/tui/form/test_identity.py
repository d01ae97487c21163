"""Whatever is done in a form, its value is what the rows show, nothing else changes, and all of it can be undone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_studio.jsontext import dumps, loads
from mcp_studio.schema.field import Choice, Choices, Const, Field, Flag, List, Map, Object, Union
from mcp_studio.schema.form import build
from mcp_studio.schema.place import NoPlace, pointer
from mcp_studio.schema.text import from_text
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.rows import Row

sys.path.insert(0, str(Path(__file__).parents[2] / "servers"))
from schema_zoo import TOOLS

NAMES = ["orders.add", "tree", "ship", "maps", "tuples", "mixed", "secrets", "hostile"]
FORMS = {name: build(TOOLS[name][1]) for name in NAMES}
VALUES = {
    "orders.add": '{"zz": [1.10, 1e400], "payment": {"kind": "card", "x": 0.0}, "items": [{"price": "1"}]}',
    "maps": '{"env": {"B": "1", "A": "2"}, "services": {"db": {"image": "x", "ports": [1]}}, "free": [1]}',
    "tuples": '{"range": [1, 2.50], "grid": [[1, 2], "wrong"], "row": null}',
    "mixed": '{"big": 123456789012345678901234567890, "filter": 5, "level": {"custom": 1}}',
    "secrets": '{"accounts": [{"user": "a", "password": "p"}], "vault": {"x": {"token": "t"}}}',
}
TYPED = ["", "words", "5", "1.10", "null", "{", '{"a": [1]}', "[1, 2]", "true", '"5"', "card"]


def act(one: FormModel, step: tuple[int, int, int]) -> None:
    """One edit, chosen by numbers."""
    kind, where, what = step
    row = one.rows[where % len(one.rows)]
    field, path = row.field, row.path
    if row.kind == "add":
        if isinstance(field, List):
            one.add(path, field)
        elif isinstance(field, Map) and not one.key_problem(path, key := f"key{what}", None):
            one.enter(path, field, key)
    elif row.kind == "rest":
        return
    elif kind == 0 and row.fold is not None:
        one.fold([path], not row.fold)
    elif kind == 1:
        one.clear(row)
    elif kind == 2 and row.kind == "item":
        one.move(path, what % 5 - 2)
    elif kind == 3 and row.kind == "item":
        one.duplicate(path)
    elif kind == 4 and row.kind in ("item", "entry", "other"):
        one.remove(path)
    elif kind == 5 and row.kind in ("entry", "other") and not one.key_problem(path[:-1], f"new{what}", str(path[-1])):
        one.rename(path, f"new{what}")
    elif kind == 6:
        one.as_json(path, path not in one.json_places)
    else:
        edit(one, row, field, what)


def edit(one: FormModel, row: Row, field: Field, what: int) -> None:
    """Choose, toggle or type."""
    if isinstance(field, (Choice, Union)):
        one.choose(row, what % len(field.options if isinstance(field, Choice) else field.variants))
    elif isinstance(field, Choices):
        one.pick(row, what % len(field.options))
    elif isinstance(field, Flag):
        one.toggle(row)
    elif not isinstance(field, (Const, Object, List, Map)):
        one.type(row, TYPED[what % len(TYPED)])


def shows_what_it_is(one: FormModel) -> None:
    """Every row that is typed into reads as what the value has there; every member of the value has one row."""
    seen: set[str] = set()
    for row in one.rows:
        if row.kind in ("add", "rest", "inner"):
            continue
        assert pointer(*row.path) not in seen
        seen.add(pointer(*row.path))
        waiting = pointer(*row.path) in one.pending
        if one.has(row.path) and not waiting and not isinstance(row.field, (Union, Flag)) and row.fold is None:
            value, text = one.get(row.path), one.text(row)
            if value is not None and text:
                try:
                    read = from_text(row.field, text)
                except ValueError:
                    read = text  # a wrong one is told as such, and kept
                assert dumps(read) == dumps(value) or isinstance(row.field, Choice) or read == spelled(value)
    here = one.value
    if isinstance(here, dict) and one.row_at(()) is None:
        assert all(one.row_at((key,)) is not None for key in here)


def spelled(value: Any) -> str:
    """A value of another kind in a place for text."""
    return dumps(value).decode()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60), st.integers(0, 20)), max_size=18))
def test_edits_are_seen_sent_and_undone(name: str, steps: list[tuple[int, int, int]]) -> None:
    start = loads(VALUES.get(name, "{}"), exact=True)
    before = dumps(start)
    one = FormModel(FORMS[name], start)
    for step in steps:
        try:
            act(one, step)
        except NoPlace:
            pytest.fail("an edit of a row finds no place")
        one.history.pause()
        shows_what_it_is(one)
        one.row_problems.next_error(-1, inside=False)
        # The JSON tab says the same, and coming back from it changes nothing.
        assert dumps(loads(dumps(one.value), exact=True)) == dumps(one.value)
    assert dumps(start) == before
    end, pending = dumps(one.value), dict(one.pending)
    done = 0
    while one.undo() is not None:
        done += 1
    assert dumps(one.value) == before and not one.pending
    for _ in range(done):
        one.redo()
    assert dumps(one.value) == end and one.pending == pending
