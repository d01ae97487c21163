"""Regular expressions of JSON Schema (ECMA-262) in Python's dialect, as far as the two differ in writing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from random import Random
from typing import Any

from mcp_studio.patterns import Pattern, PatternError, TooSlow
from mcp_studio.record import record
from mcp_studio.schema.kinds import (
    misnamed,
    types,
)

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


TOP = 0x10FFFF

Ranges = tuple[tuple[int, int], ...]
"""Code points from … to, sorted, not touching."""


class Unreadable(ValueError):
    """The pattern is none, is too large, or uses something that is not read here (back references, look behind)."""


@record(frozen=True)
class Chars:
    """One character out of some."""

    ranges: Ranges


@record(frozen=True)
class Row:
    """One after the other."""

    parts: tuple[Node, ...]


@record(frozen=True)
class Either:
    """One of several."""

    parts: tuple[Node, ...]


@record(frozen=True)
class Repeat:
    """The same several times; `most` None is without end."""

    part: Node
    least: int
    most: int | None


@record(frozen=True)
class Edge:
    """A place: `^`, `$`, `b` or `B`."""

    sign: str


@record(frozen=True)
class Look:
    """What follows must match, or must not; it is not used up."""

    part: Node
    wanted: bool


Node = Chars | Row | Either | Repeat | Edge | Look


def ranges(*pairs: tuple[int, int]) -> Ranges:
    """Sorted and joined."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return tuple(joined)


def others(among: Ranges) -> Ranges:
    """All characters that are not among these."""
    found: list[tuple[int, int]] = []
    at = 0
    for low, high in among:
        if at < low:
            found.append((at, low - 1))
        at = high + 1
    return tuple([*found, (at, TOP)] if at <= TOP else found)


def of(text: str) -> Ranges:
    """The characters of a text."""
    return ranges(*((ord(char), ord(char)) for char in text))


