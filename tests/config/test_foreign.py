"""Files of other clients, as they are found in the wild."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_studio.config.importers import read_document
from mcp_studio.config.load import written
from mcp_studio.config.model import Auth, Problem, Source
from mcp_studio.config.table import loads_lenient
from mcp_studio.jsontext import Json, JsonProblem
from mcp_studio.paths import Paths
from tests.config.helpers import load_file, load_user

CLAUDE = """{
  "globalShortcut": "",
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "x", "/tmp"], "env": {"A": "${A:-b}", "N": 1}, "autoApprove": []},
    "remote": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}},
    "old": {"type": "sse", "url": "https://h/sse"},
    "off": {"command": "y", "disabled": true, "alwaysAllow": ["*"], "timeout": 60}
  }
}"""
VSCODE = """{
  // the servers of this workspace
  "inputs": [{"type": "promptString", "id": "key", "description": "Key", "password": true}],
  "servers": {
    "tool": {"type": "stdio", "command": "${workspaceFolder}/run", "args": ["--x", "//not a comment"],
             "envFile": ".env", "dev": {"watch": "**"}},
    /* remote */
    "web": {"type": "http", "url": "http://localhost:1/mcp",},
    "asks": {"type": "http", "url": "http://h", "headers": {"K": "${input:key}"}},
  },
}"""


def test_the_claude_shape(tmp_path: Path) -> None:
    config = load_file(tmp_path / "mcp.json", CLAUDE, {"T": "secret-token"})
    assert config.problems == ()
    servers = config.servers
    assert servers["files"].args == ("-y", "x", "/tmp") and servers["files"].env == {"A": "b", "N": "1"}
    assert servers["remote"].headers == {"Authorization": "Bearer secret-token"}
    assert (servers["old"].kind, servers["remote"].kind) == ("sse", "http") and not servers["off"].enabled
    assert {server.source.origin for server in servers.values()} == {"file"}


@pytest.mark.parametrize(
    ("entry", "kind", "url"),
    [
        ('{"type": "sse", "url": "https://h/sse"}', "sse", "https://h/sse"),
        ('{"transport": "sse", "url": "https://h/sse"}', "sse", "https://h/sse"),
        ('{"type": "streamable-http", "url": "https://h/mcp"}', "http", "https://h/mcp"),
        ('{"type": "ws", "url": "wss://h/mcp"}', "websocket", "wss://h/mcp"),
        ('{"type": "websocket", "url": "http://h/mcp"}', "websocket", "ws://h/mcp"),
        ('{"url": "ws://h/mcp"}', "websocket", "ws://h/mcp"),
        ('{"type": "stdio", "command": "x", "url": "ws://h"}', "stdio", ""),
    ],
)
def test_the_kind_that_is_written_decides(tmp_path: Path, entry: str, kind: str, url: str) -> None:
    config = load_file(tmp_path / "mcp.json", f'{{"mcpServers": {{"s": {entry}}}}}')
    assert config.problems == ()
    assert (config.servers["s"].kind, config.servers["s"].url) == (kind, url)


USERS = [("VS Code", "Code/User/mcp.json", "servers"), ("Cursor", ".cursor/mcp.json", "mcpServers")]


@pytest.mark.parametrize(("client", "file", "key"), USERS)
def test_a_persons_file_is_in_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str, file: str, key: str
) -> None:
    """Its own folder is none: the reference stays, and is a problem of the servers that need it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    entries = (
        '"a": {"command": "${workspaceFolder}/run", "args": ["${workspaceFolderBasename}"]}, '
        '"b": {"command": "x", "envFile": "${workspaceFolder}/.env"}, "c": {"command": "${userHome}/c"}'
    )
    config = load_file(tmp_path / file, f'{{"{key}": {{{entries}}}}}', {"HOME": "/home/ada"})
    assert list(config.servers) == ["b", "c"] and config.servers["c"].command == "/home/ada/c"
    no_file, no_folder = config.problems
    assert no_file.key == f"{key}.b.envFile" and "`${workspaceFolder}/.env` cannot be read" in no_file.message
    assert no_folder.key == "servers.a.command" and "only its own client can give" in no_folder.message
    assert "workspaceFolder" in no_folder.message and "Write the value itself" in no_folder.hint
    imported = written(Paths.default(), tmp_path, files=[tmp_path / file]).servers["a"]
    assert imported.command == "${client:workspaceFolder}/run"


