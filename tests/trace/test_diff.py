"""What differs is told with its place, what only changes each time is not, and no value takes more than its size."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, dumps, loads
from mcp_studio.present.trace import difference_line
from mcp_studio.trace.diff import MOST, Difference, Ignore, compare, diff, path_text
from tests.support import run

ALL = Ignore(usual=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b", '{"a":1}', "[2]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abid"), inner, max_size=4),
    max_leaves=12,
)


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    """What stands at a place; texts are looked into where they are JSON."""
    for step in path:
        if isinstance(value, str):
            value = loads(value)
        value = value[step]
    return value


def kinds(before: Json, after: Json, ignore: Ignore = ALL) -> list[tuple[str, str]]:
    """Kind and place of every difference."""
    return [(one.kind, path_text(one.path)) for one in diff(before, after, ignore)]


def strict(value: Json) -> Json:
    """A value in which true is not 1."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, list):
        return [strict(item) for item in value]
    return (type(value).__name__, value)


@given(VALUES)
@settings(max_examples=25, deadline=None)
def test_a_value_does_not_differ_from_itself(value: Json) -> None:
    assert diff(value, copy.deepcopy(value), ALL) == ()


@given(VALUES, VALUES)
@settings(max_examples=40, deadline=None)
def test_every_difference_is_where_it_says_and_there_is_one_exactly_where_values_differ(old: Json, new: Json) -> None:
    found = diff(old, new, ALL)
    assert bool(found) == (strict(old) != strict(new))
    assert bool(found) == bool(diff(new, old, ALL))
    for one in found:
        if one.kind != "added":
            assert strict(at(old, one.was)) == strict(one.before)
        if one.kind != "removed":
            assert strict(at(new, one.path)) == strict(one.after)


@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=12))
@settings(max_examples=40, deadline=None)
def test_the_differences_of_two_arrays_make_the_one_into_the_other(old: list[int], new: list[int]) -> None:
    found = diff(old, new, ALL)
    gone = {one.was[0] for one in found if one.kind in ("removed", "changed", "moved")}
    made: dict[int, int] = {int(one.path[0]): one.after for one in found if one.kind in ("added", "changed", "moved")}
    rest = iter([item for index, item in enumerate(old) if index not in gone])
    assert [made[index] if index in made else next(rest) for index in range(len(new))] == new


def test_members_and_items_are_told_apart() -> None:
    old = {"a": 1, "b": [1, 2, 3], "c": {"d": None}, "gone": True}
    new = {"a": "1", "b": [1, 9, 2, 3], "c": {"d": False}, "new": {}}
    assert kinds(old, new) == [
        ("type", "a"), ("added", "b[1]"), ("type", "c.d"), ("removed", "gone"), ("added", "new"),
    ]  # fmt: skip


def test_numbers_count_by_their_value_and_true_is_no_number() -> None:
    assert diff([1, 2.0, -0.0], [1.0, 2, 0], ALL) == ()
    assert kinds([1, -1], [True, -2]) == [("type", "[0]"), ("changed", "[1]")]


def test_items_with_names_belong_together_wherever_they_stand() -> None:
    old = {"tools": [{"name": "a", "x": 1}, {"name": "b"}, {"name": "c"}]}
    new = {"tools": [{"name": "c"}, {"name": "a", "x": 2}, {"name": "d"}]}
    assert kinds(old, new) == [
        ("removed", "tools[1]"), ("moved", "tools[0]"), ("changed", "tools[1].x"), ("added", "tools[2]"),
    ]  # fmt: skip


def test_a_changed_item_is_looked_into_and_others_are_found_again() -> None:
    old = [{"t": "one"}, {"t": "two"}, {"t": "three"}]
    new = [{"t": "zero"}, {"t": "one"}, {"t": "2"}, {"t": "three"}]
    assert kinds(old, new) == [("added", "[0]"), ("changed", "[2].t")]


def test_times_ids_and_what_one_names_are_no_differences() -> None:
    old = {"_meta": {"a": 1}, "requestId": 1, "text": "at 2026-01-01T10:00:00Z", "n": [{"v": 1, "id": 2}]}
    new = {"requestId": 2, "text": "at 2027-02-03T11:12:13.5+02:00", "n": [{"v": 3, "id": 2}]}
    assert kinds(old, new, Ignore()) == [("changed", "n[0].v")]
    assert kinds(old, new, Ignore(["n[*].v"])) == []
    assert kinds(old, new, Ignore(["$.v"])) == [("changed", "n[0].v")]
    assert kinds(old, new, Ignore(["*.v"])) == []
    assert kinds({"v": 1}, {"v": 2}, Ignore(["*.v"])) == []
    assert len(kinds(old, new)) == 4


