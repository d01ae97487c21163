"""Makes a recording of the entries of a file, one after the other. Nothing that stands in them is believed."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Mapping

from mcp_studio.jsontext import Json
from mcp_studio.trace import columns as bits
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.export.item import Item
from mcp_studio.trace.export.opened import Opened, Packed
from mcp_studio.trace.lint.finding import weight
from mcp_studio.trace.materialise import findings_to_json
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES

_BLOCK = 256 * 1024
_ENTRIES = 512
_DEEP = 100
"""Requests under one another that are taken for such."""
_EXTRAS = 64 << 20
"""Bytes of all findings and comments, about as they are in memory; further ones are left out."""
_OVERHEAD = 400
"""What one of them costs besides its words."""


class Filling:
    """Numbers entries from 1; what they are linked to is found by the numbers that they had."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.packed = 0
        """Bytes of all bodies together, as they are kept."""
        self.left_out = False
        """There were more findings and comments than fit."""
        self._room = _EXTRAS
        self._numbers: array[int] = array("I")
        self._blocks: list[Packed] = []
        self._extras: dict[int, dict[str, Json]] = {}
        self._parts: list[bytes] = []
        self._ends: array[int] = array("Q")
        self._size = 0

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def newest(self) -> int:
        """The number that the newest entry had in its own recording."""
        return self._numbers[-1] if self._numbers else 0

    def add(self, item: Item) -> None:
        """The next entry."""
        columns = self.columns
        self._numbers.append(item.number)
        number = columns.first + len(columns)
        # Readers judge by the size how a body is read, so it must not be much larger than it says.
        columns.size.append(item.size if 2 * item.size > len(item.body) else len(item.body))
        columns.server.append(columns.servers.number(item.server))
        columns.method.append(columns.methods.number(item.method))
        columns.target.append(columns.targets.number(item.target))
        columns.kind.append(KINDS.index(item.kind) | DIRECTIONS.index(item.direction) << 4)
        columns.flags.append(item.flags | self._take_extra(number, item))
        columns.outcome.append(OUTCOMES.index(item.outcome) + 1 if item.outcome else 0)  # type: ignore[arg-type]
        columns.link.append(item.link)
        columns.exchange.append(item.exchange)
        columns.time.append(item.time)
        if item.under:
            columns.parents[number] = item.under
        if item.follows:
            columns.follows[number] = item.follows
        self._put(item.body)

    def done(self, head: Mapping[str, Json], problems: tuple[str, ...] = ()) -> Opened:
        """The recording."""
        self._pack()
        self._link()
        columns = self.columns
        columns.follows = {
            number: known for number, was in columns.follows.items() if (known := self._earlier(number, was))
        }
        columns.parents = self._above()
        return Opened(columns, self._blocks, self._extras, head, problems)

    def _take_extra(self, number: int, item: Item) -> int:
        known: dict[str, Json] = {}
        flags = 0
        findings = item.extra.findings
        self._room -= _OVERHEAD * (bool(item.extra.comment) + len(findings)) + len(item.extra.comment)
        self._room -= sum(len(one.rule) + len(one.text) + len(one.section) + len(one.pointer) for one in findings)
        if self._room < 0:
            self.left_out = True
            return 0
        if item.extra.comment:
            known["comment"] = item.extra.comment
            flags |= bits.COMMENTED
        if item.extra.findings:
            known["findings"] = findings_to_json(item.extra.findings)
            flags |= weight(item.extra.findings) << bits.SEVERITY
        if known:
            self._extras[number] = known
        return flags

    def _put(self, body: bytes) -> None:
        self._size += len(body)
        self._parts.append(body)
        self._ends.append(self._size)
        if self._size >= _BLOCK or len(self._parts) >= _ENTRIES:
            self._pack()

    def _pack(self) -> None:
        if self._parts:
            data = zlib.compress(b"".join(self._parts), 1)
            first = self.columns.first + len(self.columns) - len(self._parts)
            self._blocks.append(Packed(first, self._ends, data))
            self.packed += len(data)
            self._parts, self._ends, self._size = [], array("Q"), 0

    def _now(self, was: int) -> int:
        """The number that an entry has here; 0 where it did not come along."""
        at = bisect_left(self._numbers, was)
        return self.columns.first + at if at < len(self._numbers) and self._numbers[at] == was else 0

    def _earlier(self, number: int, was: int) -> int:
        known = self._now(was)
        return known if known < number else 0

    def _link(self) -> None:
        """Links that two entries agree on stay."""
        columns = self.columns
        asked = KINDS.index("request")
        found = array("I", bytes(len(columns) * columns.link.itemsize))
        for row, was in enumerate(columns.link):
            if was and columns.kind[row] & 15 == asked and (answer := self._now(was)):
                other = answer - columns.first
                if columns.kind[other] & 15 != asked and columns.link[other] == self._numbers[row] and other > row:
                    found[row], found[other] = answer, columns.first + row
        for row, linked in enumerate(found):
            if not linked and columns.kind[row] & 15 != asked:
                columns.outcome[row] = 0
        columns.link = found

    def _above(self) -> dict[int, int]:
        """What came under what, as far as it is not too deep."""
        deep: dict[int, int] = {}
        found: dict[int, int] = {}
        for number, was in self.columns.parents.items():
            parent = self._earlier(number, was)
            depth = deep.get(parent, 0) + 1
            if parent and depth <= _DEEP:
                found[number], deep[number] = parent, depth
        return found
