"""MCP over a WebSocket: the handshake, messages both ways in both eras, leaving; and peers that are not ours."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_studio.call.call import Cancelled, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import ConfigError, ConnectionLost, SignInNeeded, StudioError, Unreachable
from mcp_studio.limits import KB, Limits
from mcp_studio.transport.websocket import WebSocketTransport
from tests.servers.http_kit import Line, opened, request
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.ws_raw import CLOSE, PING, PONG, TEXT, Socket, WsServer, answer, frame, url_of
from tests.studio_support import call, http, text
from tests.studio_support import opened as studio_opened
from tests.support import python_server, run, wait_until
from tests.support_servers import running

LIMITS = Limits(connect=20, close=1, message=64 * KB, write=10)


def meet(server: WsServer, act: Callable[[Line, WsServer], Any], limits: Limits = LIMITS, **about: Any) -> None:
    """Connect to a server, and do something."""

    async def main() -> None:
        async with RawServer(server) as raw, opened(url_of(raw), limits, WebSocketTransport, **about) as line:
            await act(line, server)

    run(main())


# ---------------------------------------------------------------------- as it should be


def test_messages_cross_both_ways_and_the_tap_sees_the_handshake_and_every_frame() -> None:
    async def act(line: Line, server: WsServer) -> None:
        await line.shake_hands()
        assert (await line.ask(request(1)))["result"]["tools"]
        (head,), (reply,) = line.tap.requests, line.tap.responses
        assert (head.method, reply.status) == ("GET", 101)
        sent = dict(head.headers)
        assert sent["Sec-WebSocket-Protocol"] == "mcp" and sent["Connection"] == "Upgrade"
        assert sent["Authorization"] == "Bearer let-me-in"
        assert [data for _, data in line.tap.out] == [data for _, data in server.sockets[0].frames]
        assert [data for _, data in line.tap.came] == line.box.frames
        assert {exchange for exchange, _ in line.tap.out + line.tap.came} == {0} != {head.exchange}
        assert not line.tap.notes

    meet(WsServer(), act, headers={"Authorization": "Bearer let-me-in", "Sec-WebSocket-Version": "8"})


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 300_000])
def test_frames_of_every_size_arrive_whole(size: int) -> None:
    async def echo(socket: Socket, asked: Any) -> None:
        await socket.result(asked, asked["params"]["text"])

    async def act(line: Line, server: WsServer) -> None:
        said = "ä" * (size // 2)
        assert (await line.ask(request(1, params={"text": said})))["result"] == said

    meet(WsServer(echo), act, Limits(close=1))


def test_a_message_in_many_parts_with_a_ping_between_is_one_message() -> None:
    async def begin(socket: Socket) -> None:
        data = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": "grüße"}).encode()
        await socket.raw(frame(data[:5], TEXT, last=False))
        await socket.raw(frame(b"are you there?", PING))
        for at in range(5, len(data) - 1):
            await socket.raw(frame(data[at : at + 1], 0, last=False))
        await socket.raw(frame(data[-1:], 0))
        assert await socket.receive() == (PONG, b"are you there?")

    async def act(line: Line, server: WsServer) -> None:
        await wait_until(lambda: line.box.frames)
        assert line.box.messages()[0]["params"] == "grüße"
        assert (await line.ask(request(1)))["result"]["tools"]

    meet(WsServer(begin=begin), act)


def test_leaving_says_so_and_waits_for_the_answer() -> None:
    async def act(line: Line, server: WsServer) -> None:
        await line.shake_hands()
        await line.transport.close()
        await server.ended.wait()
        assert server.sockets[0].frames[-1] == (CLOSE, (1000).to_bytes(2, "big"))
        with pytest.raises(ConnectionLost):
            await line.transport.send(request(1))
        assert not line.box.ends

    meet(WsServer(), act)


def test_a_caller_that_is_cancelled_leaves_no_half_frame_behind() -> None:
    gate = asyncio.Event()

    async def begin(socket: Socket) -> None:
        await gate.wait()

    async def act(line: Line, server: WsServer) -> None:
        large = asyncio.create_task(line.transport.send(request(1, params={"text": "x" * 4_000_000})))
        await wait_until(lambda: line.tap.out)
        large.cancel()
        await asyncio.wait((large,))
        gate.set()
        assert (await line.ask(request(2)))["result"]["tools"]
        assert line.box.answer(1)

    meet(WsServer(begin=begin), act, Limits(close=1))


# ---------------------------------------------------------------------- handshakes that fail


def _says(status: str, *lines: str) -> Callable[[Request, Reply], Any]:
    return lambda got, reply: reply.body(status, b"<title>Nope</title>", *lines, kind="text/html")


@pytest.mark.parametrize(
    ("server", "words", "kind"),
    [
        (_says("404 Not Found"), "404", Unreachable),
        (_says("200 OK"), "200", Unreachable),
        (_says("401 Unauthorized", "WWW-Authenticate: Bearer"), "401", SignInNeeded),
        (_says("403 Forbidden"), "403", Unreachable),
        (_says("302 Found", "Location: https://elsewhere.invalid/"), "redirects", Unreachable),
        (WsServer(head=("Sec-WebSocket-Accept: AAAA",)), "has read the request", Unreachable),
        (WsServer(head=("Sec-WebSocket-Protocol: chat",)), "'chat'", Unreachable),
        (WsServer(head=("Sec-WebSocket-Extensions: permessage-deflate",)), "extensions", Unreachable),
    ],
)
async def test_what_is_no_websocket_is_told(server: Any, words: str, kind: type[StudioError]) -> None:
    async with RawServer(server) as raw:
        with pytest.raises(kind) as found:
            async with opened(url_of(raw), LIMITS, WebSocketTransport):
                pass
        assert words in found.value.message


async def test_silence_is_given_up_in_time_and_a_closed_port_told() -> None:
    async with RawServer(lambda got, reply: reply.closed_by_peer()) as raw:
        url = url_of(raw)
        with pytest.raises(Unreachable, match=r"0\.5 seconds"):
            async with opened(url, Limits(connect=0.5), WebSocketTransport):
                pass
    with pytest.raises(Unreachable, match="refused"):
        async with opened(url, LIMITS, WebSocketTransport):
            pass


def test_a_server_without_the_subprotocol_is_taken_and_that_noted() -> None:
    async def act(line: Line, server: WsServer) -> None:
        await line.shake_hands()
        assert any("subprotocol" in note for note in line.tap.notes)

    meet(WsServer(head=()), act)


async def test_an_address_that_is_no_websocket_s_is_a_mistake_of_the_entry() -> None:
    with pytest.raises(ConfigError, match="ws://"):
        async with opened("http://127.0.0.1:1/", LIMITS, WebSocketTransport, transport="websocket"):
            pass


async def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(Unreachable) as found:
        async with opened("ws://127.0.0.1:1/", LIMITS, WebSocketTransport):
            pass
    assert "pip install 'mcp-studio[ws]'" in found.value.hint


# ---------------------------------------------------------------------- through the studio


async def _modern(socket: Socket, asked: Any) -> None:
    known = {
        "server/discover": {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "ws", "version": "1"},
        },
        "tools/list": {
            "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
            "ttlMs": 0,
            "cacheScope": "private",
        },
        "tools/call": {"content": [{"type": "text", "text": "hi"}]},
    }
    if asked["method"] == "tools/call" and asked["params"]["arguments"].get("wait"):
        return
    if "id" in asked:
        await socket.result(asked, {**known.get(asked["method"], {}), "resultType": "complete"})


class ModernServer(WsServer):
    """Speaks the stateless era."""

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Serve one connection to its end."""
        self.begin = self._serve
        await super().__call__(got, reply)

    async def _serve(self, socket: Socket) -> None:
        while True:
            await _modern(socket, await socket.message())


