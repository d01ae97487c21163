"""What a query means: a tree of questions about one entry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from mcp_studio.trace.query.needle import Needle, Regex


class TextTest(Protocol):
    """Whether texts are what is looked for."""

    def which(self, texts: Sequence[str]) -> bytes:
        """1 for each text that is, 0 for each that is not.

        Raises:
            TooSlow: a regex does not come to an end.
        """
        ...


class Contains(NamedTuple):
    """The text occurs in it."""

    folded: str

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(self.folded in text.casefold() for text in texts)


class Whole(NamedTuple):
    """It is one of these."""

    folded: frozenset[str]

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(text.casefold() in self.folded for text in texts)


class Like(NamedTuple):
    """The whole of it is like a text with `*`, which stands for anything."""

    parts: tuple[str, ...]
    """What stands between the stars."""

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(self._is(text.casefold()) for text in texts)

    def _is(self, text: str) -> bool:
        first, *middle, last = self.parts
        if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        for part in middle:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


class Status(NamedTuple):
    """The first line of an HTTP answer has this status; `x` is any digit."""

    code: str

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        pattern = re.compile(self.code.lower().replace("x", "[0-9]") + "(?: |$)")
        return bytes(pattern.match(text) is not None for text in texts)


class Anything(NamedTuple):
    """It is not empty."""

    def which(self, texts: Sequence[str]) -> bytes:
        """See `TextTest`."""
        return bytes(map(bool, texts))


def name_test(value: str) -> TextTest:
    """What a value in a query asks of a name: `=name` all of it, `na*e` all of it with gaps, `name` that it occurs."""
    folded = value.casefold()
    if folded.startswith("="):
        return Whole(frozenset({folded[1:]}))
    if folded == "*":
        return Anything()
    return Like(tuple(folded.split("*"))) if "*" in folded else Contains(folded)


class All(NamedTuple):
    """All of these are true; without parts it is true."""

    parts: tuple[Node, ...] = ()


class Any(NamedTuple):
    """One of these is true."""

    parts: tuple[Node, ...]


class Not(NamedTuple):
    """This is not true."""

    part: Node


class Name(NamedTuple):
    """The server, method or target is so."""

    column: Literal["server", "method", "target"]
    test: TextTest


class Kind(NamedTuple):
    """It is of one of these kinds, and goes in one of these directions where there are any."""

    kinds: frozenset[str]
    directions: frozenset[str] = frozenset()


class Outcome(NamedTuple):
    """It is an end of a request that came to one of these."""

    outcomes: frozenset[str]


class Compare(NamedTuple):
    """A number is over or under a limit: bytes, milliseconds from request to answer, or seconds since the epoch."""

    column: Literal["size", "ms", "time"]
    sign: str
    """`>`, `>=`, `<` or `<=`."""
    limit: float


class Flag(NamedTuple):
    """One of these bits of `columns.flags` is set."""

    bits: int


class Severe(NamedTuple):
    """The worst finding on it is at least so bad: 1 hint, 2 warning, 3 error."""

    least: int


class Comment(NamedTuple):
    """A person's comment on it is so."""

    test: TextTest


class Id(NamedTuple):
    """It is a message with this id."""

    id: str


class Text(NamedTuple):
    """It occurs in the body, and where `anywhere` is set, in server, method, target or kind instead."""

    sought: Needle | Regex
    anywhere: bool


Node: TypeAlias = All | Any | Not | Name | Kind | Outcome | Compare | Flag | Severe | Comment | Id | Text


def terms(node: Node) -> list[Node]:
    """All questions of a tree, without what combines them."""
    if isinstance(node, Not):
        return terms(node.part)
    if isinstance(node, (All, Any)):
        return [term for part in node.parts for term in terms(part)]
    return [node]


def cost(node: Node) -> int:
    """How dear the answer is: 0 from the columns, 2 and 3 where bodies are read."""
    if isinstance(node, (All, Any, Not)):
        return max(map(cost, terms(node)), default=0)
    if isinstance(node, Text):
        return 2 if isinstance(node.sought, Needle) else 3
    if isinstance(node, Id):
        return 2
    return int(isinstance(node, Comment) or (isinstance(node, Compare) and node.column == "ms"))
