"""A tap in front of a server at a URL: the same over HTTP, on loopback alone."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from mcp_studio.tap.gate import Decision
from tests.cli.kit import cli
from tests.demo.client import LEGACY, MODERN, all_tools, words
from tests.servers.certificates import Authority
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import python_program
from tests.support_servers import HttpServer, demo_http, running
from tests.tap.kit import answer, recorded, request, tap
from tests.tap.test_gate import gate, held

CALL = request(1, "tools/call", name="pay", arguments={"amount": 10})
PING = request(2, "ping")
BREAK = ("--break", "tool:pay dir:out kind:request")


@contextmanager
def before(url: str, *options: str) -> Generator[HttpServer]:
    """A tap in front of this server, which Ctrl-C ends."""
    with running(python_program("-m", "mcp_studio", "tap", "--listen", "0", "--to", url, *options)) as server:
        yield server
        server.process.send_signal(signal.SIGINT)
        server.process.wait(60)


def events(text: str) -> list[Any]:
    """The messages of an event stream."""
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_the_client_of_the_sdk_notices_nothing(era: str) -> None:
    with demo_http() as url, before(url, "--name", "shop") as server:
        async with Client(server.url, mode=era, cache=None) as client:
            assert len(await all_tools(client)) > 20
            found = words(await client.call_tool("find_books", {"text": "sea"}))
    calls = [one for one in recorded() if one.target == "find_books"]
    assert [(one.direction, one.kind, one.server) for one in calls] == [
        ("out", "request", "shop"), ("in", "result", "shop"),
    ]  # fmt: skip
    assert found.split()[0].encode() in calls[1].body
    heads = [one.body for one in recorded() if one.kind == "http" and one.exchange == calls[0].exchange]
    assert len(heads) == 2 and heads[0].startswith(b"POST " + url.encode()) and heads[1].startswith(b"200 OK")


def test_our_own_client_ends_its_session_through_it() -> None:
    with demo_http() as url, before(url) as server:
        done = cli("list", "tools", "--url", server.url, "--era", "legacy", "--json")
    assert len(done.json["result"]["tools"]) > 20
    assert "DELETE" in {one.method for one in recorded()}


async def test_heads_and_bodies_pass_as_they_are() -> None:
    chance = random.Random(1)
    bodies = [chance.randbytes(size) for size in (0, 1, 70_000, 400_000)]
    answers = iter([*bodies])

    async def handler(request: Request, reply: Reply) -> None:
        await reply.body("299 Strange", next(answers), "X-Odd: a, b", "Set-Cookie: x=1", "Set-Cookie: y=2", kind="x/y")

    async with RawServer(handler) as raw:
        with before(raw.url) as server:
            async with httpx2.AsyncClient() as client:
                for number, body in enumerate(bodies):
                    head = {"X-Mine": "1", "Authorization": "Bearer abcdefghijklmnop"}
                    came = await client.post(f"{server.url}?q={number}%20", content=body[::-1], headers=head)
                    assert (came.status_code, came.content) == (299, body)
                    assert came.headers.get_list("set-cookie") == ["x=1", "y=2"] and came.headers["x-odd"] == "a, b"
                    sent = raw.requests[-1]
                    assert (sent.method, sent.path, sent.body) == ("POST", f"/mcp?q={number}%20", body[::-1])
                    assert sent.headers["x-mine"] == "1" and sent.headers["authorization"].endswith("mnop")
                    assert sent.headers["host"] == f"127.0.0.1:{raw.port}"
    assert all(b"abcdefghijklmnop" not in one.body for one in recorded())


async def test_events_pass_while_the_stream_goes_on() -> None:
    left = asyncio.Event()

    async def handler(request: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.raw(b": comment\r\n\r\nid: 7\nevent: message\n")
        await reply.event(PING)
        await reply.closed_by_peer()
        left.set()

    async with RawServer(handler) as raw:
        with before(raw.url) as server:
            async with httpx2.AsyncClient() as client, client.stream("POST", server.url, json=CALL) as answer:
                chunks = answer.aiter_text()
                text = ""
                while "\n\n" not in text.replace("\r", "").partition("comment\n\n")[2]:
                    text += await anext(chunks)
                assert text == f": comment\r\n\r\nid: 7\nevent: message\ndata: {json.dumps(PING)}\n\n"
            await asyncio.wait_for(left.wait(), 60)


async def test_a_signal_ends_it_with_what_is_open(capfd: pytest.CaptureFixture[str]) -> None:
    async def handler(request: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event(PING)
        await reply.closed_by_peer()

    async with RawServer(handler) as raw:
        with running(tap("--listen", "0", "--to", raw.url)) as server:
            async with httpx2.AsyncClient() as client, client.stream("POST", server.url, json=CALL) as answer:
                chunks = answer.aiter_text()
                await anext(chunks)
                server.process.terminate()
                with pytest.raises(httpx2.RemoteProtocolError):
                    await anext(chunks)
            assert server.process.wait(60) == 0
    assert "Traceback" not in capfd.readouterr().err
    span = next(one.span for one in recorded() if one.kind == "request" and one.method == "tools/call")
    assert span is not None and span.outcome == "lost"


@pytest.mark.parametrize("head", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
async def test_no_web_page_reaches_it(head: dict[str, str]) -> None:
    with before("http://127.0.0.1:9/mcp") as server:
        came = httpx2.post(server.url, json=PING, headers=head)
        assert came.status_code == 403


@pytest.mark.parametrize(
    ("body", "kind"), [(json.dumps(PING), "application/json"), ("x=1", "text/plain; charset=utf-8")]
)
def test_a_server_that_is_not_there_is_told_in_a_sentence(body: str, kind: str) -> None:
    with before("http://127.0.0.1:9/mcp") as server:
        came = httpx2.post(server.url, content=body)
        assert came.status_code == 502 and came.headers["content-type"] == kind
        assert "http://127.0.0.1:9 gives no answer" in came.text
        if kind == "application/json":
            assert came.json()["id"] == 2


def test_a_port_that_is_taken_is_told() -> None:
    with before("http://127.0.0.1:9/mcp") as server:
        done = cli("tap", "--listen", str(server.port), "--to", "http://127.0.0.1:9/mcp")
        assert done.code == 2 and f"Cannot listen on 127.0.0.1:{server.port}" in done.err


async def test_signing_in_beside_it_is_recorded_without_tokens() -> None:
    async def handler(request: Request, reply: Reply) -> None:
        await reply.body("200 OK", b'{"access_token": "secret-of-somebody", "token_type": "Bearer"}')

    async with RawServer(handler) as raw:
        with before(raw.url) as server:
            url = server.url.replace("/mcp", "/token")
            async with httpx2.AsyncClient() as client:
                came = await client.post(url, data={"code": "code-of-somebody", "grant_type": "x"})
                assert came.json()["access_token"] == "secret-of-somebody"
    told = b"".join(one.body for one in recorded())
    assert b"token_type" in told and b"grant_type" in told
    assert b"secret-of-somebody" not in told and b"code-of-somebody" not in told


async def echo(request: Request, reply: Reply) -> None:
    """Answers with the call's arguments: as JSON, or as events where the client asks for those first."""
    result = answer(request.json["id"], request.json["params"])
    if request.headers.get("accept", "").startswith("text/event-stream"):
        await reply.stream()
        await reply.event(PING, "id: 1")
        await reply.event(result, "id: 2")
        reply.close()
    else:
        await reply.body("200 OK", json.dumps(result).encode())


