"""Arrays of objects as tables: found, shown, sorted, copied."""

from __future__ import annotations

import csv
import io
import time
from typing import Any

import pytest

from mcp_studio.tui.views.table_view import ROWS_MOST, TableView, csv_of, table_in
from tests.support import wait_until
from tests.tui.views.stage import Stage, staged

BOOKS: list[dict[str, Any]] = [
    {"title": "[b]Ulysses[/b]\x1b[31m", "year": 1922, "tags": ["long"], "price": 12.5},
    {"title": "emma", "year": 1815, "tags": []},
    {"title": "Dune", "year": 1965, "price": None, "more": {"pages": 412, "note": "x" * 100}},
]


def column(view: TableView, place: int) -> list[str]:
    return [view.get_cell_at((row, place)).__rich__().plain for row in range(view.row_count)]  # type: ignore[arg-type]


def text(stage: Stage) -> str:
    return "\n".join(stage.lines())


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (BOOKS, ""),
        ({"items": BOOKS, "total": 3}, "/items"),
        ({"a": [1], "result": {"a/b": BOOKS}}, "/result/a~1b"),
        ({"result": {"deep": {"items": BOOKS}}}, None),
        ([1, 2], None),
        ([BOOKS[0], 1], None),
        ([], None),
        ([{}], None),
        ("text", None),
    ],
)
def test_the_first_array_of_objects_within_two_levels_is_found(value: Any, pointer: str | None) -> None:
    found = table_in(value)
    assert (found and found.pointer) == pointer
    assert found is None or found.rows is BOOKS


async def test_values_are_shortened_safe_and_no_markup() -> None:
    view = TableView()
    async with staged(view, (120, 12)) as (stage, pilot):
        view.show(BOOKS)
        await wait_until(lambda: view.row_count == 3)
        await pilot.pause()
        shown = text(stage)
        assert "[b]Ulysses[/b]␛[31m" in shown and "1922" in shown and '{"pages": 412' in shown
        assert "x" * 41 not in shown and "12.5" in shown


async def test_a_heading_or_space_sorts_and_sorts_the_other_way() -> None:
    view = TableView()
    async with staged(view, (100, 12)) as (_, pilot):
        view.show(BOOKS)
        await wait_until(lambda: view.row_count == 3)
        await pilot.press("right", "space")
        assert column(view, 1) == ["1815", "1922", "1965"]
        await pilot.press("space")
        assert column(view, 1) == ["1965", "1922", "1815"]
        await pilot.click(view, offset=(3, 0))
        assert column(view, 0)[:2] == ["[b]Ulysses[/b]␛[31m", "Dune"]
        await pilot.press("j", "G", "right", "right", "right", "space")
        assert column(view, 3)[0] == "12.5", "what is not there comes last"


async def test_the_table_is_copied_as_csv_and_a_cell_as_it_is() -> None:
    view = TableView()
    async with staged(view, (100, 12)) as (stage, pilot):
        view.show(BOOKS)
        await wait_until(lambda: view.row_count == 3)
        await pilot.press("y", "right", "space", "c")
        assert stage.copied[0] == BOOKS[0]["title"]
        rows = list(csv.DictReader(io.StringIO(stage.copied[1])))
        assert [row["year"] for row in rows] == ["1815", "1922", "1965"]
        assert rows[2]["more"].startswith('{"pages": 412') and rows[0]["price"] == ""


def test_csv_has_every_row_and_quotes_what_must_be() -> None:
    assert csv_of([{"a": 'x,"y"\n', "b": True}, {"c": 1}]) == 'a,b,c\n"x,""y""\n",true,\n,,1\n'


async def test_rows_come_as_they_are_scrolled_to_and_are_bounded() -> None:
    rows = [{"id": number, "name": f"row {number}"} for number in range(ROWS_MOST + 500)]
    view = TableView()
    async with staged(view, (80, 20)) as (stage, pilot):
        view.show(rows)
        await pilot.pause()
        assert view.row_count < 1_000 and view.summary == "first 10,000 of 10,500 rows"
        for _ in range(30):
            await pilot.press("pagedown")
        assert view.cursor_row > 400 and view.row_count < 2_000
        await pilot.press("G")
        await wait_until(lambda: view.cursor_row == ROWS_MOST - 1)
        await pilot.pause()
        assert "row 9999" in stage.lines()[-1] and view.has_focus
        await pilot.press("space", "space", "g")
        await pilot.pause()
        assert "row 10499" in stage.lines()[1], "sorted are all of them"
        view.show(BOOKS)
        await wait_until(lambda: view.row_count == 3)
        assert view.summary == "3 rows"
