"""What could come next while a query is typed: keys, then values that the recording knows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from mcp_studio.safetext import safe
from mcp_studio.trace.message import KINDS, Recording
from mcp_studio.trace.query.parser import ALIASES, KEYS

_MOST = 50
_SAMPLE = 20_000
"""Newest entries in which values are looked for."""
_WORDS = {
    "error": "what went wrong, in whatever way",
    "marked": "what you marked",
    "not": "what follows is not so",
    "or": "one of two",
}
_EXAMPLES = {
    "since": ("1m", "10m", "1h", "1d"), "until": ("1m", "10m", "1h", "1d"), "ms": (">100", ">1s", "<10"),
    "size": (">1KB", ">100KB", ">1MB"),
}  # fmt: skip
_METHODS = {
    "tool": ("tools/call",), "prompt": ("prompts/get",),
    "resource": ("resources/read", "resources/subscribe", "resources/unsubscribe"),
}  # fmt: skip
_SPECIAL = re.compile(r'[\s()"*]|^[=/<>]|^$')
_WORD = re.compile(r'(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s()"])+', re.S)
"""A run of texts in quotes, the last of which may have no end, and of other characters."""


class Suggestion(NamedTuple):
    """One way to go on."""

    text: str
    """What stands in the place of the word under the cursor."""
    about: str = ""
    """What it means."""


class Suggestions(NamedTuple):
    """All of them, the likeliest first; they replace `text[start:end]`."""

    start: int
    end: int
    options: tuple[Suggestion, ...]


def complete(text: str, cursor: int, recording: Recording) -> Suggestions:
    """What the word under the cursor may become; quick enough for every key.

    Args:
        text: what has been typed, a query or not.
        cursor: where in it, 0 to its length.
        recording: knows the values.
    """
    start = _start(text[:cursor])
    following = re.match(r'[^\s()"]*', text[cursor:])
    end = cursor + (following.end() if following else 0)
    word = text[start:cursor]
    key, colon, begun = word.partition(":")
    options: Iterable[Suggestion] = ()
    if colon:
        name = ALIASES.get(key.lower(), key.lower())
        options = _values(name, begun, key + ":", recording) if name in KEYS else ()
    elif not word.startswith(("/", "<", ">", '"')):
        options = _words(word, first=not text[:start])
    found = dict.fromkeys(islice(options, _MOST))
    return Suggestions(start, end, tuple(option for option in found if option.text != text[start:end]))


def _start(typed: str) -> int:
    """Where the last word of what was typed begins."""
    start = next((word.start() for word in _WORD.finditer(typed) if word.end() == len(typed)), len(typed))
    return start + typed.startswith("-", start)


def _words(begun: str, first: bool) -> Iterator[Suggestion]:
    wanted = begun.lower()
    for name, key in KEYS.items():
        if name.startswith(wanted):
            yield Suggestion(name + ":", key.what)
    for word, about in _WORDS.items():
        if word.startswith(wanted) and not (first and word == "or"):
            yield Suggestion(word, about)


def _values(key: str, begun: str, before: str, recording: Recording) -> Iterator[Suggestion]:
    if begun.startswith("/"):
        return
    fixed = KEYS[key].values or _EXAMPLES.get(key, ())
    wanted = begun.strip('"').lower()
    matching = [value for value in fixed or _known(key, recording) if wanted in value.lower()]
    for value in sorted(matching, key=lambda value: not value.lower().startswith(wanted)):
        if fixed:
            yield Suggestion(before + value)
        elif value and safe(value, 2 * len(value)) == value:
            yield Suggestion(before + _written(value))


def _known(key: str, recording: Recording) -> Iterable[str]:
    """Values of a key in the newest entries, the usual ones first."""
    columns = recording.columns
    if key == "server":
        return columns.servers.texts[2:]
    if key not in ("method", "target", *_METHODS):
        return ()
    rows = slice(max(0, len(columns) - _SAMPLE), len(columns))
    seen = Counter(zip(columns.kind[rows], columns.method[rows], columns.target[rows], strict=True))
    methods, targets, http = columns.methods.texts, columns.targets.texts, KINDS.index("http")
    only = _METHODS.get(key, ())
    found: Counter[str] = Counter()
    for (kind, method, target), count in seen.items():
        is_http = kind & 15 == http
        if key == "method":
            found[methods[method] if not is_http else ""] += count
        elif not only or methods[method] in only:
            found[targets[target]] += count
    return [value for value, _ in found.most_common() if value]


def _written(value: str) -> str:
    """A value as it stands in a query."""
    if not _SPECIAL.search(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
