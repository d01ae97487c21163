"""Text of any size as rows: what is counted is what is shown, and nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_studio.tui.views.wrapped import WrappedText, break_rows
from rich.cells import cell_len

from mcp_studio.safetext import is_live, safe


def wrapped(data: bytes | str, width: int = 20) -> WrappedText:
    text = WrappedText(data.encode() if isinstance(data, str) else data, width)
    while not text.advance(0):
        pass
    return text


def rows(text: WrappedText) -> list[str]:
    return [text.row(number) for number in range(text.rows)]


def test_lines_are_rows_and_long_ones_break_after_a_space() -> None:
    assert rows(wrapped("one\n\ntwo\n")) == ["one", "", "two"]
    assert rows(wrapped("no line end")) == ["no line end"]
    assert rows(wrapped("")) == []
    assert [row.rstrip() for row in rows(wrapped("the quick brown fox jumps over the lazy dog"))] == [
        "the quick brown fox",
        "jumps over the lazy",
        "dog",
    ]
    assert rows(wrapped("x" * 45)) == ["x" * 20, "x" * 20, "x" * 5]
    assert rows(wrapped("x" * 20 + " ")) == ["x" * 20 + " "]


def test_wide_characters_count_double_and_marks_nothing() -> None:
    assert rows(wrapped("漢" * 25)) == ["漢" * 10, "漢" * 10, "漢" * 5]
    assert rows(wrapped("e\u0301" * 25)) == ["e\u0301" * 20, "e\u0301" * 5]
    assert rows(wrapped("漢字かな 混じり文 である。"))[0].rstrip() == "漢字かな 混じり文"


def test_what_is_live_is_shown_and_counted_with_the_cells_that_its_mark_takes() -> None:
    text = wrapped("\x1b[31mred\t|\u202e" * 4, 20)
    assert "␛[31mred" in text.row(0) and "⟦U+202E⟧" in "".join(rows(text))
    assert not [char for row in rows(text) for char in row if is_live(char)]
    assert all(cell_len(row.rstrip()) <= 20 for row in rows(text))


def test_bytes_that_are_no_text_are_shown_as_escapes() -> None:
    assert rows(wrapped(b"ok \xff\xfe end")) == ["ok \\xff\\xfe end"]
    assert "".join(rows(wrapped(b"\x80" * 70_000, 100))) == "\\x80" * 70_000


def test_crlf_is_one_line_end_even_between_chunks() -> None:
    assert rows(wrapped(b"a\r\nb\r\n")) == ["a", "b"]
    text = wrapped(b"x" * 65_535 + b"\r\nnext", 5)
    assert rows(text)[-1] == "next"
    assert "␍" not in "".join(rows(text))


@pytest.mark.parametrize("unit", ["word ", "x", "漢", "é", "line\n", "a longer line of words\n", "🙂 "])
def test_no_character_is_lost_or_doubled_over_many_chunks(unit: str) -> None:
    source = unit * (300_000 // len(unit.encode()))
    text = wrapped(source, 33)
    shown = "".join(rows(text))
    assert shown == source.replace("\n", "")
    assert all(cell_len(row.removesuffix(" ")) <= 33 for row in rows(text))


def test_rows_and_bytes_find_each_other() -> None:
    source = "".join(f"line {number} with é and some words to break\n" for number in range(5_000))
    data = source.encode()
    text = wrapped(data)
    for number in (0, 1, 777, text.rows // 2, text.rows - 1):
        assert abs((text.row_of(text.offset_of(number)) or 0) - number) <= 1
    for line in (0, 1234, 4_999):
        offset = data.index(f"line {line} ".encode())
        row = text.row_of(offset)
        assert row is not None and text.row(row).startswith(f"line {line} ")


def test_what_is_not_reached_yet_has_no_row() -> None:
    text = WrappedText(b"0123456789\n" * 50_000, 20)
    text.advance(0)
    assert 0 < text.rows < 50_000 and not text.done
    assert text.row_of(500_000) is None and text.row_of(100) == 9


def test_a_part_can_be_taken_with_its_own_line_ends_only() -> None:
    text = wrapped("the quick brown fox jumps over\nthe lazy dog\n" * 3_000)
    assert text.between((0, 4), (1, 5)) == "quick brown fox jumps"
    assert text.between((0, 0), (2, 8)) == "the quick brown fox jumps over\nthe lazy"
    assert len(text.between((0, 0), (text.rows, 0))) == len("the quick brown fox jumps over\nthe lazy dog\n") * 3_000


@settings(max_examples=200)
@given(st.text(st.characters(codec="utf-8"), max_size=80), st.integers(4, 12))
def test_any_text_is_shown_whole_in_rows_that_fit(source: str, width: int) -> None:
    text = wrapped(source, width)
    whole = safe(source, len(source), lines=True)
    assert "".join(rows(text)) == whole.replace("\n", "")
    starts = break_rows(whole, width)
    assert starts == sorted(set(starts))
    for row in rows(text):
        assert cell_len(row.rstrip(" ")) <= width or len(row) == 1
