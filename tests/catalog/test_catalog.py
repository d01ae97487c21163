"""The catalog: what is found under which name."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.listing import Listing, Ref, salvage


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
        ("raed_file", "files has no tool 'raed_file'. Did you mean read_file"),
        ("fils.read_file", "There is no server 'fils'. Did you mean files.read_file?"),
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
    assert suggestion("file", ["read_file", "zebra"]) == " Did you mean read_file?"
    assert suggestion("qqq", ["abc"]) == ""
