"""The quick check while a person types: what the drawn fields say, nothing that could take long. Pure, stdlib only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from mcp_studio.jsontext import ExactFloat, Json, items_of, mapping
from mcp_studio.schema import kinds
from mcp_studio.schema.ecma import Match, matcher
from mcp_studio.schema.field import (
    NONE_CHOSEN,
    Choice,
    Choices,
    Const,
    Field,
    Flag,
    Form,
    JsonField,
    List,
    Map,
    Number,
    Object,
    Scalar,
    SchemaProblem,
    Severity,
    Text,
    Union,
    json_types,
    settled,
)
from mcp_studio.schema.kinds import (
    NO_KIND,
    NOT_ALLOWED,
    REQUIRED,
    TOO_MANY,
    TWICE,
    Schema,
    amount,
    count,
    limit,
    listed,
    not_among,
    spell,
    type_of,
    types,
    wrong_format,
    wrong_type,
)
from mcp_studio.schema.place import Path, pointer
from mcp_studio.schema.resolve import Resolver

Said = tuple[str, Severity]
"""A message and how bad it is."""


def own(field: Field, value: Json, *, strict: bool = False) -> Iterable[Said]:
    """What is wrong with a value at its own place: type, bounds, options, counts, format; nothing of what is inside it.

    A union is to be settled before; one that is not says that the value is of none of its kinds.
    """
    if value is None and field.nullable:
        return ()
    said: list[Said] = [(message, severity(field, value)) for message in _OWN[type(field)](field, value)]
    if isinstance(field, Text) and isinstance(value, str) and (message := wrong_format(field.format, value)):
        said.append((message, "error" if strict else "warning"))
    return said


def severity(field: Field, value: Json) -> Severity:
    """How bad a wrong value is: a schema that only speaks of objects, say, without asking for one, allows the rest."""
    return "warning" if field.implied and not any(is_type(kind, value) for kind in json_types(field)) else "error"


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


def is_type(kind: str, value: Json) -> bool:
    """Whether a value is of a JSON Schema type; 2.0 is an integer."""
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return kind == "number" or isinstance(value, int) or value.is_integer() or _long(value)
    names = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, names[kind])


def _long(value: float) -> bool:
    # An integer of absurd length is kept as written, and reads as infinity.
    return isinstance(value, ExactFloat) and value.text.lstrip("-").isdecimal()


def _text(field: Text, value: Json) -> Iterable[str]:
    if not isinstance(value, str):
        return (wrong_type("string", value),)
    return _broken(value, minLength=field.min_length, maxLength=field.max_length)


def _number(field: Number, value: Json) -> Iterable[str]:
    if not is_type("integer" if field.integer else "number", value):
        return (wrong_type("integer" if field.integer else "number", value),)
    low = "exclusiveMinimum" if field.above_minimum else "minimum"
    high = "exclusiveMaximum" if field.below_maximum else "maximum"
    return _broken(value, **{low: field.minimum, high: field.maximum, "multipleOf": field.multiple_of})


def _broken(value: Any, **bounds: float | None) -> list[str]:
    """The bounds that a value breaks, by their keywords, as sentences."""
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
    # Fractions are left to the whole check, which counts in decimals.
    "multipleOf": lambda value, step: (
        isinstance(value, int) and isinstance(step, int) and step > 0 and value % step != 0
    ),
    **dict.fromkeys(("minLength", "minItems", "minProperties"), lambda value, bound: len(value) < bound),
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), lambda value, bound: len(value) > bound),
}


def _flag(field: Flag, value: Json) -> Iterable[str]:
    return () if isinstance(value, bool) else (wrong_type("boolean", value),)


def _choice(field: Choice, value: Json) -> Iterable[str]:
    if any(equal(option.value, value) for option in field.options):
        return ()
    return (not_among([option.value for option in field.options], value),)


def _const(field: Const, value: Json) -> Iterable[str]:
    return () if equal(field.value, value) else (not_among([field.value], value),)


def _json(field: JsonField | Union, value: Json) -> Iterable[str]:
    kinds = field.types
    if kinds and not any(is_type(kind, value) for kind in kinds):
        return (wrong_type(list(kinds), value),)
    return (NO_KIND,) if isinstance(field, Union) else ()


def _scalar(field: Scalar, value: Json) -> Iterable[str]:
    """A value that is right for one of the parts is right; else what the parts of its kind say."""
    if wrong := tuple(_json(field, value)):
        return wrong
    said = [tuple(_OWN[type(part)](part, value)) for part in field.parts]
    if not said or not all(said):
        return ()
    fitting = [
        messages
        for part, messages in zip(field.parts, said, strict=False)
        if isinstance(part, (Choice, Const)) or is_type(_KIND[type(part)], value)
    ]
    return fitting[0] if len(fitting) == 1 else (NO_KIND,)


def _choices(field: Choices, value: Json) -> Iterable[str]:
    if not isinstance(value, list):
        return (wrong_type("array", value),)
    for item in cast("list[Json]", value):
        if not any(equal(option.value, item) for option in field.options):
            return (not_among([option.value for option in field.options], item),)
    return _broken(value, minItems=field.min_items, maxItems=field.max_items)


def _list(field: List, value: Json) -> Iterable[str]:
    if not isinstance(value, list):
        return (wrong_type("array", value),)
    items = cast("list[Json]", value)
    said = _broken(items, minItems=field.min_items, maxItems=field.max_items)
    if not said and field.items() is None and len(items) > len(field.first()):
        said.append(TOO_MANY)
    if field.unique and len({_key(item) for item in items}) < len(items):
        said.append(TWICE)
    return said


def _key(value: Json) -> object:
    """Two values have the same key only if they are the same."""
    if isinstance(value, (bool, list, dict)):
        return (spell(value),)
    return value


def _entries(field: Object | Map, value: Json) -> Iterable[str]:
    if not isinstance(value, dict):
        return (wrong_type("object", value),)
    return _broken(value, minProperties=field.min_entries, maxProperties=field.max_entries)


_Check = Callable[[Any, Json], Iterable[str]]
_OWN: dict[type[Field], _Check] = {
    Text: _text,
    Number: _number,
    Flag: _flag,
    Choice: _choice,
    Const: _const,
    JsonField: _json,
    Scalar: _scalar,
    Choices: _choices,
    List: _list,
    Object: _entries,
    Map: _entries,
    Union: _json,
}
_KIND: dict[type[Field], str] = {Text: "string", Number: "number", Flag: "boolean"}

_MOST = 100_000
"""Places of a value that are looked at; further ones are left to the whole check."""
_PROBLEMS = 1_000
_DEEPEST = 100


def quick(form: Form, value: Json, chosen: Mapping[Path, int] = NONE_CHOSEN) -> tuple[SchemaProblem, ...]:
    """Problems of the drawn fields: missing, wrong type, none of the options, out of bounds, wrong format, wrong key.

    Patterns and everything a field does not draw are left to the whole check (`worker.Checker`).

    Args:
        chosen: the variants of unions that the person chose, by their places; else the value says which is meant.
    """
    walk = _Walk(chosen, form.strict)
    walk.go(form.top, value, ())
    return tuple(walk.found)


class _Walk:
    """Goes through a value and its fields, as far as `_MOST` and `_DEEPEST` allow."""

    def __init__(self, chosen: Mapping[Path, int], strict: bool) -> None:
        self.found: list[SchemaProblem] = []
        self._chosen = chosen
        self._strict = strict
        self._left = _MOST

    def go(self, field: Field, value: Json, path: Path) -> None:
        if value is None and field.nullable:
            return
        if isinstance(field, Union):
            field = settled(field, value, self._chosen.get(path))
        for message, weight in own(field, value, strict=self._strict):
            self.found.append(SchemaProblem(pointer(*path), message, weight))
        if len(path) >= _DEEPEST:
            return
        for part, message in wrong_members(field, value):
            self.found.append(SchemaProblem(pointer(*path, part), message))
        for part, one, item in _inside(field, value):
            self._left -= 1
            if self._left < 0 or len(self.found) >= _PROBLEMS:
                return
            self.go(one, item, (*path, part))


def _inside(field: Field, value: Json) -> Iterable[tuple[str | int, Field, Json]]:
    """The keys and indexes of a value of which the field says something, with their fields and values."""
    if isinstance(value, dict) and isinstance(field, (Object, Map)):
        known = {one.name: one for one in field.fields()} if isinstance(field, Object) else {}
        free = field.rest if isinstance(field, Object) else field
        for key, item in cast("dict[str, Json]", value).items():
            if one := known.get(key) or (free.of(key) if free else None):
                yield key, one, item
    elif isinstance(value, list) and isinstance(field, List):
        for index, item in enumerate(cast("list[Json]", value)):
            if (one := field.item(index)) is None:
                return
            yield index, one, item


def wrong_members(field: Field, value: Json) -> Iterable[tuple[str, str]]:
    """What is wrong with the keys of an object: those that are missing, and those that are not allowed."""
    if not isinstance(value, dict):
        return
    if isinstance(field, Object):
        for one in field.fields():
            if one.required and one.name not in value:
                yield one.name, REQUIRED
    free = field.rest if isinstance(field, Object) else field if isinstance(field, Map) else None
    if free is not None:
        names = {one.name for one in field.fields()} if isinstance(field, Object) else ()
        for key in cast("dict[str, Json]", value):
            if key not in names and (message := free.wrong_key(key)):
                yield key, message if message == NOT_ALLOWED else f"is a name that {message}"


def key_rule(names: Json, patterns: list[tuple[str, Match]], closed: bool) -> Callable[[str], str]:
    """Why a key is not allowed, as a sentence; empty when it is, or when that is not known here.

    The words are those of the check of the whole schema, so that nothing is told twice.

    Args:
        names: the schema of `propertyNames`, made flat.
        patterns: those of `patternProperties`.
        closed: keys that no pattern fits are not allowed.
    """
    named = names if isinstance(names, dict) else {}
    pattern = named.get("pattern")
    wanted = matcher(pattern) if isinstance(pattern, str) else None
    names_allowed = named.get("enum")
    low, high = amount(named.get("minLength")), amount(named.get("maxLength"))

    def wrong(key: str) -> str:
        if wanted and wanted(key) is False:
            return f"must match the pattern {pattern}, got {kinds.got(key)}"
        if isinstance(names_allowed, list) and key not in names_allowed:
            return kinds.not_among(names_allowed, key)
        if broken := _broken(key, minLength=low, maxLength=high):
            return broken[0]
        return kinds.NOT_ALLOWED if closed and all(fits(key) is False for _, fits in patterns) else ""

    return wrong


_STEPS = 1_000
"""Sub-schemas and values that are looked at for one question."""
_DEPTH = 16
_MOST_CHECKED = 200
"""Items and properties that are looked at in one value."""
_FIT_KINDS, _MISSING, _OTHER = 8, 2, 3
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
            return _FIT_KINDS
        found = 0 if (allowed := listed(flat)) is None or any(equal(one, value) for one in allowed) else _OTHER
        bounds = {key: amount(flat.get(key)) for key in _BOUNDS.get(type_of(value), ())}
        found += len(_broken(value, **bounds))
        if isinstance(value, str) and isinstance(pattern := flat.get("pattern"), str):
            found += int(matcher(pattern)(value) is False)
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
        found = 0
        starts, rest = items_of(schema.get("prefixItems")), schema.get("items", True)
        for index, item in enumerate(value[:_MOST_CHECKED]):
            found += self.wrong(starts[index] if index < len(starts) else rest, item, depth + 1)
        if "contains" in schema:
            held = sum(not self.wrong(schema["contains"], item, depth + 1) for item in value[:_MOST_CHECKED])
            least, most = count(schema, "minContains"), count(schema, "maxContains")
            if held < (1 if least is None else least) or (most is not None and held > most):
                found += _OTHER
        return found

    def _object(self, schema: Schema, value: dict[str, Json], depth: int) -> int:
        found = sum(_MISSING for name in _names(schema.get("required")) if name not in value)
        known, patterns = mapping(schema.get("properties")), mapping(schema.get("patternProperties"))
        fits = [(matcher(pattern), part) for pattern, part in list(patterns.items())[:_MOST_CHECKED]]
        extra = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
        for name, item in list(value.items())[:_MOST_CHECKED]:
            fitting = [part for match, part in fits if match(name)]
            if name in known:
                fitting.append(known[name])
            elif not fitting:
                self.loose += 1
                fitting.append(True if extra is None else extra)
            found += sum(self.wrong(part, item, depth + 1) for part in fitting)
            if "propertyNames" in schema:
                found += self.wrong(schema["propertyNames"], name, depth + 1)
        for name, names in mapping(schema.get("dependentRequired")).items():
            if name in value:
                found += sum(_MISSING for other in _names(names) if other not in value)
        for name, dependent in mapping(schema.get("dependentSchemas")).items():
            if name in value:
                found += self.wrong(dependent, value, depth + 1)
        return found


_PARTS = frozenset(("allOf", "anyOf", "oneOf", "not", "if"))


_AMOUNTS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "integer": _AMOUNTS,
    "number": _AMOUNTS,
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def _names(value: Json) -> list[str]:
    return [name for name in items_of(value)[:_MOST_CHECKED] if isinstance(name, str)]
