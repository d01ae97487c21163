"""The exchanges of signing in, which go to other servers, in the trace of the server that they are for."""

from __future__ import annotations

import json

import pytest

from mcp_studio.protocol.events import Outgoing
from mcp_studio.redact import Redactor
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import select
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import Node, request_of, tree, walk
from mcp_studio.transport.base import HttpRequest, HttpResponse
from tests.trace.export.recorded import exported
from tests.trace.made import Made
from tests.trace.test_server_tap import made, receive

FIRST = 1 << 20
FORM = (("Content-Type", "application/x-www-form-urlencoded"), ("Authorization", "Basic czNjcjpzM2Ny"))
JSON = (("Content-Type", "application/json"), ("Set-Cookie", "s=s3cr"))
ASKED = b"grant_type=authorization_code&code=s3cr&code_verifier=s3cr&client_id=me"
GIVEN = b'{"access_token":"s3cr","token_type":"Bearer","refresh_token":"s3cr","scope":"notes"}'
PURPOSE = "token for the code"


def signed_in() -> TraceStore:
    """A call during which a token was got."""
    store, tap = made()
    tap.http_request(HttpRequest(1, "POST", "https://mcp.example/", (("Mcp-Session-Id", "s3cr"),)))
    tap.expect(Outgoing(b'{"id":1}', "request", id=1, method="tools/call", target="echo"))
    tap.sent(b'{"id":1}', 1)
    tap.http_response(HttpResponse(1, 401, "Unauthorized", ()))
    tap.http_request(HttpRequest(FIRST, "POST", "https://as.example/token?tenant=t", FORM, ASKED, PURPOSE))
    tap.http_response(HttpResponse(FIRST, 200, "", JSON, body=GIVEN, purpose=PURPOSE))
    tap.http_request(HttpRequest(FIRST + 1, "GET", "https://as.example/lost", (), b"", "metadata"))
    tap.http_response(HttpResponse(FIRST + 1, 0, "", (), "No connection: Bearer s3cr-s3cr-1", b"", "metadata"))
    receive(tap, b'{"id":1,"result":{}}')
    return store


def test_of_a_body_without_measure_the_beginning_is_kept() -> None:
    """Looking for what is secret in all of it would take most of a second."""
    store, tap = made()
    body = b'{"x":"' + b"token=abcdef1234567890 " * 40_000 + b'"}'
    tap.http_response(HttpResponse(FIRST, 200, "", JSON, body=body, purpose=PURPOSE))
    assert len(store[0].body) < 70_000 and b"abcdef" not in store[0].body
    assert store[0].body.endswith(b"%d bytes more" % (len(body) - 64 * 1024))


def found(store: TraceStore, query: str) -> list[int]:
    return list(select(store, parse(query)))


def test_an_exchange_stands_there_with_its_purpose_and_its_bodies_and_without_secrets() -> None:
    store = signed_in()
    asked, given = store[3], store[4]
    assert (asked.kind, asked.direction, asked.method, asked.target) == ("http", "out", "POST", PURPOSE)
    assert asked.body.startswith(b"POST https://as.example/token?tenant=t\nContent-Type: ")
    assert (
        b"\n\ngrant_type=authorization_code&code=\xe2\x80\xb9redacted" in asked.body and b"client_id=me" in asked.body
    )
    assert (given.method, given.target, given.direction) == ("200", PURPOSE, "in")
    head, _, body = given.body.partition(b"\n\n")
    assert head.startswith(b"200\n") and json.loads(body)["scope"] == "notes"
    assert store[6].method.startswith("failed: No connection")
    assert not any(b"s3cr" in entry.body or "s3cr" in entry.method + entry.target for entry in store)
    assert not any(store[at].findings for at in range(3, 7)), "another server need not keep to MCP"


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("is:sign-in", [4, 5, 6, 7]),
        ("is:sign-in target:token*", [4, 5]),
        ('is:sign-in target:"metadata"', [6, 7]),
        ("is:sign-in target:*", [4, 5, 6, 7]),
        ("kind:http -is:sign-in", [1, 3]),
        ("status:200", [5]),
        ("status:401", [3]),
        ("is:sign-in text:grant_type", [4]),
    ],
)
def test_a_filter_finds_them(query: str, numbers: list[int]) -> None:
    assert found(signed_in(), query) == numbers


def shape(node: Node | None) -> list[tuple[int, int, str]]:
    assert node is not None
    return [(depth, one.number, one.relation) for depth, one in walk(node)]


def test_what_was_sent_while_a_call_waited_is_a_step_of_it() -> None:
    store = signed_in()
    assert shape(tree(store, 2)) == [
        (0, 2, "root"), (1, 1, "http"), (1, 3, "http"), (1, 4, "step"), (2, 5, "http"), (1, 6, "step"), (2, 7, "http"),
    ]  # fmt: skip
    assert [request_of(store.columns, number) for number in range(1, 9)] == [2, 2, 2, 4, 4, 6, 6, 2]
    assert shape(tree(store, 5)) == [(0, 4, "root"), (1, 5, "http")]


def test_exchanges_of_another_server_and_answers_that_are_missing_belong_to_nobody() -> None:
    made = Made()
    call = made.request("tools/call", "x", exchange=1)
    other = made.add("http", "out", "GET", "metadata", server="other", exchange=FIRST)
    lone = made.add("http", "out", "GET", "metadata", exchange=FIRST)
    answer = made.add("http", "in", "200", "metadata", server="other", exchange=FIRST)
    made.answer(call)
    assert shape(tree(made.recording, call)) == [(0, call, "root"), (1, lone, "step")]
    assert shape(tree(made.recording, answer)) == [(0, other, "root"), (1, answer, "http")]


@pytest.mark.parametrize("format", ["jsonl", "bundle", "har", "markdown"])
def test_no_export_has_a_secret_though_an_older_trace_may(format: str) -> None:
    import gzip

    store = signed_in()
    # As a studio recorded it that knew less.
    store[3].body = b"POST https://as.example/token\nContent-Type: application/x-www-form-urlencoded\n\ncode=s3cr&a=1"
    store[0].body = b"POST https://mcp.example/\nMcp-Session-Id: s3cr"
    written = exported(store, format, redactor=Redactor())
    text = gzip.decompress(written) if format == "bundle" else written
    assert text and b"s3cr" not in text
    if format == "jsonl":
        assert PURPOSE.encode() in text
