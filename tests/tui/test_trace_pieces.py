"""What the trace's detail and its signs are made of, without a screen."""

from __future__ import annotations

from array import array
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_studio.tui.diff_rows import DiffRow, Fold, diff_rows, folded
from mcp_studio.tui.timeline import timeline
from mcp_studio.tui.views.trace_marks import noted, rows_with
from mcp_studio.tui.views.trace_row import draw, of_columns, of_message
from mcp_studio.tui.views.trace_seen import Seen
from mcp_studio.tui.views.trace_timeline import Drawing, took
from mcp_studio.tui.views.trace_words import said

from mcp_studio.redact import Redactor
from mcp_studio.trace import tree
from mcp_studio.trace.diff import diff
from mcp_studio.trace.message import COMMENTED, DIRECTIONS, KINDS, MARKED
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui import tracing
from mcp_studio.tui.views.line import width_of


def test_only_what_comes_while_the_person_is_away_is_new_to_them() -> None:
    seen = Seen()
    seen.look(10, False)
    assert not seen.is_new(10) and not seen.waiting, "who never looked is not told what is new"
    seen.look(10, True)
    seen.look(10, False)
    assert seen.waiting and seen.first(10) == 0
    assert [seen.is_new(number) for number in (10, 11)] == [False, True] and seen.first(12) == 11
    seen.look(12, True)
    assert [seen.is_new(number) for number in (11, 12, 13)] == [True, True, False], "what comes now is looked at"
    seen.look(20, False)
    assert not seen.is_new(12) and seen.is_new(21)


def test_rows_are_found_by_a_byte_and_the_nearest_noted_one_in_both_directions() -> None:
    store = TraceStore(Redactor())
    for _ in range(10):
        store.add("s", "in", "stderr", b"x")
    store.mark(3, True)
    store.comment(7, "look")
    flags = store.columns.flags
    assert list(rows_with(flags, bytes([MARKED, COMMENTED]), 0, 99)) == [2, 6]
    assert [noted(flags, row, 1) for row in (0, 2, 6)] == [2, 6, None]
    assert [noted(flags, row, -1) for row in (9, 6, 2)] == [6, 2, None]


def test_a_row_out_of_the_columns_is_that_of_the_entry() -> None:
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b"{}")
    asked.method, asked.target = "tools/call", "ask"
    span = store.opened(asked)
    inner = store.add("s", "in", "request", b"{}")
    inner.method = "elicitation/create"
    store.opened(inner, span)
    store.add("s", "in", "stray", b"oops")
    answer = store.add("s", "in", "result", b"{}")
    store.settled(span, answer, False, tool=True)
    for index, entry in enumerate(store):
        shown = of_columns(store.columns, index, lambda entry=entry: entry.body)
        assert draw(shown, 118) == draw(of_message(entry), 118)
    assert "└ elicitation/create" in "".join(text for text, _ in draw(of_columns(store.columns, 1, bytes), 118))
    store.mark(1, True)
    assert draw(of_columns(store.columns, 0, bytes), 118)[0][0] == "◆"
    assert draw(of_columns(store.columns, 0, bytes)._replace(marked=False), 118, new=True)[0][0] == "▌"


@pytest.mark.parametrize(
    ("kind", "method", "body", "words"),
    [
        ("notification", "notifications/message", b'{"params":{"level":"info","data":"a\\n b"}}', "info a b"),
        ("notification", "notifications/message", b'{"params":{"level":"info","data":{"x":1}}}', 'info {"x": 1}'),
        (
            "notification",
            "notifications/progress",
            b'{"params":{"progress":2,"total":3000,"message":"m"}}',
            "2 of 3,000 m",
        ),
        ("notification", "notifications/cancelled", b'{"params":{"requestId":7,"reason":"late"}}', "request 7 late"),
        ("error", "tools/call", b'{"error":{"code":-32602,"message":"Invalid params"}}', "-32602 Invalid params"),
        ("error", "tools/call", b'{"error":"odd"}', ""),
        ("notification", "notifications/message", b"no json", ""),
        ("result", "tools/call", b'{"result":{}}', ""),
    ],
)
def test_small_messages_say_something_in_their_row(kind: str, method: str, body: bytes, words: str) -> None:
    assert said(kind, method, body) == words


def talk() -> TraceStore:
    """A call with progress, a question that a person answers, and a log message."""
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b'{"id":1,"params":{"_meta":{"progressToken":1}}}')
    asked.method, asked.target, asked.id, asked.time = "tools/call", "ask", 1, 100.0
    span = store.opened(asked)
    for step, token in ((1, 1), (2, 1), (1, 99)):
        progress = store.add(
            "s", "in", "notification", b'{"params":{"progressToken":%d,"progress":%d,"total":3}}' % (token, step)
        )
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


