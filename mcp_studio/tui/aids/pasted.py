"""What pasted text could be in a field: JSON, the text itself, lines as items. The first reading is the likely one."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.call.copying.paste import unfenced
from mcp_studio.config.table import loads_lenient
from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.record import record
from mcp_studio.schema.check import equal, is_type
from mcp_studio.schema.field import Choice, Choices, Field, Flag, JsonField, List, Map, Number, Object, Text, Union
from mcp_studio.schema.text import from_text

LARGEST = 8_000_000
"""Characters that are read."""


@record(frozen=True)
class Reading:
    """One meaning of the text."""

    words: str
    value: Json
    fits: bool = True
    """It is of a type that the field takes."""


def readings(field: Field, text: str) -> tuple[Reading, ...]:
    """The meanings of a text in a field, the best first; equal values once. Empty for empty text."""
    bare = unfenced(text[:LARGEST].strip()).strip()
    if not bare:
        return ()
    found: list[Reading] = []
    for reading in _all(field, text[:LARGEST], bare):
        if not any(_same(reading.value, other.value) for other in found):
            found.append(reading)
    found.sort(key=lambda reading: not reading.fits)
    return tuple(found)


def _all(field: Field, text: str, bare: str) -> Iterator[Reading]:
    parsed = list(_parsed(bare))
    if isinstance(field, Text):
        yield from (Reading("the text of a JSON string", one.value) for one in parsed if _quoted(one, bare))
        whole = Reading("text as it is", text)
        bare_end = Reading("text without the line break at its end", text.rstrip("\r\n"))
        yield from (whole, bare_end) if "\n" in bare_end.value else (bare_end, whole) if _ends(text) else (whole,)
    else:
        yield from _typed(field, bare)
    for one in parsed:
        yield Reading(one.words, one.value, takes(field, one.value))
        if isinstance(field, List) and not isinstance(one.value, list):
            item = field.item(0)
            yield Reading("a list of this one item", [one.value], item is None or takes(item, one.value))
    if isinstance(field, (List, Choices)):
        yield from _lines(field, bare)
    if not isinstance(field, Text):
        yield Reading("text as it is", text, takes(field, text))


def _typed(field: Field, bare: str) -> Iterator[Reading]:
    """As if it had been typed there."""
    if not isinstance(field, (Number, Flag, Choice, Choices, JsonField)):
        return
    grouped = bare.replace(",", "").replace("_", "") if isinstance(field, Number) else bare
    for words, typed in (("as typed", bare), ("a number without its separators", grouped)):
        try:
            yield Reading(words, from_text(field, typed))
            return
        except ValueError:
            continue


def _parsed(bare: str) -> Iterator[Reading]:
    """The text as JSON, strict or as people write it."""
    try:
        yield Reading("JSON", loads(bare, exact=True))
        return
    except (JsonProblem, LimitExceeded):
        pass
    if bare[0] not in '{["' and not bare.startswith(("//", "/*")):
        return
    try:
        yield Reading("JSON with comments or trailing commas", loads_lenient(bare))
        return
    except (JsonProblem, LimitExceeded):
        return


def _lines(field: List | Choices, bare: str) -> Iterator[Reading]:
    """Each line an item, or each part between commas."""
    lines = [line.strip() for line in bare.splitlines() if line.strip()]
    parts = [part.strip() for part in bare.split(",") if part.strip()] if len(lines) == 1 else []
    for words, items in (("lines", lines), ("parts between commas", parts)):
        if len(items) > 1 or (items and words == "lines"):
            values, fit = _items(field, items)
            yield Reading(
                f"{len(items)} {words} as items" if len(items) > 1 else "a list of this one item", values, fit
            )


def _items(field: List | Choices, items: list[str]) -> tuple[list[Json], bool]:
    values: list[Json] = []
    fit = True
    for index, item in enumerate(items):
        inner = field.item(index) if isinstance(field, List) else None
        if inner is None or isinstance(inner, (Object, Map, List, Union)):
            parsed = list(_parsed(item))
            values.append(parsed[0].value if parsed else item)
            fit = fit and (inner is None or takes(inner, values[-1]))
            continue
        try:
            values.append(from_text(inner, item))
        except ValueError:
            values.append(item)
            fit = False
    return values, fit


def takes(field: Field, value: Json) -> bool:
    """Whether the field is for values of this type; what is in it is for the check."""
    if value is None:
        return field.nullable or (isinstance(field, JsonField) and not field.types)
    if isinstance(field, Union):
        return field.choose(value) >= 0
    if isinstance(field, JsonField):
        return not field.types or any(is_type(kind, value) for kind in field.types)
    if isinstance(field, Choice):
        return any(equal(option.value, value) for option in field.options)
    if isinstance(field, Number):
        return is_type("integer" if field.integer else "number", value)
    kinds: tuple[tuple[tuple[type[Field], ...], str], ...] = (
        ((Text,), "string"),
        ((Flag,), "boolean"),
        ((List, Choices), "array"),
        ((Object, Map), "object"),
    )
    return any(isinstance(field, classes) and is_type(kind, value) for classes, kind in kinds)


def _same(one: Json, other: Json) -> bool:
    return type(one) is type(other) and equal(one, other)


def _quoted(reading: Reading, bare: str) -> bool:
    return isinstance(reading.value, str) and bare[0] == '"'


def _ends(text: str) -> bool:
    return text.endswith("\n") and bool(text.strip("\r\n"))
