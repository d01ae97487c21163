"""Entries are made again from columns: spans with both ends, rounds, parents, ids and findings."""

from __future__ import annotations

from mcp_studio.trace import message as bits
from mcp_studio.trace.capture import EntryMaker, id_in
from mcp_studio.trace.lint.rules import Finding, findings_from_json
from mcp_studio.trace.message import DIRECTIONS, KINDS, OUTCOMES, Columns, MessageKind, Outcome, WireMessage


class Made:
    """Columns that are filled by hand, and what is read beside them."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.bodies: dict[int, bytes] = {}
        self.findings: dict[int, tuple[Finding, ...]] = {}
        self.read: list[int] = []
        self.maker = EntryMaker(lambda: self.columns, self.body, lambda number: self.findings.get(number, ()))

    def body(self, number: int) -> bytes:
        self.read.append(number)
        return self.bodies.get(number, b"")

    def row(
        self, kind: MessageKind, *, link: int = 0, outcome: Outcome | None = None, flags: int = 0, size: int = 10
    ) -> int:
        columns = self.columns
        columns.time.append(1000.0 + len(columns))
        columns.size.append(size)
        columns.server.append(columns.servers["s"])
        columns.method.append(columns.methods["tools/call"])
        columns.target.append(columns.targets["echo"])
        columns.kind.append(DIRECTIONS.index("out") << 4 | KINDS.index(kind))
        columns.flags.append(flags)
        columns.outcome.append(OUTCOMES.index(outcome) + 1 if outcome else 0)
        columns.link.append(link)
        columns.exchange.append(0)
        return len(columns)

    def entry(self, number: int) -> WireMessage:
        entry = self.maker.entry(number)
        assert entry is not None
        return entry


def test_both_ends_of_a_span_have_the_same_span() -> None:
    made = Made()
    made.row("request", link=3, outcome="tool error", flags=bits.ASKED | bits.PROBE)
    made.row("notification")
    made.row("result", link=1, outcome="tool error")
    answer, request = made.entry(3), made.entry(1)
    span = request.span
    assert span is not None and answer.span is span
    assert span.request is request and span.response is answer is made.entry(3)
    assert (span.outcome, span.asked, span.ms) == ("tool error", True, 2000.0)
    assert (request.server, request.method, request.target, request.probe) == ("s", "tools/call", "echo", True)
    assert made.entry(2).span is None and made.maker.entry(4) is None and made.maker.entry(0) is None


def test_bodies_ids_and_findings_are_read() -> None:
    made = Made()
    made.row("request", outcome="lost", flags=3 << bits.SEVERITY)
    made.row("request", outcome="open", size=100_000)
    found = (Finding("error", "not-json", "It is not JSON.", "basic", "/a", 1),)
    made.findings = {1: found}
    made.bodies[1] = b'{"id":7,"method":"m"}'
    entry = made.entry(1)
    assert entry.id == 7 and entry.body == made.bodies[1] and entry.findings == found
    assert made.entry(2).id is None  # it is too large to be read for that


def test_rounds_of_a_conversation_are_counted_wherever_one_begins() -> None:
    made = Made()
    for number in (1, 3, 5):
        made.row("request", link=number + 1, outcome="ok")
        made.row("result", link=number, outcome="ok")
    made.columns.follows = {3: 1, 5: 3}
    for begin in (1, 4, 5):
        made.maker.forget()
        span = made.entry(begin).span
        assert span is not None and span.round == (begin + 1) // 2


def test_what_came_under_a_request_knows_it() -> None:
    made = Made()
    for _ in range(200):
        made.row("request", outcome="open")
    made.columns.parents = {number: number - 1 for number in range(2, 201)}
    span, depth = made.entry(200).span, 0
    while span is not None and span.parent is not None:
        assert span.parent.number == span.number - 1
        span, depth = span.parent, depth + 1
    assert depth >= 20


def test_links_that_lead_nowhere_or_in_circles_do_no_harm() -> None:
    made = Made()
    made.row("request", link=1, outcome="ok")
    made.row("result", link=99, outcome="ok")
    made.row("result", link=2, outcome="ok")
    made.row("request", link=3, outcome="ok")
    made.columns.parents = {1: 4, 4: 1, 2: 2}
    made.columns.follows = {1: 4, 4: 1, 3: 3}
    for number in (1, 2, 3, 4):
        entry = made.entry(number)
        assert entry.number == number


def test_an_answer_whose_request_is_gone_is_an_entry_by_itself() -> None:
    made = Made()
    made.row("request", link=2, outcome="ok")
    made.row("result", link=1, outcome="ok")
    made.columns.trim(2)
    assert made.entry(2).span is None and made.maker.entry(1) is None


def test_what_is_in_memory_is_given_as_it_is() -> None:
    made = Made()
    made.row("request", link=2, outcome="ok")
    made.row("result", link=1, outcome="ok")
    request, answer = made.entry(1), made.entry(2)
    alive = {2: answer}
    other = EntryMaker(lambda: made.columns, made.body, lambda number: (), alive.get)
    assert other.entry(2) is answer and other.entry(1) is request


def test_very_many_entries_are_not_all_kept() -> None:
    made = Made()
    for _ in range(2_000):
        made.row("notification")
    first = made.entry(1)
    assert made.entry(1) is first
    for number in range(1, 2_001):
        made.entry(number)
    assert made.entry(1) is not first


def test_findings_that_are_none_are_left_out() -> None:
    assert findings_from_json([["error", "r", "t", "s"], 5, ["bad", "r", "t", "s", ""], None], 1) == ()
    assert findings_from_json({"a": 1}, 1) == () and id_in(b"nothing") is None
