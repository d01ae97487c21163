"""Reading and writing JSON text: bounded, with exact numbers where asked, safe to print."""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

from mcp_studio.errors import LimitExceeded
from mcp_studio.limits import DEFAULT
from mcp_studio.safetext import escape_live

Json = Any
"""What `json.loads` makes: dict, list, str, int, float, bool or None."""


def mapping(value: Json) -> dict[str, Json]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items_of(value: Json) -> list[Json]:
    """The value where it is an array, else an empty one."""
    return value if isinstance(value, list) else []


class JsonProblem(ValueError):
    """Text that is not JSON: `reason` says why in words, `line` and `column` (from 1) where."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{reason} (line {line}, column {column})" if line else reason)
        self.reason, self.line, self.column = reason, line, column


class ExactFloat(float):
    """A float that remembers its spelling, so that `1.0` or `1e400` is written as it was read."""

    text: str

    def __new__(cls, text: str) -> ExactFloat:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text


def _constant(name: str) -> Json:
    raise JsonProblem(f"{name} is not a JSON value")


def _integer(text: str) -> int | float:
    # CPython refuses to read more than 4,300 digits (int_max_str_digits): such a number keeps its spelling.
    return int(text) if len(text) <= 4_000 else ExactFloat(text)


def _float(text: str) -> float:
    # JSON allows `1e400` but has no infinity, so such a number keeps its spelling and can be written again.
    value = float(text)
    return value if value - value == 0.0 else ExactFloat(text)


_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.S)
LARGE = 1 << 20
"""Bytes from which on a faster library is worth its import, which takes 35 ms."""
SLICE = 1 << 18
"""Bytes that one search covers, so that other threads run between two searches."""
_UNIT = rb"[\x00-\x5b\x5d-\x7f]{1,99}+|(?:[\xc0-\xff][\x80-\xbf]*){1,33}+|(?:\\u[dD][89abAB].{8}|\\u....|\\.){1,16}+|."
_CUT = rb"(?s).{%d,%d}(?<!\\)\\n|.{1,%d}(?:[ ,]|\Z)|(?:" + _UNIT + rb"){1,%d}+"
"""Cuts JSON text at a line end if one is near, but no escape sequence, no pair of them and no character of several
bytes.
"""


_PLAIN = json.JSONDecoder(parse_constant=_constant, parse_float=_float)
_EXACT = json.JSONDecoder(parse_constant=_constant, parse_int=_integer, parse_float=ExactFloat)


def has_more_values(text: bytes | str, most: int) -> bool:
    """Whether a JSON text has more than `most` values; each value costs some 60 bytes or more in memory.

    Commas and brackets inside strings are left out only when there seem to be too many values, because leaving them out
    is slow.
    """
    raw = text if isinstance(text, bytes) else text.encode("ascii", "replace")
    # A value and what separates it from the next take two bytes.
    return len(raw) > 2 * most and _beginnings(raw) > most and _beginnings(_STRING.sub(b"", raw)) > most


def _beginnings(raw: bytes) -> int:
    return 1 + raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def loads(data: bytes | str, *, exact: bool = False, most: int = DEFAULT.depth, values: int = 0) -> Json:
    """Read one JSON value; `exact` keeps the spelling of floats and of very long numbers.

    Raises:
        JsonProblem: the text is not JSON (also NaN and Infinity), or has a number of absurd length.
        LimitExceeded: it is nested deeper than `most` levels, or has more than `values` values where that is not 0.
    """
    if values and len(data) > values and has_more_values(data, values):
        raise LimitExceeded(f"The JSON has more than {values:,} values.", limit="values")
    value = _large(data) if isinstance(data, bytes) and len(data) > LARGE and not exact else None
    if value is None:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        try:
            value = (_EXACT if exact else _PLAIN).decode(text)
        except RecursionError:
            raise _too_deep(most) from None
        except json.JSONDecodeError as problem:
            what = problem.msg.replace("Expecting", "expected")
            raise JsonProblem(what, problem.lineno, problem.colno) from None
        except ValueError as problem:
            if not exact and "digits" in str(problem):
                return loads(text, exact=True, most=most)
            raise JsonProblem(str(problem)) from None
    opening = ("[", "{") if isinstance(data, str) else (b"[", b"{")
    if len(data) > most and sum(map(data.count, opening)) > most and depth(value, most) > most:  # pyright: ignore
        raise _too_deep(most)
    return value


def _large(data: bytes) -> Json:
    """Read a large text in half the time; None where the library refuses it: `1e400`, half a character, no JSON."""
    from msgspec import MsgspecError
    from msgspec.json import decode

    try:
        return decode(data)
    except (MsgspecError, ValueError, RecursionError):
        return None


def loads_or(data: bytes | str, otherwise: Json = None, *, exact: bool = False, values: int = 0) -> Json:
    """Read one JSON value like `loads`; returns `otherwise` where the text is not JSON or exceeds a limit."""
    try:
        return loads(data, exact=exact, values=values)
    except (JsonProblem, LimitExceeded):
        return otherwise


def _too_deep(most: int) -> LimitExceeded:
    return LimitExceeded(f"The JSON is nested deeper than {most} levels.", limit="depth")


def depth(value: Json, stop: int = 1_000_000) -> int:
    """How deep containers are nested (0 for a scalar), counted without recursion and only until `stop` is passed."""
    found, level = 0, [value]
    while (level := [item for item in level if isinstance(item, (dict, list))]) and found <= stop:
        found += 1
        level = [item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer)]
    return found


def dumps(value: Json) -> bytes:
    """Compact UTF-8 JSON; lone surrogates become escapes, and an `ExactFloat` keeps its spelling.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON cannot say.
    """
    try:
        marshal.dumps(value)  # of all that JSON may hold it refuses an `ExactFloat` alone
        text = _compact(value)
    except ValueError:
        text = pretty(value, "")
    return text.encode("utf-8", "backslashreplace")


_compact: Callable[[Json], str] = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


def pretty(value: Json, margin: str = "\n") -> str:
    """Indented JSON for people: two spaces, keys in their order, characters and floats as they are.

    Args:
        margin: a line break and the text that precedes each line; empty for compact JSON.
    """
    text = StringIO()
    text.writelines(pieces(value, margin))  # a join would first hold all pieces: ten times the memory
    return text.getvalue()


def pieces(value: Json, margin: str = "\n") -> Iterator[str]:
    """Yield the text of `pretty` in pieces, so that a caller need not hold a second copy of a long text.

    The C encoder prints every float by float.__repr__, also one of a subclass, so an `ExactFloat` is written here.
    """
    if isinstance(value, (dict, list, tuple)) and value:
        inner, colon = (f"{margin}  ", ": ") if margin else ("", ":")
        before, after = "{}" if isinstance(value, dict) else "[]"
        for key in value:
            head = f"{before}{inner}{_compact(str(key))}{colon}" if after == "}" else f"{before}{inner}"
            item, before = value[key] if after == "}" else key, ","
            yield head
            yield from pieces(item, inner)
        yield f"{margin}{after}"
    elif isinstance(value, memoryview):
        yield from (bytes(piece).decode("utf-8", "replace") for piece in cut(value))
    elif type(value) is int:
        yield repr(value)
    else:
        yield value.text if isinstance(value, ExactFloat) else _compact(value)


def cut(text: memoryview, most: int = 10_000) -> Iterator[memoryview]:
    """Cut JSON text, or the inside of a JSON string, into pieces of at most `most` bytes or little more."""
    pattern = _CUT % (most - most // 50, most, most, max(1, most // 100))
    return (text[piece.start() : piece.end()] for piece in re.finditer(pattern, text))


def text_pieces(text: str | memoryview) -> Iterator[str]:
    """Yield a text in pieces, if it is large and a JSON string."""
    return map(text_of_piece, cut(text[1:-1])) if isinstance(text, memoryview) else iter((text,))


def text_of_piece(piece: memoryview) -> str:
    """The text of a piece of a JSON string."""
    return loads(b'"%b"' % piece)


def printable(value: Json, *, indent: int | None = 2) -> str:
    """JSON that is safe on a terminal: characters that act on a terminal or are invisible become `\\u` escapes.

    The text stays the same JSON value, and can always be encoded.
    """
    return escape_live(pretty(value) if indent == 2 else json.dumps(value, ensure_ascii=False, indent=indent))
