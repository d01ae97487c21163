"""JSON text in and out: bounded, lossless for numbers where asked, safe to print."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from mcp_studio.errors import LimitExceeded
from mcp_studio.limits import DEFAULT
from mcp_studio.safetext import escape_live

Json = Any
"""What `json.loads` makes: dict, list, str, int, float, bool or None."""


def mapping(value: Json) -> dict[str, Json]:
    """The value where it is an object, else an empty one."""
    found: dict[str, Json] = value if isinstance(value, dict) else {}
    return found


def items_of(value: Json) -> list[Json]:
    """The value where it is an array, else an empty one."""
    found: list[Json] = value if isinstance(value, list) else []
    return found


class JsonProblem(ValueError):
    """Text that is not JSON: `reason` says why in words, `line` and `column` (from 1) where."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        where = f" (line {line}, column {column})" if line else ""
        super().__init__(f"{reason}{where}")
        self.reason = reason
        self.line = line
        self.column = column


class ExactFloat(float):
    """A float that remembers how it was written, so that `1.0` or `1e400` goes out as it came in."""

    text: str

    def __new__(cls, text: str) -> ExactFloat:
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[ExactFloat], tuple[str]]:
        return ExactFloat, (self.text,)


def _constant(name: str) -> Json:
    raise JsonProblem(f"{name} is not a JSON value")


def _integer(text: str) -> int | float:
    # CPython refuses to read more than 4,300 digits (int_max_str_digits): such a number stays as written.
    return int(text) if len(text) <= 4_000 else ExactFloat(text)


def _float(text: str) -> float:
    # `1e400` is JSON, and infinity is not: what is read can be written again.
    value = float(text)
    return value if value - value == 0.0 else ExactFloat(text)


_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NO_BEGINNINGS = bytes(set(range(256)) - set(b",[{"))
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.S)
_ROUNDS = 20


def _decoder(exact: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        parse_constant=_constant, parse_int=_integer if exact else None, parse_float=ExactFloat if exact else _float
    )


_PLAIN = _decoder(False)
_EXACT = _decoder(True)


def has_more_values(text: bytes | str, most: int) -> bool:
    """Whether a JSON text has more values than that: each of them costs some 60 bytes or more in memory.

    Commas and brackets in strings count only until there are too many of them, since it takes a while to leave them
    out.
    """
    raw = _raw(text)
    return len(raw) > most and _beginnings(raw) > most and _beginnings(_STRING.sub(b"", raw)) > most


def _beginnings(raw: bytes) -> int:
    return 1 + len(raw.translate(None, _NO_BEGINNINGS))


def _raw(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("ascii", "replace")


def loads(data: bytes | str, *, exact: bool = False, most: int = DEFAULT.depth, values: int = 0) -> Json:
    """Read one JSON value; `exact` keeps floats and very long numbers as they were written.

    Raises:
        JsonProblem: the text is not JSON (also NaN and Infinity), or has a number of absurd length.
        LimitExceeded: it is nested deeper than `most` levels, or, where that is given, has more than `values` values.
    """
    if values and len(data) > values and has_more_values(data, values):
        raise LimitExceeded(f"The JSON has more than {values:,} values.", limit="values")
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        value = (_EXACT if exact else _PLAIN).decode(text)
    except RecursionError:
        raise _too_deep(most) from None
    except json.JSONDecodeError as problem:
        raise JsonProblem(problem.msg, problem.lineno, problem.colno) from None
    except ValueError as problem:
        if not exact and "digits" in str(problem):
            return loads(text, exact=True, most=most)
        raise JsonProblem(str(problem)) from None
    brackets = _raw(data).translate(_AS_SQUARE, _NO_BRACKETS) if len(data) > most else b""
    if brackets.count(b"[") > most and not _is_flat(brackets) and depth(value, most) > most:
        raise _too_deep(most)
    return value


def loads_or(data: bytes | str, otherwise: Json = None, *, exact: bool = False, values: int = 0) -> Json:
    """The same, or `otherwise` where it is no JSON or exceeds a limit."""
    try:
        return loads(data, exact=exact, values=values)
    except (JsonProblem, LimitExceeded):
        return otherwise


def _is_flat(brackets: bytes) -> bool:
    """Whether the brackets of a text cancel out in a few rounds, as in ten thousand tools: a walk over all values takes
    a third of reading them. Brackets inside strings may hide some levels, up to the thousand that are ever read.
    """
    for _ in range(_ROUNDS):
        brackets = brackets.replace(b"[]", b"")
    return not brackets


def _too_deep(most: int) -> LimitExceeded:
    return LimitExceeded(f"The JSON is nested deeper than {most} levels.", limit="depth")


def depth(value: Json, stop: int = 1_000_000) -> int:
    """How deep containers are nested (0 for a scalar), walked without recursion; counting ends above `stop`."""
    found = 0
    level = [value] if isinstance(value, (dict, list)) else []
    while level and found <= stop:
        found += 1
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
    return found


def dumps(value: Json) -> bytes:
    """Compact UTF-8 JSON; lone surrogates become escapes, an `ExactFloat` goes out as it was written.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON cannot say.
    """
    text = _exact(value) if _has_exact(value) else _compact(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode()


_compact: Callable[[Json], str] = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode
_SURROGATE = re.compile("[\ud800-\udfff]")


def _has_exact(value: Json) -> bool:
    todo = [value]
    for item in todo:  # it grows meanwhile: values may be nested as deep as the stack is
        if (kind := type(item)) is dict or kind is list:
            todo += item.values() if kind is dict else item
        elif kind is ExactFloat:
            return True
    return False


def pretty(value: Json) -> str:
    """Indented JSON for people: two spaces, keys in their order, characters and floats as they are."""
    return _exact(value, "\n") if _has_exact(value) else json.dumps(value, ensure_ascii=False, indent=2)


def _exact(value: Json, margin: str = "") -> str:
    """The value with its floats as they were written; `margin` is a line break and what stands before each line.

    The C encoder prints every float by float.__repr__, also those of a subclass.
    """
    inner, colon = (f"{margin}  ", ": ") if margin else ("", ":")
    if isinstance(value, dict) and value:
        rows = (f"{inner}{_compact(str(key))}{colon}{_exact(item, inner)}" for key, item in value.items())
        return f"{{{','.join(rows)}{margin}}}"
    if isinstance(value, list) and value:
        rows = (f"{inner}{_exact(item, inner)}" for item in value)
        return f"[{','.join(rows)}{margin}]"
    return value.text if isinstance(value, ExactFloat) else _compact(value)


def printable(value: Json, *, indent: int | None = 2) -> str:
    """JSON that is safe on a terminal: what is live or invisible there is a `\\u` escape.

    The text stays the same JSON value, and can always be encoded.
    """
    return escape_live(pretty(value) if indent == 2 else json.dumps(value, ensure_ascii=False, indent=indent))
