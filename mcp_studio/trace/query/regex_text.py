"""What can be said of a regex by its text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CHOICES = 10
"""Places where a pattern may go one way or another: each doubles what the engine may have to try."""
_FIXED = re.compile(r"\{\d{1,2}\}")
_REPEAT = re.compile(r"[*+?]|\{")
_COUNTS = re.compile(r"\{\d*,?\d*\}")
_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|\d+|.)", re.S)
_PLAIN = re.compile(r"[\w \"':;,=@#%&~<>/!`-]", re.A)
_FOLDED = "iskISK"
"""Letters that are the same as others beyond ASCII when case does not count."""
_LEAST = 3


def is_quick(pattern: str) -> bool:
    """Whether the time that a pattern needs grows with the text only: no `*`, `+` or `{…}` but `x{3}`, few choices."""
    found = choices(pattern)
    return found is not None and found <= _CHOICES


def choices(pattern: str) -> int | None:
    """Places where a pattern may go one way or another; None where their number depends on the text."""
    found = depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "[":
            at = _after_set(pattern, at)
            continue
        fixed = _FIXED.match(pattern, at)
        if char in "*+" or (char == "{" and (fixed is None or pattern[at - 1 : at] == ")")):
            return None
        depth += (char == "(") - (char == ")")
        if (char == "?" and pattern[at - 1 : at] != "(") or (char == "|" and depth):
            found += 1
        at += 2 if char == "\\" else fixed.end() - at if fixed else 1
    return found


def required(pattern: str, folded: bool) -> str:
    """A text without which the pattern is not found, as long as may be; empty where none is known.

    Args:
        folded: case does not count; the text is in lower case then.
    """
    if "|" in pattern or re.search(r"\(\?[^:=!<>P]", pattern):
        return ""  # flags that change everything, or one of several
    best = max(_runs(pattern, folded), key=len, default="")
    return (best.lower() if folded else best) if len(best) >= _LEAST else ""


def _runs(pattern: str, folded: bool) -> Iterator[str]:
    """Neighbouring characters that stand for themselves and are always there."""
    run, depth, at = "", 0, 0
    while at < len(pattern):
        char, end = pattern[at], at + 1
        if char == "[":
            char, end = "", _after_set(pattern, at)
        elif char == "\\":
            escape = _ESCAPE.match(pattern, at)
            escaped, end = pattern[at + 1 : at + 2], escape.end() if escape else at + 2
            char = escaped if not escaped.isalnum() and escaped.isascii() else ""
        elif counts := _COUNTS.match(pattern, at):
            char, end = "", counts.end()
        elif not _PLAIN.match(char):
            depth += (char == "(") - (char == ")")
            char = ""
        optional = _REPEAT.match(pattern, end)
        if char and not depth and not optional and not (folded and char in _FOLDED):
            run += char
        else:
            yield run
            run = ""
        at = end
    yield run


def _after_set(pattern: str, at: int) -> int:
    """Behind the `]` of a set that begins here."""
    at += 2 if pattern[at + 1 : at + 2] == "^" else 1
    at += pattern[at : at + 1] == "]"
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1
