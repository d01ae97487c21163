"""Reading TOML of whoever wrote it: what the standard library takes hours for, or gives as no number, is refused."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_SHORT = 3_000
"""Characters in which nothing can be that costs time."""
_PARTS = 16
"""Names in a dotted key; the time for reading one grows with their square."""
_DIGITS = 3_000
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""


def read(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """A document.

    Raises:
        tomllib.TOMLDecodeError: it is none, or asks for too much.
        RecursionError: it is nested too deeply.
    """
    if len(text) > _SHORT:
        _refuse(text)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as problem:  # a decimal number of more digits than Python reads
        raise tomllib.TOMLDecodeError(str(problem)) from None


def _refuse(text: str) -> None:
    for found in _tokens()(text):
        if found.lastgroup:
            line = text.count("\n", 0, found.start()) + 1
            raise tomllib.TOMLDecodeError(f"A {found.lastgroup} is too long (at line {line})")


@lru_cache(1)
def _tokens() -> Callable[[str], Any]:
    return re.compile(
        rf'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|#[^\n]*+|(?P<key>(?:{_PART}[ \t]*+\.[ \t]*+){{{_PARTS}}})'
        rf"|(?P<number>\b0[xob][0-9A-Fa-f_]{{{_DIGITS},}}+)|{_PART}|[^\"'#A-Za-z0-9_-]++|.",
        re.DOTALL,
    ).finditer
