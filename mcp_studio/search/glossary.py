"""Chinese words for what tools are about, so that a Chinese question finds tools that are described in English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("glossary.txt")


@cache
def entries() -> dict[str, tuple[str, ...]]:
    """The English words of each Chinese one, the likeliest first; words that belong together have a `_` between."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _FILE.read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            chinese, _, english = line.partition("=")
            for word in chinese.split():
                found.setdefault(word, tuple(english.split()))
    return found


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(sorted(entries(), key=lambda word: (-len(word), word))))


def english(run: str) -> Iterator[tuple[str, ...]]:
    """What the Chinese words of a stretch may be in English, one after the other; of two that overlap the longer."""
    known = entries()
    for found in _pattern().finditer(run):
        yield known[found[0]]
