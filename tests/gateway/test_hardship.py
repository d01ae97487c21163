"""What one server or client does costs the others nothing."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
import pytest
from mcp.client import ClientRequestContext

from mcp_studio.gateway.gateway import Gateway
from tests.gateway.kit import argv, configured, environment, on_http, raw, text, to_http
from tests.gateway.test_attacks import INITIALIZE, USUAL
from tests.registry.kit import postgres
from tests.studio_support import opened
from tests.support import wait_until
from tests.support_servers import demo_stdio

ALL = 'mode = "all"\ncalls = 0'


async def _quick(client: Any) -> float:
    began = time.perf_counter()
    result = await client.call_tool("mcp__good__echo", {"text": "still here"})
    assert "still here" in text(result)
    return time.perf_counter() - began


async def test_floods_and_deaths_of_servers_and_clients_that_do_not_read() -> None:
    servers: dict[str, Any] = {"good": raw("raw_server"), "flood": raw("raw_flood"), "frail": demo_stdio()}
    patient = "[limits]\ncall_idle = 300"  # the server answers one call after the other
    with on_http(configured(ALL, patient, **servers)) as served:
        async with to_http(served) as quiet, to_http(served, era="legacy") as loud:
            await quiet.list_tools()
            usual = max([await _quick(quiet) for _ in range(10)])

            floods = [asyncio.ensure_future(loud.call_tool("mcp__flood__logs", {})) for _ in range(10)]  # 100,000 lines
            during = [await _quick(quiet) for _ in range(20)]
            ends = [text(one) for one in await asyncio.wait_for(asyncio.gather(*floods), 100)]
            assert set(ends) == {"done"}
            assert sorted(during)[10] < max(20 * usual, 1.0)

            begun = httpx2.post(served.url, json=INITIALIZE, headers=USUAL | served.headers)
            session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
            deaf = await _deaf(served.url, {**USUAL, **served.headers, **session})
            assert await _quick(quiet) < max(20 * usual, 1.0)
            deaf.close()

            gone = await loud.call_tool("mcp__frail__fail_by_leaving", {})
            assert gone.is_error
            assert await _quick(quiet) < max(20 * usual, 1.0)


async def _deaf(url: str, headers: dict[str, str]) -> asyncio.StreamWriter:
    """A client that asks for very much and reads nothing."""
    host, port = url.split("/")[2].split(":")
    _, writer = await asyncio.open_connection(host, int(port), limit=1)
    body = b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request = f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body
    writer.write(request * 50)
    await writer.drain()
    return writer


async def test_a_hung_server_holds_up_nobody_and_a_cancelled_call_reaches_it() -> None:
    with on_http(configured(ALL, good=raw("raw_server"), slow=raw("raw_server"))) as served:
        async with to_http(served) as one, to_http(served) as other:
            await one.list_tools()
            hung = asyncio.ensure_future(one.call_tool("mcp__slow__wait", {"seconds": 600}))
            await _quick(other)
            hung.cancel()
            await asyncio.gather(hung, return_exceptions=True)
            figures = ""
            while 'mcp_studio_gateway_open_requests{client="client"} 0' not in figures:
                figures = (await asyncio.to_thread(httpx2.get, f"{served.origin}/metrics", headers=served.headers)).text


async def test_a_question_never_goes_to_a_client_that_it_is_not_for() -> None:
    asked: dict[str, int] = {"one": 0, "other": 0}

    def answerer(name: str) -> Any:
        async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
            asked[name] += 1
            return types.ElicitResult(action="accept", content={"name": name})

        return elicit

    with on_http(configured(ALL, raw=raw("raw_asks"))) as served:
        async with (
            to_http(served, era="legacy", elicitation_callback=answerer("one")) as one,
            to_http(served, era="legacy", elicitation_callback=answerer("other")) as other,
        ):
            await one.list_tools()
            alone = await one.call_tool("mcp__raw__form", {})
            assert "one" in text(alone) and asked == {"one": 1, "other": 0}
            # The server does not say which call it asks for: with two clients at it, nobody is asked.
            both = await asyncio.gather(*(client.call_tool("mcp__raw__form", {}) for client in (one, other)))
            assert not any("other" in text(both[0]) or "one" in text(both[1]) for _ in both)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
async def test_workers_serve_one_client_by_turns_and_end_with_their_parent(ending: signal.Signals) -> None:
    file = configured('mode = "all"\ncalls = 0')
    with on_http(file, "--asks", "--workers", "2", MCP_STUDIO_GATEWAY_TOKEN="t" * 20) as served:
        asked = list[str]()

        async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
            asked.append(params.message)
            return types.ElicitResult(action="accept", content={})

        for _ in range(6):
            async with to_http(served, elicitation_callback=elicit) as client:
                assert "Salt" in text(await client.call_tool("mcp__demo__list_books", {}))
                assert not (await client.call_tool("mcp__demo__reset_shop", {})).is_error
        assert len(asked) == 6
        served.process.send_signal(ending)
        served.process.wait(20)
        assert served.process.returncode in (128 + ending, -ending)
        await wait_until(lambda: not listens(served.url), what="nobody listens")


async def test_two_processes_ask_clients_of_the_handshake_era_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    async def elicit(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    with on_http(configured(ALL, raw=raw("raw_asks")), "--workers", "2") as served:
        assert "keep no sessions" in capfd.readouterr().err
        async with to_http(served, "legacy", elicitation_callback=elicit) as client:
            assert "decline" in text(await client.call_tool("mcp__raw__form", {}))
            assert "roots" in text(await client.call_tool("mcp__raw__roots", {}))


async def test_two_processes_share_one_registry_in_postgresql(capfd: pytest.CaptureFixture[str]) -> None:
    registered = [f"recipe_{number}" for number in range(12)]
    with postgres() as database:
        file = configured("register = true", f'[registry]\nstorage = "{database}"', raw=raw("raw_server"))
        with on_http(file, "--workers", "2", MCP_STUDIO_GATEWAY_TOKEN="t" * 20) as served:
            for number, name in enumerate(registered):
                async with to_http(served) as client:
                    about = {"name": name, "description": "Cooks something."}
                    assert not (await client.call_tool("register_tool", about)).is_error
                    found = text(await client.call_tool("search_tools", {"query": "cooks something", "limit": 100}))
                    assert all(f'"{one}"' in found for one in registered[: number + 1])
    assert capfd.readouterr().err.count("was given") == 2, "both processes have served"


def listens(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as client:
        return client.connect_ex((parts.hostname, parts.port)) == 0


def test_a_server_that_cannot_be_started_is_told_to_the_person(tmp_path: Path) -> None:
    words = argv(configured(ALL, home=tmp_path, bad=[str(tmp_path / "missing")]), "--http", "0")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=environment()) as process:
        assert process.stderr is not None
        try:
            assert any("bad offers nothing yet: There is no file" in line for line in process.stderr)
        finally:
            process.terminate()


async def test_counting_messages_holds_up_nobody() -> None:
    async with opened() as studio:
        gateway, turns = Gateway(studio, print, approved=True), 0
        for number in range(20_000):
            studio.trace.add("s", "in", "notification", b'{"jsonrpc":"2.0","method":"m"}', f"m/{number}")

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        running = asyncio.ensure_future(other())
        await gateway.look()
        running.cancel()
        assert turns > 3
