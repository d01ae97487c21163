"""How well a value fits a schema, at a glance: which variant is meant, whether a condition holds. Pure and bounded.

The keywords that matter in conditions are known; what is not known here, or would take long, counts as fitting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.keys import matcher
from mcp_studio.schema.kinds import Schema, amount, count, types
from mcp_studio.schema.own import equal, is_type
from mcp_studio.schema.resolve import Resolver

_STEPS = 1_000
"""Sub-schemas and values that are looked at for one question."""
_DEPTH = 16
_MOST = 200
"""Items and properties that are looked at in one value."""
_KIND, _MISSING, _OTHER = 8, 2, 3
"""How much it tells against a value that it is of another type, lacks a property, is wrong otherwise."""


class Judge:
    """Answers one question about one value; `loose` counts properties that the schema does not speak of."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._steps = _STEPS
        self._known: dict[tuple[int, int], int] = {}
        self.loose = 0

    def wrong(self, schema: Json, value: Json, depth: int = 0) -> int:
        """How much tells against the value; 0 when nothing does."""
        self._steps -= 1
        if schema is False:
            return _OTHER
        if not isinstance(schema, dict) or self._steps < 0 or depth > _DEPTH:
            return 0
        flat = self._resolver.flat(cast("Schema", schema))
        kinds = types(flat)
        if kinds and not any(is_type(kind, value) for kind in kinds):
            return _KIND
        found = _values(flat, value)
        if isinstance(value, str):
            found += _text(flat, value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found += _number(flat, value)
        elif isinstance(value, list):
            found += self._list(flat, cast("list[Json]", value), depth)
        elif isinstance(value, dict):
            found += self._object(flat, cast("dict[str, Json]", value), depth)
        if _PARTS.isdisjoint(flat):
            return found
        # The same schema may be in a condition and in what follows from it, again and again.
        key = (id(flat), id(value))
        if key not in self._known:
            self._known[key] = self._parts(flat, value, depth)
        return found + self._known[key]

    def _parts(self, schema: Schema, value: Json, depth: int) -> int:
        found = sum(self.wrong(part, value, depth + 1) for part in items_of(schema.get("allOf")))
        if branches := items_of(schema.get("anyOf")):
            found += min(self.wrong(branch, value, depth + 1) for branch in branches)
        if branches := items_of(schema.get("oneOf")):
            each = [self.wrong(branch, value, depth + 1) for branch in branches]
            found += min(each) or (_OTHER if each.count(0) > 1 else 0)
        if "not" in schema and not self.wrong(schema["not"], value, depth + 1):
            found += _OTHER
        if "if" in schema:
            way = "else" if self.wrong(schema["if"], value, depth + 1) else "then"
            found += self.wrong(schema.get(way, True), value, depth + 1)
        return found

    def _list(self, schema: Schema, value: list[Json], depth: int) -> int:
        found = _counts(schema, "Items", len(value))
        starts, rest = items_of(schema.get("prefixItems")), schema.get("items", True)
        for index, item in enumerate(value[:_MOST]):
            found += self.wrong(starts[index] if index < len(starts) else rest, item, depth + 1)
        if "contains" in schema:
            held = sum(not self.wrong(schema["contains"], item, depth + 1) for item in value[:_MOST])
            least, most = count(schema, "minContains"), count(schema, "maxContains")
            if held < (1 if least is None else least) or (most is not None and held > most):
                found += _OTHER
        return found

    def _object(self, schema: Schema, value: dict[str, Json], depth: int) -> int:
        found = _counts(schema, "Properties", len(value))
        found += sum(_MISSING for name in _names(schema.get("required")) if name not in value)
        known, patterns = mapping(schema.get("properties")), mapping(schema.get("patternProperties"))
        fits = [(matcher(pattern), inner) for pattern, inner in list(patterns.items())[:_MOST]]
        extra = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
        for name, item in list(value.items())[:_MOST]:
            fitting = [inner for match, inner in fits if match(name)]
            if name in known:
                fitting.append(known[name])
            elif not fitting:
                self.loose += 1
                fitting.append(True if extra is None else extra)
            found += sum(self.wrong(inner, item, depth + 1) for inner in fitting)
            if "propertyNames" in schema:
                found += self.wrong(schema["propertyNames"], name, depth + 1)
        for name, names in mapping(schema.get("dependentRequired")).items():
            if name in value:
                found += sum(_MISSING for other in _names(names) if other not in value)
        for name, inner in mapping(schema.get("dependentSchemas")).items():
            if name in value:
                found += self.wrong(inner, value, depth + 1)
        return found


_PARTS = frozenset(("allOf", "anyOf", "oneOf", "not", "if"))


def _values(schema: Schema, value: Json) -> int:
    if "const" in schema and not equal(schema["const"], value):
        return _OTHER
    listed = schema.get("enum")
    if isinstance(listed, list) and not any(equal(one, value) for one in cast("list[Json]", listed)):
        return _OTHER
    return 0


def _text(schema: Schema, value: str) -> int:
    found = _counts(schema, "Length", len(value))
    if isinstance(pattern := schema.get("pattern"), str) and matcher(pattern)(value) is False:
        found += 1
    return found


def _number(schema: Schema, value: float) -> int:
    step = schema.get("multipleOf")
    found = int(isinstance(step, int) and isinstance(value, int) and step > 0 and value % step != 0)
    for key, wrong in _BOUNDS:
        edge = amount(schema.get(key))
        if edge is not None and wrong(value, edge):
            found += 1
    return found


_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool]], ...] = (
    ("minimum", lambda value, edge: value < edge),
    ("maximum", lambda value, edge: value > edge),
    ("exclusiveMinimum", lambda value, edge: value <= edge),
    ("exclusiveMaximum", lambda value, edge: value >= edge),
)


def _counts(schema: Schema, what: str, size: int) -> int:
    low, high = count(schema, f"min{what}"), count(schema, f"max{what}")
    return int((low is not None and size < low) or (high is not None and size > high))


def _names(value: Json) -> list[str]:
    return [name for name in items_of(value)[:_MOST] if isinstance(name, str)]
