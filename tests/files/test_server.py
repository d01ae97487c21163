"""The filesystem server in both eras, for the SDK's client: roots of the client, resources, watching, HTTP."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ListRootsResult, ResourceTemplateReference, Root

from tests.files.kit import argv, filled
from tests.support import ROOT
from tests.support_servers import end

TOKEN = "t" * 20


@asynccontextmanager
async def connected(era: str, *roots: Path, **client: Any) -> AsyncGenerator[Client]:
    """The SDK's client on a server of its own."""
    command, *words = argv(*roots)
    started = StdioServerParameters(command=command, args=words, env={**os.environ}, cwd=str(ROOT))
    async with Client(stdio_client(started), mode=era, cache=None, **client) as one:  # type: ignore[arg-type]
        yield one


@contextmanager
def served(words: list[str]) -> Generator[str]:
    """The URL of a server over HTTP."""
    environment = {**os.environ, "MCP_STUDIO_SERVER_TOKEN": TOKEN}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        end(process)


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_roots_of_the_client_are_served_where_none_are_named(tmp_path: Path, era: str) -> None:
    root, there = filled(tmp_path), [tmp_path / "root"]

    async def roots(ctx: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=one.as_uri()) for one in there])  # type: ignore[arg-type]

    async with connected(era, list_roots_callback=roots) as client:
        read = await client.call_tool("read_file", {"path": "notes.txt", "head": 1})
        assert read.structured_content is not None and read.structured_content["content"] == "one\n"
        refused = await client.call_tool("read_file", {"path": str(tmp_path / "secret/key")})
        assert refused.is_error
        there[:] = [tmp_path / "secret"]
        if era == "legacy":
            with pytest.warns(UserWarning):
                await client.send_roots_list_changed()
        assert not (await client.call_tool("read_file", {"path": "key"})).is_error
        assert (await client.call_tool("read_file", {"path": str(root / "notes.txt")})).is_error
    async with connected(era) as client:
        said = await client.call_tool("read_file", {"path": "key"})
        assert said.is_error and "your client has no roots" in str(said.content)


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_root_that_is_named_is_not_widened_by_the_client(tmp_path: Path, era: str) -> None:
    async def roots(ctx: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///")])  # type: ignore[arg-type]

    async with connected(era, filled(tmp_path), list_roots_callback=roots) as client:
        assert (await client.call_tool("read_file", {"path": str(tmp_path / "secret/key")})).is_error


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_files_are_resources_that_can_be_completed_and_watched(tmp_path: Path, era: str) -> None:
    root = filled(tmp_path)
    heard = anyio.Event()

    async def message(one: object) -> None:
        if "updated" in str(getattr(one, "method", "")):
            heard.set()

    async with connected(era, root, message_handler=message) as client:
        listed = (await client.list_resources()).resources
        assert [one.name for one in listed] == ["data.bin", "dos.txt", "large.txt", "notes.txt"]
        (one,) = (await client.read_resource(f"{root.as_uri()}/notes.txt")).contents
        assert one.mime_type == "text/plain" and getattr(one, "text", "").startswith("one")
        (blob,) = (await client.read_resource(f"{root.as_uri()}/data.bin")).contents
        assert hasattr(blob, "blob")
        with pytest.raises(MCPError, match="is outside"):
            await client.read_resource((tmp_path / "secret/key").as_uri())
        template = ResourceTemplateReference(uri="file://{+path}")
        found = await client.complete(template, {"name": "path", "value": f"{root}/sr"})
        assert found.completion.values == [f"{root}/src/"]
        outside = await client.complete(template, {"name": "path", "value": f"{tmp_path}/secret/"})
        assert outside.completion.values == []
        uri = f"{root.as_uri()}/notes.txt"
        with anyio.fail_after(30):
            if era == "legacy":
                with pytest.warns(UserWarning):
                    await client.subscribe_resource(uri)
                (root / "notes.txt").write_text("new")
                await heard.wait()
            else:
                async with client.listen(resource_subscriptions=[uri]) as news:
                    (root / "notes.txt").write_text("new")
                    async for event in news:
                        assert getattr(event, "uri", "") == uri
                        break


async def test_over_http_only_whoever_shows_the_token_is_served(tmp_path: Path) -> None:
    with served(argv(filled(tmp_path), options=("--http", "0"))) as url:
        for era in ("legacy", "auto"):
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
                Client(streamable_http_client(url, http_client=http), mode=era) as client,  # type: ignore[arg-type]
            ):
                assert not (await client.call_tool("read_file", {"path": "notes.txt"})).is_error
        async with httpx2.AsyncClient() as http:
            for shown in ({}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": TOKEN}):
                assert (await http.post(url, json={}, headers=shown)).status_code == 401
            known = {"Authorization": f"Bearer {TOKEN}"}
            assert (await http.post(url, json={}, headers={**known, "Host": "evil.example"})).status_code == 403
            assert (
                await http.post(url, json={}, headers={**known, "Origin": "http://evil.example"})
            ).status_code == 403


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--http", "0"], "Over HTTP the folders have to be named."),
        (["--root", "/no/such/folder"], "`/no/such/folder` is no folder."),
        (["/no/such/folder", "--root", "/"], "`/no/such/folder` is no folder."),
        (["--root", "/", "--http", "99999"], "Port 99999 cannot be used"),
    ],
)
def test_what_cannot_be_served_is_said(words: list[str], said: str) -> None:
    done = subprocess.run([*argv(), *words], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode and said in done.stderr and "Traceback" not in done.stderr
