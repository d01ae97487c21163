"""Regular expressions read into trees: the part of ECMA-262 that schemas use, and what servers in Python write."""

from __future__ import annotations

from mcp_studio.schema.regex import (
    ANY,
    TOP,
    WORD,
    Chars,
    Edge,
    Either,
    Look,
    Node,
    Ranges,
    Repeat,
    Row,
    Unreadable,
    of,
    others,
    ranges,
)

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
