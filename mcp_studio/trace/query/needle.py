"""What is looked for in bodies: a text, whatever its case and however JSON has written it, or a regex."""

from __future__ import annotations

import json
import re
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise

from mcp_studio.errors import UsageError
from mcp_studio.patterns import Pattern, PatternError, TooSlow

LONGEST = 1_000
"""Characters of a pattern."""
PATIENCE = 1.0
"""Seconds that a regex may take for some bodies, besides those for their length."""
_PER_SECOND = 20_000_000
_TOGETHER = 0.1
"""Seconds that it may take for the bodies of a block as one text, which is much quicker where it is possible."""
_LOOKS_ROUND = re.compile(r"[$^]|\((?:\?(?![:P])|\*)|\\(?![dDwWsSnrtxuUpP\d])[A-Za-z]")
"""What asks where a text begins or ends, or may: then bodies cannot be one text."""
_SIGNS = re.compile(r"\\.|.[*?]|.\{[^}]*\}|[+.^$]", re.S)
"""What stands between the characters that are always there, in a pattern without choices, groups and sets."""
_SLICE = 1 << 18
"""Bytes of a large body that are looked at in one step: the interpreter is held for so long."""
_MOST = 8
"""Forms that are looked for one after the other."""
Find = Callable[[bytes, int, int], int]
"""Where something is in some bytes between two places; -1 where it is not."""


class Needle:
    """Looks for a text in UTF-8: upper and lower case are the same, `é` is `\\u00e9` too, `"` is `\\"` too."""

    def __init__(self, text: str) -> None:
        self.folded = text.casefold()
        forms = _forms(text)
        self._longest = max(map(len, forms), default=12 * len(text))
        self._finds: list[Find] = [_plain(form) for form in forms] or [_matched(_any_case(text))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needle) and other.folded == self.folded

    def __hash__(self) -> int:
        return hash(self.folded)

    def which(self, texts: Sequence[str]) -> bytes:
        """1 for each text that it occurs in, 0 for the others."""
        return bytes(self.folded in text.casefold() for text in texts)

    def which_bodies(self, bodies: Iterable[bytes]) -> bytes:
        """The same for UTF-8."""
        return bytes(map(self._within, bodies))

    def rows(self, lowered: bytes, ends: array[int]) -> Iterator[int]:
        """The places of the bodies in `lowered` that it occurs in, maybe twice; `ends`: see `recording.Block`."""
        for find in self._finds:
            yield from hits(partial(find, lowered), ends)

    def _within(self, body: bytes) -> bool:
        for start in range(0, len(body), _SLICE):
            piece = body[start : start + _SLICE + self._longest].lower()
            if any(find(piece, 0, len(piece)) >= 0 for find in self._finds):
                return True
        return False


class Regex:
    """A pattern between slashes; with `i` upper and lower case are the same, `s` and `m` as in Python.

    Args:
        pattern: what stands between the slashes.
        flags: the letters behind them.
        at: where the pattern begins in the query, for errors.

    Raises:
        QueryError: it is no regex.
    """

    def __init__(self, pattern: str, flags: str = "", at: int = 0) -> None:
        self._key = pattern, "".join(sorted(flags))
        end = at + len(pattern)
        if len(pattern) > LONGEST:
            raise QueryError(f"A regex has at most {LONGEST:,} characters.", at, end)
        try:
            self._pattern = Pattern(pattern, flags)
        except PatternError as error:
            raise QueryError(error.message, at + error.at, end) from None
        self._joined = not _LOOKS_ROUND.search(pattern)
        plain = "i" not in flags and not set("|([") & set(pattern)
        self._literal = max(_SIGNS.split(pattern), key=len).encode() if plain else b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regex) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def which(self, texts: Sequence[str]) -> bytes:
        """1 for each text that it is found in, 0 for the others.

        Raises:
            TooSlow: it takes too long.
        """
        until = time.thread_time() + PATIENCE + sum(map(len, texts)) / _PER_SECOND
        return bytes(self._pattern.find(text, until) is not None for text in texts)

    def which_bodies(self, bodies: Iterable[bytes]) -> bytes:
        """The same for UTF-8."""
        texts = [body.decode("utf-8", "replace") if self._literal in body else None for body in bodies]
        found = iter(self.which([text for text in texts if text is not None]))
        return bytes(0 if text is None else next(found) for text in texts)

    def rows(self, data: bytes, ends: array[int]) -> Iterable[int] | None:
        """The places of the bodies in `data` that it is found in; None where each has to be looked at for itself."""
        if not self._joined:
            return None
        text = data.decode("ascii", "ignore")
        if len(text) < len(data):
            bodies = [data[start:end].decode("utf-8", "replace") for start, end in pairwise((0, *ends))]
            text, ends = "".join(bodies), array("I", accumulate(map(len, bodies)))
        until, last = time.thread_time() + _TOGETHER, (-1, -1)

        def find(start: int, end: int) -> int:
            nonlocal last
            if start != last[0] or last[1] > end:
                last = self._pattern.find(text, until, start, end) or (-1, -1)
            return last[0]

        try:
            return list(hits(find, ends))
        except TooSlow:  # such as `.*`, which goes from each place to the end of all bodies
            self._joined = False
            return None


def hits(find: Callable[[int, int], int], ends: array[int]) -> Iterator[int]:
    """The places of the bodies in which something is found, at the speed of one search through all of them."""
    at, row, size = 0, 0, ends[-1] if ends else 0
    while (at := find(at, size)) >= 0:
        row = bisect_right(ends, at, row)
        if row >= len(ends):
            return
        end = ends[row]
        if find(at, end) >= 0:  # else it reaches into the next body
            yield row
        at = end
        row += 1


def _plain(form: bytes) -> Find:
    return lambda data, start, end: data.find(form, start, end)


def _matched(pattern: re.Pattern[bytes]) -> Find:
    def find(data: bytes, start: int, end: int) -> int:
        found = pattern.search(data, start, end)
        return found.start() if found else -1

    return find


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


class QueryError(UsageError):
    """A text that is no query.

    Attributes:
        start: where in the text the wrong part begins; the text's length where something is missing at its end.
        end: where it ends, at least `start`.
    """

    def __init__(self, message: str, start: int, end: int, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.start = start
        self.end = end
