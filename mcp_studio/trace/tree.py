"""Spans as trees: what belongs to a call, over however many requests, polls and HTTP exchanges it took.

Everything is said by numbers, so that it holds for a running trace, a past session and an opened bundle alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Literal, NamedTuple

from mcp_studio.trace.message import DIRECTIONS, GREETINGS, KINDS, Columns, Recording

Relation = Literal["root", "asked", "round", "task", "retry", "step", "http", "note"]
"""What a node is to the one above it: a question of the server, the next round of its conversation, a request about
the task that it became, the same once more, some other request on its behalf (also one of signing in, which goes to
another server), an HTTP message, a lifecycle event."""

_NEAR = 2_000
"""Entries before and after a request that are looked through for what came with it."""
_MOST = 2_000
"""Nodes of one tree."""
_AHEAD = 3
"""Entries before a request among which the head of its HTTP request stands."""
_HTTP, _REQUEST = KINDS.index("http"), KINDS.index("request")
_IN, _OUT = DIRECTIONS.index("in"), DIRECTIONS.index("out")
_NOTE = KINDS.index("note") | DIRECTIONS.index("none") << 4
_HEAD_OUT, _HEAD_IN = _HTTP | _OUT << 4, _HTTP | _IN << 4
_ASKED = _REQUEST | _OUT << 4
"""A request of ours."""


class Node(NamedTuple):
    """One entry with what belongs to it, in the order of its coming; a span stands by the number of its request."""

    number: int
    relation: Relation
    children: tuple[Node, ...] = ()


def tree(recording: Recording, number: int) -> Node | None:
    """The whole tree that an entry belongs to, with at most some thousand nodes; None where the entry is not kept.

    An entry that belongs to no request is a tree of its own.
    """
    columns = recording.columns
    request = request_of(columns, number)
    if request is None:
        return None
    return _Grown(columns).grow(root_of(columns, request))


def walk(node: Node, depth: int = 0) -> Iterator[tuple[int, Node]]:
    """A tree from above to below, each node with its depth."""
    todo = [(depth, node)]
    while todo:
        at, one = todo.pop()
        yield at, one
        todo += [(at + 1, child) for child in reversed(one.children)]


def parent_of(columns: Columns, number: int) -> int:
    """The request that a request came under; 0 where there is none.

    All later rounds of a conversation are under its first one.
    """
    known = columns.follows.get(number, 0)
    first = number
    while 0 < known < first:
        first = known
        known = columns.follows.get(first, 0)
    if first != number:
        return first
    parent = columns.parents.get(number, 0)
    return parent if 0 < parent < number else 0


def root_of(columns: Columns, number: int) -> int:
    """The request above all others that a request came under, itself where there is none."""
    while parent := parent_of(columns, number):
        if parent < columns.first:
            return number
        number = parent
    return number


def request_of(columns: Columns, number: int) -> int | None:
    """The request that an entry belongs to, itself where there is none; None where the entry is not kept."""
    row = number - columns.first
    if not 0 <= row < len(columns):
        return None
    kind = columns.kind[row] & 15
    if columns.link[row] and kind != _REQUEST:
        return columns.link[row] if columns.link[row] >= columns.first else number
    if kind == _HTTP and columns.exchange[row]:
        return _carried(columns, row) or number
    return number


def relation_of(columns: Columns, number: int) -> Relation:
    """What a request is to the one that it came under."""
    row = number - columns.first
    parent = parent_of(columns, number)
    if not parent or not 0 <= row < len(columns):
        return "root"
    if columns.kind[row] >> 4 == _IN:
        return "asked"
    if number in columns.follows:
        return "round"
    method = columns.methods.texts[columns.method[row]]
    if method.startswith("tasks/"):
        return "task"
    above = parent - columns.first
    greeting = method in GREETINGS and above >= 0 and columns.methods.texts[columns.method[above]] in GREETINGS
    return "retry" if greeting or (above >= 0 and columns.method[above] == columns.method[row]) else "step"


class _Grown:
    """Grows one tree."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._under: dict[int, list[int]] = {}
        for child in {**columns.parents, **columns.follows}:
            if parent := parent_of(columns, child):
                self._under.setdefault(parent, []).append(child)

    def grow(self, root: int) -> Node:
        """The tree under a request; its depth is bounded by nothing but its size, so there is no recursion."""
        found = [root]
        for number in found:
            room = max(0, _MOST - len(found))
            found += [child for child in self._under.get(number, ()) if self._is_here(child)][:room]
        made: dict[int, Node] = {}
        notes = self._notes(found)
        for number in reversed(found):
            children = [made[child] for child in self._under.get(number, ()) if child in made]
            extra = [*self._http(number), *notes.get(number, ())]
            children = sorted([*children, *extra], key=lambda node: node.number)
            made[number] = Node(number, self._relation(number, root), tuple(children))
        return made[root]

    def _relation(self, number: int, root: int) -> Relation:
        if number == root:
            return "root"
        known = relation_of(self._columns, number)
        return "step" if known == "root" else known  # its link is forgotten by now

    def _is_here(self, number: int) -> bool:
        return self._columns.first <= number < self._columns.first + len(self._columns)

    def _http(self, number: int) -> list[Node]:
        """The heads of the HTTP exchanges on which a request and its answer went."""
        columns = self._columns
        row = number - columns.first
        if signs_in(columns, row):
            answer = answer_to(columns, row)
            return [Node(answer, "http")] if answer else []
        if columns.kind[row] != _ASKED:
            return []  # what the server asks comes on the exchange of the call that it asks for
        wanted = {columns.exchange[row]}
        answer = columns.link[row] - columns.first
        if row < answer < len(columns):
            wanted.add(columns.exchange[answer])
        wanted.discard(0)
        found: dict[tuple[int, int], int] = {}
        for at in self._around(row, answer) if wanted else ():
            if columns.exchange[at] not in wanted or columns.server[at] != columns.server[row]:
                continue
            if columns.kind[at] == _HEAD_OUT or (columns.kind[at] == _HEAD_IN and at > row):
                # The next connection counts its exchanges from 1 again: the first of each is this one's.
                found.setdefault((columns.exchange[at], columns.kind[at]), columns.first + at)
                if len(found) == 2 * len(wanted):
                    break
        return [Node(entry, "http") for entry in found.values()]

    def _around(self, row: int, answer: int) -> Iterator[int]:
        """The rows in which what came with a request can stand."""
        begun = range(max(0, row - _AHEAD), min(len(self._columns), row + _NEAR))
        yield from begun
        if answer > row:
            yield from range(max(begun.stop, answer - _NEAR), min(len(self._columns), answer + _NEAR))

    def _notes(self, numbers: list[int]) -> dict[int, list[Node]]:
        """What happened to the connection while a request was open, each note at the last one that was; and what was
        sent to sign in meanwhile."""
        columns = self._columns
        found: dict[int, int] = {}
        for number in sorted(numbers):
            row = number - columns.first
            answer = columns.link[row] - columns.first
            if columns.kind[row] & 15 != _REQUEST or answer <= row:
                continue
            stop = min(answer, row + _NEAR, len(columns))
            for at in chain(_rows(columns, _NOTE, row, stop), _rows(columns, _HEAD_OUT, row, stop)):
                if columns.server[at] == columns.server[row] and (columns.kind[at] == _NOTE or signs_in(columns, at)):
                    found[columns.first + at] = number
        notes: dict[int, list[Node]] = {}
        for note, number in found.items():
            step = columns.kind[note - columns.first] != _NOTE
            node = Node(note, "step", tuple(self._http(note))) if step else Node(note, "note")
            notes.setdefault(number, []).append(node)
        return notes


