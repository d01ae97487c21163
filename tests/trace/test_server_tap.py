"""What a transport tells becomes entries and spans."""

from __future__ import annotations

from mcp_studio.limits import Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.redact import Redactor
from mcp_studio.trace.server_tap import ServerTap, beginning
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.base import HttpRequest, HttpResponse


def made() -> tuple[TraceStore, ServerTap]:
    """A store and one tap into it."""
    redactor = Redactor()
    store = TraceStore(redactor)
    return store, ServerTap(store, redactor, "s")


def send(tap: ServerTap, frame: bytes, **more: object) -> None:
    """Tell the tap of a request."""
    tap.expect(Outgoing(frame, "request", **more))  # type: ignore[arg-type]
    tap.sent(frame)


def receive(tap: ServerTap, frame: bytes) -> None:
    """Tell the tap of a frame and what it means."""
    tap.received(frame)
    tap.understood(parse(frame))


def test_request_and_answer_make_a_span() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="tools/call", target="echo")
    receive(tap, b'{"id":1,"result":{}}')
    request, answer = store[0], store[1]
    assert (request.kind, request.method, request.target) == ("request", "tools/call", "echo")
    assert answer.kind == "result" and answer.span is request.span
    assert request.span and request.span.outcome == "ok" and request.span.ms is not None


def test_errors_and_failing_tools_are_told_apart() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="tools/call")
    send(tap, b'{"id":2}', id=2, method="tools/call")
    receive(tap, b'{"id":1,"result":{"isError":true}}')
    receive(tap, b'{"id":2,"error":{"code":1,"message":"m"}}')
    assert [entry.span.outcome for entry in list(store)[:2] if entry.span] == ["tool error", "error"]


def test_a_question_of_the_server_is_a_child_of_the_call_it_came_under() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="tools/call")
    receive(tap, b'{"id":"q","method":"elicitation/create"}')
    question = store[1].span
    assert question and question.parent is store[0].span and question.direction == "in"
    frame = b'{"jsonrpc":"2.0","id":"q","result":{}}'
    tap.expect(Outgoing(frame, "response", "q"))
    tap.sent(frame)
    assert question.outcome == "ok" and store[2].kind == "result"


def test_frames_that_make_no_sense_are_kept_as_invalid() -> None:
    store, tap = made()
    receive(tap, b"{broken")
    tap.sent(b'{"hand":"written"}')
    assert [entry.kind for entry in store] == ["invalid", "invalid"]


def test_given_up_requests_and_ended_connections_close_their_spans() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="a")
    send(tap, b'{"id":2}', id=2, method="b")
    tap.gave_up(1)
    tap.ended()
    assert [entry.span.outcome for entry in store if entry.span] == ["cancelled", "lost"]


def test_answers_that_come_while_a_connection_is_closed_belong_to_their_requests() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="a")
    send(tap, b'{"id":2}', id=2, method="b")
    tap.received(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Connection closed"}}')
    tap.received(b'{"jsonrpc":"2.0","id":2,"result":{}}')
    tap.ended()
    assert [(entry.kind, entry.method) for entry in list(store)[2:]] == [("error", "a"), ("result", "b")]
    assert [entry.span.outcome for entry in list(store)[:2] if entry.span] == ["error", "ok"]


def test_an_answer_that_comes_too_late_says_what_it_answers() -> None:
    store, tap = made()
    send(tap, b'{"id":1}', id=1, method="tools/call", target="slow")
    tap.gave_up(1)
    receive(tap, b'{"jsonrpc":"2.0","id":1,"result":{}}')
    receive(tap, b'{"jsonrpc":"2.0","id":7,"result":{}}')
    assert [(entry.method, entry.target) for entry in list(store)[1:]] == [("tools/call", "slow"), ("", "")]
    assert store[0].span and store[0].span.outcome == "cancelled"


def test_http_heads_are_kept_without_credentials() -> None:
    store, tap = made()
    tap.http_request(
        HttpRequest(1, "POST", "http://u:pw123456@h/?api_key=abcdefgh", [("Authorization", "Bearer abc.def.ghi")])
    )
    tap.http_response(HttpResponse(1, 200, "OK", [("Set-Cookie", "sid=abcdefgh")]))
    text = b"".join(entry.body for entry in store)
    for secret in (b"pw123456", b"abcdefgh", b"abc.def.ghi"):
        assert secret not in text
    assert store[1].method == "200 OK"


def test_stray_output_is_counted_beyond_what_is_kept() -> None:
    store, tap = made()
    told: list[int] = []
    store.wronged.connect(lambda server: told.append(tap.stray_count))
    for number in range(50):
        tap.stray(f"\x1b[31mline {number}".encode())
    assert tap.stray_count == 50 and len(tap.stray_lines) == 20
    assert set(told) == set(range(1, 51)), "whoever shows the count hears of each"
    assert "\x1b" not in tap.stray_lines[0]


def test_only_the_beginning_of_a_huge_stray_line_is_made_ready_to_be_shown() -> None:
    class Counting(Redactor):
        seen = 0

        def text(self, text: str) -> str:
            Counting.seen += len(text)
            return super().text(text)

    redactor = Counting()
    tap = ServerTap(TraceStore(redactor), redactor, "s")
    tap.stray(b"key" * 1_000_000)
    assert Counting.seen < 100_000 and tap.stray_lines[0].startswith("keykey")


def test_of_standard_error_the_newest_lines_are_kept_within_the_limit() -> None:
    tap = ServerTap(TraceStore(Redactor()), Redactor(), "s", Limits(stderr=4_000))
    for number in range(300):
        tap.stderr(b"%d" % number * 100)
    assert sum(map(len, tap.stderr_lines)) <= 4_000 and tap.stderr_lines[-1].startswith("299299")


def test_the_beginning_of_a_line_is_cut_between_characters_and_without_its_indentation() -> None:
    assert beginning(b" " * 100 + "─".encode() * 100, 7) in {"─" * most for most in range(7, 100)}
    assert beginning(b"  \xff end", 20) == "\ufffd end"
