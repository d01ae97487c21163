"""How two definitions differ."""

from __future__ import annotations

from typing import Any

from mcp_studio.catalog.listing import Change, change_of, diff

OLD: dict[str, Any] = {"name": "t", "description": "one\ntwo", "inputSchema": {"type": "object"}, "title": "T"}


def test_what_is_the_same_has_not_changed() -> None:
    assert change_of(OLD, dict(OLD)) is None


def test_the_members_that_differ_are_named_in_their_order() -> None:
    now = {"name": "t", "description": "other", "inputSchema": {"type": "object"}, "annotations": {}}
    assert change_of(OLD, now) == Change("changed", ("description", "title", "annotations"), OLD)
    change = change_of(OLD, now)
    assert change is not None and change.words == "changed: description, title, annotations"


def test_what_was_not_there_is_new() -> None:
    assert change_of(None, OLD) == Change("new")
    assert Change("new").words == "new"


def test_a_member_that_is_null_now_is_not_one_that_is_missing() -> None:
    assert change_of({"name": "t"}, {"name": "t", "x": None}) == Change("changed", ("x",), {"name": "t"})


def test_the_difference_is_shown_line_by_line() -> None:
    lines = list(diff({"a": 1, "b": 2}, {"a": 1, "b": 3}))
    assert '-  "b": 2' in lines and '+  "b": 3' in lines and '   "a": 1,' in lines


def test_definitions_that_are_too_long_to_be_compared_say_so() -> None:
    (line,) = diff(list(range(5_000)), list(range(6_000)))
    assert "too many" in line
