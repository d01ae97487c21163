"""A recorded server's mock is the same to every client: over both transports, in both eras, for us and for the SDK."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_studio.call.replay.plan import plan
from mcp_studio.call.replay.runner import Replayer, summary
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig
from mcp_studio.session.inbox import InputRequest
from mcp_studio.trace.export.bundle import open_file
from mcp_studio.trace.export.formats import export
from tests.studio_support import http, opened, stdio
from tests.support import npm_server, python_server, run
from tests.support_servers import HttpServer, demo_http, running

MOCK = [sys.executable, "-m", "mcp_studio", "mock"]


def answered(request: InputRequest) -> None:
    """What somebody answers to everything."""
    if request.kind == "sampling":
        text = {"type": "text", "text": "four"}
        request.answer("accept", {"role": "assistant", "model": "m", "content": text})
    else:
        request.answer("accept" if request.kind == "elicitation" else "decline", {"name": "Ada"})


async def record(server: ServerConfig, file: Path, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Use a server for a while, and export what was recorded."""
    async with opened(server) as studio:
        disconnect = studio.inbox.changed.connect(answered)
        for tool, arguments in calls:
            outcome = await studio.call_tool(Ref("tool", "s", tool), arguments, approved=True).wait()
            assert outcome.size or outcome.ms, tool
        for entry in studio.catalog.entries("resource")[:3]:
            await studio.read_resource("s", entry.ref.name).wait()
        disconnect()
        await export(studio.trace, None, "bundle", file, studio.redactor)


async def replay(server: ServerConfig, file: Path) -> dict[str, int]:
    """Replay a whole bundle."""
    recording = open_file(file)
    async with opened(server) as studio:
        assert studio.manager.status("s").state == "ready", studio.manager.status("s").error
        steps = plan(recording.columns).steps
        replayer = Replayer(studio.caller, recording, approved=True)
        results = [one async for one in replayer.run(steps, {})]
        assert [(one.step.subject, one.said, one.differences) for one in results if one.verdict != "same"] == []
        return summary(results)


@contextmanager
def over_http(file: Path) -> Generator[HttpServer]:
    """The mock of a bundle over HTTP."""
    with running([*MOCK, str(file), "--http", "--quiet"]) as server:
        yield server


CALLS = [("echo", {"text": "hi"}), ("ask", {}), ("count", {"steps": 2, "pause": 0}), ("fail", {}), ("nothing", {})]


@pytest.mark.parametrize("options", [(), ("--modern",)], ids=["legacy", "modern"])
def test_a_bundle_is_the_same_against_its_own_mock(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "raw.mcptrace"
    run(record(stdio(python_server("raw_server", *options)), file, CALLS))
    assert run(replay(stdio([*MOCK, str(file), "--quiet"]), file))["same"] >= 10
    with over_http(file) as server:
        assert run(replay(http(server.url), file))["same"] >= 10


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals that end a process in order")
@pytest.mark.parametrize("options", [(), ("--http",)], ids=["stdio", "http"])
def test_an_ended_mock_deletes_its_temporary_files(tmp_path: Path, options: tuple[str, ...]) -> None:
    file, folder = tmp_path / "raw.mcptrace", tmp_path / "temporary"
    folder.mkdir()
    run(record(stdio(python_server("raw_server")), file, CALLS[:1]))
    command, environment = [*MOCK, str(file), *options], {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, env=environment) as mock:
        assert mock.stderr is not None
        while not mock.stderr.readline().startswith(b"serving" if options else b"mock of"):
            assert mock.poll() is None
        assert list(folder.iterdir())
        mock.terminate()
        assert mock.wait(60) == 128 + signal.SIGTERM
    assert not list(folder.iterdir())


def test_servers_of_others_are_played_too(tmp_path: Path) -> None:
    everything, demo = tmp_path / "everything.mcptrace", tmp_path / "demo.mcptrace"
    shop: list[tuple[str, dict[str, Any]]] = [
        ("find_books", {"query": "sea"}), ("take_stock", {"seconds_per_shelf": 0}), ("ask_twice", {}),
        ("invite_guest", {}), ("bind_edition", {"seconds_per_copy": 0}), ("fail_as_request", {}),
    ]  # fmt: skip
    with demo_http() as url:
        run(record(http(url, era="modern"), demo, shop))
    assert run(replay(stdio([*MOCK, str(demo)]), demo))["same"] >= 6
    calls = [
        ("echo", {"message": "hi"}), ("get-sum", {"a": 1, "b": 2}), ("get-structured-content", {"location": "Chicago"}),
        ("get-tiny-image", {}), ("trigger-elicitation-request", {}), ("trigger-sampling-request", {"prompt": "x"}),
    ]  # fmt: skip
    run(record(stdio(npm_server("everything")), everything, calls))
    with over_http(everything) as server:
        assert run(replay(http(server.url), everything))["same"] >= 12


def test_the_sdk_meets_the_same_server(tmp_path: Path) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    file = tmp_path / "raw.mcptrace"
    run(record(stdio(python_server("raw_server")), file, CALLS))

    async def talk(read: Any, write: Any) -> tuple[Any, ...]:
        async with ClientSession(read, write) as session:
            greeted = await session.initialize()
            tools = await session.list_tools()
            called = await session.call_tool("echo", {"text": "hi"})
            note = await session.read_resource("raw://note")  # type: ignore[arg-type]
            return greeted, tools, called, note

    async def real() -> tuple[Any, ...]:
        argv = python_server("raw_server")
        async with stdio_client(StdioServerParameters(command=argv[0], args=argv[1:])) as (read, write):
            return await talk(read, write)

    async def mocked() -> tuple[Any, ...]:
        env = {"PYTHONPATH": str(Path(__file__).parents[2])}
        server = StdioServerParameters(command=MOCK[0], args=[*MOCK[1:], str(file)], env=env)
        async with stdio_client(server) as (read, write):
            return await talk(read, write)

    async def remote(url: str) -> tuple[Any, ...]:
        async with streamable_http_client(url) as streams:
            return await talk(streams[0], streams[1])

    wanted = run(real())
    assert run(mocked()) == wanted
    with over_http(file) as server:
        assert run(remote(server.url)) == wanted


def test_the_http_mock_is_for_programs_of_this_machine_alone(tmp_path: Path) -> None:
    file = tmp_path / "raw.mcptrace"
    run(record(stdio(python_server("raw_server")), file, CALLS[:1]))
    with over_http(file) as server, httpx2.Client() as client:
        frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}

        def status(method: str = "POST", url: str = server.url, **headers: str) -> int:
            return client.request(method, url, json=frame, headers={"Accept": "*/*", **headers}).status_code

        assert status() == status(Origin=f"http://localhost:{server.port}") == 200
        assert status(Origin="http://evil.example") == status(Host="evil.example") == 403
        assert status(url=server.url.replace("/mcp", "/other")) == 404
        assert status("GET") == status("PUT") == 405
        assert client.post(server.url, content=b"{").status_code == 400
        frame["method"] = "tools/list"
        assert status() == 400
        assert status(**{"Mcp-Session-Id": "nobody"}) == 404
        # Who may not ask is told so before anything else is read.
        with socket.create_connection(("127.0.0.1", server.port), 10) as line:
            line.sendall(b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 60000000\r\n\r\n")
            assert line.recv(12) == b"HTTP/1.1 403"
        with ExitStack() as many:
            lines = [many.enter_context(socket.create_connection(("127.0.0.1", server.port), 10)) for _ in range(220)]
            lines[-1].sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert lines[-1].recv(12) == b"HTTP/1.1 503"
        assert server.process.poll() is None
