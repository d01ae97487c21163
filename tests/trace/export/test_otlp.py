"""Spans as OTLP in JSON, against the rules of its encoding."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mcp_studio.errors import UsageError
from mcp_studio.trace import message as bits
from mcp_studio.trace.export import spans as otlp
from mcp_studio.trace.export.item import Item
from tests.trace.export.recorded import exported, item, morning, recorded

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-aaf92f3577b34da6a3ce929d0e0e4736-11f067aa0ba902b7-01"
SPAN = {"traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes",
        "events", "links", "status", "traceState"}  # fmt: skip


def spans(items: list[Item], numbers: list[int] | None = None) -> list[dict[str, Any]]:
    """All spans, every one of which follows the encoding."""
    found: list[dict[str, Any]] = []
    for line in exported(recorded(items), "otlp", numbers).splitlines():
        (resource,) = json.loads(line)["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        assert attributes(resource["resource"])["service.name"] == {"stringValue": "mcp-studio"}
        found += scope["spans"]
    for span in found:
        assert set(span) <= SPAN
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch("[0-9a-f]{16}", span["spanId"])
        assert re.fullmatch("[0-9a-f]{16}", span.get("parentSpanId", "0" * 16))
        assert span["kind"] in (2, 3) and span.get("status", {}).get("code", 0) in (0, 2)
        begin, end = span["startTimeUnixNano"], span["endTimeUnixNano"]
        assert isinstance(begin, str) and isinstance(end, str) and int(begin) <= int(end)
        for value in attributes(span).values():
            ((kind, held),) = value.items()
            assert (kind, type(held)) in (("stringValue", str), ("intValue", str), ("boolValue", bool))
    return found


def attributes(known: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: one["value"] for one in known["attributes"]}


def request(number: int, meta: str = "", **known: Any) -> Item:
    held = {"jsonrpc": "2.0", "id": number, "method": "m", "params": {"_meta": {"traceparent": meta}} if meta else {}}
    direction = known.pop("direction", "out")
    return item(number, "request", direction, json.dumps(held).encode(), method="m", **{"outcome": "lost", **known})


def test_a_call_and_what_the_server_asked_for_it_are_one_trace() -> None:
    hello, asked, call = sorted(spans(morning()), key=lambda span: span["endTimeUnixNano"])
    assert [hello["name"], asked["name"], call["name"]] == ["initialize", "elicitation/create", "tools/call order"]
    assert (asked["kind"], call["kind"]) == (2, 3)
    assert asked["traceId"] == call["traceId"] != hello["traceId"] and asked["parentSpanId"] == call["spanId"]
    assert int(call["endTimeUnixNano"]) - int(call["startTimeUnixNano"]) == 4_000_000
    known = attributes(call)
    assert known["mcp.protocol.version"] == {"stringValue": "2025-11-25"}
    assert known["mcp_studio.number"] == {"intValue": "4"}
    (event,) = call["events"]
    assert event["name"] == "mcp_studio.finding" and isinstance(event["timeUnixNano"], str)


def test_the_same_recording_has_the_same_ids() -> None:
    assert spans(morning()) == spans(morning())
    assert spans(morning())[1]["traceId"] == spans(morning(), [5, 6])[0]["traceId"]


@pytest.mark.parametrize("numbers", [[4], [8], [4, 8], [3, 4, 8]])
def test_a_span_is_there_once_whichever_of_its_ends_was_chosen(numbers: list[int]) -> None:
    assert [span["name"] for span in spans(morning(), numbers)] == ["tools/call order"]


def test_ids_that_were_sent_are_the_ones_that_are_told() -> None:
    call, under = spans([request(1, PARENT), request(2, under=1)])
    assert (call["traceId"], call["spanId"]) == tuple(PARENT.split("-")[1:3])
    assert (under["traceId"], under["parentSpanId"]) == (call["traceId"], call["spanId"])


def test_what_was_sent_in_another_trace_is_linked() -> None:
    call, under = spans([request(1, PARENT), request(2, OTHER, under=1)])
    assert under["traceId"] == OTHER.split("-")[1] and "parentSpanId" not in under
    assert under["links"] == [{"traceId": call["traceId"], "spanId": call["spanId"]}]


def test_what_the_server_asks_is_under_the_span_that_it_names() -> None:
    alone, by_hand, call, asked = spans(
        [
            request(1, OTHER, direction="in"), request(2, OTHER, flags=bits.BY_HAND), request(3, PARENT),
            request(4, OTHER, direction="in", under=3),
        ]
    )  # fmt: skip
    assert alone["parentSpanId"] == by_hand["parentSpanId"] == OTHER.split("-")[2]
    assert alone["spanId"] != by_hand["spanId"]
    assert asked["parentSpanId"] == call["spanId"] and asked["links"][0]["traceId"] == OTHER.split("-")[1]


def test_failures_have_a_status() -> None:
    answer = b'{"id":1,"error":{"code":-32602,"message":"no such tool"}}'
    (span,) = spans(
        [
            item(1, "request", "out", b'{"id":1}', method="tools/call", link=2, outcome="error"),
            item(2, "error", "in", answer, method="tools/call", link=1, outcome="error"),
        ]
    )
    assert span["status"] == {"code": 2, "message": "no such tool"}
    assert attributes(span)["error.type"] == {"stringValue": "-32602"}


def test_the_session_is_that_of_the_exchange() -> None:
    head = b"POST https://shop.example:8443/mcp\nMcp-Session-Id: s-77\nAccept: x"
    (span,) = spans([item(1, "http", "out", head, exchange=3), request(2, exchange=3)])
    known = attributes(span)
    assert known["mcp.session.id"] == {"stringValue": "‹session 1›"} and known["server.port"] == {"intValue": "8443"}


def test_many_spans_are_many_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "BATCH", 10)
    lines = exported(recorded([request(number) for number in range(1, 26)]), "otlp").splitlines()
    assert len(lines) == 3 and all(json.loads(line)["resourceSpans"] for line in lines)


def test_what_has_no_spans_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="spans alone"):
        spans(morning(), [3, 7, 9])