@pytest.mark.parametrize("era", ["auto", "modern"])
async def test_the_modern_era_is_spoken_and_a_call_cancelled_by_notification(era: Any) -> None:
    async with RawServer(server := ModernServer()) as raw:
        async with studio_opened(http(url_of(raw), era=era)) as studio:
            status = studio.manager.status("s")
            assert status.state == "ready" and status.modern, status.error
            assert text(await call(studio, "t")) == "hi"
            handle = studio.call_tool(Ref("tool", "s", "t"), {"wait": True}, approved=True)
            await wait_until(lambda: b'"wait"' in server.sockets[0].frames[-1][1])
            handle.cancel()
            assert isinstance(await handle.wait(), Cancelled)
            await wait_until(lambda: b"notifications/cancelled" in server.sockets[0].frames[-1][1])


async def test_an_older_server_that_hangs_up_on_the_probe_is_greeted_in_its_own_way() -> None:
    async def begin(socket: Socket) -> None:
        while True:
            asked = await socket.message()
            if asked["method"] == "server/discover":
                await socket.end(1002, "unknown method")
                raise ConnectionError
            await answer(socket, asked)

    async with RawServer(WsServer(begin=begin)) as raw, studio_opened(http(url_of(raw))) as studio:
        status = studio.manager.status("s")
        assert status.state == "ready" and not status.modern, status.error


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_server_of_the_sdk_behind_uvicorn(era: Any) -> None:
    async def go(url: str) -> None:
        async with studio_opened(http(url, era=era)) as studio:
            assert studio.manager.status("s").state == "ready", studio.manager.status("s").error
            added = await call(studio, "add", a=2, b=3)
            assert isinstance(added, Succeeded) and added.result["structuredContent"] == {"result": 5}
            assert len(text(await call(studio, "blob", size=3_000_000))) == 3_000_000
            assert text(await call(studio, "steps")) == "done"

    with running(python_server("ws_sdk")) as server:
        run(go(server.url))


def test_a_server_that_dies_loses_its_calls_and_is_told_as_lost() -> None:
    async def go(url: str, kill: Callable[[], None]) -> None:
        async with studio_opened(http(url)) as studio:
            handle = studio.call_tool(Ref("tool", "s", "wait"), {"seconds": 30}, approved=True)
            await wait_until(lambda: any(b'"wait"' in entry.body for entry in studio.trace))
            kill()
            outcome = await handle.wait()
            assert "lost" in type(outcome).__name__.lower(), outcome

    with running(python_server("ws_sdk")) as server:

        def kill() -> None:
            server.process.kill()
            server.process.wait()

        run(go(server.url, kill))
