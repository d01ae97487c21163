"""Spans as trees: everything that belongs to a call, over all its requests, polls and HTTP exchanges.

Trees consist of entries' numbers, so they work for a running trace, a past session and an opened bundle.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Literal, NamedTuple

from mcp_studio.trace.lint.rules import SEVERITIES, Finding
from mcp_studio.trace.message import DIRECTIONS, GREETINGS, KINDS, Columns, Recording, WireMessage, codes, rows_with

Relation = Literal["root", "asked", "round", "task", "retry", "step", "http", "note"]
"""The relation of a node to its parent.

In order: no parent; a question of the server; the next round of the conversation; a request about the call's task; a
retry; another request for it (also one of signing in, to another server); an HTTP message; a lifecycle event.
"""

_NEAR = 2_000
"""Entries before and after a request that are searched for what belongs to it."""
_MOST = 2_000
"""The most nodes of one tree."""
_AHEAD = 3
"""Entries before a request that are searched for the head of its HTTP request."""
_REQUEST, _HTTP = KINDS.index("request"), KINDS.index("http")
_IN, _OUT, _NONE = DIRECTIONS.index("in"), DIRECTIONS.index("out"), DIRECTIONS.index("none")
_NOTE = KINDS.index("note") | DIRECTIONS.index("none") << 4
_HEAD_OUT, _HEAD_IN = _HTTP | _OUT << 4, _HTTP | _IN << 4
_ASKED = _REQUEST | _OUT << 4
"""A request of ours."""
PRINTED = ("stderr", "stray", "note")
"""Kinds of entries that are no messages of MCP."""
_ANY_HTTP, _PRINTED, _NOTIFIED = codes("http"), codes(*PRINTED), codes("notification", direction="in")
_TOKEN = re.compile(rb'"progressToken"\s*:\s*("[^"\\]{0,200}"|-?\d{1,18})')
_SECONDS = 5.0
"""Seconds before and after an exchange, whose output of the server belongs to it."""
_WIDE, _WIDEST = 4_000, 100_000
"""Entries before and after an exchange that may be its HTTP heads; and the most entries that are searched."""
_SHOWN = 300
"""The most HTTP heads, lines of output, and progress messages of one exchange."""


class Node(NamedTuple):
    """One entry with its children, in the order of their coming; a span has the number of its request."""

    number: int
    relation: Relation
    children: tuple[Node, ...] = ()


def tree(recording: Recording, number: int) -> Node | None:
    """The tree that an entry belongs to, with some thousand nodes at most; None where the entry is not kept.

    An entry without a request is a tree by itself. So is a step of a workflow with its calls, and a call without a
    step.
    """
    columns = recording.columns
    request = request_of(columns, number)
    return None if request is None else _build(columns, root_of(columns, request))


def walk(node: Node) -> Iterator[tuple[int, Node]]:
    """The nodes of a tree with their depths, from the root down."""
    todo = [(0, node)]
    while todo:
        at, one = todo.pop()
        yield at, one
        todo += [(at + 1, child) for child in reversed(one.children)]


def family_of(recording: Recording, number: int) -> list[int]:
    """All entries of the tree that an entry belongs to: requests and answers, HTTP heads, notes."""
    columns, found = recording.columns, tree(recording, number)
    numbers = {node.number for _, node in walk(found)} if found else {number}
    rows = (one - columns.first for one in numbers if 0 <= one - columns.first < len(columns))
    return sorted(numbers.union(link for row in rows if (link := columns.link[row])))


def ends_of(recording: Recording, entry: WireMessage) -> tuple[WireMessage, WireMessage | None]:
    """The request that an entry belongs to, or the entry itself; and its answer."""
    number, columns = request_of(recording.columns, entry.number), recording.columns
    request = recording.entry(number) if number else None
    link = columns.link[request.number - columns.first] if request and request.kind == "request" else 0
    return request or entry, recording.entry(link) if link else None


class Exchange(NamedTuple):
    """An entry of a trace, and the entries that belong to it."""

    request: WireMessage
    """The request; the entry itself if it is no request and no answer."""
    response: WireMessage | None
    heads: tuple[WireMessage, ...]
    """The HTTP messages of the exchange."""
    printed: tuple[WireMessage, ...]
    """The server's output and lifecycle events around that time."""

    @property
    def findings(self) -> list[Finding]:
        """The findings of the lint about these messages, the worst first."""
        messages = {message.number: message for message in (*self.heads, self.request, self.response) if message}
        found = (one for message in messages.values() for one in message.findings)
        return sorted(found, key=lambda one: SEVERITIES.index(one.severity))


