"""Examples that fill in a form: each value fits the fields, or carries a remark on what is wrong with it.

Only the check of the whole schema knows whether an example is valid. The same form and seed give the same example. For
a pattern, known texts are tried; if none matches, the field stays blank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, TypeVar

from mcp_studio.jsontext import Json, mapping
from mcp_studio.record import record
from mcp_studio.schema.check import problems_here, quick
from mcp_studio.schema.field import (
    Choice,
    Choices,
    Const,
    Field,
    Flag,
    Form,
    List,
    Map,
    Number,
    Object,
    Scalar,
    Text,
    Union,
    errors,
    json_types,
)
from mcp_studio.schema.keywords import FORBIDDEN
from mcp_studio.schema.patterns import matcher

_FORMATS: dict[str, tuple[str, ...]] = {
    "email": ("ada@example.com", "grace.hopper@example.org"),
    "uri": ("https://example.com/page", "https://example.org/docs?lang=en#top"),
    "uri-reference": ("/docs/page", "https://example.com/"),
    "date": ("2027-01-31", "2026-12-24", "2028-02-29"),
    "date-time": ("2027-01-31T09:30:00Z", "2026-12-24T18:00:00+01:00"),
    "time": ("09:30:00Z", "18:45:00+01:00"),
    "duration": ("PT1H30M", "P3D"),
    "uuid": ("3f2b8c1e-5d4a-4e6f-9b7a-2c1d0e9f8a7b", "c0ffee00-1234-4abc-8def-0123456789ab"),
    "hostname": ("www.example.com", "db-1.example.org"),
    "ipv4": ("192.0.2.10", "198.51.100.7"),
    "ipv6": ("2001:db8::1", "2001:db8:0:1::a"),
    "byte": ("SGVsbG8=",),
    "color": ("#1e90ff", "#228b22"),
}
_TEXTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"e_?mail", _FORMATS["email"]),
    (r"url|uri|href|link|website|endpoint|webhook", _FORMATS["uri"]),
    (r"date_?time|timestamp|_at$|^(since|until|before|after)$", _FORMATS["date-time"]),
    (r"date|^day$|deadline|birthday|^due", _FORMATS["date"]),
    (r"path", ("docs/readme.md", "src/main.py")),
    (r"quer(y|ies)|^q$|search|keyword|^terms?$|prompt|question", ("weather in Berlin", "how to sort a list")),
    (r"lang(uage)?$|locale", ("en", "de", "ja")),
    (r"cit(y|ies)|location|place|region|destination|origin", ("Berlin", "Kyoto", "São Paulo")),
    (r"text|message|content|body|comment|description|note|reason", ("Hello, this is an example.", "A few words.")),
    (r"(^|_)ids?$|[a-z]I[dD]s?$|identifier|^key$|_key$|number|slug", ("42", "item-7")),
    (r"name", ("Ada Lovelace", "Example")),
    (r"", ("example", "some text", "hello")),
)
"""Texts for fields by patterns over their names; the first pattern that matches counts."""
_NUMBERS: tuple[tuple[str, tuple[int | float, ...]], ...] = (
    (r"^(lat(itude)?|lng|lon(gitude)?)$|_(lat|lng|lon)$", (52.52, 35.68, -33.87)),
    (r"limit|max|count|size|per_?page|top|num", (10, 20, 50)),
    (r"", (1, 5, 3)),
)
_QUOTED = r"(?i)(?:e\.g\.|for example|such as|example:|default:?)[:,]?\s{0,3}([\"'`“])([^\"'`“”\n]{1,80})[\"'`”]"
_DATE_LETTERS = r"[YMDHhmsTZ:/. -]+"
"""Descriptions spell date formats with these letters; such a text is not an example of a date."""
_FOR_PATTERNS = (
    *("example", "Example", "EXAMPLE", "example-1", "Example-123", "Ada Lovelace", "ada/example", "v1.2.3", "1.2.3"),
    *("2027-01-31", "2027-01-31T09:30:00Z", "2027-01-31T09:30:00", "2027-01", "2027", "20270131", "31/01/2027"),
    *("09:30", "09:30:00", "1h", "30m", "P3D", "+493012345678", "#1e90ff", "en-US", "en", "EUR", "DE", "a", "abc"),
    *("ABC", "ABC-1234", "ABC123", "1", "42", "123", "1234", "10115", "123456", "1234567890", "4111111111111111"),
    *("0.5", "1/2", "52.52,13.405", "192.0.2.10", "192.0.2.0/24", "example.com", "/docs", "docs/readme.md"),
    *("ada@example.com", "https://example.com/page", "3f2b8c1e-5d4a-4e6f-9b7a-2c1d0e9f8a7b", "SGVsbG8=", "x-example"),
    *("0x00000000219ab540356cbb839cbe05303d7705fa", "9fceb02d0ae598e95dc970b74767f19372d61af8", "one,two"),
)
"""Texts that are tried against a pattern."""
_KEYS = ("name", "key", "example", "one", "two", "three", "id", *_FOR_PATTERNS)

_DESCRIPTION = 600
"""Characters of a description or pattern that are examined."""
_LONGEST = 10_000
"""Characters to which a text is lengthened where the schema demands it."""
_STEPS = 3_000
"""Fields that are examined for one value."""
_MOST_ITEMS = 200
"""Items of a list, or entries of a map, that are created where the schema demands them."""
_DEPTH = 40

Kind = Literal["minimal", "typical", "full"]
KINDS: tuple[Kind, ...] = ("minimal", "typical", "full")
_LABELS = ("only what is required", "typical values", "everything filled in")
T = TypeVar("T")


@record(frozen=True)
class Example:
    """A value that was generated for a form."""

    label: str
    """Which part of the form the value fills in."""
    value: Json
    kind: Kind
    remark: str = ""
    """A sentence on why the value may be wrong; empty when nothing speaks against it."""


class Cannot(ValueError):
    """No value was found; the message continues a sentence."""


def example(form: Form, kind: Kind, seed: int = 0) -> Example:
    """Generate a value for the form, with a remark where its fields find a problem in the value."""
    at = KINDS.index(kind)
    maker = _Maker(at, seed)
    try:
        value = maker.make(form.top)
    except Cannot as problem:
        return Example(_LABELS[at], {}, kind, f"No valid value was found: {problem}.")
    wrong = errors(quick(form, value))
    remarks = [*maker.remarks, *(f"{problem.sentence}." for problem in wrong[:1])]
    return Example(_LABELS[at], value, kind, " ".join(dict.fromkeys(remarks)))


def valid(form: Form, seed: int = 0) -> tuple[Example, ...]:
    """A minimal, a typical and a full value, without duplicates."""
    found = [example(form, kind, seed) for kind in KINDS]
    return tuple(one for index, one in enumerate(found) if all(one.value != other.value for other in found[:index]))


class _Maker:
    """Generates one value.

    Args:
        rich: 0 for required parts only, 1 for a typical value, 2 for all parts.
        seed: selects among the candidates; 0 takes the first.
    """

    def __init__(self, rich: int, seed: int) -> None:
        self._rich = rich
        self._seed = seed
        self._steps = 0
        self.remarks: list[str] = []
        """Sentences on what may be wrong with the value."""

    def make(self, field: Field, depth: int = 0) -> Json:
        """A value for the field.

        Raises:
            Cannot: the field has no value, or none was found.
        """
        self._steps += 1
        if depth > _DEPTH or self._steps > 2 * _STEPS:
            raise Cannot("it contains itself without end, or is too large")
        if depth > 0:
            default = [field.default] if field.has_default and field.default is not None else []
            for value in self._rotate((*field.examples, *default)):
                if _fits(field, value):
                    return value
        try:
            return self._value(field, depth)
        except Cannot:
            if field.nullable:
                return None
            raise

    def _rotate(self, values: Sequence[T]) -> list[T]:
        """The values, rotated by the seed."""
        at = self._seed % len(values) if values else 0
        return [*values[at:], *values[:at]]

    def _value(self, field: Field, depth: int) -> Json:
        match field:
            case Object():
                return self._object(field, depth)
            case Map():
                return self._entries({}, field, depth, max(field.min_entries or 0, int(self._more(depth))))
            case List():
                return self._list(field, depth)
            case Choices():
                return self._choose(field)
            case Union():
                return self._union(field, depth)
            case Const():
                return field.value
            case Choice():
                values = [option.value for option in field.options if option.value is not None]
                return self._rotate(values)[0] if values else None
            case Flag():
                return self._rotate((True, False))[0]
            case Number():
                return _number(field, self._rotate(_by_name(_NUMBERS, field.name)))
            case Text():
                return _text(field, self._rotate(_texts(field)))
            case Scalar():
                return self.make(self._rotate(field.parts)[0], depth + 1)
            case _:
                return self._anything(field)

    def _anything(self, field: Field) -> Json:
        if field.remark:
            self.remarks.append(f"{field.name or 'The value'}: the schema says more than is known here.")
        if mapping(field.schema).get("not") == {} or field.schema is False:
            raise Cannot("the schema allows no value here")
        kinds = json_types(field)
        made: dict[str, Json] = {"object": {}, "array": [], "number": 1.5, "integer": 1, "boolean": True, "null": None}
        return made[kinds[0]] if kinds and kinds[0] in made else self._rotate(_texts(Text(field.name)))[0]

    def _more(self, depth: int) -> bool:
        """Whether optional parts are generated at this depth."""
        return self._steps < _STEPS and depth < (0, 3, 5)[self._rich]

    def _object(self, field: Object, depth: int) -> Json:
        fields = field.fields()
        least = field.min_entries or 0
        self.remarks += [field.remark] if field.remark else []
        room = len(fields) if field.max_entries is None else field.max_entries
        room -= sum(one.required for one in fields)
        value: dict[str, Json] = {}
        for one in fields:
            usual = not one.read_only and one.remark != FORBIDDEN and (not one.deprecated or self._rich > 1)
            if one.required:
                self._add_member(value, one, depth)
            elif room > 0 and (len(value) < least or (usual and self._more(depth))):
                room -= 1
                self._add_member(value, one, depth)
        return self._entries(value, field.rest or Map(""), depth, least)

    def _add_member(self, value: dict[str, Json], one: Field, depth: int) -> None:
        try:
            value[one.name] = self.make(one, depth + 1)
        except Cannot as problem:
            if one.required and not isinstance(one, Text):
                raise Cannot(f"{one.name}: {problem}") from None
            if one.required:
                value[one.name] = ""
                self.remarks.append(f"{one.name} is left blank: {problem}.")

    def _entries(self, value: dict[str, Json], field: Map, depth: int, count: int) -> dict[str, Json]:
        """The object with free keys added, up to `count` members."""
        if count > _MOST_ITEMS:
            raise Cannot(f"it wants {count} properties, which are too many")
        most = count if field.max_entries is None else min(count, field.max_entries)
        for key in (*_KEYS, *(f"key{number}" for number in range(count))):
            if len(value) < most and key not in value and not field.wrong_key(key):
                value[key] = self.make(field.of(key), depth + 1)
        if len(value) < (field.min_entries or 0):
            raise Cannot("no names that it allows were found")
        return value

    def _list(self, field: List, depth: int) -> Json:
        first, least = field.first(), field.min_items or 0
        count = max(least, len(first), (0, 2, 3)[self._rich]) if self._more(depth) else least
        count = count if field.max_items is None else max(least, min(count, field.max_items))
        if count > _MOST_ITEMS:
            raise Cannot(f"it wants {count} items, which are too many")
        items: list[Json] = []
        seed = self._seed
        for index in range(count * (4 if field.unique else 1)):
            inner = field.item(len(items))
            if inner is None or len(items) >= count:
                break
            self._seed = seed + index  # items after the first differ from it
            try:
                item = self.make(inner, depth + 1)
            except Cannot:
                break
            if not field.unique or item not in items:
                items.append(item)
        self._seed = seed
        if len(items) < least:
            raise Cannot(f"it wants {least} items, and {len(items)} were found")
        return items

    def _choose(self, field: Choices) -> Json:
        values = self._rotate([option.value for option in field.options])
        count = max(field.min_items or 0, (0, 1, len(values))[self._rich])
        count = count if field.max_items is None else min(count, field.max_items)
        if count > len(values):
            raise Cannot(f"it wants {count} items out of {len(values)}")
        return values[:count]

    def _union(self, field: Union, depth: int) -> Json:
        order = range(len(field.variants))
        found: list[Json] = []
        reason = "none of its kinds has a value that was found"
        for index in list(order if field.by_value else self._rotate(order))[:12]:
            try:
                found.append(self.make(field.variants[index].field(), depth + 1))
            except Cannot as problem:
                reason = str(problem)
            else:
                if field.choose(found[-1]) == index:
                    return found[-1]
        if not found:
            raise Cannot(reason)
        return found[0]


def _fits(field: Field, value: Json) -> bool:
    """Whether the quick check and the pattern accept a value for the field."""
    if isinstance(field, Text) and field.pattern and not (isinstance(value, str) and matcher(field.pattern)(value)):
        return False
    return not errors(quick(Form(root=field, strict=True), value))


def _texts(field: Text) -> tuple[str, ...]:
    """Candidates for a text field, from the most plausible source that has any; never empty."""
    if field.format in _FORMATS:
        return _FORMATS[field.format]
    quoted = (match[2] for match in re.finditer(_QUOTED, field.description[:_DESCRIPTION]))
    found = tuple(text for text in quoted if re.fullmatch(_DATE_LETTERS, text) is None)
    return found or _by_name(_TEXTS, field.name)


def _by_name(table: tuple[tuple[str, tuple[T, ...]], ...], name: str) -> tuple[T, ...]:
    return next(found for pattern, found in table if re.search(pattern, name[:100], re.I))


def _text(field: Text, texts: list[str]) -> str:
    """A text that has the field's length, format and pattern.

    Raises:
        Cannot: no known text has them.
    """
    low, high = field.min_length or 0, field.max_length
    padded = (texts[0] + " example" * (min(low, _LONGEST) // 8 + 1))[: low or high]
    words = re.findall(r"[\w-]+", field.pattern[:_DESCRIPTION])
    for text in (*texts, padded, *(_FOR_PATTERNS if field.pattern else ()), *words):
        if _fits(field, text):
            return text
    if field.pattern:
        raise Cannot(f"no text that fits the pattern {field.pattern[:200]} is known")
    raise Cannot("no text of its length and format is known")


def _number(field: Number, wished: list[int | float]) -> int | float:
    """A number between the field's bounds that is a multiple of its step.

    Raises:
        Cannot: no such number was found.
    """
    step = _exact(field.multiple_of or (1 if field.integer else 0))
    by = step or Fraction(1)
    edges = [_exact(edge) for edge in (field.minimum, field.maximum) if edge is not None]
    near = [edge // by * by + turn * by for edge in edges for turn in (0, 1, -1)]
    for number in (*map(_exact, wished), *edges, Fraction(sum(edges)) / 2, *near, Fraction(0)):
        value = _plain(number)
        if (not step or number % step == 0) and not problems_here(field, value):
            return value
    raise Cannot("no number between its bounds is known")


def _exact(value: float) -> Fraction:
    """The decimal number as it is written, not its binary approximation."""
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def _plain(value: Fraction) -> int | float:
    try:
        return value.numerator if value.denominator == 1 else float(value)
    except OverflowError:
        return int(value)
