"""The command line on servers at URLs of every kind."""

from __future__ import annotations

import asyncio

import pytest

from tests.cli.kit import Done, cli
from tests.servers.http_failing import Server
from tests.servers.http_kit import child
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import python_server, run
from tests.support_servers import running

ADD = ("call", "add", "a=2", "b=3")


@pytest.mark.parametrize("words", [(), ("--transport", "sse"), ("--transport", "http")])
def test_http_sse_is_found_out_or_said_or_ruled_out(words: tuple[str, ...]) -> None:
    with child("older") as (_, port):
        url = f"http://127.0.0.1:{port}/sse"
        done = cli(*ADD, "--url", url, *words)
        if "http" in words:
            assert done.code == 1 and "405" in done.err
        else:
            assert (done.code, done.out) == (0, "5\n"), done.err
            doctor = cli("doctor", "--url", url, *words, "--json").json["result"][0]
            assert (doctor["transport"], doctor["era"]) == ("sse", "legacy")


def test_a_websocket_is_spoken_to_by_its_url() -> None:
    with running(python_server("ws_sdk")) as server:
        done = cli(*ADD, "--url", server.url)
        assert (done.code, done.out) == (0, "5\n"), done.err
        assert "WebSocket" in cli("doctor", "--url", server.url).out
    lost = cli(*ADD, "--url", server.url)
    assert lost.code == 4 and "refused" in lost.err


TOKEN = "Bearer abcdefgh-very-secret"


async def busy(got: Request, reply: Reply) -> None:
    await reply.body(
        "503 Busy", f"for\x1b[31m {TOKEN}".encode(), f"X-Echo: {TOKEN}", "X-Why: upgrade", kind="text/plain"
    )


def test_a_call_that_http_turns_away_has_its_answer_in_the_envelope() -> None:
    async def main() -> Done:
        async with RawServer(Server(busy)) as server:
            return await asyncio.to_thread(cli, "call", "t", "--url", server.url, "--json")

    done = run(main())
    error = done.json["error"]
    assert done.code == 1 and error["http"]["status"] == 503 and error["sent"] is False
    assert ["X-Why", "upgrade"] in error["http"]["headers"] and error["http"]["body"].startswith("for")
    assert "abcdefgh" not in done.out + done.err and "\x1b" not in done.out + done.err
    assert "cannot serve now" in done.err and "starting" in done.err


def test_doctor_shows_what_http_answered() -> None:
    async def main() -> tuple[Done, Done]:
        async with RawServer(busy) as server:
            words = ("doctor", "--url", server.url)
            return await asyncio.to_thread(cli, *words), await asyncio.to_thread(cli, *words, "--json")

    shown, told = run(main())
    assert "status: 503 Busy" in shown.out and "header: X-Why: upgrade" in shown.out and "body: for" in shown.out
    (report,) = told.json["error"]["result"]
    assert report["http"]["status"] == 503 and "try" in report
    assert "abcdefgh" not in shown.out + told.out and "\x1b" not in shown.out + told.out
