"""What an agent is given instead of hundreds of tools: search, definitions, categories, calls."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client

from tests.cli.kit import cli
from tests.gateway.kit import ERAS, configured, environment, on_http, on_stdio, raw, text, to_http
from tests.support import python_program
from tests.support_servers import demo_stdio

OWN = {"search_tools", "get_tool_definition", "list_categories", "list_tools_by_category", "call_tool"}


async def _value(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text(result)
    assert json.loads(text(result)) == result.structured_content
    return result.structured_content


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_finds_reads_and_calls_a_tool(era: str) -> None:
    file = configured(
        'hot = ["demo.list_books"]\nregister = true\ntools = ["demo.*", "raw.add*"]',
        demo=demo_stdio(),
        raw=raw("raw_server"),
    )
    assert cli("registry", "add", "own.seller", "--description", "Sells a book.").code == 0
    async with on_stdio(file, era=era) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {
            *OWN,
            "register_tool",
            "mcp__demo__list_books",
        }

        for method in ("bm25", "regex", "auto", "hybrid"):
            found = await _value(client, "search_tools", query="sell book", search_method=method, limit=3)
            if method == "regex":
                found = await _value(client, "search_tools", query="sell_.*", search_method=method)
            best = found["tools"][0]
            assert best["name"] == "mcp__demo__sell_book"
            assert best["description"] and best["score"] > 0 and best["why"]
        definition = await _value(client, "get_tool_definition", tool_name=best["name"])
        assert definition["definition"]["inputSchema"]["required"]

        categories = (await _value(client, "list_categories"))["categories"]
        assert set(categories) == {"demo", "raw"}
        few = await _value(client, "list_tools_by_category", category="demo", limit=2)
        assert len(few["tools"]) == 2 and few["more"] == categories["demo"] - 2

        assert "Salt" in text(
            await client.call_tool("call_tool", {"tool_name": "demo.find_books", "arguments": {"text": "salt"}})
        )
        assert "Salt" in text(await client.call_tool("mcp__demo__list_books", {}))
        await client.call_tool(
            "register_tool", {"name": "brew_tea", "description": "Brews tea.", "category": "kitchen"}
        )
        kitchen = await _value(client, "list_tools_by_category", category="kitchen")
        assert [tool["name"] for tool in kitchen["tools"]] == ["brew_tea"]

        nothing = await _value(client, "search_tools", query="zzzyx")
        assert nothing["tools"] == [] and "No tool matches" in nothing["note"]

        for tool, arguments, said in (
            ("search_tools", {}, "query"),
            ("search_tools", {"query": "x", "limit": 0}, "limit"),
            ("search_tools", {"query": "x", "method": "regex"}, "'method' is none of its arguments"),
            ("search_tools", {"query": "(", "search_method": "regex"}, "regex is wrong"),
            ("search_tools", {"query": "x", "search_method": "magic"}, "search_method"),
            ("get_tool_definition", {"tool_name": "raw.echo"}, "There is no tool"),
            ("get_tool_definition", {"tool_name": "own.seller"}, "There is no tool"),
            ("call_tool", {"tool_name": "raw.echo", "arguments": {}}, "There is no tool"),
            ("call_tool", {"tool_name": "brew_tea"}, "description only"),
            ("list_tools_by_category", {"category": "nothing"}, "no category"),
            ("register_tool", {"name": "x", "description": "", "input_schema": {"type": "array"}}, "of type object"),
        ):
            wrong = await client.call_tool(tool, arguments)
            assert wrong.is_error and said in text(wrong), (tool, arguments, text(wrong))


def test_the_account_of_tokens_says_what_a_search_spares() -> None:
    file = configured(demo=demo_stdio(), raw=raw("raw_server"))
    words = ("list", "--tokens", "--config", file, "--json")
    done = subprocess.run(python_program("-m", "mcp_studio", *words), capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    account = json.loads(done.stdout)["result"]
    of, total = account["servers"], account["total"]
    assert list(of) == ["demo", "raw"], "the largest comes first"
    for part in ("tools", "definitions", "results"):
        assert total[part] == sum(one[part] for one in of.values())
    assert total["definitions"] > total["search"] > 0 < of["raw"]["search"] < of["demo"]["search"]
    assert account["largest"]["schema"][0]["tool"] == "demo.form_forty"
    assert account["tokenizer"]


async def test_what_a_client_over_standard_input_and_output_registers_is_only_for_its_name() -> None:
    file = configured("register = true")
    for name in ("ann", "bob"):
        async with on_stdio(file, client_info=types.Implementation(name=name, version="1")) as client:
            if name == "ann":
                await _value(client, "register_tool", name="brew_tea", description="Brews tea.")
            found = await _value(client, "search_tools", query="brews tea")
            assert ("brew_tea" in [tool["name"] for tool in found["tools"]]) == (name == "ann")


async def test_a_session_records_what_its_client_was_given_and_spared() -> None:
    file = configured()
    definitions = cli("list", "--tokens", "--config", str(file), "--json").json["result"]["total"]["definitions"]
    with on_http(file) as served:
        async with to_http(served) as client:
            for _ in range(2):
                await client.list_tools()
            await client.call_tool("call_tool", {"tool_name": "demo.list_books"})
        figures = ""
        while f'spared_tokens_total{{client="client"}} {2 * definitions}' not in figures:
            figures = (await asyncio.to_thread(httpx2.get, f"{served.origin}/metrics", headers=served.headers)).text
        served.process.send_signal(signal.SIGINT)
        served.process.wait(60)
    told = cli("trace", "last", "method:tokens", "--jsonl").out
    assert re.search(rf"client was given [\d,]+ tokens to find tools; .* are {2 * definitions:,}", told)
    assert "the results of tools are about" in told


def test_a_client_gets_the_gateway_into_its_file_and_nobody_overwrites_anything(tmp_path: Any) -> None:
    file = tmp_path / ".mcp.json"
    file.write_text('{"mcpServers": {"mine": {"command": "mine"}}}', "utf-8")
    words = ("serve", "--install", "claude-code", "--project", "--mode", "all")
    env = environment()
    asked = subprocess.run(
        python_program("-m", "mcp_studio", *words), capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert "no servers are configured" in asked.stderr
    assert asked.returncode == 6 and "mine" in file.read_text("utf-8") and "mcp-studio" not in file.read_text("utf-8")
    done = subprocess.run(
        python_program("-m", "mcp_studio", *words, "--yes"), capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    servers = json.loads(file.read_text("utf-8"))["mcpServers"]
    assert set(servers) == {"mine", "mcp-studio"}
    assert servers["mcp-studio"]["args"][-3:] == ["serve", "--mode", "all"]
    assert len(list(tmp_path.glob(".mcp.json.*.bak"))) == 1
    wrong = cli(*words, "--yes", "--config", str(tmp_path / "nowhere.toml"), cwd=tmp_path)
    assert wrong.code == 2 and "nowhere.toml" in wrong.err and "nowhere" not in file.read_text("utf-8")
