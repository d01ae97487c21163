"""Made-up values of one line: text, numbers, choices."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from random import Random

from mcp_studio.jsontext import Json, depth, items_of, mapping
from mcp_studio.schema import example_words as words
from mcp_studio.schema.check import is_type, quick
from mcp_studio.schema.example_pattern import matching
from mcp_studio.schema.field import Choice, Const, Field, Flag, Form, Number, Text
from mcp_studio.schema.formats import wrong_format
from mcp_studio.schema.keys import matcher
from mcp_studio.schema.resolve import types
from mcp_studio.schema.scalars import common
from mcp_studio.schema.scalars import text as text_field
from mcp_studio.schema.wording import spell

LONGEST = 10_000
"""Characters of a text that is made up because the schema demands so many."""
_LARGEST = 20_000
"""Characters of an example or default of the schema that is taken over, as JSON."""
_NESTED = 30


class Cannot(ValueError):
    """No value was found; the message says why, as the rest of a sentence."""


def dice(text: str) -> Random:
    """Chance that is the same for the same text."""
    return Random(text.encode("utf-8", "surrogatepass"))


def sound(field: Field, value: Json) -> bool:
    """Whether a value that the schema offers can be used for the field, as far as is known here."""
    if depth(value, _NESTED) > _NESTED or len(spell(value)) > _LARGEST:
        return False
    if any(problem.severity == "error" for problem in quick(Form((field,)), {field.name: value})):
        return False
    if isinstance(field, Text) and isinstance(value, str):
        return (not field.pattern or matcher(field.pattern)(value) is True) and not wrong_format(field.format, value)
    return True


def leaf(field: Field, rng: Random, seed: int, remarks: list[str]) -> Json:
    """A value for a field that is one line, or of which nothing is known: text then.

    Raises:
        Cannot: see there.
    """
    if isinstance(field, Const):
        return field.value
    if isinstance(field, Choice):
        return _option(field, rng, seed, remarks)
    if isinstance(field, Flag):
        return bool(rng.getrandbits(1)) if seed else True
    if isinstance(field, Number):
        return number(field, rng, seed)
    return text(
        field if isinstance(field, Text) else Text(field.name, field.title, field.description), rng, seed, remarks
    )


def _option(field: Choice, rng: Random, seed: int, remarks: list[str]) -> Json:
    values = [option.value for option in field.options if option.value is not None] or [None]
    kinds = types(mapping(field.schema))
    fitting = [value for value in values if not kinds or any(is_type(kind, value) for kind in kinds)]
    if not fitting:
        remarks.append(f"{field.name or 'A choice'}: none of its options is of its type.")
    return (fitting or values)[words.pick(len(fitting or values), rng, seed)]


# Text


def text(field: Text, rng: Random, seed: int, remarks: list[str]) -> str:
    """A text of the field's lengths, format and pattern.

    Raises:
        Cannot: it must be longer than what is made up, or its lengths contradict each other.
    """
    field = _branch(field)
    low, high = field.min_length or 0, field.max_length
    if low > LONGEST or (high is not None and high < low):
        raise Cannot(f"it wants {low} characters" + (f", and at most {high}" if high is not None else ""))
    found = list(words.texts(field.name, field.description, field.format))
    at = words.pick(len(found), rng, seed)
    found = [*found[at:], *found[:at]]
    if field.pattern:
        return _patterned(field, found, rng, remarks)
    for one in found:
        if low <= len(one) and (high is None or len(one) <= high):
            return one
    if field.format in words.FORMATS:
        remarks.append(f"{field.name or 'A text'}: no {field.format} of that length was found.")
    return sized(found[0], low, high)


def sized(text: str, low: int, high: int | None) -> str:
    """The text made longer or shorter."""
    text = text if len(text) >= low else (text + " ") * (low // (len(text) + 1) + 1)
    return (text[:low].rstrip().ljust(low, ".") if len(text) > low > 0 else text)[: high if high is not None else None]


def _branch(field: Text) -> Text:
    """Of texts that may be of several patterns or lengths, the field for the first."""
    schema = mapping(field.schema)
    found = next(
        (one for key in ("anyOf", "oneOf") for one in items_of(schema.get(key)) if isinstance(one, dict)), None
    )
    if found is None or field.pattern or not found.keys() & {"pattern", "minLength", "maxLength", "format"}:
        return field
    return text_field(common(field.name, {**schema, **found}, field.required), found)


def _patterned(field: Text, found: list[str], rng: Random, remarks: list[str]) -> str:
    low, high = field.min_length or 0, field.max_length
    for one in (*found, *words.SHAPED):
        right = low <= len(one) and (high is None or len(one) <= high) and not wrong_format(field.format, one)
        if right and matcher(field.pattern)(one):
            return one
    made = matching(field.pattern, low, high, rng)
    if made is not None:
        if wrong_format(field.format, made):
            remarks.append(f"{field.name or 'A text'}: it fits the pattern, and is no {field.format}.")
        return made
    remarks.append(f"{field.name or 'A text'}: no text that fits the pattern {field.pattern[:200]} was found.")
    return sized(found[0], low, high)


# Numbers


def number(field: Number, rng: Random, seed: int) -> int | float:
    """A number between the field's bounds, and of its step.

    Raises:
        Cannot: there is none.
    """
    wished = words.amounts(field.name)
    step = exact(field.multiple_of) or (Fraction(1) if field.integer else None)
    if field.integer and step is not None and step.denominator > 1:
        step = Fraction(step.numerator)
    low, high = bounds(field, step)
    first = wished[words.pick(len(wished), rng, seed)]
    for one in (first, *wished):
        value = Fraction(one) if isinstance(one, int) else exact(one) or Fraction(1)
        if (low is None or value >= low) and (high is None or value <= high) and (step is None or not value % step):
            return plain(value, whole=field.integer or isinstance(one, int))
    return plain(_between(low, high, step, rng, seed), whole=field.integer)


def exact(value: float | int | None) -> Fraction | None:
    """The number as it is written, not as binary floats have it; None for none, and for infinity."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    try:
        return Fraction(Decimal(repr(value))) if isinstance(value, float) else Fraction(value)
    except (InvalidOperation, ValueError, OverflowError):
        return None


