"""Sorting what comes in: every frame becomes messages, none raises."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.jsontext import Json, dumps, loads, pieces
from mcp_studio.limits import Limits
from mcp_studio.protocol.message import PART, Failure, Malformed, Notification, Request, Response, parse, whole


def one(frame: bytes) -> object:
    """The only message of a frame."""
    (message,) = parse(frame).messages
    return message


def test_the_four_kinds_are_told_apart() -> None:
    assert one(b'{"jsonrpc":"2.0","id":1,"method":"ping"}') == Request(1, "ping", {})
    assert one(b'{"method":"notifications/x","params":{"a":1}}') == Notification("notifications/x", {"a": 1})
    assert one(b'{"id":"k","result":{}}') == Response("k", {})
    assert one(b'{"id":2,"error":{"code":-1,"message":"no","data":[1]}}') == Failure(2, -1, "no", [1])


def test_a_batch_gives_all_its_messages() -> None:
    parsed = parse(b'[{"id":1,"result":1},{"method":"m"},7]')
    assert parsed.batch
    assert parsed.messages[:2] == (Response(1, 1), Notification("m", {}))
    assert isinstance(parsed.messages[2], Malformed)


@pytest.mark.parametrize(
    ("frame", "identity"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"\\ud800', 7),
        (b'{"jsonrpc":"2.0", "id" : "abc", "result": nonsense}', "abc"),
        (b'{"result":' + b"[" * 5000 + b"]" * 5000 + b',"id":9}', 9),
        (b"{not json", None),
    ],
)
def test_an_unreadable_frame_still_names_the_request_it_answers(frame: bytes, identity: object) -> None:
    message = one(frame)
    assert isinstance(message, Malformed)
    assert message.id == identity


def test_invalid_utf8_and_lone_surrogates_do_not_hide_an_answer() -> None:
    assert isinstance(one(b'{"id":1,"result":{"text":"\xff\xfe"}}'), Response)
    assert one(b'{"id":1,"result":{"text":"\\ud800"}}') == Response(1, {"text": "\ud800"})


def test_an_error_that_is_no_proper_error_object_says_what_is_wrong() -> None:
    assert one(b'{"id":1,"error":"oops"}') == Failure(1, 0, "oops", None, "The error is not an object")
    message = one(b'{"id":1,"error":{"code":"x"}}')
    assert isinstance(message, Failure) and "whole number" in message.problem
    message = one(b'{"id":1,"result":{},"error":{"code":1,"message":"m"}}')
    assert isinstance(message, Failure) and "both" in message.problem


@pytest.mark.parametrize("identity", [b"true", b"null", b"1.5", b"{}", b"[1]"])
def test_a_request_with_an_unusable_id_is_malformed(identity: bytes) -> None:
    assert isinstance(one(b'{"id":' + identity + b',"method":"ping"}'), Malformed)


def test_a_whole_float_id_counts_as_the_number() -> None:
    assert one(b'{"id":3.0,"result":{}}') == Response(3, {})


def test_very_long_numbers_are_kept() -> None:
    message = one(b'{"id":1,"result":{"n":' + b"9" * 6000 + b"}}")
    assert isinstance(message, Response)
    assert repr(message.result["n"]) == "9" * 6000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["id", "method", "params", "result", "error", "code", "message", "x"]), inner, max_size=5
    ),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
def test_any_json_is_sorted_without_raising(value: object) -> None:
    assert parse(json.dumps(value).encode()).messages


@given(st.binary(max_size=200))
def test_any_bytes_are_sorted_without_raising(frame: bytes) -> None:
    assert parse(frame).messages


def test_a_frame_with_millions_of_values_is_not_read() -> None:
    for start in (b'{"jsonrpc":"2.0","id":7,"method":"roots/list","params":', b'{"jsonrpc":"2.0","id":7,"result":'):
        (message,) = parse(start + b"[" + b"[]," * 1_100_000 + b"[]]}").messages
        assert message == Malformed("The JSON has more than 1,000,000 values.", 7, "values")


LONG = "line \u00e9\n" * (PART // 6)
"""A text that is a large part of an answer, whatever stands around it."""


def test_large_parts_of_an_answer_stay_json_text_where_that_is_wanted() -> None:
    rows = [{"id": number, "score": 1.5, "note": LONG[:1_000]} for number in range(PART // 1_000)]
    block = {"type": "text", "text": LONG, "_meta": {"a": [1]}}
    result = {"structuredContent": {"rows": rows}, "content": [block], "_meta": {"b": 2}}
    frame = json.dumps({"jsonrpc": "2.0", "id": 7, "result": result}).encode()
    message = parse(frame, parts=[7]).messages[0]
    assert isinstance(message, Response) and message.id == 7 and list(message.result) == list(result)
    text, structured = message.result["content"][0].pop("text"), message.result["structuredContent"]
    assert (loads(bytes(text)), loads(bytes(structured))) == (LONG, {"rows": rows})
    assert (message.result["content"], message.result["_meta"]) == ([{"type": "text", "_meta": {"a": [1]}}], {"b": 2})
    assert loads(bytes(message.result.raw)) == result == whole(message.result)
    assert parse(frame, parts=[8]) == parse(frame) and one(frame) == Response(7, result)


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": LONG}, {"type": "image", "data": LONG}, {"type": "text", "text": "a"}]},
        {"content": [{"type": "resource", "resource": {"uri": "a:b", "text": LONG}}]},
        {"contents": [{"uri": "a:b", "blob": LONG}, {"uri": "a:c", "text": "a"}]},
        {"messages": [{"role": "user", "content": {"type": "text", "text": LONG}}]},
    ],
)
def test_large_texts_stay_json_text_wherever_a_result_may_have_one(result: Json) -> None:
    frame = json.dumps({"jsonrpc": "2.0", "id": 7, "result": result}).encode()
    message = parse(frame, parts=[7]).messages[0]
    assert isinstance(message, Response) and whole(message.result) == result
    assert "".join(pieces(message.result, "")) == "".join(pieces(result, "")).replace(
        dumps(LONG).decode(), json.dumps(LONG)
    )


@pytest.mark.parametrize(
    "result",
    [
        b'{"isError":true,"content":[{"type":"text","text":"LONG"}]}',
        b'{"content":[{"type":"text","text":["LONG"]}]}',
        b'{"content":[{"type":"text","text":"LONG \\ud800"}]}',
        b'{"content":[{"type":"text","text":"LONG"}],"structuredContent":NaN}',
        b'{"content":[],"structuredContent":["LONG",]}',
        b'{"content":[],"structuredContent":["LONG",' + b"[" * 5_000 + b"]" * 5_000 + b"]}",
        b'{"content":[],"structuredContent":[' + b"1," * PART + b"1]}",
        b'"LONG"',
        b'["LONG"]',
        b'{"content":[],"structuredContent":"LONG"},"id":[1]',
        b'{"content":[],"structuredContent":"LONG"',
    ],
    ids=range(11),
)
def test_an_answer_of_another_shape_is_read_as_any_other(result: bytes) -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"result":' + result.replace(b"LONG", dumps(LONG)[1:-1]) + b"}"
    assert parse(frame, Limits(), parts=[1]) == parse(frame, Limits())
