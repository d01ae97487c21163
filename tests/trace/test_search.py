"""Searching beside the event loop: what is found, what comes, what changes, what goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import Search
from mcp_studio.trace.store import TraceStore
from tests.trace.query.kit import Fake, entry, span


def numbers(search: Search) -> list[int]:
    return [search.found[index] for index in range(len(search.found))]


def await_true(holds: Callable[[], object]) -> None:
    """Wait for another thread."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        threading.Event().wait(0.002)


def through(search: Search, done: Callable[[], bool] | None = None) -> list[int]:
    """Pull until all is looked at."""
    end = time.monotonic() + 20
    while not search.pull() or (done is not None and not done()):
        assert time.monotonic() < end
        threading.Event().wait(0.002)
    return numbers(search)


def bodies(count: int, first: int = 1) -> list[object]:
    return [entry(n, body=b"foo" if n % 3 == 0 else b"bar") for n in range(first, first + count)]


@pytest.mark.parametrize("text", ["foo", "/foo/", "/fo+/"])
def test_what_comes_is_found_too(text: str) -> None:
    recording = Fake(bodies(5_000), block=256)  # type: ignore[arg-type]
    search = Search(recording, parse(text))
    assert through(search) == list(range(3, 5_000, 3)) and search.done == 1
    recording.add(*bodies(10, 5_001))  # type: ignore[arg-type]
    assert through(search) == list(range(3, 5_011, 3))
    recording.add(*bodies(9_000, 5_011))  # type: ignore[arg-type]
    assert through(search) == list(range(3, 14_011, 3))
    assert search.pull() and numbers(search) == list(range(3, 14_011, 3))
    search.cancel()


@pytest.mark.parametrize("text", ["status:open", "status:open /^x/m or status:open"])
def test_what_changes_comes_and_goes(text: str) -> None:
    asked = [entry(n) for n in range(1, 6)]
    for one in asked:
        span(one, None, "open")
    recording = Fake(asked)
    search = Search(recording, parse(text))
    assert through(search) == [1, 2, 3, 4, 5]
    answer = entry(6, "result")
    span(asked[1], answer, "ok")
    recording.add(answer)
    recording.changed(asked[1])
    assert through(search) == [1, 3, 4, 5]
    span(asked[1], None, "open")
    recording.changed(asked[1])
    assert through(search) == [1, 2, 3, 4, 5]
    search.cancel()


def test_marks_come_and_go() -> None:
    recording = Fake([entry(n) for n in range(1, 4)])
    search, said = Search(recording, parse("marked or is:commented")), Search(recording, parse("comment:ODD"))
    assert through(search) == through(said) == []
    recording.mark(2, True)
    recording.comment(3, "very odd")
    recording.comment(2, "dull")
    assert through(search) == [2, 3] and through(said) == [3]
    recording.mark(2, False)
    recording.comment(2, "")
    recording.comment(3, "even")
    assert through(search) == [3] and through(said) == []


def test_a_ring_goes_round_under_it() -> None:
    store = TraceStore(Redactor(), Limits(trace_entries=1_000))
    search = Search(store, parse("even"))

    def add(method: str) -> None:
        entry = store.add("s", "out", "request", b"{}")
        entry.method = method
        store.revised(entry)

    for number in range(1, 5_001):
        add("even" if number % 2 == 0 else "odd")
        if number % 700 == 0:
            search.pull(1)
    assert through(search) == list(range(4_002, 5_001, 2))


def test_a_regex_without_end_ends_the_search_with_a_reason() -> None:
    search = Search(Fake([entry(1, body=b"a" * 60 + b"b")]), parse("/(a|aa)+$/"))
    assert through(search) == [] and "too long" in search.error and search.done == 1


def test_a_slow_regex_lets_the_loop_go_on_and_ends_soon_after_its_search() -> None:
    body = b"a" * 1_000_000
    before = threading.active_count()
    search = Search(Fake([entry(1, body=body)]), parse("/(a+)+b/"))
    worst = 0.0
    for _ in range(20):
        began = time.perf_counter()
        search.pull()
        worst = max(worst, time.perf_counter() - began)
    search.cancel()
    assert worst < 0.5, "it holds the interpreter"
    await_true(lambda: threading.active_count() <= before)
