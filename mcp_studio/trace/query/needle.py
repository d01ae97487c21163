"""A text to look for in bodies, whatever its case and however JSON has written it."""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator

_SLICE = 1 << 18
"""Bytes of a large body that are looked at in one step: the interpreter is held for so long."""
_MOST = 8
"""Forms that are looked for one after the other."""
Find = Callable[[bytes, int, int], int]


class Needle:
    """Looks for a text in UTF-8: upper and lower case are the same, `é` is `\\u00e9` too, `"` is `\\"` too."""

    def __init__(self, text: str) -> None:
        self.folded = text.casefold()
        """The text, to be looked for in `name.casefold()`."""
        forms = _forms(text)
        self._longest = max(map(len, forms), default=12 * len(text))
        self._finds: list[Find] = [_Plain(form).find for form in forms] or [_Pattern(_any_case(text)).find]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needle) and other.folded == self.folded

    def __hash__(self) -> int:
        return hash(self.folded)

    def within(self, body: bytes) -> bool:
        """Whether it occurs in a body."""
        for start in range(0, len(body), _SLICE):
            piece = body[start : start + _SLICE + self._longest].lower()
            if any(find(piece, 0, len(piece)) >= 0 for find in self._finds):
                return True
        return False

    def rows(self, lowered: bytes, ends: array[int]) -> Iterator[int]:
        """The places of the bodies in `lowered` that it occurs in, maybe twice; `ends`: see `recording.Block`."""
        for find in self._finds:
            yield from hits(find, lowered, ends)


def hits(find: Find, data: bytes, ends: array[int]) -> Iterator[int]:
    """The places of the bodies in which something is found, at the speed of one search through all of them."""
    at, row, size = 0, 0, len(data)
    while (at := find(data, at, size)) >= 0:
        row = bisect_right(ends, at, row)
        if row >= len(ends):
            return
        end = ends[row]
        if find(data, at, end) >= 0:  # else it reaches into the next body
            yield row
        at = end
        row += 1


class _Plain:
    __slots__ = ("_form",)

    def __init__(self, form: bytes) -> None:
        self._form = form

    def find(self, data: bytes, start: int, end: int) -> int:
        return data.find(self._form, start, end)


class _Pattern:
    __slots__ = ("_search",)

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._search = pattern.search

    def find(self, data: bytes, start: int, end: int) -> int:
        found = self._search(data, start, end)
        return found.start() if found else -1


def _escaped(text: str) -> bytes:
    """As it stands in a JSON string in which everything beyond ASCII is escaped, in lower case."""
    return json.dumps(text)[1:-1].lower().encode("ascii")


def _cases(char: str) -> list[bytes]:
    """All that a character may look like in lower-cased bytes: each of its cases, as UTF-8 and as JSON escapes it."""
    cases = (char, char.lower(), char.upper(), char.casefold(), char.upper().lower(), char.lower().upper())
    forms = (form for case in cases for form in (case.encode("utf-8", "replace").lower(), _escaped(case)))
    return list(dict.fromkeys(forms))


def _forms(text: str) -> list[bytes]:
    """All that a text may look like in lower-cased bytes; nothing where that is more than some."""
    if text.isascii():
        return list(dict.fromkeys((text.lower().encode(), _escaped(text.lower()))))
    forms = [b""]
    for char in text:
        cases = [char.lower().encode()] if char.isascii() else _cases(char)
        if len(forms) * len(cases) > _MOST:
            return []
        forms = [form + case for form in forms for case in cases]
    return forms


def _any_case(text: str) -> re.Pattern[bytes]:
    """The same as a pattern, which is slower."""
    return re.compile(b"".join(b"(?:" + b"|".join(map(re.escape, _cases(char))) + b")" for char in text))
