"""What a query means: a tree of questions about one entry."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from mcp_studio.trace.query.names import TextTest
from mcp_studio.trace.query.needle import Needle
from mcp_studio.trace.query.regex import Regex


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
    """How dear the answer is: 0 from the columns, 2 and 3 where bodies are read, 4 for another process."""
    if isinstance(node, (All, Any, Not)):
        return max(map(cost, terms(node)), default=0)
    if isinstance(node, Text):
        return 2 if isinstance(node.sought, Needle) else 3 if node.sought.quick else 4
    if isinstance(node, Id):
        return 2
    return int(isinstance(node, Comment) or (isinstance(node, Compare) and node.column == "ms"))
