"""JSON in and out: lossless where asked, bounded, safe to print."""

from __future__ import annotations

import json
import math
import sys
from unittest.mock import patch

import pydantic_core
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio import jsontext
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import (
    JsonProblem,
    depth,
    dumps,
    has_more_values,
    loads,
    pretty,
    printable,
)
from mcp_studio.safetext import is_live

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


FILLER = "x" * 20_000
"""As much text as makes a value a large one."""


@given(values)
def test_what_goes_out_comes_in_again_however_large_it_is(value: object) -> None:
    assert loads(dumps(value)) == value
    assert loads(dumps(value), exact=True) == value
    assert loads(pretty(loads(dumps(value), exact=True))) == value
    assert pretty(value) == json.dumps(value, ensure_ascii=False, indent=2)
    assert sys.modules["pydantic_core"] is pydantic_core  # the faster encoder is used where it is loaded
    assert loads(dumps([FILLER, value])) == [FILLER, value]
    with patch.object(jsontext, "LARGE", 0):
        assert repr(loads(dumps(value))) == repr(value)
        assert loads(json.dumps(value).encode()) == value


@pytest.mark.parametrize("text", ["1e400", '"\\ud800"', '"\x7f NaN"', "9" * 4_000, '"Infinity"', "5e-324", "-1"])
def test_what_a_faster_encoder_writes_otherwise_is_not_left_to_it(text: str) -> None:
    value = json.loads(text) if text.startswith('"') else loads(text)
    assert dumps([FILLER, value]) == f'["{FILLER}",{text}]'.encode()


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "a b, c" * 9_000,
        "\\n\U0001f600\n é\t" * 5_000,
        "x" * 50_000,
        "漢" * 20_000 + " end",
        "a " * 9_000 + "\\n",
        ", \\ ",
    ],
)
def test_a_text_that_stayed_json_text_is_written_piece_by_piece(text: str, ascii: bool) -> None:
    raw = json.dumps(text, ensure_ascii=ascii).encode()
    assert "".join(jsontext.text_pieces(memoryview(raw))) == text
    assert "".join(jsontext.text_pieces(memoryview(json.dumps(f"{text}\n").encode()))) == f"{text}\n"
    assert "".join(jsontext.pieces({"a": memoryview(raw)}, "")).encode() == b'{"a":' + raw + b"}"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_goes_out_that_json_cannot_say(value: float) -> None:
    for one in ([value], [FILLER, {"a": value}]):
        with pytest.raises(ValueError, match="JSON"):
            dumps(one)


@pytest.mark.parametrize(
    "text",
    [
        *(
            '["\\ud800"]',
            "[1.5, -0]",
            "[" * 300 + "]" * 300,
            '{"a":1,"a":{"b":2}}',
            '["\\u0000\\ud83d\\ude00"]',
            '["\xff"]',
        ),
        *("[1e400]", "[-1E+0400]", f"[{'9' * 400}.5]", f"[1, {'9' * 250}e99]", f"[{'9' * 400}]", f"[{'9' * 6_000}]"),
        *("[1, 5e-324, 1.7976931348623157e308, 0.1e1]", "[NaN]", "[1,]", "[01]", "", '["\x01"]', "[" * 600 + "]" * 600),
    ],
)
def test_what_a_faster_parser_reads_otherwise_is_not_left_to_it(text: str) -> None:
    def read() -> str:
        try:
            return repr(loads(text.encode("latin-1")))
        except (JsonProblem, LimitExceeded) as problem:
            return str(problem)

    small = read()
    with patch.object(jsontext, "LARGE", 0):
        assert read() == small


@given(values)
def test_printed_json_is_the_same_value_without_live_characters(value: object) -> None:
    text = printable(value)
    assert json.loads(text) == value
    assert not [c for c in text if c != "\n" and is_live(c)]


@pytest.mark.parametrize("text", ["1.0", "1e400", "-0.0", "0.1000", "12345678901234567890123", "1E+2", "9" * 6_000])
def test_numbers_stay_as_they_were_typed(text: str) -> None:
    assert dumps(loads(text, exact=True)) == text.encode()
    assert pretty(loads(f"[{text}]", exact=True)) == f"[\n  {text}\n]"


@pytest.mark.parametrize("text", ["1e400", "-1e999", '{"a":[1e309,1.5]}'])
def test_numbers_beyond_every_float_can_be_written_again(text: str) -> None:
    assert dumps(loads(text)) == text.encode()


def test_lone_surrogates_go_out_as_escapes() -> None:
    assert dumps(["\ud800", "é"]) == '["\\ud800","é"]'.encode()


@pytest.mark.parametrize("text", ["NaN", "Infinity", "[1,]", "", "{'a':1}", "[1] 2"])
def test_what_is_no_json_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(JsonProblem) as caught:
        loads(text)
    assert caught.value.reason


def test_problems_say_where() -> None:
    with pytest.raises(JsonProblem) as caught:
        loads('{\n  "a": oops\n}')
    assert (caught.value.line, caught.value.column) == (2, 8)


@pytest.mark.parametrize("levels", [600, 200_000])
def test_nesting_is_bounded(levels: int) -> None:
    with pytest.raises(LimitExceeded):
        loads("[" * levels + "]" * levels)
    assert loads("[" * 500 + "]" * 500)


def test_depth_counts_containers() -> None:
    assert [depth(value) for value in (1, [], [1], [[{}]], {"a": [1]})] == [0, 1, 1, 3, 2]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (b'{"csv":"' + b"a,b," * 30 + b'"}', False),
        (b'{"csv":"' + b'[\\",{' * 30 + b'"}', False),
        (b"[" + b"1," * 30 + b"1]", True),
        (b'["' + b'\\"' * 1_000_000, False),  # without an end, and read in one go
    ],
)
def test_commas_and_brackets_in_strings_are_no_values(text: bytes, more: bool) -> None:
    assert has_more_values(text, 20) is more