WORD = ranges((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
"""Letters, digits and the underscore, of ASCII."""
ANY = others(of("\n\r\u2028\u2029"))
"""All that a point stands for: everything but line ends."""

LONGEST = 1_000
"""Characters of a pattern that is read."""
_DEPTH = 40
_TURNS = ((0x41, 0x5A, 32), (0x61, 0x7A, -32))
_DIGIT: Ranges = ((0x30, 0x39),)
_SPACE = ranges((9, 13), (32, 32), (0xA0, 0xA0), (0x2000, 0x200A), (0x2028, 0x2029), (0x3000, 0x3000))
_UPPER, _LOWER = ranges((0x41, 0x5A), (0xC0, 0xD6)), ranges((0x61, 0x7A), (0xDF, 0xF6))
_CLASSES = {"d": _DIGIT, "w": WORD, "s": _SPACE}
_PROPERTIES = {
    "L": ranges(*_UPPER, *_LOWER), "Letter": ranges(*_UPPER, *_LOWER), "Alphabetic": ranges(*_UPPER, *_LOWER),
    "Lu": _UPPER, "Ll": _LOWER, "N": _DIGIT, "Nd": _DIGIT, "Zs": of(" "), "P": of("!,-.:;?"),
}  # fmt: skip
"""Characters that have a property for certain; not all that have it."""
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}


def read(pattern: str) -> Node:
    """The pattern as a tree.

    Raises:
        Unreadable: see there.
    """
    if len(pattern) > LONGEST:
        raise Unreadable("it is too long")
    reader = _Reader(pattern)
    node = reader.either(0)
    if reader.at < len(pattern):
        raise Unreadable("a bracket too many")
    return node


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self._case = False

    def either(self, depth: int) -> Node:
        if depth > _DEPTH:
            raise Unreadable("it is nested too deep")
        ways = [self._row(depth)]
        while self._take("|"):
            ways.append(self._row(depth))
        return ways[0] if len(ways) == 1 else Either(tuple(ways))

    def _row(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if (part := self._atom(depth)) is not None:
                parts.append(self._repeated(part))
        return Row(tuple(parts))

    def _take(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self.at >= len(self.pattern):
            raise Unreadable("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def _atom(self, depth: int) -> Node | None:
        char = self._next()
        if char == "(":
            return self._group(depth)
        if char == "[":
            return Chars(self._cased(self._set()))
        if char == "\\":
            return self._escaped()
        if char in "^$":
            return Edge(char)
        if char in "*+?":
            raise Unreadable("nothing to repeat")
        return Chars(ANY if char == "." else self._cased(of(char)))

    def _group(self, depth: int) -> Node | None:
        for sign, wanted in (("?=", True), ("?!", False)):
            if self._take(sign):
                return Look(self._closed(depth), wanted)
        if self._take("?"):
            start = self.at
            while (char := self._next()) not in ":>)":
                if not (char.isalnum() or char in "<_P"):
                    raise Unreadable("a group of an unknown kind")
            head = self.pattern[start : self.at]
            if head in ("i)", "s)", "m)", "is)", "x)"):
                self._case = self._case or "i" in head
                return None
            if head != ":" and not (head.endswith(">") and head.lstrip("P").startswith("<") and len(head) > 2):
                raise Unreadable("a group of an unknown kind")
        return self._closed(depth)

    def _closed(self, depth: int) -> Node:
        node = self.either(depth + 1)
        if not self._take(")"):
            raise Unreadable("a bracket is missing")
        return node

    def _repeated(self, part: Node) -> Node:
        least, most = self._amount()
        if least < 0:
            return part
        _ = self._take("?") or self._take("+")
        if self._amount()[0] >= 0:
            raise Unreadable("repeated twice")
        return Repeat(part, least, most)

    def _amount(self) -> tuple[int, int | None]:
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self._take(sign):
                return least, most
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at + 1 : end].partition(",")
        if self.pattern[self.at : self.at + 1] != "{" or end < 0 or not low.isdecimal() or len(low + high) > 12:
            return -1, None
        if high and not high.isdecimal():
            return -1, None
        self.at = end + 1
        return int(low), int(high) if high else None if comma else int(low)

    def _cased(self, found: Ranges) -> Ranges:
        if not self._case:
            return found
        turned = [(max(low, one) + by, min(high, two) + by) for low, high in found for one, two, by in _TURNS
                  if max(low, one) <= min(high, two)]  # fmt: skip
        return ranges(*found, *turned)

    def _escaped(self) -> Node:
        char = self.pattern[self.at : self.at + 1]
        if char in ("b", "B"):
            self.at += 1
            return Edge(char)
        if char in ("A", "Z", "z"):
            self.at += 1
            return Edge("^" if char == "A" else "$")
        return Chars(self._cased(self._escape()))

    def _escape(self) -> Ranges:
        char = self._next()
        if char.lower() in _CLASSES:
            found = _CLASSES[char.lower()]
            return found if char.islower() else others(found)
        if char in "pP":
            return self._property(char == "P")
        if char in "xu":
            return self._coded({"x": 2, "u": 4}[char])
        if char in _CONTROLS:
            return of(chr(_CONTROLS[char]))
        if char.isalnum():
            raise Unreadable("an escape of an unknown kind")
        return of(char)

    def _property(self, negated: bool) -> Ranges:
        name = self._braced()
        if negated or name not in _PROPERTIES:
            raise Unreadable("a property of an unknown kind")
        return _PROPERTIES[name]

    def _coded(self, digits: int) -> Ranges:
        if digits == 4 and self.pattern.startswith("{", self.at):
            text = self._braced()
        else:
            text = self.pattern[self.at : self.at + digits]
            self.at += digits
        if not 0 < len(text) <= 6 or text.strip("0123456789abcdefABCDEF") or int(text, 16) > TOP:
            raise Unreadable("an escape of an unknown kind")
        return ((int(text, 16), int(text, 16)),)

    def _braced(self) -> str:
        end = self.pattern.find("}", self.at)
        if not self._take("{") or end < 0:
            raise Unreadable("an escape of an unknown kind")
        text, self.at = self.pattern[self.at : end], end + 1
        return text

    def _set(self) -> Ranges:
        negated, found = self._take("^"), list[tuple[int, int]]()
        if self._take("]"):
            raise Unreadable("an empty set")
        while (char := self._next()) != "]":
            one = self._escape_in_set() if char == "\\" else of(char)
            if len(one) == 1 and one[0][0] == one[0][1] and self._ranged():
                self.at += 1
                last = self._next()
                two = self._escape_in_set() if last == "\\" else of(last)
                if len(two) != 1 or two[0][0] < one[0][0]:
                    raise Unreadable("a range that runs backwards")
                one = ((one[0][0], two[0][0]),)
            found += one
        return others(ranges(*found)) if negated else ranges(*found)

    def _ranged(self) -> bool:
        after = self.pattern[self.at : self.at + 2]
        return len(after) == 2 and after[0] == "-" and after[1] != "]"

    def _escape_in_set(self) -> Ranges:
        return of("\b") if self._take("b") else self._escape()


MOST = 200
"""Characters of a text that is held against a pattern."""
_TRIES = 24
_NICE: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A))
_PRINTED: Ranges = ((0x20, 0x7E), (0xA1, 0xAC), (0xAE, 0x17F), (0x391, 0x3C9), (0x410, 0x44F), (0x4E00, 0x9FA5))


def matching(pattern: str, least: int, most: int | None, rng: Random) -> str | None:
    """A text that the pattern is found in, of so many characters; None when none was found."""
    try:
        node = read(pattern)
    except Unreadable:
        return None
    top = min(MOST if most is None else most, MOST)
    if least > top:
        return None
    needed = 0
    for attempt in range(_TRIES):
        text = _Writer(rng, attempt, needed).write(node)
        needed = max(0, least - len(text)) if attempt % 3 else needed
        for padded in (text, text.ljust(least, "a"), text.rjust(least, "a")):
            if least <= len(padded) <= top and matcher(pattern)(padded):
                return padded
    return None


class _Writer:
    """One attempt: the first as a person would write it, later ones shorter, longer, and more mixed."""

    def __init__(self, rng: Random, attempt: int, needed: int) -> None:
        self._rng = rng
        self._attempt = attempt
        self._needed = needed
        self._left = MOST + 1

    def write(self, node: Node) -> str:
        """A text along the tree; it may still not match, for what must follow somewhere is not looked at."""
        if self._left <= 0:
            return ""
        match node:
            case Chars():
                self._left -= 1
                return self._char(node.ranges)
            case Row():
                return "".join(self.write(part) for part in node.parts)
            case Either():
                return self.write(self._rng.choice(node.parts))
            case Repeat():
                return "".join(self.write(node.part) for _ in range(self._times(node)))
            case _:
                return ""

    def _times(self, node: Repeat) -> int:
        usual = 3 if isinstance(node.part, Chars) else 1
        times = node.least if self._attempt % 3 == 1 else max(node.least, usual)
        if self._needed and self._attempt % 3 == 2:
            times = node.least + self._needed
        times = times if node.most is None else min(times, node.most)
        return max(0, min(times, self._left))

    def _char(self, of: Ranges) -> str:
        mixed = of == ANY and self._attempt > 2
        if mixed:
            return self._rng.choice("aB3!xY7#")
        for wished in (_NICE, _PRINTED, of):
            shared = overlap(of, wished)
            if shared:
                low, high = self._rng.choice(shared)
                return chr(self._rng.randint(low, high))
        return ""


def overlap(one: Ranges, two: Ranges) -> Ranges:
    """The characters that are among both, without surrogates."""
    found = tuple(
        (max(low, other), min(high, last))
        for low, high in one
        for other, last in two
        if max(low, other) <= min(high, last)
    )
    return tuple(pair for pair in found if not 0xD800 <= pair[0] <= 0xDFFF)


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


_LONGEST = 200
"""Characters of a key, or of a pattern, that is looked at."""


_WITHIN = 0.005
"""Seconds for one key; a pattern that needs more is tried no more, for a person is typing."""


Match = Callable[[str], bool | None]
"""Whether a key fits; None: not known here, the check of the whole schema will say."""
