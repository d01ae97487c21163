"""Two JSON values beside each other: what differs is marked, what is the same is folded."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.trace.diff import diff
from mcp_studio.tui.views.diff_view import DiffRow, DiffView, Fold, diff_rows, folded
from tests.support import wait_until
from tests.tui.views.stage import staged


def shown(before: object, after: object) -> list[tuple[str, str | None, str | None]]:
    return [
        (row.kind, row.before and row.before.strip(), row.after and row.after.strip())
        for row in diff_rows(before, after, diff(before, after))
        if row.kind != "same"
    ]


def test_members_items_and_texts_that_differ_stand_beside_each_other() -> None:
    before = {"a": 1, "b": {"x": [1, 2, 3]}, "gone": {"k": 1}, "text": "one\ntwo\nthree"}
    after = {"a": 2, "b": {"x": [1, 3, 4]}, "text": "one\n2\nthree", "new": True}
    rows = shown(before, after)
    assert ("changed", '"a": 1', '"a": 2') in rows
    assert ("removed", "2", None) in rows and ("added", None, "4") in rows
    assert ("removed", '"k": 1', None) in rows and ("added", None, '"new": true') in rows
    assert ("changed", "two", "2") in rows and not any("three" in (row[1] or "") for row in rows)


def test_a_text_that_is_json_is_looked_into_and_another_type_is_shown_whole() -> None:
    rows = shown({"t": '{"a": 1, "b": 2}', "v": {"x": 1}}, {"t": '{"a": 1, "b": 3}', "v": "x"})
    assert ("changed", '"b": 2', '"b": 3') in rows
    assert rows[-3:] == [("changed", '"v": {', '"v": "x"'), ("removed", '"x": 1', None), ("removed", "}", None)]


def test_what_is_the_same_is_folded_but_for_what_is_near() -> None:
    rows = [DiffRow("same", "x", "x")] * 10 + [DiffRow("changed", "a", "b")] + [DiffRow("same", "y", "y")] * 3
    assert folded(rows) == [Fold(7), *rows[7:]]
    assert folded(rows[:4]) == [Fold(4)] and folded([]) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab\n", max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON, JSON)
def test_whatever_differs_is_marked_and_what_does_not_is_not(before: object, after: object) -> None:
    differences = diff(before, after)
    rows = diff_rows(before, after, differences)
    assert any(row.kind != "same" for row in rows) == bool(differences)
    assert all(row.before == row.after for row in diff_rows(before, before, diff(before, before)))


LEFT = {"items": list(range(20)), "name": "one", "deep": {"x": "[b]\x1b[31m"}}
RIGHT = {"items": [*range(19), 99], "name": "two", "deep": {"x": "[b]\x1b[31m"}, "new": 1}


async def test_both_stand_beside_each_other_where_it_is_wide_and_below_where_not() -> None:
    view = DiffView()
    async with staged(view, (120, 20)) as (stage, pilot):
        view.show(LEFT, RIGHT)
        await wait_until(lambda: view.differences)
        await pilot.pause()
        line = next(line for line in stage.lines() if '"name"' in line)
        assert '±   "name": "one"' in line and '±   "name": "two"' in line
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        lines = [line.strip() for line in stage.lines()]
        assert any(line.startswith("- ") and '"one"' in line for line in lines)
        assert any(line.startswith("+ ") and '"two"' in line for line in lines)


async def test_keys_go_from_difference_to_difference_unfold_and_copy() -> None:
    view = DiffView()
    async with staged(view, (120, 40)) as (stage, pilot):
        view.show(LEFT, RIGHT)
        await wait_until(lambda: stage.of(DiffView.Compared))
        first = view.cursor
        await pilot.press("n")
        second = view.cursor
        assert second > first and '"name"' in stage.lines()[second - view.top]
        await pilot.press("N")
        assert view.cursor == first
        assert any("lines the same" in line for line in stage.lines())
        await pilot.press("g", "enter")
        assert not any("lines the same" in line for line in stage.lines())
        await pilot.press("y")
        assert "~ name:" in stage.copied[0]


async def test_the_same_twice_is_one_fold() -> None:
    view = DiffView()
    async with staged(view, (120, 10)) as (stage, pilot):
        view.show(LEFT, LEFT)
        await wait_until(lambda: stage.of(DiffView.Compared))
        await pilot.pause()
        assert "lines the same" in stage.lines()[0] and view.row_count == 1
