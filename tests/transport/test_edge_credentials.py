"""The edge and whoever holds the credentials: asked before each request, shown each refusal, never in anybody's way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError
from mcp_studio.limits import Limits
from mcp_studio.session.sign_in import make_transport
from mcp_studio.transport import edge, http_client
from mcp_studio.transport.base import HeaderList, Headers, RefusedRequest, Tap
from mcp_studio.transport.http_errors import HttpSignIn
from tests.servers.http_kit import modern, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_sse import SseServer
from tests.servers.ws_raw import WsServer, url_of
from tests.support import wait_until

Answerer = Callable[["Keyring", RefusedRequest], Awaitable[bool]]


async def renew(keyring: Keyring, refused: RefusedRequest) -> bool:
    """Get a new token, as whoever waits longest does for all."""
    if dict(refused.sent).get("Authorization") == f"Bearer {keyring.token}":
        keyring.token += 1
    return True


@dataclass
class Keyring:
    """Credentials with tokens that are numbers."""

    on_refused: Answerer = renew
    token: int = 0
    refusals: list[RefusedRequest] = field(default_factory=list[RefusedRequest])
    urls: list[str] = field(default_factory=list[str])
    present: bool = True

    async def lines(self, method: str, url: str) -> HeaderList:
        self.urls.append(f"{method} {url}")
        return [("Authorization", f"Bearer {self.token}")]

    def seen(self, url: str, headers: Headers) -> None:
        return

    async def refused(self, refused: RefusedRequest) -> bool:
        self.refusals.append(refused)
        return await self.on_refused(self, refused)


def through(keyring: Keyring, url: str, limits: Limits | None = None, **about: Any) -> Any:
    """An open transport that uses these credentials."""

    def kind(config: ServerConfig, bounds: Limits, tap: Tap) -> Any:
        return make_transport(config, bounds, tap, keyring)

    return opened(url, limits, kind, **about)


def guarded(fine: Callable[[Request, Reply], Awaitable[None]], least: int = 1) -> Callable[..., Awaitable[None]]:
    """A server that takes tokens from `least` on."""

    async def handler(got: Request, reply: Reply) -> None:
        if int(got.headers.get("authorization", "Bearer -1").removeprefix("Bearer ")) < least:
            challenge = 'WWW-Authenticate: Bearer error="invalid_token", scope="a b"'
            await reply.body("401 Unauthorized", b'{"why":"no"}', challenge)
        else:
            await fine(got, reply)

    return handler


async def answer(got: Request, reply: Reply) -> None:
    await reply.result()


async def test_a_refused_request_is_sent_again_whole_and_told_once() -> None:
    keyring = Keyring()
    out = modern(1, "tools/call", {"text": "ü" * 2_000_000}, "t")
    async with RawServer(guarded(answer)) as server, through(keyring, server.url) as line:
        assert "result" in await line.ask(out)
        assert [got.body for got in server.requests] == [out.frame, out.frame]
        assert [got.headers["authorization"] for got in server.requests] == ["Bearer 0", "Bearer 1"]
        assert line.tap.out == [(1, out.frame)]
        assert [told.status for told in line.tap.responses] == [401, 200] and len(line.tap.requests) == 2
        assert not any(told.error for told in line.tap.responses)
        assert server.connections == 1
        (refused,) = keyring.refusals
        assert (refused.status, refused.method, refused.tries, refused.body) == (401, "POST", 1, '{"why":"no"}')
        assert refused.header("www-authenticate").startswith("Bearer error=")


async def test_calls_run_at_the_same_time_while_signed_in() -> None:
    """The server answers none of three calls before it has them all: with a lock around them this would not end."""

    arrived: list[Reply] = []

    async def together(got: Request, reply: Reply) -> None:
        arrived.append(reply)
        await wait_until(lambda: len(arrived) == 3)
        await reply.result()

    async with RawServer(guarded(together)) as server, through(Keyring(), server.url) as line:
        found = await asyncio.gather(*(line.ask(modern(number, "tools/call", target="t")) for number in range(3)))
        assert all("result" in one for one in found)


async def test_while_a_person_is_asked_no_connection_is_held_and_no_deadline_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_client, "CONNECTIONS", 1)

    signed = asyncio.Event()

    async def person(keyring: Keyring, refused: RefusedRequest) -> bool:
        if refused.method == "POST" and b'"id": 1' in asked[0]:
            await signed.wait()
        return await renew(keyring, refused)

    asked: list[bytes] = []

    async def fine(got: Request, reply: Reply) -> None:
        asked.append(got.body)
        await reply.result()

    async def handler(got: Request, reply: Reply) -> None:
        if got.json["id"] == 1 and not signed.is_set():
            asked.append(got.body)
            await reply.body("401 Unauthorized", b"no")
        else:
            await fine(got, reply)

    keyring = Keyring(person)
    limits = Limits(connect=0.2, close=1)
    async with RawServer(handler) as server, through(keyring, server.url, limits, transport="http") as line:
        clock = asyncio.get_running_loop().time
        began = clock()
        await line.transport.send(request(1))
        await wait_until(lambda: keyring.refusals)
        # The only connection that there may be is free.
        assert "result" in await line.ask(request(2))
        await wait_until(lambda: clock() > began + 2 * limits.connect)
        assert not line.box.failures
        signed.set()
        await wait_until(lambda: line.box.answer(1))


async def test_whoever_stops_waiting_while_a_person_is_asked_leaves_nothing_behind() -> None:
    async def for_ever(keyring: Keyring, refused: RefusedRequest) -> bool:
        await asyncio.Event().wait()
        return True

    keyring = Keyring(for_ever)
    async with RawServer(guarded(answer)) as server, through(keyring, server.url, transport="http") as line:
        await line.transport.send(request(1))
        await wait_until(lambda: keyring.refusals)
        line.transport.abandon(1)
        await wait_until(lambda: not line.transport.waiting)
        assert not line.box.failures and [told.status for told in line.tap.responses] == [401]


async def test_a_refusal_that_stands_keeps_what_the_server_said() -> None:
    async def nobody(keyring: Keyring, refused: RefusedRequest) -> bool:
        return False

    async with RawServer(guarded(answer)) as server, through(Keyring(nobody), server.url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, HttpSignIn) and error.http is not None
        assert "does not accept the credentials" in error.message and "'invalid_token'" in error.message
        assert (error.code, error.http.reason, error.http.body) == (401, "Unauthorized", '{"why":"no"}')
        assert any(name == "WWW-Authenticate" for name, _ in error.http.headers)


async def test_an_error_of_the_credentials_ends_the_request_with_what_http_answered() -> None:
    async def needed(keyring: Keyring, refused: RefusedRequest) -> bool:
        raise SignInNeeded("Sign in.", hint="In a browser.")

    async with RawServer(guarded(answer)) as server, through(Keyring(needed), server.url) as line:
        error = await line.ask(request(1))
        assert isinstance(error, SignInNeeded) and error.message == "Sign in."
        assert error.http is not None and error.http.status == 401 and error.http.body == '{"why":"no"}'


async def test_no_request_is_sent_for_ever_with_new_credentials() -> None:
    keyring = Keyring()
    async with RawServer(guarded(answer, least=1000)) as server, through(keyring, server.url) as line:
        assert isinstance(await line.ask(request(1)), HttpSignIn)
        assert 1 < len(server.requests) < 10


@pytest.mark.parametrize("large", [True, False])
async def test_a_refusal_whose_body_never_ends_is_shown_to_the_credentials_all_the_same(
    monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(edge, "PATIENCE", 0.1)

    async def bad(got: Request, reply: Reply) -> None:
        if got.headers["authorization"] == "Bearer 0":
            await reply.head("401 No", "Content-Type: text/plain", "Connection: close")
            await reply.raw(b"x" * (5_000_000 if large else 10))
            await reply.closed_by_peer()
        else:
            await reply.result()

    keyring = Keyring()
    async with RawServer(bad) as server, through(keyring, server.url) as line:
        assert "result" in await line.ask(request(1))
        assert keyring.refusals[0].body.startswith("xxx") and len(keyring.refusals[0].body) < 400


async def test_a_dpop_nonce_is_worth_another_try() -> None:
    async def handler(got: Request, reply: Reply) -> None:
        if got.headers["authorization"] == "Bearer 0":
            await reply.body("400 Bad Request", b"", "DPoP-Nonce: abc")
        else:
            await reply.result()

    async with RawServer(handler) as server, through(Keyring(), server.url) as line:
        assert "result" in await line.ask(request(1))


async def test_the_stream_and_the_messages_of_http_sse_carry_credentials() -> None:
    keyring, sse = Keyring(), SseServer()
    async with RawServer(guarded(sse)) as server, through(keyring, server.url, transport="sse") as line:
        await line.shake_hands("2024-11-05")
        assert keyring.refusals[0].method == "GET"
        keyring.token = -5
        assert isinstance(await line.ask(request(1)), StudioError | dict)
        assert [refused.method for refused in keyring.refusals][1] == "POST"
        assert {got.method for got in server.requests} == {"GET", "POST"}


async def test_the_handshake_of_a_websocket_carries_credentials() -> None:
    keyring = Keyring()
    async with RawServer(guarded(WsServer())) as server, through(keyring, url_of(server)) as line:
        await line.shake_hands()
        assert [refused.method for refused in keyring.refusals] == ["GET"] and keyring.token == 1


async def test_credentials_never_follow_a_redirect_to_another_origin() -> None:
    async with RawServer(answer) as other:

        async def away(got: Request, reply: Reply) -> None:
            await reply.head("307 Away", f"Location: {other.url}", "Content-Length: 0")

        keyring = Keyring()
        async with RawServer(away) as server, through(keyring, server.url) as line:
            assert isinstance(await line.ask(request(1)), StudioError)
            assert not other.requests and keyring.urls == [f"POST {server.url}"]