def exchange_of(recording: Recording, entry: WireMessage) -> Exchange:
    """Gather the exchange that an entry belongs to; cheap, whatever the size of the recording."""
    columns, (request, response) = recording.columns, ends_of(recording, entry)
    ends, server = (request, response or request), columns.servers.get(request.server)
    first, last = (end.number - columns.first for end in ends)
    own = {end.exchange: end.number - columns.first for end in ends if end.exchange}
    near = rows_with(columns.kind, _ANY_HTTP, first - _WIDE, min(last, first + _WIDEST) + _WIDE) if own else ()
    heads = [row for row in near if columns.exchange[row] in own and columns.server[row] == server]
    begin, end = (bisect_left(columns.time, at) for at in (ends[0].time - _SECONDS, ends[1].time + _SECONDS))
    printed = rows_with(columns.kind, _PRINTED, begin, min(end, begin + _WIDEST))
    # The next connection, such as another attempt, counts its exchanges from 1 again.
    asked = sorted((columns.exchange[row], row) for row in heads if columns.kind[row] == _HEAD_OUT)

    def is_own(row: int) -> bool:
        exchange = columns.exchange[row]
        return bisect_right(asked, (exchange, row)) == bisect_right(asked, (exchange, own[exchange]))

    def entries(rows: Iterable[int]) -> tuple[WireMessage, ...]:
        numbers = (columns.first + row for row in rows if columns.server[row] == server)
        return tuple(filter(None, map(recording.entry, islice(numbers, _SHOWN))))

    return Exchange(request, response, entries(filter(is_own, heads)), entries(printed))


def progress_of(recording: Recording, request: WireMessage) -> list[WireMessage]:
    """The newest progress messages of a request of ours, in order."""
    columns, row, token = recording.columns, request.number - recording.columns.first, _token_of(request)
    if columns.kind[row] != _ASKED or not token:
        return []
    last = columns.link[row] - columns.first if columns.link[row] else len(columns)
    method = columns.methods.get("notifications/progress")
    near = rows_with(columns.kind, _NOTIFIED, row, min(last, row + _WIDEST))
    rows = [at for at in near if columns.method[at] == method and columns.server[at] == columns.server[row]]
    read = map(recording.entry, (columns.first + at for at in rows[-_SHOWN:]))
    return [one for one in read if one and _token_of(one) == token]


def _token_of(entry: WireMessage) -> bytes:
    """The raw progress token of a message; empty where there is none, or where the message is large."""
    found = None if entry.size > 1_000_000 else _TOKEN.search(entry.body)
    return found[1] if found else b""


def parent_of(columns: Columns, number: int) -> int:
    """The parent of a request; 0 where there is none.

    All later rounds of a conversation have its first one as parent.
    """
    first, known = number, columns.follows.get(number, 0)
    while 0 < known < first:
        first, known = known, columns.follows.get(known, 0)
    if first != number:
        return first
    parent = columns.parents.get(number, 0)
    return parent if 0 < parent < number else 0


def root_of(columns: Columns, number: int) -> int:
    """The topmost ancestor of a request, or the request itself; a workflow's step is not an ancestor."""
    first = columns.first
    while (above := parent_of(columns, number)) >= first and columns.kind[above - first] >> 4 != _NONE:
        number = above
    return number


def request_of(columns: Columns, number: int) -> int | None:
    """The request that an entry belongs to, or the entry itself; None where the entry is not kept."""
    row = number - columns.first
    if not 0 <= row < len(columns):
        return None
    kind = columns.kind[row] & 15
    if columns.link[row] and kind != _REQUEST:
        return columns.link[row] if columns.link[row] >= columns.first else number
    return (_carried_request(columns, row) if kind == _HTTP else 0) or number


def relation_of(columns: Columns, number: int) -> Relation:
    """The relation of a request to its parent."""
    row = number - columns.first
    parent = parent_of(columns, number)
    if not parent or not 0 <= row < len(columns):
        return "root"
    if (way := columns.kind[row] >> 4) != _OUT:
        return "asked" if way == _IN else "step"
    if number in columns.follows:
        return "round"
    method = columns.methods.texts[columns.method[row]]
    if method.startswith("tasks/"):
        return "task"
    above = parent - columns.first
    greeting = method in GREETINGS and above >= 0 and columns.methods.texts[columns.method[above]] in GREETINGS
    return "retry" if greeting or (above >= 0 and columns.method[above] == columns.method[row]) else "step"


