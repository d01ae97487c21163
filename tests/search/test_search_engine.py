"""What judges the search asks it as the studio does."""

from __future__ import annotations

import pytest

from tests.bench.search import HEAD, made_up, measured
from tests.bench.search_engine import build

TOOLS = [
    {"server": "files", "name": "read_file", "description": "Reads a file", "input_schema": {"type": "object"}},
    {"server": "files", "name": "read_file", "description": "Listed twice", "input_schema": {}},
    {"server": "mail", "name": "send", "description": "Sends a letter", "input_schema": None},
    {"server": "mail", "name": "odd", "description": None},
]


@pytest.mark.parametrize("method", ["bm25", "okapi", "substring", "regex"])
def test_every_instant_method_can_be_asked(method: str) -> None:
    search = build(TOOLS)
    assert search("read", 5, method) == [("files", "read_file")]
    assert search("letter", 5, method) == [("mail", "send")]


@pytest.mark.parametrize("method", ["bm25", "regex"])
def test_a_row_of_figures_has_all_of_them(method: str) -> None:
    tools, asked = made_up(200)
    row = measured(method, 30, (tools, asked[:5]))
    assert len(row) == len(HEAD) - 2
    assert all(figure >= 0 for figure in row[:-1])
