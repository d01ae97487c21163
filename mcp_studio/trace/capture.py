"""Entries as rows of columns, and entries made from them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Literal, cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.message import Failure, Request, Response, parse
from mcp_studio.trace import message as bits
from mcp_studio.trace.disk.format import Change, Column
from mcp_studio.trace.lint.rules import SEVERITIES, Finding, weight
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Columns, Span, WireMessage

ExtraName = Literal["findings", "comment", "id"]
_ID_SIZE = 64 * 1024
"""Bytes of a body that is parsed for its id; that of a larger one is stored beside the body."""
_KINDS = {(way, kind): n << 4 | m for n, way in enumerate(DIRECTIONS) for m, kind in enumerate(KINDS)}
_CHANGING: tuple[Column, ...] = ("kind", "method", "target", "flags", "outcome", "link")
_OUTCOMES = {outcome: place for place, outcome in enumerate(OUTCOMES, 1)}
_SEVERITY = 3 << bits.SEVERITY
_MOST = (1 << 32) - 1
_LINKS = 100_000
"""Requests that came under others, or are later rounds, that are remembered as such; the oldest are forgotten."""
_MADE = 512
_DEEPEST = 50
_ROUNDS = 100


class Capture:
    """Keeps the columns of a live trace up to date.

    Args:
        noted: also collect what a disk needs besides new rows: `changes`, `extras` and `new_names`.
    """

    def __init__(self, columns: Columns, *, noted: bool = False) -> None:
        self.columns = columns
        self.noted = noted
        self.handed = 0
        """The number of the newest entry whose row the disk has got."""
        self.changes: list[Change] = []
        self.extras: dict[tuple[int, ExtraName], Json] = {}
        self._sent = [2, 2, 2]  # the first two are everywhere

    def append(self, entry: WireMessage) -> None:
        """A new row; `update` completes it."""
        columns = self.columns
        columns.size.append(min(entry.size, _MOST))
        columns.server.append(columns.servers.number(entry.server))
        columns.method.append(0)
        columns.target.append(0)
        columns.kind.append(_KINDS[entry.direction, entry.kind])
        columns.exchange.append(entry.exchange if entry.exchange < _MOST else 0)
        columns.flags.append(0)
        columns.outcome.append(0)
        columns.link.append(0)
        columns.time.append(entry.time)  # the last one: another thread counts rows by it

    def update(self, entry: WireMessage) -> None:
        """Take over what became known of an entry, except findings."""
        number, span, columns = entry.number, entry.span, self.columns
        columns.revise(number)
        row = number - columns.first
        outcome = link = 0
        if span is not None:
            other = span.response if span.request is entry else span.request
            outcome, link = _OUTCOMES[span.outcome], other.number if other else 0
        if row < 0:  # the disk may have it still
            self._change(number, (("outcome", outcome), ("link", link)))
            return
        old = columns.kind[row], columns.method[row], columns.target[row]
        old += columns.flags[row], columns.outcome[row], columns.link[row]
        flags = old[3] & ~(bits.PROBE | bits.BY_HAND | bits.ASKED)
        flags |= entry.probe * bits.PROBE | entry.by_hand * bits.BY_HAND
        if span is not None and span.request is entry:
            flags |= span.asked * bits.ASKED
            self._link(columns.parents, "parent", number, span.parent)
            self._link(columns.follows, "follows", number, span.follows)
        method, target = columns.methods.number(entry.method), columns.targets.number(entry.target)
        new = _KINDS[entry.direction, entry.kind], method, target, flags, outcome, link
        columns.kind[row], columns.method[row], columns.target[row] = new[:3]
        columns.flags[row], columns.outcome[row], columns.link[row] = new[3:]
        if number <= self.handed:
            pairs = zip(_CHANGING, old, new, strict=True)
            self._change(number, [(column, value) for column, before, value in pairs if value != before])
        if self.noted and entry.id is not None and not _id_stands_in(entry):
            self.note(number, "id", entry.id)

    def findings(self, entry: WireMessage) -> None:
        """Take over what the lint says about an entry."""
        row = entry.number - self.columns.first
        if row >= 0:
            flags = self.columns.flags[row] & ~_SEVERITY
            self._flags(entry.number, flags | weight(entry.findings) << bits.SEVERITY)
            self.note(entry.number, "findings", findings_to_json(entry.findings))

    def flag(self, number: int, bit: int, on: bool) -> None:
        """Set or take away a bit that a person decides about."""
        flags = self.columns.flags[number - self.columns.first]
        self._flags(number, flags | bit if on else flags & ~bit)

    def note(self, number: int, name: ExtraName, value: Json) -> None:
        """Something that only few entries have, for the disk; None takes it away."""
        if self.noted:
            self.extras[number, name] = value

    def new_names(self) -> tuple[tuple[str, int, str], ...]:
        """The names that were numbered since the last call: column, number and text."""
        found: list[tuple[str, int, str]] = []
        columns = self.columns
        named = (("server", columns.servers), ("method", columns.methods), ("target", columns.targets))
        for place, (column, names) in enumerate(named):
            texts = names.texts
            found += [(column, number, texts[number]) for number in range(self._sent[place], len(texts))]
            self._sent[place] = len(texts)
        return tuple(found)

    def _flags(self, number: int, flags: int) -> None:
        self.columns.revise(number)
        self.columns.flags[number - self.columns.first] = flags
        if number <= self.handed:
            self._change(number, (("flags", flags),))

    def _link(self, links: dict[int, int], column: Column, number: int, above: Span | None) -> None:
        if above is not None and links.get(number) != above.number:
            links[number] = above.number
            self._change(number, ((column, above.number),))
            if len(links) > _LINKS:  # many at a time: each search for the oldest passes all that went before
                for oldest in tuple(islice(links, _LINKS // 8)):
                    del links[oldest]

    def _change(self, number: int, values: Iterable[tuple[Column, int]]) -> None:
        if self.noted:
            self.changes += [Change(number, column, value) for column, value in values]


def _id_stands_in(entry: WireMessage) -> bool:
    """Whether the id of an entry will be found again in its body."""
    body = entry.held
    if not isinstance(body, bytes) or entry.by_hand:
        return False
    return len(body) == entry.size <= _ID_SIZE and body[:1] == b"{"


class Materialiser:
    """Makes entries of any recording from its columns. Both ends of a span have the same span.

    Args:
        columns: of the recording, as they are at that time.
        body: reads a body, b"" where there is none any more; called each time somebody looks at it.
        extra: reads what only few entries have, see `disk.format.Extra`; None where there is none.
        alive: an entry that is in memory; it is given instead.
    """

    def __init__(
        self,
        columns: Callable[[], Columns],
        body: Callable[[int], bytes],
        extra: Callable[[int, str], Json],
        alive: Callable[[int], WireMessage | None] = lambda number: None,
    ) -> None:
        self._columns = columns
        self._body = body
        self._extra = extra
        self._alive = alive
        self._made: dict[int, WireMessage] = {}

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number; None where the columns have none."""
        return self._entry(number, _DEEPEST)

    def forget(self) -> None:
        """Entries have changed: make them again when somebody asks."""
        self._made.clear()

    def _entry(self, number: int, depth: int) -> WireMessage | None:
        known = self._alive(number) or self._made.get(number)
        columns = self._columns()
        row = number - columns.first
        if known is not None or not 0 <= row < len(columns):
            return known
        link = columns.link[row] if columns.outcome[row] else 0
        answer = self._alive(link) if link > number else None
        if answer is not None and answer.span is not None:
            return answer.span.request
        entry = self._bare(columns, row)
        if not depth:  # a file may lead from one entry to another without end
            return entry
        self._made[number] = entry
        if len(self._made) > _MADE:
            del self._made[next(iter(self._made))]
        if 0 < link < number:
            request = self._entry(link, depth - 1)
            if request is not None and request.span is not None:
                entry.span, request.span.response = request.span, entry
        elif columns.outcome[row]:
            self._open(columns, entry, link, depth)
        return entry

    def _open(self, columns: Columns, entry: WireMessage, link: int, depth: int) -> None:
        """Make the span of a request."""
        number, row = entry.number, entry.number - columns.first
        span = entry.span = Span(
            number, entry.server, entry.direction, entry.method, entry.target, entry,
            asked=bool(columns.flags[row] & bits.ASKED), outcome=OUTCOMES[columns.outcome[row] - 1],
        )  # fmt: skip
        if link:
            self._entry(link, depth - 1)  # puts itself into the span
        first = number
        while 0 < (earlier := columns.follows.get(first, 0)) < first and span.round < _ROUNDS:
            first, span.round = earlier, span.round + 1
        above = columns.parents.get(number, 0)
        if 0 < above < number and (parent := self._entry(above, depth - 1)) is not None:
            span.parent = parent.span

    def _bare(self, columns: Columns, row: int) -> WireMessage:
        """An entry without its span."""
        number, kind, flags = columns.first + row, columns.kind[row], columns.flags[row]
        entry = WireMessage(
            number, columns.time[row], columns.servers.texts[columns.server[row]], DIRECTIONS[kind >> 4],
            KINDS[kind & 15], partial(self._body, number), columns.size[row],
            columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]], None,
            columns.exchange[row], bool(flags & bits.PROBE), bool(flags & bits.BY_HAND),
        )  # fmt: skip
        if entry.kind in ("request", "result", "error"):
            entry.id = self._id(entry)
        if flags & _SEVERITY:
            entry.findings = findings_from_json(self._extra(number, "findings"), number)
        return entry

    def _id(self, entry: WireMessage) -> int | str | None:
        known = self._extra(entry.number, "id")
        if isinstance(known, (int, str)):
            return known
        body = entry.body if entry.size <= _ID_SIZE else b""
        return id_in(body) if len(body) <= _ID_SIZE else None  # what a file says of sizes may be wrong


def id_in(body: bytes) -> int | str | None:
    """The JSON-RPC id of a frame, None where it has none."""
    messages = parse(body).messages
    first = messages[0] if len(messages) == 1 else None
    return first.id if isinstance(first, (Request, Response, Failure)) else None


def findings_to_json(findings: tuple[Finding, ...]) -> Json:
    """What the lint says about an entry, to be stored beside it."""
    return [[one.severity, one.rule, one.text, one.section, one.pointer] for one in findings]


def findings_from_json(value: Json, number: int) -> tuple[Finding, ...]:
    """The findings of the entry with this number, as `findings_to_json` gave them; without what is none."""
    found: list[Finding] = []
    for item in cast("list[Json]", value) if isinstance(value, list) else []:
        parts = cast("list[Json]", item) if isinstance(item, list) else []
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts) == 5 and texts[0] in SEVERITIES:
            found.append(Finding(texts[0], texts[1], texts[2], texts[3], texts[4], number))
    return tuple(found)
