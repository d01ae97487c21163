"""Requests of signing in are bounded in every direction, and never go where they must not."""

from __future__ import annotations

import asyncio
import gzip
from urllib.parse import urlsplit

import pytest

from mcp_studio.auth.discovery import check_url
from mcp_studio.auth.fetch import FIRST, LOOPBACK, PRIVATE, PUBLIC, Fetcher, check_address, nearness
from mcp_studio.auth.model import AuthExchange, AuthFailed
from mcp_studio.errors import LimitExceeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.transport.http_errors import HttpFailure, HttpUnreachable
from tests.auth.kit import Ask, FakeTap, Reply, Web, config
from tests.support import run


def small(**more: float) -> Limits:
    return Limits(**{"metadata": 2_000, "headers": 1_000, "sign_in_request": 20, **more})  # type: ignore[arg-type]


async def get(web: Web, path: str = "/x", limits: Limits | None = None, tap: FakeTap | None = None) -> bytes:
    fetcher = Fetcher(config(web.url + "/mcp"), limits or small(), tap or FakeTap(), Redactor())
    return (await fetcher.send("metadata", "GET", web.url + path)).body


def refuses(answer: Reply | bytes, kind: type[StudioError], *words: str, path: str = "/x") -> None:
    async def main() -> None:
        async with Web(lambda _: answer) as web:
            with pytest.raises(kind) as caught:
                await get(web, path)
            for word in words:
                assert word in caught.value.message

    run(main())


async def test_an_answer_is_read_and_told_to_the_tap_with_its_purpose() -> None:
    tap, noted, redactor = FakeTap(), list[AuthExchange](), Redactor()

    def answer(_: Ask) -> Reply:
        assert "planted" not in redactor.text("planted-code-1")  # learned before anything was told
        return 200, [("Content-Type", "application/json")], b'{"access_token": "planted-token-1"}'

    async with Web(answer) as web:
        one = Fetcher(config(web.url), small(), tap, redactor, record=noted.append)
        sent = b"code=planted-code-1&grant_type=authorization_code"
        form = [("Content-Type", "application/x-www-form-urlencoded")]
        found = await one.send("token", "POST", f"{web.url}/token", headers=form, body=sent, secrets=["planted-code-1"])
    assert found.status == 200 and found.media_type == "application/json"
    assert tap.requests[0].purpose == tap.responses[0].purpose == "token"
    assert tap.requests[0].exchange == tap.responses[0].exchange >= FIRST
    assert tap.requests[0].body == sent and b"planted-token-1" in tap.responses[0].body
    assert [one.status for one in noted] == [0, 200] and noted[0].number == noted[1].number
    assert "planted" not in "".join(one.request + one.response for one in noted)
    assert "planted" not in redactor.text("said planted-token-1")


@pytest.mark.parametrize("method", ["POST", "PUT", "GET"])
@pytest.mark.parametrize(
    ("kind", "body", "masked"),
    [
        ("application/json", '{"error": "no", "hint": "PLAIN"}', False),
        ("text/plain", '{"error": "no", "hint": "PLAIN"}', False),
        ("application/x-www-form-urlencoded; charset=utf-8", "error=no&hint=PLAIN", False),
        ("text/html", "<p>The code <b>PLAIN</b> is spent</p>", True),
        ("application/x-www-form-urlencoded", "<p a=b>PLAIN</p>", True),
        ("application/x-www-form-urlencoded", "PLAIN", True),
        ("text/plain", "error=no&hint=PLAIN", True),
        ("application/json", '{"tok": {"a": "PLAIN", ', True),
        ("application/json", '{"tok": "a"} PLAIN', True),
        ("application/json", '["PLAIN"]', True),
        ("application/json", '"PLAIN"', True),
        ("application/json", "[" * 300 + '"PLAIN"' + "]" * 300, True),
        ("application/jwt", "PLAIN.a.b", True),
        ("", "PLAIN", True),
    ],
)
async def test_a_posted_body_and_its_answer_are_masked_whole_where_they_are_not_understood(
    method: str, kind: str, body: str, masked: bool
) -> None:
    tap, noted, asked = FakeTap(), list[AuthExchange](), list[AuthExchange]()
    line = [("Content-Type", kind)]

    async def gate(request: AuthExchange) -> None:
        asked.append(request)

    async with Web(lambda _: (400, line, body.encode())) as web:
        fetcher = Fetcher(config(web.url), small(), tap, Redactor(), gate=gate, record=noted.append)
        sent = body.encode() if method != "GET" else b""
        answer = await fetcher.send("token", method, f"{web.url}/token", headers=line, body=sent)
    assert answer.body == body.encode(), "whoever asked gets it as it is"
    texts = [noted[-1].response, tap.responses[0].body.decode()]
    texts += [noted[-1].request, tap.requests[0].body.decode(), asked[0].request] * bool(sent)
    assert all(("PLAIN" in text) is not (masked and bool(sent)) for text in texts), texts
    assert all((f"({len(body)} bytes" in text) is (masked and bool(sent)) for text in texts)


