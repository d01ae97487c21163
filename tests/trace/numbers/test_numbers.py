"""What counts for what, once; what comes late; and that none of it grows without bound."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.redact import Redactor
from mcp_studio.trace import statistics as module
from mcp_studio.trace.message import ASKED, KINDS, OTHER, OUTCOMES, PROBE, Direction, MessageKind, WireMessage
from mcp_studio.trace.statistics import Method, Numbers, numbers_of
from mcp_studio.trace.store import TraceStore
from tests.trace.made import Made


def call(made: Made, target: str = "add", ms: float = 10, at: float = 1_000.0, **known: Any) -> int:
    """A tool call and its answer; gives the number of the answer."""
    request = made.request("tools/call", target, time=at, size=100, server=known.pop("server", "demo"))
    return made.answer(request, time=at + ms / 1000, size=300, server="demo", **known)


def looked(made: Made) -> Numbers:
    numbers = Numbers(made)
    assert numbers.look(60), "however busy the machine is"
    return numbers


def test_a_call_counts_for_its_tool_its_method_its_server_and_the_whole() -> None:
    made = Made()
    for ms in (10, 20, 30):
        call(made, ms=ms)
    numbers = looked(made)
    tool = numbers.of("demo", "tools/call", "add")
    assert tool is not None
    for tally in (tool, numbers.methods[Method("demo", "tools/call")], numbers.servers["demo"], numbers.total):
        assert (tally.count, tally.errors, tally.bytes_out, tally.bytes_in) == (3, 0, 300, 900)
        assert tally.p50 == pytest.approx(20, rel=1e-3)
        assert tally.p99 == pytest.approx(30, rel=1e-3)
        assert tally.last == 1_000


def test_what_is_open_counts_when_its_answer_has_come() -> None:
    made = Made()
    request = made.request("tools/call", "add", server="demo", time=1_000.0)
    numbers = looked(made)
    assert numbers.total.count == 0
    made.answer(request, time=1_000.5, server="demo")
    revision = numbers.revision
    numbers.look(60)
    assert (numbers.total.count, numbers.total.p50) == (1, pytest.approx(500, rel=1e-3))
    assert numbers.revision != revision
    numbers.look(60)
    assert numbers.total.count == 1


def test_kinds_of_errors_are_told_apart_and_what_was_cancelled_is_none() -> None:
    made = Made()
    failed = call(made, outcome="tool error")
    refused = call(made, kind="error", outcome="error")
    call(made)
    given_up = [made.request("tools/call", "add", server="demo") for _ in range(2)]
    numbers = looked(made)
    for number, outcome in zip(given_up, ("cancelled", "lost"), strict=True):
        made.columns.outcome[number - 1] = OUTCOMES.index(outcome) + 1
    numbers.look(60)
    tally = numbers.total
    assert (tally.count, tally.failed, tally.refused, tally.lost, tally.cancelled) == (5, 1, 1, 1, 1)
    assert (tally.errors, tally.error_rate) == (3, 0.75)
    assert list(tally.wrong) == [failed, refused, given_up[1]]
    assert tally.durations.count == 3


def test_finding_out_the_era_is_no_error() -> None:
    made = Made()
    probe = made.request("server/discover", server="demo", flags=PROBE)
    made.answer(probe, "error", "error", server="demo", flags=PROBE)
    method = looked(made).methods[Method("demo", "server/discover")]
    assert (method.count, method.errors) == (1, 0)


def test_a_stream_of_news_that_ends_with_its_connection_is_no_error() -> None:
    made = Made()
    stream = made.request("subscriptions/listen", server="demo")
    made.columns.outcome[stream - 1] = OUTCOMES.index("cancelled") + 1
    numbers = looked(made)
    method = numbers.methods[Method("demo", "subscriptions/listen")]
    assert (method.cancelled, method.errors, list(method.wrong), numbers.total.count) == (1, 0, [], 0)


def test_what_was_given_up_before_the_first_look_counts_too() -> None:
    made = Made()
    request = made.request("tools/call", "add", server="demo")
    made.columns.outcome[request - 1] = OUTCOMES.index("lost") + 1
    numbers = looked(made)
    assert numbers.total.lost == 1


def test_handshakes_and_a_persons_time_stand_apart() -> None:
    made = Made()
    made.answer(made.request("initialize", time=1_000.0, server="demo"), time=1_009.0, server="demo")
    call(made, "ask", ms=60_000)
    made.columns.flags[2] |= ASKED
    call(made, "add", ms=5)
    numbers = looked(made)
    assert (numbers.total.count, numbers.total.durations.count) == (2, 1)
    assert numbers.total.p99 == pytest.approx(5, rel=1e-3)
    asked = numbers.of("demo", "tools/call", "ask")
    assert asked is not None and asked.count == 1 and asked.p50 is None
    assert numbers.methods[Method("demo", "initialize")].p50 == pytest.approx(9_000, rel=1e-3)


def test_notifications_and_the_servers_own_requests_are_told_apart() -> None:
    made = Made()
    for _ in range(3):
        made.add("notification", "in", "notifications/progress", server="demo", size=50)
    question = made.request("sampling/createMessage", direction="in", server="demo", time=1_000.0, size=40)
    made.answer(question, time=1_030.0, server="demo", size=60)
    made.add("stderr", "in", server="demo", size=1_000)
    numbers = looked(made)
    server = numbers.servers["demo"]
    assert (server.count, server.notices, server.questions) == (0, 3, 1)
    assert (server.bytes_in, server.bytes_out) == (190, 60)
    assert numbers.methods[Method("demo", "notifications/progress", notice=True)].count == 3
    assert numbers.methods[Method("demo", "sampling/createMessage", theirs=True)].p50 == pytest.approx(30_000)


def test_a_frame_that_is_understood_later_counts_then() -> None:
    made = Made()
    request = made.request("tools/call", "add", server="demo", time=1_000.0)
    late = made.answer(request, time=1_000.1, server="demo")
    kind, made.columns.kind[late - 1] = made.columns.kind[late - 1], KINDS.index("invalid") | 16
    made.columns.link[request - 1] = 0
    numbers = looked(made)
    assert numbers.total.count == 0
    made.columns.kind[late - 1] = kind
    made.columns.link[request - 1] = late
    numbers.look(60)
    numbers.look(60)
    assert numbers.total.count == 1


def test_a_look_ends_when_its_time_is_over_and_the_next_goes_on() -> None:
    made = Made()
    for place in range(5_000):
        call(made, at=1_000.0 + place / 100)
    numbers = Numbers(made)
    looks = 1
    while not numbers.look(budget=0):
        looks += 1
        assert looks < 100
    assert looks > 2
    assert (numbers.total.count, numbers.behind) == (5_000, 0)


def test_what_was_trimmed_stays_counted() -> None:
    made = Made()
    for place in range(10):
        call(made, at=1_000.0 + place)
    numbers = looked(made)
    made.columns.trim(11)
    call(made, at=1_020.0)
    numbers.look(60)
    assert (numbers.total.count, numbers.behind) == (11, 0)
    made.columns.trim(made.columns.first + len(made.columns))
    assert numbers.look(60)
    assert numbers.total.count == 11


def test_endless_different_targets_and_methods_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 20)
    made = Made()
    for place in range(100):
        call(made, f"tool{place}")
        made.add("notification", "in", f"made-up/{place}", server="demo")
    numbers = looked(made)
    assert len(numbers.targets) <= 21 and len(numbers.methods) <= 21
    others = numbers.of("demo", "tools/call", OTHER)
    assert others is not None and others.count == 80
    assert numbers.total.count == 100


def test_unanswered_requests_are_come_back_to_only_up_to_a_number() -> None:
    made = Made()
    for _ in range(20_050):
        made.request("tools/call", "add", server="demo")
    numbers = looked(made)
    for row in range(20_050):
        made.columns.outcome[row] = OUTCOMES.index("lost") + 1
    assert numbers.look(60) and numbers.total.lost == 20_000


def test_times_that_are_none_do_no_harm() -> None:
    made = Made()
    for at in (float("nan"), float("inf"), -1e300, 1e300, 1_000.0):
        call(made, at=at)
    numbers = looked(made)
    assert numbers.total.count == 5


def test_numbers_of_a_selection_have_both_ends_of_every_request() -> None:
    made = Made()
    ends = [call(made, "add", ms=ms) for ms in (10, 20, 30)]
    by_request = numbers_of(made, [ends[1] - 1])
    by_answer = numbers_of(made, [ends[1], ends[1] - 1, 999])
    for numbers in (by_request, by_answer):
        assert (numbers.total.count, numbers.total.bytes_in + numbers.total.bytes_out) == (1, 400)
        assert numbers.total.p50 == pytest.approx(20, rel=1e-3)


def greeted(made: Made, at: float, method: str = "initialize") -> int:
    """A connection begins."""
    return made.answer(made.request(method, time=at, server="demo"), time=at, server="demo")


@pytest.mark.parametrize(
    ("note", "end", "uptime"),
    [("demo ended with exit code 3", "exit 3", 20), ("demo is slow", "", 90), ("demo ended with exit code 3", "", 90)],
)
def test_connections_last_until_a_note_tells_of_their_end_or_another_begins(note: str, end: str, uptime: float) -> None:
    store = TraceStore(Redactor())

    def add(at: float, direction: Direction, kind: MessageKind, text: str = "", method: str = "") -> WireMessage:
        entry = store.add("demo", direction, kind, text.encode())
        entry.time, entry.method = at, method
        store.columns.time[-1] = at
        store.revised(entry)
        return entry

    def greet(at: float) -> None:
        span = store.opened(add(at, "out", "request", method="initialize"))
        store.settled(span, add(at, "in", "result"), "ok")

    greet(1_000.0)
    add(1_010.0, "none", "note", note, end)
    greet(1_080.0)
    add(1_090.0, "in", "notification", method="notifications/message")
    numbers = Numbers(store)
    assert numbers.look(60)
    link = numbers.servers["demo"].link
    assert (link.reconnects, link.uptime()) == (1, uptime)
    assert link.uptime(1_100.0) == uptime + 10
    assert link.uptime(1_100.0, last=True) == 20, "since the last connect"


def test_only_handshakes_begin_a_connection_anew_while_one_stands() -> None:
    made = Made()
    early = made.request("initialize", time=1_000.0, server="demo")
    for at in (1_001.0, 1_002.0, 1_003.0):
        greeted(made, at, "server/discover")
    made.answer(early, time=1_004.0, server="demo")
    numbers = looked(made)
    assert numbers.servers["demo"].link.reconnects == 0, "one connection, discovered three times"
    greeted(made, 1_005.0)
    numbers.look(60)
    assert numbers.servers["demo"].link.reconnects == 1


def test_recordings_are_counted_together_and_their_gaps_are_no_uptime() -> None:
    first, second = Made(), Made()
    for made, begin in ((first, 1_000.0), (second, 9_000.0)):
        greeted(made, begin)
        call(made, ms=10, at=begin + 5, outcome="tool error" if made is second else "ok")
    numbers = looked(first)
    numbers.add(second.recording)
    tool = numbers.of("demo", "tools/call", "add")
    assert tool is not None and (tool.count, tool.errors, tool.durations.count) == (2, 1, 2)
    assert list(tool.wrong) == [4], "of the newest recording"
    link = numbers.servers["demo"].link
    assert (link.reconnects, round(link.uptime())) == (0, 10)