@pytest.mark.parametrize(
    ("file", "value", "kept"),
    [
        ("crush.json", "Bearer $(op read 'op://dev/x:y')", "Bearer ${client:$(op read 'op://dev/x:y')}"),
        ("crush.json", "$(echo ${TOKEN} | cut -c1-9)", "${client:$(echo $TOKEN | cut -c1-9)}"),
        ("crush.json", "$TOKEN ${OTHER}", "${TOKEN} ${OTHER}"),
        ("opencode.json", "{file:~/.token}", "${client:file:~/.token}"),
        (".vscode/mcp.json", "${command:my.ext}", "${client:command:my.ext}"),
        ("windsurf/mcp_config.json", "${file:C:/t}", "${client:file:C:/t}"),
        (".continue/config.yaml", "${{ inputs.TOKEN }}", "${client:inputs.TOKEN}"),
        ("mcp.json", "$(date) {file:x}", "$(date) {file:x}"),
    ],
)
def test_what_only_its_client_can_fill_in_is_kept_and_named(tmp_path: Path, file: str, value: str, kept: str) -> None:
    path = tmp_path / (f".codeium/{file}" if "windsurf" in file else file)
    key = {"crush.json": "mcp", "opencode.json": "mcp", ".vscode/mcp.json": "servers"}.get(file, "mcpServers")
    config = load_file(path, f'{{"{key}": {{"s": {{"url": "https://h", "headers": {{"K": "{value}"}}}}}}}}', {})
    entry = written(Paths.default(), tmp_path, files=[path]).servers["s"]
    assert entry.headers == {"K": kept}
    if "client:" in kept:
        (problem,) = config.problems
        assert problem.key == "servers.s.headers.K" and "only its own client can give" in problem.message
    # Also once it stands in our own file.
    own = load_user(
        f"[servers.s]\nurl = 'https://h'\nheaders = {{ K = {json.dumps(kept)} }}", {"TOKEN": "t", "OTHER": "o"}
    )
    assert bool(own.problems) == ("client:" in kept)


def test_the_vscode_shape_with_comments_and_commas(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode" / ".env").write_text("# comment\nexport A=1\nB='two ${x}'\n\nnoise\n")
    config = load_file(tmp_path / ".vscode" / "mcp.json", VSCODE)
    tool = config.servers["tool"]
    assert tool.command == f"{tmp_path}/run" and tool.args == ("--x", "//not a comment")
    assert tool.env == {"A": "1", "B": "two ${x}"}
    assert config.servers["web"].url == "http://localhost:1/mcp"
    (problem,) = config.problems
    assert problem.key == "servers.asks.headers.K" and "${keyring:key}" in problem.hint


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('{"comand": "x"}', "Did you mean `command`?"),
        ('{"type": "stdioo", "command": "x"}', "Did you mean `stdio`?"),
        ('{"command": 3}', "must be a string"),
        ("[]", "must be a table, not a list"),
        ('{"url": "ftp://h"}', "does not begin with http"),
        ('{"url": "http://[::1"}', "is no address"),
        ('{"command": "x\\ud800"}', "bad.command: has a lone surrogate"),
        ('{"command": ["x", "\\udc80"]}', "bad.command[1]: has a lone surrogate"),
        ('{"command": "x", "args": ["a", "\\ud800"]}', "bad.args[1]: has a lone surrogate"),
        ('{"command": "x", "env": {"A": "\\udfff"}}', "bad.env.A: has a lone surrogate"),
        ('{"command": "x", "env": {"A\\ud800": "1"}}', "bad.env.A\ud800: has a lone surrogate"),
        ('{"command": "x", "cwd": "\\ud800"}', "bad.cwd: has a lone surrogate"),
        ('{"command": "x", "type": "\\ud800"}', "bad.type: has a lone surrogate"),
        ('{"url": "http://h/\\ud800"}', "bad.url: has a lone surrogate"),
        ('{"url": "http://h/", "headers": {"A": "\\ud800"}}', "bad.headers.A: has a lone surrogate"),
        ('{"url": "http://h/", "oauth": {"scopes": ["\\ud800"]}}', "bad.oauth.scopes[0]: has a lone surrogate"),
    ],
)
def test_a_wrong_entry_costs_only_itself(tmp_path: Path, entry: str, says: str) -> None:
    config = load_file(tmp_path / "mcp.json", f'{{"mcpServers": {{"good": {{"command": "x"}}, "bad": {entry}}}}}')
    assert list(config.servers) == ["good"]
    (problem,) = config.problems
    assert problem.key.startswith("mcpServers.bad") and says in str(problem)


@pytest.mark.parametrize("file", ["none.env", "\\u0000"])
def test_a_server_without_its_variables_is_kept_and_the_problem_told(tmp_path: Path, file: str) -> None:
    config = load_file(tmp_path / "mcp.json", f'{{"mcpServers": {{"s": {{"command": "x", "envFile": "{file}"}}}}}}')
    assert list(config.servers) == ["s"]
    (problem,) = config.problems
    assert problem.key == "mcpServers.s.envFile" and "cannot be read" in problem.message


