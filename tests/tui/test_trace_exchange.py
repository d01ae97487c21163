"""What an exchange of the trace is made of: what belongs to it, its timeline, its findings; whatever a file holds."""

from __future__ import annotations

import asyncio
from array import array
from random import Random

import pytest

from mcp_studio.redact import Redactor
from mcp_studio.trace import tree
from mcp_studio.trace.message import DIRECTIONS, KINDS, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.views.exchange import (
    ExchangeView,
    exchange_of,
    findings_text,
    first_tab,
    heads_text,
    printed_text,
    title_of,
)
from mcp_studio.tui.views.glyphs import choose
from mcp_studio.tui.views.line import width_of
from mcp_studio.tui.views.timeline import Drawing, Event, timeline
from mcp_studio.tui.views.trace_row import draw, rows_with, widths_for
from tests.support import wait_until
from tests.trace.lint.kit import MODERN, Talk, text
from tests.trace.test_sign_ins import PURPOSE, signed_in
from tests.tui.views.stage import Stage, staged


def row_text(store: TraceStore, number: int, width: int = 120) -> str:
    return "".join(piece for piece, _ in draw(store, number - 1, widths_for(width)))


def events_of(store: TraceStore, number: int) -> tuple[Event, ...]:
    family = tree.tree(store, number)
    assert family is not None
    return timeline(store, family, number)


def drawn(drawing: Drawing, event: Event | None, width: int) -> str:
    return "".join(text for text, _ in drawing.draw(event, width))


def test_rows_are_found_by_a_byte() -> None:
    store = TraceStore(Redactor())
    for _ in range(10):
        store.add("s", "in", "stderr", b"x")
    store.mark(3, True)
    store.comment(7, "look")
    assert list(rows_with(store.columns.flags, bytes([8, 16]), 0, 99)) == [2, 6]


def talk() -> TraceStore:
    """A call with progress, a question that a person answers, and a log message."""
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b'{"id":1,"params":{"_meta":{"progressToken":1}}}')
    asked.method, asked.target, asked.id, asked.time = "tools/call", "ask", 1, 100.0
    span = store.opened(asked)
    for step, token in ((1, 1), (2, 1), (1, 99)):
        body = b'{"params":{"progressToken":%d,"progress":%d,"total":3}}' % (token, step)
        progress = store.add("s", "in", "notification", body)
        progress.method, progress.time = "notifications/progress", 100.0 + step / 10
        store.revised(progress)
    question = store.add("s", "in", "request", b"{}")
    question.method, question.time = "elicitation/create", 100.4
    inner = store.opened(question, span)
    said = store.add("s", "out", "result", b"{}")
    said.time = 100.78
    store.settled(inner, said, False)
    answer = store.add("s", "in", "result", b"{}" * 2_000)
    answer.time = 100.812
    store.settled(span, answer, False)
    store.columns.time[:] = array("d", [entry.time for entry in store])
    return store


def test_a_timeline_has_progress_and_questions_on_one_scale() -> None:
    store = talk()
    events = events_of(store, 1)
    assert [event.label for event in events] == ["tools/call ask", "progress", "elicitation/create"]
    assert events[1].note == "2 of 3" and len(events[1].ticks) == 2, "another token is another call's"
    assert events[2].note == "ok 380 ms"
    drawing = Drawing(events)
    for width in (30, 66, 140):
        assert all(width_of(drawing.draw(event, width)) <= max(width, 40) for event in (None, *events))
        assert "812 ms" in drawn(drawing, None, max(width, 66)) and "├" in drawn(drawing, events[0], width)
    exchange = exchange_of(store, store[0])
    assert title_of(store.columns, exchange) == "tools/call ask · s · request 1 · 812 ms · ok"


def test_what_is_open_reaches_to_now() -> None:
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b"{}")
    asked.method, asked.time = "tools/call", 100.0
    store.opened(asked)
    events = events_of(store, 1)
    drawing = Drawing(events, 107.0)
    assert (drawing.begin, drawing.end) == (100.0, 107.0)
    assert drawn(drawing, events[0], 80).rstrip().endswith("…")


