"""The searchable texts of an entry, read from the raw JSON, each bounded."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.search.method import Document

LONGEST_NAME = 300
LONGEST_TEXT = 20_000
"""Characters of a description that are searched."""
LONGEST_HEAD = 400
LONGEST_PARAMETER = 600
"""Characters of a parameter's description that are searched."""
MOST_PARAMETERS = 200
MOST_VALUES = 50
"""Values of one enumeration that are searched."""
DEEPEST = 4
"""The most levels of a schema that are searched."""
MOST_NODES = 2_000
"""The most parts of a schema that are examined."""

_END = re.compile(r"[.!?](?=\s)|[。!?]|\n\s*\n")
_INSIDE = ("items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties")


class Parameter(NamedTuple):
    """One parameter of a tool, or argument of a prompt, at any level of the schema."""

    name: str
    description: str = ""
    values: tuple[str, ...] = ()
    """The allowed values, where the schema lists them."""


class Fields(NamedTuple):
    """The searchable texts of an entry. Foreign, unsanitized, bounded."""

    name: str
    title: str
    server: str
    head: str
    """The description's first sentence."""
    description: str
    """The whole description, with its first sentence."""
    parameters: tuple[Parameter, ...] = ()
    uri: str = ""
    """A resource's address or a template's pattern."""
    tags: tuple[str, ...] = ()


def fields(document: Document) -> Fields:
    """Read the fields of a document. Never raises, whatever the server listed."""
    ref, raw = document.ref, document.raw
    addressed = ref.kind in ("resource", "template")
    name = _text(raw.get("name"), LONGEST_NAME) if addressed else ref.name[:LONGEST_NAME]
    title = _text(raw.get("title"), LONGEST_NAME)
    if not title and ref.kind == "tool":
        title = _text(mapping(raw.get("annotations")).get("title"), LONGEST_NAME)
    description = _text(raw.get("description"), LONGEST_TEXT).lstrip()
    uri = ref.name[: 2 * LONGEST_NAME] if addressed else ""
    return Fields(
        name or uri.rstrip("/").rpartition("/")[2] or uri,
        title,
        ref.server[:LONGEST_NAME],
        first_sentence(description),
        description,
        _arguments(raw.get("arguments")) if ref.kind == "prompt" else parameters(raw.get("inputSchema")),
        uri,
        document.tags,
    )


def first_sentence(text: str) -> str:
    """The text up to its first full stop or empty line, at most `LONGEST_HEAD` characters."""
    start = len(text) - len(text.lstrip())
    found = _END.search(text, start, start + LONGEST_HEAD)
    return text[start : found.end() if found else start + LONGEST_HEAD].strip()


def parameters(schema: Json) -> tuple[Parameter, ...]:
    """The parameters of a JSON Schema, outer ones first, at most `MOST_PARAMETERS`."""
    found: list[Parameter] = []
    level, seen = [mapping(schema)], 0
    root = level[0]
    for _ in range(DEEPEST):
        below: list[dict[str, Json]] = []
        for node in level:
            for name, value in mapping(node.get("properties")).items():
                part = _resolved(mapping(value), root)
                found.append(_parameter(str(name), part))
                below.append(part)
                if len(found) >= MOST_PARAMETERS:
                    return tuple(found)
            below.extend(_resolved(part, root) for part in _inside(node))
            seen += 1
            if seen + len(below) >= MOST_NODES:
                return tuple(found)
        level = [part for part in below if part]
    return tuple(found)


def _text(value: Json, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""


def _parameter(name: str, part: dict[str, Json]) -> Parameter:
    values = items_of(part.get("enum")) or items_of(mapping(part.get("items")).get("enum"))
    return Parameter(
        name[:LONGEST_NAME],
        _text(part.get("description"), LONGEST_PARAMETER),
        tuple(value[:LONGEST_NAME] for value in values[:MOST_VALUES] if isinstance(value, str)),
    )


def _inside(node: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for key in _INSIDE:
        value = node.get(key)
        yield from map(mapping, [value] if isinstance(value, dict) else items_of(value)[:MOST_VALUES])


def _resolved(part: dict[str, Json], root: dict[str, Json]) -> dict[str, Json]:
    """The target of a reference within the schema; only one step, so that circles end with the depth."""
    target = part.get("$ref")
    if not isinstance(target, str) or not target.startswith("#/") or len(target) > LONGEST_NAME:
        return part
    found: Json = root
    for key in target[2:].split("/"):
        found = mapping(found).get(key)
    return {**mapping(found), **part}


def _arguments(value: Json) -> tuple[Parameter, ...]:
    arguments = (mapping(item) for item in items_of(value)[:MOST_PARAMETERS])
    return tuple(_parameter(_text(item.get("name"), LONGEST_NAME), item) for item in arguments)
