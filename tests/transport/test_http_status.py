"""Statuses, content types and bodies that are no answer: told in plain words, with the status kept on the error."""

from __future__ import annotations

import json

import pytest

from mcp_studio.errors import ProtocolError, SignInNeeded
from mcp_studio.transport.http_errors import HttpFailure, HttpSignIn
from tests.servers.http_bad import Bad, body, body_of, meet, raw
from tests.servers.http_kit import modern, opened, request
from tests.servers.http_raw import RawServer, Reply, Request


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (
            body("<html><title>Welcome &amp; hi</title>", kind="text/html; charset=utf-8"),
            "HTML page (“Welcome &amp; hi”)",
        ),
        (body("just text", kind="text/plain"), "text/plain instead of JSON: just text"),
        (body("", kind="application/json"), "empty body"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnope"), "no stated type"),
        (lambda reply: reply.accepted(), "empty body"),
        (body("{", kind="application/json"), "does not answer the request: {"),
        (body('{"jsonrpc":"2.0","id":77,"result":{}}'), "does not answer the request"),
        (body('{"jsonrpc":"2.0","method":"notifications/message"}'), "does not answer the request"),
        (raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "is not HTTP"),
        (raw(b"\x15\x03\x01\x00\x02\x02\x46"), "is not HTTP"),
        (raw(b"\x00\x00\x12\x04" + bytes(23)), "is not HTTP"),
        (raw(b"HTTP/2 200 OK\r\n\r\n"), "illegal status line: bytearray(b'HTTP/2 200 OK')"),
        (raw(b"HTTP/1.1 000 Zero\r\n\r\n"), "is not HTTP"),
        (raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"), "is not HTTP"),
        (raw(b"HTTP/1.1 999999 OK\r\n\r\n"), "is not HTTP"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), "is not HTTP"),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "is not HTTP"),
        (body("x", "200 OK", "application/json", "Content-Encoding: br"), "compressed (br)"),
        (body("no gzip at all", "200 OK", "application/json", "Content-Encoding: gzip"), "cannot be read"),
    ],
)
def test_an_answer_that_breaks_the_protocol_is_named(bad: Bad, words: str) -> None:
    error, _ = meet(bad)
    assert isinstance(error, ProtocolError) and words in error.message, error.message


def test_whatever_looks_like_json_is_delivered_before_it_is_judged() -> None:
    for text in ("{", '{"jsonrpc":"2.0","id":77,"result":{}}', '[{"jsonrpc":"2.0","id":9,"result":{}},3]'):
        _, line = meet(body(text))
        assert line.box.frames[0] == text.encode()
        assert line.tap.came[0] == (1, text.encode())


async def test_a_byte_order_mark_before_json_is_overlooked() -> None:
    async def answer(got: Request, reply: Reply) -> None:
        text = json.dumps({"jsonrpc": "2.0", "id": got.json["id"], "result": {}})
        await reply.body("200 OK", b"\xef\xbb\xbf" + text.encode())

    async with RawServer(answer) as server, opened(server.url) as line:
        assert (await line.ask(modern(1, "server/discover")))["result"] == {}


def test_an_html_error_page_is_named_by_its_title_not_quoted() -> None:
    page = "<html>" + " " * 2000 + "<title>502 Bad Gateway</title><body>" + "x" * 100_000
    error, _ = meet(body(page, "502 Bad Gateway", "text/html"))
    assert isinstance(error, HttpFailure) and "HTML page (“502 Bad Gateway”)" in error.message
    assert "xxx" not in error.message and len(body_of(error)) < 5_000


def test_401_says_what_the_server_asks_for() -> None:
    challenge = 'WWW-Authenticate: Bearer error="invalid_token", scope="mcp:read", resource_metadata="https://x/y"'
    error, _ = meet(body("", "401 Unauthorized", "text/plain", challenge))
    assert isinstance(error, HttpSignIn) and error.exit_code == 3 and error.code == 401
    assert "sign in" in error.message and "'mcp:read'" in error.message and "'invalid_token'" in error.message
    assert error.challenge.startswith("Bearer error=")


@pytest.mark.parametrize(
    ("text", "challenge", "kind"),
    [
        ("Invalid Host header", "", HttpFailure),
        ('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Invalid Host header"}}', "", HttpFailure),
        ("Invalid Host header", 'Bearer error="invalid_token", error_description="insufficient_scope"', HttpFailure),
        ("Invalid Host header", 'Basic realm="error=insufficient_scope"', HttpFailure),
        ("Invalid Host header", 'Bearer scope="a", error="insufficient_scope"', HttpSignIn),
        ("Invalid Host header", "Bearer error=insufficient_scope", HttpSignIn),
    ],
)
def test_403_refuses_access_and_wants_a_sign_in_only_for_a_scope(
    text: str, challenge: str, kind: type[HttpFailure]
) -> None:
    error, _ = meet(body(text, "403 Forbidden", "text/plain", *([f"WWW-Authenticate: {challenge}"] * bool(challenge))))
    assert type(error) is kind and error.exit_code == (3 if kind is HttpSignIn else 1)
    assert "403" in error.message and "access" in error.message and "Invalid Host header" in error.message


async def test_refused_credentials_are_not_shown() -> None:
    async with RawServer(lambda got, reply: reply.body("401 Unauthorized", b"")) as server:
        async with opened(server.url, headers={"Authorization": "Bearer hunter2-secret"}) as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpSignIn) and "does not accept the credentials" in error.message
            assert "hunter2" not in error.message + error.hint
            assert server.requests[0].headers["authorization"] == "Bearer hunter2-secret"


def test_a_body_of_an_error_that_never_ends_does_not_hide_the_status() -> None:
    async def bad(reply: Reply) -> None:
        await reply.head("500 Broken", "Content-Type: text/plain", "Connection: close")
        for _ in range(200):
            await reply.raw(b"x" * 10_000)

    error, _ = meet(bad)
    assert isinstance(error, HttpFailure) and error.code == 500


@pytest.mark.parametrize(
    ("page", "hint"),
    [
        ("<title>400 The plain HTTP request was sent to HTTPS port</title>", "https://"),
        ("Client sent an HTTP request to an HTTPS server.", "https://"),
    ],
)
def test_what_web_servers_say_of_tls_is_understood(page: str, hint: str) -> None:
    error, _ = meet(body(page, "400 Bad Request", "text/html"))
    assert hint in error.hint and "trace" not in error.hint


def test_a_name_and_a_password_are_wanted_where_the_scheme_is_basic() -> None:
    error, _ = meet(body("", "401 Unauthorized", "text/plain", 'WWW-Authenticate: Basic realm="staging"'))
    assert isinstance(error, SignInNeeded) and "password" in error.hint
