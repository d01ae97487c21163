"""What pasted text becomes in a field."""

from __future__ import annotations

import pytest

from mcp_studio.jsontext import Json
from mcp_studio.schema.field import Choice, Field, Flag, JsonField, List, Number, Object, Option, Text
from mcp_studio.tui.screens.paste import readings

TEXT, NUMBER, ANY, OBJECT = Text("t"), Number("n", integer=True), JsonField("j"), Object("o")
WORDS = List("l", items=lambda: Text(""))
NUMBERS = List("l", items=lambda: Number("", integer=True))
CHOICE = Choice("c", options=(Option("a", "A"), Option(2, "Two")))


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (TEXT, "hello\n", "hello"),
        (TEXT, "a\nb\n", "a\nb\n"),
        (TEXT, '"he said"', "he said"),
        (TEXT, '{"a": 1}', '{"a": 1}'),
        (NUMBER, " 1,234 ", 1234),
        (Flag("f"), "yes", True),
        (CHOICE, "Two", 2),
        (ANY, "{'a': 1}", "{'a': 1}"),
        (ANY, '```json\n{"a": 1,} // one\n```', {"a": 1}),
        (ANY, "plain", "plain"),
        (OBJECT, '{"a": 1}', {"a": 1}),
        (WORDS, "a\n\nb\n", ["a", "b"]),
        (WORDS, '["x", "y"]', ["x", "y"]),
        (WORDS, "alone", ["alone"]),
        (NUMBERS, "1\n2", [1, 2]),
        (NUMBERS, "1, 2", [1, 2]),
        (NUMBERS, "5", [5]),
    ],
)
def test_the_likely_meaning_comes_first(field: Field, text: str, value: Json) -> None:
    first = readings(field, text)[0]
    assert first.value == value and type(first.value) is type(value) and first.fits


def test_other_meanings_follow_and_say_where_they_do_not_fit() -> None:
    found = {reading.words: (reading.value, reading.fits) for reading in readings(OBJECT, "[1]")}
    assert found == {"JSON": ([1], False), "text": ("[1]", False)}
    assert [reading.value for reading in readings(TEXT, '{"a": 1}')] == ['{"a": 1}', {"a": 1}]
    assert [reading.fits for reading in readings(NUMBERS, "1\nx")] == [False, False]
    assert readings(TEXT, " \n") == ()


def test_digits_and_order_stay_as_they_are_pasted() -> None:
    value = readings(OBJECT, '{"z": 1.50, "a": 123456789012345678901234567890}')[0].value
    assert repr(value) == "{'z': 1.50, 'a': 123456789012345678901234567890}"


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "(" * 60_000, "{'a':" * 5_000, "-" * 50_000 + "1", "1e999999999", "{1}"]
)
def test_hostile_text_is_only_text(text: str) -> None:
    assert readings(ANY, text)[-1].value == text or readings(ANY, text)[0].words == "typed"
