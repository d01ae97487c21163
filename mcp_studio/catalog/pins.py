"""Pins: what tools were when they were first seen or last accepted, as hashes that a lock file can hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import PINNED, ChangeKind, Ref
from mcp_studio.jsontext import Json, mapping

FORMAT = 1


class Drift(NamedTuple):
    """One tool that is not what a lock file says."""

    ref: Ref
    kind: ChangeKind

    def __str__(self) -> str:
        return f"{self.ref} is {self.kind}"


def digest(tool: Mapping[str, Json]) -> str:
    """The hash of a tool's definition; the order of keys does not matter."""
    text = json.dumps({key: tool[key] for key in PINNED & tool.keys()}, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def pinned(catalog: Catalog, server: str) -> dict[str, Mapping[str, Json]]:
    """The definitions of a server's tools as they are pinned: what a change has to be accepted against."""
    return {
        entry.ref.name: entry.change.before if entry.change and entry.change.before else entry.view.raw
        for entry in catalog.listing(server, "tool").entries
    }


def lock(catalog: Catalog, servers: Iterable[str]) -> dict[str, Json]:
    """A lock file: the hashes of all pinned tools."""
    tools = {
        server: {name: digest(definition) for name, definition in sorted(pinned(catalog, server).items())}
        for server in servers
    }
    return {"version": FORMAT, "tools": cast("Json", tools)}


def drift(locked: Mapping[str, Json], catalog: Catalog, servers: Iterable[str]) -> Iterator[Drift]:
    """Where the tools of servers are not what a lock file says, as the servers list them now."""
    for server in servers:
        known = mapping(mapping(locked.get("tools")).get(server))
        now = {entry.ref.name: digest(entry.view.raw) for entry in catalog.listing(server, "tool").entries}
        for name in dict.fromkeys((*known, *now)):
            kind: ChangeKind = "new" if name not in known else "gone" if name not in now else "changed"
            if known.get(name) != now.get(name):
                yield Drift(Ref("tool", server, name), kind)
