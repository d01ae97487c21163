"""Under which names clients see tools: no two share one, and no server takes another's."""

from __future__ import annotations

import pytest

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Listing, Ref, salvage
from mcp_studio.config.model import GatewaySettings
from mcp_studio.gateway.directory import Directory
from mcp_studio.toolset.toolset import LONGEST


def directory(lists: dict[str, list[str]], /, **settings: object) -> tuple[Catalog, Directory]:
    catalog = Catalog()
    for server, names in lists.items():
        listed = [{"name": name, "description": "d", "inputSchema": {"type": "object"}} for name in names]
        catalog.put(Listing(server, "tool", entries=salvage(server, "tool", listed)))
    return catalog, Directory(catalog, GatewaySettings(**settings), ("search_tools",))  # type: ignore[arg-type]


def names(listed: dict[str, list[str]], /, **settings: object) -> dict[str, str]:
    found = directory(listed, **settings)[1].offers("tool")
    return {str(offer.ref): name for name, offer in found.items()}


def test_a_name_is_made_of_server_and_tool() -> None:
    assert names({"files": ["read"]}) == {"files.read": "mcp__files__read"}
    assert names({"files": ["read"]}, prefix="") == {"files.read": "read"}
    assert names({"files": ["read"]}, rename={"files.read": "cat"}) == {"files.read": "cat"}


@pytest.mark.parametrize(
    ("tools", "settings"),
    [
        ({"a": ["b__c"], "a__b": ["c"]}, {}),
        ({"a": ["x y"], "b": ["z"]}, {"prefix": "", "rename": {"b.z": "x_y"}}),
        ({"a": ["same"], "b": ["same"]}, {"prefix": ""}),
        ({"a": ["search_tools"]}, {"prefix": ""}),
        ({"a": ["x" * 100 + "1", "x" * 100 + "2"]}, {}),
        ({"a": ["\u0430", "\u0431"]}, {}),
    ],
)
def test_names_that_would_collide_are_told_apart(tools: dict[str, list[str]], settings: dict[str, object]) -> None:
    found = names(tools, **settings)
    assert len(set(found.values())) == sum(map(len, tools.values()))
    assert "search_tools" not in found.values()
    assert all(len(name) <= LONGEST and name.isascii() and name.isprintable() for name in found.values())
    assert not {"mcp__a__b__c", "same", "x_y"} & set(found.values()), "none of them has the name that all wanted"


def test_a_colliding_name_is_the_same_whoever_comes_first() -> None:
    one = names({"a": ["b__c"], "a__b": ["c"]})
    assert one == names({"a__b": ["c"], "a": ["b__c"]})


def test_no_tool_takes_the_name_that_another_was_given_against_collisions() -> None:
    given = names({"a": ["b__c"], "a__b": ["c"]})["a.b__c"].removeprefix("mcp__a__")
    again = names({"a": ["b__c", given], "a__b": ["c"]})
    assert again["a.b__c"] == f"mcp__a__{given}"
    assert f"a.{given}" not in again


def test_only_what_is_allowed_is_there() -> None:
    tools = {"files": ["read", "write"], "web": ["get"]}
    assert set(names(tools, tools=("files.*",), hidden=("*.write",))) == {"files.read"}


def test_a_changed_list_is_seen() -> None:
    catalog, found = directory({"a": ["b"]})
    assert set(found.offers("tool")) == {"mcp__a__b"}
    catalog.put(Listing("a", "tool"))
    assert set(found.offers("tool")) == set()


def test_resources_that_several_servers_have_are_told_apart() -> None:
    catalog = Catalog()
    for server, uris in {"a": ["x://1", "x://2"], "b": ["x://1", "mcp-studio://a/x%3A%2F%2F1"]}.items():
        listed = [{"name": uri, "uri": uri} for uri in uris]
        catalog.put(Listing(server, "resource", entries=salvage(server, "resource", listed)))
    found = Directory(catalog, GatewaySettings(), ())
    addresses = {offer.ref: address for address, offer in found.offers("resource").items()}
    assert len(addresses) == 4 and addresses[Ref("resource", "a", "x://2")] == "x://2"
    assert all(found.resource(address) == ref for ref, address in addresses.items())
    assert found.resource("x://1") is None
    assert found.resource("mcp-studio://a/x%3A%2F%2F1") == Ref("resource", "a", "x://1")
