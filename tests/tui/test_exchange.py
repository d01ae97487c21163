"""One exchange of a trace: its timeline, its texts, whatever a recording holds; without a screen."""

from __future__ import annotations

from array import array
from random import Random

import pytest

from mcp_studio.present.units import duration
from mcp_studio.redact import Redactor
from mcp_studio.trace.message import DIRECTIONS, KINDS, NEEDS_INPUT
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import exchange_of
from mcp_studio.tui.views import exchange
from mcp_studio.tui.views.exchange import Drawing, timeline
from mcp_studio.tui.views.rows import width_of
from mcp_studio.tui.views.trace_table import draw, took_text, widths_for
from tests.trace.test_sign_ins import PURPOSE, signed_in


def talk() -> TraceStore:
    """A call with progress, and an elicitation that a person answers."""
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b'{"id":1,"params":{"_meta":{"progressToken":1}}}', "tools/call", "ask", 1)
    asked.time = 100.0
    span = store.opened(asked)
    for step, token in ((1, 1), (2, 1), (1, 99)):
        body = b'{"params":{"progressToken":%d,"progress":%d,"total":3}}' % (token, step)
        progress = store.add("s", "in", "notification", body)
        progress.method, progress.time = "notifications/progress", 100.0 + step / 10
        store.revised(progress)
    question = store.add("s", "in", "request", b"{}", "elicitation/create")
    question.time = 100.4
    inner = store.opened(question, span)
    store.revised(question)
    said = store.add("s", "out", "result", b"{}")
    said.time = 100.78
    store.settled(inner, said, "ok")
    answer = store.add("s", "in", "result", b"{}" * 2_000)
    answer.time = 100.812
    store.settled(span, answer, "ok")
    store.columns.time[:] = array("d", [entry.time for entry in store])
    return store


def drawn(drawing: Drawing, event: exchange.Event | None, width: int) -> str:
    return "".join(text for text, _ in drawing.draw(event, width))


def test_a_timeline_has_the_call_its_progress_and_its_elicitation_on_one_scale() -> None:
    store = talk()
    events = timeline(store, 1)
    assert [(event.label, event.note) for event in events] == [
        ("tools/call ask", "ok 812 ms"), ("progress", "2 of 3"), ("elicitation/create", "ok 380 ms"),
    ]  # fmt: skip
    drawing = Drawing(events)
    for width in (30, 66, 140):
        scale, *rows = (drawn(drawing, event, width) for event in (None, *events))
        assert all(width_of(drawing.draw(event, width)) <= max(width, 34) for event in events)
        assert "812 ms" in scale
        ends = [(line.index("├"), line.rindex("┤")) for line in (scale, rows[0])]
        assert ends[0] == ends[1] or width == 30, "there the scale has no room"
    shown = exchange_of(store, store[0])
    assert [exchange_of(store, store[place]).request.number for place in (0, 4, 5, 6)] == [1, 5, 5, 1]
    assert exchange.title_of(store.columns, shown) == "tools/call ask · s · request 1 · 812 ms · ok"


def test_a_title_says_what_the_rows_say_of_an_answer_that_wants_input() -> None:
    store = talk()
    assert exchange.title_of(store.columns, exchange_of(store, next(iter(store)))).endswith(" · ok")
    store.columns.flags[0] |= NEEDS_INPUT
    assert exchange.title_of(store.columns, exchange_of(store, next(iter(store)))).endswith(" · needs input")


def test_what_is_open_reaches_to_now() -> None:
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b"{}", "tools/call")
    asked.time = 100.0
    store.opened(asked)
    drawing = Drawing(timeline(store, 1), 107.0)
    assert (drawing.begin, drawing.end) == (100.0, 107.0)
    assert drawn(drawing, timeline(store, 1)[0], 80).rstrip().endswith("…")


@pytest.mark.parametrize(
    ("ms", "text"), [(None, "—"), (0.44, "0.4 ms"), (812, "812 ms"), (12_100, "12.1 s"), (1_200_000, "20 min")]
)
def test_times_take_few_characters(ms: float | None, text: str) -> None:
    assert took_text(ms) == text


