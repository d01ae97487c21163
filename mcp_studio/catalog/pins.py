"""Pins: hashes of the tools' definitions at first sight or last acceptance, which a lock file can hold."""

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
    """A tool that differs from the lock file."""

    ref: Ref
    kind: ChangeKind

    def __str__(self) -> str:
        return f"{self.ref} is {self.kind}"


def digest(tool: Mapping[str, Json]) -> str:
    """The hash of a tool's definition, independent of the order of keys."""
    text = json.dumps({key: tool[key] for key in PINNED & tool.keys()}, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def pinned(catalog: Catalog, server: str) -> dict[str, Mapping[str, Json]]:
    """The pinned definitions of a server's tools: an unaccepted change counts with the definition before it."""
    return {
        entry.ref.name: entry.change.before if entry.change and entry.change.before else entry.view.raw
        for entry in catalog.listing(server, "tool").entries
    }


def lock(catalog: Catalog, servers: Iterable[str]) -> dict[str, Json]:
    """The content of a lock file: the hashes of all pinned tools."""
    tools = {
        server: {name: digest(definition) for name, definition in sorted(pinned(catalog, server).items())}
        for server in servers
    }
    return {"version": FORMAT, "tools": cast("Json", tools)}


def drift(locked: Mapping[str, Json], catalog: Catalog, servers: Iterable[str]) -> Iterator[Drift]:
    """The tools that servers now list differently from the lock file."""
    for server in servers:
        known = mapping(mapping(locked.get("tools")).get(server))
        now = {entry.ref.name: digest(entry.view.raw) for entry in catalog.listing(server, "tool").entries}
        for name in dict.fromkeys((*known, *now)):
            kind: ChangeKind = "new" if name not in known else "gone" if name not in now else "changed"
            if known.get(name) != now.get(name):
                yield Drift(Ref("tool", server, name), kind)
