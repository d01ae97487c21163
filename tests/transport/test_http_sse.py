"""HTTP+SSE of 2024-11-05: a stream for the server, a POST for each message of ours, and nothing to resume."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.errors import ConfigError, ConnectionLost, LimitExceeded, StudioError, Unreachable
from mcp_studio.limits import KB, Limits
from mcp_studio.protocol.events import Outgoing
from mcp_studio.transport.http_errors import HttpSignIn, SessionLost
from mcp_studio.transport.http_sse import SseTransport
from tests.servers.http_kit import Line, child, notification, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_sse import SseServer
from tests.support import run, wait_until

LIMITS = Limits(connect=20, close=1, message=64 * KB, write=10)
QUICK = replace(LIMITS, connect=0.6)
"""For what is given up in time."""


def meet(server: SseServer, act: Callable[[Line, RawServer], Any], limits: Limits = LIMITS, **about: Any) -> None:
    """Shake hands with a server, and do something."""

    async def main() -> None:
        async with RawServer(server) as raw:
            async with opened(raw.url, limits, SseTransport, **about) as line:
                await line.shake_hands("2024-11-05")
                await act(line, raw)

    run(main())


def refusal(server: SseServer, limits: Limits = LIMITS, **about: Any) -> StudioError:
    """What opening ends with."""

    async def main() -> StudioError:
        async with RawServer(server) as raw:
            with pytest.raises(StudioError) as found:
                async with opened(raw.url, limits, SseTransport, **about):
                    pass
            assert raw.methods() in (["GET"], [])
            return found.value

    return run(main())


# ---------------------------------------------------------------------- as it should be


@pytest.fixture(scope="module")
def sdk() -> Generator[str, None, None]:
    with child("older") as (_, port):
        yield f"http://127.0.0.1:{port}/sse"


async def test_a_server_of_the_sdk_is_asked_and_answers_on_its_stream(sdk: str) -> None:
    async with opened(sdk, kind=SseTransport) as line:
        hello = await line.shake_hands()
        assert hello["result"]["serverInfo"]["name"] == "http-sdk"
        answer = await line.ask(request(2, "tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}))
        assert answer["result"]["structuredContent"] == {"result": 5}
        large = await line.ask(request(3, "tools/call", {"name": "blob", "arguments": {"size": 3_000_000}}))
        assert len(large["result"]["content"][0]["text"]) == 3_000_000
        with_token = {"name": "steps", "arguments": {}, "_meta": {"progressToken": 4}}
        await line.ask(request(4, "tools/call", with_token))
        assert [one["params"]["progress"] for one in line.box.messages() if "params" in one] == [1, 2, 3]
        assert not line.box.failures and not line.box.ends


@pytest.mark.parametrize("endpoint", ["/message?session=1", "message?session=1", "{origin}/message?session=1"])
async def test_messages_go_to_the_endpoint_that_the_server_names(endpoint: str) -> None:
    server = SseServer()
    async with RawServer(server) as raw:
        server.endpoint = endpoint.format(origin=raw.url.removesuffix("/mcp"))
        headers = {"Authorization": "Bearer let-me-in", "X-Own": "1"}
        async with opened(raw.url, LIMITS, SseTransport, headers=headers) as line:
            await line.shake_hands("2024-11-05")
            assert (await line.ask(request(1)))["result"] == {"tools": []}
            await line.transport.send(Outgoing(b'{"jsonrpc":"2.0","id":5,"result":{}}', "response", 5))
            await wait_until(lambda: len(raw.requests) == 5)
        assert [got.path for got in raw.requests] == ["/mcp", *["/message?session=1"] * 4]
        assert {got.headers["authorization"] for got in raw.requests} == {"Bearer let-me-in"}
        assert {got.headers["x-own"] for got in raw.requests} == {"1"}
        assert raw.requests[0].headers["accept"] == "text/event-stream"
        assert len(line.tap.requests) == len(line.tap.responses) - 1 == 5  # the stream also ends
        assert [frame for _, frame in line.tap.out] == [got.body for got in raw.requests[1:]]
        await server.ended.wait()


def test_what_the_server_says_by_itself_arrives_also_in_a_batch() -> None:
    async def act(line: Line, raw: RawServer) -> None:
        server = raw.handler
        assert isinstance(server, SseServer)
        await server.stream.raw(b": still here\n\n")
        batch = [{"jsonrpc": "2.0", "method": "notifications/message"}, {"jsonrpc": "2.0", "id": 9, "method": "ping"}]
        await server.say(batch)
        await server.stream.raw(b'data: {"jsonrpc":"2.0",\ndata: "method":"notifications/message"}\n\n')
        await wait_until(lambda: len(line.box.frames) == 3)
        assert line.box.messages()[1] == batch
        assert [frame for _, frame in line.tap.came] == line.box.frames

    meet(SseServer(), act)


def test_the_initialized_notification_has_arrived_before_the_next_request_leaves() -> None:
    seen: list[str] = []

    async def slow(got: Request, reply: Reply) -> None:
        if got.method == "POST":
            method = got.json["method"]
            if method == "notifications/initialized":
                await asyncio.sleep(0.1)
            seen.append(method)
        await server(got, reply)

    server = SseServer()

    async def main() -> None:
        async with RawServer(slow) as raw, opened(raw.url, LIMITS, SseTransport) as line:
            await line.shake_hands("2024-11-05")
            await line.ask(request(1))

    run(main())
    assert seen == ["initialize", "notifications/initialized", "tools/list"]


# ---------------------------------------------------------------------- opening


async def test_an_endpoint_on_another_origin_is_refused_and_nothing_is_sent_there() -> None:
    async with RawServer(lambda got, reply: reply.accepted()) as other, RawServer(server := SseServer()) as raw:
        server.endpoint = f"{other.url}/message"
        with pytest.raises(Unreachable) as found:
            async with opened(raw.url, LIMITS, SseTransport, headers={"Authorization": "Bearer x"}):
                pass
        assert "another origin" in found.value.message and str(other.port) in found.value.message
        assert other.connections == 0


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        ("https://127.0.0.1/message", "another origin"),
        ("//elsewhere.invalid/message", "another origin"),
        ("http://[::1", "no address"),
        ("file:///etc/passwd", "another origin"),
    ],
)
def test_endpoints_that_cannot_be_used_are_refused_in_words(endpoint: str, words: str) -> None:
    assert words in refusal(SseServer(endpoint)).message


def test_a_stream_without_an_endpoint_is_given_up_in_time() -> None:
    error = refusal(SseServer(None), QUICK)
    assert isinstance(error, Unreachable)
    assert "did not name an endpoint" in error.message and "0.6 seconds" in error.message and error.hint


async def _not_found(reply: Reply) -> None:
    await reply.body("404 Not Found", b"<title>Nothing</title>", kind="text/html")


async def _json(reply: Reply) -> None:
    await reply.body("200 OK", b"{}")


async def _locked(reply: Reply) -> None:
    await reply.body("401 Unauthorized", b"", "WWW-Authenticate: Bearer")


async def _silent(reply: Reply) -> None:
    await reply.closed_by_peer()


async def _ends(reply: Reply) -> None:
    await reply.stream()
    reply.close()


async def _not_http(reply: Reply) -> None:
    await reply.raw(b"SSH-2.0-x\r\n\r\n")
    reply.close()


@pytest.mark.parametrize(
    ("get", "words"),
    [
        (_not_found, "404"),
        (_json, "application/json"),
        (_locked, "401"),
        (_silent, "0.6 seconds"),
        (_ends, "ended the stream"),
        (_not_http, "not HTTP"),
    ],
)
def test_what_is_no_stream_is_told(get: Any, words: str) -> None:
    error = refusal(SseServer(on_get=get), QUICK if get is _silent else LIMITS)
    assert words in error.message
    assert isinstance(error, HttpSignIn) == (get is _locked)


@pytest.mark.parametrize("about", [{"era": "modern"}, {"protocol_version": "2026-07-28"}])
def test_the_modern_era_has_no_such_transport(about: dict[str, str]) -> None:
    assert isinstance(refusal(SseServer(), **about), ConfigError)


# ---------------------------------------------------------------------- afterwards


@pytest.mark.parametrize("status", ["500 Internal Server Error", "404 Not Found", "413 Too Large"])
def test_a_failing_post_fails_its_request_alone(status: str) -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        if got.json["id"] == 1:
            await reply.body(status, b"broken", kind="text/plain")
        else:
            await server.answer(got, reply)

    async def act(line: Line, raw: RawServer) -> None:
        error = await line.ask(request(1))
        assert isinstance(error, StudioError) and status[:3] in error.message and "broken" in error.message
        assert (await line.ask(request(2)))["result"] == {"tools": []}
        assert len(line.box.failures) == 1 and not line.box.ends

    meet(SseServer(call=call), act)


def test_a_json_rpc_error_in_a_refused_post_is_the_answer() -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}
        await reply.body("400 Bad Request", json.dumps(error).encode())

    async def act(line: Line, raw: RawServer) -> None:
        assert (await line.ask(request(1)))["error"]["message"] == "no"

    meet(SseServer(call=call), act)


def test_an_answer_in_the_response_of_the_post_is_taken_too() -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        await reply.result({"late": False})

    async def act(line: Line, raw: RawServer) -> None:
        assert (await line.ask(request(1)))["result"] == {"late": False}

    meet(SseServer(call=call), act)


@pytest.mark.parametrize("how", ["ends", "is cut", "is reset"])
def test_the_end_of_the_stream_is_the_end_of_the_session(how: str) -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        await reply.accepted()
        if how == "is cut":
            await server.stream.raw(b'event: message\ndata: {"jsonrpc":"2.0","id":1,"resu')
        (server.stream.reset if how == "is reset" else server.stream.close)()

    async def act(line: Line, raw: RawServer) -> None:
        await line.transport.send(request(1))
        await wait_until(lambda: line.box.ends)
        (end,) = line.box.ends
        assert isinstance(end, ConnectionLost) and end.message
        with pytest.raises(ConnectionLost) as again:
            await line.transport.send(request(2))
        assert again.value is end and end.hint, "why, and not only that it is over"
        assert raw.methods().count("GET") == 1

    meet(SseServer(call=call), act)


def test_an_event_beyond_the_limit_costs_its_request_alone() -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        await server.answer(got, reply, text="x" * (200_000 if got.json["id"] == 1 else 10))

    async def act(line: Line, raw: RawServer) -> None:
        answer = await line.ask(request(1, "tools/call"))
        assert isinstance(answer, LimitExceeded) and answer.limit == "message"
        assert (await line.ask(request(2, "tools/call")))["result"] == {"text": "x" * 10}
        assert not line.box.ends and any("limit called message" in note for note in line.tap.notes)

    meet(SseServer(call=call), act)


def test_an_event_without_end_is_held_in_bounded_memory() -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        await reply.accepted()
        await server.stream.raw(b'data: {"jsonrpc":"2.0","id":1,"result":"')
        for _ in range(100):
            await server.stream.raw(b"x" * 64 * KB)

    async def act(line: Line, raw: RawServer) -> None:
        import tracemalloc

        tracemalloc.start()
        await line.transport.send(request(1))
        server = raw.handler
        assert isinstance(server, SseServer)
        await wait_until(lambda: raw.requests[-1].body.find(b'"id": 1') > 0)
        await server.stream.raw(b'y"}\n\n')
        await wait_until(lambda: line.box.failures)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
        tracemalloc.stop()

    meet(SseServer(call=call), act)


def test_strange_events_are_recorded_and_change_nothing() -> None:
    async def act(line: Line, raw: RawServer) -> None:
        server = raw.handler
        assert isinstance(server, SseServer)
        await server.stream.raw(b"event: endpoint\ndata: http://elsewhere.invalid/\n\nevent: \x1b[31mx\ndata: y\n\n")
        await wait_until(lambda: len([frame for _, frame in line.tap.came if frame == b"y"]) == 1)
        assert (await line.ask(request(1)))["result"] == {"tools": []}

    meet(SseServer(), act)


def test_abandoning_a_request_closes_a_post_that_hangs() -> None:
    gone = asyncio.Event()

    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        try:
            await reply.closed_by_peer()
        finally:
            gone.set()

    async def act(line: Line, raw: RawServer) -> None:
        await line.transport.send(request(1))
        await wait_until(lambda: len(raw.requests) == 4)
        line.transport.abandon(1)
        await asyncio.wait_for(gone.wait(), 10)
        assert not line.box.failures and not line.box.ends

    meet(SseServer(call=call), act)


def test_a_notification_that_hangs_is_given_up() -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        await reply.closed_by_peer()

    async def act(line: Line, raw: RawServer) -> None:
        await line.transport.send(notification("notifications/cancelled"))
        await wait_until(lambda: line.box.failures)
        assert "did not answer" in line.box.failures[0][1].message

    meet(SseServer(call=call), act, QUICK)


def test_nothing_can_be_sent_after_closing() -> None:
    async def act(line: Line, raw: RawServer) -> None:
        await line.transport.close()
        with pytest.raises(ConnectionLost):
            await line.transport.send(request(1))
        assert not line.box.ends

    meet(SseServer(), act)


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone"])
async def test_an_endpoint_that_is_not_known_any_more_is_a_lost_session(status: str) -> None:
    async def call(server: SseServer, got: Request, reply: Reply) -> None:
        await reply.body(status, b"Could not find session", kind="text/plain")

    async with RawServer(SseServer(call=call)) as raw, opened(raw.url, LIMITS, SseTransport) as line:
        await line.shake_hands("2024-11-05")
        error = await line.ask(request(1))
        assert isinstance(error, SessionLost) and "Could not find session" in error.message
        assert "several instances" in error.hint and line.box.ends == [error]
        with pytest.raises(ConnectionLost):
            await line.transport.send(request(2))
