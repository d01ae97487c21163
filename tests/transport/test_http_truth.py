"""What each way to fail over HTTP means, said in plain words, with status, headers and body at hand."""

from __future__ import annotations

import errno
import socket
from typing import Any

import pytest

from mcp_studio.jsontext import dumps
from mcp_studio.transport import http_errors
from mcp_studio.transport.http_errors import (
    BODY,
    MEANINGS,
    HttpFailure,
    HttpUnreachable,
    meaning,
    status_text,
)
from tests.servers.http_bad import body, body_of, meet
from tests.servers.http_kit import modern, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import run

SAID = {
    400: "could not make sense",
    404: "no MCP endpoint",
    405: "does not take the HTTP method",
    413: "larger than it takes",
    429: "too often",
    500: "it failed",
    502: "what stands before it",
    503: "cannot serve now",
    504: "in vain",
    418: "does not take the request",
    599: "it failed",
    300: "does not take the request",
}


@pytest.mark.parametrize("status", SAID)
def test_a_status_says_what_it_means_and_what_to_do(status: int) -> None:
    error, _ = meet(body('{"why":"so"}', f"{status} Oh", "application/json", "X-Trace: 7"))
    assert isinstance(error, HttpFailure) and error.code == status
    assert f"HTTP status {status} Oh" in error.message and SAID[status] in error.message and error.hint
    assert 'It says: {"why":"so"}' in error.message
    assert ("X-Trace", "7") in (error.http.headers if error.http else ()) and body_of(error) == '{"why":"so"}'


def test_every_status_of_http_has_a_meaning() -> None:
    for status in range(300, 600):
        says, hint = meaning(status)
        assert says and hint and not says.endswith(".") and hint.endswith((".", "PORT", "?", '"'))
    assert (
        status_text(404) == "HTTP status 404 Not Found"
        and status_text(599) == "HTTP status 599"
        and 401 not in MEANINGS
    )


def test_what_is_kept_of_a_body_is_bounded_and_keeps_its_lines() -> None:
    error, _ = meet(body("line\n" * 100_000, "500 Oh", "text/plain"))
    assert isinstance(error, HttpFailure)
    assert body_of(error).startswith("line\nline\n") and len(body_of(error)) <= BODY + 1


# ---------------------------------------------------------------------------------------------------- sessions


# ---------------------------------------------------------------------------------------------------- redirects


async def away(location: str, status: int = 307) -> HttpUnreachable:
    """What a redirect ends with."""

    async def handler(got: Request, reply: Reply) -> None:
        where = location.format(port=server.port)
        await reply.head(f"{status} R", f"Location: {where}", "Content-Length: 0")

    async with RawServer(handler) as server, opened(server.url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpUnreachable) and error.code == status and error.hint, error
        assert ("Location", location.format(port=server.port)) in (error.http.headers if error.http else ())
        return error


def test_a_redirect_says_where_it_leads_and_what_to_do() -> None:
    upgrade = run(away("https://127.0.0.1/mcp?token=secret"))
    assert "another origin" in upgrade.message and "https://127.0.0.1/mcp" in upgrade.hint
    assert "secret" not in upgrade.message + upgrade.hint
    other = run(away("https://login.invalid/sso?next=x", 302))
    assert "another origin" in other.message and "https://login.invalid/sso" in other.hint
    lost = run(away("/other", 302))
    assert "drops the message" in lost.message and "/other" in lost.hint


# ---------------------------------------------------------------------------------------------------- stalled


# ---------------------------------------------------------------------------------------------------- below HTTP


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (socket.gaierror(socket.EAI_NONAME, "no"), "does not resolve"),
        (socket.gaierror(socket.EAI_AGAIN, "later"), "does not resolve"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "Nothing answers at"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), "No connection to"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "No connection to"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "No connection to"),
    ],
)
def test_what_fails_below_http_has_words_and_a_hint(problem: Exception, words: str) -> None:
    error = http_errors.network_failure(problem, "host:1", under_way=False)
    assert isinstance(error, HttpUnreachable) and words in error.message and error.hint
    through = http_errors.network_failure(problem, "proxy:3128", under_way=False, proxy="HTTPS_PROXY")
    assert "HTTPS_PROXY" in through.message or "HTTPS_PROXY" in through.hint


# ---------------------------------------------------------------------------------------------------- the modern era


@pytest.mark.parametrize(
    ("status", "code", "data"),
    [
        (400, -32020, {"header": "Mcp-Name"}),
        (400, -32021, {"requiredCapabilities": {"sampling": {}}}),
        (400, -32022, {"supported": ["2026-07-28"], "requested": "2030-01-01"}),
        (404, -32601, None),
        (400, -32602, None),
    ],
)
async def test_an_error_of_the_modern_era_is_an_answer_whatever_its_status(status: int, code: int, data: Any) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        error = {"code": code, "message": "no", **({"data": data} if data else {})}
        await reply.body(f"{status} No", dumps({"jsonrpc": "2.0", "id": got.json["id"], "error": error}))

    async with RawServer(handler) as server, opened(server.url) as line:
        line.transport.negotiated("2026-07-28")
        answer = await line.ask(modern(7, "tools/call", target="t"))
        assert answer["error"]["code"] == code and answer["error"].get("data") == data
        assert not line.box.failures and not line.box.ends


async def test_an_event_of_more_than_one_mebibyte_arrives_whole() -> None:
    text = "x" * (3 << 20)

    async def handler(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event({"jsonrpc": "2.0", "id": got.json["id"], "result": {"text": text}})
        reply.close()

    async with RawServer(handler) as server, opened(server.url) as line:
        assert (await line.ask(modern(1, "tools/call", target="t")))["result"]["text"] == text
