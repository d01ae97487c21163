"""What a schema allows, in a few words: `object {start, end}`, `string[]`, `1 to 50`."""

from __future__ import annotations

from typing import Any

from mcp_studio.jsontext import Json
from mcp_studio.schema.kinds import Schema, implied, types
from mcp_studio.schema.resolve import Resolver
from mcp_studio.schema.wording import spell

_WIDTH = 60


def shape(schema: Schema, resolver: Resolver, depth: int = 2) -> str:
    """The shape of values in at most 60 characters; `any JSON` when the schema does not say."""
    return _cut(_shape(schema, resolver, depth) or "any JSON")


def _shape(schema: Schema, resolver: Resolver, depth: int) -> str:
    if depth < 0:
        return "…"
    for key in ("anyOf", "oneOf"):
        branches = [_shape(branch, resolver, depth - 1) for branch in list(resolver.branches(schema, key))[:6]]
        if branches:
            return " | ".join(dict.fromkeys(branch or "any" for branch in branches))
    if isinstance(schema.get("enum"), list):
        return " | ".join(_literal(value) for value in schema["enum"][:6])
    kinds = types(schema) or tuple(kind for kind in (implied(schema),) if kind)
    return " | ".join(_kind(kind, schema, resolver, depth) for kind in kinds)


def _kind(kind: str, schema: Schema, resolver: Resolver, depth: int) -> str:
    if kind == "object":
        return _object(schema, resolver, depth)
    if kind != "array":
        return kind
    places = schema.get("prefixItems", schema.get("items"))
    if isinstance(places, list):
        inner = [_shape(resolver.flat(place), resolver, depth - 1) or "any" for place in places[:6]]
        return "[" + ", ".join(inner) + (", …]" if len(places) > 6 else "]")
    inner = _shape(resolver.flat(places), resolver, depth - 1) if isinstance(places, dict) else ""
    return (f"({inner})[]" if " | " in inner else f"{inner}[]") if inner else "list"


def _object(schema: Schema, resolver: Resolver, depth: int) -> str:
    names = schema.get("properties")
    if isinstance(names, dict) and names:
        return "object {" + ", ".join(list(names)[:8]) + (", …}" if len(names) > 8 else "}")
    free = schema.get("additionalProperties")
    inner = _shape(resolver.flat(free), resolver, depth - 1) if isinstance(free, dict) else ""
    return f"object {{name: {inner}}}" if inner else "object"


def _literal(value: Json) -> str:
    return value if isinstance(value, str) else spell(value, 20)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def span(low: Any, high: Any, *, above: bool = False, below: bool = False, unit: str = "") -> str:
    """A range in words: `1 to 50`, `at least 1`, `more than 0`, `at most 80 characters`; empty when there is none."""
    plain = not above and not below
    same = low == high
    low, high = (None if edge is None else spell(edge, 20) for edge in (low, high))
    if low is not None and high is not None and plain:
        words = f"{low} to {high}" if not same else f"exactly {low}"
    else:
        parts = ([f"{'more than' if above else 'at least'} {low}"] if low is not None else []) + (
            [f"{'less than' if below else 'at most'} {high}"] if high is not None else []
        )
        words = ", ".join(parts)
    if unit and words and words.split()[-1] == "1":
        unit = unit.removesuffix("s")
    return f"{words} {unit}" if words and unit else words
