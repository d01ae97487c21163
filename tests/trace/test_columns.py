"""Columns say of every entry what the entry says, also what became known of it later."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.redact import Redactor
from mcp_studio.trace import message as bits
from mcp_studio.trace.message import Columns
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore


def made() -> tuple[TraceStore, ServerTap]:
    redactor = Redactor()
    store = TraceStore(redactor)
    return store, ServerTap(store, redactor, "s")


def send(tap: ServerTap, frame: bytes, **more: object) -> None:
    tap.expect(Outgoing(frame, "request", **more))  # type: ignore[arg-type]
    tap.sent(frame)


def receive(tap: ServerTap, frame: bytes) -> None:
    tap.received(frame)
    tap.understood(parse(frame))


def as_columns_have_it(columns: Columns, number: int) -> tuple[object, ...]:
    row = number - columns.first
    return (
        columns.time[row], columns.servers.texts[columns.server[row]], columns.direction_of(row),
        columns.kind_of(row), columns.size[row], columns.methods.texts[columns.method[row]],
        columns.targets.texts[columns.target[row]], columns.outcome_of(row), columns.ms(row),
    )  # fmt: skip


def agrees(store: TraceStore) -> bool:
    columns = store.columns
    assert columns.first == store.first_number and len(columns) == len(store)
    said = [as_columns_have_it(columns, entry.number) for entry in store]
    return said == [
        (one.time, one.server, one.direction, one.kind, one.size, one.method, one.target,
         one.span.outcome if one.span else "", one.span.ms if one.span else None) for one in store
    ]  # fmt: skip


def test_what_becomes_known_later_reaches_the_columns() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="tools/call", target="echo")
    send(tap, b'{"id":2}', id=2, method="tools/list")
    assert agrees(store)
    place, _ = store.columns.revised_since(0)
    receive(tap, b'{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}')
    receive(tap, b'{"jsonrpc":"2.0","id":1,"result":{"isError":true}}')
    tap.gave_up(2)
    tap.stray(b"noise")
    assert agrees(store)
    columns = store.columns
    assert columns.outcome_of(0) == columns.outcome_of(3) == "tool error" and columns.outcome_of(1) == "cancelled"
    assert columns.link[0] == 4 and columns.link[3] == 1 and columns.ms(0) == columns.ms(3)
    assert columns.parents == {3: 1} and columns.flags[0] & bits.ASKED
    assert columns.flags[4] >> bits.SEVERITY & 3 == 3
    assert set(columns.revised_since(place)[1]) >= {1, 2}


def test_a_clock_that_is_set_back_makes_no_time_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_studio.trace.store.time", SimpleNamespace(time=iter((1_000.0, 995.0)).__next__))
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="tools/call")
    receive(tap, b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert agrees(store) and store.columns.ms(0) == 5_000


def test_a_frame_that_is_understood_late_is_what_it_is() -> None:
    store, tap = made()
    tap.received(b'{"jsonrpc":"2.0","method":"m"}')
    assert store.columns.kind_of(0) == "invalid"
    tap.understood(parse(b'{"jsonrpc":"2.0","method":"m"}'))
    assert agrees(store) and store.columns.kind_of(0) == "notification"


def test_marks_and_comments_stay_when_an_entry_changes() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="tools/call")
    store.mark(1, True)
    store.comment(1, "look here")
    receive(tap, b'{"jsonrpc":"2.0","id":1,"result":{}}')
    both = bits.MARKED | bits.COMMENTED
    assert store.columns.flags[0] & both == both and store.comment_on(1) == "look here"
    store.mark(1, False)
    store.comment(1, "")
    store.mark(99, True)
    assert not store.columns.flags[0] & both and not store.comment_on(1)


def test_snapshots_keep_their_rows_while_the_oldest_go() -> None:
    store, tap = made()
    for number in range(10):
        tap.stderr(str(number).encode())
    columns = store.columns
    taken = columns.snapshot()
    columns.trim(8)
    assert taken.first == 1 and len(taken) == 10
    assert columns.first == 8 and len(columns) == 3
