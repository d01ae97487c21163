"""Simplified schemas: references followed, `allOf` merged, unions with null collapsed. Bounded and total.

A server's schema may be anything: wrong types everywhere, circular references, references that double at every step. No
function here raises. Every part of a form costs at most `STEPS` steps, and all parts together at most `TOTAL`; the
remark under `keywords.REMARK` says what was left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, cast
from urllib.parse import unquote

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.keywords import (
    FORBIDDEN,
    REMARK,
    Schema,
    amount,
    impossible,
    listed,
    normal,
    only_null,
    spell,
    types,
)
from mcp_studio.schema.place import NoPlace, get, path_of

_LEVELS, _NODES = 50, 10_000
"""The most levels that are searched for names, and the most sub-schemas of one level."""
MISSING: Any = object()
"""Stands for a reference without a target in this document."""
_DATA = frozenset(("const", "enum", "default", "examples", "example", "required", "type"))
_MAPS = frozenset(
    ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies", "dependentRequired")
)


class Document:
    """One schema and the names in it, which are collected at the first reference.

    A name means the same everywhere in the schema: the `$id` around a reference is not used as its base. Among equal
    anchors the outermost wins, as `$dynamicRef` needs it for a recursive tree.
    """

    def __init__(self, root: Json) -> None:
        self._root = root
        self._names: dict[str, Json] = {}
        """Schemas by their `$id`, and by `#` and their anchor."""

    def target(self, reference: str) -> Json:
        """The schema that a reference names; `MISSING` where this document has none."""
        if not self._names:
            self._collect()
        name, _, fragment = reference.partition("#")
        resource = self._names.get(name, MISSING)
        if not fragment or resource is MISSING:
            return resource
        fragment = unquote(fragment)
        if not fragment.startswith("/"):
            return self._names.get(f"#{fragment}", MISSING)
        try:
            return get(resource, path_of(fragment, resource))
        except NoPlace:
            return MISSING

    def _collect(self) -> None:
        self._names[""] = self._root
        level = [self._root]
        for _ in range(_LEVELS):
            schemas = [cast("Schema", node) for node in level if isinstance(node, dict)]
            for schema in schemas:
                # Until draft 7 an anchor is an `$id` that starts with `#`.
                for key, sign in (("$id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#")):
                    if isinstance(name := schema.get(key), str):
                        self._names.setdefault(sign + name.rstrip("#"), schema)
            level = [inner for schema in schemas for inner in _inside(schema)][:_NODES]


def _inside(schema: Schema) -> Iterator[Json]:
    """The sub-schemas of a schema."""
    for key, inner in schema.items():
        if isinstance(inner, dict) and key in _MAPS:
            yield from cast("dict[str, Json]", inner).values()
        elif key not in _DATA:
            yield from items_of(inner) if isinstance(inner, list) else [inner]


Joiner = Callable[[Json, Json], Json]
"""Returns a schema of the values that both schemas allow."""
CONTRADICTION: Schema = {"not": {}}
"""A schema that no value fits."""
_OTHERWISE: Schema = {REMARK: FORBIDDEN}


def merge_schemas(first: Schema, second: Schema, both: Joiner) -> Schema:
    """The schema of the values that both schemas allow; of titles and descriptions the first schema's win."""
    if first is second or not second:
        return first
    if not first:
        return second
    merged = {**second, **first}
    for key in _NAMES:
        if key not in first:
            merged.pop(key, None)
    left: list[Json] = [*items_of(first.get("allOf")), *items_of(second.get("allOf"))]
    for key in first.keys() & second.keys():
        one, two = first[key], second[key]
        if key in _SAME or one is two:
            continue
        if key == "multipleOf" and isinstance(one, int) and isinstance(two, int):
            merged[key] = math.lcm(one, two) or one
        elif key in _RULES:
            merged[key] = _RULES[key](one, two, both)
        elif key in _APART and spell(one) != spell(two):
            left.append({key: two})
    if "additionalProperties" in second and "unevaluatedProperties" in first:
        merged.pop("unevaluatedProperties")
    _types(merged, first, second)
    _values(merged, first, second)
    _objects(merged, first, second, both)
    for group in _GROUPS:
        mine, other = ({key: one[key] for key in group if key in one} for one in (first, second))
        if mine and other and mine != other and (group[0] in mine or group[0] in other):
            merged = {**{key: item for key, item in merged.items() if key not in group}, **mine}
            left.append(other)
    if left:
        merged["allOf"] = left
    return merged


_NAMES = ("$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$schema", "$comment", "$vocabulary")
_SAME = frozenset((*_NAMES, "title", "description", "default", "examples", "example", "allOf", "type", "enum", "const"))
_APART = frozenset(("pattern", "format", "not", "anyOf", "oneOf", "multipleOf"))
"""A schema holds only one of each of these keywords; a second, different one becomes a part under `allOf`."""
_GROUPS = (
    ("if", "then", "else"),
    ("contains", "minContains", "maxContains"),
    ("prefixItems", "items", "unevaluatedItems"),
)
"""Keywords that work together: if both schemas have different ones, those of the second become a part under `allOf`."""


