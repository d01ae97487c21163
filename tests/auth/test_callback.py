"""The listener for the redirect: one flow, this machine, and nobody else disturbs it."""

from __future__ import annotations

import asyncio
import tracemalloc
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from mcp_studio.auth import callback
from mcp_studio.auth.authorize import Expected
from mcp_studio.auth.callback import Redirects
from mcp_studio.auth.hints import PORT, port_kept

GOOD = "code=right&state=s"
WRONG = "code=x&state=other"


class Listener:
    """A listener, and the code that it waits for."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.redirects = Redirects("<b>one</b>\x1b[31m", lambda note: None)

    async def __aenter__(self) -> Listener:
        await self.redirects.start(self.host, 0)
        self.code = self.redirects.expect(Expected("s", "https://as.example"))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.redirects.close()

    @property
    def port(self) -> int:
        return urlsplit(self.redirects.uri).port or 0


@pytest.fixture(autouse=True)
def any_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callback, "PORT", 0)  # others on this machine may sign in just now


def listening(host: str = "127.0.0.1") -> Listener:
    return Listener(host)


async def raw(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def get(listener: Listener, target: str, *, method: str = "GET", host: str = "", more: str = "") -> str:
    host = host or f"127.0.0.1:{listener.port}"
    found = await raw(listener.port, f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
    return found.decode()


async def test_the_redirect_is_received_once_and_the_listener_goes() -> None:
    async with listening() as listener:
        assert listener.redirects.uri == f"http://127.0.0.1:{listener.port}/callback"
        answer = await get(listener, f"/callback?{GOOD}")
        assert (
            answer.startswith("HTTP/1.1 200 ")
            and "&lt;b&gt;one" in answer
            and "<b>" not in answer
            and "\x1b" not in answer
        )
        for header in ("Referrer-Policy: no-referrer", "Cache-Control: no-store", "default-src 'none'"):
            assert header in answer
        with pytest.raises(ConnectionError):
            await get(listener, f"/callback?{GOOD}")
        assert await listener.code == "right"


async def test_a_wrong_redirect_is_told_so_and_the_right_one_still_comes_through() -> None:
    async with listening() as listener:
        wrong = await get(listener, f"/callback?{WRONG}")
        assert wrong.startswith("HTTP/1.1 400 ") and "Not this one" in wrong
        assert (await get(listener, f"/callback?{GOOD}")).startswith("HTTP/1.1 200 ")
        assert await listener.code == "right"


@pytest.mark.parametrize(
    ("target", "extra"),
    [
        ("/favicon.ico", {}),
        ("/", {}),
        (f"/callback/?{GOOD}", {}),
        (f"/callback?{GOOD}", {"method": "HEAD"}),
        (f"/callback?{GOOD}", {"method": "POST"}),
        (f"/callback?{GOOD}", {"host": "evil.example"}),
        (f"/callback?{GOOD}", {"host": "127.0.0.1"}),
        (f"/callback?{GOOD}", {"more": "Host: evil.example\r\n"}),
        (f"http://evil.example/callback?{GOOD}", {}),
    ],
)
async def test_what_is_no_redirect_never_reaches_the_flow(target: str, extra: dict[str, str]) -> None:
    async with listening() as listener:
        assert (await get(listener, target, **extra)).startswith("HTTP/1.1 404 ")
        assert not listener.code.done()


async def test_junk_is_cut_off_or_answered() -> None:
    async with listening() as listener:
        assert (await raw(listener.port, b"\x16\x03\x01\x02\x00\r\n\r\n")).startswith(b"HTTP/1.1 404 ")
        assert await raw(listener.port, b"GET /" + b"x" * 200_000) == b""
        assert not listener.code.done()


async def test_what_follows_a_request_without_end_fills_no_memory() -> None:
    async with listening() as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(f"POST /callback HTTP/1.1\r\nHost: 127.0.0.1:{listener.port}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        piece = b"x" * (1 << 20)
        tracemalloc.start()
        try:
            with suppress(OSError):
                for _ in range(30):
                    writer.write(piece)
                    await writer.drain()
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()
            writer.transport.abort()


async def test_many_who_say_nothing_do_not_keep_the_browser_out() -> None:
    async with listening() as listener:
        idle = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(100)]
        assert (await get(listener, f"/callback?{GOOD}")).startswith("HTTP/1.1 200 ")
        for _, writer in idle:
            writer.close()


async def test_closing_cuts_everybody_off() -> None:
    async with listening() as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        await get(listener, "/")  # who came before is connected by now
        listener.redirects.close()
        with pytest.raises(ConnectionError):
            if not await reader.read():
                raise ConnectionError
        writer.close()
        with pytest.raises(ConnectionError):
            await get(listener, "/")


async def test_a_browser_that_is_sent_to_localhost_comes_back() -> None:
    async with listening("localhost") as listener:
        assert listener.redirects.uri.startswith("http://localhost:")
        found = await get(listener, f"/callback?{GOOD}", host=f"localhost:{listener.port}")
        assert found.startswith("HTTP/1.1 200 ")


async def test_a_port_that_is_taken_is_left_for_another_unless_it_was_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with listening() as taken:
        redirects = Redirects("one", lambda note: None)
        assert "paste" in await redirects.start("127.0.0.1", taken.port) and not redirects.listening
        monkeypatch.setattr(callback, "PORT", taken.port)
        note = await redirects.start("127.0.0.1", 0)
        port = redirects.uri.partition("1:")[2].partition("/")[0]
        assert redirects.listening and port != str(taken.port) and port in note
        redirects.close()


def test_a_redirect_that_is_registered_by_hand_is_told_with_what_keeps_its_port() -> None:
    assert "redirect_port = 33389 " in port_kept("http://127.0.0.1:33389/callback")
    assert port_kept(f"http://127.0.0.1:{PORT}/callback") == port_kept("") == ""
