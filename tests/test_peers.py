"""Servers that we did not write: from PyPI with the test extra, from npm where node is present."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.call.call import Succeeded, ToolFailed
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Timeouts
from tests.studio_support import call, http, opened, stdio, text
from tests.support import npm_server, run, wait_until

PATIENT = Timeouts(connect=15)


def pypi(name: str, *args: str) -> list[str]:
    """The argv of a server from the test extra."""
    program = shutil.which(name, path=str(Path(sys.executable).parent))
    assert program, f"{name} is part of the test extra"
    return [program, *args]


async def test_time() -> None:
    async with opened(stdio(pypi("mcp-server-time"), timeouts=PATIENT)) as studio:
        assert studio.manager.status("s").state == "ready", studio.manager.status("s").error
        answer = await call(studio, "get_current_time", timezone="Europe/Vienna")
        assert "Europe/Vienna" in text(answer)
        wrong = await call(studio, "get_current_time", timezone="Nowhere/Land")
        assert isinstance(wrong, ToolFailed)


async def test_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)

    argv = pypi("mcp-server-git", "--repository", str(tmp_path))
    async with opened(stdio(argv, timeouts=PATIENT)) as studio:
        answer = await call(studio, "git_status", repo_path=str(tmp_path))
        assert "No commits yet" in text(answer)


async def test_filesystem(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("grüße")

    async with opened(stdio(npm_server("filesystem", str(tmp_path)), timeouts=PATIENT)) as studio:
        assert text(await call(studio, "read_text_file", path=str(tmp_path / "note.txt"))) == "grüße"
        denied = await call(studio, "read_text_file", path="/etc/hostname")
        assert isinstance(denied, ToolFailed)


async def test_memory() -> None:
    async with opened(stdio(npm_server("memory"), timeouts=PATIENT)) as studio:
        assert isinstance(await call(studio, "read_graph"), Succeeded)
        assert not [entry for entry in studio.catalog.entries("tool") if entry.problem]


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_everything_over_stdio(era: Any) -> None:
    async with opened(stdio(npm_server("everything", "stdio"), era=era, timeouts=PATIENT)) as studio:
        assert "3" in text(await call(studio, "get-sum", a=1, b=2))
        structured = await call(studio, "get-structured-content", location="New York")
        assert isinstance(structured, Succeeded) and structured.problems == ()
        resource = studio.catalog.entries("resource")[0]
        assert isinstance(await studio.read_resource("s", resource.ref.name).wait(), Succeeded)


async def test_everything_asks_and_takes_the_answer() -> None:
    async with opened(stdio(npm_server("everything", "stdio"), timeouts=PATIENT)) as studio:
        handle = studio.call_tool(Ref("tool", "s", "trigger-elicitation-request"), {}, approved=True)
        await wait_until(lambda: studio.inbox.pending or handle.outcome)
        assert studio.inbox.pending, handle.outcome
        studio.inbox.pending[0].answer("decline")
        assert isinstance(await handle.wait(), Succeeded)


@pytest.mark.parametrize(
    ("mode", "path", "transport"),
    [("streamableHttp", "mcp", ""), ("sse", "sse", "")],
    ids=["Streamable HTTP", "HTTP+SSE found out"],
)
def test_everything_over_http(mode: str, path: str, transport: Any) -> None:
    argv = npm_server("everything", mode)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        argv, env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert process.stderr
        while not re.search(b"listening|running on port", process.stderr.readline().lower()):
            assert process.poll() is None

        async def go() -> None:
            url = f"http://127.0.0.1:{port}/{path}"
            async with opened(http(url, timeouts=PATIENT, transport=transport)) as studio:
                assert studio.manager.status("s").state == "ready", studio.manager.status("s").error
                assert text(await call(studio, "echo", message="hi")) == "Echo: hi"
                slow = studio.call_tool(Ref("tool", "s", "trigger-long-running-operation"), {"duration": 1, "steps": 2})
                assert isinstance(await slow.wait(), Succeeded) and slow.progress

        run(go())
    finally:
        process.kill()
        process.wait()
        assert process.stderr
        process.stderr.close()
