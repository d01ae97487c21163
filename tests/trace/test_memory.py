"""The trace stays within its bounds whatever servers send, and pairs what belongs together."""

from __future__ import annotations

from mcp_studio.errors import ConnectionLost
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.redact import Redactor
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import HttpResponse

SECRET = "very-secret-value-1"


def made() -> tuple[TraceStore, ServerTap]:
    """A store and one tap into it, which know a secret."""
    redactor = Redactor()
    redactor.learn(SECRET)
    store = TraceStore(redactor)
    return store, ServerTap(store, redactor, "s")


def send(tap: ServerTap, out: Outgoing) -> None:
    """Tell the tap of a message that goes out."""
    tap.expect(out)
    tap.sent(out.frame)


def receive(tap: ServerTap, frame: bytes) -> None:
    """Tell the tap of a frame and what it means."""
    tap.received(frame)
    tap.understood(parse(frame))


def test_a_question_that_is_withdrawn_after_thousands_is_found() -> None:
    store, tap = made()
    for number in range(5_000):
        receive(tap, b'{"jsonrpc":"2.0","id":%d,"method":"elicitation/create"}' % number)
    receive(tap, b'{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}')
    tap.withdrawn("q")
    span = store[len(store) - 1].span
    assert span is not None and span.outcome == "cancelled"


def test_an_answer_with_an_odd_id_still_closes_its_span() -> None:
    store, tap = made()
    send(tap, Outgoing(b'{"id":1}', "request", 1, "tools/call"))
    receive(tap, b'{"jsonrpc":"2.0","id":"1","result":{}}')
    tap.matched(1)
    span = store[0].span
    assert span is not None and span.outcome == "ok" and span.response is store[1]


def test_an_answer_that_was_never_a_frame_is_not_taken_for_the_frame_before_it() -> None:
    store, tap = made()
    send(tap, Outgoing(b'{"id":1}', "request", 1, "tools/call"))
    receive(tap, b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    tap.understood(parse(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"too long"}}'))
    tap.matched(1)
    assert store[1].kind == "notification" and store[1].span is None
    assert store[0].span is not None and store[0].span.outcome == "lost"


def test_no_field_of_an_entry_tells_a_secret() -> None:
    store, tap = made()
    send(tap, Outgoing(b'{"uri":"x://%b"}' % SECRET.encode(), "request", 1, "resources/read", f"x://{SECRET}"))
    receive(tap, b'{"jsonrpc":"2.0","id":7,"method":"%b"}' % SECRET.encode())
    receive(tap, b'{"jsonrpc":"2.0","method":"%b"}' % SECRET.encode())
    tap.http_response(HttpResponse(1, 0, "", [], f"no way to {SECRET}"))
    tap.http_response(HttpResponse(2, 500, SECRET, []))
    assert not [entry for entry in store if SECRET in repr(entry)]
    error = tap.cleaned(ConnectionLost(f"it said last: {SECRET}", hint=SECRET))
    assert SECRET not in f"{error} {error.message} {error.hint}"


def test_labels_of_foreign_messages_are_short() -> None:
    store, tap = made()
    receive(tap, b'{"jsonrpc":"2.0","method":"%b"}' % (b"m" * 1_000_000))
    assert len(store[0].method) <= 1_000


def test_an_answer_of_ours_that_mentions_an_error_is_a_result() -> None:
    store, tap = made()
    frame = b'{"jsonrpc":"2.0","id":5,"result":{"content":{"a":1,"error":{"b":2}}}}'
    send(tap, Outgoing(frame, "response", 5))
    send(tap, Outgoing(b'{"jsonrpc":"2.0","id":"q","error":{"code":1,"message":""}}', "response", "q"))
    assert [entry.kind for entry in store] == ["result", "error"]


def test_what_an_earlier_connection_printed_is_no_longer_counted() -> None:
    _, tap = made()
    told: list[str] = []
    tap.on_stray = told.append
    tap.stray(b"one")
    tap.begins()
    tap.stray(b"two")
    assert (tap.stray_count, tap.stray_lines, told) == (1, ["two"], ["one", "two"])