def signs_in(columns: Columns, row: int) -> bool:
    """Whether a row is an HTTP message of signing in: only those say what they are for."""
    return columns.kind[row] & 15 == _HTTP and columns.target[row] != 0


def _rows(columns: Columns, kind: int, row: int, stop: int) -> Iterator[int]:
    """The rows of a kind, from one row on to before another."""
    try:
        while True:
            row = columns.kind.index(kind, row, stop)
            yield row
            row += 1
    except ValueError:
        return


def answer_to(columns: Columns, row: int) -> int:
    """The number of the answer to a request of signing in; 0 where there is none."""
    stop = min(row + _NEAR, len(columns))
    same = (
        at for at in _rows(columns, _HEAD_IN, row, stop)
        if columns.exchange[at] == columns.exchange[row] and columns.server[at] == columns.server[row]
    )  # fmt: skip
    return columns.first + next(same, -columns.first)


def asked_for(columns: Columns, row: int) -> int:
    """The number of the request of signing in that a message is the answer to; 0 where it is none."""
    for at in range(row - 1, max(-1, row - _NEAR), -1) if columns.kind[row] == _HEAD_IN else ():
        if columns.exchange[at] == columns.exchange[row] and columns.server[at] == columns.server[row]:
            return columns.first + at
    return 0


def _carried(columns: Columns, row: int) -> int:
    """The request that went out, or was answered, on the HTTP exchange of a head; 0 where it is not found."""
    if signs_in(columns, row):
        return asked_for(columns, row)
    before, after = range(row - 1, max(-1, row - _NEAR), -1), range(row + 1, min(len(columns), row + _NEAR))
    for at in chain(after, before) if columns.kind[row] >> 4 == _OUT else chain(before, after):
        if columns.exchange[at] != columns.exchange[row] or columns.server[at] != columns.server[row]:
            continue
        if columns.kind[at] == _ASKED:
            return columns.first + at
        if columns.link[at] >= columns.first and columns.kind[at] >> 4 != _OUT and columns.kind[at] & 15 != _REQUEST:
            return columns.link[at]
    return 0