async def test_the_gate_sees_each_request_before_it_is_sent() -> None:
    seen: list[AuthExchange] = []

    async def gate(request: AuthExchange) -> None:
        assert not web.asked
        seen.append(request)

    async with Web(lambda _: (200, [], b"{}")) as web:
        fetcher = Fetcher(config(web.url), small(), FakeTap(), Redactor(), gate=gate)
        await fetcher.send("token", "POST", web.url + "/t", body=b"code_verifier=abcdefghijklmnop")
    assert seen[0].purpose == "token" and seen[0].method == "POST" and "abcdefgh" not in seen[0].request


def test_what_is_too_large_is_not_read_to_its_end() -> None:
    refuses((200, [], b"x" * 3_000), LimitExceeded, "metadata", "larger")
    refuses((200, [("X", "y" * 2_000)], b""), LimitExceeded, "headers")
    refuses((200, [("Content-Encoding", "gzip")], gzip.compress(b"x" * 2_000_000)), LimitExceeded, "larger")


def test_what_cannot_be_read_is_said() -> None:
    refuses((200, [("Content-Encoding", "br")], b"x"), HttpFailure, "compressed")
    refuses((200, [("Content-Encoding", "gzip")], b"no gzip at all"), HttpFailure, "compressed")
    refuses(b"SSH-2.0-OpenSSH\r\n\r\n", HttpFailure, "not HTTP")
    refuses(b"", HttpFailure, "closed the connection without an answer")
    refuses(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf", HttpFailure, "in the middle", "(metadata)")
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    refuses(chunks + b"1;" + b"a=b;" * 30_000, HttpFailure, "not HTTP", "(metadata)")
    refuses(chunks + b"0\r\n" + b"X: y\r\n" * 30_000, HttpFailure, "not HTTP")


async def test_what_comes_beyond_an_answer_answers_nothing_else() -> None:
    def answer(ask: Ask) -> Reply | bytes:
        if ask.path == "/second":
            return 200, [], b"its own"
        smuggled = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
        return b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst" + smuggled

    async with Web(answer) as web:
        one = Fetcher(config(web.url), small(), FakeTap(), Redactor())
        for path, body in (("/first", b"first"), ("/second", b"its own"), ("/second", b"its own")):
            assert (await one.send("metadata", "GET", web.url + path)).body == body
        assert web.connections == 3


async def test_a_slow_drip_ends_at_the_deadline() -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with Web(lambda _: b"", drip) as web:
        with pytest.raises(HttpUnreachable, match=r"with status 200, and did not end it within 0\.8 seconds") as caught:
            await get(web, limits=small(sign_in_request=0.8))
        assert "sign_in_request" in caught.value.hint


@pytest.mark.parametrize("path", ["", "/", "/a;b=c", "/a;b/c;d?e;f=g?", "//a", "/%2F%20?x=%26", "?x"])
async def test_what_is_asked_for_is_the_address_as_it_stands(path: str) -> None:
    async with Web(lambda ask: (200, [], ask.target.encode())) as web:
        assert (await get(web, path)).decode() == (path if path.startswith("/") else f"/{path}")


async def test_redirects_are_followed_within_the_origin_and_counted() -> None:
    def hop(ask: Ask) -> Reply:
        number = int(ask.path[1:])
        return (302, [("Location", f"/{number - 1}")], b"") if number else (200, [], b"there")

    async with Web(hop) as web:
        assert await get(web, "/3") == b"there"
        with pytest.raises(AuthFailed, match="not followed"):
            await get(web, "/4")


def test_redirects_elsewhere_and_in_circles_are_refused() -> None:
    for place in ("http://127.0.0.1:1/x", "https://evil.example/x", "/x", "//[", ""):
        refuses((302, [("Location", place)], b""), AuthFailed, "is redirected", "not followed")


async def test_what_is_posted_is_never_sent_on() -> None:
    async with Web(lambda _: (307, [("Location", "/other")], b"")) as web:
        fetcher = Fetcher(config(web.url), small(), FakeTap(), Redactor())
        with pytest.raises(AuthFailed, match="not followed"):
            await fetcher.send("token", "POST", web.url + "/token", body=b"code=1")
        assert [one.path for one in web.asked] == ["/token"]


@pytest.mark.parametrize(
    ("url", "reach"),
    [
        ("http://as.example/x", PUBLIC),
        ("http://127.0.0.1/x", PUBLIC),
        ("http://127.0.0.1/x", PRIVATE),
        ("http://as.example/x", LOOPBACK),
        ("https://user@as.example/x", LOOPBACK),
        ("https://as%2eexample/x", LOOPBACK),
        ("https://0x7f.1/x", LOOPBACK),
        ("https://2130706433/x", LOOPBACK),
        ("https://10.0.0.1/x", PUBLIC),
        ("https://169.254.169.254/latest", PUBLIC),
        ("https://169.254.169.254/latest", PRIVATE),
        ("https://169.254.169.254/latest", LOOPBACK),
        ("https://[::ffff:169.254.169.254]/latest", LOOPBACK),
        ("https://[::1]/x", PUBLIC),
        ("https://[::ffff:127.0.0.1]/x", PUBLIC),
        ("https://[::ffff:10.0.0.1]/x", PUBLIC),
        ("file:///etc/passwd", LOOPBACK),
        ("//as.example/x", LOOPBACK),
        ("https://", LOOPBACK),
        ("https://[", LOOPBACK),
        ("http://ada:planted@as.example/x", PUBLIC),
        ("https://as.example/a b?token=planted", PUBLIC),
    ],
)
def test_addresses_that_are_never_asked(url: str, reach: int) -> None:
    with pytest.raises(AuthFailed) as found:
        check_url(url, "http://localhost/mcp" if reach == LOOPBACK else "https://mcp.example/mcp", "token endpoint")
        check_address(urlsplit(url).hostname or "", "as.example", "token endpoint", reach)
    assert "planted" not in found.value.message


@pytest.mark.parametrize(
    "address",
    "127.0.0.1 10.1.2.3 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 ::1 :: fe80::1 fe80::1%eth0 fd00::1"
    " ::ffff:10.0.0.1 64:ff9b::7f00:1 2002:7f00:1::".split(),
)
def test_a_public_server_cannot_lead_to_addresses_that_only_we_reach(address: str) -> None:
    with pytest.raises(AuthFailed):
        check_address(address, "as.example", "authorization server", PUBLIC)


def test_how_near_a_server_is() -> None:
    assert [nearness(one) for one in ("127.0.0.1", "::1", "10.0.0.1", "fe80::1", "8.8.8.8")] == [
        LOOPBACK, LOOPBACK, PRIVATE, PRIVATE, PUBLIC,
    ]  # fmt: skip
    check_address("8.8.8.8", "as.example", "authorization server", PUBLIC)
    check_address("10.0.0.2", "as.local", "authorization server", PRIVATE)
    check_address("100.64.0.2", "as.tailnet", "authorization server", PRIVATE)
    for address in ("127.0.0.1", "::", "fe80::1", "169.254.169.254", "224.0.0.1", "ff02::1"):
        with pytest.raises(AuthFailed):
            check_address(address, "as.local", "authorization server", PRIVATE)
    check_address("127.0.0.1", "localhost", "authorization server", LOOPBACK)


async def test_a_public_name_that_leads_here_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DNS rebinding: the server's own name is looked up once, whatever it means a moment later."""
    answers = {"mcp.example": ["8.8.8.8", "127.0.0.1"]}

    async def lie(host: str) -> list[str]:
        return [answers[host].pop(0)] if host in answers else ["127.0.0.1"]

    monkeypatch.setattr("mcp_studio.auth.fetch.http_client.look_up", lie)

    async with Web(lambda _: (200, [], b"secret")) as web:
        port = web.url.rpartition(":")[2]
        server = config("https://mcp.example/mcp")
        fetcher = Fetcher(server, small(), FakeTap(), Redactor())
        with pytest.raises(AuthFailed, match=r"has the address 127\.0\.0\.1"):
            await fetcher.send("metadata", "GET", f"https://localhost:{port}/x")
        assert web.asked == []


async def test_a_redirect_that_repeats_what_was_sent_is_told_without_it() -> None:
    async with Web(lambda ask: (307, [("Location", f"/again?{ask.body.decode()}")], b"")) as web:
        redactor = Redactor()
        fetcher = Fetcher(config(web.url), small(), FakeTap(), redactor)
        with pytest.raises(AuthFailed) as caught:
            await fetcher.send("token", "POST", f"{web.url}/x", body=b"c=planted-secret", secrets=["planted-secret"])
        assert "/again" in caught.value.message and "planted" not in caught.value.message


def test_a_large_answer_holds_nobody_up_for_what_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks for secrets takes its time, and a hostile answer is full of what looks like some."""
    lengths: list[int] = []
    text = Redactor.text
    monkeypatch.setattr(Redactor, "text", lambda self, given: lengths.append(len(given)) or text(self, given))
    shown: list[AuthExchange] = []

    async def main() -> None:
        async with Web(lambda _: (200, [], b"x" * 900_000)) as web:
            fetcher = Fetcher(config(web.url), Limits(), FakeTap(), Redactor(), record=shown.append)
            await fetcher.send("metadata", "GET", f"{web.url}/x")

    run(main())
    assert max(lengths) < 100_000 and "834,464 characters more" in shown[-1].response


async def test_a_stream_that_goes_on_is_not_read() -> None:
    """A server that wants nobody to sign in may answer so for ever."""

    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n:\n\n\r\n"
        )
        await asyncio.Event().wait()

    async with Web(lambda _: b"", raw=endless) as web:
        fetcher = Fetcher(config(web.url), small(sign_in_request=0.8), FakeTap(), Redactor())
        answer = await fetcher.send("challenge", "POST", f"{web.url}/mcp")
        assert answer.status == 200 and answer.body == b""
