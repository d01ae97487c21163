"""`call.query`: parts of results by JMESPath, and what no expression may cost."""

import time

import pytest

from mcp_studio.call.query import parsed, query
from mcp_studio.errors import LimitExceeded, StudioError, UsageError
from mcp_studio.jsontext import Json, dumps, loads

ROWS: Json = {"rows": [{"n": number, "s": "x" * 50} for number in range(50)]}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("@", ROWS), ("rows[1].n", 1), ("rows[?n > `47`].n", [48, 49]), ("length(rows)", 50), ("none.such", None),
        ("rows[0].{first: n, again: n}", {"first": 0, "again": 0}), ("sort_by(rows, &n)[-1].n", 49),
    ],
)  # fmt: skip
def test_an_expression_finds_a_part_or_makes_another_shape(expression: str, found: Json) -> None:
    assert query(ROWS, expression) == found


def test_numbers_stay_as_they_were_written() -> None:
    text = b"[1.0,1e400,123456789012345678901234567890]"
    assert dumps(query({"a": loads(text, exact=True)}, "a")) == text


@pytest.mark.parametrize(
    ("expression", "column", "words"),
    [
        ("a.", 3, "it ends too early"), ("a[", 3, "it ends too early"), ("a b", 3, "`b` cannot stand there"),
        ("a.#", 3, "Unknown token #"), ("a.'x", 3, "Unclosed"), ("a.lenght(@)", 3, "there is no function lenght()"),
        ("!" * 900 + "a", 1, "it is nested too deep"),
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_expression_is_told_with_its_column(expression: str, column: int, words: str) -> None:
    with pytest.raises(UsageError) as told:
        parsed(expression)
    assert told.value.detail == {"column": column}
    assert f"column {column}: {words}" in told.value.message


@pytest.mark.parametrize("expression", ["", "  ", "a" * 1_001])
def test_an_expression_has_a_length(expression: str) -> None:
    with pytest.raises(UsageError, match="1 to 1,000 characters"):
        query(ROWS, expression)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("length(`5`)", "length() takes string or array or object, not number"), ("length(@, @)", "1 argument"),
        ("rows[0].n < 'a'", "not supported"), ("rows[::0]", "cannot be zero"), ("&rows", "not JSON"),
        ("deep|" + "|".join(["[@]"] * 200), "nested"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_value_is_told_without_the_value(expression: str, words: str) -> None:
    with pytest.raises(StudioError) as told:
        query({"rows": [{"n": 1}], "deep": loads("[" * 400 + "]" * 400)}, expression)
    assert words in told.value.message
    assert len(told.value.message) < 200


@pytest.mark.parametrize("doubled", ["[@,@]", "to_string([@,@])"])
def test_no_expression_makes_more_than_a_large_message(doubled: str) -> None:
    began = time.process_time()
    with pytest.raises(LimitExceeded, match="too much"):
        query(ROWS, "|".join([doubled] * (1_000 // (len(doubled) + 1))))
    assert time.process_time() - began < 30
