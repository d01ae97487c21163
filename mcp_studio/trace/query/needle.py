"""Tests of texts and bodies: a text in any case, a text with `*`, a regular expression."""

from __future__ import annotations

import fnmatch
import json
import math
import re
from typing import NamedTuple, Protocol

from mcp_studio.errors import UsageError
from mcp_studio.patterns import Pattern, PatternError

LONGEST = 1_000
"""Characters of a pattern."""
_SIGNS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\](?:[*?]|\{[^}]*\})?|\\.|.[*?]|.\{[^}]*\}|[+.^$]", re.S)
"""What stands between the characters that are always there, in a pattern without choices and groups."""
_SLICE = 1 << 18
"""Bytes of a body that are looked at in one step: other threads wait that long."""


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


class TextTest(Protocol):
    """Whether a text is what a query asks for."""

    def matches(self, text: str) -> bool:
        """Raises `TooSlow` where a regular expression does not come to an end."""
        ...


class Glob(NamedTuple):
    """The whole text is like this one in any case; `*` stands for anything."""

    folded: str

    def matches(self, text: str) -> bool:
        """See `TextTest`."""
        # fnmatch keeps what it has compiled.
        return fnmatch.fnmatchcase(text.casefold(), re.sub(r"([?[])", r"[\1]", self.folded))


class Whole(NamedTuple):
    """The whole text is this one in any case."""

    folded: str

    def matches(self, text: str) -> bool:
        """See `TextTest`."""
        return text.casefold() == self.folded


class Needle:
    """A text that occurs in another one, in any case; in JSON also escaped: `é` as `\\u00e9`, `"` as `\\"`."""

    def __init__(self, text: str) -> None:
        self.folded = text.casefold()
        forms = [_forms(char) for char in text]
        self._plain = b"".join(form[0] for form in forms) if all(len(form) == 1 for form in forms) else None
        self._pattern = re.compile(b"".join(b"(?:" + b"|".join(map(re.escape, form)) + b")" for form in forms))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needle) and other.folded == self.folded

    def __hash__(self) -> int:
        return hash(self.folded)

    def matches(self, text: str) -> bool:
        """See `TextTest`."""
        return self.folded in text.casefold()

    def find(self, lowered: bytes, start: int, end: int) -> int:
        """Where it is first between two places of bodies in lower case; -1 where it is not."""
        if self._plain is not None:
            return lowered.find(self._plain, start, end)
        found = self._pattern.search(lowered, start, end)
        return found.start() if found else -1

    def in_body(self, body: bytes) -> bool:
        """Whether it is in a large body, in steps."""
        reach = 12 * len(self.folded)
        pieces = (body[start : start + _SLICE + reach].lower() for start in range(0, len(body), _SLICE))
        return any(self.find(piece, 0, len(piece)) >= 0 for piece in pieces)


def _forms(char: str) -> list[bytes]:
    """A character as it stands in a body in lower case: each of its cases, in UTF-8 and as JSON escapes it."""
    cases = (char.lower(),) if char.isascii() else (char.lower(), char.upper(), char.casefold(), char)
    forms = (form for case in cases for form in (case.encode("utf-8", "replace").lower(), _escaped(case)))
    return list(dict.fromkeys(forms))


def _escaped(text: str) -> bytes:
    return json.dumps(text)[1:-1].lower().encode("ascii")


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
        # Not with choices, groups, and escapes of several characters.
        plain = not re.search(r"[|(]|\\[xuUpPNgkc\d]", pattern) and (pattern.isascii() or "i" not in flags)
        self.literal = max(_SIGNS.split(pattern), key=len).encode().lower() if plain else b""
        """What stands in each body in lower case that has a match; empty where that is not known."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Regex) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def matches(self, text: str) -> bool:
        """See `TextTest`."""
        return self._pattern.find(text, math.inf) is not None

    def in_body(self, body: bytes) -> bool:
        """Whether it is found in a body."""
        return self.matches(body.decode("utf-8", "replace"))
