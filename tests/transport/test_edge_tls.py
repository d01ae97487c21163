"""The bounded edge: certificates, wrong schemes, and the proxies of the environment."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mcp_studio.config.model import ServerConfig, Timeouts
from mcp_studio.errors import ConfigError
from mcp_studio.limits import Limits
from mcp_studio.transport import http_client
from mcp_studio.transport.http import HttpTransport
from mcp_studio.transport.http_client import route_to
from mcp_studio.transport.http_errors import HttpBroken, HttpFailure, HttpUnreachable
from mcp_studio.transport.websocket import WebSocketTransport
from tests.servers.http_kit import Box, Recorder, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.ws_raw import WsServer, url_of

SECRET = "Bearer for-one-origin-only"


async def fine(got: Request, reply: Reply) -> None:
    await reply.result()


# ---------------------------------------------------------------------------------------------------- TLS


def certificate(folder: Path, *, name: str = "127.0.0.1", days: int = 1) -> tuple[ssl.SSLContext, Path]:
    """A self-signed certificate as a server context, and the file a client can trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(name))])
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=2 + days))
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, keyfile = folder / "cert.pem", folder / "key.pem"
    file.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    keyfile.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, keyfile)
    return context, file


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_websocket_over_tls_is_verified_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    context, file = certificate(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))

    async with RawServer(WsServer(), context) as server:
        try:
            async with opened(url_of(server), kind=WebSocketTransport) as line:
                assert url_of(server).startswith("wss://") and trusted
                await line.shake_hands()
        except HttpUnreachable as error:
            assert not trusted and "self-signed certificate" in error.message


async def test_a_wrong_scheme_is_recognized_in_both_directions(tmp_path: Path) -> None:
    async with RawServer(fine) as plain, opened(plain.url.replace("http:", "https:")) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpUnreachable) and "http://" in error.hint
    async with RawServer(fine, certificate(tmp_path)[0]) as tls, opened(tls.url.replace("https:", "http:")) as line:
        assert isinstance(await line.ask(request(1)), HttpFailure)


async def test_bytes_of_tls_on_a_plain_connection_suggest_https() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await reply.raw(b"\x15\x03\x03\x00\x02\x02\x46\r\n\r\n")

    async with RawServer(handler) as server, opened(server.url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpBroken) and "https://" in error.hint


# ---------------------------------------------------------------------------------------------------- proxies


async def test_the_proxy_of_the_environment_is_used_but_never_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer(fine) as proxy, RawServer(fine) as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "direct.invalid")
        async with opened("http://mcp.invalid/mcp") as line:
            assert "result" in await line.ask(request(1))
        assert proxy.requests[0].path == "http://mcp.invalid/mcp"
        assert proxy.requests[0].headers["host"] == "mcp.invalid"
        async with opened(server.url) as line:
            assert "result" in await line.ask(request(1))
        assert len(proxy.requests) == 1
        limits = Limits()
        assert route_to("http://direct.invalid/") is None
        http_client.load(ServerConfig("peer", url="http://direct.invalid/"), limits, 1)


async def test_a_proxy_that_refuses_the_tunnel_or_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        assert got.method == "CONNECT" and "authorization" not in got.headers
        await reply.body("403 Forbidden", b"")

    async with RawServer(handler) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with opened("https://mcp.invalid/mcp", headers={"Authorization": SECRET}) as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpUnreachable) and "403" in error.message
    monkeypatch.setenv("HTTPS_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(ConfigError, match="proxy"):
        await HttpTransport(ServerConfig("peer", url="https://mcp.invalid/"), Limits(), Recorder()).open(Box())


async def test_a_proxy_that_never_answers_meets_the_deadline_of_connecting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(got: Request, reply: Reply) -> None:
        await asyncio.Event().wait()

    async with RawServer(handler) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with opened("https://mcp.invalid/mcp", timeouts=Timeouts(connect=0.2)) as line:
            error = await line.ask(request(1))
            assert isinstance(error, HttpUnreachable) and "0.2 seconds" in error.message


async def test_a_websocket_without_tls_is_not_sent_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    with pytest.raises(ConfigError, match="proxy") as found:
        async with opened("ws://mcp.invalid/", kind=WebSocketTransport):
            pass
    assert "NO_PROXY" in found.value.hint