def bounds(field: Number, step: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """The least and the largest value itself, where there are such.

    Raises:
        Cannot: nothing lies between them.
    """
    low, high = exact(field.minimum), exact(field.maximum)
    if step:
        low = None if low is None else -(-low // step) * step + (step if field.above_minimum and not low % step else 0)
        high = None if high is None else high // step * step - (step if field.below_maximum and not high % step else 0)
    else:
        gap = (high - low) / 100 if low is not None and high is not None else Fraction(1, 100)
        low = low + gap if low is not None and field.above_minimum else low
        high = high - gap if high is not None and field.below_maximum else high
    if low is not None and high is not None and low > high:
        raise Cannot("no number lies between its bounds")
    return low, high


def _between(low: Fraction | None, high: Fraction | None, step: Fraction | None, rng: Random, seed: int) -> Fraction:
    if low is None and high is None:
        return step or Fraction(1)
    if low is None or high is None:
        edge = high if low is None else low
        by = (step or Fraction(1)) * (rng.randrange(10) if seed else 0)
        return (edge or Fraction(0)) + (by if low is not None else -by)
    if not seed:
        return low
    steps = int((high - low) / step) if step else 100
    part = Fraction(rng.randint(0, min(steps, 10**9)), min(steps, 10**9) or 1)
    return low + (int(part * steps) * step if step else (high - low) * part)


def plain(value: Fraction, *, whole: bool = False) -> int | float:
    """As JSON has it."""
    if value.denominator == 1 and (whole or abs(value) > 10**15):
        return value.numerator
    try:
        return float(value)
    except OverflowError:
        return value.numerator // value.denominator
