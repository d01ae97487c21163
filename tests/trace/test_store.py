"""The trace in memory: numbered without gaps, bounded, redacted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_studio.limits import DEFAULT
from mcp_studio.redact import Redactor
from mcp_studio.trace.message import OTHER, Names
from mcp_studio.trace.store import TraceStore
from tests.support import run, wait_until


def test_the_oldest_entries_go_first_and_are_counted() -> None:
    store = TraceStore(Redactor(), replace(DEFAULT, trace_entries=3))
    for number in range(10_000):
        store.add("s", "in", "note", str(number).encode())
    assert (store.total, len(store), store.first_number) == (10_000, 3, 9_998)
    assert [entry.number for entry in store] == [9_998, 9_999, 10_000]
    assert store[0].body == b"9997"
    with pytest.raises(IndexError):
        store[3]


def test_bytes_are_bounded_too_but_the_newest_entry_stays() -> None:
    store = TraceStore(Redactor(), replace(DEFAULT, trace_bytes=10_000))
    for _ in range(5):
        store.add("s", "in", "note", b"x" * 4_000)
    assert len(store) == 2
    store.add("s", "in", "note", b"x" * 50_000)
    assert len(store) == 1


def test_secrets_never_enter() -> None:
    redactor = Redactor()
    redactor.learn("s3cret-value")
    store = TraceStore(redactor)
    entry = store.add("s", "out", "request", b'{"token":"abcdefghijk","x":"s3cret-value"}')
    assert b"s3cret-value" not in entry.body and b"abcdefghijk" not in entry.body
    assert entry.size == 42


def test_a_large_body_is_redacted_beside_the_loop_and_never_shown_before() -> None:
    redactor = Redactor()
    redactor.learn("s3cret-value")
    frame = b'{"x":"s3cret-value' + b" lorem ipsum" * 300_000 + b'"}'

    async def go() -> None:
        store = TraceStore(redactor)
        entry = store.add("s", "in", "result", frame)
        assert entry.body == b"" and entry.size == len(frame)
        before = store.revision
        await wait_until(lambda: entry.body)
        assert b"s3cret-value" not in entry.body and store.revision > before

    run(go())
    assert b"s3cret-value" not in TraceStore(redactor).add("s", "in", "result", frame).body


def test_the_same_text_has_the_same_number() -> None:
    names = Names()
    assert names[""] == 0 and names["tools/call"] == names["tools/call"] == 2
    assert names.texts[2] == "tools/call" and names.get("tools/call") == 2 and names.get("other") is None


def test_endless_different_texts_are_one() -> None:
    names = Names(most=10, size=1_000)
    numbers = [names[f"method {number}"] for number in range(1_000)]
    assert len(names.texts) == 10 and numbers[:8] == list(range(2, 10)) and set(numbers[8:]) == {1}
    assert names.texts[1] == OTHER and names["method 0"] == 2


def test_long_texts_use_up_the_room() -> None:
    names = Names(size=100)
    assert names["x" * 80] == 2 and names["y" * 80] == 1 and names["z" * 20] == 3
