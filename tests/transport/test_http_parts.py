"""The small parts below the HTTP transport: ids in frames, header values, sentences, bodies."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.inbound import decode_header_value

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError
from mcp_studio.protocol.events import Outgoing
from mcp_studio.protocol.message import parse
from mcp_studio.transport import http_errors
from mcp_studio.transport.edge import configured
from mcp_studio.transport.http_connection import (
    answered_ids,
    encode_value,
    error_frame,
    modern_headers,
)
from mcp_studio.transport.http_errors import sign_in, wants_sign_in
from mcp_studio.transport.http_response import PIECE, Decoder

NESTED = {"content": [{"id": 99, "text": '","id":98}'}], "error": None}


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        ({"jsonrpc": "2.0", "id": 1, "result": NESTED}, (1,)),
        ({"id": "x", "jsonrpc": "2.0", "error": {"id": 5}}, ("x",)),
        ({"jsonrpc": "2.0", "result": NESTED, "id": 2}, (2,)),
        ({"result": NESTED, "id": 3, "jsonrpc": "2.0"}, (3,)),
        ({"result": {"id": 7}, "jsonrpc": "2.0"}, ()),
        ({"jsonrpc": "2.0", "extra": 1, "result": NESTED, "more": 2, "id": 4}, (4,)),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}, ()),
        ({"jsonrpc": "2.0", "method": "m", "params": {"result": 1, "id": 6}}, ()),
        ({"jsonrpc": "2.0", "id": None, "error": {}}, ()),
        ({"jsonrpc": "2.0", "id": True, "result": {}}, ()),
        ({"jsonrpc": "2.0", "id": 1.0, "result": {}}, (1,)),
        ([{"id": 1, "result": {}}, 5, {"id": 2, "method": "m"}, {"error": {}, "id": 3}], (1, 3)),
        ("id", ()),
    ],
)
def test_the_requests_that_a_frame_answers_are_found(message: Any, ids: tuple[int | str, ...]) -> None:
    assert answered_ids(parse(json.dumps(message).encode())) == ids


@pytest.mark.parametrize("frame", [b"", b"{", b"nonsense", b'{"a":1,"id":1,', b"[" * 5000, b"\xff\xfe", b"9" * 5000])
def test_broken_frames_answer_nothing(frame: bytes) -> None:
    assert answered_ids(parse(frame)) == ()


def test_an_unreadable_answer_counts_for_the_id_it_shows_because_the_core_says_what_is_wrong_with_it() -> None:
    assert answered_ids(parse(b'{"jsonrpc":"2.0","id":1,"result":{"cut')) == (1,)


def test_an_error_body_is_made_to_answer_its_request() -> None:
    error = {"code": -32600, "message": "no", "data": 1.10}
    for given_id in (None, "server-error", 7, True):
        frame = error_frame(json.dumps({"jsonrpc": "2.0", "id": given_id, "error": error}).encode(), 1)
        assert frame is not None and json.loads(frame) == {"jsonrpc": "2.0", "id": 1, "error": error}
    same = b'{ "jsonrpc": "2.0", "id": 1, "error": {} }'
    assert error_frame(same, 1) is same


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"error":{"code":404}}', b'{"jsonrpc":"2.0","error":"no"}', b'{"jsonrpc":"2.0"}']
)
def test_other_bodies_are_no_json_rpc_error(body: bytes) -> None:
    assert error_frame(body, 1) is None


@pytest.mark.parametrize("value", ["add", "a b", "", "x" * 500, "=?base64?no", "file:///a%20b"])
def test_printable_header_values_go_as_they_are(value: str) -> None:
    assert encode_value(value) == value


@given(st.text())
def test_every_header_value_comes_back_as_it_was(value: str) -> None:
    encoded = encode_value(value)
    assert encoded.isascii() and encoded.isprintable()
    assert decode_header_value(encoded) == value


def test_only_messages_about_something_named_carry_its_name() -> None:
    call = Outgoing(b"", "request", 1, "tools/call", "t", "2026-07-28", True, (("Mcp-Param-A", "1"),))
    assert dict(modern_headers(call)) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "t",
        "Mcp-Param-A": "1",
    }
    assert "Mcp-Name" not in dict(modern_headers(Outgoing(b"", "request", 1, "tools/list", "", "2026-07-28", True)))


@pytest.mark.parametrize(
    ("name", "value"), [("a b", "x"), ("", "x"), ("X", "a\r\nEvil: 1"), ("X", "\x00"), ("X", "\ud800")]
)
def test_a_configured_header_that_http_cannot_carry_is_a_configuration_error(name: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(ServerConfig("peer", headers={name: value}))
    assert value not in caught.value.message or value == "x"


def test_headers_that_frame_a_message_are_not_taken_from_the_configuration() -> None:
    config = ServerConfig("peer", headers={"Content-Length": "5", "Transfer-Encoding": "chunked", "X-Key": " ü "})
    assert configured(config) == [("X-Key", "ü")]


class Told(NamedTuple):
    """The head of a response that asks for credentials."""

    status: int
    challenge: str
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    media_type: str = ""

    def header(self, name: str) -> str:
        return self.challenge if name == "www-authenticate" else ""


def test_a_challenge_is_told_and_an_absurd_one_costs_nothing() -> None:
    challenge = 'Bearer realm="r", error="invalid_token", error_description="expired", scope="a b"'
    error = sign_in(Told(401, challenge), "host:1", b"", had_credentials=True)
    assert "scheme Bearer" in error.message and "'expired'" in error.message and "'a b'" in error.message
    sign_in(Told(403, 'scope="' * 9000), "host:1", b"x" * 10**6, had_credentials=False)
    assert not wants_sign_in(Told(403, 'error="' * 9000))


@given(st.binary(max_size=3 * PIECE), st.sampled_from(["gzip", "deflate", "", "identity"]), st.integers(1, 70_000))
def test_bodies_are_decoded_in_bounded_pieces(data: bytes, encoding: str, cut: int) -> None:
    packed = {
        "gzip": gzip.compress(data),
        "deflate": zlib.compress(data),
    }.get(encoding, data)
    plain = Decoder(encoding)
    pieces = [piece for at in range(0, len(packed), cut) for piece in plain.feed(packed[at : at + cut])]
    assert b"".join(pieces) == data
    assert all(len(piece) <= max(PIECE, cut) for piece in pieces)


def test_an_encoding_that_was_not_asked_for_is_refused() -> None:
    for encoding in ("br", "zstd", "gzip, gzip"):
        with pytest.raises(http_errors.HttpBroken):
            Decoder(encoding)
    with pytest.raises(http_errors.HttpBroken):
        list(Decoder("gzip").feed(b"this is no gzip"))
