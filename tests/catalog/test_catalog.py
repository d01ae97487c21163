"""The catalog: what is found under which name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.listing import Change, Listing, Ref, change_of, diff, salvage


def catalog(**servers: Iterable[str]) -> Catalog:
    """A catalog of servers with tools of these names."""
    made = Catalog()
    for server, names in servers.items():
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        made.put(Listing(server, "tool", salvage(server, "tool", tools), "fresh"))
    return made


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("zzz", "files has no tool 'zzz'. It has read_file, write_file."),
        ("raed_file", "files has no tool 'raed_file'. Did you mean `read_file"),
        ("fils.read_file", "There is no server 'fils'. Did you mean `files.read_file`?"),
    ],
)
def test_what_is_not_listed_suggests_the_nearest(name: str, says: str) -> None:
    made = catalog(files=["read_file", "write_file"], other=["x"])
    assert made.missing(Ref("tool", "files", name)).message.startswith(says)


def test_forgetting_a_server_tells_all_kinds() -> None:
    made = catalog(a=["x"])
    told: list[object] = []
    made.changed.connect(told.append)
    made.forget("a")
    assert len(told) == 4 and made.entries("tool") == ()


def test_suggestions_know_parts_of_words() -> None:
    assert suggestion("file", ["read_file", "zebra"]) == " Did you mean `read_file`?"
    assert suggestion("qqq", ["abc"]) == ""


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
