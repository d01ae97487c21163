"""Filling a form with an example: a value that its schema allows.

Everything is made up from the schema, and the same for the same seed. A pattern of a server is read by `regex`, and
never run where it could take long. A schema can ask for more than is made up, or for what is not known here; the
example then says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from random import Random
from typing import Literal

from mcp_studio.jsontext import Json, depth, items_of, mapping
from mcp_studio.record import record
from mcp_studio.schema.check import Judge, equal, is_type, quick
from mcp_studio.schema.ecma import matcher, matching
from mcp_studio.schema.field import (
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
    Text,
    Union,
)
from mcp_studio.schema.form import Builder, common
from mcp_studio.schema.form import text as text_field
from mcp_studio.schema.kinds import FORBIDDEN, spell, wrong_format
from mcp_studio.schema.resolve import Resolver, types

FORMATS: dict[str, tuple[str, ...]] = {
    "email": ("ada@example.com", "grace.hopper@example.org"),
    "idn-email": ("ada@example.com", "björk@example.com"),
    "uri": ("https://example.com/page", "https://example.org/docs?lang=en#top"),
    "url": ("https://example.com/page",),
    "iri": ("https://example.com/straße",),
    "uri-reference": ("/docs/page", "https://example.com/"),
    "iri-reference": ("/docs/straße",),
    "uri-template": ("https://example.com/users/{id}",),
    "date": ("2027-01-31", "2026-12-24", "2028-02-29"),
    "date-time": ("2027-01-31T09:30:00Z", "2026-12-24T18:00:00+01:00"),
    "time": ("09:30:00Z", "18:45:00+01:00"),
    "duration": ("PT1H30M", "P3D"),
    "uuid": ("3f2b8c1e-5d4a-4e6f-9b7a-2c1d0e9f8a7b", "c0ffee00-1234-4abc-8def-0123456789ab"),
    "hostname": ("www.example.com", "db-1.example.org"),
    "idn-hostname": ("www.example.com",),
    "ipv4": ("192.0.2.10", "198.51.100.7"),
    "ipv6": ("2001:db8::1", "2001:db8:0:1::a"),
    "json-pointer": ("/items/0/name",),
    "relative-json-pointer": ("1/name",),
    "regex": ("^[a-z]+$", r"\d{4}"),
    "byte": ("SGVsbG8=",),
    "binary": ("SGVsbG8=",),
    "password": ("correct-horse-battery",),
    "color": ("#1e90ff",),
    "hex-color": ("#1e90ff", "#228b22"),
    "phone": ("+493012345678",),
}
"""Texts of a format."""

_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"e_?mail", FORMATS["email"]),
    (r"url|uri|href|link|website|webpage|endpoint|webhook", FORMATS["uri"]),
    (r"uuid|guid", FORMATS["uuid"]),
    (r"date_?time|timestamp|_at$|^(since|until|before|after)$", FORMATS["date-time"]),
    (r"date|^day$|deadline|birthday|^due", FORMATS["date"]),
    (r"time_?zone|^tz$", ("Europe/Berlin", "America/New_York", "Asia/Tokyo")),
    (r"(start|end|begin)_?time|^time$", ("09:30", "18:45")),
    (r"duration", ("30m", "2h")),
    (r"file_?name|^file$", ("notes.txt", "report.csv")),
    (r"folder|director(y|ies)|^dir$|workspace|^cwd$|^root$", ("/home/ada/project", "docs")),
    (r"path", ("docs/readme.md", "src/main.py")),
    (r"quer(y|ies)|^q$|search|keyword|^terms?$|prompt|question", ("weather in Berlin", "how to sort a list")),
    (r"sql", ("SELECT name FROM users WHERE id = 1",)),
    (r"regex|pattern", FORMATS["regex"]),
    (r"lang(uage)?$|locale", ("en", "de", "ja")),
    (r"country", ("DE", "US", "JP")),
    (r"currency", ("EUR", "USD")),
    (r"cit(y|ies)|location|place|region|destination|origin", ("Berlin", "Kyoto", "São Paulo")),
    (r"address|street", ("1 Example Street, Berlin",)),
    (r"zip|postal", ("10115", "94016")),
    (r"phone|mobile|^tel$", FORMATS["phone"]),
    (r"colou?r", FORMATS["hex-color"]),
    (r"^ip$|ip_?addr", FORMATS["ipv4"]),
    (r"host|domain", FORMATS["hostname"]),
    (r"^(latitude|lat)$", ("52.52",)),
    (r"^(longitude|lng|lon)$", ("13.405",)),
    (r"repo", ("mcp-studio", "example")),
    (r"owner|user_?name|login|author|assignee", ("ada", "grace")),
    (r"branch|^ref$", ("main", "fix/typo")),
    (r"sha|commit|hash", ("9fceb02d0ae598e95dc970b74767f19372d61af8",)),
    (r"version", ("1.2.3", "2.0.0")),
    (r"symbol|ticker", ("ACME", "EXMP")),
    (r"model", ("small", "large")),
    (r"secret|passw|token|api_?key", ("example-secret",)),
    (r"(first|given)_?name", ("Ada", "Grace")),
    (r"(last|family|sur)_?name", ("Lovelace", "Hopper")),
    (r"title|subject|headline|summary", ("A short title", "Notes of the meeting")),
    (r"code|script|snippet", ("print('hello')",)),
    (r"json", ("{}",)),
    (r"html", ("<p>Hello</p>",)),
    (r"markdown", ("# Title\n\nSome text.",)),
    (
        r"text|message|content|body|comment|description|note|reason",
        ("Hello, this is an example.", "A few plain words."),
    ),
    (r"tags?$|labels?$|categor|topic", ("example", "urgent")),
    (r"units?$", ("metric", "km")),
    (r"(^|_)ids?$|[a-z]I[dD]s?$|identifier|^key$|_key$|number|slug", ("42", "item-7")),
    (r"command|^cmd$", ("ls -l",)),
    (r"name", ("Ada Lovelace", "Example")),
)
_BY_NAME = tuple((re.compile(pattern, re.I), texts) for pattern, texts in _NAMES)
_OTHERWISE = ("example", "some text", "hello")

_AMOUNTS: tuple[tuple[str, tuple[int | float, ...]], ...] = (
    (r"^lat(itude)?$|_lat$", (52.52, 35.68, -33.87)),
    (r"^(lng|lon(gitude)?)$|_lng$|_lon$", (13.405, 139.69, -70.65)),
    (r"limit|max|count|size|per_?page|top|num", (10, 20, 50)),
    (r"page", (1, 2)),
    (r"offset|skip|index|^start", (0, 10)),
    (r"year", (2027, 2026)),
    (r"month", (1, 6, 12)),
    (r"day", (1, 15, 28)),
    (r"hour", (9, 18)),
    (r"minute|second", (30, 15)),
    (r"port$", (8080, 443)),
    (r"time_?out|_ms$", (30, 1000)),
    (r"age$", (36, 42)),
    (r"price|amount|cost|total|budget|balance", (19.99, 100, 5)),
    (r"quantity|qty", (1, 3)),
    (r"percent|rate|ratio|temperature|threshold|score", (0.5, 0.75, 20)),
    (r"timestamp|epoch|_at$", (1_800_000_000,)),
    (r"width|height|length|depth", (640, 480)),
    (r"(^|_)id$|[a-z]Id$|number", (42, 7)),
)
_AMOUNT_BY_NAME = tuple((re.compile(pattern, re.I), amounts) for pattern, amounts in _AMOUNTS)
_SAID = re.compile(
    r"(?:e\.g\.|for example|such as|example:|default:?)[:,]?\s{0,3}([\"'`“])([^\"'`“”\n]{1,80})[\"'`”]", re.I
)
_LETTERS = re.compile(r"[YMDHhmsTZ:/. -]+")
"""How dates are described, which is no date."""
_TOKEN = re.compile(r"(?:e\.g\.|for example|such as|example:)[:,]?\s{1,3}([\w./:@#+-]{2,80})", re.I)
"""An example without quotes, taken where it is no plain word."""
_SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("yyyy-mm-ddthh", FORMATS["date-time"]),
    ("yyyy-mm-dd hh", ("2027-01-31 09:30:00",)),
    ("yyyy-mm-dd", FORMATS["date"]),
    ("dd/mm/yyyy", ("31/01/2027",)),
    ("mm/dd/yyyy", ("01/31/2027",)),
    ("yyyymmdd", ("20270131",)),
    ("yyyy-mm", ("2027-01",)),
    ("hh:mm:ss", ("09:30:00",)),
    ("hh:mm", ("09:30",)),
    ("iso 8601", FORMATS["date-time"]),
    ("base64", FORMATS["byte"]),
    ("comma-separated", ("one,two",)),
    ("comma separated", ("one,two",)),
)
_READ = 600
"""Characters of a description that are looked at."""
SHAPED = (
    "2027-01-31", "2027-01-31T09:30:00Z", "2027-01-31T09:30:00",
    "2027-01-31T09:30:00+01:00", "31/01/2027", "01/31/2027",
    "20270131", "2027-01", "2027", "09:30", "09:30:00", "+493012345678", "#1e90ff", "en-US", "en", "EUR", "DE", "1.2.3",
    "v1.2.3", "192.0.2.10", "192.0.2.0/24", "ada@example.com", "https://example.com/page", "example.com",
    "3f2b8c1e-5d4a-4e6f-9b7a-2c1d0e9f8a7b", "ada/example", "example", "Example", "EXAMPLE", "example-1",
    "abc", "ABC", "42",
    "Ada Lovelace", "52.52,13.405", "10115", "P3D", "0x00000000219ab540356cbb839cbe05303d7705fa",
    "9fceb02d0ae598e95dc970b74767f19372d61af8", "1/2", "0.5",
)  # fmt: skip
"""Texts of which one often has the form that a pattern wants, and that mean something."""


def texts(name: str, description: str, format: str) -> tuple[str, ...]:
    """Texts for a field, the most plausible kind of those that are known; there is always one."""
    if format in FORMATS:
        return FORMATS[format]
    said = description[:_READ]
    if found := tuple(match[2] for match in _SAID.finditer(said) if _LETTERS.fullmatch(match[2]) is None):
        return found
    lower = said.lower()
    shaped = next((found for shape, found in _SHAPES if shape in lower), None)
    if shaped:
        return shaped
    tokens = (match[1].rstrip(".:") for match in _TOKEN.finditer(said))
    if found := tuple(token for token in tokens if not token.isalpha()):
        return found
    return next((found for pattern, found in _BY_NAME if pattern.search(name[:100])), _OTHERWISE)


def amounts(name: str) -> tuple[int | float, ...]:
    """Numbers for a field by its name; there is always one."""
    return next((found for pattern, found in _AMOUNT_BY_NAME if pattern.search(name[:100])), (1, 5, 3))


def pick(count: int, rng: Random, seed: int) -> int:
    """Which of several to take: the first with the first seed, any later."""
    return rng.randrange(count) if seed else 0


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
    return (fitting or values)[pick(len(fitting or values), rng, seed)]


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
    found = list(texts(field.name, field.description, field.format))
    at = pick(len(found), rng, seed)
    found = [*found[at:], *found[:at]]
    if field.pattern:
        return _patterned(field, found, rng, remarks)
    for one in found:
        if low <= len(one) and (high is None or len(one) <= high):
            return one
    if field.format in FORMATS:
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
    for one in (*found, *SHAPED):
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
    wished = amounts(field.name)
    step = exact(field.multiple_of) or (Fraction(1) if field.integer else None)
    if field.integer and step is not None and step.denominator > 1:
        step = Fraction(step.numerator)
    low, high = bounds(field, step)
    first = wished[pick(len(wished), rng, seed)]
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


STEPS = 3_000
"""Fields looked at for one value."""
MOST_ITEMS = 200
"""Items of a list, or entries of a map, that are made up because the schema demands so many."""
_DEPTH = 40
_PATTERNS = 10
"""Patterns of keys that are tried."""
_NEVER = {"not": {}}
_KEYS = ("name", "key", "example", "one", "two", "three", "a", "id", "x-example", "X_EXAMPLE", "42")


class Maker:
    """Makes one value up.

    Args:
        rich: 0 for only what must be there, 1 for a typical value, 2 for all that can be there.
        seed: another one gives another value.
    """

    def __init__(self, rich: int, seed: int) -> None:
        self._rich = rich
        self._seed = seed
        self._steps = STEPS
        self.remarks: list[str] = []
        """What may be wrong with the value, for it is not known here, as sentences."""

    @property
    def spent(self) -> int:
        """How many fields were looked at."""
        return STEPS - self._steps

    def make(self, field: Field, place: str = "", depth: int = 0) -> Json:
        """A value for the field.

        Raises:
            Cannot: there is none, or none was found; says why.
        """
        self._steps -= 1
        if depth > _DEPTH or self._steps < -STEPS:
            raise Cannot("it contains itself without end, or is too large")
        rng = dice(f"{self._seed}{place}")
        for value in self._said(field, rng, depth):
            if sound(field, value):
                return value
        try:
            return self._allowed(field, place, depth, rng)
        except Cannot:
            if field.nullable:
                return None
            raise

    def _said(self, field: Field, rng: Random, depth: int) -> list[Json]:
        """What the schema itself offers, the likeliest first."""
        if depth == 0 or isinstance(field, Const):
            return []
        offered = [*field.examples, *([field.default] if field.has_default and field.default is not None else [])]
        # Now and then something else, where another value is wanted.
        if self._seed and rng.random() < 0.5:
            rng.shuffle(offered)
            return offered[: len(offered) - 1]
        return offered

    def _allowed(self, field: Field, place: str, depth: int, rng: Random) -> Json:
        """A value that is none of those that the schema excludes by name."""
        excluded = mapping(mapping(field.schema).get("not"))
        listed = [excluded["const"]] if "const" in excluded else items_of(excluded.get("enum"))
        value = self._made(field, place, depth, rng)
        for seed in range(1, 9):
            if not any(equal(value, one) for one in listed):
                break
            value = self._with(self._seed * 7 + seed, lambda: self._made(field, place, depth, dice(place)))
        else:
            raise Cannot("all that was found is excluded")
        return value

    def _with(self, seed: int, make: Callable[[], Json]) -> Json:
        """Something made with another seed."""
        kept, self._seed = self._seed, seed
        try:
            return make()
        finally:
            self._seed = kept

    def _made(self, field: Field, place: str, depth: int, rng: Random) -> Json:
        if field.schema == _NEVER or field.schema is False:
            raise Cannot("the schema allows no value here")
        if isinstance(field, Object):
            return self._object(field, place, depth)
        if isinstance(field, Map):
            return self._entries({}, field, place, depth, max(field.min_entries or 0, 1 if self._more(depth) else 0))
        if isinstance(field, List):
            return self._list(field, place, depth)
        if isinstance(field, Choices):
            return self._picked(field, rng)
        if isinstance(field, Union):
            return self._union(field, place, depth, rng)
        if isinstance(field, Scalar) and field.parts:
            return self.make(field.parts[rng.randrange(len(field.parts)) if self._seed else 0], place, depth + 1)
        if isinstance(field, JsonField):
            return self._anything(field)
        return leaf(field, rng, self._seed, self.remarks)

    def _more(self, depth: int) -> bool:
        """Whether what need not be there is wanted here."""
        return self._steps > 0 and depth < (0, 3, 5)[self._rich]

    def _object(self, field: Object, place: str, depth: int) -> Json:
        fields, schema = field.fields(), mapping(field.schema)
        most = field.max_entries
        chosen, avoided = self._demanded(schema)
        wanted = {one.name for one in fields if one.required} | chosen
        value: dict[str, Json] = {}
        for one in fields:
            room = self._more(depth) and (most is None or len(wanted) < most)
            if one.name in wanted or (room and one.name not in avoided and self._suits(one)):
                self._put(value, one, place, depth)
                wanted.add(one.name)
        self._depending(value, fields, schema, place, depth)
        for one in fields:
            if len(value) < (field.min_entries or 0) and one.name not in value:
                self._put(value, one, place, depth)
        self._depending(value, fields, schema, place, depth)
        if len(value) < (field.min_entries or 0):
            if field.rest is None and schema.get("additionalProperties") is False:
                raise Cannot(f"it wants {field.min_entries} properties, and has room for {len(value)}")
            value = self._entries(value, field.rest or Map(""), place, depth, field.min_entries or 0)
        return value

    def _suits(self, one: Field) -> bool:
        """Whether a property that need not be there is for people to fill in."""
        return not one.read_only and one.remark != FORBIDDEN and (not one.deprecated or self._rich > 1)

    def _demanded(self, schema: dict[str, Json]) -> tuple[set[str], set[str]]:
        """Properties that must be there by one of several alternatives; those that would fit another too."""
        chosen, avoided = set[str](), set[str]()
        for key in ("anyOf", "oneOf"):
            lists = [items_of(mapping(part).get("required")) for part in items_of(schema.get(key))]
            groups = [{name for name in names if isinstance(name, str)} for names in lists]
            if groups:
                one = groups[self._seed % len(groups)]
                chosen |= one
                avoided |= set[str]().union(*groups) - one if key == "oneOf" else set()
        return chosen, avoided

    def _put(self, value: dict[str, Json], one: Field, place: str, depth: int) -> None:
        try:
            value[one.name] = self.make(one, f"{place}/{one.name}", depth + 1)
        except Cannot as problem:
            if one.required:
                raise Cannot(f"{one.name}: {problem}") from None

    def _depending(
        self, value: dict[str, Json], fields: tuple[Field, ...], schema: dict[str, Json], place: str, depth: int
    ) -> None:
        """What must be there because something else is."""
        rules = {**mapping(schema.get("dependencies")), **mapping(schema.get("dependentRequired"))}
        known = {one.name: one for one in fields}
        for _ in range(min(len(rules), 20)):
            lacking = [
                name
                for key, names in rules.items()
                if key in value and isinstance(names, list)
                for name in names
                if isinstance(name, str) and name not in value
            ]
            for name in lacking:
                self._put(value, known.get(name) or JsonField(name), place, depth)
            if not lacking:
                return

    def _entries(self, value: dict[str, Json], field: Map, place: str, depth: int, count: int) -> dict[str, Json]:
        if count > MOST_ITEMS:
            raise Cannot(f"it wants {count} properties, which are too many")
        most = len(value) + count if field.max_entries is None else field.max_entries
        for key in self._keys(field, count, place):
            if len(value) >= min(count, most):
                break
            if key not in value and not field.wrong_key(key):
                value[key] = self.make(field.of(key), f"{place}/{key}", depth + 1)
        if len(value) < (field.min_entries or 0):
            raise Cannot("no names that it allows were found")
        return value

    def _keys(self, field: Map, count: int, place: str) -> list[str]:
        schema = mapping(field.schema)
        names = mapping(schema.get("propertyNames"))
        patterns = [*([names["pattern"]] if "pattern" in names else []), *mapping(schema.get("patternProperties"))]
        listed = names.get("enum")
        found = [key for key in listed if isinstance(key, str)] if isinstance(listed, list) else []
        for number in range(count + 1):
            for pattern in patterns[:_PATTERNS]:
                key = matching(pattern, 0, 100, dice(f"{place}{number}")) if isinstance(pattern, str) else None
                found += [key] if key else []
        return [*found, *_KEYS, *(f"key{number}" for number in range(count + 1))]

    def _list(self, field: List, place: str, depth: int) -> Json:
        first, least = field.first(), field.min_items or 0
        usual = (0, 2, 3)[self._rich] if self._more(depth) else 0
        count = max(least, len(first) if self._more(depth) else 0, usual)
        count = count if field.max_items is None else max(least, min(count, field.max_items))
        if "unevaluatedItems" in mapping(field.schema) and "items" not in mapping(field.schema):
            count = max(least, min(count, len(first)))
        if count > MOST_ITEMS:
            raise Cannot(f"it wants {count} items, which are too many")
        items = self._contained(field, place, depth)
        seen = {spell(item) for item in items}
        for index in range(count * (4 if field.unique else 1)):
            inner = field.item(len(items))
            if inner is None or len(items) >= count:
                break
            try:
                item = self._item(inner, f"{place}/{index}", depth, index)
            except Cannot:
                if len(items) >= least:
                    break
                raise
            if not field.unique or spell(item) not in seen:
                items.append(item)
                seen.add(spell(item))
        if len(items) < least:
            raise Cannot(f"it wants {least} items, and {len(items)} were found")
        return items

    def _item(self, inner: Field, place: str, depth: int, index: int) -> Json:
        """Items after the first are made with seeds of their own, so that they differ."""
        return self._with(self._seed * 7 + index, lambda: self.make(inner, place, depth + 1))

    def _contained(self, field: List, place: str, depth: int) -> list[Json]:
        """The items that a list must have among others."""
        schema = mapping(field.schema)
        least = schema.get("minContains", 1)
        if not isinstance(schema.get("contains"), dict) or field.first() or not isinstance(least, int):
            return []
        both = {"allOf": [schema["contains"], schema.get("items", True)]}
        inner = Builder({**both, "$defs": schema.get("$defs")}).field("", both)
        if "$ref" in spell(both):
            self.remarks.append(f"{field.name or 'A list'}: whether it has what the schema asks for is not known here.")
        return [self._item(inner, f"{place}/{index}", depth, index) for index in range(min(least, MOST_ITEMS))]

    def _picked(self, field: Choices, rng: Random) -> Json:
        values = [option.value for option in field.options]
        if self._seed:
            rng.shuffle(values)
        least = field.min_items or 0
        count = max(least, (0, 1, len(values))[self._rich])
        count = count if field.max_items is None else min(count, field.max_items)
        if count > max(len(values), MOST_ITEMS) or (count > len(values) and mapping(field.schema).get("uniqueItems")):
            raise Cannot(f"it wants {count} items out of {len(values)}")
        return [values[index % len(values)] for index in range(count)]

    def _union(self, field: Union, place: str, depth: int, rng: Random) -> Json:
        order = list(range(len(field.variants)))
        if self._seed and not field.by_value:
            rng.shuffle(order)
        reason, doubtful = "none of its kinds has a value that was found", list[Json]()
        for index in order[:12]:
            try:
                value = self.make(field.variants[index].field(), place, depth + 1)
            except Cannot as problem:
                reason = str(problem)
                continue
            if field.choose(value) == index:
                return value
            doubtful.append(value)
        if doubtful:
            return doubtful[0]
        raise Cannot(reason)

    def _anything(self, field: JsonField) -> Json:
        kind = field.types[0] if field.types else "string"
        if field.remark:
            self.remarks.append(f"{field.name or 'The value'}: the schema says more than is known here.")
        made: dict[str, Json] = {"object": {}, "array": [], "number": 1.5, "integer": 1, "boolean": True, "null": None}
        return made[kind] if kind in made else leaf(field, Random(self._seed), self._seed, self.remarks)


Kind = Literal["minimal", "typical", "full"]
KINDS: tuple[Kind, ...] = ("minimal", "typical", "full")
_LABELS = ("only what is required", "typical values", "everything filled in")
_ATTEMPTS = 4
"""Values that are made up for one example, as long as something speaks against them."""
_SPENT = 1_000
"""Fields of a value that is too large to be made up once more."""


@record(frozen=True)
class Example:
    """A value made up for a form."""

    label: str
    """How much of the form it fills in."""
    value: Json
    kind: Kind
    remark: str = ""
    """Why it may not be what it says, as a sentence; empty when nothing speaks against it."""


def example(form: Form, kind: Kind, seed: int = 0) -> Example:
    """The first value that nothing speaks against; else the first, with what speaks against it."""
    at = KINDS.index(kind)
    found: Example | None = None
    for attempt in range(_ATTEMPTS):
        maker = Maker(at, seed + 1_000 * attempt)
        try:
            value = maker.make(form.top)
        except Cannot as problem:
            return found or Example(_LABELS[at], {}, kind, f"No valid value was found: {problem}.")
        remark = " ".join(dict.fromkeys(maker.remarks)) or _doubt(form, value)
        if not remark:
            return Example(_LABELS[at], value, kind)
        found = found or Example(_LABELS[at], value, kind, remark)
        if maker.spent > _SPENT:
            break
    return found or Example(_LABELS[at], {}, kind, "No valid value was found.")


def valid(form: Form, seed: int = 0) -> tuple[Example, ...]:
    """A minimal, a typical and a full value; each of them once."""
    found = [example(form, kind, seed) for kind in KINDS]
    return tuple(one for index, one in enumerate(found) if all(one.value != other.value for other in found[:index]))


def _doubt(form: Form, value: Json) -> str:
    """What speaks against a value being valid, as a sentence; empty when nothing does that is known here."""
    wrong = next((problem for problem in quick(form, value) if problem.severity == "error"), None)
    if wrong:
        return f"{wrong.said}."
    if isinstance(form.schema, dict) and Judge(Resolver(form.schema)).wrong(form.schema, value):
        return "It breaks a rule of the schema that is not known here in words."
    return ""
