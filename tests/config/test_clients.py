"""Every client is found at its places, and a file as people have it is read whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.config.clients import clients, foreign_files
from mcp_studio.config.load import load, written
from mcp_studio.paths import Paths

LINUX, MAC, WINDOWS = ".config", "Library/Application Support", "AppData/Roaming"
CLINE = "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
DESKTOP = "claude_desktop_config.json"
STORE = "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming"
EVERYWHERE = ("linux", "darwin", "win32")
PLACES = [
    ("Claude Code", "", EVERYWHERE, ["project/.mcp.json", "home/.claude.json"]),
    ("Claude Desktop", LINUX, ("linux",), [f"home/{LINUX}/Claude/{DESKTOP}"]),
    ("Claude Desktop", MAC, ("darwin",), [f"home/{MAC}/Claude/{DESKTOP}"]),
    ("Claude Desktop", WINDOWS, ("win32",), [f"home/{WINDOWS}/Claude/{DESKTOP}", f"home/{STORE}/Claude/{DESKTOP}"]),
    ("Cursor", "", EVERYWHERE, ["project/.cursor/mcp.json", "home/.cursor/mcp.json"]),
    ("VS Code", LINUX, ("linux",), ["project/.vscode/mcp.json", f"home/{LINUX}/Code/User/mcp.json"]),
    ("VS Code", MAC, ("darwin",), [f"home/{MAC}/Code/User/mcp.json"]),
    ("VS Code", WINDOWS, ("win32",), [f"home/{WINDOWS}/Code/User/mcp.json"]),
    ("Windsurf", "", EVERYWHERE, ["home/.codeium/windsurf/mcp_config.json", "home/.codeium/mcp_config.json"]),
    ("Cline", LINUX, ("linux",), [f"home/{LINUX}/{CLINE}", "home/.cline/data/settings/cline_mcp_settings.json"]),
    ("Cline", MAC, ("darwin",), [f"home/{MAC}/{CLINE}"]),
    ("Cline", WINDOWS, ("win32",), [f"home/{WINDOWS}/{CLINE}"]),
    ("Gemini CLI", "", EVERYWHERE, ["project/.gemini/settings.json", "home/.gemini/settings.json"]),
    ("Zed", "", ("linux", "darwin"), ["project/.zed/settings.json", "home/.config/zed/settings.json"]),
    ("Zed", WINDOWS, ("win32",), [f"home/{WINDOWS}/Zed/settings.json"]),
    ("Codex", "", EVERYWHERE, ["project/.codex/config.toml", "home/.codex/config.toml"]),
    ("Goose", "", ("linux", "darwin"), ["home/.config/goose/config.yaml"]),
    ("Goose", WINDOWS, ("win32",), [f"home/{WINDOWS}/Block/goose/config/config.yaml"]),
    ("Continue", "", EVERYWHERE, ["project/.continue/mcpServers/one.yaml", "home/.continue/config.yaml"]),
    ("LM Studio", "", EVERYWHERE, ["home/.lmstudio/mcp.json"]),
    ("opencode", "", EVERYWHERE, ["project/opencode.json", "project/.opencode/opencode.jsonc",
                                  "home/.config/opencode/opencode.json"]),
    ("Crush", "", ("linux", "darwin"), ["project/.crush.json", "project/crush.json", "home/.config/crush/crush.json"]),
    ("Crush", WINDOWS, ("win32",), ["home/AppData/Local/crush/crush.json"]),
    ("Copilot CLI", "", EVERYWHERE, ["project/.github/mcp.json", "home/.copilot/mcp-config.json"]),
    ("Kiro", "", EVERYWHERE, ["project/.kiro/settings/mcp.json", "home/.kiro/settings/mcp.json"]),
    ("MCP Inspector", "", EVERYWHERE, ["project/mcp.json", "home/.mcp-inspector/mcp.json"]),
]  # fmt: skip


@pytest.mark.parametrize(("client", "folder", "platforms", "files"), PLACES)
def test_every_client_is_found(
    tmp_path: Path, client: str, folder: str, platforms: tuple[str, ...], files: list[str]
) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("{}")
    if folder.startswith("AppData"):
        (tmp_path / "home" / folder).mkdir(parents=True, exist_ok=True)
    for platform in platforms:
        found = foreign_files(tmp_path / "project", {"HOME": str(tmp_path / "home")}, platform)
        assert [(one.client, str(one.file), one.project) for one in found] == [
            (client, str(tmp_path / file), file.startswith("project")) for file in files
        ]


@pytest.mark.parametrize(
    ("variable", "file", "client"),
    [
        ("CODEX_HOME", "config.toml", "Codex"),
        ("CLAUDE_CONFIG_DIR", ".claude.json", "Claude Code"),
        ("COPILOT_HOME", "mcp-config.json", "Copilot CLI"),
    ],
)
def test_a_client_is_found_where_the_environment_puts_it(tmp_path: Path, variable: str, file: str, client: str) -> None:
    (tmp_path / file).write_text("{}")
    found = foreign_files(tmp_path / "project", {"HOME": str(tmp_path / "home"), variable: str(tmp_path)})
    assert found == [(client, tmp_path / file, False)]


def test_no_client_is_forgotten() -> None:
    assert {client.name for client in clients()} == {client for client, *_ in PLACES}


FILES = {
    ".mcp.json": '{"mcpServers": {"github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", '
    '"headers": {"Authorization": "Bearer ${GITHUB_TOKEN:-none}"}}, "db": {"command": "./db", "args": ["--ro"]}}}',
    ".claude.json": '{"numStartups": 7, "mcpServers": {"time": {"type": "stdio", "command": "uvx", "args": '
    '["mcp-server-time"], "env": {}}}, "projects": {"/srv/app": {"allowedTools": [], "mcpServers": {"app": {"command": '
    '"node", "args": ["x.js"], "cwd": "tools"}, "time": {"command": "other"}}}, "/srv/none": {"mcpServers": {}}}}',
    f"Claude/{DESKTOP}": '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-filesystem", "/tmp"]}}, '
    '"preferences": {"x": 1}}',
    ".cursor/mcp.json": '{"mcpServers": {"linear": {"url": "https://mcp.linear.app/sse", "auth": {"CLIENT_ID": "x"}}, '
    '"key": {"command": "npx", "args": ["s"], "env": {"K": "${env:UNSET_KEY}"}, '
    '"envFile": "${workspaceFolder}/.env"}}}',
    ".vscode/mcp.json": '{\n  // asked once\n  "inputs": [{"type": "promptString", "id": "k", "password": true}],\n'
    '  "servers": {"p": {"type": "stdio", "command": "npx", "cwd": "${workspaceFolder}/sub", "envFile": "none.env", '
    '"env": {"K": "${input:k}"}}, "h": {"type": "http", "url": "https://h/mcp"},},\n}',
    ".codeium/windsurf/mcp_config.json": '{"mcpServers": {"s": {"serverUrl": "https://s/mcp", "headers": {"K": '
    '"${env:K}"}}, "off": {"command": "x", "disabled": true, "disabledTools": ["a"]}}}',
    CLINE: '{"mcpServers": {"s": {"type": "streamableHttp", "url": "https://s", "autoApprove": ["a"], "timeout": 60}}}',
    ".gemini/settings.json": '{"theme": "Dark", "mcpServers": {"sse": {"url": "https://a/sse"}, "http": {"httpUrl": '
    '"https://a/mcp", "headers": {"K": "$KEY"}, "trust": true}, "p": {"command": "py", "cwd": "./srv"}}}',
    ".config/zed/settings.json": '// Zed\n{"context_servers": {"s": {"source": "custom", "command": "x", "args": []}, '
    '"ext": {"settings": {"key": "v"}}}, "vim_mode": true,}',
    ".codex/config.toml": 'model = "m"\n[mcp_servers.s]\ncommand = "npx"\nenv_vars = ["TOKEN"]\ntimeout = 20\n'
    '[mcp_servers.h]\nurl = "https://h/mcp"\nbearer_token_env_var = "TOKEN"\n',
    "goose/config.yaml": "GOOSE_MODEL: m\nextensions:\n  developer: {type: builtin, name: developer, enabled: true}\n"
    "  s:\n    type: stdio\n    cmd: npx\n    args: [-y, s]\n    env_keys: [TOKEN]\n    enabled: true\n",
    ".continue/mcpServers/one.yaml": "name: One\nversion: 0.0.1\nschema: v1\nmcpServers:\n"
    "  - {name: s, type: streamable-http, url: https://s}\n  - {name: p, command: npx, env: {K: '${{secrets.K}}'}}\n",
    ".lmstudio/mcp.json": '{"mcpServers": {"hf": {"url": "https://hf.co/mcp", "headers": {"A": "Bearer x"}}}}',
    "opencode/opencode.jsonc": '{"$schema": "x", "mcp": {"p": {"type": "local", "command": ["bun", "x"], "environment":'
    ' {"A": "{env:B}"}}, "h": {"type": "remote", "url": "https://h", "oauth": false}}}',
    "crush.json": '{"lsp": {}, "mcp": {"p": {"type": "stdio", "command": "x"}, "h": {"type": "http", "url": "https://h",'
    ' "headers": {"K": "$KEY"}}}}',
    ".copilot/mcp-config.json": '{"mcpServers": {"p": {"type": "local", "command": "npx", "tools": ["*"]}}}',
    ".kiro/settings/mcp.json": '{"mcpServers": {"p": {"command": "uvx", "args": ["s"], "disabled": false}}}',
    "mcp.json": '{"mcpServers": {"default-server": {"type": "streamable-http", "url": "http://localhost:3000/mcp"}}}',
}
READ = {
    ".mcp.json": ["github http Authorization=Bearer ${GITHUB_TOKEN:-none}", "db HERE/db --ro"],
    ".claude.json": ["time uvx mcp-server-time", "app node x.js in /srv/app/tools",
                     "! projects./srv/app.time has the name of another server in this file."],
    f"Claude/{DESKTOP}": ["files npx -y server-filesystem /tmp"],
    ".cursor/mcp.json": ["linear http", "key npx s K=${UNSET_KEY} A=1"],
    ".vscode/mcp.json": ["p npx K=${input:k} in HERE/sub", "h http",
                         "! servers.p.envFile `none.env` cannot be read: No such file or directory."],
    ".codeium/windsurf/mcp_config.json": ["s http K=${K}", "off x"],
    CLINE: ["s http"],
    ".gemini/settings.json": ["sse sse", "http http K=${KEY}", "p py in HERE/srv"],
    ".config/zed/settings.json": ["s x", "! context_servers.ext has neither a command nor a url."],
    ".codex/config.toml": ["s npx TOKEN", "h http Authorization=Bearer ${TOKEN}"],
    "goose/config.yaml": ["s npx -y s TOKEN", "! extensions.developer.type must be one of"],
    ".continue/mcpServers/one.yaml": ["s http", "p npx K=${K}"],
    ".lmstudio/mcp.json": ["hf http A=Bearer x"],
    "opencode/opencode.jsonc": ["p bun x A=${B}", "h http"],
    "crush.json": ["p x", "h http K=${KEY}"],
    ".copilot/mcp-config.json": ["p npx"],
    ".kiro/settings/mcp.json": ["p uvx s"],
    "mcp.json": ["default-server http"],
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_as_people_have_it_is_read_whole(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(FILES[name], "utf-8")
    (tmp_path / ".env").write_text("A=1\n")
    config = written(Paths.default(), tmp_path, files=[file])
    lines: list[str] = []
    for server in config.servers.values():
        pairs = [f"{key}={text}" for key, text in {**server.env, **server.headers}.items()]
        words = [server.kind if server.url else server.command, *server.args, *sorted(pairs, reverse=True)]
        folder = ["in", server.cwd] if server.cwd else []
        lines.append(" ".join((server.name, *words, *server.inherit_env, *folder)).replace(str(tmp_path), "HERE"))
    lines += [f"! {problem.key} {problem.message}"[: len(READ[name][-1])] for problem in config.problems]
    assert lines == READ[name]


def test_a_reference_that_stands_for_nothing_is_a_problem_of_its_server(tmp_path: Path) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(FILES[".cursor/mcp.json"])
    config = load(Paths.default(), tmp_path, files=[file], environ={})
    assert list(config.servers) == ["linear"]
    problem = config.problem_of("key")
    assert problem is not None and "UNSET_KEY is not set" in str([str(one) for one in config.problems])
