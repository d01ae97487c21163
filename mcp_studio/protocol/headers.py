"""`x-mcp-header`: arguments that a tool wants mirrored into HTTP headers (2026-07-28, transports, custom headers)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import cast

from mcp_studio.jsontext import Json, mapping

_KEY = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x20-\x7e]*")
_SENTINEL = re.compile(r"=\?base64\?.*\?=")
_SINGLE = (
    "items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties not if then else "
    "contentSchema"
).split()
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("patternProperties", "dependentSchemas", "$defs", "definitions")
_NODES = 20_000
"""Sub-schemas looked at, at the most."""

Path = tuple[str, ...]


def encode_value(value: str) -> str:
    """A header value: as it is where it survives a header, in the base64 form of the specification otherwise."""
    if _PLAIN.fullmatch(value) and value == value.strip() and not _SENTINEL.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def header_problem(schema: Json) -> str:
    """Why the annotations of a tool's input schema are invalid, so that the tool must not be used; empty if fine."""
    seen: set[str] = set()
    for path, node in _annotated(schema):
        name = node[_KEY]
        where = ".".join(path) if path else "the schema"
        if not path:
            return f"{_KEY} stands where no argument can be found by name"
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            return f"the {_KEY} of {where} is not a header name"
        if node.get("type") not in ("string", "integer", "boolean"):
            return f"{_KEY} is allowed on strings, integers and booleans only, not on {where}"
        if name.lower() in seen:
            return f"two arguments want the header {name}"
        seen.add(name.lower())
    return ""


def mirrored(schema: Json) -> tuple[tuple[str, Path], ...]:
    """The headers that a tool wants, each with the chain of property names of its argument, in their order."""
    found = [(f"Mcp-Param-{node[_KEY]}", path) for path, node in _annotated(schema) if path]
    return tuple(reversed(found))


def param_headers(schema: Json, arguments: dict[str, Json]) -> tuple[tuple[str, str], ...]:
    """The `Mcp-Param-*` headers of one call, for the annotated arguments that are present."""
    found: list[tuple[str, str]] = []
    for path, node in _annotated(schema):
        name = node[_KEY]
        value: Json = arguments
        for step in path or ():
            value = mapping(value).get(step)
        if path and isinstance(name, str) and isinstance(value, (str, int, float)):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found.append((f"Mcp-Param-{name}", encode_value(text)))
    return tuple(found)


def _annotated(schema: Json) -> Iterator[tuple[Path | None, dict[str, Json]]]:
    """Annotated sub-schemas with their chain of property names, None off that chain; never follows `$ref`."""
    todo: list[tuple[Path | None, Json]] = [((), schema)]
    for _ in range(_NODES):
        if not todo:
            return
        path, node = todo.pop()
        if not isinstance(node, dict):
            continue
        known = cast("dict[str, Json]", node)
        if _KEY in known:
            yield path or None, known
        todo += _children(path, known)


def _children(path: Path | None, node: dict[str, Json]) -> list[tuple[Path | None, Json]]:
    found: list[tuple[Path | None, Json]] = []
    properties = node.get("properties")
    if isinstance(properties, dict):
        for name, child in cast("dict[str, Json]", properties).items():
            found.append(((*path, name) if path is not None else None, child))
    found += [(None, node[key]) for key in _SINGLE if key in node]
    for key in _MANY:
        if isinstance(items := node.get(key), list):
            found += [(None, item) for item in cast("list[Json]", items)]
    for key in _NAMED:
        if isinstance(named := node.get(key), dict):
            found += [(None, item) for item in cast("dict[str, Json]", named).values()]
    return found
