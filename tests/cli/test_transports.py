"""The command line on servers at URLs of every kind."""

from __future__ import annotations

import pytest

from tests.cli.kit import cli
from tests.servers.http_kit import child
from tests.support import python_server
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
