"""Takes entries into the columns, and what becomes known of them afterwards."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Literal, cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.message import Failure, Request, Response, parse
from mcp_studio.trace import message as bits
from mcp_studio.trace.disk.format import Change, Column, Extra
from mcp_studio.trace.lint.rules import SEVERITIES, Finding, weight
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Columns, Span, WireMessage

_READ = 64 * 1024
"""Bytes of a body that is read for its id; of larger ones it is kept beside the body."""
_KEPT = 512
_ROUNDS = 100
_DEEPEST = 50


class Recalled(WireMessage):
    """An entry made again. Its body is read whenever it is asked for, its id and its findings are the first time."""

    __slots__ = ("source",)
    source: Materialiser

    def __getattr__(self, name: str) -> object:
        # Only reached for what is not set, which `Materialiser` takes care of.
        if name == "id":
            self.id = self.source.id_of(self)
            return self.id
        if name == "findings":
            self.findings = self.source.findings_of(self.number)
            return self.findings
        raise AttributeError(name)


class Materialiser:
    """Makes entries of any recording. Both ends of a span come with the same span, and are the ones in it.

    Args:
        columns: of the recording, as they are at that time.
        body: reads a body, b"" where there is none any more; called each time somebody looks at it.
        extra: reads what only few entries have, see `disk.batch.Extra`; None where there is none.
        alive: an entry that is in memory still; it is given instead, and what belongs to it hangs on it.
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
        self._made: OrderedDict[int, WireMessage] = OrderedDict()
        self._followed: dict[int, int] = {}
        self._followed_state = (0, 0)

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number; None where the columns have none."""
        known = self._known(number)
        if known is not None:
            return known
        columns = self._columns()
        row = number - columns.first
        if not 0 <= row < len(columns):
            return None
        if columns.outcome[row]:
            other = columns.link[row]
            request = other if 0 < other < number else number
            for above in reversed(_ancestors(columns, request)):
                self._conversation(columns, above)
            self._conversation(columns, request)
            known = self._known(number)
        return known or self._keep(self._bare(columns, row))

    def id_of(self, entry: WireMessage) -> int | str | None:
        """The JSON-RPC id of an entry, from beside it or from its body; of a large one only the former."""
        kept = self._extra(entry.number, "id")
        if isinstance(kept, (int, str)):
            return kept
        body = entry.body if entry.size <= _READ else b""
        return id_in(body) if len(body) <= _READ else None  # what a file says of sizes may be wrong

    def findings_of(self, number: int) -> tuple[Finding, ...]:
        """What the lint says about an entry."""
        return findings_from_json(self._extra(number, "findings"), number)

    def forget(self, number: int = 0) -> None:
        """An entry has changed, with 0 all have: make it and what it is linked to again when somebody asks."""
        if not number:
            self._made.clear()
            return
        entry = self._made.pop(number, None)
        if entry is not None and entry.span is not None:
            for end in (entry.span.request, entry.span.response):
                if end is not None:
                    self._made.pop(end.number, None)

    # ------------------------------------------------------------------ inside

    def _known(self, number: int) -> WireMessage | None:
        """An entry that is in memory, or was made not long ago."""
        if (entry := self._alive(number)) is not None:
            return entry
        if (entry := self._made.get(number)) is not None:
            self._made.move_to_end(number)
            return entry
        columns = self._columns()
        row = number - columns.first
        if not 0 <= row < len(columns) or not (other := columns.link[row]):
            return None
        end = self._alive(other) or self._made.get(other)
        if end is None or end.span is None:
            return None
        ends = (end.span.request, end.span.response)
        return next((one for one in ends if one is not None and one.number == number), None)

    def _keep(self, entry: WireMessage) -> WireMessage:
        self._made[entry.number] = entry
        if len(self._made) > _KEPT:
            self._made.popitem(last=False)
        return entry

    def _bare(self, columns: Columns, row: int) -> WireMessage:
        """An entry without its span."""
        number, kind, flags = columns.first + row, columns.kind[row], columns.flags[row]
        entry = Recalled(
            number, columns.time[row], columns.servers.texts[columns.server[row]], DIRECTIONS[kind >> 4],
            KINDS[kind & 15], partial(self._body, number), columns.size[row],
            columns.methods.texts[columns.method[row]], columns.targets.texts[columns.target[row]], None,
            columns.exchange[row], bool(flags & bits.PROBE), bool(flags & bits.BY_HAND),
        )  # fmt: skip
        entry.source = self
        if entry.kind in ("request", "result", "error"):
            del entry.id
        if flags >> bits.SEVERITY & 3:
            del entry.findings
        return entry

    def _conversation(self, columns: Columns, request: int) -> None:
        """Make the span of a request, and those of the other rounds of its conversation: they hang together."""
        before: Span | None = None
        for number in self._rounds(columns, request):
            known = self._known(number)
            span = known.span if known is not None else self._span(columns, number)
            if span is not None and before is not None:
                span.follows, span.round, before.followed = before, before.round + 1, span
            before = span

    def _rounds(self, columns: Columns, request: int) -> list[int]:
        """The numbers of the requests of a conversation, as far as they are kept."""
        follows = columns.follows
        if not follows:
            return [request]
        rounds = [request]
        while columns.first <= (earlier := follows.get(rounds[0], 0)) < rounds[0] and len(rounds) < _ROUNDS:
            rounds.insert(0, earlier)
        state = (len(follows), next(reversed(follows)))
        if state != self._followed_state:
            self._followed = {earlier: number for number, earlier in follows.items()}
            self._followed_state = state
        while (later := self._followed.get(rounds[-1], 0)) > rounds[-1] and len(rounds) < 2 * _ROUNDS:
            rounds.append(later)
        return rounds

    def _span(self, columns: Columns, request: int) -> Span | None:
        """A new span with its ends; None where its request is not kept."""
        row = request - columns.first
        if not 0 <= row < len(columns):
            return None
        first = self._keep(self._bare(columns, row))
        span = first.span = Span(
            request, first.server, first.direction, first.method, first.target, first,
            asked=bool(columns.flags[row] & bits.ASKED), outcome=OUTCOMES[max(0, columns.outcome[row] - 1)],
        )  # fmt: skip
        response = columns.link[row]
        if request < response < columns.first + len(columns):
            span.response = self._keep(self._bare(columns, response - columns.first))
            span.response.span = span
        parent = self._known(columns.parents.get(request, 0))
        span.parent = parent.span if parent is not None else None
        return span


def _ancestors(columns: Columns, request: int) -> list[int]:
    """The requests that one came under, the nearest first; a later round of a conversation came with its first."""
    found: list[int] = []
    request = _first_round(columns, request)
    while columns.first <= (above := columns.parents.get(request, 0)) < request and len(found) < _DEEPEST:
        found.append(above)
        request = _first_round(columns, above)
    return found


def _first_round(columns: Columns, request: int) -> int:
    for _ in range(_ROUNDS):
        if not columns.first <= (earlier := columns.follows.get(request, 0)) < request:
            break
        request = earlier
    return request


def id_in(body: bytes) -> int | str | None:
    """The JSON-RPC id of a frame, None where it has none."""
    messages = parse(body).messages
    first = messages[0] if len(messages) == 1 else None
    return first.id if isinstance(first, (Request, Response, Failure)) else None


def id_stands_in(entry: WireMessage) -> bool:
    """Whether the id of an entry will be found again in its body."""
    body = entry.held
    if not isinstance(body, bytes) or entry.by_hand:
        return False
    return len(body) == entry.size <= _READ and body[:1] == b"{"


def findings_to_json(findings: tuple[Finding, ...]) -> Json:
    """What the lint says about an entry, to be kept beside it."""
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
