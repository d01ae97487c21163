"""Requests as spans of OpenTelemetry."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, SpanKind, StatusCode, format_span_id, format_trace_id

from mcp_studio.errors import UsageError
from mcp_studio.trace import message as bits
from mcp_studio.trace.export.item import Item
from tests.trace.export.recorded import exported, item, morning, recorded, spans

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-aaf92f3577b34da6a3ce929d0e0e4736-11f067aa0ba902b7-01"


def ids(context: SpanContext | None) -> tuple[str, str]:
    assert context is not None
    return format_trace_id(context.trace_id), format_span_id(context.span_id)


def end_of(span: ReadableSpan) -> int:
    return span.end_time or 0


def request(number: int, meta: str = "", **known: Any) -> Item:
    held = {"jsonrpc": "2.0", "id": number, "method": "m", "params": {"_meta": {"traceparent": meta}} if meta else {}}
    direction = known.pop("direction", "out")
    return item(number, "request", direction, json.dumps(held).encode(), method="m", **{"outcome": "lost", **known})


def test_a_call_and_what_the_server_asked_for_it_are_one_trace() -> None:
    hello, asked, call = sorted(spans(recorded(morning())), key=end_of)
    assert [hello.name, asked.name, call.name] == ["initialize", "elicitation/create", "tools/call order"]
    assert (asked.kind, call.kind) == (SpanKind.SERVER, SpanKind.CLIENT)
    assert ids(asked.parent) == ids(call.context) and ids(call.context)[0] != ids(hello.context)[0]
    assert end_of(call) - (call.start_time or 0) == 4_000_000
    known = call.attributes or {}
    assert (known["mcp.protocol.version"], known["mcp_studio.number"]) == ("2025-11-25", 4)
    assert call.resource.attributes["service.name"] == "mcp-studio"
    (event,) = call.events
    assert event.name == "mcp_studio.finding" and event.timestamp == call.end_time


def test_the_same_recording_has_the_same_ids() -> None:
    first, second = ([ids(span.context) for span in spans(recorded(morning()))] for _ in range(2))
    assert first == second
    assert first[1][0] == ids(spans(recorded(morning()), [5, 6])[0].context)[0]


@pytest.mark.parametrize("numbers", [[4], [8], [4, 8], [3, 4, 8]])
def test_a_span_is_there_once_whichever_of_its_ends_was_chosen(numbers: list[int]) -> None:
    assert [span.name for span in spans(recorded(morning()), numbers)] == ["tools/call order"]


def test_ids_that_were_sent_are_the_ones_that_are_told() -> None:
    call, under = spans(recorded([request(1, PARENT), request(2, under=1)]))
    assert ids(call.context) == tuple(PARENT.split("-")[1:3]) == ids(under.parent)
    assert ids(under.context)[0] == ids(call.context)[0]


def test_what_was_sent_in_another_trace_is_linked() -> None:
    call, under = spans(recorded([request(1, PARENT), request(2, OTHER, under=1)]))
    assert ids(under.context)[0] == OTHER.split("-")[1] and under.parent is None
    assert [ids(link.context) for link in under.links] == [ids(call.context)]


def test_what_the_server_asks_is_under_the_span_that_it_names() -> None:
    alone, by_hand, call, asked = spans(recorded([
        request(1, OTHER, direction="in"), request(2, OTHER, flags=bits.BY_HAND), request(3, PARENT),
        request(4, OTHER, direction="in", under=3),
    ]))  # fmt: skip
    assert ids(alone.parent)[1] == ids(by_hand.parent)[1] == OTHER.split("-")[2]
    assert ids(alone.context)[1] != ids(by_hand.context)[1]
    assert ids(asked.parent)[1] == ids(call.context)[1] and ids(asked.links[0].context)[0] == OTHER.split("-")[1]


def called(method: str = "tools/call", target: str = "order", outcome: str = "ok", answer: bytes = b"") -> ReadableSpan:
    """The span of one request."""
    ends = {"method": method, "target": target, "outcome": outcome}
    items = [item(1, "request", "out", b'{"id":2}', link=2 if answer else 0, **ends)]
    if answer:
        items.append(item(2, "error" if outcome == "error" else "result", "in", answer, link=1, **ends))
    (span,) = spans(recorded(items))
    return span


def test_names_have_a_target_only_where_there_are_few() -> None:
    assert called().name == "tools/call order"
    assert called("prompts/get", "review").name == "prompts/get review"
    assert called("resources/read", "file:///a").name == "resources/read"
    assert called("tools/list", "").name == "tools/list"


def test_a_tool_call_says_what_was_called() -> None:
    known = called().attributes or {}
    assert known["gen_ai.operation.name"] == "execute_tool" and known["gen_ai.tool.name"] == "order"
    assert known["jsonrpc.request.id"] == "2" and known["network.transport"] == "pipe"
    assert (called("resources/read", "file:///a").attributes or {})["mcp.resource.uri"] == "file:///a"


@pytest.mark.parametrize(
    ("outcome", "answer", "kind", "why"),
    [
        ("tool error", b'{"id":2,"result":{"isError":true}}', "tool_error", None),
        ("error", b'{"id":2,"error":{"code":-32602,"message":"no such tool"}}', "-32602", "no such tool"),
        ("error", b'{"id":2,"error":"broken"}', "_OTHER", None),
        ("error", b"[" * 900, "_OTHER", None),
        ("cancelled", b"", "cancelled", None),
        ("lost", b"", "lost", "No answer came."),
    ],
)
def test_what_failed_says_how(outcome: str, answer: bytes, kind: str, why: str | None) -> None:
    span = called(outcome=outcome, answer=answer)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, why)
    assert (span.attributes or {})["error.type"] == kind


def test_a_subscription_that_ends_with_its_connection_has_not_failed() -> None:
    span = called("subscriptions/listen", outcome="lost")
    assert span.status.is_unset and "error.type" not in (span.attributes or {})


def test_a_server_at_an_address_is_named() -> None:
    head = b"POST https://shop.example:8443/mcp\nMcp-Session-Id: s-77\nAccept: x"
    (span,) = spans(recorded([item(1, "http", "out", head, exchange=3), request(2, exchange=3)]))
    known = span.attributes or {}
    assert (known["server.address"], known["server.port"]) == ("shop.example", 8443)
    assert known["network.protocol.name"] == "http" and "s-77" not in span.to_json()


def test_what_has_no_spans_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="only those are spans"):
        spans(recorded(morning()), [3, 7, 9])


def test_a_file_has_the_same_spans_with_ids_as_hexadecimal_digits() -> None:
    items = [*morning(), request(10, PARENT), request(11, OTHER, under=10)]
    (line,) = exported(recorded(items), "otlp").splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    written = resource["scopeSpans"][0]["spans"]
    told = spans(recorded(items))
    assert [(one["traceId"], one["spanId"]) for one in written] == [ids(span.context) for span in told]
    parents = [ids(span.parent)[1] if span.parent else None for span in told]
    assert [one.get("parentSpanId") for one in written] == parents and any(parents)
    links = [[ids(link.context) for link in span.links] for span in told]
    assert [[(one["traceId"], one["spanId"]) for one in span.get("links", ())] for span in written] == links
    assert any(links) and [one["kind"] for one in written[:3]] == [span.kind.value + 1 for span in told[:3]]


def test_without_the_extra_a_file_of_spans_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.common.trace_encoder", None)
    with pytest.raises(UsageError) as caught:
        exported(recorded(morning()), "otlp")
    assert "mcp-studio[otlp]" in caught.value.hint
