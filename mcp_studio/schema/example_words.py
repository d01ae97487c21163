"""Plausible texts and numbers: by format, by what is said of a field, and by its name."""

from __future__ import annotations

import re
from random import Random

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
