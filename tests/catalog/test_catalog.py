"""The catalog: what is found under which name."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.listing import Listing, salvage
from mcp_studio.catalog.ref import Ref
from mcp_studio.errors import UsageError


def catalog(**servers: Iterable[str]) -> Catalog:
    """A catalog of servers with tools of these names."""
    made = Catalog()
    for server, names in servers.items():
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        made.put(Listing(server, "tool", salvage(server, "tool", tools), "fresh"))
    return made


def test_server_and_name_are_split_at_the_first_dot() -> None:
    made = catalog(a=["x.y"], b=["z"])
    assert made.resolve("tool", "a.x.y", ["a", "b"]) == Ref("tool", "a", "x.y")


def test_with_one_server_its_name_can_be_left_out_even_if_the_tool_has_a_dot() -> None:
    assert catalog(a=["x.y"]).resolve("tool", "x.y", ["a"]) == Ref("tool", "a", "x.y")


def test_unknown_names_suggest_the_nearest() -> None:
    made = catalog(files=["read_file", "write_file"], other=["x"])
    with pytest.raises(UsageError, match="Did you mean read_file"):
        made.resolve("tool", "files.raed_file", ["files", "other"])
    with pytest.raises(UsageError, match="Did you mean files"):
        made.resolve("tool", "fils.read_file", ["files", "other"])


def test_forgetting_a_server_tells_all_kinds() -> None:
    made = catalog(a=["x"])
    told: list[object] = []
    made.changed.connect(told.append)
    made.forget("a")
    assert len(told) == 4 and made.entries("tool") == ()
    made.forget("a")
    assert len(told) == 4


def test_suggestions_know_parts_of_words() -> None:
    assert suggestion("file", ["read_file", "zebra"]) == " Did you mean read_file?"
    assert suggestion("qqq", ["abc"]) == ""
