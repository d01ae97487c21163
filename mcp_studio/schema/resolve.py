"""Schemas made simple: local references followed, `allOf` merged, unions with null collapsed. Bounded and total.

A server's schema may be anything: wrong types everywhere, references in circles, references that double at every step.
Nothing here raises, and every schema costs at most `STEPS` steps; what lies beyond stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from mcp_studio.jsontext import Json

STEPS = 20_000
"""References, parts and branches looked at for one form; merging large parts counts more."""
TOTAL = 50 * STEPS
"""Steps for all the parts of one form together, however many are opened."""
_DEPTH = 12
_PARTS = 50

Schema = dict[str, Any]


class Resolver:
    """Simplifies the sub-schemas of one root schema."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._steps = STEPS
        self._total = TOTAL

    def fresh(self) -> None:
        """Another part of the form is about to be made: it has steps of its own."""
        self._total -= STEPS - max(0, self._steps)
        self._steps = max(0, min(STEPS, self._total))

    @property
    def exhausted(self) -> bool:
        """Whether the schema was too large or too twisted to be followed to its end."""
        return self._steps <= 0

    def flat(self, schema: Json, depth: int = 0) -> Schema:
        """The schema with its references followed and its `allOf` merged; `True` and nonsense become `{}`."""
        if not isinstance(schema, dict):
            return {"not": {}} if schema is False else {}
        merged = self._follow(schema)
        parts = merged.get("allOf")
        if not isinstance(parts, list) or depth > _DEPTH or len(parts) > _PARTS:
            return merged
        merged = {key: item for key, item in merged.items() if key != "allOf"}
        for part in parts:
            if not self._step():
                break
            merged = self.merge(merged, self.flat(part, depth + 1))
        return merged

    def without_null(self, schema: Schema, depth: int = 0) -> tuple[Schema, bool]:
        """The schema for values other than null, and whether null is a value too."""
        kinds = types(schema)
        nullable = "null" in kinds
        if nullable and len(kinds) > 1:
            schema = {**schema, "type": [kind for kind in kinds if kind != "null"]}
        for key in ("anyOf", "oneOf"):
            branches = list(self.branches(schema, key))
            possible = [branch for branch in branches if not impossible(branch)]
            others = [branch for branch in possible if not _only_null(branch)]
            nullable = nullable or len(others) < len(possible)
            if len(branches) > 0 and len(others) == 1:
                rest = {name: item for name, item in schema.items() if name != key}
                if depth > _DEPTH:
                    return rest, nullable
                inner, inner_null = self.without_null(self.merge(rest, others[0]), depth + 1)
                return inner, nullable or inner_null
            if others and len(others) < len(branches):
                schema = {**schema, key: others}
        return schema, nullable

    def branches(self, schema: Schema, key: str) -> Iterator[Schema]:
        """The branches of `anyOf` or `oneOf`, made flat; none when there are too many."""
        found = schema.get(key)
        if isinstance(found, list) and len(found) <= 1_000:
            for branch in found:
                if not self._step():
                    return
                yield self.flat(branch)

    def _follow(self, schema: Schema) -> Schema:
        seen: set[str] = set()
        while isinstance(reference := schema.get("$ref"), str):
            target = None if reference in seen or not self._step() else self._look_up(reference)
            if not isinstance(target, dict):
                return {} if target is True else schema
            seen.add(reference)
            schema = self.merge({key: item for key, item in schema.items() if key != "$ref"}, target)
        return schema

    def _look_up(self, reference: str) -> Json:
        """What a reference names inside this schema; nothing else is ever fetched."""
        if not reference.startswith("#"):
            return None
        path = unquote(reference[1:])
        if path and not path.startswith("/"):
            return self._anchor(path)
        place = self._root
        for part in path.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(place, dict):
                place = place.get(part)
            elif isinstance(place, list) and part.isdecimal() and len(part) < 6 and int(part) < len(place):
                place = place[int(part)]
            else:
                return None
        return place

    def _anchor(self, name: str) -> Json:
        for key in ("$defs", "definitions"):
            found = self._root.get(key) if isinstance(self._root, dict) else None
            for target in found.values() if isinstance(found, dict) else ():
                if isinstance(target, dict) and name in (target.get("$anchor"), target.get("$id")):
                    return target
        return None

    def merge(self, first: Schema, second: Schema) -> Schema:
        """Both at once; where only one can be said, the first wins."""
        self._steps -= (len(first) + len(second)) // 16
        merged = {**{key: item for key, item in second.items() if key not in ("$defs", "definitions")}, **first}
        one, two = first.get("properties"), second.get("properties")
        if isinstance(one, dict) and isinstance(two, dict):
            self._steps -= (len(one) + len(two)) // 16
            merged["properties"] = {**one, **{name: _both(one, two, name) for name in two}}
        one, two = first.get("required"), second.get("required")
        if isinstance(one, list) and isinstance(two, list):
            self._steps -= (len(one) + len(two)) // 16
            merged["required"] = list(dict.fromkeys(name for name in one + two if isinstance(name, str)))
        if "type" in first and "type" in second:
            shared = [name for name in types(first) if name in types(second)]
            merged["type"] = shared[0] if len(shared) == 1 else shared or first["type"]
        return merged

    def _step(self) -> bool:
        self._steps -= 1
        return self._steps > 0


def types(schema: Schema) -> tuple[str, ...]:
    """The JSON types that `type` names, also in the words of other languages; empty when it is missing or nonsense."""
    found = schema.get("type")
    if isinstance(found, str):
        kind = _TYPES.get(found) or _TYPES.get(found.lower())
        return (kind,) if kind else ()
    names = found if isinstance(found, list) else ()
    kinds = [_TYPES.get(name) or _TYPES.get(name.lower()) for name in names if isinstance(name, str)]
    return tuple(dict.fromkeys(kind for kind in kinds if kind))


_TYPES = {kind: kind for kind in ("string", "integer", "number", "boolean", "array", "object", "null")} | {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "none": "null",
}


def implied(schema: Schema) -> str:
    """The type that a schema without `type` plainly speaks of, or an empty string."""
    if types(schema):
        return ""
    return next((kind for kind, keys in _IMPLIES if any(key in schema for key in keys)), "")


_IMPLIES = (
    ("object", ("properties", "patternProperties", "required", "minProperties", "maxProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "uniqueItems")),
    ("string", ("pattern", "minLength", "maxLength", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)


def impossible(schema: Schema) -> bool:
    """Whether no value at all can be of the schema: how some libraries say that a property may be missing."""
    return schema.get("not") in ({}, True) and "not" in schema


def _only_null(schema: Schema) -> bool:
    return types(schema) == ("null",) or ("const" in schema and schema["const"] is None) or schema.get("enum") == [None]


def _both(one: Schema, two: Schema, name: str) -> Json:
    if name not in one or one[name] is two[name]:
        return two[name]
    return {"allOf": [one[name], two[name]]}
