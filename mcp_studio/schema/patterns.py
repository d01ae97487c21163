"""Regular expressions from others, run by the `regex` package: other threads go on meanwhile, and a search has a
deadline.

Patterns in schemas have ECMA-262 syntax; `to_python` translates them.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from mcp_studio.errors import StudioError

_LARGEST = 5_000
"""`regex` expands `(…){9}` nine times when it compiles, without bound on memory and time."""
_GROUP_COUNT = r"\)\s*\{\s*(\d+)"
_COUNT = r"[^)\s]\s*\{\s*(\d+)"
_ONE_TEXT = 0.25
"""Seconds of CPU for one text, besides those for its length, so that giving up a search never takes longer."""
_PER_SECOND = 20_000_000
"""Characters of a long text that a reasonable pattern searches in a second."""


class PatternError(StudioError):
    """A text is not a valid pattern; `at` is the position of the error in characters."""

    exit_code = 2

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class TooSlow(StudioError):
    """The search for a pattern took too long and was given up."""

    def __init__(self) -> None:
        hint = "Fewer `*` and `+`, above all inside each other, make it faster."
        super().__init__("This regex takes too long.", hint=hint)


class Pattern:
    """A regular expression; `flags` are letters as after a `/…/`: `i`, `s`, `m`.

    Raises:
        PatternError: the text is not a valid pattern.
    """

    def __init__(self, text: str, flags: str = "") -> None:
        import regex

        groups, single = re.findall(_GROUP_COUNT, text), re.findall(_COUNT, text)
        if (len(text) + sum(map(int, single))) * math.prod(max(1, int(count)) for count in groups) > _LARGEST:
            raise PatternError("This regex is too large.", 0)
        letters = {"i": regex.IGNORECASE, "s": regex.DOTALL, "m": regex.MULTILINE}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._search = regex.compile(text, sum(letters[letter] for letter in set(flags))).search
        except regex.error as error:
            details: Any = error  # the package's type stub lacks the attributes of the error
            raise PatternError(f"This regex is wrong: {details.msg}.", min(details.pos or 0, len(text))) from None
        except ValueError as error:
            raise PatternError(f"This regex is wrong: {error}.", 0) from None
        except (OverflowError, RecursionError, MemoryError):
            raise PatternError("This regex is too large.", 0) from None

    def find(self, text: str, until: float, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
        """The span of the first match; None where there is no match.

        Args:
            until: when to give up, in `time.thread_time`, because a busy machine is not the pattern's fault.
            start: the position in the text where the search starts.
            end: the position where the text ends for the search.

        Raises:
            TooSlow: the search did not end in time.
        """
        left = min(until - time.thread_time(), _ONE_TEXT + len(text) / _PER_SECOND)
        try:
            if left > 0:
                found = self._search(text, start, end, timeout=left, concurrent=True)
                return found.span() if found else None
        except (TimeoutError, MemoryError):
            pass
        raise TooSlow


_PIECE = (
    r"\\k<(?P<back>\w+)>|\\u\{(?P<code>[0-9A-Fa-f]{1,6})\}|\\/|\\c(?P<control>[A-Za-z])|\\[pP]\{[^}]*\}|\\."
    r"|\(\?<(?P<name>\w+)>|\{\d+(?:,\d*)?\}|\$|\[|\]|\{"
)


def to_python(pattern: str) -> str:
    """Translate a pattern for `re` and `regex`: named groups, `$` (the very end), `\\u{…}`, `\\cA`, braces without a
    count.

    `\\p{L}` stays, because `regex` knows it. `\\d` and `\\w` match Unicode, which includes ASCII.
    """
    inside = False

    def translated(found: re.Match[str]) -> str:
        nonlocal inside
        piece = found[0]
        if piece in "[]":
            nested = piece == "[" and inside
            inside = piece == "["
            return r"\[" if nested else piece
        if piece == "$":
            return piece if inside else r"\Z"
        if found["name"]:
            return f"(?P<{found['name']}>"
        if found["back"]:
            return f"(?P={found['back']})"
        if found["code"]:
            return re.escape(chr(min(int(found["code"], 16), 0x10FFFF)))
        if found["control"]:
            return re.escape(chr(ord(found["control"]) % 32))
        return {r"\/": "/", "{": r"\{"}.get(piece, piece)

    return re.sub(_PIECE, translated, pattern, flags=re.S)


_LONGEST = 200
"""Characters of the longest key and pattern that are examined."""
_WITHIN = 0.005
"""Seconds for one key; a pattern that takes longer is not tried again, because a person is typing."""

Match = Callable[[str], bool | None]
"""Whether a key matches; None where only the check of the whole schema can tell."""


@lru_cache(1_000)
def matcher(pattern: str) -> Match:
    """A function that tells within milliseconds whether a pattern matches a key."""
    compiled: Pattern | None = None
    usable = len(pattern) <= _LONGEST

    def found(key: str) -> bool | None:
        nonlocal compiled, usable
        if not usable or len(key) > _LONGEST:
            return None
        try:
            compiled = compiled or Pattern(to_python(pattern))
            return compiled.find(key, time.thread_time() + _WITHIN) is not None
        except (PatternError, TooSlow):
            usable = False
            return None

    return found
