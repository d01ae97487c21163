"""TLS that does not come about: whose certificate is not accepted, why, and what to do, on every kind of transport."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.config.model import Tls
from mcp_studio.errors import ConnectionLost
from mcp_studio.session.sign_in import make_transport
from mcp_studio.transport import http_client, http_errors
from mcp_studio.transport.http_errors import HttpUnreachable
from tests.servers.certificates import Authority
from tests.servers.http_kit import opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_sse import SseServer
from tests.servers.tls_strict import StrictServer
from tests.servers.ws_raw import WsServer, url_of
from tests.support import run


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def fine(got: Request, reply: Reply) -> None:
    await reply.result()


async def ask(context: ssl.SSLContext, table: Tls) -> object:
    """What becomes of one request."""
    async with RawServer(fine, context) as server, opened(server.url, tls=table) as line:
        found = await line.ask(request(1))
        assert isinstance(found, dict) or not server.requests
        return found


def refused(context: ssl.SSLContext, table: Tls) -> HttpUnreachable:
    """The error that a request ends with; nothing of it may have reached the server."""

    async def main() -> object:
        async with opened(server.url, tls=table) as line:
            return await line.ask(request(1))

    with StrictServer(context) as server:
        error = run(main())
    assert isinstance(error, HttpUnreachable) and not isinstance(error, ConnectionLost), error
    assert error.hint and not server.requests
    return error


async def test_the_authority_of_the_table_is_trusted_for_every_transport(ca: Authority) -> None:
    table = Tls(ca=str(ca.file))
    assert isinstance(await ask(ca.server(), table), dict)
    async with RawServer(SseServer(), ca.server()) as sse:
        async with opened(sse.url, kind=make_transport, transport="sse", tls=table) as line:
            await line.shake_hands("2024-11-05")
    async with RawServer(WsServer(), ca.server()) as ws, opened(url_of(ws), kind=make_transport, tls=table) as line:
        await line.shake_hands()


async def test_insecure_accepts_any_certificate_on_every_transport(ca: Authority) -> None:
    table = Tls(insecure=True)
    assert isinstance(await ask(ca.server("127.0.0.9", first=-3, last=-2), table), dict)
    async with RawServer(WsServer(), ca.server()) as ws, opened(url_of(ws), kind=make_transport, tls=table) as line:
        await line.shake_hands()
        assert "not checked" in line.tap.notes[0]


@pytest.mark.parametrize(
    ("name", "first", "last", "trusted", "words"),
    [
        ("127.0.0.1", -1, 1, False, "authority that is not known here"),
        ("127.0.0.1", -3, -2, True, "has expired"),
        ("127.0.0.1", 1, 2, True, "not valid yet"),
        ("127.0.0.2", -1, 1, True, "another address"),
        ("mcp.invalid", -1, 1, True, "another address"),
    ],
)
def test_a_certificate_that_is_not_accepted_says_why(
    ca: Authority, name: str, first: float, last: float, trusted: bool, words: str
) -> None:
    table = Tls(ca=str(ca.file)) if trusted else Tls()
    error = refused(ca.server(name, first=first, last=last), table)
    assert "certificate of 127.0.0.1:" in error.message and words in error.message, error.message
    if not trusted:
        assert "tls.ca" in error.hint and "--ca" in error.hint


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_certificate_that_is_wanted(ca: Authority, tmp_path: Path, newest: ssl.TLSVersion) -> None:
    context = ca.server(clients=True)
    context.maximum_version = newest
    mine = ca.issue("me")
    shown = Tls(ca=str(ca.file), cert=str(mine.cert), key=str(mine.key))
    assert isinstance(run(ask(context, shown)), dict)
    missing = refused(context, Tls(ca=str(ca.file)))
    assert "client certificate" in missing.message + missing.hint and "tls.cert" in missing.hint
    stranger = Authority(tmp_path, "other").issue("me")
    unknown = refused(context, Tls(ca=str(ca.file), cert=str(stranger.cert), key=str(stranger.key)))
    assert "authority of the client certificate" in unknown.message, unknown.message
    old = ca.issue("me", first=-3, last=-2)
    expired = refused(context, Tls(ca=str(ca.file), cert=str(old.cert), key=str(old.key)))
    assert "it has expired" in expired.message, expired.message


def test_a_server_of_old_versions_of_tls_alone(ca: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    made = http_client.context

    def newer(table: Tls, **about: Any) -> ssl.SSLContext:
        context = made(table, **about)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        return context

    context = ca.server()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    monkeypatch.setattr(http_client, "context", newer)
    error = refused(context, Tls(insecure=True))
    assert "version" in error.message, error.message


async def test_hanging_up_in_the_handshake_is_told() -> None:
    async def hang_up(got: Request, reply: Reply) -> None:
        raise AssertionError("there is no request")

    async with RawServer(hang_up) as server:
        server.handler = hang_up
        async with opened(server.url.replace("http:", "https:")) as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpUnreachable) and "TLS" in error.message, error


@pytest.mark.parametrize("code", [9, 10, 18, 19, 20, 21, 23, 62, 64, 4711])
def test_every_reason_of_verification_has_words_and_a_hint(code: int) -> None:
    problem = ssl.SSLCertVerificationError(1, "certificate verify failed")
    problem.verify_code, problem.verify_message = code, "as openssl says"
    problem.reason = "CERTIFICATE_VERIFY_FAILED"
    error = http_errors.tls_failure(problem, "host:1", under_way=False)
    assert error is not None and "as openssl says" in error.message and error.hint


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "requires a client certificate"),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "refused the TLS handshake"),
        ("TLSV1_ALERT_UNKNOWN_CA", "does not know the authority"),
        ("SSLV3_ALERT_BAD_CERTIFICATE", "does not accept the client certificate"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "none of the versions"),
        ("UNSUPPORTED_PROTOCOL", "versions of TLS"),
        ("WRONG_VERSION_NUMBER", "does not speak TLS"),
        ("SOMETHING_NEW", "something new"),
    ],
)
def test_every_alert_has_words(reason: str, words: str) -> None:
    problem = ssl.SSLError(1, "x")
    problem.reason = reason
    error = http_errors.tls_failure(problem, "host:1", under_way=False)
    assert error is not None and words in error.message
    lost = http_errors.tls_failure(problem, "host:1", under_way=True)
    ours = reason.startswith(("SSLV3_ALERT", "TLSV13_ALERT")) or reason.endswith("UNKNOWN_CA")
    assert (lost is not None) == ours