PAID = answer(1, CALL["params"])
CHANGED = json.dumps(CALL).replace("10", "99").encode()
ANSWER = answer(1, {"content": []})


@pytest.mark.parametrize(
    ("decision", "comes"),
    [
        (Decision(), PAID),
        (Decision("release", CHANGED), answer(1, json.loads(CHANGED)["params"])),
        (Decision("answer", json.dumps(ANSWER).encode()), ANSWER),
    ],
)
async def test_a_request_that_is_held_becomes_what_a_person_decides(decision: Decision, comes: Any) -> None:
    async with RawServer(echo) as raw:
        with before(raw.url, *BREAK) as server:
            async with httpx2.AsyncClient() as client:
                call = asyncio.create_task(client.post(server.url, json=CALL))
                where = await gate()
                (one,) = await held(where)
                where.decide(one.number, decision)
                assert (await call).json() == comes


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("changed", [False, True])
async def test_an_answer_that_is_held_can_be_edited(streams: bool, changed: bool) -> None:
    async with RawServer(echo) as raw:
        with before(raw.url, "--break", "kind:result") as server:
            async with httpx2.AsyncClient() as client:
                head = {"Accept": "text/event-stream"} if streams else {}
                call = asyncio.create_task(client.post(server.url, json=CALL, headers=head))
                where = await gate()
                (one,) = await held(where)
                where.decide(one.number, Decision("release", json.dumps(ANSWER).encode() if changed else b""))
                came, expected = await call, ANSWER if changed else PAID
                if streams:
                    assert events(came.text) == [PING, expected] and "id: 2" in came.text
                else:
                    assert came.json() == expected