@pytest.mark.parametrize(
    ("pattern", "hidden"),
    [
        ("b", True), ("a[1].b", True), ("a[*].b", True), ("a.*.b", True), ("$.a[*].b", True), ('a[1]["b"]', True),
        ("[1]", True), ("a", True), ("a[2].b", False), ("$.b", False), ("c.b", False), ("B", False), ("?b", False),
        ("[*].*", True),
    ],
)  # fmt: skip
def test_a_pattern_matches_the_end_of_a_place_or_all_of_it(pattern: str, hidden: bool) -> None:
    assert (diff({"a": [0, {"b": 1}]}, {"a": [0, {"b": 2}]}, Ignore([pattern], usual=False)) == ()) is hidden


@pytest.mark.parametrize("pattern", ["", "$", "a[", "a[x]", "a..b", "]"])
def test_a_pattern_that_cannot_be_read_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(UsageError, match="no pattern"):
        Ignore([pattern])


def test_texts_that_are_json_are_looked_into() -> None:
    old, new = {"text": '{"a": 1, "took": 5}'}, {"text": '{"took":6,"a":1}'}
    assert diff(old, new) == ()
    assert kinds(old, {"text": '{"took":6,"a":2}'}, Ignore()) == [("changed", "text.a")]


@pytest.mark.parametrize(
    ("hidden", "text", "same"),
    [
        ("key ‹redacted› end", "key abc end", True), ("‹redacted›", "", True), ("‹redacted›, ‹redacted›", "a, b", True),
        ("key ‹redacted› end", "key abc", False), ("a‹redacted›a", "a", False), ("x ‹redacted›", "y abc", False),
        ('{"a": "‹redacted›", "b": 1}', '{"b": 1, "a": "abc"}', True),
    ],
)  # fmt: skip
def test_what_was_taken_out_may_be_anything(hidden: str, text: str, same: bool) -> None:
    assert (diff({"t": hidden}, {"t": text}, ALL) == ()) is same
    assert (diff([text], [hidden], ALL) == ()) is same


def test_more_differences_than_can_be_told_are_not_told() -> None:
    found = diff([0] * 300_000, [], ALL)
    assert len(found) == MOST + 1 and found[-1].kind == "more"


def hostile() -> list[tuple[str, Json, Json]]:
    """Pairs of values that would take long, or too much of the stack."""
    deep: Json = 1
    other: Json = 2
    for _ in range(500):
        deep, other = [deep], [other]
    many = [index % 7 for index in range(40_000)]
    twisted = [index * 31 % 7 for index in range(40_000)]
    rows = [{"id": index, "v": index} for index in range(20_000)]
    return [
        ("deep", deep, other),
        ("few values again and again", many, twisted),
        ("rows the other way round", rows, rows[::-1]),
        ("a long text", "a" * 3_000_000, "a" * 2_999_999 + "b"),
        ("nearly dates", "2026-01-01T1" * 200_000, "2026-01-01T2" * 200_000),
    ]


@pytest.mark.parametrize(("name", "old", "new"), hostile(), ids=lambda value: value if isinstance(value, str) else "")
def test_hostile_values_take_a_bounded_time(name: str, old: Json, new: Json) -> None:
    began = time.process_time()
    found = diff(old, new, ALL)
    assert found and time.process_time() - began < 5, name


def test_bytes_are_compared_beside_the_event_loop_and_need_not_be_json() -> None:
    large = {"rows": [{"id": index, "v": "x" * 50} for index in range(1_000)]}
    changed = copy.deepcopy(large)
    changed["rows"][7]["v"] = "y"
    assert [path_text(one.path) for one in run(compare(dumps(large), dumps(changed)))] == ["rows[7].v"]
    assert run(compare(b"not json", b"not json")) == ()
    assert run(compare(b"not json", b"no json"))[0].kind == "changed"


def test_a_difference_is_told_on_a_line_without_anything_live() -> None:
    def line(one: Difference) -> str:
        return difference_line(one, 20)

    assert line(diff({"a": "x"}, {"a": "\x1b[31my"}, ALL)[0]) == r'~ a: "x" → "\u001b[31my"'
    assert line(diff({"a\u202e": 1}, {}, ALL)[0]) == '- ["a⟦U+202E⟧"]: 1'
    assert line(diff({}, {"a": list(range(9))}, ALL)[0]) == "+ a: […] 9 items"
    assert line(diff(1, 2, ALL)[0]) == "~ (the whole value): 1 → 2"
    assert line(Difference("more", ())).startswith("… and more")
    long = diff("a" * 100 + "1" + "b" * 100, "a" * 100 + "2" + "b" * 100, ALL)[0]
    before, _ = difference_line(long, 40).split(" → ")
    assert before.startswith('~ (the whole value): "…aaaa') and "1b" in before
    assert line(diff([{"id": 1}, {"id": 2}], [{"id": 2}, {"id": 1}], ALL)[0]).startswith("> [")
