"""Fixed sets of values: `enum`, `const`, titled `oneOf` of constants, arrays of those, and older ways to say it."""

from __future__ import annotations

from mcp_studio.jsontext import Json, depth
from mcp_studio.schema.field import Option
from mcp_studio.schema.kinds import Schema, types
from mcp_studio.schema.resolve import Resolver
from mcp_studio.schema.wording import spell

MAX_OPTIONS = 1_000
"""Options drawn for one field; with more, the value is typed."""
_DEPTH = 8


def options(schema: Schema, resolver: Resolver) -> tuple[Option, ...]:
    """The values that a schema picks from, each once; empty when it is no choice."""
    if "const" in schema:
        return _distinct([Option(schema["const"], _title(schema.get("title"), schema["const"]))])
    listed = schema.get("enum")
    if isinstance(listed, list) and 0 < len(listed) <= MAX_OPTIONS:
        # enumNames: how titles were written before 2025-11-25 (client/elicitation).
        names = schema.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(listed) else [None] * len(listed)
        return _distinct([Option(value, _title(title, value)) for value, title in zip(listed, titles, strict=True)])
    return _titled(schema, resolver)


def many_options(schema: Schema, resolver: Resolver) -> tuple[Option, ...]:
    """The values that the items of an array are picked from; empty when it is no such array."""
    items = schema.get("items")
    if types(schema) not in ((), ("array",)) or not isinstance(items, dict):
        return ()
    flat = resolver.flat(items)
    return () if "const" in flat else options(flat, resolver)


def _titled(schema: Schema, resolver: Resolver) -> tuple[Option, ...]:
    for key in ("oneOf", "anyOf"):
        branches = schema.get(key)
        if not isinstance(branches, list) or not 0 < len(branches) <= MAX_OPTIONS:
            continue
        found: list[Option] = []
        for branch in resolver.branches(schema, key):
            listed = [branch["const"]] if "const" in branch else branch.get("enum")
            if not isinstance(listed, list) or not listed or len(listed) > MAX_OPTIONS:
                return ()
            title = branch.get("title") if len(listed) == 1 else None
            found += [Option(value, _title(title, value)) for value in listed]
        if len(found) <= MAX_OPTIONS:
            return _distinct(found)
    return ()


def _distinct(found: list[Option]) -> tuple[Option, ...]:
    if any(depth(option.value, _DEPTH) > _DEPTH for option in found):
        return ()
    distinct: dict[str, Option] = {}
    for option in found:
        distinct.setdefault(spell(option.value), option)
    return tuple(distinct.values())


def _title(title: Json, value: Json) -> str:
    return title if isinstance(title, str) and title else label(value)


def label(value: Json) -> str:
    """A value as an option shows it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else spell(value)