def test_a_timeline_has_progress_questions_and_who_answered_them_on_one_scale() -> None:
    store = talk()
    family = tree.tree(store, 1)
    assert family is not None
    events = timeline(store, family, 1)
    assert [event.label for event in events] == ["tools/call ask", "progress, 2 times", "elicitation/create"]
    assert events[1].note == "last 2 of 3" and events[2].note == "you answered in 380 ms"
    for width in (30, 66, 140):
        drawing = Drawing(events)
        lines = ["".join(text for text, _ in drawing.draw(event, width)) for event in (None, *events)]
        assert all(width_of(drawing.draw(event, width)) <= max(width, 34) for event in events)
        assert "812 ms" in lines[0] and "├" in lines[1]
    assert [tracing.detail_of(store, store[place]).family.number for place in (0, 2, 3, 4)] == [1, 1, 4, 1]
    store.add("s", "none", "note", b"elicitation answered by rule 1: accept")
    detail = tracing.detail_of(store, store[0])
    assert detail.relatives == 1 and "request 1" in detail.title and "812 ms" in detail.title


def test_what_is_open_reaches_to_now() -> None:
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b"{}")
    asked.method, asked.time = "tools/call", 100.0
    store.opened(asked)
    family = tree.tree(store, 1)
    assert family is not None
    drawing = Drawing(timeline(store, family, 1), 107.0)
    assert (drawing.begin, drawing.end) == (100.0, 107.0)
    assert "".join(text for text, _ in drawing.draw(drawing.events[0], 80)).rstrip().endswith("…")


@pytest.mark.parametrize(("ms", "text"), [(0.44, "0.4 ms"), (812, "812 ms"), (12_100, "12.1 s"), (1_200_000, "20 min")])
def test_times_take_few_characters(ms: float, text: str) -> None:
    assert took(ms) == text


# How two messages differ


def shown(before: object, after: object) -> list[tuple[str, str | None, str | None]]:
    return [
        (row.kind, row.before and row.before.strip(), row.after and row.after.strip())
        for row in diff_rows(before, after, diff(before, after))
        if row.kind != "same"
    ]


def test_members_items_and_texts_that_differ_stand_beside_each_other() -> None:
    before = {"a": 1, "b": {"x": [1, 2, 3]}, "gone": {"k": 1}, "text": "one\ntwo\nthree"}
    after = {"a": 2, "b": {"x": [1, 3, 4]}, "text": "one\n2\nthree", "new": True}
    rows = shown(before, after)
    assert ("changed", '"a": 1', '"a": 2') in rows
    assert ("removed", "2", None) in rows and ("added", None, "4") in rows
    assert ("removed", '"k": 1', None) in rows and ("added", None, '"new": true') in rows
    assert ("changed", "two", "2") in rows and not any("three" in (row[1] or "") for row in rows)


def test_a_text_that_is_json_is_looked_into_and_another_type_is_shown_whole() -> None:
    rows = shown({"t": '{"a": 1, "b": 2}', "v": {"x": 1}}, {"t": '{"a": 1, "b": 3}', "v": "x"})
    assert ("changed", '"b": 2', '"b": 3') in rows
    assert rows[-3:] == [("changed", '"v": {', '"v": "x"'), ("removed", '"x": 1', None), ("removed", "}", None)]


def test_what_is_the_same_is_folded_but_for_what_is_near() -> None:
    rows = [DiffRow("same", "x", "x")] * 10 + [DiffRow("changed", "a", "b")] + [DiffRow("same", "y", "y")] * 3
    assert folded(rows) == [Fold(7), *rows[7:]]
    assert folded(rows[:4]) == [Fold(4)] and folded([]) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab\n", max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON, JSON)
def test_whatever_differs_is_marked_and_what_does_not_is_not(before: object, after: object) -> None:
    differences = diff(before, after)
    rows = diff_rows(before, after, differences)
    assert any(row.kind != "same" for row in rows) == bool(differences)
    assert all(row.before == row.after for row in diff_rows(before, before, diff(before, before)))


# Whatever a file holds


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
        detail = tracing.detail_of(store, entry)
        events = timeline(store, detail.family, detail.request.number)
        texts = [tracing.headers(store, detail.heads), tracing.printed(store, detail.printed), detail.title]
        assert detail.relatives >= 0 and "\x1b" not in texts[2]
        for width in (10, 75, 130):
            drawing = Drawing(events, 1e9 + 5)
            lines = [drawing.draw(event, width) for event in (None, *events)]
            lines.append(draw(of_columns(store.columns, row, lambda entry=entry: entry.body), width, 6))
            assert "\x1b" not in "".join(text for line in lines for text, _ in line)
