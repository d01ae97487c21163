"""How foreign values are named in findings: short, and one of each kind."""

from __future__ import annotations

import json

from mcp_studio.jsontext import Json

_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}


def kind_of(value: Json) -> str:
    """What kind of JSON value it is, with its article."""
    if isinstance(value, float):
        return "a fraction" if value % 1 else "a number with a point"
    return _KINDS.get(type(value), "a number")


def quoted(value: Json, most: int = 60) -> str:
    """A value as JSON, cut."""
    if isinstance(value, str):
        value = value[:most] + ("…" if len(value) > most else "")
        return json.dumps(value, ensure_ascii=False)
    return kind_of(value) if isinstance(value, (dict, list)) else json.dumps(value)[:most]


def escaped(step: str) -> str:
    """One step of a JSON pointer (RFC 6901), cut."""
    return step[:80].replace("~", "~0").replace("/", "~1")
