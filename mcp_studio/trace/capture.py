"""Entries as rows of columns, and entries built from such rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

from mcp_studio.jsontext import Json
from mcp_studio.protocol.message import Failure, Request, Response, parse
from mcp_studio.trace import message as bits
from mcp_studio.trace.disk.format import Batch
from mcp_studio.trace.lint.rules import Finding, findings_to_json, weight
from mcp_studio.trace.message import CODES, DIRECTIONS, KINDS, OUTCOMES, Columns, Span, WireMessage

_ID_SIZE = 64 * 1024
"""Bytes of the largest body that is parsed for its id."""
_KINDS = {(way, kind): n << 4 | m for n, way in enumerate(DIRECTIONS) for m, kind in enumerate(KINDS)}
_CHANGING = ("kind", "method", "target", "flags", "outcome", "link")
"""Columns whose value for an entry may become known after its row was written."""
_OUTCOMES = {outcome: place for place, outcome in enumerate(OUTCOMES, 1)}
_SEVERITY = 3 << bits.SEVERITY
_KNOWN = bits.PROBE | bits.BY_HAND | bits.ASKED | bits.NEEDS_INPUT
_MOST = (1 << 32) - 1
_LINKS = 100_000
"""Requests with a parent or an earlier round that are remembered; the oldest are forgotten."""
_MADE = 512
_DEEPEST = 50
_ROUNDS = 100


class Capture:
    """Keeps the columns of a live trace up to date.

    Args:
        tracks_changes: whether to collect the changes that a disk needs besides new rows.
    """

    def __init__(self, columns: Columns, *, tracks_changes: bool = False) -> None:
        self.columns = columns
        self.tracks_changes = tracks_changes
        self.handed = 0
        """The number of the newest entry whose row the disk has."""
        self._revised: set[int] = set()
        """The entries that the disk has and that have changed since."""
        self._extras: dict[tuple[int, str], Json] = {}
        self._sent = [2, 2, 2]  # each of the three tables starts with two names that every recording has

    def append(self, entry: WireMessage) -> None:
        """Add a row for an entry; `update` completes it."""
        columns = self.columns
        columns.size.append(min(entry.size, _MOST))
        columns.server.append(columns.servers[entry.server])
        columns.method.append(columns.methods[entry.method])
        columns.target.append(columns.targets[entry.target])
        columns.kind.append(_KINDS[entry.direction, entry.kind])
        columns.exchange.append(entry.exchange if entry.exchange < _MOST else 0)
        columns.flags.append(entry.probe * bits.PROBE)
        columns.outcome.append(_OUTCOMES["open"] if entry.kind == "request" else 0)
        columns.link.append(0)
        columns.time.append(entry.time)  # last, because another thread counts rows by it

    def update(self, entry: WireMessage) -> None:
        """Copy what became known of an entry, except its findings."""
        number, span, columns = entry.number, entry.span, self.columns
        row = number - columns.first
        if row < 0:
            return
        flags = columns.flags[row] & ~_KNOWN
        flags |= entry.probe * bits.PROBE | entry.by_hand * bits.BY_HAND
        if span is not None:
            other = span.response if span.request is entry else span.request
            columns.outcome[row], columns.link[row] = _OUTCOMES[span.outcome], other.number if other else 0
            flags |= span.needs_input * bits.NEEDS_INPUT
            if span.request is entry:
                flags |= span.asked * bits.ASKED
                if span.parent is not None:
                    _link(columns.parents, number, span.parent)
                if span.follows is not None:
                    _link(columns.follows, number, span.follows)
        columns.kind[row] = _KINDS[entry.direction, entry.kind]
        columns.method[row] = columns.methods[entry.method]
        columns.target[row] = columns.targets[entry.target]
        self._set_flags(number, flags)

    def findings(self, entry: WireMessage) -> None:
        """Copy the findings of the lint on an entry."""
        row = entry.number - self.columns.first
        if row >= 0:
            flags = self.columns.flags[row] & ~_SEVERITY
            self._set_flags(entry.number, flags | weight(entry.findings) << bits.SEVERITY)
            self.note(entry.number, "findings", findings_to_json(entry.findings))

    def flag(self, number: int, bit: int, on: bool) -> None:
        """Set or clear a flag that a person decides on."""
        flags = self.columns.flags[number - self.columns.first]
        self._set_flags(number, flags | bit if on else flags & ~bit)

    def note(self, number: int, name: str, value: Json) -> None:
        """Record a rare member of an entry for the disk; None removes it."""
        if self.tracks_changes:
            self._extras[number, name] = value

    def news(self) -> Batch:
        """The changes for the disk except new rows: new names, and changed values in rows that the disk has."""
        columns = self.columns
        numbers = [number for number in sorted(self._revised) if number >= columns.first]
        changes = {
            name: {number: getattr(columns, name)[number - columns.first] for number in numbers} for name in _CHANGING
        }
        extras = self._extras
        self._revised, self._extras = set(), {}
        return Batch(self.handed + 1, {}, (), self._new_names(), changes | self._links(numbers), extras)

    def rows(self, bodies: list[bytes]) -> Batch:
        """The rows after those that the disk has, with these bodies."""
        columns, first = self.columns, self.handed + 1
        self.handed += len(bodies)
        rows = slice(first - columns.first, first - columns.first + len(bodies))
        values = {name: getattr(columns, name)[rows].tobytes() for name in CODES}
        return Batch(first, values, tuple(bodies), changes=self._links(range(first, first + len(bodies))))

    def stop(self) -> None:
        """Stop collecting, because the disk takes no more."""
        self.tracks_changes = False
        self._revised, self._extras = set(), {}

    def _links(self, numbers: Iterable[int]) -> dict[str, dict[int, int]]:
        links = {"parent": self.columns.parents, "follows": self.columns.follows}
        return {name: {number: above[number] for number in numbers if number in above} for name, above in links.items()}

    def _new_names(self) -> tuple[tuple[str, int, str], ...]:
        """The names that are new since the last call: column, number and text."""
        found: list[tuple[str, int, str]] = []
        columns = self.columns
        named = (("server", columns.servers), ("method", columns.methods), ("target", columns.targets))
        for place, (column, names) in enumerate(named):
            texts = names.texts
            found += [(column, number, texts[number]) for number in range(self._sent[place], len(texts))]
            self._sent[place] = len(texts)
        return tuple(found)

    def _set_flags(self, number: int, flags: int) -> None:
        self.columns.flags[number - self.columns.first] = flags
        self.columns.revise(number)
        if self.tracks_changes and number <= self.handed:
            self._revised.add(number)


def _link(links: dict[int, int], number: int, above: Span) -> None:
    links[number] = above.number
    if len(links) > _LINKS:  # many at a time, because finding the oldest takes a walk over deleted ones
        for oldest in tuple(islice(links, _LINKS // 8)):
            del links[oldest]


class EntryMaker:
    """Builds entries of any recording from its columns. Request and answer share one span.

    Args:
        columns: returns the present columns of the recording.
        body: reads a body, called at each access; returns b"" where it is no longer kept.
        findings: reads the lint's findings on an entry.
        alive: returns an entry that is still in memory, which takes precedence.
    """

    def __init__(
        self,
        columns: Callable[[], Columns],
        body: Callable[[int], bytes],
        findings: Callable[[int], tuple[Finding, ...]],
        alive: Callable[[int], WireMessage | None] = lambda number: None,
    ) -> None:
        self._columns = columns
        self._body = body
        self._findings = findings
        self._alive = alive
        self._cache: dict[int, WireMessage] = {}

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number; None where the columns have none."""
        if len(self._cache) > _MADE:
            self._cache.clear()
        return self._entry(self._columns(), number, _DEEPEST)

    def forget(self) -> None:
        """Drop the built entries, because the columns have changed."""
        self._cache.clear()

    def _entry(self, columns: Columns, number: int, depth: int) -> WireMessage | None:
        known = self._alive(number) or self._cache.get(number)
        row = number - columns.first
        if known is not None or not 0 <= row < len(columns):
            return known
        link = columns.link[row] - columns.first
        linked = columns.outcome[row] and 0 <= link < len(columns) and columns.link[link] == number
        if linked and link < row:
            self._entry(columns, columns.link[row], depth)  # builds the answer too
            if number in self._cache:
                return self._cache[number]
        answer = self._alive(columns.link[row]) if linked else None
        if answer is not None and answer.span is not None:
            return answer.span.request
        entry = self._cache[number] = self._bare(columns, row)
        if columns.outcome[row] and entry.kind == "request":
            entry.span = self._span(columns, entry, depth)
            if linked and link > row:
                answer = self._cache[columns.link[row]] = self._bare(columns, link)
                answer.span, entry.span.response = entry.span, answer
                answer.id = entry.id if answer.id is None else answer.id
        return entry

    def _span(self, columns: Columns, request: WireMessage, depth: int) -> Span:
        number, row = request.number, request.number - columns.first
        span = Span(
            number, request.server, request.direction, request.method, request.target, request,
            asked=bool(columns.flags[row] & bits.ASKED), outcome=OUTCOMES[columns.outcome[row] - 1],
        )  # fmt: skip
        first = number
        while 0 < (earlier := columns.follows.get(first, 0)) < first and span.round < _ROUNDS:
            first, span.round = earlier, span.round + 1
        above = columns.parents.get(number, 0)
        if depth and 0 < above < number and (parent := self._entry(columns, above, depth - 1)) is not None:
            span.parent = parent.span
        return span

    def _bare(self, columns: Columns, row: int) -> WireMessage:
        """An entry without its span."""
        number, kind, flags = columns.first + row, columns.kind[row], columns.flags[row]
        entry = WireMessage(
            number, columns.time[row], columns.servers.texts[columns.server[row]], DIRECTIONS[kind >> 4],
            KINDS[kind & 15], partial(self._body, number), columns.size[row],
            columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]], None,
            columns.exchange[row], bool(flags & bits.PROBE), bool(flags & bits.BY_HAND),
        )  # fmt: skip
        if entry.kind in ("request", "result", "error") and entry.size <= _ID_SIZE:
            body = entry.body
            entry.id = id_in(body) if len(body) <= _ID_SIZE else None  # the size in a file may be wrong
        if flags & _SEVERITY:
            entry.findings = self._findings(number)
        return entry


def id_in(body: bytes) -> int | str | None:
    """The JSON-RPC id of a frame; None where it has none."""
    messages = parse(body).messages
    first = messages[0] if len(messages) == 1 else None
    return first.id if isinstance(first, (Request, Response, Failure)) else None