@pytest.mark.parametrize(
    ("fault", "happens"),
    [("cut kind:request", httpx2.RemoteProtocolError), ("cut kind:result", httpx2.RemoteProtocolError),
     ("drop kind:request", httpx2.ReadTimeout), ("drop kind:result", httpx2.ReadTimeout)],
)  # fmt: skip
async def test_faults_are_what_a_bad_network_does(fault: str, happens: type[Exception]) -> None:
    async with RawServer(echo) as raw:
        with before(raw.url, "--fault", fault) as server:
            async with httpx2.AsyncClient(timeout=2) as client:
                with pytest.raises(happens):
                    await client.post(server.url, json=CALL)


async def test_a_fault_answers_with_an_error() -> None:
    async with RawServer(echo) as raw:
        with before(raw.url, "--fault", "error=-9 method:tools/call") as server:
            async with httpx2.AsyncClient() as client:
                came = await client.post(server.url, json=CALL)
                assert (came.status_code, came.json()["error"]["code"]) == (200, -9)
        assert raw.requests == []


async def test_what_cannot_be_recorded_passes_all_the_same(home: Path) -> None:
    (home / "state").write_text("no folder")
    async with RawServer(echo) as raw:
        with before(raw.url) as server:
            async with httpx2.AsyncClient() as client:
                assert (await client.post(server.url, json=CALL)).json() == PAID


@pytest.mark.parametrize("length", [(), ("Content-Length: 1000",)])
async def test_an_answer_that_breaks_off_is_no_whole_one(length: tuple[str, ...]) -> None:
    async def handler(request: Request, reply: Reply) -> None:
        more = length or ("Transfer-Encoding: chunked",)
        await reply.head("200 OK", "Content-Type: application/json", *more)
        await reply.raw(b'{"jsonrpc":' if length else b'b\r\n{"jsonrpc":\r\n')
        reply.close()

    async with RawServer(handler) as raw:
        with before(raw.url) as server:
            async with httpx2.AsyncClient() as client:
                with pytest.raises(httpx2.RemoteProtocolError):
                    await client.post(server.url, json=CALL)
    assert any(one.kind == "http" and b"gives no answer" in one.body for one in recorded())


async def test_a_server_behind_tls_is_verified(tmp_path: Path) -> None:
    async with RawServer(echo, Authority(tmp_path).server()) as raw, httpx2.AsyncClient() as client:
        with before(raw.url) as server:
            came = await client.post(server.url, json=CALL)
            assert came.status_code == 502 and "certificate" in came.json()["error"]["message"].lower()


async def test_clients_whose_requests_have_the_same_ids_are_told_apart() -> None:
    other = asyncio.Event()

    async def handler(request: Request, reply: Reply) -> None:
        message, session = request.json, request.headers.get("mcp-session-id", "")
        if message["method"] == "initialize":
            body = json.dumps(answer(0, {})).encode()
            return await reply.body("200 OK", body, f"Mcp-Session-Id: {message['params']['who']}")
        if session == "a":
            await asyncio.wait_for(other.wait(), 60)
        await reply.body("200 OK", json.dumps(answer(1, {"of": session})).encode())
        other.set()

    async with RawServer(handler) as raw:
        with before(raw.url) as server:
            async with httpx2.AsyncClient() as client:

                def call(who: str) -> Any:
                    body = request(1, "tools/call", name=f"of-{who}")
                    return client.post(server.url, json=body, headers={"Mcp-Session-Id": who})

                for who in "ab":
                    began = await client.post(server.url, json=request(0, "initialize", who=who))
                    assert began.headers["mcp-session-id"] == who
                came = await asyncio.gather(call("a"), call("b"))
                assert [one.json()["result"]["of"] for one in came] == ["a", "b"]
    for who in "ab":
        (call_of,) = [one for one in recorded() if one.kind == "request" and one.target == f"of-{who}"]
        assert call_of.span is not None and call_of.span.response is not None
        assert f'"of": "{who}"'.encode() in call_of.span.response.body
