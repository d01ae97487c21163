"""What a failure over HTTP does to calls and connections: told with what came, nothing counted as done that was not."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from mcp_studio.call.call import Lost, Rejected, Succeeded, TimedOut
from mcp_studio.config.model import Settings, Timeouts
from mcp_studio.limits import Limits
from tests.servers.http_failing import Server
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import call, http, opened
from tests.support import wait_until


def studio_on(server: RawServer, **about: Any) -> Any:
    """A studio with this server, quick to try again."""
    return opened(
        http(server.url, transport="http", era="legacy", **about), settings=Settings(limits=Limits(retry_max=0.05))
    )


def calls_of(raw: RawServer) -> list[str]:
    """The sessions in which calls came, in their order."""
    posts = [got for got in raw.requests if got.method == "POST"]
    return [got.headers["mcp-session-id"] for got in posts if got.json.get("method") == "tools/call"]


async def test_a_call_in_an_expired_session_is_sent_once_more_in_a_new_one() -> None:
    server = Server()
    async with RawServer(server) as raw, studio_on(raw) as studio:
        server.session += 1  # As after a restart: what was known before is not known any more.
        assert isinstance(await call(studio, "t"), Succeeded)
        assert server.session == 3 and calls_of(raw) == ["1", "3"]


async def test_a_call_that_no_session_takes_is_sent_twice_and_no_more() -> None:
    async def unknown(got: Request, reply: Reply) -> None:
        await reply.body("404 Not Found", b"unknown session", kind="text/plain")

    async with RawServer(Server(unknown)) as raw, studio_on(raw) as studio:
        outcome = await call(studio, "t")
        assert isinstance(outcome, Lost) and not outcome.sent
        assert "no longer knows the session" in outcome.error.message
        assert outcome.error.http is not None and outcome.error.http.body == "unknown session"
        assert calls_of(raw) == ["1", "2"]


async def test_a_call_whose_session_ends_while_it_is_under_way_is_not_sent_again() -> None:
    async def begins(got: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event(None, "id: 1")
        reply.close()

    server = Server(begins)

    async def handler(got: Request, reply: Reply) -> None:
        if got.method == "GET" and "last-event-id" in got.headers:
            await reply.body("404 Not Found", b"unknown session", kind="text/plain")
        else:
            await server(got, reply)

    async with RawServer(handler) as raw, studio_on(raw) as studio:
        outcome = await call(studio, "t")
        assert isinstance(outcome, Lost) and outcome.sent
        assert "no longer knows the session" in outcome.error.message and calls_of(raw) == ["1"]


async def test_a_server_that_is_down_at_the_start_is_tried_until_it_is_there() -> None:
    async with RawServer(Server()) as raw:
        config = http(raw.url, transport="http")
        await raw.stop()
        async with opened(config, settings=Settings(limits=Limits(retry_max=0.05, restarts=1_000))) as studio:
            status = studio.manager.status("s")
            assert status.state == "retrying" and status.attempt == 1 and "refused" in str(status.error)
            lost = await call(studio, "t")
            assert isinstance(lost, Lost) and not lost.sent and "refused" in lost.error.message
            await wait_until(lambda: studio.manager.status("s").attempt > 3)
            async with RawServer(Server(), port=raw.port):
                await wait_until(lambda: studio.manager.status("s").state == "ready")
                assert isinstance(await call(studio, "t"), Succeeded)


async def test_a_call_that_http_turned_away_was_not_done_and_keeps_what_came() -> None:
    async def busy(got: Request, reply: Reply) -> None:
        token = "Bearer abcdefgh-very-secret"
        await reply.body("413 Too Large", f"got {token}".encode(), f"X-Echo: {token}", kind="text/plain")

    async with RawServer(Server(busy)) as raw:
        async with studio_on(raw, headers={"X-Key": "very-secret-value-1"}) as studio:
            outcome = await call(studio, "t")
            assert isinstance(outcome, Lost) and not outcome.sent and outcome.error.http is not None
            assert outcome.error.http.status == 413
            assert "abcdefgh-very-secret" not in repr(outcome.error.http), "secrets are taken out of what came"


async def test_a_call_that_ends_in_500_may_have_been_done() -> None:
    async def broken(got: Request, reply: Reply) -> None:
        await reply.body("500 Oh", b"")

    async with RawServer(Server(broken)) as raw, studio_on(raw) as studio:
        outcome = await call(studio, "t")
        assert isinstance(outcome, Lost) and outcome.sent


@pytest.mark.parametrize("how", ["400 Bad Request", "200 OK", "stream"])
async def test_an_error_without_an_id_says_why_a_post_failed_and_is_a_warning_on_a_stream(how: str) -> None:
    nameless = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "what is that?"}}

    async def answer(got: Request, reply: Reply) -> None:
        if how != "stream":
            await reply.body(how, json.dumps(nameless).encode())
            return
        await reply.stream()
        await reply.event(nameless)
        await reply.event({"jsonrpc": "2.0", "id": got.json["id"], "result": {"content": []}})
        reply.close()

    async with RawServer(Server(answer)) as raw, studio_on(raw) as studio:
        outcome = await call(studio, "t")
        if how == "stream":
            assert isinstance(outcome, Succeeded)
            assert any("what is that? (-32600)" in text for text in studio.manager.status("s").warnings)
        elif how == "200 OK":
            assert isinstance(outcome, Lost) and "what is that?" in outcome.error.message
        else:
            assert isinstance(outcome, Rejected) and outcome.message == "what is that?"


async def test_a_call_whose_answer_stalls_is_given_up() -> None:
    async def stalls(got: Request, reply: Reply) -> None:
        await reply.head("200 OK", "Content-Type: application/json", "Content-Length: 99")
        await reply.raw(b'{"json')
        await reply.closed_by_peer()

    async with RawServer(Server(stalls)) as raw, studio_on(raw, timeouts=Timeouts(idle=1)) as studio:
        outcome = await call(studio, "t")
        assert isinstance(outcome, TimedOut) and "timeouts.idle" in outcome.limit


async def test_a_connection_that_does_not_come_about_says_after_how_long() -> None:
    async def stalls(got: Request, reply: Reply) -> None:
        await reply.head("200 OK", "Content-Type: application/json", "Content-Length: 99")
        await reply.closed_by_peer()

    async with RawServer(stalls) as raw, studio_on(raw, timeouts=Timeouts(connect=1)) as studio:
        error = studio.manager.status("s").error
        assert error is not None and "No connection within 1 s" in error.message
        assert "by hand" not in error.hint


async def test_a_server_that_is_busy_says_for_how_long() -> None:
    async def busy(got: Request, reply: Reply) -> None:
        await reply.body("503 Busy", b"maintenance", "Retry-After: 7200", kind="text/plain")

    async with RawServer(busy) as raw, studio_on(raw) as studio:
        status = studio.manager.status("s")
        assert status.state == "failed" and status.error is not None
        assert "asks to wait 7200 seconds" in status.error.hint
        assert status.error.http is not None and status.error.http.body == "maintenance"


async def test_a_restart_waits_as_long_as_the_server_asks() -> None:
    server, busy = Server(), asyncio.Event()

    async def handler(got: Request, reply: Reply) -> None:
        if busy.is_set():
            await reply.body("503 Busy", b"", "Retry-After: 600")
        else:
            await server(got, reply)

    async with RawServer(handler) as raw, opened(http(raw.url, transport="http", era="legacy")) as studio:
        server.session += 1
        studio.manager.changed.connect(lambda _: busy.set())
        assert isinstance(await call(studio, "t"), Lost)
        await wait_until(lambda: studio.manager.status("s").attempt == 2)
        status = studio.manager.status("s")
        assert status.state == "retrying" and status.retry_at - time.monotonic() > 20
        assert status.error is not None and status.error.http is not None and status.error.http.status == 503