def test_the_rounds_of_a_call_read_as_one_conversation() -> None:
    conversation = Talk(MODERN)
    store = conversation.store
    conversation.called("tools/call", {"resultType": "input_required", "requestState": "s"})
    assert "round" not in row_text(store, conversation.newest.number)
    conversation.ask("tools/call", follows=2)
    conversation.answer(text())
    assert "↳ round 2 tools/call" in row_text(store, conversation.newest.number)
    labels = [event.label for event in events_of(store, conversation.newest.number)]
    assert any(label.startswith("round 2 tools/call") for label in labels) and "answer" in labels


@pytest.mark.parametrize(("ascii", "signs"), [(False, "✗!· "), (True, "x!. ")])
def test_a_row_begins_with_the_sign_of_its_worst_finding(ascii: bool, signs: str) -> None:
    choose(ascii=ascii)
    try:
        conversation, found = Talk(), list[str]()
        for message in (
            {"jsonrpc": "1.0", "method": "notifications/cancelled", "extra": 1},
            {"jsonrpc": "2.0", "id": "x", "method": "no/such"},
            {"jsonrpc": "2.0", "method": "notifications/hologram"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        ):
            conversation.hear(message)
            found.append(row_text(conversation.store, conversation.newest.number)[1])
        assert found == list(signs)
        first = conversation.store.entry(conversation.newest.number - 3)
        assert first is not None
        worst = exchange_of(conversation.store, first)
        assert "specification" in findings_text(worst) and worst.findings[0].severity == "error"
    finally:
        choose(ascii=False)


def test_the_exchanges_of_signing_in_say_what_they_are_for_and_where_they_go() -> None:
    store = signed_in()
    assert f"{PURPOSE}: https://as.example/token?tenant=t" in row_text(store, 4, 200)
    assert "200" in row_text(store, 5, 200) and "failed" in row_text(store, 7, 200)
    assert [event.label for event in events_of(store, 2)] == [
        "tools/call echo", "401 Unauthorized", f"POST {PURPOSE}", "200", "GET metadata",
        "failed: No connection: Bearer ‹redacted›",
    ]  # fmt: skip
    entry = store.entry(5)
    assert entry is not None and first_tab(entry) == "http"
    exchange = exchange_of(store, entry)
    assert exchange.request.number == 4
    assert "grant_type=authorization_code" in heads_text(exchange) and "s3cr" not in heads_text(exchange)


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
        elif kind in ("result", "error") and spans:
            store.settled(chance.choice(spans), entry, kind == "error")
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
def test_whatever_a_recording_holds_is_drawn(seed: int) -> None:
    store = anything(Random(seed))
    for row, entry in enumerate(store):
        exchange = exchange_of(store, entry)
        events = events_of(store, exchange.request.number)
        assert isinstance(heads_text(exchange) + printed_text(exchange) + findings_text(exchange), str)
        assert "\x1b" not in title_of(store.columns, exchange)
        for width in (10, 75, 130):
            drawing = Drawing(events, 1e9 + 5)
            lines = [drawing.draw(event, width) for event in (None, *events)]
            lines.append(draw(store, row, widths_for(width, 6)))
            assert "\x1b" not in "".join(text for line in lines for text, _ in line)


class Slow(TraceStore):
    """Its bodies come when they are let go."""

    def __init__(self) -> None:
        super().__init__(Redactor())
        self.go = asyncio.Event()

    async def body(self, entry: WireMessage) -> bytes:
        await self.go.wait()
        return entry.body


def screen_text(stage: Stage) -> str:
    strips = stage.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def test_a_body_on_disk_is_said_to_be_loading_and_shown_when_it_is_there() -> None:
    store = Slow()
    entry = store.add("s", "in", "notification", b'{"method":"x"}')
    entry.held = lambda: b'{"method":"of the disk"}'
    other = store.add("s", "in", "stderr", b"oops")
    async with staged(view := ExchangeView("A hint."), (80, 20)) as (stage, pilot):
        await wait_until(lambda: "A hint." in screen_text(stage))
        view.show(store, entry)
        await wait_until(lambda: "Loading 14B" in screen_text(stage))
        view.tabs.active = "output"
        view.show(store, other)
        store.go.set()
        await wait_until(lambda: "oops" in screen_text(stage))
        await pilot.pause()
        assert "of the disk" not in screen_text(stage), "it belongs to an entry that is not shown any more"
        view.show(store, entry)
        view.tabs.active = "request"
        await wait_until(lambda: "of the disk" in screen_text(stage))
        view.tabs.active = "response"
        await wait_until(lambda: "There is no response." in screen_text(stage))
