"""The keys of a server's entry that bend the protocol: what to declare, who to be, which roots to give."""

from __future__ import annotations

import math
from typing import Any

from mcp_studio.config.model import Era, Root
from mcp_studio.config.table import Table, kind_of, place_of
from mcp_studio.jsontext import Json
from mcp_studio.protocol.versions import era_of


def read_object(table: Table, key: str) -> Json:
    """A table that is sent as it is, or None where there is none; dates have no place in JSON."""
    value = table.take(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        table.problem(key, f"must be a table, not {kind_of(value)}.")
        return None
    if wrong := place_of(value, key, not_json):
        table.problem(wrong, "is no JSON value.", "Dates and times have to be written as strings.")
        return None
    return value


def contradiction(era: Era, version: str) -> str:
    """A sentence on a version that is not of the era that is asked for; empty where they agree, or one is open."""
    if era == "auto" or not version or era_of(version) == era:
        return ""
    return f"`{version}` belongs to the {era_of(version)} era, but `{era}` is asked for."


def read_roots(table: Table) -> tuple[Root, ...]:
    """`roots = ["~/project", {uri = "file:///srv", name = "Data"}]`."""
    given = table.take("roots")
    if given is None:
        return ()
    if not isinstance(given, list):
        table.problem("roots", f"must be a list, not {kind_of(given)}.")
        return ()
    roots: list[Root] = []
    for number, value in enumerate(given):
        if isinstance(value, str) and value:
            roots.append(Root(value))
            continue
        where = f"{table.where}.roots[{number}]" if table.where else f"roots[{number}]"
        inner = Table(value, table.file, where, table.problems)
        uri, name = inner.take_text("uri"), inner.take_text("name")
        inner.refuse_rest()
        if uri:
            roots.append(Root(uri, name))
        elif isinstance(value, dict):
            inner.problem("uri", "is missing.")
    return tuple(roots)


def roots_table(roots: tuple[Root, ...]) -> list[Any]:
    """Roots as they are written."""
    return [{"uri": root.uri, "name": root.name} if root.name else root.uri for root in roots]


def not_json(value: object) -> bool:
    """Whether a leaf is nothing that JSON has."""
    return not (value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)))
