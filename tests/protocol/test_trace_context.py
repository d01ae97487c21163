"""Trace context in requests: what counts as one, and that ours have one where that is wished."""

from __future__ import annotations

import json

import pytest

from mcp_studio.jsontext import Json
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.versions import Context, begun, continued, fresh, of_frame, read

TEXT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
KNOWN = Context("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


def test_a_traceparent_is_read_and_written_as_w3c_says() -> None:
    assert read(TEXT) == KNOWN and KNOWN.text == TEXT
    assert read(TEXT[:-1] + "0") == KNOWN._replace(sampled=False)
    assert read("01" + TEXT[2:] + "-what-comes-later") == KNOWN


@pytest.mark.parametrize(
    "text",
    [
        *(None, 5, "", TEXT.upper(), TEXT + "-x", "ff" + TEXT[2:], TEXT[:-1], TEXT + "\n", " " + TEXT),
        *("00-" + "0" * 32 + TEXT[35:], TEXT[:36] + "0" * 16 + "-01"),
    ],
)  # fmt: skip
def test_what_is_none_is_not_taken_for_one(text: Json) -> None:
    assert read(text) is None


def test_new_spans_are_of_a_new_trace_or_of_the_one_named() -> None:
    one, other = fresh(), fresh()
    assert read(one.text) == one and one.trace != other.trace
    assert (same := fresh(one.trace)).trace == one.trace and same.span != one.span


def frame(**meta: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"_meta": meta}}).encode()


def test_only_texts_in_meta_are_context() -> None:
    assert of_frame(frame(traceparent=TEXT, tracestate="a=b", baggage=7, other="x")) == {
        "traceparent": TEXT, "tracestate": "a=b"
    }  # fmt: skip
    for odd in (b"", b'"baggage"', b'{"params":"baggage"}', b'{"params":{"_meta":["traceparent"]}}', b"[" * 999):
        assert of_frame(odd + b'"traceparent"') == of_frame(odd) == {}


def test_what_goes_on_with_a_request_stays_in_its_trace() -> None:
    following = continued({"a": 1}, frame(traceparent=TEXT))
    assert following is not None and following["a"] == 1
    context = read(following["_meta"]["traceparent"])
    assert context is not None and context.trace == KNOWN.trace and context.span != KNOWN.span
    for params in (None, {"a": 1}):
        assert continued(params, frame(baggage="x")) is params
    given: dict[str, Json] = {"_meta": {"traceparent": "mine"}}
    assert continued(given, frame(traceparent=TEXT)) is given and begun(given) is given


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_requests_say_their_trace_only_where_that_is_wished(era: str) -> None:
    for wished in (False, True):
        core = ClientCore({"name": "t", "version": "1"}, {}, era=era)  # type: ignore[arg-type]
        core.traced = wished
        core.start()
        outs = [*core.take(), core.request("tools/list"), core.request("tools/call", {"_meta": {"baggage": "b"}})]
        contexts = [read(of_frame(out.frame).get("traceparent")) for out in outs]
        assert [context is not None for context in contexts] == [wished] * 3
        if wished:
            assert len({context.trace for context in contexts if context}) == 3
            assert of_frame(outs[2].frame)["baggage"] == "b"
