"""Servers that fail with hostile words, and hostile files of projects and other clients: read from the raw bytes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests.harmless import live_in
from tests.support import ROOT, SERVERS, python_server
from tests.support_servers import running
from tests.test_hostile import MARK, scroll, to
from tests.walker import STUDIO, Walker, studio

sys.path.insert(0, str(SERVERS))
from raw_offer import HOSTILE

TEXT = HOSTILE.replace("${x}", "").replace("\0", "")
"""Without what a configuration would replace, and what no program can be started with."""
HOW = {"refuses": "mood", "version": "1999", "dies": "exit", "lists": "", "malformed": ""}
"""A word of why it failed: lines break anywhere else."""
PATHS = ("500", "401", "html", "redirect", "rpc")


def entries(url: str) -> dict[str, dict[str, Any]]:
    """One server for each way to fail."""
    python, script = python_server("raw_poison")
    local: dict[str, dict[str, Any]] = {
        how: {"command": python, "args": [script, "--how", how]} for how in (*HOW, "stray")
    }
    return local | {f"http-{path}": {"url": f"{url}/{path}"} for path in PATHS}


def test_however_a_server_fails_its_words_are_only_shown(home: Path) -> None:
    file = home / "mcp.json"
    with running(python_server("http_poison")) as server:
        servers = entries(server.url)
        file.write_text(json.dumps({"mcpServers": servers}))
        with studio("--config", str(file)) as walker:
            walker.shows("3/11 servers", "enter Open")
            to(walker, "1")
            seen: set[str] = set()
            for _ in range(60):
                if seen == servers.keys():
                    break
                walker.go("enter", r"╭─ (\S+) ─.*\n(.*\n)*.*y Copy")
                name = re.findall(rf"╭─ ({'|'.join(servers)}) ─", walker.text())[0]
                if name not in seen:
                    if words := HOW.get(name):
                        scroll(walker, words)
                    scroll(walker, f"stderr|Findings|{MARK}")
                    seen.add(name)
                walker.go("esc", gone="y Copy")
                # The reason of a failed server has rows of its own.
                walker.go("down")
                walker.drain(0.05)
            assert seen == servers.keys()
            to(walker, "f8")
            walker.go("/", "│ filter")
            walker.paste("server:http", r"\d+ of \d+")
            walker.go("enter end enter", "eaders")
            for _ in range(4):
                walker.go("]")
            assert walker.leave() == 0
    assert live_in(walker.written()) == []


def spelled(text: str) -> str:
    """Text as TOML."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


def test_hostile_files_of_projects_and_other_clients_are_only_shown(home: Path) -> None:
    project = home / "project"
    (project / ".vscode").mkdir(parents=True)
    (project / ".mcp-studio.toml").write_text(
        f"[servers.{spelled('ours' + TEXT)}]\ncommand = {spelled('no-such' + TEXT)}\n"
        f"args = [{spelled('arg' + TEXT)}]\nenv = {{ {spelled('VAR' + TEXT)} = {spelled(TEXT)} }}\n"
        f"[servers.odd]\n{spelled('key' + TEXT)} = 1\n"
    )
    theirs = {"theirs" + TEXT: {"command": "no-such" + TEXT, "args": [TEXT]}, "bad" + TEXT: {"command": 7}}
    (project / ".vscode" / "mcp.json").write_text(json.dumps({"servers": theirs}))
    walker = Walker(["sh", "-c", f'cd {project} && exec "$@"', "sh", *STUDIO], env={"PYTHONPATH": str(ROOT)})
    walker.start()
    try:
        walker.shows("May this project's servers be used", f"ours{MARK}")
        walker.go("y", f"ours{MARK}", "✗", gone="May this project")
        to(walker, "1")
        walker.go("enter", f"─ ours{MARK}", "command")
        walker.go("esc", gone="y Copy")
        walker.go("e", rf"ours{MARK}")
        walker.go("d", "Remove a server", f"ours{MARK}")
        walker.go("n", gone="Remove a server")
        walker.go("f12", f"odd.*key{MARK}|key{MARK}")
        walker.go("esc", gone="What is running")
        walker.go("^n", "Add server")
        walker.go("^o", f"theirs{MARK}")
        walker.go("esc", gone="Import servers")
        walker.paste(json.dumps({"mcpServers": theirs}), "bad|Ready|servers")
        walker.go("esc", gone="Add server")
        assert walker.leave() == 0
    finally:
        if walker.process.poll() is None:
            walker.process.kill()
            walker.process.wait()
        walker.close()
    assert live_in(walker.written()) == []
