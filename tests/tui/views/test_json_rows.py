"""The text of a JSON string is shown from where it stands, without a copy of it."""

from __future__ import annotations

import json

import pytest
from mcp_studio.tui.views.json_rows import StringRows
from mcp_studio.tui.views.json_text import Decoding
from mcp_studio.tui.views.wrapped import WrappedText

TEXT = "".join(f'{n} "words" \\ n\\\\n of a line, é and 😀{"!" * (n % 40)}\n' for n in range(12_000)) + "the end"


def rows(text: str, *, ascii: bool) -> StringRows:
    """All rows of a string that stands in something larger."""
    head = b'{"text": "'
    data = head + json.dumps(text, ensure_ascii=ascii).encode()[1:-1] + b'"}'
    found = StringRows(data, 80, len(head), len(data) - 2)
    while not found.advance(1):
        pass
    return found


@pytest.mark.parametrize("ascii", [True, False])
def test_rows_are_those_of_the_text_that_the_string_means(ascii: bool) -> None:
    found, plain = rows(TEXT, ascii=ascii), WrappedText(TEXT.encode(), 80)
    while not plain.advance(1):
        pass
    assert found.rows == plain.rows
    for number in (0, 1, 500, 3_333, plain.rows // 2, plain.rows - 1):
        assert found.row(number) == plain.row(number)
    assert found.row_of(found.data.rindex(b"the end")) == found.rows - 1
    assert abs((found.row_of(found.offset_of(2_000)) or 0) - 2_000) <= 1


def test_a_long_line_is_parted_in_no_escape() -> None:
    found = rows('"' * 300_000, ascii=True)
    assert sum(len(found.row(number)) for number in range(found.rows)) == 300_000
    assert {found.row(number).strip('"') for number in range(found.rows)} == {""}


@pytest.mark.parametrize("text", ["", "short", TEXT])
def test_decoding_in_slices_gives_the_whole(text: str) -> None:
    data = b"[" + json.dumps(text).encode() + b"]"
    reading = Decoding(data, 1, len(data) - 1)
    while (found := reading.advance(0)) is None:
        pass
    assert found.decode() == text
