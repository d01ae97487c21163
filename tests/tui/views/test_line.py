"""Pieces of a line: fitting, spreading, marking matches."""

from __future__ import annotations

from dataclasses import fields

import pytest
from rich.cells import cell_len

from mcp_studio.tui.views.glyphs import ASCII, UNICODE, Glyphs, choose, glyphs
from mcp_studio.tui.views.line import cut, fit, mark_matches, spread, width_of


@pytest.mark.parametrize("text", ["", "short", "exactly 10", "longer than ten", "漢字漢字漢字漢字", "é" * 30])
def test_fit_gives_exactly_the_cells_asked_for(text: str) -> None:
    assert cell_len(fit(text, 10)) == 10
    assert cell_len(fit(text, 10, right=True)) == 10
    assert fit(text, 0) == ""
    assert cell_len(cut(text, 10)) == min(10, cell_len(text))


def test_fit_marks_what_it_cut() -> None:
    assert fit("longer than ten", 10) == "longer th…"
    assert cut("longer than ten", 10) == "longer th…"
    assert fit("7", 3, right=True) == "  7"


def test_spread_keeps_the_right_end_and_cuts_the_left() -> None:
    assert spread([("name", "")], [("12ms", "dim")], 12) == [("name", ""), ("    ", ""), ("12ms", "dim")]
    pieces = spread([("a long name ", "x"), ("more", "y")], [("12ms", "dim")], 12)
    assert "".join(text for text, _ in pieces) == "a long …12ms" and width_of(pieces) == 12
    assert spread([("name", "")], [("too wide", "")], 4) == [("name", "")]


def test_matches_are_marked_whatever_their_case() -> None:
    assert mark_matches("Read File", ["file", "re"], "name") == [
        ("Re", "match"), ("ad ", "name"), ("File", "match"),
    ]  # fmt: skip
    assert mark_matches("a.b", ["."]) == [("a", ""), (".", "match"), ("b", "")]
    assert mark_matches("text", []) == [("text", "")]
    assert "".join(text for text, _ in mark_matches("İstanbul", ["i"])) == "İstanbul"


def test_every_glyph_is_one_cell_and_the_plain_set_is_ascii() -> None:
    for field in fields(Glyphs):
        assert cell_len(getattr(UNICODE, field.name)) == 1, field.name
        assert len(getattr(ASCII, field.name)) == 1 and getattr(ASCII, field.name).isascii(), field.name


def test_the_set_is_chosen_for_all_views() -> None:
    try:
        assert choose(ascii=True) is glyphs() is ASCII
    finally:
        assert choose(ascii=False) is glyphs() is UNICODE