def _types(merged: Schema, first: Schema, second: Schema) -> None:
    """Merge the types: those that both schemas name, where an integer is a number."""
    one, two = types(first), types(second)
    if not one or not two:
        return
    shared = [kind for kind in one if kind in two or (kind == "integer" and "number" in two)]
    shared += [kind for kind in two if kind == "integer" and "number" in one and kind not in shared]
    if shared:
        merged["type"] = shared[0] if len(shared) == 1 else shared
    else:
        merged.update(CONTRADICTION)


def _values(merged: Schema, first: Schema, second: Schema) -> None:
    """Merge the values that both schemas list by `enum` or `const`."""
    one, two = listed(first), listed(second)
    if one is None or two is None:
        return
    allowed = {spell(value) for value in two}
    shared = [value for value in one if spell(value) in allowed]
    if not shared:
        merged.update(CONTRADICTION)
    elif "const" not in merged:
        merged["enum"] = shared


def _objects(merged: Schema, first: Schema, second: Schema, both: Joiner) -> None:
    """Merge the properties; a demand of one schema on further properties applies to those that only the other names."""
    one, two = mapping(first.get("properties")), mapping(second.get("properties"))
    if one and two:
        known: Schema = {}
        for name in dict.fromkeys((*one, *two)):
            mine, theirs = one.get(name, True), two.get(name, True)
            known[name] = both(mine, theirs)
        merged["properties"] = known
    elif two and "properties" in first:
        merged["properties"] = two
    for mine, other in ((one, second), (two, first)):
        extra, others = other.get("additionalProperties"), mapping(other.get("properties"))
        extra = _OTHERWISE if extra is False else extra
        if isinstance(extra, dict) and extra and mine and "patternProperties" not in other:
            known = dict(mapping(merged.get("properties")))
            known.update({name: both(known[name], extra) for name in mine if name not in others})
            merged["properties"] = known


# Rules for keywords that both schemas have


def _most(one: Json, two: Json, both: Joiner) -> Json:
    return max((one, two), key=lambda value: -math.inf if amount(value) is None else value)


def _least(one: Json, two: Json, both: Joiner) -> Json:
    return min((one, two), key=lambda value: math.inf if amount(value) is None else value)


def _unite(one: Json, two: Json, both: Joiner) -> Json:
    if not isinstance(one, list) or not isinstance(two, list):
        return one if isinstance(one, list) else two
    names = cast("list[Json]", [*one, *two])
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _each(one: Json, two: Json, both: Joiner) -> Json:
    """Merge schemas or names by property or pattern."""
    mine, theirs = mapping(one), mapping(two)
    merged: dict[str, Json] = {**mine, **theirs}
    for key in mine.keys() & theirs.keys():
        lists = isinstance(mine[key], list) or isinstance(theirs[key], list)
        merged[key] = _unite(mine[key], theirs[key], both) if lists else both(mine[key], theirs[key])
    return merged


_Rule = Callable[[Any, Any, Joiner], Json]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties"), _most),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties"), _least),
    "exclusiveMinimum": _most,
    "exclusiveMaximum": _least,
    **dict.fromkeys(
        ("uniqueItems", "deprecated", "readOnly", "writeOnly"), lambda one, two, both: one is True or two is True
    ),
    "required": _unite,
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "patternProperties"), _each),
    **dict.fromkeys(("items", "propertyNames", "additionalProperties"), lambda one, two, both: both(one, two)),
    # The outer schema has nothing left to examine after the inner one has examined it.
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), lambda one, two, both: two),
}

STEPS = 20_000
"""References, parts and branches that are followed for one part of a form; merging large schemas counts more."""
TOTAL = 50 * STEPS
"""Steps for all parts of one form together."""
_DEPTH = 120
_PARTS = 500
_BRANCHES = 1_000
_TOO_LARGE = "The schema is too large, or refers to itself too often: parts of it are not drawn."
_CIRCLE = "The schema refers to itself without end."
_OLDER = tuple(f"draft-0{number}" for number in range(1, 8))
"""Until draft 7 a reference cancels all keywords beside it."""
_WORDS = frozenset(("title", "description", "default", "examples"))
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SPECIAL = frozenset((*_REFERENCES, "allOf", "dependencies", "exclusiveMinimum", "exclusiveMaximum"))


