"""Toolsets on real servers: programs, URLs, studios; connecting, calling, losing and finding them again."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_studio import LocalToolset, Registry, RemoteToolset, StudioToolset
from mcp_studio.config.model import PolicyRule, Settings
from mcp_studio.errors import ConnectionLost, InputNeeded, StudioError, Unreachable, UsageError
from mcp_studio.limits import Limits
from mcp_studio.present.outcomes import ToolError
from mcp_studio.toolset.toolset import NotConnected, Toolset
from tests.studio_support import opened, stdio
from tests.support import python_server
from tests.support_servers import http_server
from tests.toolset.test_own_tools import Echo

RAW = python_server("raw_server")


def add(a: int, b: int = 1) -> int:
    """Adds."""
    return a + b


def names(toolset: Toolset) -> list[str]:
    return [tool.name for tool in toolset.get_tools()]


@pytest.fixture
async def raw() -> AsyncIterator[LocalToolset]:
    async with LocalToolset(RAW) as toolset:
        yield toolset


async def test_the_tools_of_a_program_are_functions(raw: LocalToolset) -> None:
    tools = {tool.name: tool for tool in raw.get_tools()}
    assert list(tools) == ["echo", "add", "wait", "count", "fail", "ask"]
    assert str(inspect.signature(tools["add"])) == "(a: float, b: float) -> Any"
    assert tools["echo"].__doc__ == "Gives back what it gets.\n\nArgs:\n    text: What to say"
    assert await tools["echo"]("hello") == "hello"
    assert await raw.call("add", {"a": 1, "b": 2}) == "3"
    with pytest.raises(ToolError, match="tool error"):
        await tools["fail"]()
    with pytest.raises(KeyError):
        await raw.call("unknown")


async def test_a_toolset_connects_once_and_says_when_it_is_not_connected() -> None:
    toolset = LocalToolset(RAW, raw=True)
    for use in (toolset.get_tools, toolset.anthropic_tools):
        with pytest.raises(NotConnected, match="The LocalToolset is not connected"):
            use()
    for use in (toolset.refresh_tools, lambda: toolset.call("echo", {"text": "x"})):
        with pytest.raises(NotConnected):
            await use()
    await toolset.connect()
    await toolset.connect()
    assert toolset.is_connected
    echo = toolset.get_tools()[0]
    assert (await echo("hi"))["content"] == [{"type": "text", "text": "hi"}]
    await toolset.disconnect()
    await toolset.disconnect()
    assert not toolset.is_connected
    with pytest.raises(NotConnected):
        await echo("hi")
    await toolset.connect()
    assert (await toolset.call("echo", {"text": "again"}))["content"][0]["text"] == "again"
    await toolset.disconnect()


@pytest.mark.parametrize("reconnect", [True, False])
async def test_a_program_that_was_killed_is_started_again_by_the_next_call(reconnect: bool, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = f"import os; open({str(file)!r}, 'w').write(str(os.getpid())); exec(open({RAW[-1]!r}).read())"
    async with LocalToolset([RAW[0], "-c", code], cwd=str(Path(RAW[-1]).parent), reconnect=reconnect) as toolset:
        waiting = asyncio.create_task(toolset.call("wait", {"seconds": 600}))
        await asyncio.sleep(0)
        pid = int(file.read_text())
        os.kill(pid, 9)
        with pytest.raises(ConnectionLost):
            await waiting
        if reconnect:
            assert await toolset.call("echo", {"text": "again"}) == "again"
        else:
            with pytest.raises(NotConnected, match="local is"):
                await toolset.call("echo", {"text": "again"})


@pytest.mark.parametrize(
    ("command", "error", "said"),
    [
        ("no-such-program --x", Unreachable, "There is no command no-such-program"),
        ([RAW[0], "-c", "raise SystemExit(3)"], ConnectionLost, "local ended with exit code 3"),
    ],
)
async def test_a_program_that_cannot_be_used_is_told(command: Any, error: type[StudioError], said: str) -> None:
    toolset = LocalToolset(command)
    with pytest.raises(error, match=said):
        await toolset.connect()
    assert not toolset.is_connected


def test_what_a_toolset_is_about_has_to_be_said() -> None:
    for make in (LocalToolset, lambda: LocalToolset(RAW, tools=[add])):
        with pytest.raises(UsageError, match="needs a command, or tools"):
            make()
    with pytest.raises(TypeError, match="int has none"):
        LocalToolset(tools=[7])
    with pytest.raises(UsageError, match="is no URL of a server"):
        RemoteToolset("ftp://example.com")


async def test_functions_and_objects_of_this_process_are_a_toolset() -> None:
    async with LocalToolset(tools=[add, Echo()], prefix="my_") as toolset:
        assert names(toolset) == ["my_add", "my_echo"]
        assert await toolset.call("my_add", {"a": "2"}) == "3"
        assert await toolset.get_tools()[1](text="x", times=2) == "xx"
        assert json.loads(json.dumps(toolset.openai_tools()))[0]["function"]["name"] == "my_add"


async def test_a_server_at_a_url_is_a_toolset() -> None:
    with http_server() as url:
        async with RemoteToolset(url, filter=["echo", "add*"], headers={"X-Own": "1"}, timeout=60) as toolset:
            assert "echo" in names(toolset) and len(names(toolset)) < 5
            assert "hello" in await toolset.call("echo", {"text": "hello"})
    with pytest.raises(StudioError):
        await RemoteToolset(url, timeout=5).connect()


async def test_definitions_are_those_of_the_apis_of_models(raw: LocalToolset) -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"text": {"type": "string", "description": "What to say"}}
    schema["required"] = ["text"]
    said = {"name": "echo", "description": "Gives back what it gets."}
    assert raw.openai_tools()[0] == {"type": "function", "function": {**said, "parameters": schema}}
    assert raw.openai_tools("responses")[0] == {"type": "function", **said, "parameters": schema}
    assert raw.anthropic_tools()[0] == {**said, "input_schema": schema}


async def test_names_fit_the_apis_of_models_and_none_hides_another() -> None:
    long = "x" * 70

    class Named(Echo):
        def __init__(self, name: str) -> None:
            self.name = name

    tools = [Named("a.b"), Named("a b"), Named("ok"), Named(f"{long}1"), Named(f"{long}2")]
    async with LocalToolset(tools=tools) as toolset:
        found = names(toolset)
        assert len(set(found)) == 5 and found[2] == "ok" and all(len(name) <= 64 for name in found)
        assert not {"a_b"} & set(found)
        assert await toolset.call(found[1], {"text": "second"}) == "second"


async def test_a_list_that_has_changed_is_read_again() -> None:
    async with LocalToolset(python_server("raw_lists")) as toolset:
        assert "old" in names(toolset)
        await toolset.call("change")
        assert [tool.name for tool in await toolset.refresh_tools()][-1] == "fresh"


async def test_a_call_that_is_cancelled_ends_at_the_server(raw: LocalToolset) -> None:
    waiting = asyncio.create_task(raw.call("wait", {"seconds": 600}))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await raw.call("echo", {"text": "x"}) == "x"


async def test_tools_are_called_from_other_loops_and_by_a_registry(raw: LocalToolset) -> None:
    registry = Registry()
    for tool in raw.get_tools():
        registry.register(tool)
    assert registry.describe()["echo"]["input_schema"]["required"] == ["text"]
    assert await registry.acall("echo", {"text": "a"}) == "a"
    assert await asyncio.to_thread(registry.call, "echo", {"text": "b"}) == "b"


async def test_a_studio_is_a_toolset_under_its_policy() -> None:
    one, other = stdio(RAW, "one", trust=True), stdio(RAW, "other")
    rules = (PolicyRule("*.count", "deny"),)
    settings = Settings(limits=Limits(connect=60.0, approval=0.2), policy=rules)
    async with opened(one, other, settings=settings, can_ask=False) as studio:
        async with StudioToolset(studio, filter=["one.*", "other.add"]) as toolset:
            assert names(toolset)[0] == "mcp__one__echo" and names(toolset)[-1] == "mcp__other__add"
            assert await toolset.call("mcp__one__echo", {"text": "read-only, and trusted"}) == "read-only, and trusted"
            with pytest.raises(InputNeeded, match="needs approval"):
                await toolset.call("mcp__other__add", {"a": 1, "b": 2})
        async with StudioToolset(studio, approved=True) as toolset:
            assert await toolset.call("mcp__other__add", {"a": 1, "b": 2}) == "3"
            with pytest.raises(InputNeeded, match="It was not run"):
                await toolset.call("mcp__one__count", {"steps": 1})
            registry = Registry(catalog=studio.catalog)
            await registry.ready()
            for tool in toolset.get_tools():
                registry.register(tool)
            assert await registry.acall("mcp__other__add", {"a": 2, "b": 2}) == "4"
            assert len(registry.records()) == 12 and registry.find("other.add").source == "server"
        await studio.registry.ready()
        assert studio.registry.find("other.add").uses >= 2
        assert studio.manager.status("one").state == "ready"  # it was given, and stays


async def test_a_studio_of_its_own_leaves_out_what_cannot_be_reached(home: Path) -> None:
    folder = home / "config"
    folder.mkdir()
    command, *args = RAW
    servers = f'[servers.good]\ncommand = "{command}"\nargs = {json.dumps(args)}\n[servers.bad]\ncommand = "no-such"\n'
    (folder / "config.toml").write_text(servers)
    async with StudioToolset() as toolset:
        assert names(toolset)[0] == "mcp__good__echo"
        assert "There is no command no-such" in str(toolset.problems["bad"])
    assert not toolset.is_connected
