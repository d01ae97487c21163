"""Secrets are planted wherever they can be, through real servers; none is in any file that the studio leaves."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mcp_studio.call.call import Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.load import load
from mcp_studio.paths import Paths
from mcp_studio.studio import Studio
from mcp_studio.trace.disk.session import Session
from mcp_studio.trace.disk.sessions import sessions
from mcp_studio.vault import keyring
from mcp_studio.vault.base import MemoryVault
from tests.servers.http_raw import RawServer, Reply, Request
from tests.support import python_server, run

KNOWN = (
    "keyring",
    "environment",
    "variable",
    "typed",
    "bearer in the configuration",
    "url user",
    "url query",
    "in a URL",
)
"""Places of secrets that the studio has been told."""


class Planted(dict[str, str]):
    """A new secret for each place that is asked for, of which no one is part of another."""

    def __missing__(self, place: str) -> str:
        made = self[place] = f"Pl4nt3d{len(self):03}Zq+/x&{base64.b32encode(place.encode()).decode()[:6]}"
        return made

    def safe(self, place: str) -> str:
        """One without characters that a URL or a token could not have."""
        if place not in self:
            self[place] = f"Pl4nt3d{len(self):03}Zq{base64.b32encode(place.encode()).decode()[:6].replace('=', '9')}"
        return self[place]


def printed(plant: Planted) -> Iterator[str]:
    """What a server may print, on any of its outputs."""
    for name in ("password", "apiKey", "access_token", "client_secret", "X-Auth-Token", "privateKey"):
        yield json.dumps({name: plant[f"json {name}"], "kept": "visible"})
        yield json.dumps({"text": json.dumps({name: plant[f"inner json {name}"]})})
        yield f"DB_{name.upper()}={plant.safe(f'variable {name}')} next"
    yield f"Authorization: Bearer {plant.safe('bearer')}"
    yield f"authorization: basic {base64.b64encode(b'ada:' + plant.safe('basic').encode()).decode()}"
    yield f"sk-proj-{plant.safe('shape sk')} ghp_{plant.safe('shape ghp')}0123456789 xoxb-{plant.safe('shape xox')}"
    yield f"eyJhbGciOiJIUzI1NiJ9.{plant.safe('jwt')}.{plant.safe('jwt signature')}"
    yield f"GET /callback?code={plant.safe('code')}&state={plant.safe('state')} HTTP/1.1"
    yield f"https://h/cb#access_token={plant.safe('fragment')}&token_type=bearer"
    yield f"code={plant.safe('form code')}&grant_type=authorization_code&code_verifier={plant.safe('verifier')}"
    yield f"grant_type=refresh_token&refresh_token={plant.safe('refresh')}&client_secret={plant.safe('form secret')}"
    yield f"to=https%3A%2F%2Fh%2Fcb%3Fcode%3D{plant.safe('quoted code')}%26id_token%3D{plant.safe('quoted token')}"
    yield f"connecting to postgres://ada:{plant.safe('userinfo')}@db/x?sig={plant.safe('signature')}"


def told(secrets: list[str]) -> Iterator[str]:
    """Secrets that the studio knows, in the forms that a server may give them back."""
    for secret in secrets:
        raw = secret.encode()
        yield secret
        yield base64.b64encode(raw).decode()
        yield base64.urlsafe_b64encode(b"user:" + raw + b":more").decode()
        yield quote(secret, safe="") + " " + quote(secret) + " " + quote(quote(secret, safe=""), safe="")
        yield json.dumps({"inner": json.dumps({"deep": secret})})


def forms(secret: str) -> Iterator[bytes]:
    """How it would stand in a file."""
    raw = secret.encode()
    yield from (raw, quote(secret, safe="").encode(), quote(quote(secret, safe=""), safe="").encode())
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw)[4:-4]
        yield from (encoded, encoded.translate(bytes.maketrans(b"+/", b"-_")))


def result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def everything(home: Path) -> Iterator[tuple[str, bytes]]:
    """Each file, and each body and name of the recorded sessions as they are read."""
    for file in home.rglob("*"):
        if file.is_file() and file.name != "config.toml":
            yield str(file.relative_to(home)), file.read_bytes()
    for info in sessions(Paths.default().state / "trace"):
        assert info.problem == ""
        session = Session(info.path)
        with contextlib.closing(session), contextlib.closing(session.reader()) as reader:
            for number in range(session.first_number, session.total + 1):
                yield f"body {number}", reader.body(number)
                for name in ("findings", "comment", "id", "attributes"):
                    yield f"{name} {number}", json.dumps(reader.extra(number, name)).encode()
            columns = session.columns
            for names in (columns.servers, columns.methods, columns.targets):
                yield "names", "\n".join(names.texts).encode()


CONFIG = """
[servers.local]
command = "{command}"
args = [{args}, "--api-key", "${{keyring:local}}"]
env = {{ TOOL_TOKEN = "{token}", DATABASE = "postgres://ada:{password}@db/x", OTHER = "${{PLANTED}}" }}