def _build(columns: Columns, root: int) -> Node:
    """The tree under a request; it may be as deep as it is large, so it is built without recursion."""
    under: dict[int, list[int]] = {}
    for child in {**columns.parents, **columns.follows}:
        if (parent := parent_of(columns, child)) and columns.first <= child < columns.first + len(columns):
            under.setdefault(parent, []).append(child)
    found = [root]
    for number in found:
        found += under.get(number, ())[: max(0, _MOST - len(found))]
    beside = _beside(columns, found)
    made: dict[int, Node] = {}
    for number in reversed(found):
        children = [made[child] for child in under.get(number, ()) if child in made]
        children += [*_heads(columns, number), *beside.get(number, ())]
        relation = relation_of(columns, number)
        if (number == root) != (relation == "root"):  # its link was dropped
            relation = "root" if number == root else "step"
        made[number] = Node(number, relation, tuple(sorted(children, key=lambda node: node.number)))
    return made[root]


def _heads(columns: Columns, number: int) -> list[Node]:
    """The HTTP heads of the exchanges of a request of ours, or of a sign-in, and of its answer."""
    row = number - columns.first
    if signs_in(columns, row):
        answer = answer_to(columns, row)
        return [Node(answer, "http")] if answer else []
    if columns.kind[row] != _ASKED:
        return []  # a question of the server comes on the exchange of the call that it belongs to
    answer = columns.link[row] - columns.first
    ends = (row, answer) if row < answer < len(columns) else (row,)
    near = {at: None for end in ends for at in range(max(0, row - _AHEAD, end - _NEAR), end + _NEAR)}
    found: dict[tuple[int, int], int] = {}
    for end in ends:
        for at in _same_exchange(columns, end, near):
            if columns.kind[at] == _HEAD_OUT or (columns.kind[at] == _HEAD_IN and at > row):
                # The next connection counts its exchanges from 1 again, so only the first of each number counts.
                found.setdefault((columns.exchange[at], columns.kind[at]), columns.first + at)
    return [Node(entry, "http") for entry in found.values()]


def _beside(columns: Columns, numbers: list[int]) -> dict[int, list[Node]]:
    """The notes and the requests of the sign-in while requests were open, each under the last open request."""
    found: dict[int, int] = {}
    for number in sorted(numbers):
        row = number - columns.first
        answer = columns.link[row] - columns.first
        if columns.kind[row] & 15 != _REQUEST:
            continue
        for at in range(row, min(answer, row + _NEAR, len(columns))):
            if columns.kind[at] not in (_NOTE, _HEAD_OUT) or columns.server[at] != columns.server[row]:
                continue
            if columns.kind[at] == _NOTE or signs_in(columns, at):
                found[columns.first + at] = number
    nodes: dict[int, list[Node]] = {}
    for entry, number in found.items():
        note = columns.kind[entry - columns.first] == _NOTE
        node = Node(entry, "note") if note else Node(entry, "step", tuple(_heads(columns, entry)))
        nodes.setdefault(number, []).append(node)
    return nodes


def signs_in(columns: Columns, row: int) -> bool:
    """Whether a row is an HTTP message of a sign-in: only those have a target."""
    return columns.kind[row] & 15 == _HTTP and columns.target[row] != 0


def _same_exchange(columns: Columns, row: int, rows: Iterable[int]) -> Iterator[int]:
    """The rows that belong to the HTTP exchange of a row."""
    exchange, server = columns.exchange[row], columns.server[row]
    for at in rows if exchange else ():
        if at < len(columns) and columns.exchange[at] == exchange and columns.server[at] == server:
            yield at


def answer_to(columns: Columns, row: int) -> int:
    """The number of the answer to a request of a sign-in; 0 where there is none."""
    same = _same_exchange(columns, row, range(row, row + _NEAR))
    return next((columns.first + at for at in same if columns.kind[at] == _HEAD_IN), 0)


def asked_for(columns: Columns, row: int) -> int:
    """The number of the request of a sign-in that a message answers; 0 where there is none."""
    before = range(row - 1, max(-1, row - _NEAR), -1) if columns.kind[row] == _HEAD_IN else ()
    return next((columns.first + at for at in _same_exchange(columns, row, before)), 0)


def _carried_request(columns: Columns, row: int) -> int:
    """The request that was sent, or answered, on the HTTP exchange of a head; 0 where it is not found."""
    if signs_in(columns, row):
        return asked_for(columns, row)
    before, after = range(row - 1, max(-1, row - _NEAR), -1), range(row + 1, row + _NEAR)
    nearest_first = chain(after, before) if columns.kind[row] == _HEAD_OUT else chain(before, after)
    for at in _same_exchange(columns, row, nearest_first):
        if columns.kind[at] == _ASKED:
            return columns.first + at
        if columns.link[at] >= columns.first and columns.kind[at] >> 4 != _OUT and columns.kind[at] & 15 != _REQUEST:
            return columns.link[at]
    return 0