def test_a_duration_is_never_nothing() -> None:
    assert [duration(ms) for ms in (0.0, 0.42, 0.97, 18.4)] == ["0 ms", "0.4 ms", "1 ms", "18 ms"]


def test_signing_in_stands_in_rows_timeline_and_headers_of_the_call_that_it_was_for() -> None:
    store = signed_in()

    def row(number: int) -> str:
        return "".join(text for text, _ in draw(store, number - 1, widths_for(200)))

    assert f"{PURPOSE}: https://as.example/token?tenant=t" in row(4)
    assert "200" in row(5) and PURPOSE in row(5)
    assert "failed" in row(7) and "metadata" in row(7)
    assert [event.label for event in timeline(store, 2)] == [
        "tools/call echo", "401 Unauthorized", f"POST {PURPOSE}", "200", "GET metadata",
        "failed: No connection: Bearer ‹redacted›",
    ]  # fmt: skip
    shown = exchange_of(store, store[4])
    assert shown.request.number == 4 and exchange.first_tab(store[4]) == "http"
    text = exchange.heads_text(shown)
    assert "grant_type=authorization_code" in text and '"scope":"notes"' in text and "s3cr" not in text


def test_each_attempt_has_its_own_http_messages_though_every_connection_counts_from_1() -> None:
    store = TraceStore(Redactor())
    for attempt in (1, 2, 3):
        store.add("s", "out", "http", b"POST /%d" % attempt, exchange=1)
        store.opened(store.add("s", "out", "request", b'{"id":1}', "server/discover", "", 1, exchange=1))
        store.add("s", "in", "http", b"failed: attempt %d" % attempt, exchange=1)
    for place, entry in enumerate([store[place] for place in range(9)]):
        heads = [one.body[-1:] for one in exchange_of(store, entry).heads]
        assert heads == [b"%d" % (place // 3 + 1)] * 2, entry


BODIES = (
    b"{}", b"\xff\x00", b"[1]", b"null", b'{"error":{"code":1}}', b'{"params":{"_meta":{"progressToken":1}}}',
    b'{"params":{"progressToken":1,"progress":"x"}}', b'{"result":{"inputRequests":[1]}}',
)  # fmt: skip
METHODS = ("", "tools/call", "notifications/progress", "notifications/message", "elicitation/create", "\x1b[31m")


def anything(chance: Random) -> TraceStore:
    """Entries of all kinds, linked as no server would, by a clock that jumps."""
    store = TraceStore(Redactor())
    spans = []
    for _ in range(25):
        direction, kind = chance.choice(DIRECTIONS), chance.choice(KINDS)
        entry = store.add(chance.choice("ab"), direction, kind, chance.choice(BODIES), exchange=chance.randrange(3))
        entry.method, entry.time = chance.choice(METHODS), chance.choice((0.0, 5.0, 1e9, 1e9 + 1, 1e11 - 1))
        store.revised(entry)
        if kind == "request":
            spans.append(store.opened(entry, chance.choice(spans) if spans and chance.random() < 0.5 else None))
            store.revised(entry)
        elif kind in ("result", "error") and spans:
            store.settled(chance.choice(spans), entry, "error" if kind == "error" else "ok")
    columns = store.columns
    columns.time[:] = array("d", [entry.time for entry in store])
    for number in range(2, 26):
        for links in (columns.follows, columns.parents):
            if chance.random() < 0.2:
                links[number] = chance.randrange(1, number)
        if chance.random() < 0.1:
            columns.link[number - 1] = chance.randrange(26)
    return store


@pytest.mark.parametrize("seed", range(8))
def test_whatever_a_recording_holds_is_drawn_and_harmless(seed: int) -> None:
    store = anything(Random(seed))
    for row in range(len(store)):
        entry = store[row]
        shown = exchange_of(store, entry)
        events = timeline(store, shown.request.number)
        title = exchange.title_of(store.columns, shown)
        assert exchange.heads_text(shown) is not None and exchange.printed_text(shown) is not None
        for width in (10, 75, 130):
            drawing = Drawing(events, 1e9 + 5)
            lines = [drawing.draw(event, width) for event in (None, *events)]
            lines.append(draw(store, row, widths_for(width)))
            assert "\x1b" not in title + "".join(text for line in lines for text, _ in line)
