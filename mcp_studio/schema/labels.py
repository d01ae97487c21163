"""How the variants of a union are called, and by which property they are told apart."""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.kinds import Schema, types
from mcp_studio.schema.options import label
from mcp_studio.schema.resolve import Resolver
from mcp_studio.schema.shape import shape
from mcp_studio.schema.wording import TYPE_WORDS, spell

_LONGEST = 60


@record(frozen=True)
class Way:
    """One alternative."""

    schema: Schema
    """With what is said besides the alternatives, references followed."""
    name: str
    """The last name of the reference that it was, or nothing."""
    key: str
    """What OpenAPI's `discriminator` maps to it, or nothing."""


def discriminator(schema: Schema, ways: list[Way]) -> tuple[str, list[Json]] | None:
    """The property that has another constant in each alternative, and these; None where there is none."""
    said = schema.get("discriminator")
    stated = cast("Schema", said).get("propertyName") if isinstance(said, dict) else said
    constants = [_constants(way.schema) for way in ways]
    if isinstance(stated, str):
        values = [one.get(stated, way.key or way.name) for one, way in zip(constants, ways, strict=True)]
        if len({spell(value) for value in values}) == len(ways):
            return stated, values
    for name in constants[0]:
        if all(name in one for one in constants) and len({spell(one[name]) for one in constants}) == len(ways):
            return name, [one[name] for one in constants]
    return None


def labels(resolver: Resolver, ways: list[Way], known: tuple[str, list[Json]] | None) -> list[str]:
    """What each alternative is called: its title, its constant, its reference's name, else the shape of its values."""
    found: list[str] = []
    for index, way in enumerate(ways):
        title = way.schema.get("title")
        constant = label(known[1][index]) if known else ""
        found.append(title if isinstance(title, str) and title else constant or way.name or _shape(resolver, way))
    twice = {one for one in found if found.count(one) > 1}
    for index, one in enumerate(found):
        if one in twice:
            shaped = label(known[1][index]) if known else _shape(resolver, ways[index])
            found[index] = shaped if one == shaped else f"{one}: {shaped}"
    return [f"{one} {found[:index].count(one) + 1}" if found.count(one) > 1 else one for index, one in enumerate(found)]


def _shape(resolver: Resolver, way: Way) -> str:
    schema = way.schema
    if "const" in schema:
        return label(schema["const"])[:_LONGEST]
    kinds = types(schema)
    if len(kinds) == 1 and "enum" not in schema and kinds[0] in TYPE_WORDS:
        form = schema.get("format")
        return f"{TYPE_WORDS[kinds[0]]} ({form})" if isinstance(form, str) and form else TYPE_WORDS[kinds[0]]
    return shape(schema, resolver)


def _constants(branch: Schema) -> dict[str, Json]:
    """The properties that can only have one value."""
    known = branch.get("properties")
    found: dict[str, Json] = {}
    for name, inner in cast("Schema", known).items() if isinstance(known, dict) else ():
        if isinstance(inner, dict):
            one = cast("Schema", inner)
            listed = one.get("enum")
            if "const" in one:
                found[name] = one["const"]
            elif isinstance(listed, list) and len(cast("list[Json]", listed)) == 1:
                found[name] = listed[0]
    return found
