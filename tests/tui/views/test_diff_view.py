"""Two JSON values: each place that differs, with what stood there and what stands there now."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.trace.diff import diff
from mcp_studio.tui.views.diff_view import DiffView, rows_of
from tests.support import wait_until
from tests.tui.views.stage import staged

LEFT = {"items": list(range(20)), "name": "one", "deep": {"x": "[b]\x1b[31m"}, "gone": {"k": 1}}
RIGHT = {"items": [*range(19), 99], "name": "two", "deep": {"x": "[/b]\x1b[31m"}, "new": True}


def shown(before: object, after: object) -> list[str]:
    return [f"{row.sign}{row.text}" for one in diff(before, after) for row in rows_of(one)]


def test_each_place_stands_with_what_was_and_what_is_there() -> None:
    rows = shown(LEFT, RIGHT)
    at = rows.index("name  changed")
    assert rows[at + 1 : at + 3] == ['-"one"', '+"two"']
    assert "gone  removed" in rows and '-  "k": 1' in rows
    assert "new  added" in rows and "+true" in rows


def test_texts_are_compared_line_by_line_with_some_lines_around() -> None:
    lines = [f"line {number}" for number in range(100)]
    rows = shown({"t": "\n".join(lines)}, {"t": "\n".join([*lines[:50], "new", *lines[51:]])})
    assert "-line 50" in rows and "+new" in rows and " line 49" in rows and " line 10" not in rows


def test_a_text_that_is_json_is_looked_into_and_another_type_is_shown_whole() -> None:
    rows = shown({"t": '{"a": 1, "b": 2}', "v": {"x": 1}}, {"t": '{"a": 1, "b": 3}', "v": "x"})
    assert rows == ["t.b  changed", "-2", "+3", "v  another type", "-{", '-  "x": 1', "-}", '+"x"']


def test_a_very_long_value_is_shown_in_part() -> None:
    assert len(shown({}, {"new": list(range(100_000))})) < 2_100


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab\n", max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=100, deadline=None)
@given(JSON, JSON)
def test_whatever_differs_is_shown(before: object, after: object) -> None:
    assert bool(shown(before, after)) == bool(diff(before, after))


async def test_keys_go_from_difference_to_difference_and_copy() -> None:
    view = DiffView()
    async with staged(view, (80, 30)) as (stage, pilot):
        view.show(LEFT, RIGHT)
        await wait_until(lambda: stage.of(DiffView.Compared))
        await pilot.pause()
        places = [number for number, line in enumerate(stage.lines()) if line and not line.startswith(" ")]
        seen = [view.cursor]
        for _ in places[1:]:
            await pilot.press("n")
            seen.append(view.cursor)
        assert seen == places and len(places) == len(view.differences)
        await pilot.press("N", "y")
        assert view.cursor == places[-2] and "~ name:" in stage.copied[0]
        assert not any("\x1b" in line for line in stage.lines())


async def test_the_same_twice_says_so() -> None:
    view = DiffView()
    async with staged(view, (80, 10)) as (stage, pilot):
        view.show(LEFT, LEFT)
        await wait_until(lambda: stage.of(DiffView.Compared))
        await pilot.pause()
        assert "No differences." in stage.lines()[0]
