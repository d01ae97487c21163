"""The quick check while a person types: only what the drawn fields say, so that it never takes long.

Pure, stdlib only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.schema.field import (
    NONE_CHOSEN,
    Choice,
    Choices,
    Const,
    Field,
    Form,
    List,
    Map,
    Number,
    Object,
    Scalar,
    SchemaProblem,
    Severity,
    Text,
    Union,
    inner,
    json_types,
    resolve_union,
)
from mcp_studio.schema.keywords import (
    NO_KIND,
    NOT_ALLOWED,
    REQUIRED,
    TOO_MANY,
    TWICE,
    amount,
    limit,
    listed,
    not_among,
    required_names,
    spell,
    types,
    wrong_format,
    wrong_type,
)
from mcp_studio.schema.patterns import matcher
from mcp_studio.schema.place import Path, pointer
from mcp_studio.schema.resolve import Resolver

Finding = tuple[str, Severity]
"""A message and its severity."""


def problems_here(field: Field, value: Json, *, strict: bool = False) -> list[Finding]:
    """The problems of a value itself: type, bounds, options, counts, format. Members and items are not checked.

    The caller resolves a union before; an unresolved union means that the value is of none of its kinds.
    """
    if value is None and field.nullable:
        return []
    # A schema with `properties` but without `type`, for example, allows values that are not objects.
    severity: Severity = "warning" if field.implied and not is_any_type(json_types(field), value) else "error"
    found: list[Finding] = [(message, severity) for message in _messages(field, value)]
    if isinstance(field, Text) and isinstance(value, str) and (message := wrong_format(field.format, value)):
        found.append((message, "error" if strict else "warning"))
    return found


def _messages(field: Field, value: Json) -> list[str]:
    if isinstance(field, (Choice, Const)):
        return _not_listed([field.value] if isinstance(field, Const) else _values(field), [value])
    kinds = json_types(field)
    if kinds and not is_any_type(kinds, value):
        return [wrong_type(list(kinds), value)]
    if isinstance(field, Union):
        return [NO_KIND]
    if isinstance(field, Scalar):
        return _scalar(field, value)
    found = _broken(_bounds(field), value)
    if isinstance(field, Choices):
        found = _not_listed(_values(field), value) or found
    elif isinstance(field, List):
        if not found and field.items() is None and len(value) > len(field.first()):
            found.append(TOO_MANY)
        if field.unique and len({_key(item) for item in value}) < len(value):
            found.append(TWICE)
    return found


def _scalar(field: Scalar, value: Json) -> list[str]:
    """A value is valid if any part accepts it; otherwise the messages of the part with its type are returned."""
    messages = [_messages(part, value) for part in field.parts]
    if not all(messages):
        return []
    fitting = [found for part, found in zip(field.parts, messages, strict=True) if is_any_type(json_types(part), value)]
    return fitting[0] if len(fitting) == 1 else [NO_KIND]


def _values(field: Choice | Choices) -> list[Json]:
    return [option.value for option in field.options]


def _not_listed(allowed: list[Json], values: list[Json]) -> list[str]:
    wrong = (value for value in values if not any(equal(one, value) for one in allowed))
    return [not_among(allowed, value) for value in wrong][:1]


def _bounds(field: Field) -> dict[str, float | int | None]:
    """The bounds of a field, by the keywords of JSON Schema."""
    match field:
        case Text():
            return {"minLength": field.min_length, "maxLength": field.max_length}
        case Number():
            low = "exclusiveMinimum" if field.above_minimum else "minimum"
            high = "exclusiveMaximum" if field.below_maximum else "maximum"
            return {low: field.minimum, high: field.maximum, "multipleOf": field.multiple_of}
        case List() | Choices():
            return {"minItems": field.min_items, "maxItems": field.max_items}
        case Object() | Map():
            return {"minProperties": field.min_entries, "maxProperties": field.max_entries}
        case _:
            return {}


def _broken(bounds: Mapping[str, float | None], value: Any) -> list[str]:
    """The bounds that a value breaks, as sentences."""
    return [
        limit(keyword, bound, value)
        for keyword, bound in bounds.items()
        if bound is not None and _BREAKS[keyword](value, bound)
    ]


_BREAKS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value < bound,
    "maximum": lambda value, bound: value > bound,
    "exclusiveMinimum": lambda value, bound: value <= bound,
    "exclusiveMaximum": lambda value, bound: value >= bound,
    # The whole check tests fractions, because it counts in decimals.
    "multipleOf": lambda value, step: (
        isinstance(value, int) and isinstance(step, int) and step > 0 and value % step != 0
    ),
    **dict.fromkeys(("minLength", "minItems", "minProperties"), lambda value, bound: len(value) < bound),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), lambda value, bound: len(value) > bound),
}


def _key(value: Json) -> object:
    """A hashable key that is equal for equal values only."""
    if isinstance(value, (bool, list, dict)):
        return (spell(value),)
    return value


def is_any_type(kinds: Iterable[str], value: Json) -> bool:
    """Whether a value is of one of these JSON Schema types."""
    return any(is_type(kind, value) for kind in kinds)


def is_type(kind: str, value: Json) -> bool:
    """Whether a value is of a JSON Schema type; 2.0 is an integer."""
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return kind == "number" or isinstance(value, int) or value.is_integer()
    names = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, names[kind])


def equal(one: Json, two: Json, depth: int = 50) -> bool:
    """Equality of JSON Schema: 1 is 1.0, but true is not 1. Values that are too deep are compared as JSON text."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if depth == 0:
        return spell(one) == spell(two)
    if isinstance(one, dict) and isinstance(two, dict):
        first, second = cast("dict[str, Json]", one), cast("dict[str, Json]", two)
        return first.keys() == second.keys() and all(equal(first[key], second[key], depth - 1) for key in first)
    if isinstance(one, list) and isinstance(two, list):
        items, others = cast("list[Json]", one), cast("list[Json]", two)
        return len(items) == len(others) and all(equal(a, b, depth - 1) for a, b in zip(items, others, strict=True))
    return one == two


