"""Spans in the words of OpenTelemetry."""

from __future__ import annotations

import pytest

from mcp_studio.jsontext import Json
from mcp_studio.trace.export.spans import Exchange, describe, name_of

STDIO: dict[str, Json] = {"transport": "stdio", "version": "2025-11-25"}
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"order"}}'


def test_names_have_a_target_only_where_there_are_few() -> None:
    assert name_of("tools/call", "order") == "tools/call order"
    assert name_of("prompts/get", "review") == "prompts/get review"
    assert name_of("resources/read", "file:///a") == "resources/read"
    assert name_of("tools/list", "") == "tools/list"


def test_a_tool_call_over_stdio() -> None:
    known = describe(Exchange("tools/call", "order", True, "ok", CALL, b'{"id":2,"result":{}}'), STDIO)
    assert known.name == "tools/call order" and known.client and not known.failed
    assert known.attributes == {
        "mcp.method.name": "tools/call", "jsonrpc.request.id": "2", "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "order", "mcp.protocol.version": "2025-11-25", "network.transport": "pipe",
    }  # fmt: skip


def test_a_resource_over_http_in_a_session() -> None:
    server: dict[str, Json] = {"transport": "http", "url": "https://shop.example/mcp"}
    frame = b'{"id":"r-1","method":"resources/read"}'
    known = describe(Exchange("resources/read", "file:///a", True, "open", frame), server, "s-1")
    assert known.name == "resources/read" and not known.failed
    assert known.attributes == {
        "mcp.method.name": "resources/read", "jsonrpc.request.id": "r-1", "mcp.resource.uri": "file:///a",
        "network.transport": "tcp", "network.protocol.name": "http", "server.address": "shop.example",
        "server.port": 443, "mcp.session.id": "s-1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "answer", "kind", "why"),
    [
        ("tool error", b'{"id":2,"result":{"isError":true}}', "tool_error", ""),
        ("error", b'{"id":2,"error":{"code":-32602,"message":"no such tool"}}', "-32602", "no such tool"),
        ("error", b'{"id":2,"error":"broken"}', "_OTHER", ""),
        ("cancelled", b"", "cancelled", ""),
        ("lost", b"", "lost", "The connection ended before the answer came."),
    ],
)
def test_what_failed_says_how(outcome: str, answer: bytes, kind: str, why: str) -> None:
    known = describe(Exchange("tools/call", "order", True, outcome, CALL, answer), STDIO)
    assert (known.failed, known.why, known.attributes["error.type"]) == (True, why, kind)
    assert known.attributes.get("rpc.response.status_code") == ("-32602" if kind == "-32602" else None)


def test_a_subscription_that_ends_with_its_connection_has_not_failed() -> None:
    known = describe(Exchange("subscriptions/listen", "", True, "lost", CALL), STDIO)
    assert not known.failed and "error.type" not in known.attributes


def test_trace_context_of_either_side_is_kept() -> None:
    asked = b'{"id":1,"params":{"_meta":{"traceparent":"a","baggage":"b"}}}'
    known = describe(Exchange("m", "", False, "ok", asked, b'{"id":1,"result":{"_meta":{"tracestate":"c"}}}'), {})
    assert known.attributes["mcp_studio.request.traceparent"] == "a"
    assert known.attributes["mcp_studio.request.baggage"] == "b"
    assert known.attributes["mcp_studio.response.tracestate"] == "c"
    assert not known.client


@pytest.mark.parametrize("frame", [b"", b"[]", b"\xff", b"[" * 900, b'{"id":true}', b'{"id":null}'])
def test_a_frame_that_says_nothing_has_no_id(frame: bytes) -> None:
    known = describe(Exchange("m", "", True, "error", frame, frame), {"transport": "http", "url": "http://[::1"})
    assert "jsonrpc.request.id" not in known.attributes and "server.address" not in known.attributes
    assert known.failed and known.why == ""
