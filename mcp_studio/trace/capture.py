"""Takes entries into the columns, and what becomes known of them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Literal

from mcp_studio.jsontext import Json
from mcp_studio.trace import columns as bits
from mcp_studio.trace.columns import Columns
from mcp_studio.trace.disk.batch import Change, Column, Extra
from mcp_studio.trace.lint.finding import weight
from mcp_studio.trace.materialise import Recalled, findings_to_json, id_stands_in
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Span, WireMessage

_KINDS = {(way, kind): n << 4 | m for n, way in enumerate(DIRECTIONS) for m, kind in enumerate(KINDS)}
_OUTCOMES = {outcome: place for place, outcome in enumerate(OUTCOMES, 1)}
_BY_PERSON = bits.MARKED | bits.COMMENTED
_NO_SEVERITY = 255 ^ 3 << bits.SEVERITY
_MOST = (1 << 32) - 1
_LINKS = 100_000
"""Requests that came under others, or are later rounds, that are remembered as such; the oldest are forgotten."""
Name = tuple[str, int, str]
"""Column, number and text, see `disk.batch.Batch`."""
Put = Callable[[Column, int, int, int], None]
"""Takes a value: its column, number, row, and itself."""


class Capture:
    """Fills the columns of a live trace.

    Args:
        noted: also collect what a disk needs besides the columns: `changes`, `extras` and `new_names`.
    """

    def __init__(self, columns: Columns, *, noted: bool = False) -> None:
        self.columns = columns
        self.last = columns.first - 1
        """The number of the newest captured entry."""
        self._noted = noted
        self._touched: dict[int, WireMessage] = {}
        self._sent = [2, 2, 2]  # the first two are everywhere
        self.changes: list[Change] = []
        self.extras: list[Extra] = []

    @property
    def behind(self) -> bool:
        """Whether captured entries have changed since."""
        return bool(self._touched)

    def only_columns(self) -> None:
        """There is no disk any more."""
        self._noted = False
        self.changes, self.extras = [], []

    def touch(self, entry: WireMessage) -> None:
        """An entry has changed; what is not captured yet will be as it is then."""
        if entry.number <= self.last:
            self._touched[entry.number] = entry

    def begin(self, first: int) -> None:
        """Forget everything; the next entry has this number."""
        columns = self.columns
        columns.trim(columns.first + len(columns))
        columns.first, self.last = first, first - 1
        self._touched.clear()

    def take(self, entries: Sequence[WireMessage]) -> None:
        """Capture entries that follow the last one without a gap, and what has changed in earlier ones."""
        touched, self._touched = self._touched, {}
        for number, entry in touched.items():
            if number >= self.columns.first:
                self._again(entry)
            elif entry.span is not None and not isinstance(entry, Recalled):
                self._ended(entry, entry.span, -1, self._beyond)
        if not entries:
            return
        columns = self.columns
        server, method, target = columns.servers.number, columns.methods.number, columns.targets.number
        columns.size.extend([entry.size if entry.size < _MOST else _MOST for entry in entries])
        columns.server.extend([server(entry.server) for entry in entries])
        columns.method.extend([method(entry.method) if entry.method else 0 for entry in entries])
        columns.target.extend([target(entry.target) if entry.target else 0 for entry in entries])
        columns.kind.extend([_KINDS[entry.direction, entry.kind] for entry in entries])
        columns.exchange.extend([entry.exchange if entry.exchange < _MOST else 0 for entry in entries])
        columns.flags.frombytes(bytes(len(entries)))
        columns.outcome.frombytes(bytes(len(entries)))
        columns.link.frombytes(bytes(len(entries) * columns.link.itemsize))
        # Last: a thread that reads meanwhile counts rows by it.
        columns.time.extend([entry.time for entry in entries])
        self.last += len(entries)
        for entry in entries:
            if entry.span is not None or entry.findings or entry.id is not None or entry.probe or entry.by_hand:
                self._rest(entry, entry.number - columns.first, self._new)

    def flag(self, number: int, bit: int, on: bool) -> None:
        """Set or take away a bit that a person decides about."""
        row = number - self.columns.first
        old = self.columns.flags[row]
        self.columns.revise(number)
        self._put("flags", number, row, old | bit if on else old & ~bit)

    def note(self, number: int, name: Literal["findings", "comment", "id"], value: Json) -> None:
        """Keep something that only few entries have."""
        if self._noted:
            self.extras.append(Extra(number, name, value))

    def new_names(self) -> tuple[Name, ...]:
        """The names that were given since this was asked last."""
        found: list[Name] = []
        columns = self.columns
        for place, (column, names) in enumerate(
            (("server", columns.servers), ("method", columns.methods), ("target", columns.targets))
        ):
            texts = names.texts
            found += [(column, number, texts[number]) for number in range(self._sent[place], len(texts))]
            self._sent[place] = len(texts)
        return tuple(found)

    def _again(self, entry: WireMessage) -> None:
        """An entry that was captured before."""
        columns, number = self.columns, entry.number
        row = number - columns.first
        columns.revise(number)
        if isinstance(entry, Recalled):  # an old one, looked at: only what was found on it is new
            self._put("flags", number, row, columns.flags[row] & _NO_SEVERITY | self._found(entry))
            return
        self._put("kind", number, row, _KINDS[entry.direction, entry.kind])
        self._put("method", number, row, columns.methods.number(entry.method))
        self._put("target", number, row, columns.targets.number(entry.target))
        self._rest(entry, row, self._put)

    def _rest(self, entry: WireMessage, row: int, put: Put) -> None:
        """What most entries do not have."""
        number, span, columns = entry.number, entry.span, self.columns
        flags = columns.flags[row] & _BY_PERSON | entry.probe * bits.PROBE | entry.by_hand * bits.BY_HAND
        flags |= self._found(entry) if entry.findings else 0
        if entry.id is not None and not id_stands_in(entry):
            self.note(number, "id", entry.id)
        if span is not None:
            asks = span.request is entry
            flags |= (asks and span.asked) * bits.ASKED
            self._ended(entry, span, row, put)
            if asks and span.parent is not None:
                self._above(columns.parents, "parent", number, span.parent.number)
            if asks and span.follows is not None:
                self._above(columns.follows, "follows", number, span.follows.number)
        put("flags", number, row, flags)

    def _ended(self, entry: WireMessage, span: Span, row: int, put: Put) -> None:
        """How a span ended that an entry is an end of, and which is the other end."""
        other = span.response if span.request is entry else span.request
        put("outcome", entry.number, row, _OUTCOMES[span.outcome])
        put("link", entry.number, row, other.number if other else 0)

    def _found(self, entry: WireMessage) -> int:
        """What the lint says about an entry, as bits."""
        self.note(entry.number, "findings", findings_to_json(entry.findings))
        return weight(entry.findings) << bits.SEVERITY

    def _new(self, column: Column, number: int, row: int, value: int) -> None:
        getattr(self.columns, column)[row] = value

    def _put(self, column: Column, number: int, row: int, value: int) -> None:
        values = getattr(self.columns, column)
        if values[row] != value:
            values[row] = value
            self._change(column, number, value)

    def _beyond(self, column: Column, number: int, row: int, value: int) -> None:
        """Of an entry that is in the columns no more: the disk may have it still."""
        self._change(column, number, value)

    def _above(self, links: dict[int, int], column: Column, number: int, above: int) -> None:
        if links.get(number) != above:
            links[number] = above
            self._change(column, number, above)
            if len(links) > _LINKS:  # many at a time: each search for the oldest passes all that went before
                for oldest in tuple(islice(links, _LINKS // 8)):
                    del links[oldest]

    def _change(self, column: Column, number: int, value: int) -> None:
        if self._noted:
            self.changes.append(Change(number, column, value))
