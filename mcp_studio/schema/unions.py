"""Several kinds of values for one place: `anyOf`, `oneOf`, lists of types."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.record import record
from mcp_studio.schema.check import Judge, equal, is_any_type
from mcp_studio.schema.field import Field, Option, Scalar, Union, Variant
from mcp_studio.schema.keywords import TYPE_WORDS, Schema, implied, kinds_of, listed, required_names, spell, types
from mcp_studio.schema.resolve import Resolver

if TYPE_CHECKING:
    from mcp_studio.schema.form import Builder

MAX_OPTIONS = 1_000
"""Options that are drawn for one field; with more the value is typed."""
_DEPTH = 8


def options(schema: Schema, resolver: Resolver) -> tuple[Option, ...]:
    """The values that a schema offers to choose from, without duplicates; empty when the schema is not a choice."""
    if "const" in schema:
        return _distinct([Option(schema["const"], _title(schema.get("title"), schema["const"]))])
    values = items_of(schema.get("enum"))
    if 0 < len(values) <= MAX_OPTIONS:
        # `enumNames` held the titles before 2025-11-25 (client/elicitation).
        names = items_of(schema.get("enumNames"))
        titles = names if len(names) == len(values) else [None] * len(values)
        return _distinct([Option(value, _title(title, value)) for value, title in zip(values, titles, strict=True)])
    return _titled_options(schema, resolver)


def many_options(schema: Schema, resolver: Resolver) -> tuple[Option, ...]:
    """The values that an array's items are chosen from; empty when the schema is no such array."""
    items = schema.get("items")
    if types(schema) not in ((), ("array",)) or not isinstance(items, dict):
        return ()
    flat = resolver.flat(items)
    return () if "const" in flat else options(flat, resolver)


def _titled_options(schema: Schema, resolver: Resolver) -> tuple[Option, ...]:
    for key in ("oneOf", "anyOf"):
        branches = schema.get(key)
        if not isinstance(branches, list) or not 0 < len(branches) <= MAX_OPTIONS:
            continue
        found: list[Option] = []
        for branch in resolver.branches(schema, key):
            values = listed(branch)
            if not values or len(values) > MAX_OPTIONS:
                return ()
            title = branch.get("title") if len(values) == 1 else None
            found += [Option(value, _title(title, value)) for value in values]
        if len(found) <= MAX_OPTIONS:
            return _distinct(found)
    return ()


def _distinct(found: list[Option]) -> tuple[Option, ...]:
    distinct: dict[str, Option] = {}
    for option in found:
        distinct.setdefault(spell(option.value), option)
    return tuple(distinct.values())


def _title(title: Json, value: Json) -> str:
    return title if isinstance(title, str) and title else label(value)


def label(value: Json) -> str:
    """A value as an option shows it: text unchanged, anything else as JSON."""
    return value if isinstance(value, str) else spell(value)


_WIDTH = 60


def shape(schema: Schema, resolver: Resolver, depth: int = 2) -> str:
    """The shape of values in at most 60 characters; `any JSON` when the schema does not tell."""
    text = _shape_of_node(schema, resolver, depth) or "any JSON"
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _shape_of_node(schema: Schema, resolver: Resolver, depth: int) -> str:
    if depth < 0:
        return "…"
    for key in ("anyOf", "oneOf"):
        branches = [_shape_of_node(branch, resolver, depth - 1) for branch in list(resolver.branches(schema, key))[:6]]
        if branches:
            return " | ".join(dict.fromkeys(branch or "any" for branch in branches))
    if isinstance(schema.get("enum"), list):
        return " | ".join(label(value) for value in schema["enum"][:6])
    kinds = types(schema) or tuple(kind for kind in (implied(schema),) if kind)
    return " | ".join(_kind(kind, schema, resolver, depth) for kind in kinds)


def _kind(kind: str, schema: Schema, resolver: Resolver, depth: int) -> str:
    if kind == "object":
        return _object(schema, resolver, depth)
    if kind != "array":
        return kind
    items = schema.get("items")
    inner = _shape_of_node(resolver.flat(items), resolver, depth - 1) if isinstance(items, dict) else ""
    return (f"({inner})[]" if " | " in inner else f"{inner}[]") if inner else "list"


def _object(schema: Schema, resolver: Resolver, depth: int) -> str:
    names = schema.get("properties")
    if isinstance(names, dict) and names:
        return "object {" + ", ".join(list(names)[:8]) + (", …}" if len(names) > 8 else "}")
    free = schema.get("additionalProperties")
    inner = _shape_of_node(resolver.flat(free), resolver, depth - 1) if isinstance(free, dict) else ""
    return f"object {{name: {inner}}}" if inner else "object"


