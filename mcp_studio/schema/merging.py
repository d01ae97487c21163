"""Two schemas that hold at once, made one: bounds tightened, types and options shared, properties united.

What cannot be said by one keyword stays as parts of `allOf`, so that nothing is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.kinds import FORBIDDEN, REMARK, Schema, amount, listed, types
from mcp_studio.schema.wording import spell

Joiner = Callable[[Json, Json], Json]
"""Makes the schema of what two schemas allow both."""
CONTRADICTION: Schema = {"not": {}}
"""No value at all."""
_OTHERWISE: Schema = {REMARK: FORBIDDEN}


def merge(first: Schema, second: Schema, both: Joiner) -> Schema:
    """The schema of values that both allow; titles and the like are those of the first where it has them."""
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
        rule = _multiple if key == "multipleOf" and isinstance(one, int) and isinstance(two, int) else _RULES.get(key)
        if rule:
            merged[key] = rule(one, two, both)
        elif key in _APART and spell(one) != spell(two):
            left.append({key: two})
    if "additionalProperties" in second and "unevaluatedProperties" in first:
        merged.pop("unevaluatedProperties")
    _types(merged, first, second)
    _values(merged, first, second)
    _objects(merged, first, second, both)
    _lists(merged, first, second, both)
    for group in _GROUPS:
        other = {key: second[key] for key in group if key in second}
        if group[0] in first and other and any(first.get(key) is not item for key, item in other.items()):
            merged = {key: item for key, item in merged.items() if key not in group or key in first}
            left.append(other)
    if left:
        merged["allOf"] = left
    return merged


_NAMES = ("$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$schema", "$comment", "$vocabulary")
_SAME = frozenset((*_NAMES, "title", "description", "default", "examples", "example", "allOf", "type", "enum", "const"))
_APART = frozenset(("pattern", "format", "not", "anyOf", "oneOf", "multipleOf"))
"""Of these only one can be in a schema: a second one that differs becomes a part of its own."""
_GROUPS = (("if", "then", "else"), ("contains", "minContains", "maxContains"))


def _types(merged: Schema, first: Schema, second: Schema) -> None:
    """The types that both name; an integer is a number."""
    one, two = types(first), types(second)
    if not one or not two:
        if one or two:
            merged["type"] = (first if one else second)["type"]
        return
    shared = [kind for kind in one if kind in two or (kind == "integer" and "number" in two)]
    shared += [kind for kind in two if kind == "integer" and "number" in one and kind not in shared]
    if shared:
        merged["type"] = shared[0] if len(shared) == 1 else shared
    else:
        merged.update(CONTRADICTION)


def _values(merged: Schema, first: Schema, second: Schema) -> None:
    """The values that both list, by `enum` or `const`."""
    one, two = listed(first), listed(second)
    if one is None or two is None:
        return
    allowed = {spell(value) for value in two}
    shared = [value for value in one if spell(value) in allowed]
    if not shared:
        merged.update(CONTRADICTION)
    elif "const" not in merged:
        merged["enum"] = shared
        if len(shared) < len(one):
            merged.pop("enumNames", None)


def _objects(merged: Schema, first: Schema, second: Schema, both: Joiner) -> None:
    """Properties of both; what one says of all further ones holds for those that only the other names."""
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


def _lists(merged: Schema, first: Schema, second: Schema, both: Joiner) -> None:
    """The first items by both; what one says of the items after its first ones holds for those of the other."""
    one, two = first.get("prefixItems"), second.get("prefixItems")
    if not isinstance(one, list) and not isinstance(two, list):
        return
    starts, others = (cast("list[Json]", one if isinstance(one, list) else []) for one in (one, two))
    places: list[Json] = []
    for index in range(max(len(starts), len(others))):
        mine = starts[index] if index < len(starts) else first.get("items", True)
        theirs = others[index] if index < len(others) else second.get("items", True)
        places.append(both(mine, theirs))
    merged["prefixItems"] = places


# Keywords of which both say something


def _most(one: Json, two: Json, both: Joiner) -> Json:
    return max((one, two), key=lambda value: -math.inf if amount(value) is None else value)


def _least(one: Json, two: Json, both: Joiner) -> Json:
    return min((one, two), key=lambda value: math.inf if amount(value) is None else value)


def _multiple(one: Json, two: Json, both: Joiner) -> Json:
    return math.lcm(one, two) or one


def _either(one: Json, two: Json, both: Joiner) -> Json:
    return one is True or two is True


def _united(one: Json, two: Json, both: Joiner) -> Json:
    if not isinstance(one, list) or not isinstance(two, list):
        return one if isinstance(one, list) else two
    names = cast("list[Json]", [*one, *two])
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _each(one: Json, two: Json, both: Joiner) -> Json:
    """Schemas, or names, by property or pattern."""
    mine, theirs = mapping(one), mapping(two)
    merged: dict[str, Json] = {**mine, **theirs}
    for key in mine.keys() & theirs.keys():
        lists = isinstance(mine[key], list) or isinstance(theirs[key], list)
        merged[key] = _united(mine[key], theirs[key], both) if lists else both(mine[key], theirs[key])
    return merged


def _joined(one: Json, two: Json, both: Joiner) -> Json:
    return both(one, two)


def _inner(one: Json, two: Json, both: Joiner) -> Json:
    """What the inner schema has looked at, nothing is left of for the outer one."""
    return two


_Rule = Callable[[Any, Any, Joiner], Json]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties"), _most),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties"), _least),
    "exclusiveMinimum": _most,
    "exclusiveMaximum": _least,
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _either),
    "required": _united,
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "patternProperties"), _each),
    **dict.fromkeys(("items", "propertyNames", "additionalProperties"), _joined),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), _inner),
}
