"""Frames that are written by hand, on live connections of both eras and on connections without a handshake."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcp_studio.errors import ConnectionLost, Unreachable, UsageError
from mcp_studio.session.raw import RawExchange
from mcp_studio.studio import Studio
from tests.servers.bridge import bridged
from tests.studio_support import call, halted, http, opened, stdio, text
from tests.support import python_server, run, wait_until
from tests.support_servers import http_server

RAW = python_server("raw_server")
MODERN = python_server("raw_server", "--modern")


def frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


async def exchanged(studio: Studio, data: bytes, **more: Any) -> RawExchange:
    """Send by hand and wait for the end."""
    exchange = studio.manager.by_hand("s").send(data, **more)
    await exchange.wait()
    return exchange


def answers(exchange: RawExchange) -> list[Any]:
    return [json.loads(answer) for answer in exchange.answers]


def faults(studio: Studio) -> list[str]:
    return [text for text in studio.manager.status("s").warnings]


@pytest.mark.parametrize("identity", [77, "by-hand", -5, ""])
async def test_a_request_by_hand_gets_its_answer_and_nobody_is_blamed(identity: Any) -> None:
    async with opened(stdio(RAW)) as studio:
        exchange = await exchanged(studio, frame(id=identity, method="tools/list"))
        (answer,) = answers(exchange)
        assert answer["id"] == identity and len(answer["result"]["tools"]) == 6
        assert exchange.error is None and exchange.ms is not None and not exchange.problem
        assert not faults(studio)
        assert text(await call(studio, "echo", text="still")) == "still"


@pytest.mark.parametrize("identity", [None, 1.5, True, [1], {"a": 1}])
async def test_an_id_that_is_none_finds_its_answer_too(identity: Any) -> None:
    async with opened(stdio(RAW)) as studio:
        exchange = await exchanged(studio, frame(id=identity, method="ping"), wait=5)
        (answer,) = answers(exchange)
        assert answer["id"] == identity
        assert exchange.problem and not faults(studio)


async def test_an_open_call_of_ours_is_not_disturbed_by_errors_without_an_id() -> None:
    async with opened(stdio(python_server("raw_echoing"))) as studio:
        with halted(studio):
            running = asyncio.ensure_future(call(studio, "wait", seconds=0.5))
            await wait_until(lambda: any(entry.method == "tools/call" for entry in studio.trace))
            exchange = studio.manager.by_hand("s").send(b'{"jsonrpc": "2.0", "id": ', wait=60)
            await wait_until(lambda: [e for e in studio.trace if e.direction == "out"][-1].method != "tools/call")
        await exchange.wait()
        assert answers(exchange)[0]["error"]["code"] == -32700
        assert text(await running) == "done"
        assert not faults(studio)


async def test_the_id_of_an_open_request_may_be_used_and_the_first_answer_is_ours() -> None:
    async with opened(stdio(RAW)) as studio:
        with halted(studio):
            running = asyncio.ensure_future(call(studio, "wait", seconds=0.3))
            await wait_until(lambda: studio.trace[len(studio.trace) - 1].method == "tools/call")
            number = studio.trace[len(studio.trace) - 1].id
            params = {"name": "wait", "arguments": {"seconds": 0.6}}
            exchange = studio.manager.by_hand("s").send(frame(id=number, method="tools/call", params=params), wait=60)
            await wait_until(lambda: len([e for e in studio.trace if e.method == "tools/call"]) == 2)
        await exchange.wait()
        assert len(exchange.answers) == 1
        assert text(await running) == "done" and not faults(studio)


async def test_our_own_requests_keep_away_from_an_id_that_was_used_by_hand() -> None:
    async with opened(stdio(RAW)) as studio:
        used = studio.manager.by_hand("s").spare_id() + 1
        params = {"name": "wait", "arguments": {"seconds": 0.4}}
        exchange = studio.manager.by_hand("s").send(frame(id=used, method="tools/call", params=params))
        outcomes = await asyncio.gather(*(call(studio, "echo", text=str(number)) for number in range(4)))
        assert [text(outcome) for outcome in outcomes] == ["0", "1", "2", "3"]
        await exchange.wait()
        assert len(exchange.answers) == 1 and not faults(studio)


def test_the_traffic_of_our_own_requests_is_not_what_comes_back() -> None:
    async def go(url: str) -> None:
        for config in (stdio(RAW), http(url, era="legacy")):
            async with opened(config) as studio:
                exchange = studio.manager.by_hand("s").send(frame(method="notifications/none"), wait=0.6)
                assert text(await call(studio, "echo", text="ours")) == "ours"
                await exchange.wait()
                assert [(e.kind, e.method) for e in exchange.came_back() if e.kind != "http"] == []
                assert len([e for e in exchange.came_back() if e.kind == "http"]) <= 1

    with http_server() as url:
        run(go(url))


async def test_the_same_id_twice_gives_each_its_answer() -> None:
    async with opened(stdio(RAW)) as studio:
        both = [studio.manager.by_hand("s").send(frame(id="x", method=method)) for method in ("ping", "tools/list")]
        for exchange in both:
            await exchange.wait()
        assert answers(both[0])[0]["result"] == {} and "tools" in answers(both[1])[0]["result"]
        assert not faults(studio)


async def test_everything_that_arrives_meanwhile_is_collected_and_marked_in_the_trace() -> None:
    async with opened(stdio(python_server("raw_faults", "--fault", "stray"))) as studio:
        exchange = await exchanged(
            studio, frame(id=900, method="tools/call", params={"name": "echo", "arguments": {"text": "hi"}})
        )
        kinds = [entry.kind for entry in exchange.came_back()]
        assert "stray" in kinds and kinds[-1] == "result"
        assert b'"hi"' in exchange.came_back()[-1].body
        sent = next(entry for entry in studio.trace if entry.by_hand)
        assert sent.by_hand and (sent.kind, sent.method, sent.target, sent.id) == (
            "request", "tools/call", "echo", 900,
        )  # fmt: skip
        assert sent.span and sent.span.response and sent.span.outcome == "ok"


async def test_a_secret_is_answered_as_it_is_and_stays_out_of_the_trace() -> None:
    async with opened(stdio(RAW)) as studio:
        studio.redactor.learn("sesame-opens")
        exchange = await exchanged(
            studio,
            frame(id="s", method="tools/call", params={"name": "echo", "arguments": {"text": "sesame-opens"}}),
        )
        assert b"sesame-opens" in exchange.answers[0]
        assert not any(b"sesame-opens" in entry.body for entry in studio.trace)


async def test_what_is_wrong_by_hand_is_shown_and_not_counted_against_the_server() -> None:
    async with opened(stdio(python_server("raw_echoing"))) as studio:
        before = studio.trace.ledger("s").groups()
        for data in (b"{nope", frame(id="x", method="ping"), frame(id="y", method="tools/list")):
            await exchanged(studio, data, wait=5)
        assert studio.trace.ledger("s").groups() == before
        assert [entry.findings[0].rule for entry in studio.trace if entry.by_hand and entry.findings] == ["not-json"]


async def test_a_notification_waits_for_what_comes_and_a_batch_for_all_its_answers() -> None:
    async with opened(stdio(python_server("raw_echoing"))) as studio:
        silent = await exchanged(studio, frame(method="notifications/none"), wait=0.05)
        assert not silent.answers and not silent.wants_answer and not silent.came_back()
        batch = json.dumps([{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in ("a", "b")]).encode()
        exchange = await exchanged(studio, batch, wait=5)
        assert sorted(answer["id"] for answer in answers(exchange)[0]) == ["a", "b"]
        assert not faults(studio)


async def test_an_answer_by_hand_takes_the_question_away() -> None:
    async with opened(stdio(RAW)) as studio:
        running = asyncio.ensure_future(call(studio, "ask"))
        await wait_until(lambda: studio.inbox.pending)
        asked = next(entry for entry in studio.trace if entry.method == "elicitation/create")
        result = {"action": "accept", "content": {"name": "by hand"}}
        await exchanged(studio, frame(id=asked.id, result=result), wait=0.05)
        assert "by hand" in text(await running)
        assert not studio.inbox.pending and asked.span and asked.span.outcome == "ok"


async def test_modern_requests_are_sent_as_they_are_with_or_without_stamps() -> None:
    async with opened(stdio(MODERN)) as studio:
        stamp = studio.manager.by_hand("s").stamp
        good = await exchanged(studio, frame(id=91, method="tools/list", params={"_meta": stamp}))
        assert "tools" in answers(good)[0]["result"]
        bare = await exchanged(studio, frame(id=92, method="tools/list"))
        assert answers(bare)[0]["error"]["code"] == -32022


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_over_http_status_and_answers_come_back(era: str) -> None:
    async def go(url: str) -> None:
        async with opened(http(url, era=era)) as studio:
            stamp = studio.manager.by_hand("s").stamp
            params = {"_meta": stamp} if stamp else {}
            good = await exchanged(studio, frame(id="h", method="tools/list", params=params), wait=5)
            assert answers(good)[0]["id"] == "h"
            assert any(entry.kind == "http" and entry.method.startswith("200") for entry in good.came_back())
            broken = await exchanged(studio, b"{nonsense", wait=5)
            statuses = [
                entry.method for entry in broken.came_back() if entry.kind == "http" and entry.direction == "in"
            ]
            assert statuses and statuses[0].startswith("4"), statuses
            assert text(await call(studio, "echo", text="on")) == "on"

    with http_server() as url:
        run(go(url))


async def test_what_cannot_be_sent_says_why() -> None:
    async with opened(stdio(RAW)) as studio:
        exchange = await exchanged(studio, b'{\n"jsonrpc": "2.0"}')
        assert isinstance(exchange.error, UsageError) and "lines" in exchange.error.message
        studio.manager.connection("s").end()
        await studio.manager.stop("s")
        with pytest.raises(Unreachable):
            studio.manager.by_hand("s").send(b"{}")


async def test_a_server_that_dies_of_a_frame_is_told_as_lost() -> None:
    async with opened(stdio(RAW)) as studio:
        exchange = await exchanged(studio, b"this is no JSON", wait=5)
        assert isinstance(exchange.error, ConnectionLost) and "JSONDecodeError" in exchange.error.message
        assert any(entry.kind == "stderr" for entry in exchange.came_back())


# ---------------------------------------------------------------------- without a handshake


async def test_a_connection_without_a_handshake_sends_nothing_by_itself() -> None:
    config = stdio(RAW, enabled=False)
    async with opened(config) as studio:
        bare = await studio.open_raw(config)
        assert not [entry for entry in studio.trace if entry.direction == "out"]
        params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "hand"}}
        exchange = bare.send(frame(id=0, method="initialize", params=params))
        await exchange.wait()
        assert answers(exchange)[0]["result"]["protocolVersion"] == "2025-03-26"
        assert [entry.method for entry in studio.trace if entry.direction == "out"] == ["initialize"]
        await bare.close()
        await wait_until(bare.ended.done)


async def test_a_connection_beside_the_servers_own_takes_no_findings_away() -> None:
    config = stdio(python_server("raw_faults", "--fault", "stray"))
    async with opened(config) as studio:
        await call(studio, "echo", text="a")
        found = studio.trace.ledger("s").groups()
        assert found
        bare = await studio.open_raw(config)
        await bare.send(frame(id=1, method="ping"), wait=5).wait()
        assert studio.trace.ledger("s").groups() == found
        assert text(await call(studio, "add", a=1, b=1)) == "2"


async def test_a_question_of_the_server_waits_there_for_an_answer_by_hand() -> None:
    config = stdio(RAW, enabled=False)
    async with opened(config) as studio:
        bare = await studio.open_raw(config)
        asking = bare.send(frame(id=1, method="tools/call", params={"name": "ask"}), wait=5)
        await wait_until(lambda: any(entry.method == "elicitation/create" for entry in asking.came_back()))
        assert not studio.inbox.pending
        bare.send(frame(id="ask-1", result={"action": "decline"}))
        await asking.wait()
        assert "decline" in answers(asking)[0]["result"]["content"][0]["text"]


async def test_an_id_that_was_used_in_vain_can_be_used_again() -> None:
    config = stdio(RAW, enabled=False)
    async with opened(config) as studio:
        bare = await studio.open_raw(config)
        first = bare.send(frame(id=1, method="tools/call", params={"name": "ask"}), wait=0.1)
        await first.wait()
        second = bare.send(frame(id=1, method="ping"), wait=5)
        await second.wait()
        assert not first.answers and answers(second) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


async def test_a_frame_that_is_sent_as_the_connection_closes_comes_to_an_end() -> None:
    config = stdio(RAW, enabled=False)
    async with opened(config) as studio:
        bare = await studio.open_raw(config)
        exchange = bare.send(frame(id=1, method="ping"))
        await bare.close()
        await exchange.wait()
        assert not exchange.answers


def test_over_http_a_handshake_by_hand_keeps_its_session() -> None:
    async def go(url: str) -> None:
        config = http(url, enabled=False)
        async with opened(config) as studio:
            bare = await studio.open_raw(config)
            params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}}
            for data in (
                frame(id=1, method="initialize", params=params),
                frame(method="notifications/initialized"),
                frame(id=2, method="tools/list"),
            ):
                exchange = bare.send(data, wait=None if b'"id"' in data else 0.3)
                await exchange.wait()
            assert answers(exchange)[0]["result"]["tools"]

    with http_server() as url:
        run(go(url))


def test_over_http_a_stamped_frame_brings_its_headers() -> None:
    async def go(url: str) -> None:
        config = http(url, enabled=False)
        async with opened(config) as studio:
            bare = await studio.open_raw(config)
            prefix = "io.modelcontextprotocol/"
            meta = {
                prefix + "protocolVersion": "2026-07-28",
                prefix + "clientCapabilities": {},
                prefix + "clientInfo": {"name": "h", "version": "1"},
            }
            exchange = bare.send(frame(id=1, method="server/discover", params={"_meta": meta}))
            await exchange.wait()
            assert "2026-07-28" in answers(exchange)[0]["result"]["supportedVersions"]

    with http_server() as url:
        run(go(url))


async def test_a_server_that_cannot_be_started_says_why_without_a_handshake_too() -> None:
    async with opened() as studio:
        with pytest.raises(Unreachable, match="no-such-program"):
            await studio.open_raw(stdio(["no-such-program-at-all"]))


async def test_bare_connections_are_closed_with_the_studio() -> None:
    config = stdio(RAW, enabled=False)
    async with opened(config) as studio:
        bare = await studio.open_raw(config)
        running = bare.send(frame(id=1, method="tools/call", params={"name": "wait", "arguments": {"seconds": 30}}))
    assert bare.ended.done() and running.done


# ---------------------------------------------------------------------- over the other transports


@pytest.mark.parametrize("kind", ["sse", "websocket"])
async def test_a_handshake_by_hand_works_over_every_transport(kind: str) -> None:
    async with bridged(RAW, kind) as url:
        config = http(url, transport=kind, enabled=False)
        async with opened(config) as studio:
            bare = await studio.open_raw(config)
            params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "hand"}}
            exchange = bare.send(frame(id=1, method="initialize", params=params), wait=5)
            await exchange.wait()
            assert answers(exchange)[0]["result"]["protocolVersion"] == "2024-11-05"
            assert [entry.method for entry in studio.trace if entry.kind == "request"] == ["initialize"]
