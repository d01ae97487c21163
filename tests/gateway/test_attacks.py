"""What must not work on the gateway over HTTP."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.cli.kit import cli
from tests.gateway.kit import Served, configured, on_http, raw, text, to_http

TWO = """
hosts = ["tools.example.com"]
[gateway.clients.ann]
token = "ann-has-this-one"
register = true
[gateway.clients.bob]
token = "bob-has-that-one"
register = true
"""
TOKEN = {"MCP_STUDIO_GATEWAY_TOKEN": "the-plain-token"}
DISCOVER = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
post, get, delete = (partial(method, timeout=60) for method in (httpx2.post, httpx2.get, httpx2.delete))
"""A list may wait for servers that start, which takes long on a busy machine."""
USUAL = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MODERN = {**USUAL, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("gateway")
    file = configured(TWO, home=home, raw=raw("raw_lists"), poison=raw("raw_poison"))
    with on_http(file, MCP_STUDIO_HOME=str(home), **TOKEN) as served:
        yield served


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "tools.example.com"}, 200),
        ({"Authorization": "Bearer ann-has-this-one"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic the-plain-token"}, 401),
        ({"Authorization": "Bearer the-plain-toke"}, 401),
    ],
)
def test_who_is_served(served: Served, headers: dict[str, str], status: int) -> None:
    answer = post(served.url, json=DISCOVER, headers={**MODERN, **served.headers, **headers})
    assert answer.status_code == status, answer.text


def test_health_needs_no_token_and_figures_do(served: Served) -> None:
    assert get(f"{served.origin}/health").json()["ok"] is True
    assert get(f"{served.origin}/health", headers={"Host": "evil.example"}).status_code == 421
    assert get(f"{served.origin}/metrics").status_code == 401
    figures = get(f"{served.origin}/metrics", headers=served.headers).text
    assert 'mcp_studio_gateway_requests_total{client="ann"}' in figures


def test_a_session_is_of_no_use_to_another_client(served: Served) -> None:
    ann = {**USUAL, "Authorization": "Bearer ann-has-this-one"}
    bob = {**USUAL, "Authorization": "Bearer bob-has-that-one"}
    begun = post(served.url, json=INITIALIZE, headers=ann)
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert post(served.url, json=ready, headers=ann | session).status_code == 202
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert post(served.url, json=listing, headers=bob | session).status_code == 404
    assert delete(served.url, headers=bob | session).status_code == 404
    assert post(served.url, json=listing, headers=ann | session).status_code == 200
    assert delete(served.url, headers=ann | session).status_code == 200
    assert post(served.url, json=listing, headers=ann | session).status_code == 404


def test_a_task_is_of_no_use_to_another_client(served: Served) -> None:
    def begun(token: str) -> dict[str, str]:
        headers = {**USUAL, "Authorization": f"Bearer {token}"}
        answer = post(served.url, json=INITIALIZE, headers=headers)
        headers |= {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        post(served.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        return headers

    def asked(headers: dict[str, str], method: str, **params: object) -> str:
        message = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
        return post(served.url, json=message, headers=headers).text

    ann, bob = begun("ann-has-this-one"), begun("bob-has-that-one")
    wanted = {"tool_name": "raw.full", "arguments": {"region": "north"}}
    made = asked(ann, "tools/call", name="call_tool", arguments=wanted, task={})
    task = re.search('"taskId":"([0-9a-f]+)"', made)
    assert task is not None, made
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert "Task not found" in asked(bob, method, taskId=task[1])
    assert task[1] not in asked(bob, "tasks/list")
    assert task[1] in asked(ann, "tasks/get", taskId=task[1])


CHUNK = b"100000\r\n" + b" " * 0x100000 + b"\r\n"


def _spoken(served: Served, *parts: bytes) -> bytes:
    """Send parts of a request by hand; all that comes back until the connection is closed."""
    port = int(served.origin.rsplit(":", 1)[1])
    got = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            while more := connection.recv(65536):
                got += more
        except (ConnectionResetError, BrokenPipeError):
            pass
    return got


def _head(served: Served, *lines: str) -> bytes:
    host = served.origin.removeprefix("http://")
    usual = ("POST /mcp HTTP/1.1", f"Host: {host}", "Authorization: Bearer the-plain-token")
    return "\r\n".join((*usual, "Content-Type: application/json", *lines, "", "")).encode()


@pytest.mark.parametrize(
    ("attack", "expected"),
    [
        (lambda served: [_head(served, "Content-Length: 5000000")], b"413"),
        (lambda served: [_head(served, "Transfer-Encoding: chunked"), *[CHUNK] * 5], b"413"),
        (lambda served: [_head(served, f"X-Long: {'x' * 60_000}")], b"431"),
        (lambda served: [_head(served)[:-20], *[b"X: y\r\n"] * 5], b""),
    ],
    ids=["a body that is too large", "an endless body", "a head that is too large", "a head that never ends"],
)
def test_what_has_no_end_is_cut(served: Served, attack: Callable[[Served], list[bytes]], expected: bytes) -> None:
    answer = _spoken(served, *attack(served))
    assert answer.split(b"\r\n")[0].split(b" ")[1:2] == ([expected] if expected else [])
    assert get(f"{served.origin}/health").status_code == 200


def test_a_body_that_breaks_off_is_not_carried_out(served: Served) -> None:
    call = {"name": "register_tool", "arguments": {"name": "half_sent", "description": "Was never sent to its end."}}
    body = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}).encode()
    begun = post(served.url, json=INITIALIZE, headers={**USUAL, "Authorization": "Bearer ann-has-this-one"})
    session = f"Mcp-Session-Id: {begun.headers['mcp-session-id']}"
    usual = ("Accept: application/json, text/event-stream", f"Content-Length: {len(body) + 1}")
    head = _head(served, session, *usual).replace(b"the-plain-token", b"ann-has-this-one")
    with socket.create_connection(("127.0.0.1", int(served.origin.rsplit(":", 1)[1])), timeout=60) as connection:
        connection.sendall(head + body)
    asked = {"name": "get_tool_definition", "arguments": {"tool_name": "half_sent"}}
    headers = {**USUAL, "Authorization": "Bearer ann-has-this-one", **dict([session.split(": ")])}
    found = post(served.url, json={"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": asked}, headers=headers)
    assert "There is no tool" in found.text


@pytest.mark.parametrize(
    "name",
    [
        "search_tools",
        "Search_Tools",
        "mcp__raw__full",
        "raw.full",
        "mcp__other__thing",
        "a b",
        "a\u200bb",
        "../a",
        "",
        "x" * 65,
    ],
)
async def test_no_registered_tool_takes_the_place_of_another(served: Served, name: str) -> None:
    async with to_http(served, token="ann-has-this-one") as client:
        answer = await client.call_tool("register_tool", {"name": name, "description": "Mine."})
        assert answer.is_error


async def test_a_client_changes_its_own_registered_tool_and_no_other(served: Served) -> None:
    async with to_http(served, token="ann-has-this-one") as client:
        for description in ("Boils soup.", "Boils stew."):
            await client.call_tool("register_tool", {"name": "boil", "description": description})
        assert "stew" in text(await client.call_tool("get_tool_definition", {"tool_name": "boil"}))
    async with to_http(served, token="bob-has-that-one") as client:
        refused = await client.call_tool("register_tool", {"name": "boil", "description": "Boils Ann's things."})
        assert refused.is_error and "cannot be registered as 'boil'" in text(refused)
    async with to_http(served, token="ann-has-this-one") as client:
        assert "stew" in text(await client.call_tool("get_tool_definition", {"tool_name": "boil"}))


async def test_what_a_client_registers_is_its_own(served: Served) -> None:
    async with to_http(served, token="ann-has-this-one") as client:
        await client.call_tool("register_tool", {"name": "anns_secret_recipe", "description": "Recipes of Ann."})
        assert "anns_secret_recipe" in text(await client.call_tool("search_tools", {"query": "recipes of ann"}))
    async with to_http(served, token="bob-has-that-one") as client:
        for tool, arguments in (
            ("search_tools", {"query": "recipes of ann", "limit": 100}),
            ("get_tool_definition", {"tool_name": "anns_secret_recipe"}),
            ("list_tools_by_category", {"category": "own"}),
            ("call_tool", {"tool_name": "anns_secret_recipe"}),
        ):
            assert "Recipes" not in text(await client.call_tool(tool, arguments))
    async with to_http(served) as client:
        refused = await client.call_tool("register_tool", {"name": "mine", "description": "Mine."})
        assert refused.is_error and "may not register" in text(refused)


@pytest.mark.parametrize("era", [USUAL, MODERN], ids=["legacy", "modern"])
@pytest.mark.parametrize(
    "body",
    ["[]", "[{}]", "5", "null", "{}", "{", "", '{"jsonrpc":"1.0","id":1,"method":"ping"}',
     '{"jsonrpc":"2.0","id":1,"method":5}', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'],
)  # fmt: skip
def test_what_is_no_message_is_refused_in_a_sentence(served: Served, era: dict[str, str], body: str) -> None:
    answer = post(served.url, content=body.encode(), headers={**era, **served.headers})
    error = answer.json()["error"]
    assert answer.status_code == 400 and error["code"] in (-32600, -32700)
    assert len(error["message"]) < 100 and "\n" not in error["message"]


def test_a_slow_body_is_cut(tmp_path: Path) -> None:
    with on_http(configured(more="[limits]\nbody = 0.3", home=tmp_path, raw=raw("raw_server")), **TOKEN) as served:
        answer = _spoken(served, _head(served, "Content-Length: 100"), b'{"jsonrpc":')
        assert answer.startswith(b"HTTP/1.1 408") and b"took too long" in answer


async def test_nothing_that_servers_say_of_tools_acts_or_hides(tmp_path: Path) -> None:
    with on_http(configured('mode = "all"', poison=raw("raw_poison"))) as served:
        async with to_http(served) as client:
            listed = json.dumps([tool.model_dump() for tool in (await client.list_tools()).tools])
    assert "mcp__poison__" in listed
    for sign in ("\\u001b", "\\u200b", "\\u202e", "\\u0007", "\\udb40"):
        assert sign not in listed


def test_a_mistake_in_the_settings_hides_everything_and_is_told() -> None:
    done = cli("serve", "--config", str(configured('hiden = ["*.delete_*"]')))
    assert "gateway.hiden: is not a known key" in done.err and "clients see nothing" in done.err
