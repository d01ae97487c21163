"""The engine over HTTP: sign-in, lost sessions, servers that go and come back, several calls at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_studio.call.call import Cancelled, Succeeded
from mcp_studio.catalog.listing import Ref
from tests.servers.bridge import bridged
from tests.servers.http_raw import RawServer
from tests.studio_support import call, http, opened, text
from tests.support import python_server, run, wait_until
from tests.support_servers import http_server


def test_a_server_that_wants_a_token_says_so_and_takes_it_from_a_header() -> None:
    async def go(url: str) -> None:
        async with opened(http(url), http(url, "known", headers={"Authorization": "Bearer let-me-in"})) as studio:
            status = studio.manager.status("s")
            assert status.state == "needs_auth" and status.error and status.error.exit_code == 3
            assert "requires you to sign in" in status.error.message
            assert status.error.http is not None and status.error.http.status == 401
            assert studio.manager.status("known").state == "ready"
            assert not [entry for entry in studio.trace if b"let-me-in" in entry.body]

    with http_server("--token", "let-me-in") as url:
        run(go(url))


@pytest.mark.parametrize("transport", ["http", "sse", "websocket"])
async def test_a_refusal_of_access_is_a_failure_and_asks_nobody_to_sign_in(transport: str) -> None:
    async with RawServer(lambda got, reply: reply.body("403 Forbidden", b"Not on the list.")) as server:
        url = server.url.replace("http", "ws", 1) if transport == "websocket" else server.url
        async with opened(http(url, transport=transport)) as studio:
            status = studio.manager.status("s")
            assert status.state == "failed" and status.error and status.error.exit_code in (1, 4)
            assert "access is refused" in status.error.message and "Not on the list" in status.error.message
            assert not studio.inbox.pending


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_several_calls_run_at_once_and_one_is_cancelled_alone(era: str) -> None:
    async def go(url: str) -> None:
        async with opened(http(url, era=era)) as studio:
            ref = Ref("tool", "s", "slow")
            first, long = studio.call_tool(ref, {"seconds": 1.5}), studio.call_tool(ref, {"seconds": 600})
            later = [studio.call_tool(ref, {"seconds": 0.01}) for _ in range(3)]
            assert [text(await handle.wait()) for handle in (*later, first)] == ["done"] * 4
            assert long.outcome is None, "nobody who came later waited for it"
            long.cancel()
            assert isinstance(await long.wait(), Cancelled)
            assert text(await call(studio, "echo", text="on")) == "on"

    with http_server() as url:
        run(go(url))


def test_elicitation_over_http_in_both_eras() -> None:
    async def go(url: str, era: str) -> None:
        async with opened(http(url, era=era)) as studio:
            handle = studio.call_tool(Ref("tool", "s", "ask"), {})
            await wait_until(lambda: studio.inbox.pending or handle.outcome)
            studio.inbox.pending[0].answer("accept", {"name": "Ada", "age": 36})
            assert text(await handle.wait()).startswith("Ada, 36")

    with http_server() as url:
        run(go(url, "legacy"))
        run(go(url, "modern"))


def test_twenty_servers_on_one_url_connect_side_by_side() -> None:
    async def go(url: str) -> None:
        configs = [http(url, f"s{number}") for number in range(20)]
        async with opened(*configs) as studio:
            assert {studio.manager.status(config.name).state for config in configs} == {"ready"}
            calls = [studio.call_tool(Ref("tool", config.name, "echo"), {"text": "x"}) for config in configs]
            outcomes = await asyncio.gather(*(handle.wait() for handle in calls))
            assert all(isinstance(outcome, Succeeded) for outcome in outcomes)

    with http_server() as url:
        run(go(url))


PLACES: Any = pytest.mark.parametrize(
    ("kind", "era"), [("sse", "auto"), ("websocket", "legacy"), ("websocket", "modern")]
)


@PLACES
async def test_a_question_of_the_server_is_put_and_its_answer_arrives(kind: Any, era: Any) -> None:
    async with (
        bridged(python_server("sdk_everything"), kind) as url,
        opened(http(url, transport=kind, era=era)) as studio,
    ):
        handle = studio.call_tool(Ref("tool", "s", "ask"), {})
        await wait_until(lambda: studio.inbox.pending or handle.outcome)
        studio.inbox.pending[0].answer("accept", {"name": "Ada", "age": 36})
        assert text(await handle.wait()).startswith("Ada, 36")


@PLACES
async def test_a_call_is_cancelled_at_the_server_and_the_others_go_on(kind: Any, era: Any) -> None:
    async with (
        bridged(python_server("sdk_everything"), kind) as url,
        opened(http(url, transport=kind, era=era)) as studio,
    ):
        short = studio.call_tool(Ref("tool", "s", "slow"), {"seconds": 0.5})
        long = studio.call_tool(Ref("tool", "s", "slow"), {"seconds": 30})
        await wait_until(lambda: long.progress)
        long.cancel()
        assert isinstance(await long.wait(), Cancelled)
        assert text(await short.wait()) == "done"
        assert text(await call(studio, "echo", text="on")) == "on"
        assert any(b"notifications/cancelled" in entry.body for entry in studio.trace if entry.direction == "out")
