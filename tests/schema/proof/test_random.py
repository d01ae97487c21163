"""Random schemas and values: the quick check agrees with the library, and a form changes nothing by itself."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mcp_studio.schema.check import quick
from mcp_studio.schema.examples import valid
from mcp_studio.schema.field import defaults, errors, starter
from mcp_studio.schema.form import build
from tests.schema.proof.strategies import NONSENSE, SCHEMAS, VALUES
from tests.schema.proof.support import Library, leaves, same, typed

MODEST = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)


def _errors(schema: Any, value: Any) -> list[str]:
    return [str(problem) for problem in errors(quick(build(schema), value))]


@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=4))
@MODEST
def test_what_the_library_accepts_the_quick_check_does_not_refuse(schema: Any, values: list[Any]) -> None:
    library = Library(schema)
    made = [one.value for one in valid(build(schema))]
    for value in (*({"it": one} for one in values), *made):
        found = _errors(schema, value)
        assert not found or not library.accepts(value), (value, found)


@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=4))
@MODEST
def test_a_value_typed_anew_through_its_fields_is_the_same(schema: Any, values: list[Any]) -> None:
    form = build(schema)
    made = [one.value for one in valid(form)]
    for value in (*({"it": one, "other": one} for one in values), *made):
        assert same(typed(form.root, value), value)


@given(SCHEMAS, st.integers(0, 5))
@MODEST
def test_examples_fit_their_fields_or_say_why_not(schema: Any, seed: int) -> None:
    form = build(schema)
    for found in valid(form, seed):
        assert found.remark or not errors(quick(form, found.value)), found


@given(NONSENSE, VALUES)
@settings(MODEST, max_examples=60)
def test_any_json_as_a_schema_gives_a_form(schema: Any, value: Any) -> None:
    for whole in (schema, {"properties": {"it": schema}, "required": ["it"]}):
        form = build(whole)
        assert isinstance(list(leaves(form)), list) and form.root is not None
        assert same(typed(form.root, value), value) and same(typed(form.root, {"it": value}), {"it": value})
        for one in ({"it": value}, starter(form.root), defaults(form)):
            assert all(problem.message for problem in quick(form, one))
        assert valid(form)
