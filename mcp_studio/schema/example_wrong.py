"""One thing wrong at a place, said in words."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from mcp_studio.jsontext import Json, mapping
from mcp_studio.schema.check import equal
from mcp_studio.schema.example_leaves import LONGEST, Cannot, bounds, exact, plain, sized
from mcp_studio.schema.example_pattern import found_in, missing
from mcp_studio.schema.example_places import ABSENT, Change, Place
from mcp_studio.schema.example_words import WRONG_FORMATS
from mcp_studio.schema.field import Choice, Choices, Const, Field, List, Map, Number, Object, Text
from mcp_studio.schema.kinds import type_of
from mcp_studio.schema.wording import TYPE_NAMES, spell

_MANY = 1_000
"""Items of a list that has too many; larger bounds are not passed."""
_OTHERS: dict[str, tuple[Json, ...]] = {
    "string": (12345, True, []),
    "integer": ("two", True, {}),
    "number": ("many", True, {}),
    "boolean": ("maybe", 2, []),
    "array": ("text", 5, {}),
    "object": ("text", 5, []),
    "null": ("text", 5, []),
}
_NONE_OF_THEM = ("no-such-option", -987654321, "", [])
_KEYS = ("no such key!", "", "0", "UPPER", "lower", "x" * 300)


def variations(place: Place) -> Iterator[Change]:
    """Other values for the place, with one thing wrong each, as far as is known here."""
    if place.path:
        yield from _kinds(place)
    yield from _own(place)
    if place.path and place.types and "null" not in place.types:
        yield Change(f"null instead of {TYPE_NAMES[_main(place)]}", place.path, None)


def _kinds(place: Place) -> Iterator[Change]:
    """Of another type than any that is allowed."""
    if not place.types:
        return
    wanted = TYPE_NAMES[_main(place)]
    for value in _OTHERS[_main(place)]:
        kind = type_of(value)
        if kind not in place.types and not (kind == "integer" and "number" in place.types):
            yield Change(f"{TYPE_NAMES[kind]} instead of {wanted}", place.path, value)
            return


def _main(place: Place) -> str:
    kind = type_of(place.value)
    if isinstance(place.field, Number):
        return "integer" if place.field.integer else "number"
    return kind if kind in place.types else sorted(place.types)[0]


def _own(place: Place) -> Iterator[Change]:
    path, field, value = place.path, place.field, place.value
    match field:
        case Object() if isinstance(value, dict):
            yield from _object(place, field, value)
        case Text():
            yield from (Change(words, path, text) for words, text in _texts(field, value))
            yield from _format(place, field)
        case Number():
            yield from (Change(words, path, number) for words, number in _numbers(field))
        case Choice() | Const():
            options = [option.value for option in field.options] if isinstance(field, Choice) else [field.value]
            other = _none_of(options, place)
            words = "none of its options" if isinstance(field, Choice) else f"not {spell(field.value, 60)}"
            yield from (Change(words, path, one) for one in other)
        case Choices() | List() if isinstance(value, list):
            yield from (Change(words, path, items) for words, items in _lists(field, value))
        case Map() if isinstance(value, dict):
            yield from _entries(place, field, value)
        case _:
            return


def _none_of(options: list[Json], place: Place) -> list[Json]:
    kinds = {type_of(option) for option in options}
    found = [one for one in _NONE_OF_THEM if not any(equal(one, option) for option in options)]
    return sorted(found, key=lambda one: type_of(one) not in kinds)[:1] if found and len(kinds) > 0 else []


def _object(place: Place, field: Object, value: dict[str, Json]) -> Iterator[Change]:
    for one in field.fields():
        if one.required and one.name in value:
            yield Change("missing, though it is required", (*place.path, one.name), ABSENT)
    schema = mapping(field.schema)
    closed = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    if closed is False and "patternProperties" not in schema and "x-unknown" not in value:
        yield Change("a property that the schema does not allow", (*place.path, "x-unknown"), "surprise")
    yield from _crowd(place, field, value)
    rules = {**mapping(schema.get("dependencies")), **mapping(schema.get("dependentRequired"))}
    for key, names in rules.items():
        for name in names if isinstance(names, list) and key in value else ():
            if isinstance(name, str) and name in value:
                yield Change(f"missing, though there is {key}", (*place.path, name), ABSENT)


def _crowd(place: Place, field: Object | Map, value: dict[str, Json]) -> Iterator[Change]:
    """Too few or too many properties."""
    low, high = field.min_entries or 0, field.max_entries
    if 0 < low <= len(value):
        yield Change("too few properties", place.path, dict(list(value.items())[: low - 1]))
    if high is not None and len(value) <= high < _MANY:
        more = {f"x-unknown-{index + 1}": "surprise" for index in range(high + 1 - len(value))}
        yield Change("too many properties", place.path, {**value, **more})


def _entries(place: Place, field: Map, value: dict[str, Json]) -> Iterator[Change]:
    key = next((key for key in _KEYS if key not in value and field.wrong_key(key)), None)
    if key is not None:
        item = next(iter(value.values()), "text")
        yield Change("a name that is not allowed", (*place.path, key), item)
    yield from _crowd(place, field, value)


def _texts(field: Text, value: Json) -> Iterator[tuple[str, str]]:
    low, high = field.min_length or 0, field.max_length
    text = value if isinstance(value, str) else "example"
    if 0 < low <= LONGEST:
        yield f"shorter than {low:,} character{'s' if low > 1 else ''}", sized(text, 0, low - 1)[: low - 1]
    if high is not None and high < LONGEST:
        yield f"longer than {high:,} character{'s' if high != 1 else ''}", sized(text or "text", high + 1, high + 1)
    if field.pattern and (other := missing(field.pattern, low, high)) is not None:
        yield "not matching its pattern", other


def _format(place: Place, field: Text) -> Iterator[Change]:
    other, words = WRONG_FORMATS.get(field.format, ("", ""))
    low, high = field.min_length or 0, field.max_length
    if (
        words
        and low <= len(other)
        and (high is None or len(other) <= high)
        and (not field.pattern or found_in(field.pattern, other))
    ):
        yield Change(words, place.path, other, "A format is a hint: the check of the schema lets a wrong one pass.")


def _numbers(field: Number) -> Iterator[tuple[str, Json]]:
    step = exact(field.multiple_of) or (Fraction(1) if field.integer else None)
    by = step or Fraction(1)
    low, high = exact(field.minimum), exact(field.maximum)
    if low is not None:
        words = "not more than the bound" if field.above_minimum else "below the least"
        yield words, plain(low if field.above_minimum else low - by, whole=True)
    if high is not None:
        words = "not less than the bound" if field.below_maximum else "above the most"
        yield words, plain(high if field.below_maximum else high + by, whole=True)
    try:
        least, most = bounds(field, step)
    except Cannot:
        return
    start = least if least is not None else most if most is not None else by
    off = plain(start + by / 2)
    if step and (most is None or off < most) and (not field.integer or off % 1):
        yield "a fraction instead of a whole number" if field.integer else "off its steps", off


def _lists(field: Choices | List, value: list[Json]) -> Iterator[tuple[str, Json]]:
    low, high = field.min_items or 0, field.max_items
    if 0 < low <= len(value):
        yield f"fewer than {low:,} item{'s' if low > 1 else ''}", value[: low - 1]
    if high is not None and high < _MANY and value:
        yield (
            f"more than {high:,} item{'s' if high != 1 else ''}",
            [value[index % len(value)] for index in range(high + 1)],
        )
    if isinstance(field, Choices):
        other = next((one for one in _NONE_OF_THEM if not any(equal(one, option.value) for option in field.options)), 0)
        yield "an item that is none of its options", [*value[: max((high or len(value) + 1) - 1, 0)], other]
    if _unique(field) and value and (high is None or high > 1):
        yield "the same item twice", [*value[: (high or len(value) + 1) - 1], value[0]]
    if isinstance(field, List) and field.first() and field.items() is None and len(value) == len(field.first()):
        yield "an item too many", [*value, "surprise"]


def _unique(field: Field) -> bool:
    return field.unique if isinstance(field, List) else mapping(field.schema).get("uniqueItems") is True
