"""What is copied does what the studio does: programs, tests and commands are run on real servers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_studio.call.copying.formats import copy_as
from mcp_studio.call.copying.subject import Subject
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, loads
from tests.call.copying.kit import demo, entry, subject
from tests.support import ROOT, python_program, python_server
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
            "test_right": copy_as(call(demo(url), "2025-11-25", structured=CAME), "pytest").text,
            "test_wrong": copy_as(call(demo(url), "2026-07-28", structured={"not": "this"}), "pytest").text,
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


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_curl_gets_the_answer_in_both_eras(url: str, version: str) -> None:
    server = entry(url=url, headers={"X-Token": "${TOK}"})
    done = started(["sh", "-c", copy_as(call(server, version), "curl").text], TOK="x")
    said = done.communicate(timeout=LIMIT)[0]
    found = [line.removeprefix("data: ") for line in said.splitlines() if '"result"' in line]
    assert len(found) == 1 and loads(found[0])["result"]["structuredContent"] == CAME, said
    assert loads(found[0])["id"] == 1


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
    for server, word in (
        (demo(), "standard input"),
        (ServerConfig("x", url="ws://h/x"), "WebSocket"),
        (ServerConfig("x", url="http://h/sse", transport="sse"), "another stream"),
    ):
        made = copy_as(subject(server=server), "curl")
        assert made.text == "" and word in made.why_not
