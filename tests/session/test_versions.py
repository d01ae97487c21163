"""A server that speaks one of the five versions and nothing else: found, listed and called on every transport."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.protocol.versions import HANDSHAKE_VERSIONS, LATEST_MODERN, VERSIONS
from mcp_studio.studio import Studio
from tests.servers.http_raw import RawServer, Reply, Request
from tests.servers.http_sse import SseServer
from tests.servers.raw_versions import OneVersion
from tests.studio_support import PATIENT, call, http, opened, stdio, text
from tests.support import python_server, wait_until

REFUSAL = {"ids": ["counter-offer", "refusal"], "argvalues": [False, True]}


class Streamable:
    """The server over Streamable HTTP."""

    def __init__(self, version: str, *, refuse: bool) -> None:
        self.server = OneVersion(version, refuse=refuse)

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one HTTP request."""
        if got.method != "POST":
            await reply.body("405 Method Not Allowed", b"")
            return
        answer = self.server.take(got.json, got.headers)
        if answer is None:
            await reply.accepted()
            return
        code = answer.get("error", {}).get("code")
        status = {None: "200 OK", -32601: "404 Not Found" if self.server.modern else "200 OK"}.get(
            code, "400 Bad Request"
        )
        session = ("Mcp-Session-Id: one",) if got.json["method"] == "initialize" else ()
        await reply.body(status, json.dumps(answer).encode(), *session)


async def used(studio: Studio, version: str) -> None:
    """Connected with this version, listed, called, and nothing done that the version forbids."""
    status = studio.manager.status("s")
    assert (status.state, status.version, status.modern) == ("ready", version, version == LATEST_MODERN), status.error
    assert [entry.ref.name for entry in studio.catalog.entries("tool")] == ["wrongs"]
    assert json.loads(text(await call(studio, "wrongs"))) == []
    assert studio.manager.status("s").warnings == ()


def configs(version: str, **about: Any) -> list[ServerConfig]:
    """By itself, with the right era, and with the right version; `about` makes the entry."""
    era = "modern" if version == LATEST_MODERN else "legacy"
    make = stdio if "argv" in about else http
    target = about.get("argv") or about["url"]
    return [make(target), make(target, era=era), make(target, protocol_version=version)]


@pytest.mark.parametrize("refuse", **REFUSAL)
@pytest.mark.parametrize("version", VERSIONS)
async def test_on_stdio(version: str, refuse: bool) -> None:
    for config in configs(version, argv=python_server("raw_versions", version, *(["--refuse"] * refuse))):
        async with opened(config) as studio:
            await used(studio, version)


@pytest.mark.parametrize("refuse", **REFUSAL)
@pytest.mark.parametrize("version", VERSIONS)
async def test_on_streamable_http(version: str, refuse: bool) -> None:
    for number in range(3):
        handler = Streamable(version, refuse=refuse)
        async with RawServer(handler) as server:
            config = configs(version, url=server.url)[number]
            async with opened(config) as studio:
                await used(studio, version)
                if config.protocol_version and version in HANDSHAKE_VERSIONS:
                    assert handler.server.offered == [version]
            # The stateless era has neither a stream of its own nor a session to end.
            assert set(server.methods()) == {"POST"} if version == LATEST_MODERN else "POST" in server.methods()


@pytest.mark.parametrize("kind", ["", "sse"])
async def test_on_http_with_sse(kind: Any) -> None:
    server = OneVersion("2024-11-05")

    async def answer(wire: SseServer, got: Request, reply: Reply) -> None:
        await reply.accepted()
        if answer := server.take(got.json):
            await wire.say(answer)

    async with RawServer(SseServer(call=answer)) as raw:
        server.ready = True  # the handshake is answered before it comes here
        async with opened(http(raw.url, transport=kind)) as studio:
            await used(studio, "2024-11-05")


SLOW = [
    stdio(python_server("raw_both", "--delay", delay, *(["--refuse"] * refuses)), f"{delay}-{refuses}")
    for delay in ("1.2", "3")
    for refuses in (False, True)
]


async def test_a_slow_server_of_both_eras_is_spoken_to_in_one_of_them_and_next_time_in_the_newer_one() -> None:
    settings = replace(PATIENT, start_processes=len(SLOW))
    for again in (False, True):
        async with opened(*SLOW, settings=settings) as studio:
            for name in studio.manager.names():
                status = studio.manager.status(name)
                refuses = name.endswith("True")
                assert (status.state, status.modern) == ("ready", again or refuses), (name, status.error)
                await asked(studio, name)
                assert not studio.trace.ledger(name).groups() and not status.warnings, name
                notes = [one.body for one in studio.trace if (one.kind, one.server) == ("note", name)]
                assert any(b"answered after" in note for note in notes) == (not again)


async def asked(studio: Studio, name: str) -> None:
    """Its tool `ask` gets the answer of a person."""
    calling = studio.call_tool(Ref("tool", name, "ask"), {}, approved=True)
    await wait_until(lambda: studio.inbox.pending)
    studio.inbox.pending[0].answer("accept", {"name": "Ada"})
    assert "Ada" in text(await calling.wait())