def span(low: Any, high: Any, *, above: bool = False, below: bool = False, unit: str = "") -> str:
    """A range in words: `1 to 50`, `at least 1`, `more than 0`, `at most 80 characters`; empty without bounds."""
    plain = not above and not below
    same = low == high
    low, high = (None if edge is None else spell(edge, 20) for edge in (low, high))
    if low is not None and high is not None and plain:
        words = f"{low} to {high}" if not same else f"exactly {low}"
    else:
        parts = ([f"{'more than' if above else 'at least'} {low}"] if low is not None else []) + (
            [f"{'less than' if below else 'at most'} {high}"] if high is not None else []
        )
        words = ", ".join(parts)
    if unit and words and words.split()[-1] == "1":
        unit = unit.removesuffix("s")
    return f"{words} {unit}" if words and unit else words


_LONGEST = 60


@record(frozen=True)
class Alternative:
    """One alternative of a schema."""

    schema: Schema
    """The alternative merged with the keywords beside the alternatives, references followed."""
    name: str
    """The last part of the reference that names the alternative, or an empty text."""


def discriminator(ways: list[Alternative]) -> tuple[str, list[Json]] | None:
    """The property that has a different constant in each alternative, and these constants; None where there is none."""
    constants = [_constants(way.schema) for way in ways]
    for name in constants[0]:
        if all(name in one for one in constants) and len({spell(one[name]) for one in constants}) == len(ways):
            return name, [one[name] for one in constants]
    return None


def labels(resolver: Resolver, ways: list[Alternative], known: tuple[str, list[Json]] | None) -> list[str]:
    """A label for each alternative: its title, its constant, its reference's name, else the shape of its values."""
    found: list[str] = []
    for index, way in enumerate(ways):
        title = way.schema.get("title")
        constant = label(known[1][index]) if known else ""
        found.append(title if isinstance(title, str) and title else constant or way.name or _shape(resolver, way))
    return [f"{one} {found[:index].count(one) + 1}" if found.count(one) > 1 else one for index, one in enumerate(found)]


def _shape(resolver: Resolver, way: Alternative) -> str:
    schema = way.schema
    if "const" in schema:
        return label(schema["const"])[:_LONGEST]
    kinds = types(schema)
    if len(kinds) == 1 and "enum" not in schema and kinds[0] in TYPE_WORDS:
        form = schema.get("format")
        return f"{TYPE_WORDS[kinds[0]]} ({form})" if isinstance(form, str) and form else TYPE_WORDS[kinds[0]]
    return shape(schema, resolver)


def _constants(branch: Schema) -> dict[str, Json]:
    """The properties that allow a single value, with that value."""
    single = {name: listed(mapping(inner)) or [] for name, inner in mapping(branch.get("properties")).items()}
    return {name: values[0] for name, values in single.items() if len(values) == 1}


MAX_VARIANTS = 100
"""Variants that are drawn for one union; with more the value is edited as JSON."""
_SIMPLE = frozenset(("string", "integer", "number", "boolean"))
_ORDER = ("string", "integer", "number", "boolean")
_OF_THE_WHOLE = frozenset(("title", "description", "default", "examples", "example", "deprecated", "readOnly"))
"""Keywords that describe the union as a whole; they are not repeated for each variant."""
_RESTRICTS = frozenset(
    ("required", "not", "title", "description", "$comment", "minProperties", "maxProperties", "dependentRequired")
)
_TOO_MANY = "There are too many alternatives to be drawn."


def union(builder: Builder, base: dict[str, Any], schema: Schema) -> Field | None:
    """The field of a schema with alternatives; None when it has none."""
    if "anyOf" not in schema and "oneOf" not in schema and "allOf" not in schema and len(types(schema)) < 2:
        return None
    found = _Finder(builder)
    ways = found.ways(schema)
    if found.too_many:
        return builder.plain({**base, "remark": _TOO_MANY}, _without(schema))
    if found.needs:
        base = {**base, "remark": base.get("remark") or found.needs}
    if len(ways) < 2:
        return None if not ways or ways[0].schema is schema else _only(builder, base, ways[0].schema)
    if all((kinds := kinds_of(way.schema)) and kinds <= _SIMPLE for way in ways):
        return _scalar(builder, base, ways)
    known = discriminator(ways)
    if not all(types(way.schema) for way in ways):
        base = {**base, "implied": True}
    variants = tuple(
        Variant(label, cache(partial(_field_of, builder, base, way)))
        for label, way in zip(labels(builder.resolver, ways, known), ways, strict=True)
    )
    choose = _chooser(builder, ways, known)
    return Union(**base, hint=shape(schema, builder.resolver), variants=variants, types=_types(ways), choose=choose)


def _only(builder: Builder, base: dict[str, Any], schema: Schema) -> Field:
    """The field of the single alternative that is left."""
    if "const" in schema or "enum" in schema:
        return builder.drawn(base["name"], schema, base["required"])
    return builder.plain(base, schema)


def _without(schema: Schema) -> Schema:
    for _ in range(_DEPTH):
        if (found := _group(schema)) is None:
            break
        schema = found[1]
    return {key: item for key, item in schema.items() if key != "type" or len(types(schema)) < 2}


