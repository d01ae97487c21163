"""What is copied does what the studio does: programs, tests and commands are run on real servers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from mcp_studio.call.call import Call
from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.subject import Subject, subject_of, with_outcome
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import AnswerRule, Era, ServerConfig
from mcp_studio.jsontext import Json, loads
from mcp_studio.protocol.events import request as message
from mcp_studio.transport.http_connection import ACCEPT
from tests.call.copying.kit import came, demo, entry, subject
from tests.studio_support import PATIENT, http, opened
from tests.support import ROOT, python_program, python_server, run
from tests.support_servers import demo_http, running

TRICKY = 'it\'s "q" $HOME `x` \n é😀 \\'
CAME = {"received": {"town": TRICKY, "street": ""}}
LIMIT = 60


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """One demo server over HTTP for the whole file."""
    with demo_http() as address:
        yield address


def call(server: ServerConfig, version: str, **more: Json) -> Subject:
    """A call that gives its arguments back."""
    tool = {"inputSchema": {"type": "object", "properties": {"town": {"type": "string", "x-mcp-header": "Town"}}}}
    return subject({"town": TRICKY, "street": ""}, "form_header", server=server, version=version, tool=tool, **more)


def started(argv: list[str], mixed: bool = False, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if mixed else None,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environ},
    )


def test_programs_and_tests_run_as_they_are(tmp_path: Path, url: str) -> None:
    with running(python_server("http_sdk", "older")) as older:
        sse = ServerConfig("x", url=f"http://127.0.0.1:{older.url}/sse", transport="sse")
        remote = entry(url=url, headers={"Authorization": "Bearer ${TOK}"})
        texts = {
            "remote": copy_as(call(remote, "2026-07-28"), "python").text,
            "local": copy_as(call(demo(), "2025-11-25"), "python").text,
            "older": copy_as(subject({"a": 2, "b": 3}, "add", server=sse), "python").text,
            "test_right": copy_as(call(demo(url), "2025-11-25", outcome=came(CAME)), "pytest").text,
            "test_wrong": copy_as(call(demo(url), "2026-07-28", outcome=came({"not": "this"})), "pytest").text,
        }
        files = {name: tmp_path / f"{name}.py" for name in texts}
        for name, file in files.items():
            file.write_text(texts[name], "utf-8")
        runs = {name: started(python_program(files[name]), TOK="x") for name in ("remote", "older")}
        runs["local"] = started([sys.executable, str(files["local"])], TOK="x")
        options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "-c", os.devnull]
        runs["tests"] = started(python_program(*options, files["test_right"], files["test_wrong"]))
        said = {name: one.communicate(timeout=LIMIT)[0] for name, one in runs.items()}
    for name in ("remote", "local"):
        assert runs[name].returncode == 0 and loads(said[name])["structuredContent"] == CAME, said[name]
    assert runs["older"].returncode == 0 and '"5"' in said["older"], said["older"]
    assert "1 failed, 1 passed" in said["tests"] and "assert result.structured_content ==" in said["tests"]


CALLED: dict[str, dict[str, Json]] = {
    "ask_twice": {},
    "fail_as_tool": {},
    "fail_as_request": {},
    "show_every_block": {},
}


async def recorded(server: ServerConfig) -> dict[str, Subject]:
    """Calls that were made, and what came of them."""
    async with opened(server, settings=replace(PATIENT, answers=(AnswerRule("decline"),))) as studio:

        async def last(ref: Ref, call: Call, value: Json, uri: str = "") -> Subject:
            await call.wait()
            made = subject_of(studio.manager, studio.catalog, ref, value, uri=uri)
            return await with_outcome(made, studio.trace, call.number)

        found = {
            name: await last(ref := Ref("tool", "s", name), studio.call_tool(ref, {}, approved=True), {})
            for name in CALLED
        }
        ref = Ref("prompt", "s", "recommend")
        found["prompt"] = await last(ref, studio.get_prompt(ref, {"genre": "crime"}), {"genre": "crime"})
        read = studio.read_resource("s", "shop://till")
        found["resource"] = await last(Ref("resource", "s", "shop://till"), read, None, "shop://till")
        return found


def test_generated_tests_expect_what_came(tmp_path: Path, url: str) -> None:
    texts: dict[str, str] = {}
    eras: tuple[Era, ...] = ("legacy", "modern")
    for era in eras:
        found = run(recorded(http(url, era=era)))
        asked = copy_as(found.pop("ask_twice"), "pytest")
        assert "The server asked for input meanwhile" in asked.remarks[-1]
        texts |= {f"{era}_{name}": copy_as(one, "pytest").text for name, one in found.items()}
        texts[f"wrong_{era}_code"] = texts[f"{era}_fail_as_request"].replace("code == -", "code == -9", 1)
    for name, text in texts.items():
        (tmp_path / f"test_{name}.py").write_text(text, "utf-8")
    options = ["-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "-c", os.devnull]
    said = started(python_program(*options, tmp_path)).communicate(timeout=LIMIT)[0]
    assert f"2 failed, {len(texts) - 2} passed" in said, said
    assert said.count("/test_wrong_", said.rindex("short test summary")) == 2, said


def test_what_a_program_leaves_out_is_said_in_it() -> None:
    for form in ("python", "pytest"):
        made = copy_as(subject({"password": "x\ny"}), form)
        compile(made.text, "made", "exec")
        comments = " ".join(line[2:] for line in made.text.splitlines() if line.startswith("# "))
        assert "stands for what is secret: password" in comments, made.text


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_curl_gets_the_answer_in_both_eras(url: str, version: str) -> None:
    server = entry(url=url, headers={"X-Token": "${TOK}"})
    made = copy_as(call(server, version), "curl")
    session = initialized(url) if version == "2025-11-25" else ""
    assert bool(session) == ("SESSION has to be set" in " ".join(made.remarks))
    said = started(["sh", "-c", made.text], TOK="x", SESSION=session).communicate(timeout=LIMIT)[0]
    found = [line.removeprefix("data: ") for line in said.splitlines() if '"result"' in line]
    assert len(found) == 1 and loads(found[0])["result"]["structuredContent"] == CAME, said
    assert loads(found[0])["id"] == 1


def initialized(url: str) -> str:
    """The id of a session that is open at the server."""
    headers = {"Accept": ACCEPT, "Content-Type": "application/json"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}}
    opened = httpx2.post(url, headers=headers, json=message("initialize", params, identity=0), timeout=LIMIT)
    headers["Mcp-Session-Id"] = session = opened.headers["mcp-session-id"]
    httpx2.post(url, headers=headers, json=message("notifications/initialized"), timeout=LIMIT)
    return session


def test_our_own_command_line_makes_the_call_with_the_server_in_it(url: str) -> None:
    lines = {
        "http": copy_as(call(demo(url), "2026-07-28"), "standalone").text,
        "stdio": copy_as(call(demo(), ""), "standalone").text,
    }
    python = f"{sys.executable} -m mcp_studio"
    runs = {
        name: started(["sh", "-c", line.replace("mcp-studio", python, 1)], PYTHONPATH=str(ROOT))
        for name, line in lines.items()
    }
    for name, one in runs.items():
        said = one.communicate(timeout=LIMIT)[0]
        assert one.returncode == 0 and "it's" in said, (name, lines[name], said)


def test_what_curl_cannot_do_is_said() -> None:
    sse = ServerConfig("x", url="http://h/sse", transport="sse")
    for server in (demo(), ServerConfig("x", url="ws://h/x"), sse):
        made = copy_as(subject(server=server), "curl")
        assert made.text == "" and "Streamable HTTP only" in made.why_not
