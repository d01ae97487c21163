"""The listener for the redirect: one flow, this machine, and nobody else disturbs it."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from mcp_studio.auth import callback
from mcp_studio.auth.callback import Callback, Reception, Redirects, port_kept
from tests.support import wait_until

GOOD = "code=right&state=s"


@asynccontextmanager
async def listening(host: str = "127.0.0.1") -> AsyncGenerator[tuple[Callback, list[str]]]:
    got: list[str] = []

    def receive(query: str) -> Reception:
        got.append(query)
        over = query == GOOD
        return Reception(
            over, "Done" if over else "Not <this> one", "go back \x1b[31m" if over else "<script>1</script>"
        )

    callback = await Callback.start(host, 0, receive)
    try:
        yield callback, got
    finally:
        await callback.close()


async def raw(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(request)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def get(callback: Callback, target: str, *, method: str = "GET", host: str = "", more: str = "") -> str:
    host = host or f"127.0.0.1:{callback.port}"
    found = await raw(callback.port, f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode())
    return found.decode()


async def test_the_redirect_is_received_once_and_the_listener_goes() -> None:
    async with listening() as (callback, got):
        assert callback.uri == f"http://127.0.0.1:{callback.port}/callback"
        answer = await get(callback, f"/callback?{GOOD}")
        assert answer.startswith("HTTP/1.1 200 ") and "<h1>Done</h1>" in answer and "\x1b" not in answer
        for header in ("Referrer-Policy: no-referrer", "Cache-Control: no-store", "default-src 'none'"):
            assert header in answer
        with pytest.raises(ConnectionError):
            await get(callback, f"/callback?{GOOD}")
        assert got == [GOOD]


async def test_a_wrong_redirect_is_told_so_and_the_right_one_still_comes_through() -> None:
    async with listening() as (callback, got):
        wrong = await get(callback, "/callback?code=x&state=other")
        assert wrong.startswith("HTTP/1.1 400 ") and "Not &lt;this&gt; one" in wrong and "<script>" not in wrong
        assert (await get(callback, f"/callback?{GOOD}")).startswith("HTTP/1.1 200 ")
        assert got == ["code=x&state=other", GOOD]


@pytest.mark.parametrize(
    ("status", "target", "extra"),
    [
        (404, "/favicon.ico", {}),
        (404, "/", {}),
        (404, f"/callback/?{GOOD}", {}),
        (405, f"/callback?{GOOD}", {"method": "HEAD"}),
        (405, f"/callback?{GOOD}", {"method": "POST"}),
        (421, f"/callback?{GOOD}", {"host": "evil.example"}),
        (421, f"/callback?{GOOD}", {"host": "127.0.0.1"}),
        (421, f"/callback?{GOOD}", {"more": "Host: evil.example\r\n"}),
        (404, f"http://evil.example/callback?{GOOD}", {}),
    ],
)
async def test_what_is_no_redirect_never_reaches_the_flow(status: int, target: str, extra: dict[str, str]) -> None:
    async with listening() as (callback, got):
        assert (await get(callback, target, **extra)).startswith(f"HTTP/1.1 {status} ")
        assert got == []


async def test_junk_is_cut_off_or_answered() -> None:
    async with listening() as (callback, got):
        assert (await raw(callback.port, b"\x16\x03\x01\x02\x00\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
        assert await raw(callback.port, b"GET /" + b"x" * 200_000) == b""
        assert got == []


async def test_what_follows_a_request_without_end_fills_no_memory() -> None:
    async with listening() as (callback, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", callback.port)
        writer.write(f"POST /callback HTTP/1.1\r\nHost: 127.0.0.1:{callback.port}\r\n\r\n".encode())
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
    async with listening() as (callback, _):
        idle = [await asyncio.open_connection("127.0.0.1", callback.port) for _ in range(100)]
        assert (await get(callback, f"/callback?{GOOD}")).startswith("HTTP/1.1 200 ")
        for _, writer in idle:
            writer.close()


async def test_closing_cuts_everybody_off() -> None:
    async with listening() as (callback, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", callback.port)
        await wait_until(lambda: callback._open)
        await callback.close()
        with pytest.raises(ConnectionError):
            if not await reader.read():
                raise ConnectionError
        writer.close()
        with pytest.raises(ConnectionError):
            await get(callback, "/")


async def test_localhost_is_listened_at_with_both_addresses() -> None:
    async with listening("localhost") as (callback, _):
        assert callback.uri.startswith("http://localhost:")
        try:
            found = await raw(
                callback.port,
                f"GET /callback?{GOOD} HTTP/1.1\r\nHost: localhost:{callback.port}\r\n\r\n".encode(),
                "::1",
            )
        except OSError:
            pytest.skip("no IPv6 here")
        assert found.startswith(b"HTTP/1.1 200 ")


async def test_a_port_that_is_taken_is_left_for_another_unless_it_was_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with listening() as (taken, _):
        redirects = Redirects("one", lambda note: None)
        assert "paste" in await redirects.start("127.0.0.1", taken.port) and not redirects.listening
        monkeypatch.setattr(callback, "PORT", taken.port)
        note = await redirects.start("127.0.0.1", 0)
        port = redirects.uri.partition("1:")[2].partition("/")[0]
        assert redirects.listening and port != str(taken.port) and port in note
        await redirects.close()


def test_a_redirect_that_is_registered_by_hand_is_told_with_what_keeps_its_port() -> None:
    assert "redirect_port = 33389 " in port_kept("http://127.0.0.1:33389/callback")
    assert port_kept(f"http://127.0.0.1:{callback.PORT}/callback") == port_kept("") == ""
