"""Edits at places of a JSON value: each gives a new value, keeps order, and refuses what has no meaning."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.schema.place import (
    NoPlace,
    get,
    get_or_none,
    has,
    insert,
    move,
    named,
    path_of,
    pointer,
    put,
    remove,
    rename,
)

VALUE: Any = {"a": {"x/~": 1, "none": None}, "list": [10, 20, 30]}


def test_pointers_and_paths_are_two_spellings_of_a_place() -> None:
    path = ("a", "x/~")
    assert pointer(*path) == "/a/x~1~0"
    assert path_of("/a/x~1~0", VALUE) == path
    assert path_of("/list/2", VALUE) == ("list", 2)
    assert path_of("/a/2", VALUE) == ("a", "2")
    assert named("/list/0", VALUE) == "list › 1" and named("/a/2", VALUE) == "a › 2"


def test_null_is_there_and_absent_is_not() -> None:
    assert has(VALUE, ("a", "none")) and get(VALUE, ("a", "none")) is None
    assert not has(VALUE, ("a", "other")) and get_or_none(VALUE, ("a", "other")) is None
    with pytest.raises(NoPlace):
        get(VALUE, ("list", 3))


def test_a_new_key_comes_behind_its_elder_neighbours() -> None:
    assert list(put({"a": 1, "c": 3}, ("b",), 2, before=("a",))) == ["a", "b", "c"]  # type: ignore[call-overload]
    assert list(put({"c": 3}, ("b",), 2, before=("a",))) == ["b", "c"]  # type: ignore[call-overload]


def test_objects_and_lists_on_the_way_are_made() -> None:
    assert put(None, ("a", "b"), 1) == {"a": {"b": 1}}
    assert put({}, ("a", 0, "b"), 1) == {"a": [{"b": 1}]}
    assert put({"l": [1]}, ("l", 1), 2) == {"l": [1, 2]}
    for path in (("list", 9), ("list", "key"), ("list", 0, "key")):
        with pytest.raises(NoPlace):
            put(VALUE, path, 1)


def test_edits_leave_the_old_value_alone() -> None:
    before: Any = {"a": {"b": [1, 2]}}
    assert remove(before, ("a", "b", 0)) == {"a": {"b": [2]}}
    assert insert(before, ("a", "b", 1), 9) == {"a": {"b": [1, 9, 2]}}
    assert insert({}, ("new", 0), 9) == {"new": [9]}
    assert move(before, ("a", "b", 0), 5) == ({"a": {"b": [2, 1]}}, ("a", "b", 1))
    assert before == {"a": {"b": [1, 2]}}


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert remove(VALUE, ("a", "other")) is VALUE


def test_a_renamed_key_keeps_its_place_and_takes_no_other_ones() -> None:
    assert list(rename({"a": 1, "b": 2, "c": 3}, ("b",), "z")) == ["a", "z", "c"]  # type: ignore[call-overload]
    with pytest.raises(NoPlace):
        rename({"a": 1, "b": 2}, ("a",), "b")