[servers.remote]
url = "{url}"
era = "legacy"
headers = {{ Authorization = "Bearer {bearer}", X-Own = "${{PLANTED_HEADER}}", X-Api-Key = "{key}" }}
"""


def test_no_planted_secret_is_in_any_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = Planted()
    vault = MemoryVault()
    vault.set("local", plant["keyring"])
    monkeypatch.setattr(keyring, "named", lambda *_: vault)
    monkeypatch.setenv("PLANTED", plant["environment"])
    monkeypatch.setenv("PLANTED_HEADER", plant.safe("header from the environment"))

    async def answer(request: Request, reply: Reply) -> None:
        if request.method != "POST":
            await reply.body("405 Method Not Allowed", b"")
            return
        message = request.json
        if "id" not in message:
            await reply.accepted()
        elif message["method"] == "initialize":
            info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}}}
            lines = (f"Set-Cookie: sid={plant.safe('cookie')}", f"X-Refresh-Token: {plant.safe('answer header')}")
            await reply.result({**info, "serverInfo": {"name": "r", "version": "1"}}, *lines)
        elif message["method"] == "tools/list":
            schema = {"type": "object", "properties": {"password": {"type": "string"}, "text": {"type": "string"}}}
            await reply.result({"tools": [{"name": "echo", "inputSchema": schema}]})
        elif message["method"] == "tools/call":
            where = f"Location: https://ada:{plant.safe('location')}@h/?code={plant.safe('location code')}"
            heard = {"heard": dict(request.headers), "path": request.path, "arguments": message["params"]["arguments"]}
            texts = "\n".join([json.dumps(heard), *printed(plant), *told([plant[place] for place in KNOWN])])
            await reply.result(result(texts), where)
        elif message["method"] == "resources/read":
            await reply.result({"contents": [{"uri": message["params"]["uri"], "text": "-"}]})
        else:
            await reply.result({"resources": [], "resourceTemplates": [], "prompts": []})

    async def go() -> int:
        async with RawServer(answer) as server:
            url = f"http://ada:{plant.safe('url user')}@127.0.0.1:{server.port}/mcp?api_key={plant.safe('url query')}"
            command, *args = python_server("raw_script")
            paths = Paths.default()
            paths.config_file.parent.mkdir(parents=True)
            written = CONFIG.format(
                command=command, args=", ".join(map(json.dumps, args)), url=url, token=plant["variable"],
                password=plant.safe("in a URL"),
                bearer=plant.safe("bearer in the configuration"), key=plant.safe("key in the configuration"),
            )  # fmt: skip
            paths.config_file.write_text(written)
            config = load(paths, home)
            assert config.problems == () and len(config.servers) == 2
            async with Studio.open(config, paths, can_ask=True, origin="test") as studio:
                await _use(studio, plant)
            return studio.trace.total

    assert run(go()) > 60
    (info,) = sessions(Paths.default().state / "trace")
    assert info.entries > 60 and set(info.servers) == {"local", "remote"} and len(plant) > 50
    files = list(everything(home))
    assert any(b"visible" in data for name, data in files if name.endswith(".trace"))
    assert any(len(data) > 1_000_000 for name, data in files if name.startswith("body"))
    found = {
        f"{place}: {form!r} in {name}"
        for place, secret in plant.items()
        for form in forms(secret)
        for name, data in files
        if form in data
    }
    assert sorted(found) == []


async def _use(studio: Studio, plant: Planted) -> None:
    for name in ("local", "remote"):
        assert (await studio.manager.settle(name)).state == "ready", studio.manager.status(name)
        await studio.manager.listed(name)
    studio.manager.redactor.learn(plant["typed"])

    async def call(server: str, tool: str, **arguments: Any) -> None:
        outcome = await studio.call_tool(Ref("tool", server, tool), arguments, approved=True).wait()
        assert isinstance(outcome, Succeeded), outcome

    await call("remote", "echo", password=plant["typed into a secret field"], text=plant["typed"])
    lines = [*printed(plant), *told([plant[place] for place in KNOWN])]
    stray = [f"${{stderr}} {line}" for line in lines] + [line for line in lines if not line.startswith("{")]
    for line in lines:
        params = {"level": "info", "data": line}
        stray.append(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
    wide = "\n".join(lines)
    for size in (1, 20_000, 1_100_000):  # in a block, compressed beside it, redacted in a thread
        answer = json.dumps({"jsonrpc": "2.0", "id": "$ID", "result": result("w " * (size // 2) + wide)})
        await call("local", "say", lines=[*stray, answer.replace('"$ID"', "$ID")])
        stray = []
    await studio.read_resource("remote", f"x://ada:{plant.safe('target')}@h/?access_token={plant.safe('uri')}").wait()
    studio.trace.comment(3, f"used {plant['typed']} here")
    frame = {
        "jsonrpc": "2.0",
        "id": 77,
        "method": "by/hand",
        "params": {"secret": plant["by hand"], "x": plant["typed"]},
    }
    await studio.manager.by_hand("local").send(json.dumps(frame).encode(), wait=5).wait()
    studio.trace.mark(2, True)
