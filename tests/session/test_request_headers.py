"""Headers that are made for each request: by the program that an entry names, and by the program around the studio."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.config.load import load
from mcp_studio.config.model import Config, Timeouts
from mcp_studio.paths import Paths
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.transport.base import RequestContext
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import PATIENT, call, http, opened, text

OFFER = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}


class Guarded:
    """A server of 2026-07-28 that takes the newest token alone."""

    def __init__(self, wanted: str = "token-1") -> None:
        self.wanted = wanted
        self.seen: list[Request] = []

    async def __call__(self, got: Request, reply: Reply) -> None:
        """Answer one request."""
        self.seen.append(got)
        if got.headers.get("authorization") != f"Bearer {self.wanted}":
            await reply.body("401 Unauthorized", b"{}", 'WWW-Authenticate: Bearer error="invalid_token"')
            return
        answers: dict[str, dict[str, Any]] = {
            "server/discover": OFFER,
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": got.headers.get("x-signature", "unsigned")}]},
        }
        await reply.result({"resultType": "complete", **answers.get(got.json["method"], {})})


def printing(folder: Path, code: str) -> tuple[str, ...]:
    """A `headers_command` that counts how often it runs in the file `runs`, and has the count as `n`."""
    script = folder / "headers.py"
    script.write_text(
        "import json, sys, time, datetime\n"
        f"with open({str(folder / 'runs')!r}, 'a+') as f:\n    f.write('x')\n    f.flush()\n    f.seek(0)\n"
        f"    n = len(f.read())\n{code}\n"
    )
    return (sys.executable, str(script))


def runs(folder: Path) -> int:
    """How often it ran."""
    return len((folder / "runs").read_text())


PRINT = "print(json.dumps({'headers': {'Authorization': f'Bearer token-{n}'}%s}))"


@pytest.mark.parametrize(
    ("end", "after_reconnect"),
    [
        ("", 2),
        (", 'expires_in': 600", 1),
        (", 'expires_at': time.time() + 600", 1),
        (", 'expires_at': datetime.datetime.now(datetime.timezone.utc).isoformat(), 'expires_in': 600", 1),
    ],
)
async def test_what_a_command_prints_is_sent_until_the_end_that_it_states(
    tmp_path: Path, end: str, after_reconnect: int
) -> None:
    server = Guarded()
    command = printing(tmp_path, PRINT % end)
    async with RawServer(server) as place, opened(http(place.url, headers_command=command)) as studio:
        assert text(await call(studio, "echo")) == "unsigned" and runs(tmp_path) == 1
        server.wanted = f"token-{after_reconnect}"
        studio.manager.restart("s")
        assert (await studio.manager.settle("s")).state == "ready" and runs(tmp_path) == after_reconnect
        assert not [entry for entry in studio.trace if b"token-1" in entry.body], "the redactor knows its values"


async def test_a_token_that_is_refused_or_over_is_printed_anew(tmp_path: Path) -> None:
    server = Guarded()
    command = printing(tmp_path, PRINT % ", 'expires_at': time.time() + (600 if n == 1 else 0.001)")
    async with RawServer(server) as place, opened(http(place.url, headers_command=command)) as studio:
        server.wanted = "token-2"
        assert text(await call(studio, "echo")) == "unsigned" and runs(tmp_path) == 2, "refused: run once more"
        server.wanted = "token-3"
        assert text(await call(studio, "echo")) == "unsigned" and runs(tmp_path) == 3, "it was over"
        server.wanted, before = "nobody has it", len(server.seen)
        await call(studio, "echo")
        assert len(server.seen) == before + 2, "a refused request is sent once more, and no oftener"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("sys.exit('no session: log in')", "ended with exit code 1; it said last: no session: log in"),
        ("print('token')", "printed what cannot be used"),
        ("print(json.dumps({'headers': {'A': 1}}))", "printed what cannot be used"),
        ("print(json.dumps({'headers': {'A': 'b'}, 'expires_at': 'soon'}))", "printed what cannot be used"),
        ("print(json.dumps({'headers': {'A b': 'c'}}))", "has characters that HTTP does not allow"),
        ("print('x' * 300_000)", "printed more than 256 KB"),
        ("time.sleep(600)", "The headers_command of s did not end within 6 s"),
        ("for _ in range(100_000): print('xxxxxxxxxx')", "printed more than 256 KB"),
        (None, "did not start: There is no command no-such-program on the PATH"),
    ],
)
async def test_a_command_that_fails_is_a_sentence_at_its_server(tmp_path: Path, code: str | None, said: str) -> None:
    command = ("no-such-program",) if code is None else printing(tmp_path, code)
    wait = Timeouts(connect=9.0 if code == "time.sleep(600)" else None)
    server = http("http://127.0.0.1", headers_command=command, timeouts=wait)
    async with RawServer(Guarded()) as place, opened(replace(server, url=place.url)) as studio:
        status: Status = studio.manager.status("s")
        assert status.state == "failed" and status.error is not None and said in status.error.message
        assert not place.requests, "nothing is sent without them"


async def test_a_function_of_the_embedding_program_signs_each_request() -> None:
    contexts: list[RequestContext] = []

    async def sign(context: RequestContext) -> Mapping[str, str]:
        contexts.append(context)
        return {"Authorization": "Bearer token-1", "X-Signature": sha256(context.body).hexdigest()}

    def broken(context: RequestContext) -> Mapping[str, str]:
        raise RuntimeError("the key is locked")

    async with RawServer(Guarded()) as place:
        config = Config(PATIENT, {"s": http(place.url)})
        async with Studio.open(config, Paths.default(), can_ask=False, headers=sign) as studio:
            await studio.manager.settle("s")
            await studio.manager.listed("s")
            signature = text(await call(studio, "echo"))
            assert signature == sha256(place.requests[-1].body).hexdigest()
            called = contexts[-1]
            assert (called.server, called.method, called.url) == ("s", "POST", place.url)
            assert called.rpc_method == "tools/call" and json.loads(called.body)["params"]["name"] == "echo"
            assert not called.refused and not [entry for entry in studio.trace if signature.encode() in entry.body]
            studio.add(http(place.url, "locked"), headers=broken)
            status = await studio.manager.settle("locked")
            assert status.error is not None and "the key is locked" in status.error.message


def test_the_command_of_a_project_waits_for_trust_and_stands_in_the_entry(tmp_path: Path) -> None:
    file = tmp_path / ".mcp-studio.toml"
    file.write_text('[servers.s]\nurl = "https://a.example/mcp"\nheaders_command = ["~/bin/token", "${NAME}"]\n')
    paths = Paths(tmp_path / "config", tmp_path / "state", tmp_path / "cache")
    asked = load(paths, tmp_path, environ={"NAME": "n", "HOME": "/h"})
    assert not asked.servers and asked.untrusted[0].servers[0].headers_command == ("~/bin/token", "${NAME}")
    named = load(paths, tmp_path, files=[file], environ={"NAME": "n", "HOME": "/h"}).servers["s"]
    assert named.headers_command == ("/h/bin/token", "n") and not named.signs_in
    file.write_text('[servers.s]\ncommand = "x"\nheaders_command = ["y"]\n')
    (problem,) = load(paths, tmp_path, files=[file]).problems
    assert "headers_command" in problem.key and "is for servers at a url" in problem.message
