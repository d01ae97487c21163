"""The differences between an earlier and the present offer of a server, and which of them break its clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import KINDS, EntryKind, change_of
from mcp_studio.jsontext import Json, dumps, items_of, mapping, printable
from mcp_studio.schema.resolve import Resolver

Surface = Mapping[str, Json]
"""Definitions by kind and name."""
_MOST = 5_000
"""The most places of two schemas that are compared."""
_BOUND = re.compile(r"(?:exclusiveM|m)(?:(in)|ax)")
"""The beginning of the keywords for bounds; the group marks lower bounds."""
_NOTES = ("title", "description", "default", "examples", "deprecated", "$comment")
"""Keywords that do not restrict values."""
_INSIDE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
"""Keywords that hold a schema."""
_ELSEWHERE = ("properties", "required", "$defs", "definitions", "$schema", "$id")
"""Keywords that other code compares."""


class SurfaceChange(NamedTuple):
    """A tool, resource, template or prompt that has changed."""

    kind: EntryKind
    name: str
    breaking: tuple[str, ...]
    """Phrases on changes that clients of the earlier definition may fail at."""
    compatible: tuple[str, ...]
    """Phrases on all other changes."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {'; '.join((*self.breaking, *self.compatible))}"


def surface_of(catalog: Catalog, server: str) -> Surface:
    """The present surface of a server."""
    listings = {kind: catalog.listing(server, kind).entries for kind in KINDS}
    return {kind: {one.ref.name: one.view.raw for one in entries if one.ref.name} for kind, entries in listings.items()}


def compare(before: Surface, now: Surface) -> tuple[SurfaceChange, ...]:
    """The entries that are new, gone or changed."""
    found: list[SurfaceChange] = []
    for kind in KINDS:
        old, new = mapping(before.get(kind)), mapping(now.get(kind))
        for name in dict.fromkeys((*old, *new)):
            changes = dict.fromkeys(_entry_changes(old.get(name), new.get(name)))
            parts = [tuple(text for breaks, text in changes if breaks is wanted) for wanted in (True, False)]
            found += [SurfaceChange(kind, name, *parts)] if changes else []
    return tuple(found)


_Changes = Iterator[tuple[bool, str]]
"""Whether a change is breaking, and its description."""


def _entry_changes(before: Json, now: Json) -> _Changes:
    old, new = mapping(before), mapping(now)
    if not old or not new:
        yield not new, "new" if new else "gone"
        return
    change = change_of(old, new)
    for key in change.parts if change else ():
        one, other = old.get(key), new.get(key)
        if key == "inputSchema":
            yield from schema_changes(one, other)
        elif key == "arguments":
            yield from schema_changes(_of_prompt(one), _of_prompt(other))
        elif key == "outputSchema" and one is not None and other is not None:
            yield from schema_changes(one, other, "result", output=True)
        else:
            ending = " is new" if one is None else " is gone" if other is None else " is another"
            yield key in ("outputSchema", "mimeType") and one is not None, key + ending


def _of_prompt(arguments: Json) -> Json:
    """The arguments of a prompt in the form of a schema."""
    known = {str(one.get("name")): one for one in map(mapping, items_of(arguments))}
    needed: Json = [name for name, one in known.items() if one.get("required") is True]
    return {"properties": {**known}, "required": needed}


def schema_changes(old: Json, new: Json, path: str = "", *, output: bool = False) -> _Changes:
    """The differences between two schemas.

    Args:
        output: the server makes the values, so new values must fit the old schema; otherwise old values the new one.
    """
    todo, flat_old, flat_new = [(path, old, new)], Resolver(old).flat, Resolver(new).flat
    seen: dict[tuple[int, int], object] = {}
    for where, first, second in todo:
        was, now = flat_old(first), flat_new(second)
        if (id(was), id(now)) in seen or len(todo) > _MOST:
            continue
        seen[id(was), id(now)] = was, now  # the dictionary holds the schemas, so that no others get their ids
        some, others = _variants(was), _variants(now)
        if len(some) != len(others):
            text = f"{_short(was.get('anyOf', was.get('type')))} → {_short(now.get('anyOf', now.get('type')))}"
            yield not others <= some if output else not some <= others, f"{where}: {text}" if where else text
            continue
        (before, needed), (after, needs) = _members(was), _members(now)
        for name in dict.fromkeys((*before, *after)):
            place, required = f"{where}.{name}" if where else name, name in needs
            if name not in after:
                yield True, f"{place} is gone"
            elif name not in before:
                yield required and not output, f"{place} is new{' and required' if required else ''}"
            else:
                todo.append((place, before[name], after[name]))
                if required != (name in needed):
                    yield required != output, f"{place} is {'required' if required else 'optional'} now"
        for key in [key for key in dict.fromkeys((*was, *now)) if key not in _ELSEWHERE]:
            one, other = was.get(key), now.get(key)
            if key in _INSIDE and isinstance(one, dict) and isinstance(other, dict):
                todo.append((f"{where}[]" if key == "items" else f"{where} ({key})", one, other))
            elif key in ("anyOf", "oneOf", "prefixItems") and len(items_of(one)) == len(items_of(other)):
                todo += [(where, *pair) for pair in zip(items_of(one), items_of(other), strict=True)]
            elif one != other:
                narrower, wider = _fewer_fit(key, one, other)
                text = key if key in _NOTES else f"{key} {_short(one)} → {_short(other)}"
                yield wider if output else narrower, f"{where}: {text}" if where else text


def _variants(schema: dict[str, Json]) -> set[bytes]:
    """The schemas of which a value has to fit one, without notes: the schema itself if it has no `anyOf` or `oneOf`."""
    found = items_of(schema.get("anyOf") or schema.get("oneOf")) or [schema]
    return {dumps({key: item for key, item in mapping(one).items() if key not in _NOTES}) for one in found}


def _short(value: Json) -> str:
    return "none" if value is None else printable(value, indent=None)[:60]


def _members(schema: dict[str, Json]) -> tuple[dict[str, Json], set[str]]:
    """The schemas of a schema's members by name, and the names of required members."""
    required = {str(name) for name in items_of(schema.get("required"))}
    return {**{name: {} for name in required}, **mapping(schema.get("properties"))}, required


def _fewer_fit(key: str, was: Json, now: Json) -> tuple[bool, bool]:
    """Whether fewer values fit than before, and whether values fit that did not before."""
    if key in _NOTES:
        return False, False
    if key in _INSIDE:  # a schema that is true or empty restricts nothing
        was, now = (None if value is True or value == {} else value for value in (was, now))
    if was is None or now is None:
        return now is not None, was is not None
    if key in ("type", "enum"):
        old, new = ({dumps(one) for one in (value if isinstance(value, list) else [value])} for value in (was, now))
        for types in (old, new):
            types |= {b'"integer"'} if b'"number"' in types else set()
        return not old <= new, not new <= old
    bound = _BOUND.match(key)
    if bound and isinstance(was, int | float) and isinstance(now, int | float):
        narrower = (now > was) == bool(bound[1])
        return narrower, not narrower
    return True, True
