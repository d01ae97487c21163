"""How well a value fits a schema, at a glance: for choosing the variant that is meant. Pure and bounded."""

from __future__ import annotations

from mcp_studio.jsontext import Json
from mcp_studio.schema.resolve import Schema
from mcp_studio.schema.wording import spell

_MOST = 200
"""Properties that are looked at."""


def misfits(schema: Schema, value: Json, discriminators: tuple[str, ...] = ()) -> int:
    """How much speaks against a value being meant for this schema; 0 when nothing does."""
    if "const" in schema:
        return 0 if spell(schema["const"]) == spell(value) else 500
    if not isinstance(value, dict):
        return 0
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    found = 0
    for name, item in list(value.items())[:_MOST]:
        inner = known.get(name)
        if inner is None:
            found += 20 if schema.get("additionalProperties") is False else 3
        elif isinstance(inner, dict):
            listed = [inner["const"]] if "const" in inner else inner.get("enum")
            if isinstance(listed, list) and all(spell(one) != spell(item) for one in listed[:_MOST]):
                found += 1_000 if name in discriminators else 50
    required = schema.get("required")
    for name in required[:_MOST] if isinstance(required, list) else ():
        found += 1 if name not in value else 0
    return found
