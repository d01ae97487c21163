"""What is typed becomes the value that was meant, digit by digit, or a sentence that says why not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.jsontext import dumps
from mcp_studio.schema.field import Choice, Choices, Field, Flag, JsonField, Number, Option, Text
from mcp_studio.schema.text import from_text, to_text

INTEGER = Number("it", integer=True)
NUMBER = Number("it")
FLAG = Flag("it")
MIXED = Choice("it", options=(Option(1, "One"), Option("1", "1"), Option(True, "Yes"), Option(None, "null")))
SAME = Choice("it", options=(Option(1, "Same"), Option(2, "Same")))
MANY = Choices("it", options=(Option("a", "A"), Option("b", "b"), Option(3, "3")))
ANY = JsonField("it", hint="any JSON")
OBJECT = JsonField("it", hint="object {a}", types=("object",))
TEXT_OR_LIST = JsonField("it", types=("string", "array"))

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (Text("it"), " as typed ", " as typed "),
        (Text("it", nullable=True), "null", "null"),
        (INTEGER, " -5 ", -5),
        (INTEGER, "123456789012345678901234567890", 123456789012345678901234567890),
        (INTEGER, "2.0", 2.0),
        (NUMBER, "1e3", 1000.0),
        (Number("it", nullable=True), "null", None),
        (FLAG, "TRUE", True),
        (FLAG, "off", False),
        (MIXED, "One", 1),
        (MIXED, "1", "1"),
        (MIXED, '"1"', "1"),
        (MIXED, "true", True),
        (MIXED, "null", None),
        (MANY, "A, 3", ["a", 3]),
        (MANY, '["b", "zz"]', ["b", "zz"]),
        (MANY, "", []),
        (ANY, '{"a": [1]}', {"a": [1]}),
        (ANY, "plain words", "plain words"),
        (ANY, "5", 5),
        (ANY, '"5"', "5"),
        (ANY, "null", None),
        (TEXT_OR_LIST, "5", "5"),
        (TEXT_OR_LIST, "null", "null"),
        (TEXT_OR_LIST, '["5"]', ["5"]),
    ],
)
def test_text_becomes_the_value_that_was_meant(field: Field, text: str, value: Any) -> None:
    found = from_text(field, text)
    assert (found, type(found) if isinstance(value, bool | str | None) else None) == (
        value,
        type(value) if isinstance(value, bool | str | None) else None,
    )


@pytest.mark.parametrize("text", ["1.10", "1e400", "0.1000000000000000055511151231257827", "-0.0", "9" * 5_000, "1E5"])
def test_numbers_go_out_as_they_were_typed(text: str) -> None:
    assert dumps(from_text(NUMBER, text)).decode() == text
    assert dumps(from_text(ANY, f"[{text}]")).decode() == f"[{text}]"


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        (INTEGER, "two", "must be a whole number, got 'two'"),
        (INTEGER, "2.5", "must be a whole number, got '2.5'"),
        (INTEGER, "1_000", "must be a whole number, got '1_000'"),
        (INTEGER, "", "must be a whole number, got ''"),
        (NUMBER, "NaN", "must be a number, got 'NaN'"),
        (NUMBER, "1,5", "must be a number, got '1,5'"),
        (NUMBER, "٣", "must be a number, got '٣'"),
        (FLAG, "maybe", "must be true or false, got 'maybe'"),
        (MIXED, "two", "must be one of 1, 1, true, null; got 'two'"),
        (MANY, "a,zz", "must be one of a, b, 3; got 'zz'"),
        (MANY, "[1", "must be a list as JSON: expected ',' delimiter (line 1, column 3)"),
        (OBJECT, "{a}", "must be object {a} as JSON"),
        (OBJECT, "words", "must be object {a} as JSON: expected value (line 1, column 1)"),
        (ANY, '{"a": }', "must be JSON: expected value (line 1, column 7)"),
        (ANY, "[" * 600 + "]" * 600, "The JSON is nested deeper than 512 levels."),
    ],
)
def test_text_without_a_meaning_is_refused_in_a_sentence(field: Field, text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_text(field, text)
    assert str(caught.value).startswith(sentence)


@given(VALUES)
def test_any_value_comes_back_from_its_text(value: Any) -> None:
    for field in (ANY, TEXT_OR_LIST):
        if field is ANY or isinstance(value, (str, list)):
            again = from_text(field, to_text(field, value))
            assert dumps(again) == dumps(value)


@pytest.mark.parametrize("field", [MIXED, SAME])
def test_options_come_back_from_their_text(field: Choice) -> None:
    for option in field.options:
        again = from_text(field, to_text(field, option.value))
        assert (again, type(again)) == (option.value, type(option.value))


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back_from_their_text(value: float) -> None:
    assert from_text(NUMBER, to_text(NUMBER, value)) == value


def test_json_is_shown_without_live_characters_and_stays_the_same() -> None:
    value = {"a": "\x1b\u202e\x9b", "b": ["\ud800"]}
    shown = to_text(ANY, value)
    assert shown.isascii() and shown.isprintable()
    assert from_text(ANY, shown) == value


def test_long_values_come_back_whole() -> None:
    value = {"a": "x" * 100_000}
    assert from_text(ANY, to_text(ANY, value)) == value


def test_a_value_of_the_wrong_type_is_shown_as_json() -> None:
    assert to_text(Text("it"), 5) == "5"
    assert to_text(INTEGER, "two") == "two"
    assert to_text(INTEGER, [1]) == "[1]"
