"""Expressions: what they mean, what they refuse, and that nothing gets out of them."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.workflow.expression import LONGEST, Expression, ExpressionError, StepResult, Template

ROWS = [{"name": "b", "ok": True, "n": 2}, {"name": "a", "ok": False, "n": 1}]
SCOPE: dict[str, Any] = {
    "input": {"city": "Bonn", "n": [1, 2, 3], "class": {"from": 7}, "text": " a,b "},
    "var": {"x": 2},
    "look": StepResult({"t": 20, "rows": ROWS, "text": "inside"}, raw={"content": [{"text": "as text"}]}),
    "failed": StepResult(None, state="skipped", error="no"),
    "class": StepResult({"from": 8}),
    "in": StepResult([1]),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("input.city", "Bonn"),
        ("$input.city", "Bonn"),
        ("$var.x + var.x", 4),
        ("look.t", 20),
        ("$look.result.t", 20),
        ("$step.look.result.t", 20),
        ("step.look.t", 20),
        ("look.text", "as text"),
        ("look.result.text", "inside"),
        ("look.raw.content[0].text", "as text"),
        ("look.state == 'done' and failed.error == 'no'", True),
        ("look['t'] + look.rows[0]['n'] + look.rows[-1].n", 23),
        ("input.class.from", 7),
        ("class.from + $class.from + step.class.result.from", 24),
        ("$in + step.in", [1, 1]),
        ("'class' in 'in class' and not class.from in $in", True),
        ("input.n[1:]", [2, 3]),
        ("1 < len(input.n) <= 3", True),
        ("not true or false", False),
        ("2 in input.n and 'city' in input and 'on' in input.city", True),
        ("null == failed.result", True),
        ("1 == true", False),
        ("7 // 2 + 7 % 2 - -1", 5),
        ("'a' + 'b'", "ab"),
        ("input.n + [4]", [1, 2, 3, 4]),
        ("'$input.x costs $y'", "$input.x costs $y"),
        ("'big' if var.x > 1 else 'small'", "big"),
        ("{'a': [var.x]}", {"a": [2]}),
        ("[row.name for row in look.rows if row.ok]", ["b"]),
        ("default(input.nothing, 3) + default(input.n, 0)[0]", 4),
        ("sorted(look.rows, 'name')[0].name", "a"),
        ("sum([row.n for row in look.rows]) * max(input.n)", 9),
        ("join(split(strip(input.text), ','), '+')", "a+b"),
        ("upper('a') + lower('B') + replace('cxd', 'x', '-')", "Abc-d"),
        ("unique([1, 1, 2]) + flatten([[3], []]) + range(2)", [1, 2, 3, 0, 1]),
        ("keys(var) + values(var)", ["x", 2]),
        ("json('[1]')[0] + int('2') + round(2.4) + abs(-1)", 6),
        ("str(input.n) + str(1.5)", "[1,2,3]1.5"),
        ("query(look, 'rows[?ok].name')[0]", "b"),
        ("query(look.raw, '{a: content[].text, b: `1`}').a", ["as text"]),
        ("startswith(input.city, 'B') and endswith(input.city, 'n')", True),
        ("any([false, true]) and not all([false, true])", True),
    ],
)
def test_what_an_expression_is(text: str, value: Any) -> None:
    assert Expression(text).value(SCOPE) == value


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("input.city +", 13, "cannot be read"),
        ("input.n ** 2", 1, "operator"),
        ("lambda: 1", 1, "no part of an expression"),
        ("1 + (x := 2)", 6, "no part of an expression"),
        ("b'x'", 1, "no part of an expression"),
        ("f'{input}'", 1, "no part of an expression"),
        ("__import__('os')", 1, "no function"),
        ("input.city.upper()", 1, "no function"),
        ("1 + lenn(input.n)", 5, "Did you mean `len"),
        ("len()", 1, "takes 1 arguments"),
        ("step", 1, "before the name of a step"),
        ("[a for a in [1] for b in [2]]", 1, "one `for`"),
        ("+".join(["1"] * 2_500), 1, f"{LONGEST:,} are allowed"),
        ("not " * 100 + "1", None, ""),
        ("(" * 300 + ")" * 300, None, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_column(text: str, column: int | None, says: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(text)
    assert says in caught.value.message
    assert column in (None, caught.value.column)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("1 + input.ctiy", 5, "`input` has no `ctiy`. Did you mean `city`?"),
        ("nothing.at.all", 1, "There is no `nothing`."),
        ("input.n[7]", 1, "has no item 7"),
        ("input.__class__", 1, "has no `__class__`"),
        ("input.city.__class__", 1, "is text, and has no"),
        ("'a' + 1", 1, "text + a number"),
        ("1 / 0", 1, "division by zero"),
        ("-'a'", 1, "number"),
        ("len(7)", 1, "it is a number"),
        ("sorted([1, 'a'])", 1, "has no value"),
        ("range(10000000)", 1, "more than"),
        ("json('{')", 1, "has no value"),
        ("float('inf')", 1, "infinite"),
        ("1 + query(look, 'rows[')", 5, "The expression is wrong at column 6"),
        ("[[[1 for a in range(1000)] for b in range(1000)] for c in range(10)]", None, "steps"),
    ],
)
def test_what_has_no_value_is_told_with_its_column(text: str, column: int | None, says: str) -> None:
    expression = Expression(text)
    with pytest.raises(ExpressionError) as caught:
        expression.value(SCOPE)
    assert says in caught.value.message
    assert column in (None, caught.value.column)


def test_a_value_that_doubles_each_time_meets_a_bound_soon() -> None:
    scope: dict[str, Any] = {"var": {"x": ["text"], "n": 3, "t": "t" * 1000}}
    began = time.process_time()
    with pytest.raises(ExpressionError, match="too large"):
        for _ in range(100):
            scope["var"]["x"] = Expression("[var.x, var.x]").value(scope)
    with pytest.raises(ExpressionError, match="too large"):
        for _ in range(100):
            scope["var"]["n"] = Expression("var.n * var.n").value(scope)
    with pytest.raises(ExpressionError, match="too large"):
        for _ in range(100):
            scope["var"]["t"] = Expression("join(split(var.t, 't'), var.t)").value(scope)
    assert time.process_time() - began < 10


@given(st.text("ab.$[](){}'\"+-*/<>=!,: \n1é_", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_has_a_value_or_a_column(text: str) -> None:
    try:
        Expression(text).value({"a": {"b": [1]}, "b": StepResult("x")})
    except ExpressionError as error:
        assert error.column >= 0


def test_a_template_has_values_and_texts() -> None:
    raw = {"a": "$input.n", "b": "In ${input.city}: ${len(input.n)}", "c": "$$5", "d": ["${var.x}"], "e": "5 $", "f": 1}
    assert Template(raw).value(SCOPE) == {
        "a": [1, 2, 3], "b": "In Bonn: 3", "c": "$5", "d": [2], "e": "5 $", "f": 1,
    }  # fmt: skip
    assert Template({"x": "${look.nothing} ${var.x}"}).value(SCOPE, partial=True) == {"x": "${look.nothing} 2"}
    with pytest.raises(ExpressionError, match="HOME is here") as caught:
        Template("$HOME is here")
    assert "two" in caught.value.hint