def test_a_name_with_half_a_character_costs_only_its_entry(tmp_path: Path) -> None:
    text = '{"mcpServers": {"good": {"command": "x"}, "bad\\ud800": {"command": "x"}}}'
    config = load_file(tmp_path / "mcp.json", text)
    assert list(config.servers) == ["good"]
    assert [problem.key for problem in config.problems] == ["mcpServers.bad\ud800"]


@pytest.mark.parametrize(
    ("text", "command", "args"),
    [
        ('{"mcp": {"servers": {"s": {"command": "x"}}}}', "x", ()),
        ('{"context_servers": {"s": {"command": {"path": "x", "args": ["y"]}}}}', "x", ("y",)),
        ('{"mcpServers": {"s": {"command": ["x", "y"]}}}', "x", ("y",)),
        ('{"mcpServers": {"s": {"type": "stdio", "command": "x", "url": "http://h"}}}', "x", ()),
    ],
)
def test_further_shapes(tmp_path: Path, text: str, command: str, args: tuple[str, ...]) -> None:
    server = load_file(tmp_path / "x.json", text).servers["s"]
    assert (server.command, server.args, server.url) == (command, args, "")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("extensions:\n  s: {type: builtin, name: developer}", "must be one of"),
        ("a: &x b\nc: *x", "line 1 has an anchor, an alias"),
        ("a: [b", "not valid YAML"),
        ("a: " + "[" * 200 + "]" * 200, "nested deeper than 100"),
        ("a: 2020-99-99", "not valid YAML"),
        ("- a", "neither `mcpServers` nor `servers`"),
    ],
)
def test_what_is_left_out_of_a_yaml_file_is_told(tmp_path: Path, text: str, says: str) -> None:
    (problem,) = load_file(tmp_path / "config.yaml", text).problems
    assert says in str(problem)


@pytest.mark.parametrize("text", ['{"a": 1}', "[]", "3", '{"mcpServers": []}'])
def test_a_file_without_servers_says_so(tmp_path: Path, text: str) -> None:
    assert "neither `mcpServers` nor `servers`" in load_file(tmp_path / "x.json", text).problems[0].message


def test_invalid_json_says_where(tmp_path: Path) -> None:
    (problem,) = load_file(tmp_path / "x.json", '{\n // hm\n "a": ]\n}').problems
    assert "line 3" in problem.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "// x", /* , } */ "b": [1, 2, /**/ ], // end\n}', {"a": "// x", "b": [1, 2]}),
        ('"a\\"/*b*/"', 'a"/*b*/'),
        ('\ufeff[",]"]', [",]"]),
    ],
)
def test_lenient_json(text: str, value: object) -> None:
    assert loads_lenient(text) == value


@pytest.mark.parametrize("text", ["{,}x", "/* open", '"open', "[1,,2]"])
def test_lenient_json_is_still_json(text: str) -> None:
    with pytest.raises(JsonProblem):
        loads_lenient(text)


CURSOR = {"auth": {"CLIENT_ID": "me", "CLIENT_SECRET": "${env:HUSH}", "scopes": ["read", "write"]}}
CODE = {"oauth": {"clientId": "me", "callbackPort": 8080}}
BY_METADATA = {"oauth": {"authServerMetadataUrl": "https://a.example/t/.well-known/openid-configuration"}}
ONE_TEXT = {"oauth": {"client_id": "me", "client_secret": "hush-hush", "scope": "read  write read", "enabled": True}}


@pytest.mark.parametrize(
    ("entry", "auth"),
    [
        (CURSOR, Auth(client_id="me", client_secret="${env:HUSH}", scopes=("read", "write"))),
        (CODE, Auth(client_id="me", redirect_port=8080, redirect_host="localhost")),
        (BY_METADATA, Auth(issuer="https://a.example/t")),
        (ONE_TEXT, Auth(client_id="me", client_secret="hush-hush", scopes=("read", "write"))),
        ({"oauth": False}, Auth(kind="none")),
        ({"oauth": {"clientId": 7, "callbackPort": "x", "scopes": {}}}, Auth()),
        ({"auth": "oauth"}, Auth()),
        ({"oauth": {"clientSecret": "alone-it-is-nothing"}}, Auth()),
    ],
)
def test_who_other_clients_are_is_taken_over(entry: dict[str, Json], auth: Auth) -> None:
    problems: list[Problem] = []
    document: Json = {"mcpServers": {"s": {"url": "https://example.com/mcp", **entry}}}
    server = read_document(document, Source("file", "mcp.json"), problems)["s"]
    assert server.auth == auth and not problems


def test_a_program_of_another_client_is_not_signed_in() -> None:
    problems: list[Problem] = []
    document: Json = {"mcpServers": {"s": {"command": "x", **CODE}}}
    assert read_document(document, Source("file", "mcp.json"), problems)["s"].auth == Auth() and not problems
