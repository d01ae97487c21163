"""Servers written into the files of other clients say there what they say here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_studio.config.clients import ForeignClient, client_named, clients
from mcp_studio.config.exporters import entry_for, merged
from mcp_studio.config.load import written
from mcp_studio.config.model import Auth, Root, ServerConfig, Source
from mcp_studio.config.table import loads_lenient
from mcp_studio.errors import ConfigError, UsageError
from mcp_studio.paths import Paths

OURS = Source("user", "/home/ada/.config/mcp-studio/config.toml")
LOCAL = ServerConfig("local", "npx", ("-y", "x"), {"TOKEN": "${TOKEN}", "B": "1"}, ("Q",), group="g", source=OURS)
HTTP = ServerConfig("far", url="https://h/mcp", headers={"Authorization": "Bearer ${T}", "X": "1"}, source=OURS)
SSE = ServerConfig("old", url="https://h/sse", transport="sse", source=OURS)
PLAIN = ServerConfig("plain", "run", ("a b",), {"A": "1"}, source=OURS)
REPLACING = [client for client in clients() if client.reference or client.variables]


def file_of(client: ForeignClient, folder: Path) -> Path:
    return folder / next(place for place in client.places if "*" not in place)[2:]


def through(client: ForeignClient, folder: Path, *servers: ServerConfig) -> dict[str, ServerConfig]:
    """Write servers into a file of a client, and read that file."""
    file = file_of(client, folder)
    _, text = merged(client, file, {server.name: entry_for(client, server)[0] for server in servers})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    config = written(Paths.default(), folder, files=[file])
    assert config.problems == ()
    return dict(config.servers)


@pytest.mark.parametrize("client", clients(), ids=lambda client: client.name)
def test_what_is_written_is_read_back(tmp_path: Path, client: ForeignClient) -> None:
    sse = [SSE] if len(client.types) > 2 else []
    found = through(client, tmp_path, PLAIN, *sse)
    assert (found["plain"].command, found["plain"].args, found["plain"].env) == ("run", ("a b",), {"A": "1"})
    assert not sse or found["old"].url == "https://h/sse"
    assert through(client, tmp_path, PLAIN, *sse) == found


@pytest.mark.parametrize("client", REPLACING, ids=lambda client: client.name)
def test_references_stay_references_in_the_words_of_the_client(tmp_path: Path, client: ForeignClient) -> None:
    found = through(client, tmp_path, LOCAL)["local"]
    inherited = {name: f"${{{name}}}" for name in found.inherit_env}
    assert {**inherited, **found.env} == {"TOKEN": "${TOKEN}", "Q": "${Q}", "B": "1"}
    if client.name != "Goose":
        far = through(client, tmp_path, HTTP)["far"]
        assert far.headers == HTTP.headers and far.kind == "http"


@pytest.mark.parametrize(
    ("client", "server", "says"),
    [
        ("claude desktop", HTTP, "is of the kind http, which Claude Desktop does not know"),
        ("codex", SSE, "is of the kind sse"),
        ("vscode", ServerConfig("s", url="ws://h"), "is of the kind websocket"),
        ("zed", LOCAL, r"refers to \$\{Q\}, which Zed does not replace"),
        ("goose", HTTP, r"refers to \$\{T\}"),
        ("cursor", ServerConfig("s", "x", env={"A": "${keyring:k}"}), "refers to the stored secret `k`"),
        ("cursor", ServerConfig("s", "x", env={"A": "${input:k}"}), "only its own client can give"),
    ],
)
def test_what_a_client_cannot_have_is_said(client: str, server: ServerConfig, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        entry_for(client_named(client), server)


def test_what_has_no_place_there_is_named() -> None:
    odd = ServerConfig("s", url="https://h/${P:-x}", auth=Auth(client_id="x"), roots=(Root("/w"),), trust=True)
    entry, left = entry_for(client_named("Cursor"), odd)
    assert entry == {"url": "https://h/${env:P}"} and left == ["roots", "auth", "the default of P"]
    folder = ServerConfig("s", "~/run", cwd="sub", source=OURS)
    assert entry_for(client_named("VS-Code"), folder)[0]["cwd"] == "/home/ada/.config/mcp-studio/sub"
    assert entry_for(client_named("kiro"), folder)[1] == ["cwd"]
    with pytest.raises(UsageError, match="No client is known as `curser`") as raised:
        client_named("curser")
    assert "cursor" in raised.value.hint
    with pytest.raises(UsageError, match="No client is known as `x`") as raised:
        client_named("x")
    assert raised.value.hint


def test_a_table_of_servers_inside_another_is_written_where_it_is(tmp_path: Path) -> None:
    file, opencode = tmp_path / "opencode.json", client_named("opencode")
    file.write_text('{"mcp": {"servers": {"old": {"type": "local", "command": ["x"]}}, "timeout": {"catalog": 5}}}')
    _, text = merged(opencode, file, {"s": {"type": "local", "command": ["y"]}})
    file.write_text(text)
    inside = loads_lenient(text)["mcp"]
    assert inside["servers"].keys() == {"s", "old"} and inside.keys() == {"servers", "timeout"}
    assert "enabled" not in inside["servers"]["s"]
    assert set(written(Paths.default(), tmp_path, files=[file]).servers) == {"s", "old"}


MINE = """// mine
{
\t"projects": {"/x": {"mcpServers": {}}}, /* not this */
\t"mcpServers": {
\t\t"theirs": {"command": "x"}, // kept
\t},
}
"""


@pytest.mark.parametrize(
    ("client", "before", "after"),
    [
        ("claude code", MINE, MINE.replace('\t"mcpServers": {', '\t"mcpServers": {NEW,')),
        ("claude code", '{\n  "a": 1.50\n}\n', '{\n  "mcpServers": {NEW\n  },\n  "a": 1.50\n}\n'),
        ("claude code", '{"mcpServers": {}}', '{"mcpServers": {NEW\n  }}'),
        ("codex", "# mine\nmodel = 'm'  # why\n[mcp_servers.theirs]\ncommand = 'x'\n", None),
        ("goose", "GOOSE_MODEL: m\nextensions:\n  theirs: {type: stdio, cmd: x, enabled: true}\n", None),
        ("continue", "name: n\nmcpServers:\n- {name: theirs, command: x}\n", None),
    ],
)
def test_everything_else_in_the_file_stays(tmp_path: Path, client: str, before: str, after: str | None) -> None:
    whose = client_named(client)
    file = file_of(whose, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before)
    old, text = merged(whose, file, {"s": {"command": "y"}})
    assert old == before
    if after is not None:
        added = '\n    "s": {\n      "command": "y"\n    }'
        assert text == after.replace("NEW", added)
    file.write_text(text)
    names = {"s", "theirs"} if "theirs" in before else {"s"}
    assert set(written(Paths.default(), tmp_path, files=[file]).servers) == names
    assert "# mine" not in before or ("# mine" in text and "# why" in text)


def test_what_a_person_allowed_stays_in_the_entry(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"s": {"url": "https://old", "autoApprove": ["a"], "disabled": true}}, "x": [1]}')
    _, text = merged(client_named("kiro"), file, {"s": {"command": "y"}})
    file.write_text(text)
    assert '"autoApprove"' in text and "https://old" not in text and '"x"' in text


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("mcp.json", '{"mcpServers": {"s": {"command": "x"}}} // mine', "has comments, which would be lost"),
        ("config.yaml", "# mine\nextensions: {}\n", "has comments"),
        ("mcp.json", "{", "not valid JSON"),
    ],
)
def test_a_file_that_would_lose_something_is_refused(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    entry: dict[str, Any] = {"s": {"command": "y"}}
    with pytest.raises(ConfigError, match=says):
        merged(client_named("goose" if "yaml" in name else "cursor"), tmp_path / name, entry)
