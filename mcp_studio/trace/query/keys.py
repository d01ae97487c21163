"""The keys of the language: what each takes, and what it asks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from mcp_studio.config.nearest import nearest
from mcp_studio.trace.columns import BY_HAND, COMMENTED, MARKED, PROBE
from mcp_studio.trace.message import DIRECTIONS, KINDS
from mcp_studio.trace.query.lexer import QueryError, Token
from mcp_studio.trace.query.needle import Needle, Regex
from mcp_studio.trace.query.nodes import (
    All,
    Any,
    Comment,
    Compare,
    Flag,
    Id,
    Kind,
    Name,
    Node,
    Not,
    Outcome,
    Severe,
    Status,
    Text,
    TextTest,
    Whole,
    name_test,
)  # fmt: skip

_FAILED = Outcome(frozenset({"tool error", "error", "lost"}))
FAILED = All((Any((_FAILED, Kind(frozenset({"error", "invalid", "stray"})))), Not(Flag(PROBE))))
"""`status:error`, `error`: what went wrong, in whatever way; that a server is of the other era is nothing wrong."""
FLAGS = {"marked": MARKED, "commented": COMMENTED, "probe": PROBE, "by-hand": BY_HAND}
IS = (*FLAGS, "sign-in")
"""`is:` takes these."""
SIGN_IN = All((Kind(frozenset({"http"})), Not(Name("target", Whole(frozenset({""}))))))
"""`is:sign-in`: of all HTTP messages only those of signing in say what they are for."""
LEVELS = {"any": 1, "hint": 1, "note": 1, "warning": 2, "error": 3}
"""`finding:` -> the least severity."""
STATUSES = ("ok", "error", "tool-error", "open", "cancelled", "lost")
_OUTCOMES = ("ok", "tool error", "open", "cancelled", "lost")
_ANSWERS = {"response": ("result", "error"), "answer": ("result", "error")}

_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-zµ]*)")
MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1_000.0, "sec": 1_000.0, "m": 60_000.0, "min": 60_000.0,
      "h": 3_600_000.0, "d": 86_400_000.0}  # fmt: skip
"""Unit of a duration -> its milliseconds."""
BYTES = {"b": 1.0, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "kib": 1024.0, "mib": 1024.0**2,
         "gib": 1024.0**3}  # fmt: skip
"""Unit of a size -> its bytes."""
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T_](.*))?")


class Key(NamedTuple):
    """One key."""

    what: str
    """What it asks, for help and completion."""
    example: str
    values: tuple[str, ...]
    """All values that it may have; empty where there is no end of them."""
    make: Callable[[Token, float], Node]
    """The question; gets the moment that relative times count from."""
    compared: bool = False
    """Whether `>` and the like may stand before the value."""


def value_error(token: Token, message: str, known: tuple[str, ...] = ()) -> QueryError:
    """The value of a token is wrong."""
    hint = nearest(token.value, known) if known else ""
    return QueryError(message, token.at, token.end, hint=hint or (f"There are: {', '.join(known)}." if known else ""))


def regex_of(token: Token) -> Regex:
    """The regex that a token is."""
    return Regex(token.value, token.flags.lower(), token.at + 1)


def _test(token: Token) -> TextTest:
    if token.form == "regex":
        return regex_of(token)
    return Whole(frozenset({token.value.casefold()})) if token.form == "quoted" else name_test(token.value)


def _name(column: str, *methods: str) -> Callable[[Token, float], Node]:
    def make(token: Token, now: float) -> Node:
        asked = Name(column, _test(token))  # type: ignore[arg-type]
        return All((Name("method", Whole(frozenset(methods))), asked)) if methods else asked

    return make


def _one_of(token: Token, what: str, known: tuple[str, ...]) -> str:
    wanted = token.value.casefold()
    if wanted not in known or token.form == "regex":
        raise value_error(token, f"There is no {what} `{token.value}`.", known)
    return wanted


def _kind(token: Token, now: float) -> Node:
    kind = _one_of(token, "kind", (*KINDS, *_ANSWERS))
    return Kind(frozenset(_ANSWERS.get(kind, (kind,))))


def _direction(token: Token, now: float) -> Node:
    return Kind(frozenset(KINDS), frozenset({_one_of(token, "direction", DIRECTIONS)}))


def _status(token: Token, now: float) -> Node:
    text = token.value.casefold().replace("-", " ").replace("_", " ")
    code = text.replace("*", "xx") if len(text) == 2 else text
    if len(code) == 3 and code[0].isdecimal() and code.isascii() and all(c.isdecimal() or c == "x" for c in code):
        return All((Kind(frozenset({"http"}), frozenset({"in"})), Name("method", Status(code))))
    if text in ("error", "failed"):
        return FAILED
    if text not in _OUTCOMES:
        raise value_error(token, f"There is no status `{token.value}`.", (*STATUSES, "404", "5xx"))
    return Outcome(frozenset({text}))


def _compared(column: str, units: dict[str, float], bare: str, example: str) -> Callable[[Token, float], Node]:
    def make(token: Token, now: float) -> Node:
        limit = None if token.form == "regex" else amount(token.value, units, bare)
        if limit is None:
            what = f"`{token.value}` is no amount" if token.value else "An amount is missing"
            raise value_error(token, f"{what}: such as {example}.")
        return Compare(column, token.compare or ">=", limit)  # type: ignore[arg-type]

    return make


def compare_of(token: Token) -> Node:
    """`>500ms` or `>1MB` without a key: the unit says what it is."""
    ms, size = amount(token.value, MS), amount(token.value, BYTES)
    if ms is None and size is None:
        hint = 'Units are us, ms, s, m, h and B, kB, MB, GB. Put quotes around text: "<b>".'
        raise QueryError(f"`{token.compare}{token.value}` is no time and no size.", token.start, token.end, hint=hint)
    if ms is not None:
        return Compare("ms", token.compare, ms)
    return Compare("size", token.compare, size or 0.0)


def _moment(sign: str) -> Callable[[Token, float], Node]:
    def make(token: Token, now: float) -> Node:
        found = moment(token.value, now)
        if found is None:
            raise value_error(token, f"`{token.value}` is no time: write 10m, 12:01, 2026-11-20 or 2026-11-20T12:01.")
        return Compare("time", sign, found)

    return make


def _finding(token: Token, now: float) -> Node:
    return Severe(LEVELS[_one_of(token, "severity", tuple(LEVELS))])


def _flag(token: Token, now: float) -> Node:
    flag = _one_of(token, "such property", IS)
    return Flag(FLAGS[flag]) if flag in FLAGS else SIGN_IN


def _purpose(token: Token, now: float) -> Node:
    return All((SIGN_IN, Name("target", _test(token))))


def _comment(token: Token, now: float) -> Node:
    return Comment(_test(token) if token.form == "regex" else name_test(token.value))


def _text(token: Token, now: float) -> Node:
    return Text(regex_of(token) if token.form == "regex" else Needle(token.value), False)


KEYS: dict[str, Key] = {
    "server": Key("the server's name", "server:github", (), _name("server")),
    "method": Key("the method of a message, of an answer that of its request", "method:tools/*", (), _name("method")),
    "tool": Key("the tool of a call", "tool:read_file", (), _name("target", "tools/call")),
    "prompt": Key("the prompt that is got", "prompt:review", (), _name("target", "prompts/get")),
    "resource": Key(
        "the address of a resource", "resource:file://*", (),
        _name("target", "resources/read", "resources/subscribe", "resources/unsubscribe"),
    ),
    "target": Key("tool, prompt or address that a message is about", "target:report", (), _name("target")),
    "kind": Key("what an entry is", "kind:request", (*KINDS, "response"), _kind),
    "direction": Key("which way it went", "direction:in", DIRECTIONS, _direction),
    "status": Key("what came of a request; of HTTP answers the number", "status:error", STATUSES, _status),
    "id": Key("the id of a request or answer", "id:17", (), lambda token, now: Id(token.value)),
    "ms": Key("milliseconds from request to answer", "ms:>500", (), _compared("ms", MS, "ms", "ms:>500, ms:<2s"), True),
    "size": Key("bytes on the wire", "size:>1MB", (), _compared("size", BYTES, "b", "size:>1MB, size:<200"), True),
    "since": Key("at this time or later", "since:10m", (), _moment(">=")),
    "until": Key("at this time or earlier", "until:12:30", (), _moment("<=")),
    "finding": Key("the lint found something at least so bad", "finding:error", tuple(LEVELS), _finding),
    "purpose": Key("what a request of signing in is for", "purpose:token", (), _purpose),
    "is": Key("marked, commented, part of finding the era, of signing in, or written by hand", "is:marked", IS, _flag),
    "comment": Key("a person's comment on it", "comment:odd", (), _comment),
    "text": Key("the body alone", 'text:"not found"', (), _text),
}  # fmt: skip
"""By their names, in the order of the help."""
ALIASES = {"dir": "direction", "duration": "ms", "took": "ms", "uri": "resource"}
"""Other names."""
SIGNS = {"~s": "server", "~m": "method", "~t": "target"}
"""Short signs with a value after a space."""


def amount(text: str, units: dict[str, float], bare: str = "") -> float | None:
    """A number with a unit, in the smallest of these; None for anything else.

    Args:
        bare: the unit of a number without one; empty where it needs one.
    """
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > 30:
        return None
    factor = units.get(found[2].lower() or bare)
    return None if factor is None else float(found[1]) * factor


def moment(text: str, now: float) -> float | None:
    """`10m`, `12:01`, `12:01:30`, `2026-11-20`, `2026-11-20T12:01` as seconds since the epoch; None for anything else.

    A duration counts back from `now`; a time of day is the last such time before `now`.
    """
    ago = amount(text, MS)
    if ago is not None:
        return now - ago / 1000
    try:
        return _written(text, now)
    except (ValueError, OverflowError, OSError):
        return None


def _written(text: str, now: float) -> float | None:
    day = _DAY.fullmatch(text)
    clock = _CLOCK.fullmatch((day[4] or "0:00") if day else text)
    if clock is None:
        return None
    seconds = float(clock[3] or 0)
    at = int(clock[1]), int(clock[2]), int(seconds), int(seconds % 1 * 1_000_000)
    if day:
        return datetime(int(day[1]), int(day[2]), int(day[3]), *at).timestamp()
    today = time.localtime(now)
    found = datetime(today.tm_year, today.tm_mon, today.tm_mday, *at)
    return (found if found.timestamp() <= now else found - timedelta(days=1)).timestamp()
