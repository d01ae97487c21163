"""What is allowed at a place, and easily forgotten: the least, the most, nothing, and texts of all the world."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from mcp_studio.jsontext import Json, mapping
from mcp_studio.schema.example_leaves import LONGEST, Cannot, bounds, exact, plain, sized
from mcp_studio.schema.example_pattern import matching
from mcp_studio.schema.example_places import Change, Place
from mcp_studio.schema.example_words import FORMATS
from mcp_studio.schema.field import Choice, Choices, Field, Flag, List, Map, Number, Object, Text
from mcp_studio.schema.wording import spell

MANY = 1_000
"""Items of a list that has no upper bound."""
_LARGEST = 300_000
"""Characters of a long list, as JSON."""
_UNUSUAL = (
    ("accents, Chinese and emoji", "Grüße, 世界 👩🏽‍💻 e\u0301"),
    ("text from right to left", "שלום עולם، مرحبا"),
    ("quotes, backslashes and line breaks", "\"double\" 'single' C:\\temp\n\tnext line"),
    ("the word null", "null"),
    ("blanks around it", "  text  "),
)


def variations(place: Place) -> Iterator[Change]:
    """Other values for the place, all of them allowed as far as is known here."""
    for words, value in _values(place.field, place.value):
        if value != place.value or type(value) is not type(place.value):
            yield Change(words, place.path, value)
    if "null" in place.types and place.value is not None:
        yield Change("null", place.path, None)
    if not place.path and isinstance(place.field, Object | Map) and isinstance(place.value, dict):
        schema = mapping(place.field.schema)
        closed = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
        if closed is True and not schema.keys() & {"patternProperties", "propertyNames", "maxProperties"}:
            yield Change("a property that the schema does not mention", ("x-unknown",), "extra")


def _values(field: Field, value: Json) -> Iterator[tuple[str, Json]]:
    match field:
        case Text():
            yield from _texts(field)
        case Number():
            try:
                yield from _numbers(field)
            except Cannot:
                return
        case Flag():
            yield ("false", False) if value is True else ("true", True)
        case Choice() if len(field.options) > 1:
            yield "the last of its options", field.options[-1].value
        case Choices():
            yield from _picks(field)
        case List() if isinstance(value, list):
            yield from _lists(field, value)
        case Map() if not field.min_entries and value:
            yield "no entries", {}
        case _:
            return


def _texts(field: Text) -> Iterator[tuple[str, str]]:
    low, high = field.min_length or 0, field.max_length
    if mapping(field.schema).keys() & {"anyOf", "oneOf", "allOf", "not"}:
        return  # what each of them wants is not known here
    if field.pattern or field.format in FORMATS:
        for one in FORMATS.get(field.format, ())[1:] if not field.pattern else ():
            if low <= len(one) and (high is None or len(one) <= high):
                yield f"another {field.format}", one
        for length, words in ((low, "the fewest"), (high, "the most")) if field.pattern and not field.format else ():
            if length is not None and (text := matching(field.pattern, length, length, Random(1))) is not None:
                yield _length(length, words), text
        return
    if low == 0:
        yield "empty text", ""
    elif low <= LONGEST:
        yield _length(low, "the fewest"), sized("example", low, low)
    if high is None or high <= LONGEST:
        most = LONGEST if high is None else high
        if most >= max(low, 1):
            yield _length(most, "the most" if high is not None else ""), sized("A long text.", most, most)
    for words, text in _UNUSUAL:
        fitting = sized(text, low, high)
        if low <= len(fitting) and fitting.startswith(text[:4]):
            yield words, fitting


def _length(count: int, words: str) -> str:
    return f"{count:,} character{'s' if count != 1 else ''}{f', {words}' if words else ''}"


def _numbers(field: Number) -> Iterator[tuple[str, Json]]:
    step = exact(field.multiple_of) or (exact(1) if field.integer else None)
    low, high = bounds(field, step)
    whole = field.integer
    if low is not None:
        yield ("the least" if not field.above_minimum else "close to the least"), plain(low, whole=whole)
    if high is not None:
        yield ("the most" if not field.below_maximum else "close to the most"), plain(high, whole=whole)
    usual: list[tuple[str, int | float]] = [
        ("zero", 0),
        ("a negative number", -1),
        ("an integer that a float cannot hold", 2**53 + 1),
        ("a number of 31 digits", 10**30),
    ]
    if not whole:
        usual += [("a fraction of many digits", 0.30000000000000004), ("a very small number", 1e-300)]
    for words, number in usual:
        value = exact(number)
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            continue
        if field.multiple_of is None or (step and not value % step):
            yield words, number


def _picks(field: Choices) -> Iterator[tuple[str, Json]]:
    values = [option.value for option in field.options]
    low, high = field.min_items or 0, len(values) if field.max_items is None else field.max_items
    if low == 0:
        yield "an empty list", []
    if low <= len(values) <= high:
        yield "all of its options", values


def _lists(field: List, value: list[Json]) -> Iterator[tuple[str, Json]]:
    low, high = field.min_items or 0, field.max_items
    if low == 0:
        yield "an empty list", []
    if low <= 1 < len(value):
        yield "one item", value[:1]
    if field.first() or not value or field.items() is None:
        return
    count = MANY if high is None else high
    if len(value) < count <= MANY and len(spell(value[0])) * count < _LARGEST:
        words = f"{count:,} items{', the most' if high is not None else ''}"
        if not field.unique:
            yield words, [value[index % len(value)] for index in range(count)]
        elif isinstance(item := field.items(), Text) and not item.pattern and not item.format and not item.max_length:
            yield words, [f"{value[0]} {index + 1}" for index in range(count)]
