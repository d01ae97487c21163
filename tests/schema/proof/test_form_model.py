"""Random edits of random values in random forms: nothing else changes, and everything can be undone."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mcp_studio.jsontext import dumps, loads, mapping
from mcp_studio.schema.examples import example
from mcp_studio.schema.field import Choice, Flag, List, Map, Union
from mcp_studio.schema.form import build
from mcp_studio.schema.place import NoPlace
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.rows import Row
from tests.schema.proof.strategies import SCHEMAS, TEXTS, VALUES
from tests.schema.proof.support import fitting, same

MODEST = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
MOST_ROWS = 150


def opened(model: FormModel) -> FormModel:
    """The model with everything unfolded, as far as that has an end."""
    for _ in range(4):
        folded = [row.path for row in model.rows if row.fold is False]
        if not folded or len(model.rows) > MOST_ROWS:
            break
        model.fold(folded, True)
    return model


def row_of(model: FormModel, row: Row) -> Row | None:
    """The same row after others may have come and gone."""
    return next((one for one in model.rows if one.key == row.key), None)


def edit(model: FormModel, row: Row, what: int, text: str, value: Any) -> None:
    """One edit of a row, as a key would make it; what makes no sense there is left out."""
    holder = row.kind == "item" and isinstance(row.path[-1], int)
    if row.kind == "add" and isinstance(row.field, List):
        model.add(row.path, row.field, len(model.items(row.path)))
    elif row.kind == "add" and isinstance(row.field, Map):
        if text not in mapping(model.get(row.path)):
            model.enter(row.path, row.field, text)
    elif row.kind in ("add", "rest"):
        return
    elif what == 0:
        model.type(row, text)
    elif what == 1:
        model.put(row.path, value)
    elif what == 2:
        model.clear(row)
    elif what == 3 and isinstance(row.field, Flag):
        model.toggle(row)
    elif what == 3 and isinstance(row.field, (Choice, Union)):
        model.step(row, 1)
    elif what == 4 and holder:
        model.duplicate(row.path)
    elif what == 5 and holder:
        model.move(row.path, 1)
    elif what == 6 and row.kind in ("item", "entry"):
        model.remove(row.path)
    elif what == 7 and row.kind == "entry":
        model.rename(row.path, text)
    else:
        model.clear(row)


@given(SCHEMAS, VALUES)
@MODEST
def test_what_a_row_shows_typed_again_changes_nothing(schema: Any, value: Any) -> None:
    form = build(schema)
    for whole in ({"it": value, "other": value}, example(form, "typical").value):
        model = opened(FormModel(form, whole))
        for known in model.rows[:MOST_ROWS]:
            row = row_of(model, known)
            if row is None or row.kind in ("add", "rest") or not model.has(row.path) or not model.text(row):
                continue
            if fitting(row.field, model.get(row.path)):
                model.type(row, model.text(row))
                assert same(model.value, whole), (row.path, model.text(row))
        assert not model.pending


EDITS = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 8), TEXTS, VALUES), min_size=1, max_size=8)


@given(SCHEMAS, VALUES, EDITS)
@MODEST
def test_edits_change_only_their_place_and_can_all_be_undone_and_redone(schema: Any, value: Any, edits: Any) -> None:
    start = {"before": value, "it": value, "after": value}
    model = FormModel(build(schema), start)
    for at, what, text, item in edits:
        opened(model)
        before, row = model.value, model.rows[at % len(model.rows)]
        try:
            edit(model, row, what, text, item)
        except NoPlace:
            continue
        if row.path:
            kept = {key: item for key, item in before.items() if key != row.path[0]}
            assert same({key: item for key, item in model.value.items() if key != row.path[0]}, kept)
        assert same(loads(dumps(model.value), exact=True), model.value)
        assert isinstance(model.problems(), tuple) and model.row_problems is not None
        if not isinstance(model.value, dict):
            break
    end = model.value
    while model.undo() is not None:
        pass
    assert same(model.value, start) and not model.pending
    while model.redo() is not None:
        pass
    assert same(model.value, end)