_MOST = 100_000
"""Places of a value that are checked; the whole check covers the rest."""
_PROBLEMS = 1_000
_DEEPEST = 100


def quick(form: Form, value: Json, chosen: Mapping[Path, int] = NONE_CHOSEN) -> tuple[SchemaProblem, ...]:
    """Problems of the drawn fields: missing, wrong type, none of the options, out of bounds, wrong format, wrong key.

    Patterns, and everything that no field draws, are left to the whole check (`checker.Checker`).

    Args:
        chosen: the variants of unions that the person chose, by place; for other unions the value decides.
    """
    found: list[SchemaProblem] = []
    todo: list[tuple[Path, Field, Json]] = [((), form.top, value)]
    for _ in range(_MOST):
        if not todo or len(found) >= _PROBLEMS:
            break
        path, field, item = todo.pop()
        if item is None and field.nullable:
            continue
        field = resolve_union(field, item, chosen.get(path))
        for message, severity in problems_here(field, item, strict=form.strict):
            found.append(SchemaProblem(pointer(*path), message, severity))
        if len(path) < _DEEPEST:
            found += [SchemaProblem(pointer(*path, name), message) for name, message in wrong_members(field, item)]
            todo += [((*path, part), one, below) for part, one, below in reversed(list(_members(field, item)))]
    return tuple(found)


def _members(field: Field, value: Json) -> Iterable[tuple[str | int, Field, Json]]:
    """The keys and indexes of a value that the field describes, each with its field and value."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Json]", value).items():
            if one := inner(field, key):
                yield key, one, item
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Json]", value)):
            if (one := inner(field, index)) is None:
                return
            yield index, one, item


def wrong_members(field: Field, value: Json) -> Iterable[tuple[str, str]]:
    """The problems of an object's keys: required keys that are missing, and keys that are not allowed."""
    if not isinstance(value, dict) or not isinstance(field, (Object, Map)):
        return
    fields = field.fields() if isinstance(field, Object) else ()
    for one in fields:
        if one.required and one.name not in value:
            yield one.name, REQUIRED
    free = field.rest if isinstance(field, Object) else field
    if free is not None:
        names = {one.name for one in fields}
        for key in cast("dict[str, Json]", value):
            if key not in names and (message := free.wrong_key(key)):
                yield key, message if message == NOT_ALLOWED else f"is a name that {message}"


_STEPS = 1_000
"""Sub-schemas and values that are examined for one question."""
_DEPTH = 16
_MOST_CHECKED = 200
"""Items and properties that are examined of one value."""
_OTHER = 8
"""The weight of a wrong type or an unlisted value; any other problem weighs 1."""


class Judge:
    """Finds the condition and the alternative of a schema that fit a value best, in bounded time.

    Only the keywords that tell alternatives apart are examined.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._steps = _STEPS
        self.loose = 0
        """Properties of the value that the schema does not describe."""

    def wrong(self, schema: Json, value: Json, depth: int = 0) -> int:
        """The weight of everything in the schema that speaks against the value; 0 when nothing does."""
        self._steps -= 1
        if schema is False:
            return _OTHER
        if not isinstance(schema, dict) or self._steps < 0 or depth > _DEPTH:
            return 0
        flat = self._resolver.flat(schema)
        if types(flat) and not is_any_type(types(flat), value):
            return _OTHER
        allowed = listed(flat)
        found = _OTHER if allowed is not None and _not_listed(allowed, [value]) else 0
        if isinstance(value, str):
            pattern = flat.get("pattern")
            found += int(isinstance(pattern, str) and matcher(pattern)(value) is False)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found += len(_broken({key: amount(flat.get(key)) for key in _AMOUNTS}, value))
        elif isinstance(value, dict):
            found += sum(name not in value for name in required_names(flat))
        found += sum(self.wrong(part, item, depth + 1) for part, item in self._parts(flat, value))
        for branches in (items_of(flat.get("anyOf")), items_of(flat.get("oneOf"))):
            if branches:
                found += min(self.wrong(branch, value, depth + 1) for branch in branches)
        if "not" in flat and not self.wrong(flat["not"], value, depth + 1):
            found += 1
        return found

    def _parts(self, flat: dict[str, Any], value: Json) -> Iterable[tuple[Json, Json]]:
        """The sub-schemas that apply too, each with the value that it describes."""
        yield from ((part, value) for part in items_of(flat.get("allOf")))
        if isinstance(value, list):
            starts, rest = items_of(flat.get("prefixItems")), flat.get("items", True)
            for index, item in enumerate(cast("list[Json]", value)[:_MOST_CHECKED]):
                yield starts[index] if index < len(starts) else rest, item
        elif isinstance(value, dict):
            known = mapping(flat.get("properties"))
            rest = flat.get("additionalProperties", flat.get("unevaluatedProperties", True))
            rest = True if "patternProperties" in flat else rest
            for name, item in list(cast("dict[str, Json]", value).items())[:_MOST_CHECKED]:
                self.loose += name not in known
                yield known.get(name, rest), item


_AMOUNTS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