class _Finder:
    """Collects the alternatives of a schema; nested alternatives join one flat choice."""

    def __init__(self, builder: Builder) -> None:
        self._resolver = builder.resolver
        self.too_many = False
        self.needs = ""

    def ways(self, schema: Schema, name: str = "", seen: frozenset[int] = frozenset()) -> list[Alternative]:
        """Each alternative, merged with the keywords beside the alternatives."""
        found = _group(schema)
        if found is None:
            return self._by_type(schema, name)
        group, rest = found
        if id(group) in seen or len(seen) > _DEPTH:
            return self.ways(rest, name, seen)
        flat = [self._resolver.flat(branch) for branch in group]
        if all(branch.keys() <= _RESTRICTS for branch in flat):
            needed = [" and ".join(sorted(required_names(branch))[:8]) for branch in flat[:8]]
            self.needs = f"It needs {', or '.join(needed)}." if all(needed) else self.needs
            return self.ways(rest, name, seen | {id(group)})
        rest = {word: item for word, item in rest.items() if word not in _OF_THE_WHOLE}
        ways: list[Alternative] = []
        for branch, one in zip(group, flat, strict=True):
            merged = self._resolver.merge(one, rest)
            ways += self.ways(merged, _reference(branch) or name, seen | {id(group)})
            if len(ways) > MAX_VARIANTS:
                self.too_many = True
                break
        return ways

    def _by_type(self, schema: Schema, name: str) -> list[Alternative]:
        kinds = types(schema)
        if len(kinds) < 2 or set(kinds) <= {"integer", "number"} or "const" in schema or "enum" in schema:
            return [Alternative(schema, name)]
        rest = {word: item for word, item in schema.items() if word not in _OF_THE_WHOLE}
        return [Alternative({**rest, "type": kind}, "") for kind in kinds if kind != "integer" or "number" not in kinds]


def _group(schema: Schema) -> tuple[list[Json], Schema] | None:
    """The alternatives of one keyword, and the schema without them; None without alternatives."""
    for key in ("anyOf", "oneOf"):
        if group := items_of(schema.get(key)):
            return group, {word: item for word, item in schema.items() if word != key}
    parts = items_of(schema.get("allOf"))
    for index, part in enumerate(parts):
        if found := _group(mapping(part)):
            group, left = found
            others = [*parts[:index], *([left] if left else []), *parts[index + 1 :]]
            rest = {word: item for word, item in schema.items() if word != "allOf"}
            return group, {**rest, "allOf": others} if others else rest
    return None


def _reference(branch: Json) -> str:
    """The last part of the reference of a branch, or an empty text."""
    reference = mapping(branch).get("$ref")
    return reference.rsplit("/", 1)[-1].lstrip("#") if isinstance(reference, str) else ""


def _field_of(builder: Builder, base: dict[str, Any], way: Alternative) -> Field:
    builder.resolver.fresh()
    return builder.drawn(base["name"], way.schema, base["required"])


def _types(ways: list[Alternative]) -> tuple[str, ...]:
    """The types of all alternatives; empty when one of them does not name its types."""
    kinds = [kinds_of(way.schema) for way in ways]
    return tuple(dict.fromkeys(kind for one in kinds for kind in sorted(one) if kind != "null")) if all(kinds) else ()


def _scalar(builder: Builder, base: dict[str, Any], ways: list[Alternative]) -> Field:
    """One line for text, numbers, true and false; alternatives of one type keep only the keywords that they share."""
    schemas = [way.schema for way in ways]
    kinds = frozenset[str]().union(*(kinds_of(schema) for schema in schemas))
    values = [value for schema in schemas for value in listed(schema) or ()]
    if values and "examples" not in base:
        base = {**base, "examples": tuple(values[:20])}
    if not all(types(schema) or "enum" in schema or "const" in schema for schema in schemas):
        base = {**base, "implied": True}
    if kinds <= {"integer", "number"} or len(kinds) == 1:
        first = schemas[0]
        same = {key: item for key, item in first.items() if all(one.get(key, ...) == item for one in schemas)}
        kind = next(iter(kinds)) if len(kinds) == 1 else "number"
        return builder.plain(base, {**same, "type": kind})
    parts = tuple(builder.drawn(base["name"], schema, False) for schema in schemas)
    named = tuple(kind for kind in _ORDER if kind in kinds and not (kind == "integer" and "number" in kinds))
    return Scalar(**base, hint=shape({"type": list(named)}, builder.resolver), types=named, parts=parts)


def _chooser(builder: Builder, ways: list[Alternative], known: tuple[str, list[Json]] | None) -> Callable[[Json], int]:
    def choose(value: Json) -> int:
        if known and isinstance(value, dict) and known[0] in value:
            matches = [index for index, one in enumerate(known[1]) if equal(one, cast("Schema", value)[known[0]])]
            if len(matches) == 1:
                return matches[0]
        fits: list[tuple[int, int, int]] = []
        for index, way in enumerate(ways):
            kinds = kinds_of(way.schema)
            if not kinds or is_any_type(kinds, value):
                judge = Judge(builder.resolver)
                fits.append((judge.wrong(way.schema, value), judge.loose, index))
        return min(fits)[2] if fits else -1

    return choose
