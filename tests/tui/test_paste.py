"""What people paste to add a server, and servers given on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.cli.targets import from_command, from_url
from mcp_studio.config.importers import suggest_name
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError, UsageError
from mcp_studio.tui.screens.server_entry import pasted_servers


def one(text: str) -> ServerConfig:
    (server,) = pasted_servers(text)
    return server


def test_a_command_line() -> None:
    server = one("$ TOKEN=${T} A='b c' npx -y \\\n  @modelcontextprotocol/server-everything 'two words'\n")
    assert (server.name, server.command) == ("everything", "npx")
    assert server.args == ("-y", "@modelcontextprotocol/server-everything", "two words")
    assert server.env == {"TOKEN": "${T}", "A": "b c"}


def test_a_url() -> None:
    server = one("  https://mcp.example.com/v1/mcp?x=1 ")
    assert (server.name, server.url, server.kind) == ("example", "https://mcp.example.com/v1/mcp?x=1", "http")


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}',
        '{"servers": {"git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"]}}}',
        '"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"],}},',
        '"git": {"command": "uvx", "args": ["mcp-server-git"]}',
        '{"git": {"command": "uvx", "args": ["mcp-server-git"]}} // add this',
        '{"command": "uvx", "args": ["mcp-server-git"]}',
        '[servers.git]\ncommand = "uvx"\nargs = ["mcp-server-git"]',
        '# for codex\n[mcp_servers.git]\ncommand = "uvx"\nargs = ["mcp-server-git"]',
        "uvx mcp-server-git",
    ],
)
def test_every_shape_gives_the_same_server(text: str) -> None:
    server = one(text)
    assert (server.name, server.command, server.args) == ("git", "uvx", ("mcp-server-git",))


def test_several_servers_at_once() -> None:
    text = '{"mcpServers": {"a": {"command": "x"}, "bad": {}, "b": {"url": "http://h"}}}'
    assert [server.name for server in pasted_servers(text)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Nothing was pasted"),
        ("{", "not valid JSON"),
        ('{"mcpServers": {}}', "no server"),
        ('{"a": 1}', "neither a command nor a url"),
        ("[servers.x]\ncommand = ", "not valid TOML"),
        ("[other]\na = 1", "other is not a known key"),
        ("echo 'open", "no closing quotation"),
        ("A=b", "no command"),
        ("''", "no command"),
        ("' ' x", "no command"),
        ("one\ntwo", "one line"),
    ],
)
def test_what_cannot_be_understood_is_said(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        pasted_servers(text)


@given(st.text(alphabet="{}[]\"':,=$\\/ \nabc1.") | st.text())
def test_any_paste_gives_servers_or_a_sentence(text: str) -> None:
    try:
        assert all(server.name and (server.command or server.url) for server in pasted_servers(text))
    except ConfigError as problem:
        assert problem.message


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-filesystem@1.2.3", "/tmp"], "filesystem"),
        (["uvx", "--from", "git+https://h/x", "mcp-server-time"], "time"),
        (["uvx", "weather-mcp==1"], "weather-mcp-1"),
        (["python3", "-m", "mcp_server_fetch"], "fetch"),
        (["python", "/srv/my_server.py"], "my"),
        (["/usr/bin/python3.12", "/srv/my_server.py"], "my"),
        (["docker", "run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/github/github-mcp-server:1"], "github"),
        (["/usr/local/bin/mcp-thing", "stdio"], "thing"),
        (["node", "build/index.js"], "index"),
        (["npx"], "npx"),
        (["server"], "server"),
    ],
)
def test_names_come_from_what_is_run(argv: list[str], name: str) -> None:
    assert suggest_name(from_command(argv)) == name


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://localhost:3000/mcp", "localhost"),
        ("http://127.0.0.1:1", "127-0-0-1"),
        ("https://api.github.com/x", "github"),
        ("https://user:pw@mcp.linear.app/sse", "linear"),
        ("wss://mcp.linear.app/ws", "linear"),
    ],
)
def test_names_come_from_the_host(url: str, name: str) -> None:
    assert suggest_name(ServerConfig("", url=url)) == name


def test_targets_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_T", "secret-1")
    server = from_url("https://h/${x}?token=secret-2", [("Authorization", "Bearer ${MY_T}")])
    assert server.name == "target" and server.url == "https://h/${x}?token=secret-2"
    assert server.headers == {"Authorization": "Bearer secret-1"}
    assert set(server.secrets) >= {"secret-1", "secret-2"}
    command = from_command(["x", "$HOME", "${HOME}", "--token", "secret-3"])
    assert command.args[:2] == ("$HOME", "${HOME}") and command.secrets == ("secret-3",)


@pytest.mark.parametrize("url", ["ws://h/x", "wss://h"])
def test_a_websocket_is_pasted_and_given_by_its_url(url: str) -> None:
    (pasted,) = pasted_servers(url)
    assert (pasted.url, pasted.kind) == (url, "websocket")
    assert from_url(url).kind == from_url(url, transport="websocket").kind == "websocket"


def test_the_transport_of_a_url_can_be_given() -> None:
    assert [from_url("http://h", transport=kind).kind for kind in ("", "http", "sse")] == ["http", "http", "sse"]
    for url, kind in (("http://h", "websocket"), ("ws://h", "sse")):
        with pytest.raises(UsageError, match=kind):
            from_url(url, transport=kind)


@pytest.mark.parametrize("url", ["h", "ftp://h", "http://", "http:///x", "ws:///x"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="no URL"):
        from_url(url)
    with pytest.raises(UsageError):
        from_command([])