class Resolver:
    """Simplifies the sub-schemas of one root schema."""

    def __init__(self, root: Json) -> None:
        self._document = Document(root)
        stated = cast("Schema", root).get("$schema") if isinstance(root, dict) else None
        self._older = isinstance(stated, str) and any(draft in stated for draft in _OLDER)
        self._steps = STEPS
        self._total = TOTAL
        self._flat: dict[int, tuple[Json, Schema]] = {}
        self._open: set[int] = set()
        self._pairs: dict[tuple[str | int, ...], Schema] = {}

    def fresh(self) -> None:
        """Start the steps of another part of the form."""
        self._total -= STEPS - max(0, self._steps)
        self._steps = max(0, min(STEPS, self._total))

    @property
    def exhausted(self) -> bool:
        """Whether the steps ended before the whole schema was followed."""
        return self._steps <= 0

    def flat(self, schema: Json) -> Schema:
        """The schema with references followed and `allOf` merged; `True` and invalid schemas become `{}`.

        What needs `allOf` stays there, in simplified parts.
        """
        if not isinstance(schema, dict):
            return CONTRADICTION if schema is False else {}
        plain = cast("Schema", schema)
        if _SPECIAL.isdisjoint(plain) and not isinstance(plain.get("items"), list):
            return plain
        key = id(plain)
        known = self._flat.get(key)
        if known is None:
            if key in self._open or len(self._open) > _DEPTH:
                return {REMARK: _CIRCLE if key in self._open else _TOO_LARGE}
            self._open.add(key)
            # The cache holds the schema, so that no other object gets its id.
            known = self._flat[key] = (plain, self._flatten(plain))
            self._open.discard(key)
        return known[1]

    def merge(self, first: Schema, second: Schema) -> Schema:
        """Merge two schemas; where only one value can stay, such as a title, the first wins."""
        self._steps -= (len(first) + len(second)) // 16
        for key in ("properties", "required", "enum"):
            for one in (first, second):
                self._steps -= len(one[key]) // 16 if isinstance(one.get(key), (dict, list)) else 0
        return merge_schemas(first, second, self.both)

    def both(self, one: Json, two: Json) -> Json:
        """The schema of the values that both sub-schemas allow; the same two give the same object."""
        if one is two or two is True or two == {}:
            return one
        if one is True or one == {}:
            return two
        if one is False or two is False:
            return False
        parts = {_identity(part): part for part in (*_members(one), *_members(two))}
        if len(parts) == 1:
            return one
        return self._pairs.setdefault(tuple(parts), {"allOf": list(parts.values())})

    def without_null(self, schema: Schema) -> tuple[Schema, bool]:
        """The schema for values other than null, and whether null is a value too."""
        nullable = schema.get("nullable") is True  # OpenAPI
        for _ in range(_DEPTH):
            kinds = types(schema)
            if "null" in kinds:
                nullable = True
                if len(kinds) > 1:
                    schema = {**schema, "type": [kind for kind in kinds if kind != "null"]}
            inner = self._collapse(schema)
            if inner is None:
                break
            schema, null = inner
            nullable = nullable or null
        return schema, nullable

    def _collapse(self, schema: Schema) -> tuple[Schema, bool] | None:
        """The schema with fewer alternatives, and whether null was among them; None where no alternative can go."""
        for key in ("anyOf", "oneOf"):
            branches = list(self.branches(schema, key))
            possible = [branch for branch in branches if not impossible(branch)]
            others = [branch for branch in possible if not only_null(branch)]
            if not others or (len(others) == len(branches) and len(others) > 1):
                continue
            if len(others) > 1:
                return {**schema, key: others}, len(others) < len(possible)
            rest = {name: item for name, item in schema.items() if name != key}
            return self.merge(rest, others[0]), len(others) < len(possible)
        return None

    def branches(self, schema: Schema, key: str) -> Iterator[Schema]:
        """The simplified branches of `anyOf` or `oneOf`; none when there are too many."""
        found = schema.get(key)
        if isinstance(found, list) and len(cast("list[Json]", found)) <= _BRANCHES:
            for branch in cast("list[Json]", found):
                if not self._step():
                    return
                yield self.flat(branch)

    def _flatten(self, schema: Schema) -> Schema:
        own = {key: item for key, item in schema.items() if key not in _REFERENCES and key != "allOf"}
        if self._older and "$ref" in schema:
            schema, own = {"$ref": schema["$ref"]}, {key: item for key, item in own.items() if key in _WORDS}
        merged = normal(own)
        parts: list[Json] = []
        for key in _REFERENCES:
            if isinstance(reference := schema.get(key), str):
                target = self._document.target(reference)
                if target is MISSING:
                    remark = f"It refers to {reference[:80]}, which is not in the schema, and is not fetched."
                    merged = {**merged, REMARK: remark}
                else:
                    parts.append(target)
        listed = schema.get("allOf")
        parts += cast("list[Json]", listed)[:_PARTS] if isinstance(listed, list) else []
        for part in parts:
            if not self._step():
                return {**merged, REMARK: _TOO_LARGE}
            merged = self.merge(merged, self.flat(part))
        return merged

    def _step(self) -> bool:
        self._steps -= 1
        return self._steps > 0


def _members(schema: Json) -> list[Json]:
    """The parts of a schema that consists of `allOf` alone, else the schema itself."""
    plain = mapping(schema)
    return items_of(plain.get("allOf")) if plain.keys() == {"allOf"} else [schema]


def _identity(schema: Json) -> str | int:
    """A key that is the same for a schema and for references to it."""
    plain = mapping(schema)
    reference = plain.get("$ref")
    return reference if isinstance(reference, str) and len(plain) == 1 else id(schema)
