"""Against servers built with the SDK, in their own processes: JSON and event streams, sessions and none, both eras."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from mcp_studio.transport.http_errors import HttpLost, HttpUnreachable
from tests.servers.http_kit import MODERN, child, modern, opened, request
from tests.support import wait_until

VARIANTS = ("json", "sse", "json stateless", "sse stateless")


@pytest.fixture(scope="module", params=VARIANTS)
def url(request: pytest.FixtureRequest) -> Generator[str, None, None]:
    with child(*str(request.param).split()) as (_, port):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="module")
def polling() -> Generator[str, None, None]:
    with child("polling") as (_, port):
        yield f"http://127.0.0.1:{port}/mcp"


async def test_an_older_era_is_spoken_from_the_handshake_to_the_end_of_the_session(url: str) -> None:
    async with opened(url) as line:
        hello = await line.shake_hands()
        assert hello["result"]["serverInfo"]["name"] == "http-sdk"
        tools = await line.ask(request(1, "tools/list"))
        assert [tool["name"] for tool in tools["result"]["tools"]][:2] == ["add", "steps"]
        answer = await line.ask(request(2, "tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}))
        assert answer["result"]["structuredContent"] == {"result": 5}
    sessions = {dict(sent.headers).get("Mcp-Session-Id") for sent in line.tap.requests[1:]}
    assert len(sessions) == 1
    assert (line.tap.requests[-1].method == "DELETE") == (sessions != {None})
    assert not line.box.failures and not line.box.ends


async def test_the_stateless_era_is_spoken_with_its_headers(url: str) -> None:
    async with opened(url) as line:
        found = await line.ask(modern(1, "server/discover"))
        assert MODERN in found["result"]["supportedVersions"]
        line.transport.negotiated(MODERN)
        got = await line.ask(modern(2, "prompts/get", {"name": "grüß dich"}, "grüß dich"))
        assert got["result"]["messages"][0]["content"]["text"] == "hello"
        read = await line.ask(modern(3, "resources/read", {"uri": "note://ü"}, "note://ü"))
        assert read["result"]["contents"][0]["text"] == "note ü"
    assert {sent.method for sent in line.tap.requests} == {"POST"}
    assert dict(line.tap.requests[1].headers)["Mcp-Name"] == "=?base64?Z3LDvMOfIGRpY2g=?="


async def test_an_error_of_the_stateless_era_is_a_frame_although_its_status_is_404(url: str) -> None:
    async with opened(url) as line:
        answer = await line.ask(modern("odd", "no/such"))
        assert answer["error"]["code"] == -32601
        assert line.tap.responses[0].status == 404


async def test_progress_comes_before_the_answer(polling: str) -> None:
    async with opened(polling) as line:
        await line.shake_hands()
        call = {"name": "steps", "arguments": {"count": 4}, "_meta": {"progressToken": 9}}
        await line.ask(request(9, "tools/call", call))
        kinds = [message.get("method") for message in line.box.messages()[1:]]
        assert kinds == ["notifications/progress"] * 4 + [None]


async def test_several_calls_run_at_once(url: str) -> None:
    async with opened(url) as line:
        await line.shake_hands()
        slow = request(1, "tools/call", {"name": "wait", "arguments": {"seconds": 30}})
        await line.transport.send(slow)
        quick = await line.ask(request(2, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}}))
        assert quick["result"]["structuredContent"] == {"result": 2}
        assert line.box.answer(1) is None
        line.transport.abandon(1)
        await wait_until(lambda: any("abandoned" in gone.error for gone in line.tap.responses))


async def test_a_stream_that_the_server_closes_is_resumed_until_the_answer_is_there(polling: str) -> None:
    async with opened(polling) as line:
        await line.shake_hands()
        answer = await line.ask(request(5, "tools/call", {"name": "hang_up", "arguments": {}}))
        assert answer["result"]["content"][0]["text"] == "answered on another stream"
    resumed = [sent for sent in line.tap.requests if "Last-Event-ID" in dict(sent.headers)]
    assert [sent.method for sent in resumed] == ["GET"]


async def test_messages_of_the_server_itself_come_on_the_listening_stream(polling: str) -> None:
    async with opened(polling) as line:
        await line.shake_hands()
        await wait_until(lambda: any(sent.method == "GET" for sent in line.tap.requests))
        got = next(sent.exchange for sent in line.tap.requests if sent.method == "GET")
        await wait_until(lambda: any(reply.exchange == got for reply in line.tap.responses))
        await line.ask(request(5, "tools/call", {"name": "change", "arguments": {}}))
        await wait_until(lambda: any(number == got and b"list_changed" in frame for number, frame in line.tap.came))


async def test_a_killed_server_fails_its_calls_and_a_new_one_on_the_port_serves_the_next() -> None:
    with child("json", "stateless") as (process, port):
        async with opened(f"http://127.0.0.1:{port}/mcp") as line:
            await line.shake_hands()
            slow = request(1, "tools/call", {"name": "wait", "arguments": {"seconds": 30}})
            await line.transport.send(slow)
            await wait_until(lambda: line.tap.out[-1][1] == slow.frame)
            process.kill()
            process.wait()
            await wait_until(lambda: line.box.failures)
            # Or nobody was reached any more, where it died before the connection for the call was made.
            assert isinstance(line.box.failures[0][1], HttpLost | HttpUnreachable)
            refused = await line.ask(request(2, "tools/list"))
            assert isinstance(refused, HttpLost | HttpUnreachable), "lost on a connection from before, or not made"
            with child("json", "stateless", port=port):
                assert "result" in await line.ask(request(3, "tools/list"))
            assert not line.box.ends
