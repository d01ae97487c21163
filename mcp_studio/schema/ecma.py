"""Regular expressions of JSON Schema (ECMA-262) in Python's dialect, as far as the two differ in writing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import Any

from mcp_studio.patterns import Pattern, PatternError, TooSlow
from mcp_studio.record import record
from mcp_studio.schema.kinds import misnamed, types

_PIECE = (
    r"\\k<(?P<back>\w+)>|\\u\{(?P<code>[0-9A-Fa-f]{1,6})\}|\\/|\\c(?P<control>[A-Za-z])|\\[pP]\{[^}]*\}|\\."
    r"|\(\?<(?P<name>\w+)>|\{\d+(?:,\d*)?\}|\$|\[|\]|."
)
_FLAGS = r"\(\?([imsx]+)\)"
"""Not ECMA-262, but servers written in Python send it."""
_ASCII = {r"\d": "0-9", r"\w": "0-9A-Za-z_"}


def to_python(pattern: str) -> str:
    """The pattern for `re` and `regex`: named groups, `$` (the very end), `\\u{…}`, and `\\d \\w` of ASCII alone.

    `\\p{L}` is left as it is: only `regex` knows it.
    """
    flags = re.match(_FLAGS, pattern)
    properties = re.search(r"\\[pP]\{", pattern) is not None  # they would be of ASCII alone, too
    pieces: list[str] = []
    inside = False
    for found in re.finditer(_PIECE, pattern[flags.end() :] if flags else pattern, re.S):
        piece = found[0]
        if piece in "[]":
            pieces.append("\\[" if piece == "[" and inside else piece)
            inside = piece == "["
        elif piece == "$" and not inside:
            pieces.append(r"\Z")
        elif properties and piece in _ASCII:
            pieces.append(_ASCII[piece] if inside else f"[{_ASCII[piece]}]")
        else:
            pieces.append(_piece(found))
    letters = ("" if properties else "a") + (flags[1] if flags else "")
    return f"(?{letters}:{''.join(pieces)})"


def _piece(found: re.Match[str]) -> str:
    if found["name"]:
        return f"(?P<{found['name']}>"
    if found["back"]:
        return f"(?P={found['back']})"
    if found["code"]:
        return re.escape(chr(min(int(found["code"], 16), 0x10FFFF)))
    if found["control"]:
        return re.escape(chr(ord(found["control"]) % 32))
    return {r"\/": "/", "{": r"\{"}.get(found[0], found[0])


@record(frozen=True)
class Patterns:
    """What became of the patterns and types of a schema."""

    written: dict[str, str] = field(default_factory=dict[str, str])
    """Pattern for Python -> pattern as the schema has it."""
    lost: list[str] = field(default_factory=list[str])
    """Those left out, for Python cannot say them: `regex` where it looks for them, else `re`."""
    types: dict[str, str] = field(default_factory=dict[str, str])
    """Type in the word of another language -> the one that is meant."""


def translate(schema: Any) -> tuple[Any, Patterns]:
    """A copy of a schema with its patterns for Python, and with the types that its author meant.

    Walks without recursion; data inside `const`, `enum`, `default` and `examples` stays untouched.
    """
    root: list[Any] = [schema]
    patterns = Patterns()
    todo: list[tuple[Any, Any, bool]] = [(root, 0, False)]
    while todo:
        holder, key, names = todo.pop()
        node = holder[key]
        if isinstance(node, dict):
            holder[key] = dict(node) if names else _keywords(node, patterns)
            todo += [
                (holder[key], name, not names and name in _MAPS) for name in holder[key] if names or name not in _DATA
            ]
        elif isinstance(node, list):
            holder[key] = list(node)
            todo += [(holder[key], index, False) for index in range(len(node))]
    return root[0], patterns


_DATA = frozenset(("const", "enum", "default", "examples"))
_MAPS = frozenset(("properties", "$defs", "definitions", "dependentSchemas", "patternProperties"))


def _keywords(node: dict[str, Any], patterns: Patterns) -> dict[str, Any]:
    node = dict(node)
    if words := misnamed(node):
        patterns.types.update({word: types({"type": word})[0] for word in words})
        node["type"] = list(types(node))
    if isinstance(node.get("pattern"), str):
        import regex

        usable = _usable(node.pop("pattern"), patterns, regex)
        if usable is not None:
            node["pattern"] = usable
    if isinstance(node.get("patternProperties"), dict):
        # jsonschema itself looks for these, by `re`.
        pairs = [(_usable(pattern, patterns, re), inner) for pattern, inner in node["patternProperties"].items()]
        node["patternProperties"] = {pattern: inner for pattern, inner in pairs if pattern is not None}
        if len(node["patternProperties"]) < len(pairs):
            # Which properties are additional is no longer known.
            node.pop("additionalProperties", None)
            node.pop("unevaluatedProperties", None)
    return node


def _usable(pattern: str, patterns: Patterns, dialect: Any) -> str | None:
    try:
        translated = to_python(pattern)
        dialect.compile(translated)
    except (dialect.error, ValueError, RecursionError, OverflowError):
        if pattern not in patterns.lost:
            patterns.lost.append(pattern)
        return None
    patterns.written[translated] = pattern
    return translated


_LONGEST = 200
"""Characters of a key, or of a pattern, that is looked at."""
_WITHIN = 0.005
"""Seconds for one key; a pattern that needs more is tried no more, for a person is typing."""

Match = Callable[[str], bool | None]
"""Whether a key fits; None: not known here, the check of the whole schema will say."""


@lru_cache(1_000)
def matcher(pattern: str) -> Match:
    """Whether a pattern is found in a key, in a time that is next to nothing."""
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
