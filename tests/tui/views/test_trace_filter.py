"""Which entries of a trace a filter text wants."""

from __future__ import annotations

import pytest

from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.views.trace_filter import FilterRun, Wanted, matches, parse


def entry(store: TraceStore, server: str, method: str, target: str = "", body: bytes = b"{}") -> WireMessage:
    made = store.add(server, "out", "request", body)
    made.method, made.target = method, target
    return made


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Wanted()),
        ("Read  FILE", Wanted(("read", "file"))),
        ("server:GitHub method:tools/ x", Wanted(("x",), ("github",), ("tools/",))),
        ("~s git ~m list ~t a ~e", Wanted((), ("git",), ("list",), ("a",), True)),
        ("error", Wanted(errors=True)),
        ("server: ~m", Wanted()),
        ("http://x", Wanted(("http://x",))),
    ],
)
def test_filter_texts_are_taken_apart(text: str, wanted: Wanted) -> None:
    assert parse(text) == wanted


def test_everything_said_must_be_true_of_an_entry() -> None:
    store = TraceStore(Redactor())
    one = entry(store, "github", "tools/call", "create_issue", b'{"Title": "Caf\xc3\x89"}')
    for text in ("issue", "github title", "server:git method:call", "~t create", "CAFÉ", "request", "café git"):
        assert matches(one, parse(text)), text
    for text in ("server:file", "method:list", "nowhere", "issue nowhere", "error", "cafe"):
        assert not matches(one, parse(text)), text


def test_failures_are_found_whatever_kind_they_are() -> None:
    store = TraceStore(Redactor())
    asked = entry(store, "a", "tools/call")
    span = store.opened(asked)
    assert not matches(asked, parse("error"))
    answer = store.add("a", "in", "result", b"{}")
    store.settled(span, answer, False)
    span.outcome = "tool error"
    bad = store.add("a", "in", "invalid", b"x")
    assert all(matches(found, parse("error")) for found in (asked, answer, bad))


def test_a_run_follows_a_ring_and_forgets_what_goes() -> None:
    store = TraceStore(Redactor(), Limits(trace_entries=1_000))
    run = FilterRun(parse("even"))
    for number in range(1, 5_001):
        entry(store, "s", "even" if number % 2 == 0 else "odd")
        if number % 700 == 0:
            run.advance(store, 1)
    while not run.advance(store, 0):
        assert run.share(store) < 1
    assert run.share(store) == 1 and len(run) == 500
    assert run.number(0) == 4_002 and run.number(499) == 5_000
    assert [run.place(number) for number in (4_002, 4_003, 5_000, 6_000)] == [0, 1, 499, 500]
    store.clear()
    assert run.advance(store, 1) and len(run) == 0 and run.share(store) == 1
