"""The search behind the rows of a table."""

from __future__ import annotations

import time

from mcp_studio.redact import Redactor
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.views.trace_filter import FilterRun


def test_wanted_entries_have_places_among_each_other() -> None:
    store = TraceStore(Redactor())
    for number in range(1, 101):
        entry = store.add("s", "out", "request", b"{}")
        entry.method = "even" if number % 2 == 0 else "odd"
        store.revised(entry)
    run = FilterRun(store, parse("method:even"))
    end = time.monotonic() + 20
    while not run.advance(0.1):
        assert time.monotonic() < end
    assert len(run) == 50 and run.share == 1 and not run.trouble
    assert run.number(0) == 2 and run.number(49) == 100
    assert [run.place(number) for number in (1, 2, 3, 100, 200)] == [0, 0, 1, 49, 50]
    run.cancel()
